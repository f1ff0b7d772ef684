//! Messages as they go over the wire. A conversation is sent again and again, and only its end is new: each message is written once.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use foldhash::fast::RandomState;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use super::dialect::{Dialect, MessageForm, ToolForm, ToolForms};
use super::form::{Writing, parameters, simplified};
use super::{chat, gemini, messages, responses};
use crate::protocol::MAX_SEARCHES;
use crate::{ChatRequest, Message, Protocol, ToolDefinition};

/// The most bytes that are kept for later requests. Beyond that, messages are written anew each time: many small conversations at once would
/// take twice their memory else.
const KEPT: usize = 16 << 20;
/// Number of bytes of deleted messages that may be kept before a cleanup.
const GONE: usize = 1 << 20;

/// The items of one message on the wire: one in chat completions, several in Responses.
pub(super) type Items = Arc<[Box<RawValue>]>;

/// Tools on the wire, and their names in the order in which they are offered.
#[derive(Debug, Clone)]
pub(super) struct WrittenTools {
    pub(super) raw: Arc<RawValue>,
    pub(super) names: Arc<[String]>,
}

/// The messages and tools that were written for earlier requests, for as long as the messages themselves live.
#[derive(Debug, Default)]
pub(super) struct WireCache {
    /// The form in which all of them were written.
    form: Option<(Protocol, MessageForm, usize)>,
    messages: HashMap<usize, (Weak<Message>, Items), RandomState>,
    tools: Option<(Weak<[ToolDefinition]>, Protocol, ToolForms, WrittenTools)>,
    bytes: usize,
    /// Size at which the next cleanup runs.
    cleanup_at: usize,
}

impl WireCache {
    /// Returns the messages of a conversation, in order.
    pub(super) fn messages(
        &mut self,
        messages: &[Arc<Message>],
        dialect: &Dialect,
        writing: &Writing<'_>,
    ) -> serde_json::Result<Vec<Items>> {
        let form = (dialect.protocol, dialect.form, writing.refused.len());
        if self.form.replace(form) != Some(form) {
            self.messages.clear();
            self.bytes = 0;
            self.cleanup_at = 0;
        }
        messages.iter().map(|message| self.message(message, dialect, writing)).collect()
    }

    fn message(&mut self, message: &Arc<Message>, dialect: &Dialect, writing: &Writing<'_>) -> serde_json::Result<Items> {
        // As long as one is remembered, no other takes its place.
        let place = Arc::as_ptr(message).addr();
        if let Some((_, written)) = self.messages.get(&place) {
            return Ok(Arc::clone(written));
        }
        let items = match dialect.protocol {
            Protocol::Chat => vec![chat::message(message, &dialect.form, writing)],
            Protocol::Responses => responses::items(message, &dialect.form, writing),
            Protocol::Messages => messages::blocks(message, &dialect.form, writing),
            Protocol::Gemini => gemini::parts(message, &dialect.form, writing),
        };
        let written: Items = items.iter().map(to_raw_value).collect::<serde_json::Result<_>>()?;
        let length = length(&written);
        if self.has_room(length) {
            self.bytes += length;
            self.messages.insert(place, (Arc::downgrade(message), Arc::clone(&written)));
        }
        Ok(written)
    }

    /// Returns true if that many more bytes may be kept. Drops the texts of messages that no longer exist to make
    /// room.
    fn has_room(&mut self, length: usize) -> bool {
        if self.bytes + length > self.cleanup_at {
            self.messages.retain(|_, (message, _)| message.strong_count() > 0);
            self.bytes = self.messages.values().map(|(_, written)| self::length(written)).sum();
            self.cleanup_at = (self.bytes * 2).max(self.bytes + GONE).min(KEPT);
        }
        self.bytes + length <= KEPT
    }

    /// Returns the tools of a request; nothing where it offers none.
    pub(super) fn tools(&mut self, request: &ChatRequest, dialect: &Dialect) -> serde_json::Result<Option<WrittenTools>> {
        if request.web_search && request.tools.is_empty() {
            return hosted_search(dialect.protocol);
        }
        if let (Protocol::Messages, Some((name, schema))) = (dialect.protocol, messages::form_tool(request, dialect)) {
            let tool = messages::tool(name, "Give the answer as the parameters of this tool.", parameters(&simplified(schema)));
            return Ok(Some(WrittenTools { raw: to_raw_value(&[tool])?.into(), names: Arc::from([name.to_owned()]) }));
        }
        self.offered(&request.tools, dialect)
    }

