//! Continuation of an actor that has ended.

use aime_durable::{Outbox, UnixMillis};

use super::{ActorFact, ActorMachine, ActorStatus, ActorStep, IllegalStep, messages::AnsweredQuestion};
use crate::{history::Speaker, notes::Note, text::cut_with_note};

/// Longest text on missing parts that the actor gets in full, in characters.
const MAX_CHARS: usize = 16_000;
/// Text for an answer without words.
const NOTHING_SAID: &str = "The person you work for lets you go on.";

impl ActorMachine {
    /// Checks that the actor can run: it is idle, or it has finished and its result was not accepted.
    ///
    /// # Errors
    /// [`IllegalStep`] for an actor that is running or has failed.
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

    /// Returns the fact that runs the actor again with this number, or `None` if it has run again with it.
    ///
    /// # Errors
    /// [`IllegalStep`] for an actor that is running or has failed.
    pub fn run_again_fact(&self, number: u32, missing: String, answer: bool) -> Result<Option<ActorFact>, IllegalStep> {
        if number <= self.runs_again {
            return Ok(None);
        }
        self.can_run()?;
        Ok(Some(ActorFact::RunAgain { number, missing, answer }))
    }

    /// Withdraws the conclusion and asks the model again, with the full number of steps.
    pub(super) fn run_again(&mut self, at: UnixMillis, number: u32, (missing, answer): (&str, bool), out: &mut Outbox<Self>) {
        if number <= self.runs_again {
            return;
        }
        if let Err(refused) = self.can_run() {
            return self.nudged("run_refused", &refused.to_string(), out);
        }
        // A stopped actor continues where it was.
        let Some(ended) = self.conclusion.take() else { return };
        if self.status == ActorStatus::Finished {
            self.go(ActorStep::Return);
        }
        self.go(ActorStep::Run);
        self.runs_again = number;
        self.steps = 0;
        self.must_conclude = false;
        self.plain_in_row = 0;
        self.unread_in_row = 0;
        let missing = cut_with_note(missing.trim(), MAX_CHARS);
        let note = match (answer, missing.as_str()) {
            (true, "") => Some((Note::Answered, NOTHING_SAID.to_owned())),
            (true, words) => {
                let question = ended.needs.unwrap_or(ended.summary);
                self.answered.push(AnsweredQuestion { question, answer: words.to_owned() });
                Some((Note::Answered, format!("The person you work for answers: {words}")))
            }
            (false, "") => None,
            (false, missing) => {
                self.returned = Some(missing.to_owned());
                Some((Note::Returned, missing.to_owned()))
            }
        };
        if let Some((note, text)) = note {
            let message = note.text(&self.input.notes, &[("text", &text)]);
            self.nudged(note.name(), &message, out);
            self.history.append_text(&message, Speaker::Person);
        }
        self.next_step(at, out);
    }
}
