//! The plan that needs no model.

use aime_progress_management::{Plan, Strategic, TaskId, TaskSpec};

use crate::prompt::{cut, first_sentence};

/// Maximum length of the task's name, in characters.
const MAX_NAME: usize = 60;

/// Returns a plan of one actor task, `main`, that does the whole goal.
#[must_use]
pub fn direct_plan(goal: &str, profile: Option<&str>) -> Plan {
    let mut tasks = Vec::new();
    // The identifier is valid, so there is always exactly one task.
    if let Ok(id) = TaskId::new(Plan::DIRECT_TASK) {
        let mut task = TaskSpec::actor(id, goal.trim());
        task.name = cut(&first_sentence(goal), MAX_NAME);
        task.profile = profile.map(str::to_owned);
        tasks.push(task);
    }
    let strategic = Strategic { approach: "One actor does the whole goal.".to_owned(), ..Strategic::default() };
    Plan { strategic, ..Plan::new(goal, tasks) }
}
