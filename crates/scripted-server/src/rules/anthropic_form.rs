//! Anthropic's Messages: known and required members of a request.
//!
//! Members: <https://platform.claude.com/docs/en/api/messages/create>. The words are those of Pydantic, which the service uses.

use serde_json::Value;

use super::anthropic::{has_beta, is, refuse};
use super::{Refusal, RuleContext};
use crate::view::messages::blocks as blocks_in;
use crate::view::{list, text};

const BODY: &[&str] = &[
    "model",
    "messages",
    "max_tokens",
    "cache_control",
    "container",
    "inference_geo",
    "metadata",
    "output_config",
    "service_tier",
    "stop_sequences",
    "stream",
    "system",
    "temperature",
    "thinking",
    "tool_choice",
    "tools",
    "top_k",
    "top_p",
];

/// Members that need a beta, with the prefix of its name.
const BETAS: &[(&str, &str)] = &[
    ("context_management", "context-management"),
    ("mcp_servers", "mcp-client"),
    ("output_format", "structured-outputs"),
    ("speed", "fast-mode"),
];

const TOOL: &[&str] = &[
    "type",
    "name",
    "description",
    "input_schema",
    "cache_control",
    "strict",
    "allowed_callers",
    "defer_loading",
    "eager_input_streaming",
    "input_examples",
];

/// Words and form: <https://github.com/tickernelz/opencode-mem/issues/50>.
pub(super) fn required(asked: &RuleContext<'_>) -> Option<Refusal> {
    let missing = ["max_tokens", "messages", "model"].into_iter().find(|key| asked.request.body.get(key).is_none_or(Value::is_null))?;
    Some(refuse(format!("{missing}: Field required")))
}

/// Words: <https://github.com/prism-php/prism/issues/912>. The beta that introduced the field still accepts it
/// (<https://github.com/microsoft/agent-framework/pull/5884>).
pub(super) fn old_format(asked: &RuleContext<'_>) -> Option<Refusal> {
    asked.request.body.get("output_format").filter(|_| !has_beta(asked, "structured-outputs")).map(|_| {
        refuse(
            "output_format: This field is deprecated. Use 'output_config.format' instead. See \
             https://platform.claude.com/docs/en/build-with-claude/structured-outputs for more information.",
        )
    })
}

/// Words and form: <https://github.com/amrit110/oli/issues/7> for the body, <https://github.com/anthropics/claude-code/issues/31033>
/// for tools, and <https://github.com/cortexkit/anthropic-auth/pull/50> for messages.
pub(super) fn unknown_members(asked: &RuleContext<'_>) -> Option<Refusal> {
    let body = asked.request.body;
    let beta = |key: &str| BETAS.iter().any(|(member, beta)| *member == key && has_beta(asked, beta));
    let unknown = body.as_object()?.keys().find(|key| !BODY.contains(&key.as_str()) && !beta(key));
    if let Some(key) = unknown {
        return Some(refuse(format!("{key}: Extra inputs are not permitted")));
    }
    let binding = body.pointer("/thinking/block_binding").filter(|_| !has_beta(asked, "thinking-binding-controls"));
    if binding.is_some() {
        return Some(refuse("block_binding: Extra inputs are not permitted"));
    }
    let thinking = format!("thinking.{}", body.get("thinking").and_then(|thinking| text(thinking, "type")).unwrap_or_default());
    let thinking_members: &[&str] = match thinking.as_str() {
        "thinking.enabled" => &["type", "budget_tokens", "display", "block_binding"],
        "thinking.adaptive" => &["type", "display", "block_binding"],
        _ => &["type"],
    };
    extra(&thinking, body.get("thinking"), thinking_members)
        .or_else(|| extra("output_config", body.get("output_config"), &["effort", "format", "task_budget"]))
        .or_else(|| extra("output_config.format", body.pointer("/output_config/format"), &["type", "schema"]))
        .or_else(|| extra("metadata", body.get("metadata"), &["user_id"]))
        .or_else(|| extra("tool_choice", body.get("tool_choice"), &["type", "name", "disable_parallel_tool_use"]))
        .or_else(|| {
            let mut system = list(body.get("system")).iter().enumerate();
            system
                .find_map(|(place, block)| extra(&format!("system.{place}"), Some(block), &["type", "text", "cache_control", "citations"]))
        })
        .or_else(|| {
            // Server tools have other members.
            let mut tools = list(body.get("tools")).iter().enumerate().filter(|(_, tool)| is_custom(tool));
            tools.find_map(|(place, tool)| extra(&format!("tools.{place}.custom"), Some(tool), TOOL))
        })
        .or_else(|| {
            let mut messages = asked.request.entries().iter().enumerate();
            messages.find_map(|(place, message)| extra(&format!("messages.{place}"), Some(message), &["role", "content"]))
        })
}

