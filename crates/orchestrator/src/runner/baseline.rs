//! Checks of criteria before the work on them begins. A criterion that already holds then proves nothing about the work.

use std::{collections::BTreeSet, time::Duration};

use aime_progress_management::{Check, Criterion, FileCheck, FileFact, Origin, Owner, ProgressState, TaskId, TaskKind, TaskSpec};
use tokio::{sync::Mutex, time::Instant};

use super::{Context, RunRunner, checks::Author, private::PrivateWorkspace};
use crate::{CriterionResult, RunFact, read_criterion};

/// Maximum number of seconds for all of these checks before one task.
const SECONDS: u64 = 30;

/// The criteria that were tried before the work on them, whatever the outcome. Tasks that start at the same time take turns.
#[derive(Default)]
pub(crate) struct BaselineChecks(Mutex<BTreeSet<(Option<TaskId>, String)>>);

impl RunRunner {
    /// Checks the criteria of a task that starts for the first time, and before the first change of the run also those of the plan: the
    /// commands and file facts of people and of the lead. The checks of the project are left out: they guard what works already.
    ///
    /// The checks cost no model call, count as tool calls, and are bounded by time. A criterion is tried once in a run. Where changes of
    /// files are not recorded none is tried, because the effects of a command could not be put back. `origins` are those of the plan.
    pub(super) async fn try_criteria(&self, spec: &TaskSpec, place: Option<&PrivateWorkspace>, origins: &[Origin], context: &Context) {
        let Some(state) = self.live.get(&self.run) else { return };
        let of_task = spec.completion_criteria.iter().map(|criterion| (Some(&spec.id), criterion));
        let of_plan = state.strategic.success_criteria.iter().map(|criterion| (None, criterion));
        let due: Vec<(Option<&TaskId>, &Criterion)> = of_plan.chain(of_task).filter(|(_, criterion)| can_be_tried(criterion)).collect();
        if !due.is_empty() {
            // Boxed, because most tasks have none of these criteria.
            Box::pin(self.try_due(due, &state, (spec, place, origins), context)).await;
        }
    }

    async fn try_due(
        &self,
        due: Vec<(Option<&TaskId>, &Criterion)>,
        state: &ProgressState,
        (spec, place, origins): (&TaskSpec, Option<&PrivateWorkspace>, &[Origin]),
        context: &Context,
    ) {
        let mut tried = self.tried.0.lock().await;
        let changes = self.kept_files.count_changes().await;
        // An actor's folder without permanent content is not handed back, so the effects of checks are lost.
        if changes.is_none() && !(self.kept_files.is_transient() && spec.kind == TaskKind::Actor) {
            return;
        }
        let begun = changes.is_some_and(|changes| changes > 0) || state.tasks.values().any(|task| task.conclusion.is_some());
        let author = self.author(state, origins);
        let deadline = Instant::now() + Duration::from_secs(SECONDS);
        for (task, criterion) in due {
            let (text, left) = (criterion.to_string(), deadline.saturating_duration_since(Instant::now()).as_secs());
            let known = state.held_before(task, &text).is_some() || (task.is_none() && begun);
            if known || left == 0 || !tried.insert((task.cloned(), text.clone())) {
                continue;
            }
            let Some(held) = self.try_criterion(criterion, (&spec.id, place), (&author, left), context).await else { continue };
            let fact = RunFact::CriterionTried { task: task.cloned(), criterion: text, held };
            // A run that is gone needs no report.
            let _gone = context.facts.send(fact);
        }
    }

    /// Returns whether a criterion holds now; `None` if that cannot be told.
    async fn try_criterion(
        &self,
        criterion: &Criterion,
        (task, place): (&TaskId, Option<&PrivateWorkspace>),
        (author, seconds): (&Author, u64),
        context: &Context,
    ) -> Option<bool> {
        let CriterionResult { passed, .. } = match &criterion.check {
            Check::Command(command) => return self.try_command(command, (criterion.owner, seconds), (task, place), author, context).await,
            Check::File(_) | Check::Text(_) => self.execute(criterion, (Some(task), place), author, context).await,
        };
        passed
    }
}

/// Returns true for a command or a fact about a file, of a person or of the lead. A file that must stay unchanged is so at the beginning.
fn can_be_tried(criterion: &Criterion) -> bool {
    let asks = matches!(criterion.owner, Owner::Person | Owner::Lead);
    let changes = |file: &FileCheck| file.fact != FileFact::Unchanged;
    asks && match &criterion.check {
        Check::Command(_) => true,
        Check::File(file) => changes(file),
        Check::Text(text) => read_criterion(text).as_ref().is_some_and(changes),
    }
}

/// Returns the evidence of a check with a note if the criterion already held before the work.
pub(super) fn with_baseline(state: Option<&ProgressState>, task: Option<&TaskId>, check: &CriterionResult) -> String {
    let task = task.filter(|_| !check.of_plan);
    match state.and_then(|state| state.held_before(task, &check.criterion)) {
        Some(true) => format!("{} (it held already before the work, so it proves nothing about the work)", check.reason),
        Some(false) => format!("{} (it did not hold before the work)", check.reason),
        None => check.reason.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_and_facts_of_people_and_the_lead_are_tried() {
        let file = |fact| Criterion { check: Check::File(FileCheck { path: "a".to_owned(), fact }), owner: Owner::Lead };
        let cases = [
            (Criterion::command("true"), true),
            (Criterion::command("true").owned_by(Owner::Person), true),
            (Criterion::command("true").owned_by(Owner::Project), false),
            (Criterion::command("true").owned_by(Owner::Actor), false),
            (file(FileFact::Exists), true),
            (file(FileFact::Unchanged), false),
            (Criterion::text("a.txt exists"), true),
            (Criterion::text("go.mod is unchanged"), false),
            (Criterion::text("the poem is good"), false),
        ];
        for (criterion, expected) in cases {
            assert_eq!(can_be_tried(&criterion), expected, "{criterion:?}");
        }
    }
}
