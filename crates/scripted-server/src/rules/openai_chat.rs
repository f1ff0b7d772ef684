//! OpenAI's chat completions.

use serde_json::Value;

use super::openai_form::{is_not_one, is_set, too_long, unknown, unknown_member, unsupported};
use super::{Refusal, Rule, RuleContext, images, openai_error, schemas};
use crate::model::{gpt_version, reasons};
use crate::view::{list, role, text};

pub(super) const RULES: &[Rule] = &[
    unknown_parameter,
    tools_with_effort,
    max_tokens,
    never_taken,
    not_while_reasoning,
    temperature,
    long_call_id,
    schemas::plain_object,
    schemas::strict,
    empty_calls,
    missing_content,
    images::of_users_alone,
];

/// The members of a request (<https://platform.openai.com/docs/api-reference/chat/create>).
const BODY: &[&str] = &[
    "messages",
    "model",
    "audio",
    "frequency_penalty",
    "function_call",
    "functions",
    "logit_bias",
    "logprobs",
    "max_completion_tokens",
    "max_tokens",
    "metadata",
    "modalities",
    "moderation",
    "n",
    "parallel_tool_calls",
    "prediction",
    "presence_penalty",
    "prompt_cache_key",
    "prompt_cache_options",
    "prompt_cache_retention",
    "reasoning_effort",
    "response_format",
    "safety_identifier",
    "seed",
    "service_tier",
    "stop",
    "store",
    "stream",
    "stream_options",
    "temperature",
    "tool_choice",
    "tools",
    "top_logprobs",
    "top_p",
    "user",
    "verbosity",
    "web_search_options",
];

/// Members of other services, such as `thinking`, and of the Responses API, such as `reasoning`, are unknown.
///
/// Words and form: see [`openai_form`](super::openai_form).
fn unknown_parameter(asked: &RuleContext<'_>) -> Option<Refusal> {
    unknown_member(Some(asked.request.body), BODY).map(unknown)
}

/// GPT-5.6 and later refuse tools unless the effort is `none`; 5.4 and 5.5 refuse them beside any other named effort.
///
/// 5.6: <https://github.com/GoogleChromeLabs/webmcp-tools/issues/417>, and evidence that a missing effort is refused, too:
/// <https://github.com/BerriAI/litellm/pull/34569>. 5.4: <https://github.com/pipecat-ai/pipecat/issues/4043>.
fn tools_with_effort(asked: &RuleContext<'_>) -> Option<Refusal> {
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
fn max_tokens(asked: &RuleContext<'_>) -> Option<Refusal> {
    (reasons(asked.request.model()) && is_set(asked.request.body, "max_tokens")).then(|| {
        let message = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
        openai_error(400, message, Some("max_tokens"), Some("unsupported_parameter"))
    })
}

/// Reasoning models never accept these parameters. Words and form: see [`openai_form`](super::openai_form).
fn never_taken(asked: &RuleContext<'_>) -> Option<Refusal> {
    let refused = ["stop", "logit_bias", "prediction"].into_iter().find(|key| is_set(asked.request.body, key));
    refused.filter(|_| reasons(asked.request.model())).map(|key| unsupported(key, Some("unsupported_parameter")))
}

/// Reasoning models accept these parameters only if the effort is `none`. Words and form: see [`openai_form`](super::openai_form).
fn not_while_reasoning(asked: &RuleContext<'_>) -> Option<Refusal> {
    let body = asked.request.body;
    let refused = ["frequency_penalty", "presence_penalty", "logprobs", "top_logprobs"].into_iter().find(|key| is_set(body, key));
    let refused = refused.or_else(|| is_not_one(body, "top_p").then_some("top_p"));
    refused.filter(|_| thinks(asked)).map(|key| unsupported(key, Some("unsupported_parameter")))
}

/// Words and form: <https://github.com/gabrii/Cursor-Azure-GPT-5/issues/33>. Without reasoning any temperature is accepted.
fn temperature(asked: &RuleContext<'_>) -> Option<Refusal> {
    let value = asked.request.body.get("temperature").filter(|_| is_not_one(asked.request.body, "temperature") && thinks(asked))?;
    let message =
        format!("Unsupported value: 'temperature' does not support {value} with this model. Only the default (1) value is supported.");
    Some(openai_error(400, message, Some("temperature"), Some("unsupported_value")))
}

fn thinks(asked: &RuleContext<'_>) -> bool {
    reasons(asked.request.model()) && asked.request.effort() != Some("none")
}

/// Ids of calls have at most 40 characters. Words and form: <https://github.com/BerriAI/litellm/issues/17343>.
fn long_call_id(asked: &RuleContext<'_>) -> Option<Refusal> {
    asked.request.entries().iter().enumerate().find_map(|(place, message)| {
        let calls = list(message.get("tool_calls")).iter().enumerate();
        let mut ids = calls.map(|(index, call)| (format!("messages[{place}].tool_calls[{index}].id"), text(call, "id")));
        let long = ids.find_map(|(param, id)| too_long(&param, id, 40));
        long.or_else(|| too_long(&format!("messages[{place}].tool_call_id"), text(message, "tool_call_id"), 40))
    })
}

/// `tool_calls` must be omitted if there are no calls. Words and form: see [`openai_form`](super::openai_form).
fn empty_calls(asked: &RuleContext<'_>) -> Option<Refusal> {
    let empty =
        |message: &Value| role(message) == "assistant" && message.get("tool_calls").and_then(Value::as_array).is_some_and(Vec::is_empty);
    let place = asked.request.entries().iter().position(empty)?;
    let param = format!("messages[{place}].tool_calls");
    let message = format!("Invalid '{param}': empty array. Expected an array with minimum length 1, but got an empty array instead.");
    Some(openai_error(400, message, Some(&param), Some("empty_array")))
}

/// A message has a content; an assistant message may have calls or a refusal instead.
///
/// Words and form: see [`openai_form`](super::openai_form).
fn missing_content(asked: &RuleContext<'_>) -> Option<Refusal> {
    let instead = |message: &Value| {
        role(message) == "assistant" && ["tool_calls", "function_call", "refusal", "audio"].iter().any(|key| is_set(message, key))
    };
    let place = asked.request.entries().iter().position(|message| !is_set(message, "content") && !instead(message))?;
    let message = "Invalid value for 'content': expected a string, got null.";
    Some(openai_error(400, message, Some(&format!("messages.[{place}].content")), None))
}
