//! Conversation of an actor, and its compaction to fit the context window.

use std::sync::Arc;

use aime_llm::{Image, Message, ToolDefinition, estimate_tokens, native_tokens};
use aime_tools::{DELEGATE_TASK, note_of_whole};
use serde::{Deserialize, Serialize};

use crate::{
    marks::{cut_marked, within_marks},
    text::cut,
};

/// Tool that asks a person.
pub const ASK_HUMAN: &str = "ask_human";

/// Returns true for a tool whose call does nothing itself: it waits for another actor or a person.
#[must_use]
pub fn waits_for_others(tool: &str) -> bool {
    matches!(tool, DELEGATE_TASK | ASK_HUMAN)
}

/// Length up to which a tool result is not worth replacing, in characters.
const SHORT: usize = 200;
/// Length of the beginning that remains of a removed result, in characters.
const BEGINNING: usize = 100;
/// Maximum number of dropped reads that a compacted conversation lists.
const MAX_READS: usize = 40;
/// Length of a dropped read in that list, in characters.
const READ: usize = 160;
/// Smallest length to which compaction cuts a tool result, in characters.
const MIN_RESULT_CHARS: usize = 400;

/// Conversation: system prompt, task, then all later messages. It grows only at its end, except for [`History::compact`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct History {
    /// System prompt, task, then all later messages.
    messages: Vec<Arc<Message>>,
    /// Original text of the task, if compaction has extended its message.
    task: Option<String>,
    /// Index of the first message that no request has held yet.
    unseen_from: usize,
    /// Estimated tokens of all messages.
    tokens: u64,
    /// Texts that the runtime has appended to results, in order.
    #[serde(default)]
    appended: Vec<Appended>,
    /// The calls in dropped turns whose results can be read again, one line each, oldest first.
    #[serde(default)]
    dropped: Vec<String>,
}

/// Author of a text that is appended to a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Speaker {
    /// A person, or the run on what it expects of the actor: compaction keeps the text as long as the turn.
    Person,
    /// The runtime, on how to go on: compaction drops the text of older results.
    Runtime,
}

/// Text at the end of a result that does not come from the tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Appended {
    /// Index of the result's message.
    message: usize,
    /// Length of the text in bytes, with the blank line before it.
    bytes: usize,
    speaker: Speaker,
}

impl History {
    pub(crate) fn new(system: String, task: Message) -> Self {
        let mut history =
            Self { messages: Vec::with_capacity(HEAD), task: None, unseen_from: 0, tokens: 0, appended: Vec::new(), dropped: Vec::new() };
        history.push(Message::System { content: system });
        history.push(task);
        history
    }

    pub(crate) fn push(&mut self, message: Message) {
        self.tokens += message_tokens(&message);
        self.messages.push(Arc::new(message));
    }

    /// Adds a text for the model. It goes to the end of the last message, after a blank line, if that is a result or a user message;
    /// otherwise it becomes a user message.
    ///
    /// Some servers refuse a user message after a result, and some chat templates refuse two user messages in a row.
    pub(crate) fn append_text(&mut self, text: &str, speaker: Speaker) {
        let at = self.messages.len().saturating_sub(1);
        let Some(last) = self.messages.last_mut().filter(|last| matches!(last.as_ref(), Message::Tool { .. } | Message::User { .. }))
        else {
            return self.push(Message::user(text));
        };
        let before = message_tokens(last);
        match Arc::make_mut(last) {
            Message::Tool { content, .. } => {
                let length = content.len();
                append(content, text);
                self.appended.push(Appended { message: at, bytes: content.len() - length, speaker });
            }
            Message::User { content, .. } => {
                append(content, text);
                if at + 1 == HEAD {
                    self.task = None;
                }
            }
            Message::System { .. } | Message::Assistant { .. } => {}
        }
        self.tokens = self.tokens.saturating_sub(before) + message_tokens(last);
    }

    pub(crate) fn messages(&self) -> &[Arc<Message>] {
        &self.messages
    }

    /// Returns the estimated, uncorrected tokens of all messages.
    pub(crate) const fn tokens(&self) -> u64 {
        self.tokens
    }

