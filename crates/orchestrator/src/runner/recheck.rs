//! Checks of completed tasks that are made again at the end of the run, because others have changed files since.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use aime_messages::message;
use aime_progress_management::{
    Check, CheckMethod, CheckedCriterion, Conclusion, Criterion, Owner, ProgressState, Task, TaskGraph, TaskId, TaskKind, TaskStatus,
    Timestamp,
};

use super::{Context, RunRunner, audit::AuditSubject, checks::Author, kept_files::LaterChange};
use crate::{CriterionResult, ModelUse, Reflect};

/// The changes of files after a check.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct LaterChanges {
    /// Tasks that could change files at the same time as the checked task, and people or programs outside of the run.
    concurrent_tasks: BTreeSet<String>,
    /// Tasks that the plan puts after the checked task. They may replace its work.
    after: BTreeSet<String>,
    /// The changed files, if changes are recorded.
    paths: BTreeSet<String>,
}

impl RunRunner {
    /// Returns new results for the criteria of completed tasks that held before others changed files, with the model calls that they took. aime
    /// makes the checks of commands and files once more. A text is judged once more if a file that it or its evidence names was changed;
    /// otherwise it keeps its verdict. With `planning.reflect = "never"` it is undecided instead.
    ///
    /// A check that no longer holds fails only if a task beside its own, or somebody outside of the run, changed files. A task that the plan
    /// puts after it may replace what was there, so the criterion is undecided then. A failed check stays failed until the next change.
    pub(super) async fn check_again(
        self: &Arc<Self>,
        state: &ProgressState,
        author: &Author,
        context: &Context,
    ) -> (BTreeMap<TaskId, Vec<CriterionResult>>, Vec<ModelUse>) {
        let known: Vec<(&CheckedCriterion, &Task)> =
            state.checked.iter().filter_map(|known| Some((known, completed(state, known)?))).collect();
        let mut results: BTreeMap<TaskId, Vec<CriterionResult>> = BTreeMap::new();
        let (mut stale, mut calls) = (BTreeMap::<TaskId, Vec<(CriterionResult, LaterChanges)>>::new(), Vec::new());
        if known.is_empty() {
            return (results, calls);
        }
        let changes = self.kept_files.count_changes().await;
        let recorded = match (known.iter().map(|(known, _)| known.changes).min().flatten(), changes) {
            (Some(first), Some(_)) => self.kept_files.changes_after(first, self.parts.tool_context.working_folder()).await,
            _ => None,
        };
        let graph = state.graph();
        for (known, task) in known {
            let later = match &recorded {
                Some(recorded) => of_record(state, &graph, task, recorded.iter().filter(|later| Some(later.number) >= known.changes)),
                None => of_times(state, &graph, task),
            };
            let result = match &later {
                LaterChanges { concurrent_tasks: beside, after, .. } if beside.is_empty() && after.is_empty() => {
                    (known.holds == Some(false)).then(|| result_of(known))
                }
                later if known.how == CheckMethod::Audited => {
                    if let Some(open) = outdated(known, later) {
                        stale.entry(task.spec.id.clone()).or_default().push((open, later.clone()));
                    }
                    None
                }
                later => match criterion_of(task, &known.criterion) {
                    Some(criterion) => Some(judged(self.execute(&criterion, (Some(&task.spec.id), None), author, context).await, later)),
                    None => None,
                },
            };
            results.entry(task.spec.id.clone()).or_default().extend(result.map(|result| CriterionResult { changes, ..result }));
        }
        for (id, stale) in stale {
            let Some(task) = state.tasks.get(&id) else { continue };
            let (mut checks, later): (Vec<CriterionResult>, Vec<LaterChanges>) = stale.into_iter().unzip();
            if self.input.settings.reflect != Reflect::Never {
                calls.extend(self.judge_again(state, task, author, &mut checks, context).await);
            }
            let judged = checks.into_iter().zip(&later).map(|(check, later)| CriterionResult { changes, ..judged(check, later) });
            results.entry(id).or_default().extend(judged);
        }
        results.retain(|_, results| !results.is_empty());
        (results, calls)
    }

