//! A folder in which an editor works.

use std::{path::Path, pin::pin};

use aime_acp::{Chosen, Earlier, Folder, KnownRun, Refusal, Turn, Work};
use aime_orchestrator::{InboxMessage, OrchestratorError, RunRequest, RunResult, RunView, view};
use aime_progress::{Origin, RunId};
use futures::future::BoxFuture;

use super::workshop::refusal;
use crate::{
    commands::{
        host::{Carried, Going, Host},
        resume::resumable,
        run::{Work as Carry, configured, failure_of},
        runs::all,
        steering::put,
    },
    failure::Failure,
    screen::rfc3339,
};

/// The most characters of what was asked and answered before, each.
const REMEMBERED: usize = 2_000;

/// A folder that is open.
pub(super) struct WorkingFolder {
    host: Host,
}

impl WorkingFolder {
    pub(super) const fn new(host: Host) -> Self {
        Self { host }
    }

    /// Makes the tools of servers known.
    pub(super) async fn ready(&self) -> Result<(), Failure> {
        self.host.ready().await
    }

    /// Stops its runs, and ends what was started for them.
    pub(super) async fn end(&self) {
        self.host.end().await;
    }

    /// Begins a run, or goes on with one.
    async fn begin(&self, turn: Turn) -> Result<Going, Failure> {
        let Turn { run, work, earlier, human, events, .. } = turn;
        let setup = &self.host.setup;
        let (work, models) = match work {
            Work::Start { goal, images, chosen } => {
                let models = self.host.models(None, true).await?;
                let mut settings = configured(&setup.config);
                (settings.approval, settings.mode) = (chosen.approval, chosen.mode);
                if !earlier.is_empty() {
                    // What a run has answered was made from what it read.
                    settings.origins = vec![Origin::Memory];
                }
                (Carry::Start(Box::new(RunRequest { images, settings, ..RunRequest::new(run.clone(), goal) })), models)
            }
            on @ (Work::Answer { .. } | Work::Say { .. }) => {
                let seen = resumable(&run, setup)?;
                let models = self.host.models(None, seen.input.can_plan && !seen.over).await?;
                let message = match on {
                    Work::Answer { question, text } => InboxMessage::Answer { question, text },
                    Work::Say { text } | Work::Start { goal: text, .. } => InboxMessage::Say { task: None, text },
                };
                put(&run, &message, setup).await?;
                (Carry::Resume { bounds: None, before: Box::new(seen.state) }, models)
            }
        };
        let tell = Box::new(move |event| {
            // A session that nobody looks at any more; the journal has it.
            drop(events.send(event));
        });
        self.host.carry(Carried { run, work, models, human, earlier: before(&earlier), tell })
    }
}

impl Folder for WorkingFolder {
    fn path(&self) -> &Path {
        &self.host.setup.folder
    }

    fn chosen(&self) -> Chosen {
        let settings = configured(&self.host.setup.config);
        Chosen { approval: settings.approval, mode: settings.mode }
    }

    fn runs(&self) -> Result<Vec<KnownRun>, Refusal> {
        let known = all(&self.host.setup).map_err(refusal)?.into_iter();
        let known =
            known.filter_map(|run| Some(KnownRun { run: RunId::new(run.id).ok()?, goal: run.title, updated: rfc3339(run.updated_at) }));
        Ok(known.collect())
    }

    fn view(&self, run: &RunId) -> Result<Option<RunView>, Refusal> {
        let Some(journal) = self.host.setup.existing_journal().map_err(refusal)? else { return Ok(None) };
        match view(&journal, run) {
            Ok(seen) => Ok(Some(seen)),
            Err(OrchestratorError::NoSuchRun { .. }) => Ok(None),
            Err(error) => Err(refusal(failure_of(&error))),
        }
    }

    fn carry(&self, turn: Turn) -> BoxFuture<'_, Result<RunResult, Refusal>> {
        Box::pin(async move {
            let stop = turn.stop.clone();
            // Nothing was begun yet where it is stopped while a model is made ready.
            let begun = stop.run_until_cancelled(self.begin(turn)).await;
            let going = begun.ok_or_else(|| Refusal::Failed("stopped before it began".to_owned()))?.map_err(refusal)?;
            let going_stop = going.stop.clone();
            let mut result = pin!(going.result());
            let result = tokio::select! {
                result = &mut result => result,
                () = stop.cancelled() => {
                    going_stop.cancel();
                    result.await
                }
            };
            result.map_err(refusal)
        })
    }
}

/// What was said before, for the prompts of a run.
fn before(earlier: &[Earlier]) -> String {
    if earlier.is_empty() {
        return String::new();
    }
    let cut = |text: &str| {
        if text.chars().count() <= REMEMBERED { text.to_owned() } else { text.chars().take(REMEMBERED).chain(['…']).collect() }
    };
    let told = earlier.iter().map(|Earlier { asked, answered }| match answered.trim() {
        "" => format!("- The user asked: {}\n  There is no answer yet.", indented(&cut(asked))),
        answered => format!("- The user asked: {}\n  You answered: {}", indented(&cut(asked)), indented(&cut(answered))),
    });
    format!("\n\n## Earlier in this conversation\n\n{}\n", told.collect::<Vec<_>>().join("\n"))
}

/// A text as a part of a list.
fn indented(text: &str) -> String {
    text.trim().replace('\n', "\n  ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_before_is_a_list() {
        assert_eq!(before(&[]), "");
        let earlier = |asked: &str, answered: &str| Earlier { asked: asked.to_owned(), answered: answered.to_owned() };
        let told = before(&[earlier("Which\ncolour?", "Blue."), earlier(&"x".repeat(REMEMBERED + 1), "")]);
        let expected = format!(
            "\n\n## Earlier in this conversation\n\n- The user asked: Which\n  colour?\n  You answered: Blue.\n- The user asked: {}…\n  There is no answer yet.\n",
            "x".repeat(REMEMBERED)
        );
        assert_eq!(told, expected);
    }
}
