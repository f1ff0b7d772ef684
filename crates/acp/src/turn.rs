//! Effect of a prompt on a session, and the end of its turn.

#[cfg(test)]
mod tests;

use agent_client_protocol::v1::schema::StopReason;
use aime_orchestrator::{FailureCode, RunResult, RunView};
use aime_progress_management::{QuestionId, RunId};

use crate::{KnownRun, Refusal, SessionChoices, Work, prompt::Prompt};

/// Effect of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// The prompt starts a run.
    Start,
    /// The prompt is the next goal of the last run, which has ended and whose lead remembers what was said.
    Continue,
    /// The prompt answers a question of the last run, which continues.
    Answer(QuestionId),
    /// The prompt is a message to the last run, which was stopped or cut off and continues.
    Say,
}

/// Returns the effect of a session's next prompt, given its last run.
///
/// A run that has ended is continued if a lead works on it and the approval and planning modes are those that it began
/// with; otherwise, and if a bound was reached, a new run is started. A run that waits is answered. A stopped run is
/// resumed and receives the prompt.
#[must_use]
pub fn next(last: Option<&RunView>, chosen: SessionChoices) -> Next {
    let Some(last) = last else { return Next::Start };
    if last.is_over {
        let as_chosen = (last.settings().approval, last.settings().mode) == (chosen.approval, chosen.mode);
        return if last.takes_follow_up && last.led && as_chosen { Next::Continue } else { Next::Start };
    }
    match last.output.as_ref().and_then(|output| output.error.as_ref()).map(|error| error.code) {
        Some(FailureCode::BoundReached) => Next::Start,
        Some(FailureCode::WaitingForHuman) => {
            let asked = last.state.questions.iter().find(|question| question.answer.is_none());
            asked.map_or(Next::Say, |question| Next::Answer(question.id.clone()))
        }
        _ => Next::Say,
    }
}

impl Next {
    /// Returns the work for a prompt. Only a goal takes images.
    pub(crate) fn with(self, Prompt { text, images }: Prompt, chosen: SessionChoices) -> Result<Work, Refusal> {
        match self {
            Self::Start => Ok(Work::Start { goal: text, images, chosen }),
            _ if !images.is_empty() => {
                Err(Refusal::Invalid("images can be given with a new goal only: put the file into the folder, and name it".to_owned()))
            }
            Self::Continue => Ok(Work::Continue { goal: text }),
            Self::Answer(question) => Ok(Work::Answer { question, text }),
            Self::Say => Ok(Work::Say { text }),
        }
    }
}

/// End of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The turn stopped for this reason; with a last message.
    Stop(StopReason, Option<String>),
    /// The turn failed.
    Fault(String),
}

/// Returns the end of the turn for a run with this result. `bound` is the bound that was reached, if any.
pub(crate) fn ending(result: &RunResult, bound: Option<&str>) -> Ending {
    let Some(error) = &result.error else { return Ending::Stop(StopReason::EndTurn, None) };
    let hinted = || error.hint.as_ref().map_or_else(|| error.message.to_string(), |hint| format!("{}\n({hint})", error.message));
    match error.code {
        // The question was shown when it was asked.
        FailureCode::WaitingForHuman => Ending::Stop(StopReason::EndTurn, None),
        FailureCode::Interrupted | FailureCode::Cancelled => Ending::Stop(StopReason::Cancelled, None),
        FailureCode::BoundReached => {
            let reason = match bound {
                Some("tokens") => StopReason::MaxTokens,
                Some("steps" | "tool_calls" | "actors") => StopReason::MaxTurnRequests,
                _ => StopReason::EndTurn,
            };
            Ending::Stop(reason, Some(error.message.to_string()))
        }
        FailureCode::GoalNotReached => Ending::Stop(StopReason::EndTurn, Some(hinted())),
        _ => Ending::Fault(hinted()),
    }
}

/// Returns the name of a run of a session: the first has that of the session.
pub(crate) fn run_name(session: &RunId, number: usize) -> Option<RunId> {
    if number == 1 { Some(session.clone()) } else { RunId::new(format!("{session}-{number}")).ok() }
}

/// Returns the runs of a session in the order in which they were begun.
pub(crate) fn runs_of(session: &RunId, known: &[KnownRun]) -> Vec<RunId> {
    let mut runs: Vec<(usize, RunId)> = known.iter().filter_map(|known| Some((place(session, &known.run)?, known.run.clone()))).collect();
    runs.sort();
    runs.into_iter().map(|(_, run)| run).collect()
}

/// Returns the position of a run in a session, from 1; `None` if it belongs to another session.
pub(crate) fn place(session: &RunId, run: &RunId) -> Option<usize> {
    let rest = run.as_str().strip_prefix(session.as_str())?;
    if rest.is_empty() {
        return Some(1);
    }
    let number = rest.strip_prefix('-').filter(|rest| !rest.starts_with(['0', '+']))?;
    number.parse().ok().filter(|number| *number > 1)
}
