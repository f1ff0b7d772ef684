//! OpenAI's Responses API: items that it created and gets back.

use serde_json::Value;

use super::{Refusal, RuleContext, openai_error};
use crate::memory::SentItem;
use crate::view::{item_type, role, text};

/// Returns the reasoning items of a request with their indices.
fn reasoning<'a>(asked: &RuleContext<'a>) -> impl Iterator<Item = (usize, &'a Value)> {
    asked.request.entries().iter().enumerate().filter(|(_, item)| item_type(item) == "reasoning")
}

/// Returns the sent item with the encrypted content or the id of this one.
fn sent<'a>(asked: &RuleContext<'a>, item: &Value) -> Option<&'a SentItem> {
    let by_content = text(item, "encrypted_content").and_then(|content| asked.memory.encrypted(content));
    by_content.or_else(|| text(item, "id").and_then(|id| asked.memory.item(id)))
}

/// Encrypted content must be that of `response.output_item.done` or of the whole response, with the same id or none.
///
/// Words and form: <https://github.com/openai/codex/issues/8145>. Stricter than the real server, which also accepts the content of
/// `response.completed`, although it differs.
pub(super) fn encrypted(asked: &RuleContext<'_>) -> Option<Refusal> {
    let changed = |content: &str, id: Option<&str>| match asked.memory.encrypted(content) {
        Some(known) => id.is_some_and(|id| id != known.id),
        None => true,
    };
    reasoning(asked).find_map(|(_, item)| {
        let content = text(item, "encrypted_content").filter(|content| changed(content, text(item, "id")))?;
        let head: String = content.chars().take(4).collect();
        let tail: String = content.chars().skip(content.chars().count().saturating_sub(4)).collect();
        let message = format!("The encrypted content {head}...{tail} could not be verified.");
        Some(openai_error(400, message, None, Some("invalid_encrypted_content")))
    })
}

/// An item without its content is looked up, and found only if the server stored it.
///
/// Words: <https://github.com/can1357/oh-my-pi/issues/41>, HTTP 404.
pub(super) fn not_stored(asked: &RuleContext<'_>) -> Option<Refusal> {
    let lost = |item: &Value| {
        let id = text(item, "id");
        let stored = id.and_then(|id| asked.memory.item(id)).is_some_and(|known| known.stored);
        (text(item, "encrypted_content").is_none() && !stored).then(|| id.unwrap_or("unknown").to_owned())
    };
    let id = reasoning(asked).find_map(|(_, item)| lost(item))?;
    let stateless = asked.request.body.get("store") == Some(&Value::Bool(false));
    let advice = " Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your \
                  input.";
    let message = format!("Item with id '{id}' not found.{}", if stateless { advice } else { "" });
    Some(openai_error(404, message, Some("input"), None))
}

/// Words and form: <https://github.com/earendil-works/pi/issues/5165>.
pub(super) fn duplicate(asked: &RuleContext<'_>) -> Option<Refusal> {
    let ids: Vec<&str> = asked.request.entries().iter().filter_map(|item| text(item, "id")).collect();
    let (_, id) = ids.iter().enumerate().find(|(place, id)| ids.iter().take(*place).any(|before| before == *id))?;
    let message = format!("Duplicate item found with id {id}. Remove duplicate items from your input and try again.");
    Some(openai_error(400, message, Some("input"), None))
}

/// A reasoning item must be followed by the item that followed it in the response.
///
/// Words and form: <https://github.com/continuedev/continue/issues/8933>. The server identifies the item by its id
/// (<https://github.com/OpenHands/software-agent-sdk/pull/1754>). The fake identifies a call without an id by its `call_id`. It allows any
/// item of the model after a reasoning item without an id, as Codex sends them.
pub(super) fn following(asked: &RuleContext<'_>) -> Option<Refusal> {
    let entries = asked.request.entries();
    let alone = |place: usize, item: &Value| {
        let Some(next) = entries.get(place + 1).filter(|next| made_by_model(next)) else { return true };
        let Some(wanted) = sent(asked, item).and_then(|known| known.following.as_deref()) else { return true };
        if text(item, "id").is_none() {
            return false;
        }
        match (text(next, "id"), asked.memory.item(wanted)) {
            (Some(id), _) => id != wanted,
            (None, Some(known)) => known.call_id.is_none() || text(next, "call_id") != known.call_id.as_deref(),
            (None, None) => true,
        }
    };
    let (_, item) = reasoning(asked).find(|(place, item)| alone(*place, item))?;
    let id = text(item, "id").or_else(|| sent(asked, item).map(|known| known.id.as_str())).unwrap_or("unknown");
    let message = format!("Item '{id}' of type 'reasoning' was provided without its required following item.");
    Some(openai_error(400, message, Some("input"), None))
}

fn made_by_model(item: &Value) -> bool {
    matches!(item_type(item), "function_call" | "reasoning") || role(item) == "assistant"
}

/// An item that followed a reasoning item, and is sent with its id, must have that reasoning item before it.
///
/// Words and form: <https://github.com/continuedev/continue/issues/10018> for calls, <https://github.com/continuedev/continue/issues/12620>
/// for messages.
pub(super) fn required_reasoning(asked: &RuleContext<'_>) -> Option<Refusal> {
    let entries = asked.request.entries();
    entries.iter().enumerate().find_map(|(place, item)| {
        let known = asked.memory.item(text(item, "id")?)?;
        let wanted = known.reasoning.as_deref()?;
        let mut before = entries.iter().take(place).filter(|one| item_type(one) == "reasoning");
        let given = before.any(|one| sent(asked, one).is_some_and(|one| one.id == wanted));
        (!given).then(|| {
            let (id, kind) = (&known.id, known.kind);
            let message = format!("Item '{id}' of type '{kind}' was provided without its required 'reasoning' item: '{wanted}'.");
            openai_error(400, message, Some("input"), None)
        })
    })
}
