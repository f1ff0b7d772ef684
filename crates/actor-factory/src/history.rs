//! What an actor remembers of its conversation, and how that is shortened to fit the context window.

use std::sync::Arc;

use aime_llm::{Message, ToolDefinition, estimate_tokens, native_tokens};
use aime_tools::note_of_whole;
use serde::{Deserialize, Serialize};

use crate::{
    marks::{cut_marked, within_marks},
    text::cut,
};

/// The shortest tool result that is worth replacing, in characters.
const SHORT: usize = 200;
/// How much is left of the beginning of a result that is removed, in characters.
const BEGINNING: usize = 100;
/// The least that is kept of a tool result in need, in characters.
const LEAST: usize = 400;

/// A conversation: system prompt, task, and what followed. It grows only at its end, save for [`History::compact`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct History {
    /// System, task, then what followed.
    messages: Vec<Arc<Message>>,
    /// The task as it was first said, where its message says more by now.
    task: Option<String>,
    /// The first message that no request has held yet.
    unseen_from: usize,
    /// Of all messages, estimated.
    tokens: u64,
}

impl History {
    pub(crate) fn new(system: String, task: String) -> Self {
        let mut history = Self { messages: Vec::with_capacity(HEAD), task: None, unseen_from: 0, tokens: 0 };
        history.push(Message::System { content: system });
        history.push(Message::User { content: task });
        history
    }

    pub(crate) fn push(&mut self, message: Message) {
        self.tokens += message_tokens(&message);
        self.messages.push(Arc::new(message));
    }

    /// Says something as the user: at the end of the last message where that is the user's and has no answer yet, else in one of its own.
    /// Two messages of the user in a row are refused by some chat templates.
    pub(crate) fn say(&mut self, text: &str) {
        let Some(Message::User { content }) = self.messages.last().map(AsRef::as_ref) else {
            return self.push(Message::User { content: text.to_owned() });
        };
        let content = format!("{content}\n\n{text}");
        if self.messages.len() == HEAD {
            self.task = None;
        }
        self.messages.pop();
        self.messages.push(Arc::new(Message::User { content }));
        self.count();
    }

    pub(crate) fn messages(&self) -> &[Arc<Message>] {
        &self.messages
    }

    /// Tokens of all messages, estimated and not corrected.
    pub(crate) const fn tokens(&self) -> u64 {
        self.tokens
    }

    /// A request that held all messages was answered.
    pub(crate) const fn all_seen(&mut self) {
        self.unseen_from = self.messages.len();
    }

    pub(crate) fn ends_with_results(&self) -> bool {
        matches!(self.messages.last().map(AsRef::as_ref), Some(Message::Tool { .. }))
    }

    /// Shortens the history to about `target` tokens: first the results of older calls are removed as `removal` says, then the oldest turns
    /// are dropped, then, if need be, long results that are left are cut. System prompt, task and the last `kept` messages stay, and `words`
    /// in the place of what is dropped; calls stay with their results. Says whether the history became shorter; otherwise it is as it was.
    pub(crate) fn compact(&mut self, target: u64, words: &str, kept: usize, removal: Removal<'_>) -> bool {
        let mut shorter = self.clone();
        let keep_from = shorter.keep_from(kept);
        shorter.remove_results(keep_from, removal);
        if shorter.tokens > target {
            shorter.drop_turns(target, keep_from, words);
        }
        if shorter.tokens > target {
            shorter.cut_results(target);
        }
        let changed = shorter.tokens < self.tokens;
        if changed {
            *self = shorter;
        }
        changed
    }

    fn remove_results(&mut self, keep_from: usize, removal: Removal<'_>) {
        for message in self.messages.iter_mut().take(keep_from) {
            if let Message::Tool { call_id, name, content, is_error } = message.as_ref()
                && let Some(content) = removed(name, content, removal)
            {
                *message = Arc::new(Message::Tool { call_id: call_id.clone(), name: name.clone(), content, is_error: *is_error });
            }
        }
        self.count();
    }

    /// Where the messages begin that must stay: the last `kept` and the unseen, and no result without its call.
    fn keep_from(&self, kept: usize) -> usize {
        let from = self.messages.len().saturating_sub(kept).min(self.unseen_from).max(HEAD);
        let turn = self.messages.iter().take(from + 1).rposition(|m| begins_turn(m));
        turn.unwrap_or(from).max(HEAD)
    }

    /// Drops the oldest turns, up to `keep_from` at most, until the rest fits.
    fn drop_turns(&mut self, target: u64, keep_from: usize, words: &str) {
        let mut note = "[Earlier messages were removed to save space.]".to_owned();
        if !words.is_empty() {
            note.push('\n');
            note.push_str(words);
        }
        let mut tokens = self.tokens + estimate_tokens(&note);
        let mut drop_to = HEAD;
        for (at, message) in self.messages.iter().enumerate().take(keep_from).skip(HEAD) {
            if tokens <= target && begins_turn(message) {
                break;
            }
            tokens = tokens.saturating_sub(message_tokens(message));
            drop_to = at + 1;
        }
        if drop_to == HEAD {
            return;
        }
        self.messages.drain(HEAD..drop_to);
        self.unseen_from = self.unseen_from.saturating_sub(drop_to - HEAD);
        // In the task's own message: two messages of the user in a row are refused by some chat templates.
        if let Some(message) = self.messages.get_mut(1)
            && let Message::User { content } = message.as_ref()
        {
            let task = self.task.get_or_insert_with(|| content.clone());
            *message = Arc::new(Message::User { content: format!("{task}\n\n{note}") });
        }
        self.count();
    }

