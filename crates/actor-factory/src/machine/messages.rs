//! Messages from people to an actor at work.

use aime_durable::Outbox;
use aime_progress_management::ProgressEvent;

use super::ActorMachine;
use crate::{
    PersonMessage,
    history::Speaker,
    notes::Note,
    text::{cut, cut_with_note},
};

/// Longest message that is passed on in full, in characters.
const MAX_CHARS: usize = 16_000;
/// Tells an actor in a fork that the files may not be those that it knows.
const FORKED: &str = "[Your work goes on in a new run, with the files of the folder as they are now. Changes that you made before may be missing, and there may \
                      be others: look at a file again before you rely on it.]";
/// Length of a message that survives a compaction, in characters.
const KEPT: usize = 500;

impl ActorMachine {
    /// Keeps a person's message for the next request, each message once.
    pub(super) fn queue_message(&mut self, message: &PersonMessage) {
        if !self.read_messages.iter().chain(&self.unread_messages).any(|known| known.id == message.id) {
            self.unread_messages.push(message.clone());
        }
    }

    /// Returns true if the actor still has to see a message. It does not end before that.
    pub(super) fn has_unread_messages(&self) -> bool {
        !self.unread_messages.is_empty() && self.steps_left() > 0
    }

    /// Appends the new messages to the history, and the note on a fork. Returns true if there were any messages. Called only between two turns, so that each call keeps
    /// its result. The actor then starts anew: its earlier answers no longer count as the result.
    pub(super) fn append_messages(&mut self, out: &mut Outbox<Self>) -> bool {
        if std::mem::take(&mut self.is_forked) {
            self.history.append_text(FORKED, Speaker::Person);
        }
        if self.unread_messages.is_empty() {
            return false;
        }
        let mut parts = Vec::new();
        for message in std::mem::take(&mut self.unread_messages) {
            out.emit(ProgressEvent::MessageDelivered { task: self.works_for(), evidence: message.id.clone() });
            parts.push(Note::PersonMessage.text(&self.input.notes, &[("text", &cut_with_note(message.text.trim(), MAX_CHARS))]));
            self.read_messages.push(message);
        }
        self.history.append_text(&parts.join("\n\n"), Speaker::Person);
        self.must_conclude = false;
        self.plain_in_row = 0;
        self.unread_in_row = 0;
        self.plain_text.clear();
        true
    }

    /// Summarizes the messages of people so far, for a compacted history; empty if there are none.
    pub(super) fn summarize_messages(&self) -> String {
        let lines: Vec<String> = self.read_messages.iter().map(|message| format!("- {}", cut(message.text.trim(), KEPT))).collect();
        if lines.is_empty() { String::new() } else { format!("The person you work for has said:\n{}", lines.join("\n")) }
    }
}
