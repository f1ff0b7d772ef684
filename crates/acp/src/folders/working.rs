//! Folder in which an editor works.

use std::{path::Path, pin::pin, sync::Arc};

use aime_orchestrator::{InboxMessage, OrchestratorError, RunRequest, RunResult, RunView, view};
use aime_progress_management::{Origin, RunId};
use aime_runs::{Drive, RunHandle, RunUpdate, Runs, RunsError, rfc3339, settings_of};
use futures::future::BoxFuture;

use super::refusal;
use crate::{EarlierRun, Folder, KnownRun, Refusal, SessionChoices, Turn, Work};

/// Longest text of each earlier question and answer, in characters.
const REMEMBERED: usize = 2_000;

/// Open folder.
pub(super) struct WorkingFolder {
    pub(super) runs: Arc<Runs>,
}

impl WorkingFolder {
    /// Starts a run, or continues one.
    async fn begin(&self, turn: Turn) -> Result<RunHandle, RunsError> {
        let Turn { run, work, earlier, human, events, .. } = turn;
        let drive = Drive::default().human(human).earlier(before(&earlier));
        let mut driven = match work {
            Work::Start { goal, images, chosen } => {
                let mut request = RunRequest { run, images, ..self.runs.request(goal) };
                (request.settings.approval, request.settings.mode) = (chosen.approval, chosen.mode);
                if !earlier.is_empty() {
                    // Earlier answers derive from texts that their runs have read, which may be untrusted.
                    request.settings.origins = vec![Origin::Memory];
                }
                self.runs.start(request, drive).await?
            }
            Work::Continue { goal } => self.runs.continue_run(&run, goal, None, drive).await?,
            Work::Answer { question, text } => self.go_on(&run, InboxMessage::Answer { question, text }, drive).await?,
            Work::Say { text } => self.go_on(&run, InboxMessage::Say { task: None, text }, drive).await?,
        };
        let mut updates = driven.take_updates();
        let runs = Arc::clone(&self.runs);
        tokio::spawn(async move {
            while let Some(update) = updates.recv().await {
                match update {
                    // Sending fails if the session is closed; the journal still has the event.
                    RunUpdate::Event(event) => drop(events.send(*event)),
                    RunUpdate::Note(note) => runs.setup().note(note),
                }
            }
        });
        Ok(driven)
    }

    async fn go_on(&self, run: &RunId, message: InboxMessage, drive: Drive) -> Result<RunHandle, RunsError> {
        let seen = self.runs.resumable(run)?;
        let models = self.runs.models(None, seen.can_plan() && !seen.is_over).await?;
        self.runs.put(run, &message).await?;
        self.runs.resume(run, None, drive.models(models)).await
    }
}

impl Folder for WorkingFolder {
    fn path(&self) -> &Path {
        &self.runs.setup().folder
    }

    fn choices(&self) -> SessionChoices {
        let settings = settings_of(&self.runs.setup().config);
        SessionChoices { approval: settings.approval, mode: settings.mode }
    }

    fn runs(&self) -> Result<Vec<KnownRun>, Refusal> {
        let known = self.runs.list().map_err(refusal)?.into_iter();
        let known =
            known.filter_map(|run| Some(KnownRun { run: RunId::new(run.id).ok()?, goal: run.title, updated: rfc3339(run.updated_at) }));
        Ok(known.collect())
    }

    fn view(&self, run: &RunId) -> Result<Option<RunView>, Refusal> {
        let Some(journal) = self.runs.setup().existing_journal().map_err(refusal)? else { return Ok(None) };
        match view(&journal, run) {
            Ok(seen) => Ok(Some(seen)),
            Err(OrchestratorError::NoSuchRun { .. }) => Ok(None),
            Err(error) => Err(refusal(error)),
        }
    }

    fn window(&self, model: &str) -> BoxFuture<'_, Option<u64>> {
        let model = model.to_owned();
        Box::pin(async move { self.runs.context_window(&model).await.map(u64::from) })
    }

    fn delete(&self, run: RunId) -> BoxFuture<'_, Result<(), Refusal>> {
        Box::pin(async move { self.runs.delete(&run).await.map_err(refusal) })
    }

    fn run_turn(&self, turn: Turn) -> BoxFuture<'_, Result<RunResult, Refusal>> {
        Box::pin(async move {
            let stop = turn.stop.clone();
            // A stop during the preparation of a model comes before the run has started.
            let begun = stop.run_until_cancelled(self.begin(turn)).await;
            let driven = begun.ok_or_else(|| Refusal::Failed("stopped before it began".to_owned()))?.map_err(refusal)?;
            let driven_stop = driven.stop().clone();
            let mut result = pin!(driven.result());
            let result = tokio::select! {
                result = &mut result => result,
                () = stop.cancelled() => {
                    driven_stop.cancel();
                    result.await
                }
            };
            result.map_err(refusal)
        })
    }
}

/// Formats the earlier conversation for the prompts of a run.
fn before(earlier: &[EarlierRun]) -> String {
    if earlier.is_empty() {
        return String::new();
    }
    let cut = |text: &str| {
        if text.chars().count() <= REMEMBERED { text.to_owned() } else { text.chars().take(REMEMBERED).chain(['…']).collect() }
    };
    let lines = earlier.iter().map(|EarlierRun { goal: asked, answered }| match answered.trim() {
        "" => format!("- The user asked: {}\n  There is no answer yet.", indented(&cut(asked))),
        answered => format!("- The user asked: {}\n  You answered: {}", indented(&cut(asked)), indented(&cut(answered))),
    });
    format!("\n\n## Earlier in this conversation\n\n{}\n", lines.collect::<Vec<_>>().join("\n"))
}

/// Indents a text as part of a list item.
fn indented(text: &str) -> String {
    text.trim().replace('\n', "\n  ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_before_is_a_list() {
        assert_eq!(before(&[]), "");
        let earlier = |asked: &str, answered: &str| EarlierRun { goal: asked.to_owned(), answered: answered.to_owned() };
        let text = before(&[earlier("Which\ncolour?", "Blue."), earlier(&"x".repeat(REMEMBERED + 1), "")]);
        let expected = format!(
            "\n\n## Earlier in this conversation\n\n- The user asked: Which\n  colour?\n  You answered: Blue.\n- The user asked: {}…\n  There is no answer yet.\n",
            "x".repeat(REMEMBERED)
        );
        assert_eq!(text, expected);
    }
}
