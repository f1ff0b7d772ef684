//! OpenAI's errors about the format of a request, in both of its protocols.
//!
//! The following project recorded the words and codes from the live API:
//! <https://github.com/kangminlee-maker/local-OAuth-CLI-API-adapter/tree/main/test>, `openai-chat-validation-parity.test.mjs` and
//! `openai-responses-validation-parity.test.mjs`.

use serde_json::{Map, Value};

use super::{Refusal, openai_error};

pub(super) fn unknown(param: &str) -> Refusal {
    openai_error(400, format!("Unknown parameter: '{param}'."), Some(param), Some("unknown_parameter"))
}

pub(super) fn missing(param: &str) -> Refusal {
    openai_error(400, format!("Missing required parameter: '{param}'."), Some(param), Some("missing_required_parameter"))
}

pub(super) fn invalid(param: &str, value: &str, supported: &[&str]) -> Refusal {
    let quoted: Vec<String> = supported.iter().map(|value| format!("'{value}'")).collect();
    let listed = match quoted.as_slice() {
        [before @ .., last] if before.len() > 1 => format!("{}, and {last}", before.join(", ")),
        few => few.join(" and "),
    };
    openai_error(400, format!("Invalid value: '{value}'. Supported values are: {listed}."), Some(param), Some("invalid_value"))
}

/// Returns the refusal of a parameter that the model does not support. Chat completions include a code, the Responses API does not.
pub(super) fn unsupported(param: &str, code: Option<&str>) -> Refusal {
    openai_error(400, format!("Unsupported parameter: '{param}' is not supported with this model."), Some(param), code)
}

/// Refuses a text above a length limit of OpenAI.
///
/// Words: <https://github.com/BerriAI/litellm/issues/17343>; the code: <https://github.com/AnswerDotAI/fastllm/issues/45>.
pub(super) fn too_long(param: &str, value: Option<&str>, limit: usize) -> Option<Refusal> {
    let length = value.map_or(0, |value| value.chars().count());
    (length > limit).then(|| {
        let message = format!(
            "Invalid '{param}': string too long. Expected a string with maximum length {limit}, but got a string with length {length} instead."
        );
        openai_error(400, message, Some(param), Some("string_above_max_length"))
    })
}

/// Returns the first unknown member of a value.
pub(super) fn unknown_member<'a>(value: Option<&'a Value>, known: &[&str]) -> Option<&'a str> {
    members(value)?.keys().map(String::as_str).find(|key| !known.contains(key))
}

pub(super) fn members(value: Option<&Value>) -> Option<&Map<String, Value>> {
    value.and_then(Value::as_object)
}

/// Returns true if a member is present and not null; both protocols treat null as absent.
pub(super) fn is_set(value: &Value, key: &str) -> bool {
    value.get(key).is_some_and(|value| !value.is_null())
}

/// Returns true if a number is present and not 1, the default of the sampling parameters.
pub(super) fn is_not_one(value: &Value, key: &str) -> bool {
    is_set(value, key) && value.get(key).and_then(Value::as_f64) != Some(1.0)
}
