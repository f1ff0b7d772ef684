//! Conversion of a server's refusal to a [`ModelError`]: statuses, headers, and error bodies in every form.

mod wording;

use std::time::Duration;

use serde_json::{Map, Value};

use self::wording::{account_status, names_affordable_answer, speaks_of_no_model, speaks_of_overflow};
use super::{
    dialect::has_word,
    waits::{self, Times},
};
use crate::ModelError;

/// The longest part of a server's words that is kept.
const MAX_MESSAGE: usize = 600;

/// A failed attempt, and what the server refused about it.
#[derive(Debug, Clone)]
pub(super) struct Fault {
    pub(super) error: ModelError,
    /// Refusal of the request's form, if it is one.
    pub(super) refusal: Option<Box<Refusal>>,
}

/// A request that was refused, as far as its form may be the reason.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Refusal {
    /// The model, by its configured name.
    pub(super) model: String,
    pub(super) status: u16,
    /// The parameter that the server names apart, or nothing.
    pub(super) param: String,
    /// `code`, `type` and `status` of the body, in lower case.
    pub(super) codes: String,
    /// The server's words.
    pub(super) message: String,
    /// The same in lower case.
    pub(super) lower: String,
}

impl Refusal {
    /// Returns true if the refusal names a field of the request, also in the spelling of Go and JavaScript: `reasoningEffort`.
    pub(super) fn names(&self, field: &str) -> bool {
        let path = |param: &str| param == field || param.strip_prefix(field).is_some_and(|rest| rest.starts_with(['.', '[']));
        path(&self.param)
            || self.param.ends_with(&format!(".{field}"))
            || has_word(&self.message, field)
            || (field.contains('_') && has_word(&self.message, &camel_case(field)))
    }
}

/// Returns `reasoningEffort` for `reasoning_effort`.
fn camel_case(field: &str) -> String {
    let mut parts = field.split('_');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |name, part| {
        let mut letters = part.chars();
        let head = letters.next().map(|letter| letter.to_ascii_uppercase());
        name + &head.into_iter().chain(letters).collect::<String>()
    })
}

impl From<ModelError> for Fault {
    fn from(error: ModelError) -> Self {
        Self { error, refusal: None }
    }
}

/// Model and server that were asked.
#[derive(Debug, Clone, Copy)]
pub(super) struct FaultSource<'a> {
    pub(super) url: &'a str,
    /// Setting that holds the address, if one does.
    pub(super) setting: Option<&'a str>,
    pub(super) model: &'a str,
    pub(super) key: &'a str,
}

/// Content of an error body.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct ErrorBody {
    message: String,
    /// `code`, `type` and `status` together, in lower case.
    codes: String,
    /// The code as a number, where it is one.
    number: Option<u16>,
    param: String,
    retry_after: Option<Duration>,
}

/// Returns the error of an HTTP answer.
pub(super) fn from_http(asked: FaultSource<'_>, status: u16, times: Times, body: &[u8]) -> Fault {
    let mut output = read_body(body, times.now);
    if output.message.is_empty() {
        output.message = no_words(status).to_owned();
    }
    classify(asked, status, times.retry_after, output)
}

/// Returns the error in an answer with status 200, if it is one.
pub(super) fn from_answer(asked: FaultSource<'_>, answer: &Value) -> Option<Fault> {
    let object = answer.as_object()?;
    // Responses wraps what failed into an event.
    if object.get("type").and_then(Value::as_str) == Some("response.failed")
        && let Some(response) = object.get("response")
    {
        return from_answer(asked, response).or_else(|| Some(classify(asked, 500, None, ErrorBody::default())));
    }
    let named = object.get("error").is_some_and(|error| !error.is_null() && error != &Value::Bool(false) && error != "");
    let flat = object.get("object") == Some(&Value::from("error")) || object.get("type") == Some(&Value::from("error"));
    if !named && !flat {
        return None;
    }
    let output = read_value(answer, None);
    let status = output.number.filter(|code| (400..600).contains(code)).unwrap_or_else(|| status_of(&output.codes));
    Some(classify(asked, status, None, output))
}

