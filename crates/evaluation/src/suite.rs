//! Suites of tasks, as a person writes them.

mod files;
mod read;
#[cfg(test)]
pub(crate) mod tests;

use std::{collections::BTreeSet, io, path::PathBuf};

use aime_messages::{Describe, Message, message};
use serde_json::Value;

pub use self::files::TaskFiles;
use crate::Fault;

/// A set of tasks.
#[derive(Debug, Clone, PartialEq)]
pub struct Suite {
    /// Name; by default that of its folder.
    pub name: String,
    /// Purpose of the suite.
    pub description: String,
    /// Tasks, sorted by name.
    pub tasks: Vec<Task>,
    /// Messages on parts of the suite that could not be used unchanged.
    pub notes: Vec<Message>,
}

/// A goal, the folder in which it is given, and a check of the result.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    /// Name, unique in the suite: letters, digits, `-`, `_` and `.`.
    pub name: String,
    /// Goal.
    pub goal: String,
    /// Kind of work, such as `coding`.
    pub category: String,
    /// Difficulty, from 1 (trivial) to 5.
    pub level: u8,
    /// True if nothing was tuned on this task.
    pub held_out: bool,
    /// Initial content of the working folder.
    pub files: TaskFiles,
    /// Files that are written into the folder before the check, over existing ones.
    pub hidden: TaskFiles,
    /// Paths among `files` that arrive late under [`Fault::LateInformation`].
    pub late: Vec<PathBuf>,
    /// Bash script, run in the working folder with the run's answer in `$ANSWER`. Exit code 0 means that the goal was reached.
    pub check: String,
    /// Bash script that reaches the goal, to prove the check.
    pub solution: Option<String>,
    /// A wrong plan, for [`Fault::WrongPlan`] and [`Fault::WrongTasks`].
    pub wrong_plan: Option<Value>,
    /// Bounds of a trial.
    pub bounds: TaskBounds,
}

/// Bounds of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskBounds {
    /// Time limit of the run in seconds.
    pub seconds: u64,
    /// Maximum number of tokens in the run, if limited.
    pub tokens: Option<u64>,
    /// Time limit of the check in seconds.
    pub check_seconds: u64,
    /// Delay in seconds from the start of the first tool call to the arrival of the [late](Task::late) files.
    pub late_seconds: u64,
}

impl Default for TaskBounds {
    /// Returns 10 minutes for a run, unlimited tokens, 1 minute for a check. Late files arrive after a minute: longer than an actor waits
    /// before it looks again, and shorter than a command may wait.
    fn default() -> Self {
        Self { seconds: 600, tokens: None, check_seconds: 60, late_seconds: 60 }
    }
}

impl Task {
    /// Returns the plan with which a run begins under a fault, if any: the wrong plan of the task, or only the tasks of actors in it.
    pub(crate) fn plan_under(&self, fault: Option<Fault>) -> Option<Value> {
        let plan = self.wrong_plan.as_ref()?;
        match fault {
            Some(Fault::WrongPlan) => Some(plan.clone()),
            Some(Fault::WrongTasks) => tasks_of_actors(plan.clone()),
            Some(Fault::FlakyTools | Fault::LateInformation) | None => None,
        }
    }
}

/// Removes the tool calls from a plan, and the dependencies on them; `None` if no task is left.
fn tasks_of_actors(mut plan: Value) -> Option<Value> {
    let tasks = plan.get_mut("tasks")?.as_array_mut()?;
    let (tools, actors) = std::mem::take(tasks).into_iter().partition::<Vec<_>, _>(|task| task["kind"] == "tool");
    *tasks = actors;
    let gone: Vec<&Value> = tools.iter().map(|task| &task["id"]).collect();
    for dependencies in tasks.iter_mut().filter_map(|task| task.get_mut("dependencies")?.as_array_mut()) {
        dependencies.retain(|id| !gone.contains(&id));
    }
    (!tasks.is_empty()).then_some(plan)
}

impl Suite {
    /// Keeps at most `wanted` tasks, spread evenly over the categories and their levels. The choice is deterministic, and a larger sample
    /// includes the smaller ones (the sequence of van der Corput, 1935).
    pub fn sample(&mut self, wanted: usize) {
        let all = self.tasks.len();
        if wanted >= all {
            return;
        }
        self.tasks.sort_by(|one, other| (&one.category, one.level, &one.name).cmp(&(&other.category, other.level, &other.name)));
        let place = |which: u64| usize::try_from((u128::from(which.reverse_bits()) * all as u128) >> 64).unwrap_or_default();
        let mut chosen = BTreeSet::new();
        for which in 0.. {
            if chosen.len() == wanted {
                break;
            }
            chosen.insert(place(which));
        }
        let mut index = 0..;
        self.tasks.retain(|_| index.next().is_some_and(|index| chosen.contains(&index)));
        self.tasks.sort_by(|one, other| (one.level, &one.name).cmp(&(other.level, &other.name)));
    }
}

/// Reason why a suite cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SuiteError {
    /// A file or folder cannot be read.
    #[error("{}", self.describe())]
    Unreadable {
        /// Path of the file or folder.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The folder contains no tasks.
    #[error("{}", self.describe())]
    Empty(PathBuf),
    /// The suite is invalid; lists every fault.
    #[error("{}", self.describe())]
    Faults {
        /// Path of the folder.
        path: PathBuf,
        /// Faults, one line each.
        faults: Vec<Message>,
    },
}

impl Describe for SuiteError {
    fn describe(&self) -> Message {
        match self {
            Self::Unreadable { path, source } => message!("unreadable", what = path.display(), reason = source),
            Self::Empty(path) => message!("suite-empty", folder = path.display()),
            Self::Faults { path, faults } => message!("suite-faults", folder = path.display(), faults = Message::lines(faults)),
        }
    }
}
