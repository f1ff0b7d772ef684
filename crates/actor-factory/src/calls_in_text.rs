//! Tool calls that a model wrote into its text, because its server did not recognise them.

use aime_llm::{ToolCall, read_json};
use serde_json::{Deserializer, Value};

/// What a text holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallsInText {
    /// The text without the calls.
    pub text: String,
    /// The calls, in order; their ids are empty.
    pub calls: Vec<ToolCall>,
}

/// Marks around a call, and whether the end may be missing.
const MARKS: [(&str, &str, bool); 4] = [
    ("<tool_call>", "</tool_call>", true),
    ("<function_call>", "</function_call>", true),
    ("```", "```", false),
    ("<tools>", "</tools>", true),
];

/// How many possible ends of one block are tried.
const MAX_ENDS: usize = 32;

/// Finds calls of the `offered` tools in a text: JSON objects with `name` and `arguments` in a fenced block, in `<tool_call>` tags, or as
/// the whole text. Small models write them so. JSON that is no such call stays in the text; so does a call that is cut off.
///
/// ```
/// let found = aime_actors::calls_in_text("I look.\n```json\n{\"name\": \"glob\", \"arguments\": {\"pattern\": \"*\"}}\n```", &["glob"]);
/// assert_eq!(found.text, "I look.");
/// assert_eq!(found.calls[0].name, "glob");
/// assert_eq!(found.calls[0].arguments, r#"{"pattern":"*"}"#);
/// ```
#[must_use]
pub fn calls_in_text(text: &str, offered: &[&str]) -> CallsInText {
    if let Some(calls) = calls_of(text, offered) {
        return CallsInText { text: String::new(), calls };
    }
    let mut calls = Vec::new();
    let mut kept = String::new();
    let mut rest = text;
    while let Some(block) = next_block(rest, offered) {
        match block.calls {
            Some(found) => {
                kept.push_str(block.before);
                calls.extend(found);
            }
            None => kept.push_str(rest.get(..rest.len() - block.after.len()).unwrap_or_default()),
        }
        rest = block.after;
    }
    kept.push_str(rest);
    if calls.is_empty() {
        return CallsInText { text: text.to_owned(), calls };
    }
    CallsInText { text: kept.trim().to_owned(), calls }
}

struct Block<'a> {
    before: &'a str,
    calls: Option<Vec<ToolCall>>,
    after: &'a str,
}

fn next_block<'a>(text: &'a str, offered: &[&str]) -> Option<Block<'a>> {
    let found = MARKS.into_iter().filter_map(|(open, close, open_ended)| Some((text.find(open)?, open, close, open_ended)));
    let (at, open, close, open_ended) = found.min_by_key(|(at, ..)| *at)?;
    let before = text.get(..at)?;
    let inner = text.get(at + open.len()..)?;
    // A file that a call writes may hold the mark itself: the block ends at the first mark that leaves a whole call.
    let mut first = None;
    for (end, _) in inner.match_indices(close).take(MAX_ENDS) {
        let (inside, after) = (inner.get(..end)?, inner.get(end + close.len()..)?);
        if let Some(calls) = calls_of(inside, offered) {
            return Some(Block { before, calls: Some(calls), after });
        }
        first = first.or(Some(after));
    }
    match first {
        Some(after) => Some(Block { before, calls: None, after }),
        None if open_ended => Some(Block { before, calls: calls_of(inner, offered), after: "" }),
        None => Some(Block { before, calls: None, after: inner }),
    }
}

/// The calls that `text` holds and nothing else; none if it holds anything else.
fn calls_of(text: &str, offered: &[&str]) -> Option<Vec<ToolCall>> {
    let text = text.trim();
    let json = match text.find(['{', '[']) {
        // A fence may name its language.
        Some(at) if text.get(..at)?.trim().chars().all(|c| c.is_ascii_alphanumeric() || c == '_') => text.get(at..)?,
        _ => return None,
    };
    let strict: Result<Vec<Value>, _> = Deserializer::from_str(json).into_iter().collect();
    let values = match strict {
        Ok(values) => values,
        Err(_) => vec![nearly(json)?],
    };
    let mut calls = Vec::new();
    for value in values {
        match value {
            Value::Array(items) => {
                for item in &items {
                    calls.push(call(item, offered)?);
                }
            }
            other => calls.push(call(&other, offered)?),
        }
    }
    (!calls.is_empty()).then_some(calls)
}

/// Reads what is not quite JSON. Only the outermost bracket may be missing: behind any other, arguments may be missing too.
fn nearly(json: &str) -> Option<Value> {
    let closed = ["}", "]"].iter().find_map(|close| serde_json::from_str(&format!("{}{close}", json.trim_end())).ok());
    closed.or_else(|| {
        let read = read_json(json).ok()?;
        let whole = !read.cut && !read.repairs.iter().any(|repair| repair == "mended brackets");
        whole.then_some(read.value)
    })
}

fn call(value: &Value, offered: &[&str]) -> Option<ToolCall> {
    let object = value.as_object()?;
    let object = object.get("function").and_then(Value::as_object).unwrap_or(object);
    let name = object.get("name")?.as_str()?;
    if !offered.contains(&name) {
        return None;
    }
    let arguments = match object.get("arguments").or_else(|| object.get("parameters"))? {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    Some(ToolCall { id: String::new(), name: name.to_owned(), arguments })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const OFFERED: [&str; 5] = ["write_file", "terminate", "glob", "read_file", "list_all"];

    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Case {
        name: String,
        text: String,
        left: Option<String>,
        calls: Vec<String>,
    }

    #[derive(serde::Deserialize)]
    struct Corpus {
        case: Vec<Case>,
    }

    fn cases() -> Vec<Case> {
        toml::from_str::<Corpus>(include_str!("../tests/corpus/calls.toml")).unwrap().case
    }

    fn shown(found: &CallsInText) -> Vec<String> {
        found.calls.iter().map(|call| format!("{} {}", call.name, call.arguments)).collect()
    }

    #[test]
    fn every_case_of_the_corpus_is_found_or_stays_text() {
        let mut wrong = Vec::new();
        for case in cases() {
            let found = calls_in_text(&case.text, &OFFERED);
            if found.text != *case.left.as_ref().unwrap_or(&case.text) || shown(&found) != case.calls {
                wrong.push(format!("{}\n  {:?}\n  left {:?}, calls {:?}", case.name, case.text, found.text, shown(&found)));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    }

    #[test]
    fn a_text_that_is_cut_anywhere_holds_no_half_call() {
        let mut wrong = Vec::new();
        for case in cases() {
            for (at, _) in case.text.char_indices() {
                let calls = shown(&calls_in_text(&case.text[..at], &OFFERED));
                if calls.iter().any(|call| !case.calls.contains(call)) {
                    wrong.push(format!("{} cut at {at}\n  {:?}\n  {calls:?}", case.name, &case.text[..at]));
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "(```|<tool_call>|</tool_call>|json|\\{|\\}|\"name\"|: |\"glob\"|, \"arguments\"|\\PC){0,20}") {
            let found = calls_in_text(&text, &OFFERED);
            prop_assert!(found.text.len() <= text.len());
            prop_assert!(found.calls.iter().all(|c| OFFERED.contains(&c.name.as_str())));
        }
    }
}
