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
/// A run keeps the approval mode that it began with, so another chosen one starts a new run. A run that has ended is
/// continued if a lead works on it and the planning mode is the chosen one, too; otherwise, and if a bound was reached, a
/// new run is started. A run that waits is answered. A stopped run is resumed and receives the prompt.
#[must_use]
pub fn next(last: Option<&RunView>, chosen: SessionChoices) -> Next {
    let Some(last) = last else { return Next::Start };
    if last.settings().approval != chosen.approval {
        return Next::Start;
    }
    if last.is_over {
        let continues = last.takes_follow_up && last.led && last.settings().mode == chosen.mode;
        return if continues { Next::Continue } else { Next::Start };
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

/// Part of the names of a session's later runs. It is one that people do not type, since a run of that name belongs to the session.
const LATER_RUN: &str = "-acp-run-";

/// Returns the name of the next run of a session that has these runs, the oldest first; `None` if it is too long. The first run has the
/// name of the session.
pub(crate) fn next_run_name(session: &RunId, runs: &[RunId]) -> Option<RunId> {
    match runs.last().and_then(|last| place(session, last)) {
        None => Some(session.clone()),
        Some(last) => RunId::new(format!("{session}{LATER_RUN}{}", last.saturating_add(1))).ok(),
    }
}

/// Returns the runs of a session in the order in which they were begun.
pub(crate) fn runs_of(session: &RunId, known: &[KnownRun]) -> Vec<RunId> {
    let mut runs: Vec<(usize, RunId)> = known.iter().filter_map(|known| Some((place(session, &known.run)?, known.run.clone()))).collect();
    runs.sort();
    runs.into_iter().map(|(_, run)| run).collect()
}

/// Returns the position of a run in a session, from 1; `None` if it belongs to another session.
fn place(session: &RunId, run: &RunId) -> Option<usize> {
    let (name, number) = session_and_place(run);
    (name == session.as_str()).then_some(number)
}

/// Returns the name of the session of a run, and the position of the run in it, from 1.
pub(crate) fn session_and_place(run: &RunId) -> (&str, usize) {
    let later = run.as_str().rsplit_once(LATER_RUN).filter(|(name, number)| !name.is_empty() && !number.starts_with(['0', '+']));
    let later = later.and_then(|(name, number)| Some((name, number.parse::<usize>().ok()?)));
    later.filter(|(_, number)| *number > 1).unwrap_or((run.as_str(), 1))
}
