//! Parses criteria: texts, commands and facts about files.

use aime_messages::message;
use aime_progress_management::Criterion;
use serde_json::{Map, Value};

use super::coerce::{Members, Notes, snake, text, texts};
use crate::PlanFault;

/// Members of a check, each with the other names that models use.
const MEMBERS: [(&str, &[&str]); 7] = [
    ("command", &["cmd", "run", "shell"]),
    ("expect", &["expected", "expectation", "exit_code", "exit"]),
    ("file", &["path", "filename", "file_name", "file_path"]),
    ("exists", &[]),
    ("contains", &["includes"]),
    ("matches", &["match", "regex", "pattern"]),
    ("unchanged", &[]),
];
/// Members with a sentence or a label. Beside a check they add nothing to it.
const LABELS: [&str; 23] = [
    "text",
    "criterion",
    "description",
    "name",
    "title",
    "label",
    "value",
    "id",
    "number",
    "n",
    "type",
    "kind",
    "reason",
    "why",
    "note",
    "comment",
    "summary",
    "timeout",
    "timeout_seconds",
    "priority",
    "required",
    "weight",
    // Only a person decides on the owner.
    "owner",
];
const HINT: &str = "a criterion is a sentence, {\"command\", \"expect\"} or {\"file\", \"contains\"}";

/// Parses a list of criteria; a criterion alone is a list of one.
pub(super) fn criteria(value: &Value, place: &str, notes: &mut Notes, faults: &mut Vec<PlanFault>) -> Vec<Criterion> {
    let object = match value {
        Value::Array(items) => {
            let read = |(at, item): (usize, &Value)| criteria(item, &format!("{place}[{at}]"), notes, faults);
            return items.iter().enumerate().flat_map(read).collect();
        }
        Value::Object(object) => object.clone(),
        Value::String(text) if text.trim_start().starts_with('{') => match serde_json::from_str(text) {
            Ok(Value::Object(object)) => object,
            _ => return vec![Criterion::text(text.trim())],
        },
        other => return texts(other).into_iter().map(Criterion::text).collect(),
    };
    from_object(object, place, notes, faults).into_iter().collect()
}

/// Parses exactly one criterion: a text, an object, or an object written as a text. Returns `None` after a fault.
pub(super) fn one_criterion(value: &Value, place: &str, notes: &mut Notes, faults: &mut Vec<PlanFault>) -> Option<Criterion> {
    let before = faults.len();
    let mut read = criteria(value, place, notes, faults);
    match read.len() {
        _ if faults.len() > before => None,
        1 => read.pop(),
        0 => refuse(place, message!("plan-criterion-empty"), faults),
        _ => refuse(place, message!("plan-one-criterion"), faults),
    }
}

/// Does the same as [`one_criterion`] without notes.
pub(crate) fn criterion(value: &Value, place: &str, faults: &mut Vec<PlanFault>) -> Option<Criterion> {
    one_criterion(value, place, &mut Notes::default(), faults)
}

fn from_object(mut object: Map<String, Value>, place: &str, notes: &mut Notes, faults: &mut Vec<PlanFault>) -> Option<Criterion> {
    object.retain(|_, value| !value.is_null() && value.as_str() != Some(""));
    let mut members = Members::of(&object);
    let mut known = Map::new();
    for (name, others) in MEMBERS {
        if let Some(value) = members.take(name, others, notes) {
            known.insert(name.to_owned(), coerced(name, value));
        }
    }
    let sentence = texts(&Value::Object(object.clone())).into_iter().next();
    let unknown: Vec<&str> = members.rest().filter(|key| !LABELS.contains(&snake(key).as_str())).collect();
    let is_check = known.contains_key("command") || known.contains_key("file");
    if !is_check && let Some(sentence) = sentence {
        let left_out = unknown.into_iter().chain(known.keys().map(String::as_str));
        left_out.for_each(|key| notes.add(message!("repair-criterion-member", place, key)));
        return Some(Criterion::text(sentence));
    }
    // Without an unknown member a check could be weaker than it was meant.
    for key in &unknown {
        refuse(place, message!("plan-criterion-member", key), faults);
    }
    if !unknown.is_empty() {
        return None;
    }
    if known.is_empty() {
        return refuse(place, message!("plan-criterion-empty"), faults);
    }
    match serde_json::from_value(Value::Object(known)) {
        Ok(criterion) => Some(criterion),
        Err(error) => refuse(place, error.to_string(), faults),
    }
}

/// Returns the value of a member of a check in the type that the member has.
fn coerced(name: &str, value: &Value) -> Value {
    match (name, value.as_str()) {
        ("exists" | "unchanged", Some("true")) => true.into(),
        ("exists" | "unchanged", Some("false")) => false.into(),
        ("expect", _) => text(value).map_or_else(|| value.clone(), Value::from),
        _ => value.clone(),
    }
}

fn refuse(place: &str, problem: impl Into<crate::PlanProblem>, faults: &mut Vec<PlanFault>) -> Option<Criterion> {
    faults.push(PlanFault::new(place, problem).hint(HINT));
    None
}