/// Returns the status that a server would have sent with these codes.
fn status_of(codes: &str) -> u16 {
    let table = [
        ("rate_limit", 429),
        ("quota", 429),
        ("billing", 402),
        ("request_too_large", 413),
        ("resource_exhausted", 429),
        ("overloaded", 529),
        ("auth", 401),
        ("permission", 403),
        ("not_found", 404),
        ("context", 400),
        ("invalid", 400),
        ("badrequest", 400),
    ];
    table.iter().find(|(word, _)| codes.contains(word)).map_or(500, |(_, status)| *status)
}

fn classify(asked: FaultSource<'_>, status: u16, retry_after: Option<Duration>, output: ErrorBody) -> Fault {
    let model = asked.model.to_owned();
    let url = asked.url.to_owned();
    let message = presentable(&output.message, asked.key);
    let lower = message.to_lowercase();
    // A refusal of a parameter is no fault of the account.
    if output.param.is_empty()
        && let Some(status) = account_status(status, &lower, &output.codes)
    {
        return ModelError::Unauthorized { url, status, message }.into();
    }
    let retry_after = retry_after.max(output.retry_after);
    let refusal = Refusal {
        model: model.clone(),
        status,
        param: output.param.clone(),
        codes: output.codes.clone(),
        message: message.clone(),
        lower: lower.clone(),
    };
    let error = match status {
        400 | 404 | 409 | 413 | 422 | 500 if speaks_of_overflow(&lower, &output.codes) => ModelError::ContextOverflow { model, message },
        413 => ModelError::ContextOverflow { model, message },
        // Groq's word for a call that its own parser could not read: the next one may be right.
        400 if output.codes.contains("tool_use_failed") => ModelError::Server { model, status, message, retry_after },
        429 => ModelError::RateLimited { model, message, retry_after },
        400 | 404 | 422 if speaks_of_no_model(status, &lower, &output.codes) => ModelError::NoSuchModel { url, model, message },
        401..=403 => ModelError::Unauthorized { url, status, message },
        404 | 405 => {
            let message = format!("{message} (does {} {url} lack its /v1?)", asked.setting.unwrap_or("the address"));
            ModelError::Refused { model, status, message }
        }
        // llama.cpp answers so to a schema from which it can make no grammar: it would fail again.
        500 if lower.contains("grammar") => ModelError::Refused { model, status, message },
        408 | 409 | 425 | 500 | 502..=504 | 506..=599 => ModelError::Server { model, status, message, retry_after },
        _ => ModelError::Refused { model, status, message },
    };
    let about_form = match &error {
        ModelError::Refused { .. } | ModelError::ContextOverflow { .. } => matches!(status, 400 | 404 | 405 | 422 | 500 | 501),
        // Templates of chats answer so to an order of roles, or to a content, that they do not expect.
        ModelError::Server { .. } => status == 500,
        ModelError::Unauthorized { .. } => status == 402 && names_affordable_answer(&refusal.lower),
        _ => false,
    };
    Fault { refusal: about_form.then(|| Box::new(refusal)), error }
}

/// Keys below this length are placeholders such as `x` or `none`. Replacing them would break words of the message.
const MIN_KEY: usize = 8;

/// Without the key, bounded, on one line.
fn presentable(message: &str, key: &str) -> String {
    let message = if key.len() < MIN_KEY { message.to_owned() } else { message.replace(key, "[key]") };
    let line = message.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MAX_MESSAGE) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}

fn no_words(status: u16) -> &'static str {
    match status {
        401 => "no or a wrong key",
        403 => "forbidden",
        404 => "not found",
        429 => "too many requests",
        502 => "bad gateway",
        503 => "unavailable",
        504 => "gateway timeout",
        _ => "the server gave no reason",
    }
}