    /// Notes that the server answered a request with all messages.
    pub(crate) const fn all_seen(&mut self) {
        self.unseen_from = self.messages.len();
    }

    /// Shortens the history to about `target` tokens. It first removes the results of older calls as `removal` says, together with the
    /// runtime's notes after them, then drops the oldest turns, and finally cuts long results. The system prompt, the task and the last
    /// `kept` messages stay; `words` and a list of the dropped reads replace the dropped turns; calls stay with their results. Returns true
    /// if the history became shorter; otherwise it is unchanged.
    pub(crate) fn compact(&mut self, target: u64, words: &str, kept: usize, removal: Removal<'_>) -> bool {
        let mut shorter = self.clone();
        let keep_from = shorter.keep_from(kept);
        shorter.remove_results(keep_from, removal);
        if shorter.tokens > target {
            shorter.drop_turns(target, keep_from, words, removal);
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
        for at in 0..keep_from.min(self.messages.len()) {
            self.images_in_words(at);
            self.change_result(at, |speaker| speaker == Speaker::Person, |name, result| removed(name, result, removal));
        }
        self.count();
    }

    /// Replaces each image of the result at `at` by a line of text.
    fn images_in_words(&mut self, at: usize) {
        let Some(message) = self.messages.get_mut(at).filter(|message| !message.images().is_empty()) else { return };
        let Message::Tool { content, images, .. } = Arc::make_mut(message) else { return };
        let result = result_and_rest(&self.appended, at, content).0.len();
        let words: String = images.drain(..).map(|image| format!("\n[image {} removed]", image.described())).collect();
        content.insert_str(result, &words);
    }

    /// Replaces the tool's text in the message `at` if `change` returns a new one, and keeps the appended texts for whose speakers `keep` is true.
    fn change_result(&mut self, at: usize, keep: impl Fn(Speaker) -> bool, change: impl FnOnce(&str, &str) -> Option<String>) {
        let Some(message) = self.messages.get_mut(at) else { return };
        let Message::Tool { call_id, name, content, is_error, images } = message.as_ref() else { return };
        let (result, mut after) = result_and_rest(&self.appended, at, content);
        let changed = change(name, result);
        let here = |appended: &Appended| appended.message == at;
        if changed.is_none() && self.appended.iter().filter(|appended| here(appended)).all(|appended| keep(appended.speaker)) {
            return;
        }
        let mut content = changed.unwrap_or_else(|| result.to_owned());
        for appended in self.appended.iter().filter(|appended| here(appended)) {
            let (text, rest) = after.split_at_checked(appended.bytes).unwrap_or((after, ""));
            after = rest;
            if keep(appended.speaker) {
                content.push_str(text);
            }
        }
        let (call_id, name, images) = (call_id.clone(), name.clone(), images.clone());
        *message = Arc::new(Message::Tool { call_id, name, content, is_error: *is_error, images });
        self.appended.retain(|appended| !here(appended) || keep(appended.speaker));
    }

    /// Returns the index from which all messages must stay: the last `kept` and the unseen ones, without parting a result from its call.
    fn keep_from(&self, kept: usize) -> usize {
        let from = self.messages.len().saturating_sub(kept).min(self.unseen_from).max(HEAD);
        let turn = self.messages.iter().take(from + 1).rposition(|m| begins_turn(m));
        turn.unwrap_or(from).max(HEAD)
    }

    /// Drops the oldest turns, up to `keep_from` at most, until the rest fits.
    fn drop_turns(&mut self, target: u64, keep_from: usize, words: &str, removal: Removal<'_>) {
        let mut tokens = self.tokens + estimate_tokens(&self.note_of_dropped(words, removal));
        let mut drop_to = HEAD;
        let mut dropped = std::mem::take(&mut self.dropped);
        for (at, message) in self.messages.iter().enumerate().take(keep_from).skip(HEAD) {
            if tokens <= target && begins_turn(message) {
                break;
            }
            let reads = reads_of(message, removal);
            tokens = tokens.saturating_sub(message_tokens(message)) + reads.iter().map(|read| estimate_tokens(read)).sum::<u64>();
            for read in reads {
                dropped.retain(|earlier| *earlier != read);
                dropped.push(read);
            }
            drop_to = at + 1;
        }
        dropped.drain(..dropped.len().saturating_sub(MAX_READS));
        self.dropped = dropped;
        if drop_to == HEAD {
            return;
        }
        self.messages.drain(HEAD..drop_to);
        let note = self.note_of_dropped(words, removal);
        self.unseen_from = self.unseen_from.saturating_sub(drop_to - HEAD);
        self.appended.retain(|appended| appended.message >= drop_to);
        self.appended.iter_mut().for_each(|appended| appended.message -= drop_to - HEAD);
        // The words go into the task's own message, because some chat templates refuse two user messages in a row.
        if let Some(message) = self.messages.get_mut(1)
            && let Message::User { content, .. } = Arc::make_mut(message)
        {
            let task = self.task.get_or_insert_with(|| content.clone());
            *content = format!("{task}\n\n{note}");
        }
        self.count();
    }

    /// Returns the text that replaces the dropped turns. It has a heading, because it follows the task.
    fn note_of_dropped(&self, words: &str, removal: Removal<'_>) -> String {
        let heading = if matches!(removal, Removal::Size) { "" } else { "# Removed messages\n" };
        let mut note = format!("{heading}[Earlier messages were removed to save space.]");
        if !self.dropped.is_empty() {
            note.push_str(" You made these calls in them; make a call again to see its result:");
            self.dropped.iter().for_each(|read| note.push_str(&format!("\n- {read}")));
        }
        if !words.is_empty() {
            note.push_str(if heading.is_empty() { "\n" } else { "\n\n" });
            note.push_str(words);
        }
        note
    }

    /// Gives each long result an equal share of the remaining room, as the last resort.
    fn cut_results(&mut self, target: u64) {
        let over = self.tokens.saturating_sub(target);
        let length = |at: usize, message: &Message| match message {
            Message::Tool { content, .. } => result_and_rest(&self.appended, at, content).0.chars().count(),
            _ => 0,
        };
        let long: Vec<(usize, usize)> = self.messages.iter().enumerate().map(|(at, message)| (at, length(at, message))).collect();
        let long: Vec<(usize, usize)> = long.into_iter().filter(|(_, length)| *length > MIN_RESULT_CHARS).collect();
        let held: u64 = long.iter().filter_map(|(at, _)| self.messages.get(*at)).map(|message| message_tokens(message)).sum();
        if held == 0 {
            return;
        }
        let left = held.saturating_sub(over);
        for (at, length) in long {
            let share = usize::try_from(u64::try_from(length).unwrap_or(u64::MAX).saturating_mul(left) / held).unwrap_or(length);
            self.change_result(
                at,
                |_| true,
                |_, result| Some(cut_marked(result, share.max(MIN_RESULT_CHARS))).filter(|shorter| shorter.len() < result.len()),
            );
        }
        self.count();
    }

    /// Returns the text that was appended to the last message.
    #[cfg(test)]
    pub(crate) fn appended_to_last(&self) -> Option<&str> {
        let at = self.messages.len().checked_sub(1)?;
        let Message::Tool { content, .. } = self.messages.get(at)?.as_ref() else { return None };
        let (_, rest) = result_and_rest(&self.appended, at, content);
        rest.strip_prefix("\n\n")
    }

    fn count(&mut self) {
        self.tokens = self.messages.iter().map(|m| message_tokens(m)).sum();
    }
}

/// Splits the content of the message `at` into the tool's text and the appended text.
fn result_and_rest<'a>(appended: &[Appended], at: usize, content: &'a str) -> (&'a str, &'a str) {
    let bytes: usize = appended.iter().filter(|appended| appended.message == at).map(|appended| appended.bytes).sum();
    content.split_at_checked(content.len().saturating_sub(bytes)).unwrap_or((content, ""))
}

