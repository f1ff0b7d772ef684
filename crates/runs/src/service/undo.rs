//! Turns and scopes of an undo, and the document of its result.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use aime_messages::{Describe, Message, message};
use aime_orchestrator::{RunView, task_with_descendants};
use aime_progress_management::{ProgressEvent, RunId, TaskId};
use aime_sandbox::ConfinedFolder;
use aime_undo::{Recorder, Scope, UndoPlan, UndoResult, UnrecordedEntry};
use serde_json::{Value, json};

use crate::{ErrorKind, RunsError, Setup};

/// Value of the `schema` member of an undo document.
const SCHEMA: &str = "aime.undo/v1";

impl Setup {
    /// Returns the record of a run's file changes in this folder.
    pub fn recorder(&self, run: &RunId) -> Result<Arc<Recorder>, RunsError> {
        let folder = ConfinedFolder::open(&self.folder).map_err(|error| RunsError::caused(ErrorKind::Usage, error))?;
        Ok(Arc::new(Recorder::new(folder, &self.data_folder(), run.as_str(), self.config.undo.settings())))
    }
}

/// Returns the scope of an undo of a task and its children.
pub(crate) fn task_scope(run: &RunId, seen: &RunView, task: &str) -> Result<Scope, RunsError> {
    if seen.state.tasks.keys().any(|id| id.as_str() == task) {
        return Ok(Scope::Tasks { tasks: task_with_descendants(&seen.state, task) });
    }
    let known: Vec<&str> = seen.state.tasks.keys().map(TaskId::as_str).collect();
    let unknown = RunsError::usage(message!("run-no-task", run, task = format!("{task:?}")));
    Err(unknown.hint(message!("undo-tasks", names = known.join(", "))))
}

/// Goals of the turns of a continued run, and the turn in which each file was last changed. Empty for a run of one turn.
#[derive(Debug, Default)]
pub struct ChangeTurns {
    goals: Vec<String>,
    last: BTreeMap<String, usize>,
}

impl ChangeTurns {
    /// Collects the turns from the events of a run.
    pub fn of(seen: &RunView) -> Self {
        let goals = seen.state.turns.iter().map(|turn| turn.goal.clone()).collect();
        Self::from_events(goals, seen.events.iter().map(|published| &published.event))
    }

    fn from_events<'a>(goals: Vec<String>, events: impl IntoIterator<Item = &'a ProgressEvent>) -> Self {
        let (mut turn, mut last) = (0, BTreeMap::new());
        for event in events {
            if matches!(event, ProgressEvent::RunContinued { .. }) {
                turn += 1;
            } else if let Some(change) = event.file_change() {
                last.insert(change.path.clone(), turn);
            }
        }
        Self { goals, last }
    }

    /// Returns the goal of a turn, from 0.
    pub fn goal(&self, turn: usize) -> Option<&str> {
        self.goals.get(turn).map(String::as_str)
    }

    /// Returns the turn in which a path was last changed, from 0. For a folder it is the first turn of a file in it. `None` if the turn
    /// is unknown, or if the run has one turn.
    pub fn of_path(&self, path: &Path) -> Option<usize> {
        if self.goals.len() < 2 {
            return None;
        }
        let inside = || self.last.iter().filter(|(file, _)| Path::new(file).starts_with(path)).map(|(_, turn)| *turn).min();
        self.last.get(path.to_string_lossy().as_ref()).copied().or_else(inside)
    }
}

/// Plan and result of an undo.
#[derive(Debug)]
pub struct UndoReport<'a> {
    /// Run whose changes are undone.
    pub run: &'a RunId,
    /// Turns of the run.
    pub turns: &'a ChangeTurns,
    /// Plan of the undo.
    pub plan: &'a UndoPlan,
    /// Result; `None` if nothing was to be done.
    pub result: Option<&'a UndoResult>,
    /// Reason why the record of the changes is incomplete, if it is.
    pub lost_reason: Option<&'a Message>,
    /// First entries that the record does not cover, and the number of all of them.
    pub left_out: &'a (Vec<UnrecordedEntry>, usize),
}

impl UndoReport<'_> {
    /// Returns true if everything that was requested was done.
    pub fn is_whole(&self) -> bool {
        self.plan.conflicts.is_empty() && self.result.is_none_or(|done| done.failed.is_empty()) && self.lost_reason.is_none()
    }

    /// Returns `aime.undo/v1`.
    pub fn document(&self) -> Value {
        let path = |path: &Path| path.to_string_lossy().into_owned();
        let done = self.result.map(|done| done.changes.as_slice()).unwrap_or_default();
        let changes = done.iter().map(|change| {
            let mut document = json!({"path": path(&change.path), "did": change.effect()});
            if let (Some(turn), Some(members)) = (self.turns.of_path(&change.path), document.as_object_mut()) {
                members.insert("turn".to_owned(), json!(turn + 1));
            }
            document
        });
        let failed = self.result.map(|done| done.failed.as_slice()).unwrap_or_default();
        let failed = failed.iter().map(|failed| json!({"path": path(&failed.path), "reason": failed.error.to_string()}));
        let conflicts = self.plan.conflicts.iter().map(
            |conflict| json!({"path": path(&conflict.path), "reason": conflict.kind.describe(), "can_be_forced": conflict.kind.can_be_forced()}),
        );
        let left_out = self.left_out.0.iter().map(|left| json!({"path": path(&left.path), "reason": left.why.describe()}));
        json!({
            "schema": SCHEMA, "run_id": self.run, "undo": self.result.and_then(|done| done.number),
            "changes": changes.collect::<Vec<_>>(), "conflicts": conflicts.collect::<Vec<_>>(), "failed": failed.collect::<Vec<_>>(),
            "not_covered": left_out.collect::<Vec<_>>(), "lost": self.lost_reason,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_path_belongs_to_its_last_turn() {
        let event = |path: &str, did: &str| -> ProgressEvent {
            let change = json!({"type": "file_changed", "tool": "bash", "path": path, "did": did, "added": 0, "removed": 0, "diff": ""});
            serde_json::from_value(change).unwrap()
        };
        let changed = |path: &str| event(path, "created");
        let unwatched = event("a", "not_watched");
        let goes_on = || ProgressEvent::RunContinued { goal: "more".to_owned() };
        let events = [changed("a"), changed("in/b"), goes_on(), changed("a"), changed("in/c"), goes_on(), changed("d"), unwatched];
        let of = |turns: &ChangeTurns, path: &str| turns.of_path(Path::new(path));
        let turns = ChangeTurns::from_events(vec!["one".into(), "two".into(), "three".into()], &events);
        for (path, turn) in [("a", Some(1)), ("in/b", Some(0)), ("in", Some(0)), ("d", Some(2)), ("unknown", None), ("i", None)] {
            assert_eq!(of(&turns, path), turn, "{path}");
        }
        assert_eq!(of(&ChangeTurns::from_events(Vec::new(), &events[..1]), "a"), None, "a run of one turn needs no headings");
    }
}
