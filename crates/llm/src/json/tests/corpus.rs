//! Corpus of answers: the meaning of each, and the rest of it when it is cut.

use serde_json::Value;

use super::read_json;
use crate::corpus::{self, TextCase};

fn cases() -> Vec<(String, TextCase)> {
    let of_file = |file: String| corpus::read::<TextCase>(&file).cases.into_iter().map(move |case| (file.clone(), case));
    corpus::files("json").into_iter().flat_map(of_file).collect()
}

// Requirement: 3.33, 3.34
#[test]
fn every_case_is_understood_or_refused() {
    let mut wrong = Vec::new();
    for (file, case) in cases() {
        let found = match (read_json(&case.text), &case.is, &case.refused) {
            (Ok(read), Some(is), None) => {
                let right = serde_json::from_str::<Value>(is).is_ok_and(|is| is == read.value) && read.cut == case.cut;
                (!right).then(|| format!("is = '{}'{} {:?}", read.value, if read.cut { " cut" } else { "" }, read.repairs))
            }
            (Err(error), None, Some(words)) => (!error.to_string().contains(words)).then(|| format!("refused: {error}")),
            (Ok(read), ..) => Some(format!("is = '{}'{} {:?}", read.value, if read.cut { " cut" } else { "" }, read.repairs)),
            (Err(error), ..) => Some(format!("refused: {error}")),
        };
        wrong.extend(found.map(|found| format!("{file}: {}\n  {:?}\n  {found}", case.name, case.text)));
    }
    corpus::none_of(&wrong);
}

/// Returns true if `part` differs from `whole` only by missing members and elements, or by a shorter last text or
/// number.
fn is_part(part: &Value, whole: &Value) -> bool {
    match (part, whole) {
        (Value::Object(part), Value::Object(whole)) => {
            part.iter().all(|(key, value)| whole.get(key).is_some_and(|whole| is_part(value, whole)))
        }
        (Value::Array(part), Value::Array(whole)) => {
            part.len() <= whole.len() && part.iter().zip(whole).all(|(part, whole)| is_part(part, whole))
        }
        (Value::String(part), Value::String(whole)) => whole.starts_with(part),
        (Value::String(part), whole) => whole.to_string().starts_with(part),
        // Digits were lost: 1 of 12, 5e-3 of 5e-324.
        (Value::Number(_), Value::Number(_)) => true,
        (part, whole) => part == whole,
    }
}

// Requirement: 3.34, 16.3
#[test]
fn what_is_left_of_a_cut_answer_was_said_and_is_told_to_be_cut() {
    let mut wrong = Vec::new();
    for (file, case) in cases() {
        let whole = serde_json::from_str::<Value>(case.text.trim()).ok().filter(|whole| whole.is_object() || whole.is_array());
        // If a key occurs twice, the cut text may hold the earlier value.
        let whole = whole.filter(|_| !case.name.contains("stands twice"));
        for (at, _) in case.text.char_indices() {
            let text = &case.text[..at];
            // No case may panic.
            let Ok(read) = read_json(text) else { continue };
            let Some(whole) = &whole else { continue };
            let unfinished = text.trim_end().len() < case.text.trim_end().len();
            let is_noted = read.cut || !read.repairs.is_empty() || !unfinished;
            if !is_noted || !is_part(&read.value, whole) {
                wrong.push(format!("{file}: {} cut at {at}\n  {text:?}\n  {}", case.name, read.value));
            }
        }
    }
    corpus::none_of(&wrong);
}