    /// The last resort: gives each long result an equal share of what may be kept.
    fn cut_results(&mut self, target: u64) {
        let over = self.tokens.saturating_sub(target);
        let long = |m: &Message| matches!(m, Message::Tool { content, .. } if content.chars().count() > LEAST);
        let held: u64 = self.messages.iter().filter(|m| long(m)).map(|m| message_tokens(m)).sum();
        if held == 0 {
            return;
        }
        let left = held.saturating_sub(over);
        for message in self.messages.iter_mut().filter(|m| long(m)) {
            if let Message::Tool { call_id, name, content, is_error } = message.as_ref() {
                let length = content.chars().count();
                let share = usize::try_from(u64::try_from(length).unwrap_or(u64::MAX).saturating_mul(left) / held).unwrap_or(length);
                let shorter = cut_marked(content, share.max(LEAST));
                if shorter.len() < content.len() {
                    *message =
                        Arc::new(Message::Tool { call_id: call_id.clone(), name: name.clone(), content: shorter, is_error: *is_error });
                }
            }
        }
        self.count();
    }

    fn count(&mut self) {
        self.tokens = self.messages.iter().map(|m| message_tokens(m)).sum();
    }
}

/// What is left of the results of older calls when they are removed.
#[derive(Clone, Copy)]
pub(crate) enum Removal<'a> {
    /// Their size alone: small models have little room.
    Size,
    /// Also how they began, and how the actor can have them again: from the file where the whole was kept, else by the call once more where its
    /// tool, by name, is a read-only one.
    Beginning { read_only: &'a dyn Fn(&str) -> bool },
}

/// What takes the place of a result of the tool `name`; none where that would not be shorter, and where it was removed before.
fn removed(name: &str, content: &str, removal: Removal<'_>) -> Option<String> {
    let length = content.chars().count();
    let removed = format!("[output of {name} removed, ");
    // Between marks there is never a last line of this kind.
    if length <= SHORT || content.lines().next_back().is_some_and(|line| line.starts_with(&removed)) {
        return None;
    }
    let Removal::Beginning { read_only } = removal else {
        return Some(format!("{removed}{length} characters]"));
    };
    let whole = note_of_whole(content);
    // The note was a part of the result, and is no more to be trusted than that.
    let beginning = within_marks(content, |inner| match whole {
        Some(note) => format!("{}\n{note}", cut(inner, BEGINNING)),
        None => cut(inner, BEGINNING),
    });
    let again = if whole.is_none() && read_only(name) { "; make the call again to see it" } else { "" };
    Some(format!("{beginning}\n{removed}{length} characters{again}]")).filter(|left| left.chars().count() < length)
}

/// System prompt and task.
const HEAD: usize = 2;

fn begins_turn(message: &Message) -> bool {
    matches!(message, Message::Assistant { .. })
}

fn message_tokens(message: &Message) -> u64 {
    const FRAME: u64 = 4;
    FRAME
        + match message {
            Message::System { content } | Message::User { content } => estimate_tokens(content),
            Message::Tool { content, name, .. } => estimate_tokens(content) + estimate_tokens(name),
            Message::Assistant { content, tool_calls, native } => {
                let calls = tool_calls.iter().map(|call| FRAME + estimate_tokens(&call.name) + estimate_tokens(&call.arguments));
                let readable = estimate_tokens(content) + calls.sum::<u64>();
                native.as_ref().map_or(readable, |native| readable.max(native_tokens(native)))
            }
        }
}

/// Tokens of the tools that a request offers, estimated.
pub(crate) fn tools_tokens(tools: &[ToolDefinition]) -> u64 {
    let tool = |t: &ToolDefinition| estimate_tokens(&t.name) + estimate_tokens(&t.description) + estimate_tokens(&t.parameters.to_string());
    tools.iter().map(tool).sum()
}

/// Corrects estimates of tokens by what the server counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TokenMeter {
    per_mille: u64,
}

impl Default for TokenMeter {
    fn default() -> Self {
        Self { per_mille: 1_000 }
    }
}

impl TokenMeter {
    /// A request that was estimated at `estimated` tokens had `counted`.
    pub(crate) fn learn(&mut self, estimated: u64, counted: u64) {
        if estimated > 0 && counted > 0 {
            self.per_mille = (counted.saturating_mul(1_000) / estimated).clamp(300, 4_000);
        }
    }

    /// The corrected estimate.
    pub(crate) const fn corrected(self, estimated: u64) -> u64 {
        estimated.saturating_mul(self.per_mille) / 1_000
    }

    /// The estimate that corrects to `tokens`.
    pub(crate) const fn estimate_of(self, tokens: u64) -> u64 {
        tokens.saturating_mul(1_000) / self.per_mille
    }
}

#[cfg(test)]
pub(crate) mod tests;
