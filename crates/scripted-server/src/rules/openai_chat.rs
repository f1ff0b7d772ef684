//! OpenAI's chat completions.

use serde_json::Value;

use super::{Asked, Refusal, Rule, openai_error, schemas};
use crate::model::{gpt_version, reasons};
use crate::view::{list, text};

pub(super) const RULES: &[Rule] = &[tools_with_effort, max_tokens, temperature, long_call_id, schemas::plain_object, schemas::strict];

/// GPT-5.6 and later refuse tools unless the effort is `none`; 5.4 and 5.5 refuse them beside any other named effort.
///
/// 5.6: <https://github.com/GoogleChromeLabs/webmcp-tools/issues/417>, and that no effort at all is refused too:
/// <https://github.com/BerriAI/litellm/pull/34569>. 5.4: <https://github.com/pipecat-ai/pipecat/issues/4043>.
fn tools_with_effort(asked: &Asked<'_>) -> Option<Refusal> {
    let request = &asked.request;
    let version = gpt_version(request.model())?;
    if request.tools().is_empty() || request.effort() == Some("none") {
        return None;
    }
    let way_out = if version >= (5, 6) {
        "To use function tools, use /v1/responses or set reasoning_effort to 'none'."
    } else if version >= (5, 4) && request.effort().is_some() {
        "Please use /v1/responses instead."
    } else {
        return None;
    };
    let model = request.model();
    let message = format!("Function tools with reasoning_effort are not supported for {model} in /v1/chat/completions. {way_out}");
    Some(openai_error(400, message, Some("reasoning_effort"), None))
}

/// Words and form: <https://github.com/fish2018/YPrompt/issues/26>.
fn max_tokens(asked: &Asked<'_>) -> Option<Refusal> {
    let named = asked.request.body.get("max_tokens").is_some_and(|value| !value.is_null());
    (named && reasons(asked.request.model())).then(|| {
        let message = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
        openai_error(400, message, Some("max_tokens"), Some("unsupported_parameter"))
    })
}

/// Words and form: <https://github.com/gabrii/Cursor-Azure-GPT-5/issues/33>. Without reasoning any temperature is taken.
fn temperature(asked: &Asked<'_>) -> Option<Refusal> {
    let value = asked.request.body.get("temperature").filter(|value| !value.is_null() && value.as_f64() != Some(1.0))?;
    (reasons(asked.request.model()) && asked.request.effort() != Some("none")).then(|| {
        let message =
            format!("Unsupported value: 'temperature' does not support {value} with this model. Only the default (1) value is supported.");
        openai_error(400, message, Some("temperature"), Some("unsupported_value"))
    })
}

/// Words: <https://github.com/BerriAI/litellm/issues/17343>; the code: <https://github.com/AnswerDotAI/fastllm/issues/45>.
fn long_call_id(asked: &Asked<'_>) -> Option<Refusal> {
    asked.request.entries().iter().enumerate().find_map(|(place, message)| {
        let calls = list(message.get("tool_calls")).iter().enumerate();
        let mut ids = calls.map(|(index, call)| (format!("messages[{place}].tool_calls[{index}].id"), text(call, "id")));
        ids.find_map(|(param, id)| too_long(&param, id, 40)).or_else(|| {
            let id = message.get("tool_call_id").and_then(Value::as_str);
            too_long(&format!("messages[{place}].tool_call_id"), id, 40)
        })
    })
}

/// Refuses a text that is longer than OpenAI takes.
pub(super) fn too_long(param: &str, value: Option<&str>, limit: usize) -> Option<Refusal> {
    let length = value.map_or(0, |value| value.chars().count());
    (length > limit).then(|| {
        let message = format!(
            "Invalid '{param}': string too long. Expected a string with maximum length {limit}, but got a string with length {length} instead."
        );
        openai_error(400, message, Some(param), Some("string_above_max_length"))
    })
}
