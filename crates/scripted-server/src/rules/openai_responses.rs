//! OpenAI's Responses API: parameters, tools and the form of items.

use serde_json::{Map, Value};

use super::{Asked, Refusal, Rule, openai_chat::too_long, openai_error, openai_items, schemas};
use crate::model::{never_reasons, reasons};
use crate::view::{item_type, list, role, text};

pub(super) const RULES: &[Rule] = &[
    unknown_parameter,
    previous_response,
    sampling,
    reasoning_of_others,
    tool_form,
    schemas::plain_object,
    schemas::strict,
    item_form,
    content_form,
    long_call_id,
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
    "include",
    "input",
    "instructions",
    "max_output_tokens",
    "max_tool_calls",
    "metadata",
    "model",
    "parallel_tool_calls",
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

fn unknown(param: &str) -> Refusal {
    openai_error(400, format!("Unknown parameter: '{param}'."), Some(param), Some("unknown_parameter"))
}

fn missing(param: &str) -> Refusal {
    openai_error(400, format!("Missing required parameter: '{param}'."), Some(param), Some("missing_required_parameter"))
}

fn invalid(param: &str, value: &str, supported: &[&str]) -> Refusal {
    let supported: Vec<String> = supported.iter().map(|value| format!("'{value}'")).collect();
    let (last, before) = supported.split_last().map_or((String::new(), Vec::new()), |(last, before)| (last.clone(), before.to_vec()));
    let message = format!("Invalid value: '{value}'. Supported values are: {}, and {last}.", before.join(", "));
    openai_error(400, message, Some(param), Some("invalid_value"))
}

fn members(value: Option<&Value>) -> Option<&Map<String, Value>> {
    value.and_then(Value::as_object)
}

/// Parameters of chat completions are unknown here. That `seed` is one of them:
/// <https://github.com/openai/openai-node/issues/1613>; the words: <https://github.com/BerriAI/litellm/issues/13420>.
///
/// The real server names the new place of some of them, such as `text.format`; the fake does not.
fn unknown_parameter(asked: &Asked<'_>) -> Option<Refusal> {
    let body = asked.request.body;
    if let Some(key) = members(Some(body)).into_iter().flatten().map(|(key, _)| key).find(|key| !BODY.contains(&key.as_str())) {
        return Some(unknown(key));
    }
    let nested = [
        ("stream_options", &["include_obfuscation"][..]),
        ("text", &["format", "verbosity"]),
        ("reasoning", &["effort", "summary", "generate_summary", "encrypted_content", "context", "mode"]),
    ];
    nested.into_iter().find_map(|(outer, known)| {
        let key = members(body.get(outer))?.keys().find(|key| !known.contains(&key.as_str()))?;
        Some(unknown(&format!("{outer}.{key}")))
    })
}

/// The server keeps no responses, as with `store: false`.
///
/// Words and form: <https://github.com/maximhq/bifrost/issues/2441>.
fn previous_response(asked: &Asked<'_>) -> Option<Refusal> {
    let id = text(asked.request.body, "previous_response_id")?;
    let message = format!("Previous response with id '{id}' not found.");
    Some(openai_error(400, message, Some("previous_response_id"), Some("previous_response_not_found")))
}

/// Reasoning models take no sampling parameter but 1.
///
/// Words and form: <https://github.com/OpenHands/software-agent-sdk/issues/1837>; that 1 is taken:
/// <https://github.com/OpenHands/software-agent-sdk/pull/992>; `top_p`: <https://github.com/chatboxai/chatbox/issues/2627>.
fn sampling(asked: &Asked<'_>) -> Option<Refusal> {
    if !reasons(asked.request.model()) || asked.request.effort() == Some("none") {
        return None;
    }
    let set = |key: &&str| asked.request.body.get(*key).is_some_and(|value| !value.is_null() && value.as_f64() != Some(1.0));
    let key = ["temperature", "top_p"].into_iter().find(set)?;
    Some(openai_error(400, format!("Unsupported parameter: '{key}' is not supported with this model."), Some(key), None))
}

/// Models that are known not to reason take no parameter of reasoning. The names of other models tell nothing.
///
/// Source: <https://github.com/openai/codex/issues/4141> and the words of [`sampling`].
fn reasoning_of_others(asked: &Asked<'_>) -> Option<Refusal> {
    if !never_reasons(asked.request.model()) {
        return None;
    }
    if list(asked.request.body.get("include")).iter().any(|one| one == "reasoning.encrypted_content") {
        return Some(openai_error(400, "Encrypted content is not supported with this model.", Some("include"), None));
    }
    let set = |key: &&String| asked.request.body.pointer(&format!("/reasoning/{key}")).is_some_and(|value| !value.is_null());
    let key = members(asked.request.body.get("reasoning"))?.keys().find(set)?;
    let param = format!("reasoning.{key}");
    let message = format!("Unsupported parameter: '{param}' is not supported with this model.");
    Some(openai_error(400, message, Some(&param), Some("unsupported_parameter")))
}

/// A function tool has its members at the top, among them `strict`.
///
/// Stricter than the real server in `strict`: there it may be left out, and the schema is silently made strict
/// (<https://github.com/0xPlaygrounds/rig/issues/2477>), which no client of ours wants.
fn tool_form(asked: &Asked<'_>) -> Option<Refusal> {
    asked.request.tools().iter().enumerate().filter(|(_, tool)| text(tool, "type") == Some("function")).find_map(|(place, tool)| {
        if text(tool, "name").is_none() {
            return Some(missing(&format!("tools[{place}].name")));
        }
        (!tool.get("strict").is_some_and(Value::is_boolean)).then(|| missing(&format!("tools[{place}].strict")))
    })
}

/// Returns the known members of an item, and what its id begins with.
fn item_schema(item: &Value) -> Option<(&'static [&'static str], &'static str)> {
    match item_type(item) {
        "message" => Some((&["type", "role", "content", "id", "status", "phase"], "msg")),
        "reasoning" => Some((&["type", "id", "summary", "content", "encrypted_content"], "rs")),
        "function_call" => Some((&["type", "id", "call_id", "name", "namespace", "arguments", "status"], "fc")),
        "function_call_output" => Some((&["type", "id", "call_id", "output", "status"], "fc")),
        _ => None,
    }
}

