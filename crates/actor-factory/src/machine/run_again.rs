//! An actor that has ended and goes on in its conversation.

use aime_durable::{Outbox, UnixMillis};

use super::{ActorMachine, ActorStatus, ActorStep, IllegalStep};
use crate::{history::Speaker, notes::Note, text::cut_with_note};

/// The longest text on what is missing that an actor is told whole, in characters.
const LONGEST: usize = 16_000;

impl ActorMachine {
    /// Checks whether the actor can be run: it is idle, or it has finished and its result was not accepted.
    ///
    /// # Errors
    /// [`IllegalStep`] for an actor that runs, and for one that could not go on.
    pub const fn can_run(&self) -> Result<(), IllegalStep> {
        let idle = match self.status {
            ActorStatus::Finished => ActorStatus::Idle,
            other => other,
        };
        match idle.after(ActorStep::Run) {
            Ok(_) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Takes the conclusion back and asks the model again, with as many steps as at the beginning.
    pub(super) fn run_again(&mut self, at: UnixMillis, number: u32, missing: &str, out: &mut Outbox<Self>) {
        if number <= self.runs_again || self.conclusion.is_none() || self.can_run().is_err() {
            return;
        }
        if self.status == ActorStatus::Finished {
            self.go(ActorStep::Return);
        }
        self.go(ActorStep::Run);
        self.runs_again = number;
        self.conclusion = None;
        self.steps = 0;
        self.must_conclude = false;
        self.plain_in_row = 0;
        self.unread_in_row = 0;
        let missing = missing.trim();
        if !missing.is_empty() {
            let note = Note::Returned.text(&self.input.notes, &[("text", &cut_with_note(missing, LONGEST))]);
            self.nudged("returned", &note, out);
            self.history.say(&note, Speaker::Runtime);
        }
        self.next_step(at, out);
    }
}
