//! Messages of people to a run of an engine. If a worker can report the run's state, invalid messages are refused as for a run in a folder.
//! Otherwise the message is sent unchecked and waits in the engine.

use std::{
    cmp::Reverse,
    time::{Duration, UNIX_EPOCH},
};

use aime_messages::{Message, message};
use aime_orchestrator::{RunFact, RunView};
use aime_progress_management::{EvidenceId, RunId, RunStatus};
use aime_runs::{Setup, asks_nothing, has_ended, hearer, not_driven, part_of};
use aime_temporal::{EngineError, ListedRun, Runs, WatchReply};
use tokio::time::{Instant, sleep};

use super::{LOOK, failure_of};
use crate::{
    failure::Failure,
    i18n::{msg, print_question},
    output,
    screen::first_line,
};

/// Number of newest runs whose start times are requested.
const NEWEST: usize = 8;
/// Time to wait for the end of a cancelled run. Actors have 10 seconds to end.
const PATIENCE: Duration = Duration::from_secs(30);

/// Run that receives a message.
pub(super) struct MessageTarget<'a> {
    runs: &'a Runs,
    run: RunId,
    /// State of the run; none if no worker can report it.
    view: Option<RunView>,
    /// True if the run was left or is a fork, so that nothing drives it now.
    is_left: bool,
}

impl<'a> MessageTarget<'a> {
    /// Finds the run with this name, and its state.
    pub(super) async fn to(name: &str, runs: &'a Runs) -> Result<Self, Failure> {
        let run = find_run(name, runs).await?;
        let (all, left) = match runs.watch(&run, usize::MAX).await {
            Ok(watched) => (watched.all, watched.result.is_some()),
            Err(error @ EngineError::NoSuchRun { .. }) => return Err(failure_of(error)),
            Err(_) => (0, false),
        };
        // A run that is just continuing in a new history may be reported incompletely.
        let seen = if all > 0 { runs.view(&run).await.ok().filter(|seen| seen.events.len() >= all) } else { None };
        Ok(Self { runs, run, view: seen, is_left: left })
    }

    /// Answers the first open question.
    pub(super) async fn answer(self, text: String, setup: &Setup) -> Result<u8, Failure> {
        let (mut question, mut text, mut told) = (None, text, msg!("engine-told", then = msg!("engine-answered"), run = self.run));
        if let Some(seen) = &self.view {
            let open = seen.state.questions.iter().find(|question| question.answer.is_none() && !seen.is_over);
            let more = seen.state.questions.iter().any(|question| question.answer.is_some());
            let open = open.ok_or_else(|| asks_nothing(&self.run, more))?;
            if open.kind == "approval" {
                text = aime_tools::Consent::recorded(text);
            }
            question = Some(open.id.clone());
            told = format!("answered: {}\n{}", first_line(&print_question(&open.question), 100), msg!("engine-goes-on"));
        }
        self.send(RunFact::PersonAnswered { question, text }, &told, setup).await
    }

    /// Sends a message to the run or to the actor of a task.
    pub(super) async fn message(self, task: Option<String>, text: String, setup: &Setup) -> Result<u8, Failure> {
        let task = match &self.view {
            Some(seen) => hearer(&self.run, seen, task.as_deref())?,
            None => task.map(aime_progress_management::TaskId::new).transpose().map_err(|error| Failure::usage(&error))?,
        };
        let id = EvidenceId::new(format!("person-{}", uuid::Uuid::now_v7().simple())).map_err(Failure::internal)?;
        let told = match self.next_step_note() {
            Some(then) => format!("{}\n{then}", msg!("sent", text = first_line(&text, 100))),
            None => msg!("engine-told", then = msg!("head-told"), run = self.run),
        };
        self.send(RunFact::PersonSaid { id, task, text }, &told, setup).await
    }

    /// Stops a run that is under way.
    pub(super) async fn pause(self, setup: &Setup) -> Result<u8, Failure> {
        if self.is_left {
            return Err(not_driven(&self.run).into());
        }
        let told = msg!("run-stops", run = self.run);
        self.send(RunFact::StopRequested { reason: message!("paused-by-person") }, &told, setup).await
    }

    /// Says when the run reads its messages; none if no worker can report it.
    fn next_step_note(&self) -> Option<String> {
        let then = if self.is_left { msg!("hint-resume", run = self.run) } else { msg!("run-takes-up") };
        self.view.is_some().then_some(then)
    }

