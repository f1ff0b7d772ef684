//! Messages as they go over the wire. A conversation is sent again and again, and only its end is new: what was written once is not written again.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
};

use serde_json::value::{RawValue, to_raw_value};

use super::request::{WireMessage, WireTools};
use crate::{Message, ToolDefinition};

/// The most bytes that are kept for later requests. Beyond that, messages are written anew each time: many small conversations at once would
/// take twice their memory else.
const KEPT: usize = 16 << 20;
/// So many bytes may be kept of messages that are gone before they are looked for.
const GONE: usize = 1 << 20;

/// What was written for requests before, for as long as the messages themselves live.
#[derive(Debug, Default)]
pub(super) struct Written {
    messages: HashMap<usize, (Weak<Message>, Arc<RawValue>)>,
    tools: Option<(Weak<[ToolDefinition]>, Arc<RawValue>)>,
    bytes: usize,
    /// When those that are gone are looked for again.
    full: usize,
}

impl Written {
    /// The messages of a conversation, in order.
    pub(super) fn messages(&mut self, messages: &[Arc<Message>]) -> serde_json::Result<Vec<Arc<RawValue>>> {
        messages.iter().map(|message| self.message(message)).collect()
    }

    fn message(&mut self, message: &Arc<Message>) -> serde_json::Result<Arc<RawValue>> {
        // As long as one is remembered, no other takes its place.
        let place = Arc::as_ptr(message).addr();
        if let Some((_, written)) = self.messages.get(&place) {
            return Ok(Arc::clone(written));
        }
        let written = Arc::<RawValue>::from(to_raw_value(&WireMessage(message))?);
        let length = written.get().len();
        if self.has_room(length) {
            self.bytes += length;
            self.messages.insert(place, (Arc::downgrade(message), Arc::clone(&written)));
        }
        Ok(written)
    }

    /// Whether so many bytes more may be kept; what was written for messages that are gone is given up for them.
    fn has_room(&mut self, length: usize) -> bool {
        if self.bytes + length > self.full {
            self.messages.retain(|_, (message, _)| message.strong_count() > 0);
            self.bytes = self.messages.values().map(|(_, written)| written.get().len()).sum();
            self.full = (self.bytes * 2).max(self.bytes + GONE).min(KEPT);
        }
        self.bytes + length <= KEPT
    }

    /// The tools of a request; nothing where it offers none.
    pub(super) fn tools(&mut self, tools: &Arc<[ToolDefinition]>) -> serde_json::Result<Option<Arc<RawValue>>> {
        if tools.is_empty() {
            return Ok(None);
        }
        let place = Arc::downgrade(tools);
        if let Some((_, written)) = self.tools.as_ref().filter(|(before, _)| Weak::ptr_eq(before, &place)) {
            return Ok(Some(Arc::clone(written)));
        }
        let written = Arc::<RawValue>::from(to_raw_value(&WireTools(tools))?);
        self.tools = Some((place, Arc::clone(&written)));
        Ok(Some(written))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ToolCall;

    fn said(length: usize) -> Arc<Message> {
        Arc::new(Message::User { content: "x".repeat(length) })
    }

    #[test]
    fn what_was_written_once_is_sent_again_as_it_is() {
        let mut written = Written::default();
        // Most of a long conversation are short messages: calls, and what they gave.
        let call = ToolCall { id: "c".to_owned(), name: "t".to_owned(), arguments: "{}".to_owned() };
        let mut history = vec![said(256), said(1), Arc::new(Message::assistant(String::new(), vec![call]))];
        let first = written.messages(&history).unwrap();
        history.push(said(1));
        let second = written.messages(&history).unwrap();
        let same: Vec<bool> = first.iter().zip(&second).map(|(one, other)| Arc::ptr_eq(one, other)).collect();
        assert_eq!((same, second.len()), (vec![true; 3], 4));
        let tools: Arc<[ToolDefinition]> =
            [ToolDefinition { name: "t".to_owned(), description: String::new(), parameters: Arc::default() }].into();
        let (one, again) = (written.tools(&tools).unwrap().unwrap(), written.tools(&tools).unwrap().unwrap());
        assert!(Arc::ptr_eq(&one, &again));
        assert!(written.tools(&Arc::from([])).unwrap().is_none());
    }

    #[test]
    fn what_is_gone_is_forgotten_and_no_more_is_kept_than_there_is_room_for() {
        let mut written = Written::default();
        for _ in 0..64 {
            written.messages(&[said(GONE / 8)]).unwrap();
        }
        assert!(written.bytes <= 2 * GONE, "{} bytes of messages that are gone", written.bytes);
        let all: Vec<_> = (0..20).map(|_| said(1 << 20)).collect();
        assert_eq!(written.messages(&all).unwrap().len(), all.len());
        assert!(written.bytes <= KEPT && written.bytes > KEPT / 2, "{}", written.bytes);
        let kept: usize = written.messages.values().map(|(_, written)| written.get().len()).sum();
        assert_eq!(kept, written.bytes);
    }
}
