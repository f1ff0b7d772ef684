//! Two runs side by side: what each came to, and where they differ.

use std::collections::{HashMap, HashSet};

use aime_progress::{PlanMode, RunStatus, Spent, TaskStatus};
use serde::Serialize;

use crate::{Failure, FileView, ReportView, TaskView, Text, Version};

/// Two runs side by side. As the views that it is made of, it holds no secrets and is bounded.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// What each came to.
    pub runs: [Side; 2],
    /// The tasks: those of the first run in its plan's order, then those that only the second has. Two are the same task by their id, or else by their title.
    pub tasks: Vec<Pair<TaskSide>>,
    /// The paths that one of them changed, in order.
    pub files: Vec<Pair<FileView>>,
}

/// What a run came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Side {
    /// The run.
    pub run: String,
    /// What is wanted.
    pub goal: Text,
    /// Where it stands.
    pub status: RunStatus,
    /// The way of working.
    pub mode: Option<PlanMode>,
    /// Until its last event, in milliseconds.
    pub duration_ms: u64,
    /// The final answer.
    pub answer: Option<Text>,
    /// Why the goal was not reached, or why the run was left.
    pub failure: Option<Failure>,
    /// The models, the one that used the most tokens first.
    pub models: Vec<String>,
    /// What it cost.
    pub spent: Spent,
    /// Calls of tools that were begun.
    pub tool_calls: u64,
    /// Tasks that were completed, and all of them.
    pub completed: (usize, usize),
    /// The versions of its plan: the number of each, why it was made, and how many changes it brought.
    pub versions: Vec<(u32, Text, usize)>,
}

/// The same thing in both runs, or in one of them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Pair<T> {
    /// The title of the task, or the path.
    pub name: String,
    /// Whether both came to the same: the same status, or the same change of the file.
    pub same: bool,
    /// In each of the runs; none where it is not there.
    pub sides: [Option<T>; 2],
}

/// A task in one of the runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TaskSide {
    /// Its id there.
    pub id: String,
    /// Where it stands.
    pub status: TaskStatus,
    /// How often it was started.
    pub attempts: u32,
    /// How long it was at work, in milliseconds.
    pub worked_ms: u64,
    /// What it cost.
    pub spent: Spent,
}

impl Comparison {
    /// Compares two runs.
    #[must_use]
    pub fn new(one: &ReportView, other: &ReportView) -> Self {
        Self { runs: [one, other].map(side), tasks: tasks(one, other), files: files(one, other) }
    }
}

fn side(view: &ReportView) -> Side {
    let completed = view.tasks.iter().filter(|task| task.status == TaskStatus::Completed).count();
    let version = |version: &Version| (version.number, version.reasoning.clone(), version.changes.len() + version.left_out);
    Side {
        run: view.run.clone(),
        goal: view.goal.clone(),
        status: view.status,
        mode: view.mode,
        duration_ms: view.duration_ms,
        answer: view.answer.clone(),
        failure: view.failure.clone(),
        models: view.spending.by_model.iter().map(|(model, _)| model.clone()).collect(),
        spent: view.spending.total,
        tool_calls: view.spending.tool_calls,
        completed: (completed, view.tasks.len()),
        versions: view.versions.iter().map(version).collect(),
    }
}

fn tasks(one: &ReportView, other: &ReportView) -> Vec<Pair<TaskSide>> {
    let mut taken = HashSet::new();
    // An id that is the same goes before a title that is, whatever the order of the tasks.
    let by_id: HashMap<&str, usize> = other.tasks.iter().enumerate().map(|(at, task)| (task.id.as_str(), at)).collect();
    let mut partner: Vec<Option<usize>> = one.tasks.iter().map(|task| by_id.get(task.id.as_str()).copied()).collect();
    taken.extend(partner.iter().flatten().copied());
    for (task, partner) in one.tasks.iter().zip(&mut partner).filter(|(_, partner)| partner.is_none()) {
        *partner = (0..).zip(&other.tasks).find(|(at, found)| !taken.contains(at) && found.title == task.title).map(|(at, _)| at);
        taken.extend(*partner);
    }
    let pair = |name: &str, sides: [Option<&TaskView>; 2]| Pair {
        name: name.to_owned(),
        same: matches!(sides, [Some(one), Some(other)] if one.status == other.status),
        sides: sides.map(|task| task.map(task_side)),
    };
    let first = one.tasks.iter().zip(partner).map(|(task, at)| pair(&task.title, [Some(task), at.and_then(|at| other.tasks.get(at))]));
    let alone = (0..).zip(&other.tasks).filter(|(at, _)| !taken.contains(at)).map(|(_, task)| pair(&task.title, [None, Some(task)]));
    first.chain(alone).collect()
}

fn task_side(task: &TaskView) -> TaskSide {
    TaskSide { id: task.id.clone(), status: task.status, attempts: task.attempts, worked_ms: task.worked_ms, spent: task.spent }
}

fn files(one: &ReportView, other: &ReportView) -> Vec<Pair<FileView>> {
    // Where file tools told of several changes of a path, the last one stands for it.
    let by_path = |view: &ReportView| view.files.changed.iter().map(|file| (file.path.clone(), file.clone())).collect::<HashMap<_, _>>();
    let (mut firsts, mut seconds) = (by_path(one), by_path(other));
    let mut paths: Vec<String> = firsts.keys().chain(seconds.keys()).cloned().collect();
    paths.sort();
    paths.dedup();
    let pair = |path: String| {
        let sides = [firsts.remove(&path), seconds.remove(&path)];
        let same = matches!(&sides, [Some(one), Some(other)] if is_same(one, other));
        Pair { name: path, same, sides }
    };
    paths.into_iter().map(pair).collect()
}

/// Whether two changes of a path are known to be the same.
fn is_same(one: &FileView, other: &FileView) -> bool {
    let whole = one.left_out == 0 && other.left_out == 0;
    whole && (&one.did, &one.lines, &one.note) == (&other.did, &other.lines, &other.note)
}
