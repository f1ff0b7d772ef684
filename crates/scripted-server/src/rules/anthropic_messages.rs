//! Anthropic's Messages: roles, empty blocks, marks for the cache, and pairs of calls and results.

use std::collections::HashSet;

use serde_json::Value;

use super::anthropic::{is, refuse};
use super::{Refusal, RuleContext};
use crate::cache;
use crate::view::messages::{blocks, blocks_of};
use crate::view::{View, content_text, list, role, text};

/// Words: <https://github.com/ianarawjo/ChainForge/issues/271>.
pub(super) fn roles(asked: &RuleContext<'_>) -> Option<Refusal> {
    let (place, message) =
        asked.request.entries().iter().enumerate().find(|(_, message)| !matches!(role(message), "user" | "assistant"))?;
    Some(refuse(match role(message) {
        "system" => "messages: Unexpected role \"system\". The Messages API accepts a top-level `system` parameter, not \"system\" as an \
                     input message role."
            .to_owned(),
        _ => format!("messages.{place}.role: Input should be 'user' or 'assistant'"),
    }))
}

/// Words: <https://github.com/tonyljx/TextWordExplain/issues/2>.
pub(super) fn first_role(asked: &RuleContext<'_>) -> Option<Refusal> {
    match asked.request.entries().first() {
        None => Some(refuse("messages: at least one message is required")),
        Some(first) => (role(first) != "user").then(|| refuse("messages: first message must use the \"user\" role")),
    }
}

/// At most four blocks of tools, system text and messages have a cache mark, and no empty block has one.
///
/// Words: <https://github.com/vellum-ai/vellum-assistant/pull/18023> and <https://github.com/NousResearch/hermes-agent/pull/1216>.
pub(super) fn cache_marks(asked: &RuleContext<'_>) -> Option<Refusal> {
    let body = asked.request.body;
    let messages = asked.request.entries();
    let marked_empty = |(_, block): &(usize, &Value)| block.get("cache_control").is_some() && is_empty(block);
    let empty = messages.iter().enumerate().find_map(|(place, message)| {
        let (index, _) = blocks_of(message, "text").find(marked_empty)?;
        Some(format!("messages.{place}.content.{index}.text"))
    });
    let system = || list(body.get("system")).iter().enumerate().find(marked_empty).map(|(index, _)| format!("system.{index}.text"));
    if let Some(place) = empty.or_else(system) {
        return Some(refuse(format!("{place}: cache_control cannot be set for empty text blocks")));
    }
    let marked = list(body.get("tools")).iter().chain(list(body.get("system"))).chain(messages.iter().flat_map(blocks));
    let found = marked.map(cache::marks).sum::<usize>() + usize::from(body.get("cache_control").is_some_and(Value::is_object));
    (found > 4).then(|| refuse(format!("A maximum of 4 blocks with cache_control may be provided. Found {found}.")))
}

fn is_empty(block: &Value) -> bool {
    is(block, "text") && text(block, "text").is_none_or(str::is_empty)
}

/// Words: <https://github.com/anthropics/claude-code/issues/59812> for blocks,
/// <https://github.com/anthropics/claude-code/issues/6774> for messages.
pub(super) fn empty(asked: &RuleContext<'_>) -> Option<Refusal> {
    let messages = asked.request.entries();
    let last = messages.len().saturating_sub(1);
    let hollow = |(place, message): &(usize, &Value)| {
        let optional = *place == last && role(message) == "assistant";
        !optional && blocks(message).is_empty() && content_text(message.get("content")).is_empty()
    };
    if let Some((place, _)) = messages.iter().enumerate().find(hollow) {
        let message = format!("messages.{place}: all messages must have non-empty content except for the optional final assistant message");
        return Some(refuse(message));
    }
    let inner = |block: &'_ Value| list(block.get("content")).iter().any(is_empty);
    if messages.iter().flat_map(blocks).any(|block| is_empty(block) || inner(block)) {
        return Some(refuse("messages: text content blocks must be non-empty"));
    }
    if list(asked.request.body.get("system")).iter().any(is_empty) {
        return Some(refuse("system: text content blocks must be non-empty"));
    }
    let blank = |block: &Value| is(block, "text") && text(block, "text").is_some_and(|text| text.trim().is_empty());
    messages.iter().flat_map(blocks).any(blank).then(|| refuse("messages: text content blocks must contain non-whitespace text"))
}

