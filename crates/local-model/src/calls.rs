//! Extraction of tool calls from a model's text.

use serde_json::Value;

/// Parsed answer: its text and its calls.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct ReadAnswer {
    pub(crate) text: String,
    /// Name and arguments of each call.
    pub(crate) calls: Vec<(String, String)>,
}

const TAG: &str = "<tool_call>";
const TAG_END: &str = "</tool_call>";
const FENCE: &str = "```";

/// Finds calls between tags, in fences, and as the whole answer. A fence or a bare object counts as a call only if it consists of a name
/// that `is_tool` accepts and arguments; between tags, any name is accepted.
pub(crate) fn read_answer(answer: &str, is_tool: impl Fn(&str) -> bool) -> ReadAnswer {
    let mut read = ReadAnswer::default();
    let mut rest = answer;
    loop {
        let next = [TAG, FENCE].into_iter().filter_map(|mark| rest.find(mark).map(|at| (at, mark))).min();
        let Some((at, mark)) = next else { break };
        let (before, from) = rest.split_at(at);
        let inner = from.split_at(mark.len()).1;
        let end = if mark == TAG { TAG_END } else { FENCE };
        let (inner, after) = inner.split_once(end).unwrap_or((inner, ""));
        let body = if mark == FENCE { inner.trim_start_matches(|letter: char| letter.is_ascii_alphanumeric()) } else { inner };
        let calls = objects(body, |name| mark == TAG || is_tool(name));
        if calls.is_empty() {
            let taken = rest.len() - after.len();
            read.text.push_str(rest.split_at(taken).0);
        } else {
            read.text.push_str(before);
            read.calls.extend(calls);
        }
        rest = after;
    }
    read.text.push_str(rest);
    if read.calls.is_empty() {
        let bare = objects(&read.text, is_tool);
        if !bare.is_empty() {
            return ReadAnswer { text: String::new(), calls: bare };
        }
    } else {
        read.text.truncate(read.text.trim_end().len());
    }
    read
}

/// Parses a text that consists only of calls; otherwise returns none.
fn objects(text: &str, is_tool: impl Fn(&str) -> bool) -> Vec<(String, String)> {
    if !text.trim_start().starts_with(['{', '[']) {
        return Vec::new();
    }
    let mut calls = Vec::new();
    for value in serde_json::Deserializer::from_str(text).into_iter::<Value>() {
        let Ok(value) = value else { return Vec::new() };
        let values = if let Value::Array(values) = value { values } else { vec![value] };
        for value in values {
            match call(&value).filter(|(name, _)| is_tool(name)) {
                Some(call) => calls.push(call),
                None => return Vec::new(),
            }
        }
    }
    calls
}

fn call(value: &Value) -> Option<(String, String)> {
    let object = value.as_object()?;
    let name = object.get("name")?.as_str()?.to_owned();
    let arguments = object.get("arguments").or_else(|| object.get("parameters"))?;
    let arguments = match arguments {
        Value::String(text) => text.clone(),
        Value::Object(_) => arguments.to_string(),
        _ => return None,
    };
    (object.len() == 2 || object.get("type").is_some()).then_some((name, arguments))
}

/// Returns the length of the part of an unfinished answer that is certainly text, and not the beginning of a call.
pub(crate) fn shown_at_once(answer: &str) -> usize {
    if answer.trim_start().starts_with('{') || answer.trim().is_empty() {
        return 0;
    }
    let found = [TAG, FENCE].into_iter().filter_map(|mark| answer.find(mark)).min().unwrap_or(answer.len());
    let open = [TAG, FENCE]
        .into_iter()
        .filter_map(|mark| (1..mark.len()).rev().find(|length| mark.get(..*length).is_some_and(|begin| answer.ends_with(begin))))
        .max()
        .unwrap_or(0);
    let safe = found.min(answer.len() - open);
    // Spaces before a call do not belong to the text.
    answer.get(..safe).map_or(0, |text| text.trim_end().len())
}

/// Returns the position of the object of a call that the model has begun by itself, just before the name of the tool.
pub(crate) fn begun_call(answer: &str) -> Option<usize> {
    let quote = answer.rfind("\"name\"")?;
    let begin = answer.get(..quote)?.rfind('{')?;
    let between = answer.get(begin + 1..quote)?;
    let before = answer.get(..begin)?.trim_end();
    let opened = before.is_empty() || before.ends_with(TAG) || before.ends_with(FENCE) || before.ends_with("```json");
    (opened && between.trim().is_empty()).then_some(begin)
}

#[cfg(test)]
mod tests;