fn append(content: &mut String, text: &str) {
    content.push_str("\n\n");
    content.push_str(text);
}

/// Form of the note that replaces a removed result.
#[derive(Clone, Copy)]
pub(crate) enum Removal<'a> {
    /// Only the size: small models have little room.
    Size,
    /// Size, beginning, and how to get the result again: from the file that holds the full text, or, if the named tool is read-only, by
    /// repeating the call.
    Beginning { read_only: &'a dyn Fn(&str) -> bool },
}

/// Returns the replacement for a result of the tool `name`, or none if it would not be shorter, the result was removed before, or it is a
/// person's answer.
fn removed(name: &str, content: &str, removal: Removal<'_>) -> Option<String> {
    let length = content.chars().count();
    let removed = format!("[output of {name} removed, ");
    // The last line of a marked text is its end mark, so it never matches this test.
    if length <= SHORT || name == ASK_HUMAN || content.lines().next_back().is_some_and(|line| line.starts_with(&removed)) {
        return None;
    }
    let Removal::Beginning { read_only } = removal else {
        return Some(format!("{removed}{length} characters]"));
    };
    let whole = note_of_whole(content);
    // The note was part of the result, so it stays inside the marks of untrusted data.
    let beginning = within_marks(content, |inner| match whole {
        Some(note) => format!("{}\n{note}", cut(inner, BEGINNING)),
        None => cut(inner, BEGINNING),
    });
    let again = if whole.is_none() && read_only(name) { "; make the call again to see it" } else { "" };
    Some(format!("{beginning}\n{removed}{length} characters{again}]")).filter(|left| left.chars().count() < length)
}