/// Returns true if a tool is one of the client's own.
pub(super) fn is_custom(tool: &Value) -> bool {
    tool.get("type").is_none_or(|kind| kind.is_null() || kind == "custom")
}

fn extra(place: &str, value: Option<&Value>, known: &[&str]) -> Option<Refusal> {
    let key = value?.as_object()?.keys().find(|key| !known.contains(&key.as_str()))?;
    Some(refuse(format!("{place}.{key}: Extra inputs are not permitted")))
}

/// The blocks of a message have exactly the members of their type. So thinking has no cache mark, and always a signature.
///
/// Words: <https://github.com/anthropics/claude-code/issues/4378> and <https://github.com/LeenHawk/gproxy/issues/67> for an unknown member,
/// <https://github.com/WordPress/ai-provider-for-anthropic/pull/27> for a missing signature.
pub(super) fn blocks(asked: &RuleContext<'_>) -> Option<Refusal> {
    asked.request.entries().iter().enumerate().find_map(|(place, message)| {
        let content = message.get("content");
        if !content.is_some_and(|content| content.is_string() || content.is_array()) {
            return Some(refuse(format!("messages.{place}.content: Field required")));
        }
        let mut blocks = blocks_in(message).iter().enumerate();
        blocks.find_map(|(index, block)| block_fault(&format!("messages.{place}.content.{index}"), block))
    })
}

fn block_fault(place: &str, block: &Value) -> Option<Refusal> {
    let kind = text(block, "type").unwrap_or_default();
    let (required, optional): (&[&str], &[&str]) = match kind {
        "text" => (&["text"], &["cache_control", "citations"]),
        "thinking" => (&["thinking", "signature"], &[]),
        "redacted_thinking" => (&["data"], &[]),
        "tool_use" => (&["id", "name", "input"], &["cache_control", "caller"]),
        "tool_result" => (&["tool_use_id"], &["content", "is_error", "cache_control"]),
        "image" => (&["source"], &["cache_control"]),
        "document" => (&["source"], &["cache_control", "citations", "context", "title"]),
        // The list of the real server is longer.
        other => {
            let expected = "'document', 'image', 'redacted_thinking', 'text', 'thinking', 'tool_result', 'tool_use'";
            let message = format!("{place}: Input tag '{other}' found using 'type' does not match any of the expected tags: {expected}");
            return Some(refuse(message));
        }
    };
    if let Some(missing) = required.iter().find(|key| block.get(**key).is_none_or(Value::is_null)) {
        return Some(refuse(format!("{place}.{kind}.{missing}: Field required")));
    }
    if is(block, "tool_use") && !block.get("input").is_some_and(Value::is_object) {
        return Some(refuse(format!("{place}.tool_use.input: Input should be a valid dictionary")));
    }
    let known: Vec<&str> = ["type"].iter().chain(required).chain(optional).copied().collect();
    extra(&format!("{place}.{kind}"), Some(block), &known)
}
