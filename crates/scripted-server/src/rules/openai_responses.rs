//! OpenAI's Responses API: parameters and tools.
//!
//! The rules have the order in which the real server reports faults, see [`openai_form`](super::openai_form).

use serde_json::Value;

use super::openai_form::{invalid, is_not_one, is_set, members, missing, unknown, unknown_member, unsupported};
use super::{Refusal, Rule, RuleContext, openai_error, openai_input, openai_items, schemas};
use crate::model::{gpt_version, never_reasons, reasons};
use crate::view::{list, text};

pub(super) const RULES: &[Rule] = &[
    chat_messages,
    openai_input::missing_input,
    unknown_parameter,
    openai_input::known_types,
    openai_input::members_of_items,
    openai_input::content_parts,
    openai_input::ids,
    tool_form,
    schemas::plain_object,
    schemas::strict,
    chosen_tool,
    format_name,
    output_bound,
    previous_response,
    openai_input::empty_input,
    sampling,
    effort,
    reasoning_of_others,
    openai_items::encrypted,
    openai_items::not_stored,
    openai_items::duplicate,
    openai_items::following,
    openai_items::required_reasoning,
];

/// The members of a request (<https://platform.openai.com/docs/api-reference/responses/create>).
const BODY: &[&str] = &[
    "background",
    "context_management",
    "conversation",
    "frequency_penalty",
    "include",
    "input",
    "instructions",
    "max_output_tokens",
    "max_tool_calls",
    "metadata",
    "model",
    "moderation",
    "parallel_tool_calls",
    "presence_penalty",
    "previous_response_id",
    "prompt",
    "prompt_cache_key",
    "prompt_cache_options",
    "prompt_cache_retention",
    "reasoning",
    "safety_identifier",
    "service_tier",
    "store",
    "stream",
    "stream_options",
    "temperature",
    "text",
    "tool_choice",
    "tools",
    "top_logprobs",
    "top_p",
    "truncation",
    "user",
];

/// `messages` belongs to chat completions; the refusal names its new place. Words and form: see [`openai_form`](super::openai_form).
fn chat_messages(asked: &RuleContext<'_>) -> Option<Refusal> {
    asked.request.body.get("messages").map(|_| {
        let message = "Unsupported parameter: 'messages'. In the Responses API, this parameter has moved to 'input'. Try again with the new \
                       parameter. See the API documentation for more information: \
                       https://platform.openai.com/docs/api-reference/responses/create.";
        openai_error(400, message, None, Some("unsupported_parameter"))
    })
}

/// Other parameters of chat completions are unknown: `seed`, `max_tokens`, `response_format`, `stream_options.include_usage`.
///
/// Words and form: see [`openai_form`](super::openai_form). Evidence that `seed` was omitted on purpose:
/// <https://github.com/openai/openai-node/issues/1613>.
fn unknown_parameter(asked: &RuleContext<'_>) -> Option<Refusal> {
    let body = asked.request.body;
    let nested = [
        ("stream_options", &["include_obfuscation"][..]),
        ("text", &["format", "verbosity"]),
        ("reasoning", &["effort", "summary", "context", "mode"]),
    ];
    let inner = |(outer, known): (&str, &[&str])| unknown_member(body.get(outer), known).map(|key| unknown(&format!("{outer}.{key}")));
    unknown_member(Some(body), BODY).map(unknown).or_else(|| nested.into_iter().find_map(inner))
}

/// A function tool has its members at the top, among them `strict`.
///
/// Words for the name: see [`openai_form`](super::openai_form). Stricter than the real server, where `strict` may be omitted, and the
/// schema then silently becomes strict (<https://github.com/0xPlaygrounds/rig/issues/2477>).
fn tool_form(asked: &RuleContext<'_>) -> Option<Refusal> {
    asked.request.tools().into_iter().enumerate().find_map(|(place, tool)| {
        let kind = text(tool, "type");
        if kind.is_none() {
            return Some(missing(&format!("tools[{place}].type")));
        }
        let function = kind == Some("function");
        if function && text(tool, "name").is_none() {
            return Some(missing(&format!("tools[{place}].name")));
        }
        (function && !tool.get("strict").is_some_and(Value::is_boolean)).then(|| missing(&format!("tools[{place}].strict")))
    })
}