/// Items have known members and ids of their kind. A reasoning item has no `status`, and always a `summary`.
///
/// Unknown members: <https://github.com/BerriAI/litellm/issues/13420>; ids:
/// <https://github.com/jlcodes99/cockpit-tools/issues/2090>; `summary`: <https://github.com/newo-ether/Agora/issues/141>.
fn item_form(asked: &Asked<'_>) -> Option<Refusal> {
    asked.request.entries().iter().enumerate().find_map(|(place, item)| {
        let (known, prefix) = item_schema(item)?;
        if let Some(key) = members(Some(item))?.keys().find(|key| !known.contains(&key.as_str())) {
            return Some(unknown(&format!("input[{place}].{key}")));
        }
        if let Some(id) = text(item, "id").filter(|id| !id.starts_with(prefix)) {
            let param = format!("input[{place}].id");
            let message = format!("Invalid '{param}': '{id}'. Expected an ID that begins with '{prefix}'.");
            return Some(openai_error(400, message, Some(&param), Some("invalid_value")));
        }
        let needed: &[&str] = match item_type(item) {
            "reasoning" => &["summary"],
            "function_call" => &["call_id", "name", "arguments"],
            "function_call_output" => &["call_id", "output"],
            _ => &["role", "content"],
        };
        let key = needed.iter().find(|key| item.get(**key).is_none_or(Value::is_null))?;
        Some(missing(&format!("input[{place}].{key}")))
    })
}

/// Roles and the types of content parts are those of this protocol, not those of chat completions.
///
/// Source: <https://platform.openai.com/docs/api-reference/responses/create#responses-create-input>; the words are those
/// with which the server refuses any value outside of an enumeration.
fn content_form(asked: &Asked<'_>) -> Option<Refusal> {
    let messages = asked.request.entries().iter().enumerate().filter(|(_, item)| item_type(item) == "message");
    let mut faults = messages.filter_map(|(place, message)| {
        let role = role(message);
        if !matches!(role, "assistant" | "system" | "developer" | "user") {
            return Some(invalid(&format!("input[{place}].role"), role, &["assistant", "system", "developer", "user"]));
        }
        let supported: &[&str] =
            if role == "assistant" { &["output_text", "refusal"] } else { &["input_text", "input_image", "input_file"] };
        let parts = list(message.get("content")).iter().enumerate();
        let mut types = parts.map(|(part, value)| (part, text(value, "type").unwrap_or_default()));
        let (part, kind) = types.find(|(_, kind)| !supported.contains(kind))?;
        Some(invalid(&format!("input[{place}].content[{part}]"), kind, supported))
    });
    faults.next()
}

/// Words and form: <https://github.com/AnswerDotAI/fastllm/issues/45>.
fn long_call_id(asked: &Asked<'_>) -> Option<Refusal> {
    let items = asked.request.entries().iter().enumerate();
    let mut ids = items.flat_map(|(place, item)| ["call_id", "id"].map(|key| (format!("input[{place}].{key}"), text(item, key))));
    ids.find_map(|(param, id)| too_long(&param, id, 64))
}