    fn offered(&mut self, tools: &Arc<[ToolDefinition]>, dialect: &Dialect) -> serde_json::Result<Option<WrittenTools>> {
        if tools.is_empty() || dialect.form.calls_as_text {
            return Ok(None);
        }
        let place = Arc::downgrade(tools);
        let known = |(before, protocol, forms, _): &&(Weak<[ToolDefinition]>, Protocol, ToolForms, WrittenTools)| {
            Weak::ptr_eq(before, &place) && *protocol == dialect.protocol && *forms == dialect.tools
        };
        if let Some((.., written)) = self.tools.as_ref().filter(known) {
            return Ok(Some(written.clone()));
        }
        let (mut written, mut names) = (Vec::new(), Vec::new());
        for tool in tools.iter() {
            let form = dialect.tools.by_name.get(&tool.name);
            let schema = match form {
                Some(ToolForm::LeftOut) => continue,
                Some(ToolForm::Simplified) => simplified(&tool.parameters),
                None if dialect.tools.all_simplified => simplified(&tool.parameters),
                None => Value::clone(&tool.parameters),
            };
            let offered = match dialect.protocol {
                Protocol::Chat => chat::tool,
                Protocol::Responses => responses::tool,
                Protocol::Messages => messages::tool,
                Protocol::Gemini => gemini::tool,
            };
            written.push(offered(&tool.name, &tool.description, parameters(&schema)));
            names.push(tool.name.clone());
        }
        if written.is_empty() {
            return Ok(None);
        }
        let raw = match dialect.protocol {
            Protocol::Chat | Protocol::Responses => to_raw_value(&written)?,
            Protocol::Messages => {
                // The tools come first in what the provider caches.
                if let Some(last) = written.last_mut() {
                    *last = messages::marked(last);
                }
                to_raw_value(&written)?
            }
            Protocol::Gemini => to_raw_value(&[json!({"functionDeclarations": written})])?,
        };
        let written = WrittenTools { raw: raw.into(), names: names.into() };
        self.tools = Some((place, dialect.protocol, dialect.tools.clone(), written.clone()));
        Ok(Some(written))
    }
}

/// Returns the provider's own search of the web; it cannot be mixed with other tools everywhere, so it is offered
/// alone.
fn hosted_search(protocol: Protocol) -> serde_json::Result<Option<WrittenTools>> {
    let tool = match protocol {
        Protocol::Responses => json!({"type": "web_search"}),
        Protocol::Messages => json!({"type": "web_search_20250305", "name": "web_search", "max_uses": MAX_SEARCHES}),
        Protocol::Gemini => json!({"googleSearch": {}}),
        Protocol::Chat => return Ok(None),
    };
    Ok(Some(WrittenTools { raw: to_raw_value(&[tool])?.into(), names: Arc::from([]) }))
}

fn length(items: &Items) -> usize {
    items.iter().map(|item| item.get().len()).sum()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::{Provider, ToolCall, TurnSource};

    fn write(written: &mut WireCache, messages: &[Arc<Message>]) -> Vec<Items> {
        let source = TurnSource { protocol: Protocol::Chat, host: "h", model: "m" };
        let refused = HashSet::new();
        let writing = Writing { source, provider: Provider::Other, effort: None, bound: None, longest: 1, refused: &refused };
        written.messages(messages, &dialect(), &writing).unwrap()
    }

    fn dialect() -> Dialect {
        Dialect::new(Provider::Other, Protocol::Chat, "m", true)
    }

    fn user_message(length: usize) -> Arc<Message> {
        Arc::new(Message::user("x".repeat(length)))
    }

    #[test]
    fn what_was_written_once_is_sent_again_as_it_is() {
        let mut written = WireCache::default();
        // Most of a long conversation are short messages: calls, and what they gave.
        let call = ToolCall { id: "c".to_owned(), name: "t".to_owned(), arguments: "{}".to_owned() };
        let mut history = vec![user_message(256), user_message(1), Arc::new(Message::assistant(String::new(), vec![call]))];
        let first = write(&mut written, &history);
        history.push(user_message(1));
        let second = write(&mut written, &history);
        let same: Vec<bool> = first.iter().zip(&second).map(|(one, other)| Arc::ptr_eq(one, other)).collect();
        assert_eq!((same, second.len()), (vec![true; 3], 4));
        let tools: Arc<[ToolDefinition]> =
            [ToolDefinition { name: "t".to_owned(), description: String::new(), parameters: Arc::default() }].into();
        let mut write = |tools: &Arc<[ToolDefinition]>| {
            let request = ChatRequest { tools: Arc::clone(tools), ..ChatRequest::default() };
            written.tools(&request, &dialect()).unwrap()
        };
        let (one, again) = (write(&tools).unwrap(), write(&tools).unwrap());
        assert!(Arc::ptr_eq(&one.raw, &again.raw));
        assert!(write(&Arc::from([])).is_none());
    }

    #[test]
    fn what_is_gone_is_forgotten_and_no_more_is_kept_than_there_is_room_for() {
        let mut written = WireCache::default();
        for _ in 0..64 {
            write(&mut written, &[user_message(GONE / 8)]);
        }
        assert!(written.bytes <= 2 * GONE, "{} bytes of messages that are gone", written.bytes);
        let all: Vec<_> = (0..20).map(|_| user_message(1 << 20)).collect();
        assert_eq!(write(&mut written, &all).len(), all.len());
        assert!(written.bytes <= KEPT && written.bytes > KEPT / 2, "{}", written.bytes);
        let kept: usize = written.messages.values().map(|(_, written)| length(written)).sum();
        assert_eq!(kept, written.bytes);
    }
}