    /// Submits texts of a completed task to a model once more.
    async fn judge_again(
        self: &Arc<Self>,
        state: &ProgressState,
        task: &Task,
        author: &Author,
        checks: &mut [CriterionResult],
        context: &Context,
    ) -> Vec<ModelUse> {
        let spec = &task.spec;
        let work = AuditSubject {
            name: format!("{}-again-{}-{}", spec.id, state.version, state.tool_calls),
            task: Some(spec),
            goal: format!("{}\n{}", spec.title(), spec.description),
            claim: task.conclusion.as_ref().map(Conclusion::text).unwrap_or_default(),
            earlier_results: "",
            origins: author.origins.clone(),
            place: None,
        };
        let earlier: Vec<String> = checks.iter().map(|check| format!("- {}: {}", check.criterion, check.reason)).collect();
        checks.iter_mut().for_each(|check| check.how = CheckMethod::Unchecked);
        self.judge(work, checks, || Ok(earlier.join("\n")), context).await
    }
}

/// Returns the completed task of a criterion that was checked.
fn completed<'a>(state: &'a ProgressState, known: &CheckedCriterion) -> Option<&'a Task> {
    let is_known = known.how == CheckMethod::Executed || known.how == CheckMethod::Audited && known.holds == Some(true);
    let task = state.tasks.get(known.task.as_ref().filter(|_| is_known)?)?;
    (task.status == TaskStatus::Completed).then_some(task)
}

/// Returns a criterion of a task by its words.
fn criterion_of(task: &Task, words: &str) -> Option<Criterion> {
    let own = task.conclusion.iter().flat_map(|conclusion| &conclusion.checks);
    let own = own.map(|check| Criterion { check: Check::Command(check.clone()), owner: Owner::Actor });
    task.spec.completion_criteria.iter().cloned().chain(own).find(|criterion| criterion.to_string() == words)
}

/// Returns the known result of a check.
fn result_of(CheckedCriterion { task: _, criterion, owner, how, holds, evidence, changes }: &CheckedCriterion) -> CriterionResult {
    CriterionResult {
        criterion: criterion.clone(),
        owner: *owner,
        of_plan: false,
        executable: *how == CheckMethod::Executed,
        how: *how,
        passed: *holds,
        reason: evidence.clone(),
        changes: *changes,
        duration_ms: 0,
    }
}

/// Returns an undecided result for a verdict, if a file was changed since that its criterion or its evidence names.
fn outdated(known: &CheckedCriterion, later: &LaterChanges) -> Option<CriterionResult> {
    let is_named = |path: &&String| names(&known.evidence.to_string(), path) || names(&known.criterion, path);
    let named: Vec<String> = later.paths.iter().filter(is_named).map(|path| format!("`{path}`")).collect();
    let reason = message!("check-outdated", evidence = known.evidence, tasks = words_of(later), paths = named.join(", "));
    (!named.is_empty()).then(|| CriterionResult { passed: None, reason, ..result_of(known) })
}

/// Returns true if a text names a path.
pub(super) fn names(text: &str, path: &str) -> bool {
    let is_end = |text: &str| text.chars().next().is_none_or(|next| !next.is_alphanumeric() && !"_-/".contains(next));
    let is_begin = |text: &str| text.chars().next_back().is_none_or(|last| !last.is_alphanumeric() && !"_-".contains(last));
    text.match_indices(path)
        .any(|(at, _)| is_begin(text.get(..at).unwrap_or_default()) && is_end(text.get(at + path.len()..).unwrap_or_default()))
}

/// Returns the result of a check that held before later changes.
fn judged(result: CriterionResult, later: &LaterChanges) -> CriterionResult {
    if result.passed != Some(false) {
        return result;
    }
    let (tasks, evidence) = (words_of(later), &result.reason);
    let (passed, reason) = if later.concurrent_tasks.is_empty() {
        (None, message!("check-after", tasks, evidence))
    } else {
        (Some(false), message!("check-beside", tasks, evidence))
    };
    CriterionResult { passed, reason, ..result }
}

/// Names those that changed files, the tasks beside first.
fn words_of(LaterChanges { concurrent_tasks: beside, after, .. }: &LaterChanges) -> String {
    let names = if beside.is_empty() { after } else { beside };
    names.iter().cloned().collect::<Vec<_>>().join(", ")
}

