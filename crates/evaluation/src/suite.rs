//! Suites of tasks, as a person writes them down.

mod files;
mod read;
#[cfg(test)]
pub(crate) mod tests;

use std::{collections::BTreeSet, io, path::PathBuf};

use serde_json::Value;

pub use self::files::TaskFiles;
use crate::Fault;

/// Tasks that belong together.
#[derive(Debug, Clone, PartialEq)]
pub struct Suite {
    /// Its name; that of its folder where it says none.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Its tasks, by name.
    pub tasks: Vec<Task>,
    /// What of it could not be taken as it is, in words.
    pub notes: Vec<String>,
}

/// A goal, the folder that it is given in, and a check of what came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    /// A name of its own in the suite: letters, digits, `-`, `_` and `.`.
    pub name: String,
    /// What is to be reached.
    pub goal: String,
    /// What kind of work it is, such as `coding`.
    pub category: String,
    /// How hard it is, from 1 (trivial) to 5.
    pub level: u8,
    /// Whether nothing was tuned on it.
    pub held_out: bool,
    /// What the working folder holds at first.
    pub files: TaskFiles,
    /// What is laid into it before the check, over what is there.
    pub hidden: TaskFiles,
    /// Which of `files` come late under [`Fault::LateInformation`].
    pub late: Vec<PathBuf>,
    /// A script of bash in the working folder, with the run's answer in `$ANSWER`. Exit code 0 says that the goal was reached.
    pub check: String,
    /// A script of bash that reaches the goal, which proves the check.
    pub solution: Option<String>,
    /// A plan that turns out wrong, for [`Fault::WrongPlan`] and [`Fault::WrongTasks`].
    pub wrong_plan: Option<Value>,
    /// Its bounds.
    pub bounds: TaskBounds,
}

/// How much a trial may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskBounds {
    /// Seconds of one run.
    pub seconds: u64,
    /// Tokens of one run, if they are bounded.
    pub tokens: Option<u64>,
    /// Seconds of the check.
    pub check_seconds: u64,
    /// Seconds from the beginning of the first call of a tool until what comes [late](Task::late) is there.
    pub late_seconds: u64,
}

impl Default for TaskBounds {
    /// 10 minutes for a run, any number of tokens, 1 minute for a check. What comes late is there after a minute: longer than an actor looks again, and
    /// less than a command may wait.
    fn default() -> Self {
        Self { seconds: 600, tokens: None, check_seconds: 60, late_seconds: 60 }
    }
}

impl Task {
    /// The plan that a run begins with under a fault, if there is one: the wrong plan of the task, or the tasks of actors in it.
    pub(crate) fn plan_under(&self, fault: Option<Fault>) -> Option<Value> {
        let plan = self.wrong_plan.as_ref()?;
        match fault {
            Some(Fault::WrongPlan) => Some(plan.clone()),
            Some(Fault::WrongTasks) => tasks_of_actors(plan.clone()),
            Some(Fault::FlakyTools | Fault::LateInformation) | None => None,
        }
    }
}

/// A plan without its calls of tools, and what depended on them no longer does; none where nothing is left.
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
    /// Keeps at most so many tasks, spread evenly over the categories and their levels: the same ones each time, and in a larger sample those of
    /// the smaller one (the sequence of van der Corput, 1935).
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

/// Why there is no suite.
#[derive(Debug, thiserror::Error)]
pub enum SuiteError {
    /// A file or folder cannot be read.
    #[error("{path} cannot be read: {source}")]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The folder holds none.
    #[error(
        "{0} holds no tasks: write a `suite.toml` with `[[task]]` tables, or name a folder of terminal-bench, harbor or exercism tasks"
    )]
    Empty(PathBuf),
    /// What is written there cannot stand; every fault at once.
    #[error("the suite {path} has faults:\n  {}", .faults.join("\n  "))]
    Faults {
        /// The folder.
        path: PathBuf,
        /// One line for each.
        faults: Vec<String>,
    },
}
