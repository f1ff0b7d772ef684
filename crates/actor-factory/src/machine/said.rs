//! What people say to an actor while it works.

use aime_durable::Outbox;
use aime_progress::ProgressEvent;

use super::ActorMachine;
use crate::{
    Told,
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
        !self.said.is_empty() && self.steps < self.input.spec.max_steps
    }

    /// Puts what was said at the end of the history, with what the actor was to be told beside. Called between two turns alone, so that no
    /// call is parted from its result. Whoever was told something begins anew: what it had answered before is not the result any more.
    pub(super) fn hear(&mut self, out: &mut Outbox<Self>) {
        if self.said.is_empty() {
            return;
        }
        let mut parts = Vec::new();
        for told in std::mem::take(&mut self.said) {
            out.emit(ProgressEvent::ActorTold { task: self.input.spec.task.clone(), evidence: told.id.clone() });
            parts.push(Note::Told.text(&self.input.notes, &[("text", &cut_with_note(told.text.trim(), LONGEST))]));
            self.heard.push(told);
        }
        parts.append(&mut self.notes);
        self.history.say(&parts.join("\n\n"));
        self.must_conclude = false;
        self.plain_in_row = 0;
        self.plain_text.clear();
    }

    /// What people have said so far, for a history that is shortened; empty if nothing was.
    pub(super) fn heard_in_short(&self) -> String {
        let lines: Vec<String> = self.heard.iter().map(|told| format!("- {}", cut(told.text.trim(), KEPT))).collect();
        if lines.is_empty() { String::new() } else { format!("The person you work for has said:\n{}", lines.join("\n")) }
    }
}
