//! What an actor remembers of its conversation, and how that is shortened to fit the context window.

use std::sync::Arc;

use aime_llm::{Image, Message, ToolDefinition, estimate_tokens, native_tokens};
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
    /// The texts that the runtime has appended to results, in order.
    #[serde(default)]
    appended: Vec<Appended>,
}

/// Who speaks in a text that is appended to a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Speaker {
    /// A person: compaction keeps the text as long as the turn.
    Person,
    /// The runtime: compaction drops the text of older results.
    Runtime,
}

/// A text at the end of a result that is not the tool's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Appended {
    /// The index of the result.
    message: usize,
    /// The length of the text with the blank line before it.
    bytes: usize,
    speaker: Speaker,
}

impl History {
    pub(crate) fn new(system: String, task: Message) -> Self {
        let mut history = Self { messages: Vec::with_capacity(HEAD), task: None, unseen_from: 0, tokens: 0, appended: Vec::new() };
        history.push(Message::System { content: system });
        history.push(task);
        history
    }

    pub(crate) fn push(&mut self, message: Message) {
        self.tokens += message_tokens(&message);
        self.messages.push(Arc::new(message));
    }

    /// Says something to the model: after a blank line at the end of the last message where that is a result or the user's, else in a message
    /// of the user.
    ///
    /// Some servers refuse a message of the user after a result, and some chat templates two of the user in a row.
    pub(crate) fn say(&mut self, text: &str, speaker: Speaker) {
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

    /// Tokens of all messages, estimated and not corrected.
    pub(crate) const fn tokens(&self) -> u64 {
        self.tokens
    }

    /// A request that held all messages was answered.
    pub(crate) const fn all_seen(&mut self) {
        self.unseen_from = self.messages.len();
    }

    /// Shortens the history to about `target` tokens: first the results of older calls are removed as `removal` says, with the notes
    /// of the runtime after them, then the oldest turns are dropped, then, if need be, long results that are left are cut. System prompt, task and the last `kept` messages stay, and `words`
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
        for at in 0..keep_from.min(self.messages.len()) {
            self.images_in_words(at);
            self.change_result(at, |speaker| speaker == Speaker::Person, |name, result| removed(name, result, removal));
        }
        self.count();
    }

    /// Replaces the images of the result at `at` by a line each.
    fn images_in_words(&mut self, at: usize) {
        let Some(message) = self.messages.get_mut(at).filter(|message| !message.images().is_empty()) else { return };
        let Message::Tool { content, images, .. } = Arc::make_mut(message) else { return };
        let result = result_and_rest(&self.appended, at, content).0.len();
        let words: String = images.drain(..).map(|image| format!("\n[image {} removed]", image.described())).collect();
        content.insert_str(result, &words);
    }

    /// Replaces what the tool said in the message `at`, where `change` gives something else, and keeps the texts after it whose speaker `stays`.
    fn change_result(&mut self, at: usize, stays: impl Fn(Speaker) -> bool, change: impl FnOnce(&str, &str) -> Option<String>) {
        let Some(message) = self.messages.get_mut(at) else { return };
        let Message::Tool { call_id, name, content, is_error, images } = message.as_ref() else { return };
        let (result, mut after) = result_and_rest(&self.appended, at, content);
        let changed = change(name, result);
        let here = |appended: &Appended| appended.message == at;
        if changed.is_none() && self.appended.iter().filter(|appended| here(appended)).all(|appended| stays(appended.speaker)) {
            return;
        }
        let mut content = changed.unwrap_or_else(|| result.to_owned());
        for appended in self.appended.iter().filter(|appended| here(appended)) {
            let (text, rest) = after.split_at_checked(appended.bytes).unwrap_or((after, ""));
            after = rest;
            if stays(appended.speaker) {
                content.push_str(text);
            }
        }
        let (call_id, name, images) = (call_id.clone(), name.clone(), images.clone());
        *message = Arc::new(Message::Tool { call_id, name, content, is_error: *is_error, images });
        self.appended.retain(|appended| !here(appended) || stays(appended.speaker));
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
        self.appended.retain(|appended| appended.message >= drop_to);
        self.appended.iter_mut().for_each(|appended| appended.message -= drop_to - HEAD);
        // In the task's own message: two messages of the user in a row are refused by some chat templates.
        if let Some(message) = self.messages.get_mut(1)
            && let Message::User { content, .. } = Arc::make_mut(message)
        {
            let task = self.task.get_or_insert_with(|| content.clone());
            *content = format!("{task}\n\n{note}");
        }
        self.count();
    }

    /// The last resort: gives each long result an equal share of what may be kept.
    fn cut_results(&mut self, target: u64) {
        let over = self.tokens.saturating_sub(target);
        let length = |at: usize, message: &Message| match message {
            Message::Tool { content, .. } => result_and_rest(&self.appended, at, content).0.chars().count(),
            _ => 0,
        };
        let long: Vec<(usize, usize)> = self.messages.iter().enumerate().map(|(at, message)| (at, length(at, message))).collect();
        let long: Vec<(usize, usize)> = long.into_iter().filter(|(_, length)| *length > LEAST).collect();
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
                |_, result| Some(cut_marked(result, share.max(LEAST))).filter(|shorter| shorter.len() < result.len()),
            );
        }
        self.count();
    }

    /// What was appended to the last message.
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

/// Parts the content of the message `at` into what the tool said and what was appended.
fn result_and_rest<'a>(appended: &[Appended], at: usize, content: &'a str) -> (&'a str, &'a str) {
    let bytes: usize = appended.iter().filter(|appended| appended.message == at).map(|appended| appended.bytes).sum();
    content.split_at_checked(content.len().saturating_sub(bytes)).unwrap_or((content, ""))
}

fn append(content: &mut String, text: &str) {
    content.push_str("\n\n");
    content.push_str(text);
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
