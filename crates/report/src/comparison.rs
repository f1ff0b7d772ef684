//! Comparison of two runs: their results and differences.

use std::collections::{HashMap, HashSet};

use aime_progress_management::{ModelCost, PlanMode, RunStatus, TaskStatus};
use serde::Serialize;

use crate::{Failure, FileView, ReportView, TaskView, Text, Version};

/// Two runs side by side. Like the views it is made of, it is free of secrets and bounded.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// Summaries of the two runs.
    pub runs: [Side; 2],
    /// Tasks: those of the first run in its plan's order, then those that only the second has. Tasks match by id, or else by title.
    pub tasks: Vec<Pair<TaskSide>>,
    /// Paths that at least one of them changed, in order.
    pub files: Vec<Pair<FileView>>,
}

/// Summary of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Side {
    /// The run.
    pub run: String,
    /// The goal.
    pub goal: Text,
    /// Status of the run.
    pub status: RunStatus,
    /// Planning mode.
    pub mode: Option<PlanMode>,
    /// Duration until its last event, in milliseconds.
    pub duration_ms: u64,
    /// The final answer.
    pub answer: Option<Text>,
    /// Reason why the goal was not reached, or why the run was left.
    pub failure: Option<Failure>,
    /// Models, by descending number of tokens.
    pub models: Vec<String>,
    /// Tokens and cost.
    pub spent: ModelCost,
    /// Number of started tool calls.
    pub tool_calls: u64,
    /// Number of completed tasks, and of all tasks.
    pub completed: (usize, usize),
    /// Versions of its plan: number, reason, and number of changes.
    pub versions: Vec<(u32, Text, usize)>,
    /// Number of changed paths that the comparison leaves out.
    pub files_left_out: usize,
}

/// Same thing in both runs, or in only one of them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Pair<T> {
    /// Title of the task, or the path.
    pub name: String,
    /// True if both have the same status, or the same change of the file.
    pub same: bool,
    /// Data of each run; none if the thing does not exist there.
    pub sides: [Option<T>; 2],
}

/// Task in one of the runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TaskSide {
    /// Id of the task in that run.
    pub id: String,
    /// Status of the task.
    pub status: TaskStatus,
    /// Number of starts.
    pub attempts: u32,
    /// Working time, in milliseconds.
    pub worked_ms: u64,
    /// Tokens and cost.
    pub spent: ModelCost,
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
        files_left_out: view.files.left_out,
    }
}

fn tasks(one: &ReportView, other: &ReportView) -> Vec<Pair<TaskSide>> {
    let mut taken = HashSet::new();
    // Equal ids take precedence over equal titles, whatever the order of the tasks.
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
    // If file tools reported several changes of a path, the last one is used.
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

/// Returns true if two changes of a path are known to be the same.
fn is_same(one: &FileView, other: &FileView) -> bool {
    let whole = one.left_out == 0 && other.left_out == 0;
    whole && (&one.did, &one.lines, &one.note) == (&other.did, &other.lines, &other.note)
}