/// Ids and names of calls consist of the characters that Anthropic accepts.
///
/// Words: <https://github.com/openclaw/openclaw/issues/12277> for ids; ids of results have the same pattern
/// (<https://github.com/langchain-ai/langchain/pull/37756>), and names have that of tools.
pub(super) fn call_ids(asked: &RuleContext<'_>) -> Option<Refusal> {
    asked.request.entries().iter().enumerate().find_map(|(place, message)| {
        blocks(message).iter().enumerate().find_map(|(index, block)| {
            let (kind, id) = match text(block, "type")? {
                "tool_use" => ("tool_use.id", text(block, "id")?),
                "tool_result" => ("tool_result.tool_use_id", text(block, "tool_use_id")?),
                _ => return None,
            };
            let place = format!("messages.{place}.content.{index}");
            if !has_name_letters(id) {
                return Some(refuse(format!("{place}.{kind}: String should match pattern '^[a-zA-Z0-9_-]+$'")));
            }
            let misnamed = text(block, "name").is_some_and(|name| !is_name(name));
            misnamed.then(|| refuse(format!("{place}.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")))
        })
    })
}

fn has_name_letters(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// Returns true if a name is valid for a tool.
pub(super) fn is_name(name: &str) -> bool {
    name.len() <= 128 && has_name_letters(name)
}

pub(super) fn pairs(asked: &RuleContext<'_>) -> Option<Refusal> {
    unpaired(&asked.request)
}

/// Each call has one result, and the results begin the next message. Stricter than the real server, which merges consecutive messages of
/// one role.
///
/// Words: <https://github.com/anthropics/claude-code/issues/6575> for calls, <https://github.com/anthropics/claude-code/issues/13460> for
/// results, <https://github.com/trycua/cua/issues/524> and <https://github.com/vectorize-io/hindsight/pull/4250> for duplicates of both.
pub(super) fn unpaired(request: &View<'_>) -> Option<Refusal> {
    let messages = request.entries();
    let mut known: HashSet<&str> = HashSet::new();
    let mut open: Vec<&str> = Vec::new();
    for (place, message) in messages.iter().enumerate() {
        let mut answered: HashSet<&str> = HashSet::new();
        for (index, block) in blocks_of(message, "tool_result") {
            let id = text(block, "tool_use_id").unwrap_or_default();
            if role(message) != "user" || !open.contains(&id) {
                return Some(refuse(format!(
                    "messages.{place}.content.{index}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` \
                     block must have a corresponding `tool_use` block in the previous message."
                )));
            }
            if !answered.insert(id) {
                return Some(refuse(format!(
                    "messages.{place}.content.{index}: each tool_use must have a single result. Found multiple `tool_result` blocks with \
                     id: {id}"
                )));
            }
        }
        open.clear();
        for (index, block) in blocks_of(message, "tool_use") {
            let id = text(block, "id").unwrap_or_default();
            if !known.insert(id) {
                return Some(refuse(format!("messages.{place}.content.{index}: `tool_use` ids must be unique")));
            }
            open.push(id);
        }
        let results = messages.get(place + 1).map(leading_results).unwrap_or_default();
        let missing: Vec<&str> = open.iter().filter(|id| !results.contains(*id)).copied().collect();
        if !missing.is_empty() {
            return Some(refuse(format!(
                "messages.{place}: `tool_use` ids were found without `tool_result` blocks immediately after: {}. Each `tool_use` block must \
                 have a corresponding `tool_result` block in the next message.",
                missing.join(", ")
            )));
        }
    }
    None
}

/// Returns the ids of the results with which a message begins.
fn leading_results(message: &Value) -> Vec<&str> {
    blocks(message).iter().take_while(|block| is(block, "tool_result")).filter_map(|block| text(block, "tool_use_id")).collect()
}