/// A chosen tool is named at the top. Words and form: see [`openai_form`](super::openai_form).
fn chosen_tool(asked: &RuleContext<'_>) -> Option<Refusal> {
    match asked.request.body.get("tool_choice")? {
        Value::String(choice) if !matches!(choice.as_str(), "none" | "auto" | "required") => {
            Some(invalid("tool_choice", choice, &["none", "auto", "required"]))
        }
        choice if text(choice, "type") == Some("function") && text(choice, "name").is_none() => Some(missing("tool_choice.name")),
        _ => None,
    }
}

/// The schema of an answer has its name beside it. Words and form: see [`openai_form`](super::openai_form).
fn format_name(asked: &RuleContext<'_>) -> Option<Refusal> {
    let format = asked.request.body.pointer("/text/format").filter(|format| text(format, "type") == Some("json_schema"))?;
    let missed = ["name", "schema"].into_iter().find(|key| !is_set(format, key))?;
    Some(missing(&format!("text.format.{missed}")))
}

/// An answer must be allowed at least 16 tokens. Words and form: see [`openai_form`](super::openai_form).
fn output_bound(asked: &RuleContext<'_>) -> Option<Refusal> {
    let bound = asked.request.body.get("max_output_tokens").and_then(Value::as_i64).filter(|bound| *bound < 16)?;
    let message = format!("Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got {bound} instead.");
    Some(openai_error(400, message, Some("max_output_tokens"), Some("integer_below_min_value")))
}

/// The fake keeps no responses. Words and form: <https://github.com/maximhq/bifrost/issues/2441>.
fn previous_response(asked: &RuleContext<'_>) -> Option<Refusal> {
    let id = text(asked.request.body, "previous_response_id")?;
    let message = format!("Previous response with id '{id}' not found.");
    Some(openai_error(400, message, Some("previous_response_id"), Some("previous_response_not_found")))
}

/// Reasoning models accept only the value 1 for sampling parameters.
///
/// Words and form: <https://github.com/OpenHands/software-agent-sdk/issues/1837>; evidence that 1 is accepted:
/// <https://github.com/OpenHands/software-agent-sdk/pull/992>; the others: see [`openai_form`](super::openai_form).
fn sampling(asked: &RuleContext<'_>) -> Option<Refusal> {
    if !reasons(asked.request.model()) || asked.request.effort() == Some("none") {
        return None;
    }
    let sampled = ["temperature", "top_p"].into_iter().find(|key| is_not_one(asked.request.body, key));
    let penalty = || ["presence_penalty", "frequency_penalty"].into_iter().find(|key| is_set(asked.request.body, key));
    sampled.or_else(penalty).map(|key| unsupported(key, None))
}

/// Efforts are those of the protocol, and GPT-5.6 and later do not accept `minimal`.
///
/// Words and form: see [`openai_form`](super::openai_form).
fn effort(asked: &RuleContext<'_>) -> Option<Refusal> {
    const EFFORTS: &[&str] = &["none", "minimal", "low", "medium", "high", "xhigh", "max"];
    let effort = asked.request.effort()?;
    if !EFFORTS.contains(&effort) {
        return Some(invalid("reasoning.effort", effort, EFFORTS));
    }
    let newer = gpt_version(asked.request.model()).is_some_and(|version| version >= (5, 6));
    (newer && effort == "minimal").then(|| {
        let message = format!(
            "Unsupported value: 'minimal' is not supported with the '{}' model. Supported values are: 'none', 'low', 'medium', 'high', \
             'xhigh', and 'max'.",
            asked.request.model()
        );
        openai_error(400, message, Some("reasoning.effort"), Some("unsupported_value"))
    })
}

/// Models that are known not to reason accept no reasoning parameters. Models with unknown names are not checked.
///
/// Encrypted content: <https://github.com/microsoft/agent-framework/issues/7483>. The other words are those for any unsupported parameter.
fn reasoning_of_others(asked: &RuleContext<'_>) -> Option<Refusal> {
    if !never_reasons(asked.request.model()) {
        return None;
    }
    if list(asked.request.body.get("include")).iter().any(|one| one == "reasoning.encrypted_content") {
        return Some(openai_error(400, "Encrypted content is not supported with this model.", Some("include"), None));
    }
    let reasoning = asked.request.body.get("reasoning");
    let key = members(reasoning)?.iter().find(|(_, value)| !value.is_null()).map(|(key, _)| key)?;
    Some(unsupported(&format!("reasoning.{key}"), Some("unsupported_parameter")))
}