    /// Cancels a run for good, or removes a task from its plan.
    pub(super) async fn cancel(self, task: Option<String>, setup: &Setup) -> Result<u8, Failure> {
        if let Some(seen) = &self.view {
            if seen.is_over {
                return Err(has_ended(&self.run, &seen.state).into());
            }
            if let Some(task) = &task {
                part_of(&self.run, seen, &[], task)?;
            }
        }
        let task = task.map(aime_progress_management::TaskId::new).transpose().map_err(|error| Failure::usage(&error))?;
        let (ends, then) = (task.is_none(), self.next_step_note());
        let told = match (&then, &task) {
            (Some(then), Some(task)) => format!("{}\n{then}", msg!("cancel-task", task)),
            _ => msg!("engine-told", then = msg!("engine-cancelled"), run = self.run),
        };
        let fact = RunFact::CancelRequested { task, reason: message!("cancelled-by-person"), message: None };
        if ends && then.is_some() {
            self.put(fact, setup).await?;
            return self.until_it_has_ended().await;
        }
        self.send(fact, &told, setup).await
    }

    /// Waits until the run has ended, as a cancel does for a run in a folder.
    async fn until_it_has_ended(self) -> Result<u8, Failure> {
        let (run, patience) = (&self.run, Instant::now() + PATIENCE);
        while Instant::now() < patience {
            if let Ok(WatchReply { over: true, result: Some(result), .. }) = self.runs.watch(run, usize::MAX).await {
                if result.status == RunStatus::Cancelled {
                    output::note(&msg!("cancel-done", run));
                    return Ok(0);
                }
                // The run reached its end before it read the message.
                return Err(Failure::usage(message!("run-ended-as", run, status = Message::text(result.status))));
            }
            sleep(LOOK).await;
        }
        output::note(&msg!("cancel-stopping", run));
        Ok(0)
    }

    async fn send(self, fact: RunFact, told: &str, setup: &Setup) -> Result<u8, Failure> {
        self.put(fact, setup).await?;
        output::note(told);
        Ok(0)
    }

    async fn put(&self, fact: RunFact, setup: &Setup) -> Result<(), Failure> {
        let fact = setup.redactor().typed(fact);
        self.runs.send_facts(&self.run, vec![fact]).await.map_err(failure_of)
    }
}

/// Finds the run that a text refers to: its name, a prefix of its name, or `last`. A run that the engine does not list may still exist.
pub(super) async fn find_run(text: &str, runs: &Runs) -> Result<RunId, Failure> {
    // The list contains only the newest runs. An exact name takes precedence over a prefix.
    if text != "last"
        && let Ok(run) = RunId::new(text)
        && runs.has(&run).await.unwrap_or_default()
    {
        return Ok(run);
    }
    let mut listed = runs.list().await.unwrap_or_default();
    if text == "last" {
        add_start_times(runs, &mut listed).await;
    }
    match meant(text, &listed).as_slice() {
        [one] => RunId::new(*one).map_err(|error| Failure::usage(&error)),
        [] => RunId::new(text).map_err(|error| Failure::usage(&error)),
        many => {
            Err(Failure::usage(message!("run-unclear", text = format!("{text:?}"), runs = many.join(", ")))
                .hint(message!("run-unclear-hint")))
        }
    }
}

/// Fills in the start times of the newest runs. The engine lists a run with a new history as new.
async fn add_start_times(runs: &Runs, listed: &mut Vec<ListedRun>) {
    listed.sort_by_key(|run| Reverse(run.since));
    listed.truncate(NEWEST);
    for run in listed {
        if let Ok(id) = RunId::new(&run.run)
            && let Ok(Some(state)) = runs.progress(&id).await
        {
            let since = u64::try_from(state.started_at.as_millis()).unwrap_or_default();
            run.since = Some(UNIX_EPOCH + Duration::from_millis(since));
        }
    }
}

/// Returns the runs that a text may refer to, as in a folder: an empty text matches none.
fn meant<'a>(text: &str, listed: &'a [ListedRun]) -> Vec<&'a str> {
    match text {
        "" => Vec::new(),
        "last" => listed.iter().max_by_key(|run| run.since).map(|run| run.run.as_str()).into_iter().collect(),
        _ => match listed.iter().find(|run| run.run == text) {
            Some(run) => vec![run.run.as_str()],
            None => listed.iter().map(|run| run.run.as_str()).filter(|run| run.starts_with(text)).collect(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_meant_by_its_name_its_beginning_or_as_the_last() {
        let run = |run: &str, since| ListedRun {
            run: run.to_owned(),
            status: "running".to_owned(),
            since: Some(UNIX_EPOCH + Duration::from_secs(since)),
            ended: None,
        };
        let listed = [run("pear", 2), run("peach", 3), run("pea", 1)];
        for (text, expected) in [
            ("last", &["peach"][..]),
            ("pea", &["pea"]),
            ("pear", &["pear"]),
            ("peac", &["peach"]),
            ("pe", &["pear", "peach", "pea"]),
            ("plum", &[]),
        ] {
            assert_eq!(meant(text, &listed), expected, "{text}");
        }
        assert!(meant("last", &[]).is_empty());
        assert!(meant("", &[run("pear", 2)]).is_empty(), "also where there is only one");
    }
}
