//! Features of Gemini's generateContent that other protocols lack.

use serde_json::Value;

use super::{list, push_line, text};

/// End of the path of a stream.
pub(crate) const STREAM: &str = ":streamGenerateContent";

/// Returns true if the query asks for a stream of events; otherwise a stream is a JSON list.
pub(crate) fn wants_events(query: &str) -> bool {
    query.split('&').any(|pair| pair == "alt=sse")
}

/// Returns a member by its name in camel case; Google also accepts it in snake case.
pub(crate) fn member<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    value.get(name).or_else(|| value.get(snake(name)))
}

/// Converts a name from camel case to snake case, which Google's errors use.
pub(crate) fn snake(name: &str) -> String {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

/// Returns a member of `generationConfig`.
pub(crate) fn generation<'a>(body: &'a Value, name: &str) -> Option<&'a Value> {
    member(member(body, "generationConfig")?, name).filter(|value| !value.is_null())
}

/// Returns a member of `generationConfig.thinkingConfig`.
pub(crate) fn thinking<'a>(body: &'a Value, name: &str) -> Option<&'a Value> {
    member(generation(body, "thinkingConfig")?, name).filter(|value| !value.is_null())
}

/// Returns the schema of a structured answer.
pub(crate) fn response_schema(body: &Value) -> Option<&Value> {
    ["responseJsonSchema", "_responseJsonSchema", "responseSchema"].into_iter().find_map(|name| generation(body, name))
}

/// Returns the model in a path: `/v1beta/models/gemini-3-pro:generateContent` contains `gemini-3-pro`.
pub(super) fn model(path: &str) -> Option<&str> {
    path.rsplit('/').next()?.split(':').next()
}

pub(crate) fn parts(content: &Value) -> &[Value] {
    list(content.get("parts"))
}

pub(crate) fn call(part: &Value) -> Option<&Value> {
    member(part, "functionCall")
}

pub(crate) fn result(part: &Value) -> Option<&Value> {
    member(part, "functionResponse")
}

pub(crate) fn signature(part: &Value) -> Option<&Value> {
    member(part, "thoughtSignature").filter(|signature| !signature.is_null())
}

pub(crate) fn is_thought(part: &Value) -> bool {
    part.get("thought") == Some(&Value::Bool(true))
}

/// Returns the text of a content without its thoughts.
pub(crate) fn content_text(content: &Value) -> String {
    parts(content).iter().filter(|part| !is_thought(part)).filter_map(|part| text(part, "text")).collect()
}

/// Returns the text of a content, including its calls and results.
pub(super) fn entry_text(content: &Value) -> String {
    let mut lines = content_text(content);
    for part in parts(content) {
        if let Some(call) = call(part) {
            push_line(&mut lines, text(call, "name").unwrap_or_default());
            push_line(&mut lines, &call.get("args").unwrap_or(&Value::Null).to_string());
        }
        if let Some(result) = result(part) {
            push_line(&mut lines, text(result, "name").unwrap_or_default());
            push_line(&mut lines, &result_text(result.get("response")));
        }
    }
    lines
}

/// Returns the texts in a response, so that a condition finds a result that spans lines.
fn result_text(response: Option<&Value>) -> String {
    match response {
        Some(Value::Object(members)) => {
            members.values().map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned)).collect()
        }
        Some(other) => other.to_string(),
        None => String::new(),
    }
}
