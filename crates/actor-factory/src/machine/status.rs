//! The status of an actor: `idle → running (thinking ⇄ executing) → finished | error`. The lead of a run rests between its wakes:
//! `thinking → resting → thinking`.

use aime_messages::{Describe, Message, message};
use serde::{Deserialize, Serialize};

/// Status of an actor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActorStatus {
    /// Not running: new, stopped, out of steps, or without a usable model.
    Idle,
    /// Running: waits for the model.
    Thinking,
    /// Running: waits for tools or people.
    Executing,
    /// The lead: waits until the run wakes it.
    Resting,
    /// It ended by itself.
    Finished,
    /// It cannot go on.
    Error,
}

/// Transition between two statuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ActorStep {
    /// It is started or resumed.
    Run,
    /// The model asked for tools.
    Calls,
    /// All calls of the turn are done.
    Results,
    /// The lead has stated its commands.
    Rest,
    /// The run wakes the lead.
    Wake,
    /// It concluded.
    Finish,
    /// It failed.
    Fail,
    /// It used up its steps.
    Limit,
    /// It was stopped, or its model cannot be used.
    Stop,
    /// Its result was not accepted.
    Return,
}

/// Step that is illegal in the given status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.describe())]
pub struct IllegalStep {
    /// The status.
    pub from: ActorStatus,
    /// The step.
    pub step: ActorStep,
}

impl Describe for IllegalStep {
    fn describe(&self) -> Message {
        message!("actor-step", status = format!("{:?}", self.from), step = format!("{:?}", self.step))
    }
}

impl ActorStatus {
    /// Returns the status after `step`.
    ///
    /// # Errors
    /// [`IllegalStep`] for every pair that the state machine lacks, such as `Run` outside `Idle`.
    pub const fn after(self, step: ActorStep) -> Result<Self, IllegalStep> {
        Ok(match (self, step) {
            (Self::Idle, ActorStep::Run) | (Self::Executing, ActorStep::Results) | (Self::Resting, ActorStep::Wake) => Self::Thinking,
            (Self::Thinking, ActorStep::Calls) => Self::Executing,
            (Self::Thinking | Self::Executing, ActorStep::Rest) => Self::Resting,
            (Self::Thinking | Self::Executing, ActorStep::Finish) => Self::Finished,
            (Self::Thinking | Self::Executing, ActorStep::Fail) => Self::Error,
            (Self::Thinking | Self::Executing, ActorStep::Limit | ActorStep::Stop) | (Self::Finished, ActorStep::Return) => Self::Idle,
            (from, step) => return Err(IllegalStep { from, step }),
        })
    }

    /// Returns true if the actor runs.
    #[must_use]
    pub const fn running(self) -> bool {
        matches!(self, Self::Thinking | Self::Executing)
    }
}

#[cfg(test)]
mod tests {
    use super::{
        ActorStatus::{Error, Executing, Finished, Idle, Resting, Thinking},
        ActorStep::{Calls, Fail, Finish, Limit, Rest, Results, Return, Run, Stop, Wake},
    };

    // Requirement: 4.11
    #[test]
    fn the_whole_table() {
        let steps = [Run, Calls, Results, Finish, Fail, Limit, Stop, Rest, Wake, Return];
        let table = [
            (Idle, [Some(Thinking), None, None, None, None, None, None, None, None, None]),
            (Thinking, [None, Some(Executing), None, Some(Finished), Some(Error), Some(Idle), Some(Idle), Some(Resting), None, None]),
            (Executing, [None, None, Some(Thinking), Some(Finished), Some(Error), Some(Idle), Some(Idle), Some(Resting), None, None]),
            (Resting, [None, None, None, None, None, None, None, None, Some(Thinking), None]),
            (Finished, [None, None, None, None, None, None, None, None, None, Some(Idle)]),
            (Error, [None; 10]),
        ];
        for (from, row) in table {
            for (step, expected) in steps.into_iter().zip(row) {
                assert_eq!(from.after(step).ok(), expected, "{from:?} after {step:?}");
            }
        }
        assert_eq!(Thinking.after(Run).unwrap_err().to_string(), "an actor that is Thinking cannot take the step Run");
    }
}
