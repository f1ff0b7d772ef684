//! Anthropic's Messages: thinking blocks that the client sends back.

use serde_json::Value;

use super::anthropic::{has_beta, is, refuse};
use super::{Refusal, RuleContext};
use crate::cache::prompt_before;
use crate::memory::{block_key, turn_key};
use crate::model::Claude;
use crate::view::messages::{blocks, blocks_of, is_thinking, latest_assistant, thinking_type, thinks};
use crate::view::{content_text, text};

/// A thinking block must be one that the server sent to the same model, unchanged. The newest models also bind it to the prompt before it.
///
/// Words: <https://github.com/anthropics/claude-code/issues/10627>; restriction to the same model and bytes:
/// <https://github.com/anthropics/anthropic-sdk-python/issues/1598>; the prompt: <https://github.com/anomalyco/opencode/issues/48637>.
/// Laxer than the real server, which binds a block to the thinking before it, too.
pub(super) fn signatures(asked: &RuleContext<'_>) -> Option<Refusal> {
    let messages = asked.request.entries();
    let latest = latest_assistant(messages);
    let model = asked.request.model();
    let binds = Claude::named(model).is_some_and(Claude::binds) && !drops_unbound(asked);
    messages.iter().enumerate().find_map(|(place, message)| {
        let mut thinking = blocks(message).iter().enumerate().filter(|(_, block)| is_thinking(block));
        thinking.find_map(|(index, block)| {
            let member = if is(block, "thinking") { "`signature` in `thinking`" } else { "`data` in `redacted_thinking`" };
            let invalid = |more: &str| Some(refuse(format!("messages.{place}.content.{index}: Invalid {member} block{more}")));
            match block_key(block).and_then(|key| asked.memory.block(key)) {
                None => invalid(""),
                Some(sent) if sent.model != model => invalid(""),
                Some(sent) if sent.block != *block && latest == Some(place) => Some(modified(place, index)),
                Some(sent) if sent.block != *block => invalid(""),
                Some(sent) if binds && sent.prompt != prompt_before(asked.request.body, place) => invalid(
                    ". The block is bound to a different conversation. Remove the block, or set \
                     `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\". That setting requires the \
                     `thinking-binding-controls-2026-08-01` value in the `anthropic-beta` header.",
                ),
                Some(_) => None,
            }
        })
    })
}

fn drops_unbound(asked: &RuleContext<'_>) -> bool {
    let behavior = asked.request.body.pointer("/thinking/block_binding/prefix_mismatch_behavior");
    has_beta(asked, "thinking-binding-controls") && behavior.is_some_and(|behavior| behavior == "drop_block")
}

/// With thinking enabled, the latest turn must contain all its thinking, in order, at the beginning.
///
/// Words: <https://github.com/anthropics/claude-code/issues/63574>; definition of a modification:
/// <https://platform.claude.com/docs/en/api/errors>. With a budget, the other words apply if no thinking is left.
pub(super) fn latest(asked: &RuleContext<'_>) -> Option<Refusal> {
    let place = latest_assistant(asked.request.entries()).filter(|_| thinks(asked.request.body))?;
    let message = asked.request.entries().get(place)?;
    let given: Vec<&Value> = blocks(message).iter().filter(|block| is_thinking(block)).collect();
    let leading = blocks(message).iter().take_while(|block| is_thinking(block)).count();
    let states = asked.memory.states(key_of(message).as_deref());
    let fits = |state: &Value| state.as_array().is_some_and(|sent| sent.iter().collect::<Vec<_>>() == given);
    if leading == given.len() && (states.is_empty() || states.iter().any(fits)) {
        return None;
    }
    if given.is_empty() && thinking_type(asked.request.body) == Some("enabled") {
        return None;
    }
    Some(modified(place, 0))
}

/// With a budget of thinking, the latest turn of a loop of calls begins with thinking, unless the server sent none.
///
/// Words: <https://github.com/lbjlaq/Antigravity-Manager/issues/139>. In adaptive mode turns may begin without it
/// (<https://platform.claude.com/docs/en/build-with-claude/adaptive-thinking>).
pub(super) fn missing(asked: &RuleContext<'_>) -> Option<Refusal> {
    if thinking_type(asked.request.body) != Some("enabled") {
        return None;
    }
    let messages = asked.request.entries();
    let place = latest_assistant(messages)?;
    let message = messages.get(place)?;
    let in_loop = messages.get(place + 1).is_some_and(|next| blocks_of(next, "tool_result").next().is_some());
    let first = blocks(message).first().filter(|first| in_loop && !is_thinking(first))?;
    let states = asked.memory.states(key_of(message).as_deref());
    let sent_none = states.iter().any(|state| state.as_array().is_some_and(Vec::is_empty));
    (!sent_none).then(|| {
        refuse(format!(
            "messages.{place}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{}`. When `thinking` is enabled, a \
             final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` \
             blocks). We recommend you include thinking blocks from previous turns. To avoid this requirement, disable `thinking`. Please \
             consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking",
            text(first, "type").unwrap_or_default()
        ))
    })
}

/// Returns the key of an assistant message, as [`turn_key`] does for a reply.
fn key_of(message: &Value) -> Option<String> {
    let first = blocks_of(message, "tool_use").next().and_then(|(_, block)| text(block, "id"));
    turn_key(first, &content_text(message.get("content")))
}

fn modified(place: usize, index: usize) -> Refusal {
    refuse(format!(
        "messages.{place}.content.{index}: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. \
         These blocks must remain as they were in the original response."
    ))
}