/// Returns the changes that others made after a check of a task.
fn of_record<'a>(state: &'a ProgressState, graph: &TaskGraph, task: &Task, changes: impl Iterator<Item = &'a LaterChange>) -> LaterChanges {
    let (mut later, mut others) = (LaterChanges::default(), BTreeMap::new());
    for LaterChange { authors: by, path, .. } in changes {
        let tasks = by.iter().filter_map(|author| state.tasks.get(author.task.as_deref()?));
        others.extend(tasks.map(|other| (&other.spec.id, other)));
        if by.is_empty() {
            later.concurrent_tasks.insert("somebody outside of the run".to_owned());
        }
        later.paths.insert(path.clone());
    }
    later.add(state, graph, task, others.into_values());
    later
}

/// Returns the tasks that were in progress after the task began, for runs whose changes are not recorded.
fn of_times(state: &ProgressState, graph: &TaskGraph, task: &Task) -> LaterChanges {
    let worked = |other: &&Task| other.spec.kind != TaskKind::Group && other.started_at.is_some() && other.finished_at >= task.started_at;
    let mut later = LaterChanges::default();
    later.add(state, graph, task, state.tasks.values().filter(worked));
    later
}

impl LaterChanges {
    /// Adds the tasks other than those that the plan puts before the checked one.
    fn add<'a>(&mut self, state: &ProgressState, graph: &TaskGraph, task: &Task, others: impl Iterator<Item = &'a Task>) {
        let id = &task.spec.id;
        let others: Vec<&Task> = others.filter(|other| other.spec.id != *id).collect();
        if others.is_empty() {
            return;
        }
        let (before, beside) = (graph.before(id), graph.beside(id).into_iter().collect::<BTreeSet<_>>());
        for other in others.into_iter().filter(|other| !before.contains(&other.spec.id)) {
            // A change of the plan that came after the end of the task took its work into account.
            let is_beside = beside.contains(&other.spec.id) && planned_at(state, other) < task.finished_at;
            if is_beside { &mut self.concurrent_tasks } else { &mut self.after }.insert(format!("`{}`", other.spec.id));
        }
    }
}

/// Returns the time of the change of the plan that added a task; `None` if it was in the first plan.
fn planned_at(state: &ProgressState, task: &Task) -> Option<Timestamp> {
    state.decisions.iter().find(|decision| decision.version == task.version).map(|decision| decision.at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_names_a_path_as_a_whole() {
        for (text, path, expected) in [
            ("WHY-1 (out.txt:1)", "out.txt", true),
            ("see ./src/a.rs.", "src/a.rs", true),
            ("see `src/a.rs`, line 3", "src/a.rs", true),
            ("about.txt is there", "out.txt", false),
            ("out.txt.bak is there", "out.txt", true),
            ("src/a is a folder", "a", true),
            ("a-b and a_b", "a", false),
            ("nothing", "out.txt", false),
        ] {
            assert_eq!(names(text, path), expected, "{text}: {path}");
        }
    }

    #[test]
    fn only_others_beside_the_task_make_a_check_fail() {
        let open = CriterionResult { passed: Some(false), reason: "exit code 1".into(), ..CriterionResult::open(&Criterion::command("x")) };
        let of = |names: &[&str]| names.iter().map(ToString::to_string).collect::<BTreeSet<_>>();
        for (beside, after, passed, expected) in [
            (&["`b`", "`c`"][..], &["`d`"][..], Some(false), "no longer holds after `b`, `c` changed files: exit code 1"),
            (&[][..], &["`d`"][..], None, "no longer holds after `d`, which the plan runs later: exit code 1"),
        ] {
            let later = LaterChanges { concurrent_tasks: of(beside), after: of(after), paths: BTreeSet::new() };
            let result = judged(open.clone(), &later);
            assert_eq!(result.passed, passed);
            assert!(result.reason.to_string().ends_with(expected), "{}", result.reason);
            let held = CriterionResult { passed: Some(true), ..open.clone() };
            assert_eq!(judged(held.clone(), &later), held);
        }
    }
}
