//! Messages from people to an actor at work.

use aime_durable::Outbox;
use aime_progress_management::ProgressEvent;
use serde::{Deserialize, Serialize};

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
/// Length to which a compaction may cut a text of a person, in characters. It keeps more where the window has room for it.
const KEPT: usize = 500;

/// Question of the actor, with the answer of a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct AnsweredQuestion {
    pub(super) question: String,
    pub(super) answer: String,
}

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

    /// Lists what people said and answered so far and why the last result was not accepted, for a compacted history; empty if there is
    /// nothing of it.
    pub(super) fn summarize_messages(&self) -> String {
        let texts = self.read_messages.len() + self.answered.len() + usize::from(self.returned.is_some());
        // Half as many characters as the window has tokens are about an eighth of the window.
        let share = usize::try_from(self.window / 2).unwrap_or(usize::MAX) / texts.max(1);
        let short = |text: &str| cut(text.trim(), share.clamp(KEPT, MAX_CHARS));
        let said = self.read_messages.iter().map(|message| format!("- {}", short(&message.text)));
        let answer = |of: &AnsweredQuestion| format!("- {}\n  Answer: {}", cut(of.question.trim(), KEPT), short(&of.answer));
        let sections: [(&str, Vec<String>); 3] = [
            ("The person you work for has said:", said.collect()),
            ("The person you work for has answered what you asked:", self.answered.iter().map(answer).collect()),
            ("Your last result was not accepted:", self.returned.iter().map(|missing| short(missing)).collect()),
        ];
        let sections = sections.iter().filter(|(_, lines)| !lines.is_empty());
        sections.map(|(heading, lines)| format!("{heading}\n{}", lines.join("\n"))).collect::<Vec<_>>().join("\n")
    }
}
