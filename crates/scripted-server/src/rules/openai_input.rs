//! OpenAI's Responses API: format of the items of `input`.
//!
//! Rules without a source of their own use the words of [`openai_form`](super::openai_form).

use serde_json::Value;

use super::openai_form::{invalid, is_set, missing, too_long, unknown, unknown_member};
use super::{Refusal, RuleContext, openai_error};
use crate::view::{item_type, list, role, text};

/// The types of items (<https://platform.openai.com/docs/api-reference/responses/create#responses-create-input>).
const TYPES: &[&str] = &[
    "additional_tools",
    "agent_message",
    "apply_patch_call",
    "apply_patch_call_output",
    "code_interpreter_call",
    "compaction",
    "compaction_trigger",
    "computer_call",
    "computer_call_output",
    "custom_tool_call",
    "custom_tool_call_output",
    "file_search_call",
    "function_call",
    "function_call_output",
    "image_generation_call",
    "item_reference",
    "local_shell_call",
    "local_shell_call_output",
    "mcp_approval_request",
    "mcp_approval_response",
    "mcp_call",
    "mcp_list_tools",
    "message",
    "multi_agent_call",
    "multi_agent_call_output",
    "program",
    "program_output",
    "reasoning",
    "shell_call",
    "shell_call_output",
    "tool_search_call",
    "tool_search_output",
    "web_search_call",
];

/// The types of the parts of any content.
const PARTS: &[&str] = &[
    "input_text",
    "input_image",
    "input_audio",
    "output_text",
    "refusal",
    "input_file",
    "computer_screenshot",
    "summary_text",
    "encrypted_content",
];

fn items<'a>(asked: &RuleContext<'a>) -> impl Iterator<Item = (usize, &'a Value)> {
    asked.request.entries().iter().enumerate()
}

/// A request has an `input`.
pub(super) fn missing_input(asked: &RuleContext<'_>) -> Option<Refusal> {
    (!is_set(asked.request.body, "input")).then(|| missing("input"))
}

/// The `input` is not empty.
pub(super) fn empty_input(asked: &RuleContext<'_>) -> Option<Refusal> {
    let given = asked.request.body.get("input");
    (given.and_then(Value::as_str).is_none_or(str::is_empty) && list(given).is_empty()).then(|| {
        let message = "One of \"input\" or \"previous_response_id\" or 'prompt' or 'conversation' must be provided.";
        openai_error(400, message, None, Some("missing_required_parameter"))
    })
}

/// Items have types, and messages have roles, of this protocol: there is no role `tool`.
pub(super) fn known_types(asked: &RuleContext<'_>) -> Option<Refusal> {
    const ROLES: &[&str] = &["assistant", "system", "developer", "user"];
    items(asked).find_map(|(place, item)| {
        let param = format!("input[{place}]");
        if !TYPES.contains(&item_type(item)) {
            return Some(invalid(&param, item_type(item), TYPES));
        }
        (item_type(item) == "message" && !ROLES.contains(&role(item))).then(|| invalid(&param, role(item), ROLES))
    })
}

/// Items have no members of other types, such as `tool_calls` or `reasoning_content`, and have all required members.
///
/// A reasoning item has no `status` (<https://github.com/BerriAI/litellm/issues/13420>), and always a `summary`
/// (<https://github.com/newo-ether/Agora/issues/141>).
pub(super) fn members_of_items(asked: &RuleContext<'_>) -> Option<Refusal> {
    items(asked).find_map(|(place, item)| {
        let (known, needed): (&[&str], &[&str]) = match item_type(item) {
            "message" if role(item) == "assistant" => (&["type", "role", "content", "id", "status", "phase"], &["content"]),
            "message" => (&["type", "role", "content", "id", "status"], &["content"]),
            "reasoning" => (&["type", "id", "summary", "content", "encrypted_content"], &["summary"]),
            "function_call" => (&["type", "id", "call_id", "name", "namespace", "arguments", "status"], &["call_id", "name", "arguments"]),
            "function_call_output" => (&["type", "id", "call_id", "output", "status"], &["call_id", "output"]),
            _ => return None,
        };
        if let Some(key) = unknown_member(Some(item), known) {
            return Some(unknown(&format!("input[{place}].{key}")));
        }
        if let Some(key) = needed.iter().find(|key| !is_set(item, key)) {
            return Some(missing(&format!("input[{place}].{key}")));
        }
        let phase = text(item, "phase").filter(|phase| !matches!(*phase, "commentary" | "final_answer"))?;
        Some(invalid(&format!("input[{place}].phase"), phase, &["commentary", "final_answer"]))
    })
}

/// The parts of a content must match its role: `output_text` for the assistant, `input_text` for all others.
pub(super) fn content_parts(asked: &RuleContext<'_>) -> Option<Refusal> {
    items(asked).filter(|(_, item)| item_type(item) == "message").find_map(|(place, item)| {
        let own: &[&str] = match role(item) {
            "assistant" => &["output_text", "refusal"],
            _ => &["input_text", "input_image", "input_file", "scoped_content", "input_audio"],
        };
        list(item.get("content")).iter().enumerate().find_map(|(part, value)| {
            let kind = text(value, "type").unwrap_or_default();
            let param = format!("input[{place}].content[{part}]");
            if !own.contains(&kind) && !PARTS.contains(&kind) {
                return Some(invalid(&format!("{param}.type"), kind, PARTS));
            }
            (!own.contains(&kind)).then(|| invalid(&param, kind, own))
        })
    })
}

/// Ids have the prefix of their type (<https://github.com/jlcodes99/cockpit-tools/issues/2090>) and have at most 64 characters
/// (<https://github.com/AnswerDotAI/fastllm/issues/45>).
pub(super) fn ids(asked: &RuleContext<'_>) -> Option<Refusal> {
    items(asked).find_map(|(place, item)| {
        let prefix = match item_type(item) {
            "message" => "msg",
            "reasoning" => "rs",
            "function_call" | "function_call_output" => "fc",
            _ => return None,
        };
        let param = format!("input[{place}].id");
        if let Some(id) = text(item, "id").filter(|id| !id.starts_with(prefix)) {
            let message = format!("Invalid '{param}': '{id}'. Expected an ID that begins with '{prefix}'.");
            return Some(openai_error(400, message, Some(&param), Some("invalid_value")));
        }
        too_long(&param, text(item, "id"), 64).or_else(|| too_long(&format!("input[{place}].call_id"), text(item, "call_id"), 64))
    })
}