fn read_body(body: &[u8], now: Option<u64>) -> ErrorBody {
    if let Ok(value) = serde_json::from_slice::<Value>(body) {
        return read_value(&value, now);
    }
    let text = String::from_utf8_lossy(body);
    let text = text.trim();
    let message = if text.starts_with('<') { page_title(text) } else { text.to_owned() };
    let retry_after = waits::in_words(&message, now);
    ErrorBody { message, retry_after, ..ErrorBody::default() }
}

/// Returns the title of a web page, or a note that the body is a web page.
fn page_title(page: &str) -> String {
    let lower = page.to_ascii_lowercase();
    let title = lower.find("<title>").and_then(|start| {
        let start = start + "<title>".len();
        let end = start + lower.get(start..)?.find("</title>")?;
        page.get(start..end)
    });
    match title.map(str::trim) {
        Some(title) if !title.is_empty() => format!("a web page: {title}"),
        _ => "a web page".to_owned(),
    }
}

/// Extracts the message from an error body of any form. `now` is the server's time, in seconds since 1970.
fn read_value(value: &Value, now: Option<u64>) -> ErrorBody {
    match value {
        Value::String(text) => ErrorBody { message: text.clone(), retry_after: waits::in_words(text, now), ..ErrorBody::default() },
        Value::Array(list) => list.first().map(|first| read_value(first, now)).unwrap_or_default(),
        Value::Object(object) => {
            if let Some(inner) = ["error", "errors"].iter().filter_map(|key| object.get(*key)).find(|inner| !inner.is_null()) {
                let mut output = read_value(inner, now);
                // xAI puts the code beside the words.
                if inner.is_string() {
                    let outer = read_fields(object, now);
                    output = ErrorBody { message: output.message, retry_after: outer.retry_after.or(output.retry_after), ..outer };
                }
                if output.message.is_empty() {
                    output.message = text_of(object.get("message")).unwrap_or_default();
                }
                return output;
            }
            read_fields(object, now)
        }
        _ => ErrorBody::default(),
    }
}

/// Reads the members of an error.
fn read_fields(object: &Map<String, Value>, now: Option<u64>) -> ErrorBody {
    let field = |key: &str| object.get(key).and_then(|value| text_of(Some(value)));
    let message = ["message", "msg", "detail", "error_description", "title"].iter().find_map(|key| field(key)).unwrap_or_default();
    // A router's own message says little; this field holds the message of the provider behind it.
    let message = match object.get("metadata").and_then(|metadata| text_of(metadata.get("raw"))) {
        Some(raw) => format!("{message}: {raw}"),
        None => message,
    };
    let codes = ["code", "type", "status", "reason"].iter().filter_map(|key| field(key)).collect::<Vec<_>>().join(" ").to_lowercase();
    let number = ["code", "status"].iter().find_map(|key| field(key)?.parse().ok());
    let retry_after = waits::in_fields(object, now).or_else(|| waits::in_words(&message, now));
    ErrorBody { message, codes, number, param: field("param").unwrap_or_default(), retry_after }
}

/// Returns a text, a number, or FastAPI's list of faults, as text. Nothing for what is empty.
fn text_of(value: Option<&Value>) -> Option<String> {
    let text = match value? {
        Value::String(text) => text.trim().to_owned(),
        Value::Number(number) => number.to_string(),
        Value::Array(list) => list.iter().filter_map(|one| text_of(Some(one))).collect::<Vec<_>>().join("; "),
        Value::Object(object) => {
            let words = ["msg", "message", "error"].iter().find_map(|key| text_of(object.get(*key)))?;
            let place = object.get("loc").and_then(Value::as_array).and_then(|path| text_of(path.last()));
            place.map_or(words.clone(), |place| format!("{place}: {words}"))
        }
        _ => return None,
    };
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
pub(super) mod tests;