/// Returns the calls of a turn whose results can be read again, each as one line: the tool and its arguments, which name the path and the
/// lines of a read. Small models have no room for them.
fn reads_of(message: &Message, removal: Removal<'_>) -> Vec<String> {
    let (Message::Assistant { tool_calls, .. }, Removal::Beginning { read_only }) = (message, removal) else { return Vec::new() };
    let reads = tool_calls.iter().filter(|call| read_only(&call.name));
    reads.map(|call| cut(&format!("{} {}", call.name, call.arguments.split_whitespace().collect::<Vec<_>>().join(" ")), READ)).collect()
}

/// Number of messages at the start: system prompt and task.
const HEAD: usize = 2;

fn begins_turn(message: &Message) -> bool {
    matches!(message, Message::Assistant { .. })
}

fn message_tokens(message: &Message) -> u64 {
    const FRAME: u64 = 4;
    FRAME
        + message.images().iter().map(Image::estimated_tokens).sum::<u64>()
        + match message {
            Message::System { content } | Message::User { content, .. } => estimate_tokens(content),
            Message::Tool { content, name, .. } => estimate_tokens(content) + estimate_tokens(name),
            Message::Assistant { content, tool_calls, native } => {
                let calls = tool_calls.iter().map(|call| FRAME + estimate_tokens(&call.name) + estimate_tokens(&call.arguments));
                let readable = estimate_tokens(content) + calls.sum::<u64>();
                native.as_ref().map_or(readable, |native| readable.max(native_tokens(native)))
            }
        }
}

/// Estimates the tokens of the tool definitions in a request.
pub(crate) fn tools_tokens(tools: &[ToolDefinition]) -> u64 {
    let tool = |t: &ToolDefinition| estimate_tokens(&t.name) + estimate_tokens(&t.description) + estimate_tokens(&t.parameters.to_string());
    tools.iter().map(tool).sum()
}

/// Corrects estimates of tokens by the counts of the server.
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
    /// Takes in that the server counted `counted` tokens for a request estimated at `estimated`.
    pub(crate) fn learn(&mut self, estimated: u64, counted: u64) {
        if estimated > 0 && counted > 0 {
            self.per_mille = (counted.saturating_mul(1_000) / estimated).clamp(300, 4_000);
        }
    }

    /// Returns the corrected estimate.
    pub(crate) const fn corrected(self, estimated: u64) -> u64 {
        estimated.saturating_mul(self.per_mille) / 1_000
    }

    /// Returns the estimate that corrects to `tokens`.
    pub(crate) const fn estimate_of(self, tokens: u64) -> u64 {
        tokens.saturating_mul(1_000) / self.per_mille
    }
}

#[cfg(test)]
pub(crate) mod tests;
