//! Effect of a prompt on a session, and the end of its turn.

#[cfg(test)]
mod tests;

use agent_client_protocol::v1::schema::StopReason;
use aime_orchestrator::{FailureCode, NextStep, RunFailure, RunResult, RunView};
use aime_progress_management::{Question, QuestionId, RunId};

use crate::{KnownRun, Refusal, SessionChoices, Work, prompt::Prompt};

/// Effect of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// The prompt starts a run.
    Start,
    /// The prompt is the next goal of the last run, which has ended and whose lead remembers what was said.
    Continue,
    /// The prompt answers a question of the last run, which continues.
    Answer {
        /// The question.
        question: QuestionId,
        /// Kind of the question.
        kind: String,
    },
    /// The prompt is a message to the last run, which was stopped, was cut off or had used up a quota, and continues.
    Say,
}

/// Returns the effect of a session's next prompt, given its last run.
///
/// A run that waits is answered. A run keeps the approval mode that it began with, so another chosen one starts a new
/// run; if the last run waits, only a stricter one does. A run that has ended is continued if a lead works on it and the
/// planning mode is the chosen one, too; otherwise, and if a bound was reached, a new run is started. A run that was
/// stopped or had used up a quota is resumed and receives the prompt.
#[must_use]
pub fn next(last: Option<&RunView>, chosen: SessionChoices) -> Next {
    let Some(last) = last else { return Next::Start };
    let failure = last.output.as_ref().and_then(|output| output.error.as_ref());
    let waits = !last.is_over && failure.is_some_and(|failure| failure.code == FailureCode::WaitingForHuman);
    let began_with = last.settings().approval;
    // An answer stays one after a freer mode was chosen. After a stricter one the run must not go on in its own.
    let is_allowed = began_with == chosen.approval || (waits && began_with.narrower(chosen.approval) == began_with);
    if !is_allowed {
        return Next::Start;
    }
    if last.is_over {
        let continues = last.takes_follow_up && last.led && last.settings().mode == chosen.mode;
        return if continues { Next::Continue } else { Next::Start };
    }
    if waits {
        let asked = last.state.questions.iter().find(|question| question.answer.is_none());
        return asked.map_or(Next::Say, |asked| Next::Answer { question: asked.id.clone(), kind: asked.kind.clone() });
    }
    match failure {
        Some(failure) if failure.code == FailureCode::BoundReached && !awaits_quota(failure) => Next::Start,
        _ => Next::Say,
    }
}

/// Returns true if the run pauses until the provider of its model answers again.
fn awaits_quota(failure: &RunFailure) -> bool {
    matches!(failure.next, Some(NextStep::AwaitQuota { .. }))
}

impl Next {
    /// Returns the work for a prompt. Only a goal takes images, and only the answer to some questions needs no text.
    pub(crate) fn with(self, Prompt { text, images }: Prompt, chosen: SessionChoices) -> Result<Work, Refusal> {
        let needs_text = !matches!(&self, Self::Answer { kind, .. } if Question::takes_empty_answer(kind));
        if needs_text && text.is_empty() {
            return Err(Refusal::Invalid("the prompt is empty".to_owned()));
        }
        match self {
            Self::Start => Ok(Work::Start { goal: text, images, chosen }),
            _ if !images.is_empty() => {
                Err(Refusal::Invalid("images can be given with a new goal only: put the file into the folder, and name it".to_owned()))
            }
            Self::Continue => Ok(Work::Continue { goal: text }),
            Self::Answer { question, .. } => Ok(Work::Answer { question, text }),
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

/// Returns the end of the turn for a run with this result.
pub(crate) fn ending(result: &RunResult) -> Ending {
    let Some(error) = &result.error else { return Ending::Stop(StopReason::EndTurn, None) };
    let hinted = || error.hint.as_ref().map_or_else(|| error.message.to_string(), |hint| format!("{}\n({hint})", error.message));
    match error.code {
        // The question was shown when it was asked.
        FailureCode::WaitingForHuman => Ending::Stop(StopReason::EndTurn, None),
        FailureCode::Interrupted | FailureCode::Cancelled => Ending::Stop(StopReason::Cancelled, None),
        FailureCode::BoundReached => {
            // The next prompt resumes a run after a quota only, so the advice to resume is left out for the other bounds.
            let message = if awaits_quota(error) { hinted() } else { error.message.to_string() };
            Ending::Stop(reason_at_bound(error.next.as_ref()), Some(message))
        }
        FailureCode::GoalNotReached => Ending::Stop(StopReason::EndTurn, Some(hinted())),
        _ => Ending::Fault(hinted()),
    }
}

/// Returns the reason for the end of a turn at a bound. The protocol has none of its own for time, money and quotas.
fn reason_at_bound(next: Option<&NextStep>) -> StopReason {
    match next {
        Some(NextStep::RaiseBound { bound, .. }) => match bound.as_str() {
            "tokens" => StopReason::MaxTokens,
            "tool_calls" | "actors" => StopReason::MaxTurnRequests,
            _ => StopReason::EndTurn,
        },
        // All failed tasks had used up the steps of their actors.
        Some(NextStep::AllowSteps {}) => StopReason::MaxTurnRequests,
        _ => StopReason::EndTurn,
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
