//! What people say to an actor while it works.

use aime_durable::Outbox;
use aime_progress::ProgressEvent;

use super::ActorMachine;
use crate::{
    Told,
    history::Speaker,
    notes::Note,
    text::{cut, cut_with_note},
};

/// The longest words that are passed on whole, in characters.
const LONGEST: usize = 16_000;
/// How much of them outlives a compaction, in characters.
const KEPT: usize = 500;

impl ActorMachine {
    /// Keeps what a person says for the next request, each message once.
    pub(super) fn told(&mut self, told: &Told) {
        if !self.heard.iter().chain(&self.said).any(|known| known.id == told.id) {
            self.said.push(told.clone());
        }
    }

    /// Whether something was said that the actor has not seen and can still see: it does not end before.
    pub(super) fn must_hear(&self) -> bool {
        !self.said.is_empty() && self.steps_left() > 0
    }

    /// Puts what was said at the end of the history and returns whether there was anything. Called only between two turns, so that each call
    /// keeps its result. The actor begins anew then: its answers before the words are no longer the result.
    pub(super) fn hear(&mut self, out: &mut Outbox<Self>) -> bool {
        if self.said.is_empty() {
            return false;
        }
        let mut parts = Vec::new();
        for told in std::mem::take(&mut self.said) {
            out.emit(ProgressEvent::ActorTold { task: self.works_for(), evidence: told.id.clone() });
            parts.push(Note::Told.text(&self.input.notes, &[("text", &cut_with_note(told.text.trim(), LONGEST))]));
            self.heard.push(told);
        }
        self.history.say(&parts.join("\n\n"), Speaker::Person);
        self.must_conclude = false;
        self.plain_in_row = 0;
        self.unread_in_row = 0;
        self.plain_text.clear();
        true
    }

    /// What people have said so far, for a history that is shortened; empty if nothing was.
    pub(super) fn heard_in_short(&self) -> String {
        let lines: Vec<String> = self.heard.iter().map(|told| format!("- {}", cut(told.text.trim(), KEPT))).collect();
        if lines.is_empty() { String::new() } else { format!("The person you work for has said:\n{}", lines.join("\n")) }
    }
}
