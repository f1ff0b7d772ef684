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
const LONGEST: usize = 16_000;
/// Length of a message that survives a compaction, in characters.
const KEPT: usize = 500;

impl ActorMachine {
    /// Keeps a person's message for the next request, each message once.
    pub(super) fn queue_message(&mut self, told: &PersonMessage) {
        if !self.heard.iter().chain(&self.said).any(|known| known.id == told.id) {
            self.said.push(told.clone());
        }
    }

    /// Returns true if the actor still has to see a message. It does not end before that.
    pub(super) fn has_unread_messages(&self) -> bool {
        !self.said.is_empty() && self.steps_left() > 0
    }

    /// Appends the new messages to the history and returns true if there were any. Called only between two turns, so that each call keeps
    /// its result. The actor then starts anew: its earlier answers no longer count as the result.
    pub(super) fn append_messages(&mut self, out: &mut Outbox<Self>) -> bool {
        if self.said.is_empty() {
            return false;
        }
        let mut parts = Vec::new();
        for told in std::mem::take(&mut self.said) {
            out.emit(ProgressEvent::ActorTold { task: self.works_for(), evidence: told.id.clone() });
            parts.push(Note::PersonMessage.text(&self.input.notes, &[("text", &cut_with_note(told.text.trim(), LONGEST))]));
            self.heard.push(told);
        }
        self.history.append_text(&parts.join("\n\n"), Speaker::Person);
        self.must_conclude = false;
        self.plain_in_row = 0;
        self.unread_in_row = 0;
        self.plain_text.clear();
        true
    }

    /// Summarizes the messages of people so far, for a compacted history; empty if there are none.
    pub(super) fn heard_in_short(&self) -> String {
        let lines: Vec<String> = self.heard.iter().map(|told| format!("- {}", cut(told.text.trim(), KEPT))).collect();
        if lines.is_empty() { String::new() } else { format!("The person you work for has said:\n{}", lines.join("\n")) }
    }
}
