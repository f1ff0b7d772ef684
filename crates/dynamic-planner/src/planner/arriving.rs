//! The tasks of a plan that is still being written.

use std::collections::BTreeSet;

use aime_llm::ArrivingItems;
use aime_progress::{PlanMode, TaskId, TaskSpec};
use serde_json::{Value, json};

use crate::{PlanChecker, parse::read_plan};

/// The most tasks of one answer that are looked at before it is whole.
const MOST: usize = 64;

/// Takes those tasks out of an answer that could stand in a plan as they are.
pub(super) struct ArrivingTasks<'a> {
    checker: PlanChecker<'a>,
    items: ArrivingItems,
    read: Vec<Value>,
    given: BTreeSet<TaskId>,
}

impl<'a> ArrivingTasks<'a> {
    pub(super) fn new(checker: PlanChecker<'a>) -> Self {
        Self { checker, items: items(), read: Vec::new(), given: BTreeSet::new() }
    }

    /// Another answer begins.
    pub(super) fn begin(&mut self) {
        self.items = items();
        self.read.clear();
        self.given.clear();
    }

    /// Takes more of the text; gives the tasks that have become whole with it, each once.
    pub(super) fn push(&mut self, text: &str) -> Vec<TaskSpec> {
        let more = self.items.push(text);
        let before = self.read.len();
        self.read.extend(more.into_iter().take(MOST.saturating_sub(before)));
        if self.read.len() == before { Vec::new() } else { self.tasks() }
    }

    fn tasks(&mut self) -> Vec<TaskSpec> {
        // All of them are read each time: what a mention means hangs on all names that are known.
        let (parsed, faults) = read_plan(&json!({"tasks": self.read}));
        if !faults.is_empty() {
            return Vec::new();
        }
        let mut tasks = parsed.plan.tasks;
        if self.checker.mode == Some(PlanMode::Simple) && tasks.iter().all(|task| task.dependencies.is_empty()) {
            // They may become a row: only what stands first in it is sure to wait for nothing.
            tasks.truncate(1);
        }
        let known: BTreeSet<TaskId> = tasks.iter().map(|task| task.id.clone()).collect();
        let waits: Vec<bool> = tasks.iter().map(|task| waits_with_its_group(task, &tasks)).collect();
        let mut whole = Vec::new();
        for (at, (mut task, waits)) in tasks.into_iter().zip(waits).enumerate() {
            if waits || self.given.contains(&task.id) || !task.dependencies.iter().all(|other| known.contains(other)) {
                continue;
            }
            let mut faults = Vec::new();
            self.checker.check_task(&mut task, &format!("tasks[{at}]"), &mut Vec::new(), &mut faults);
            if faults.is_empty() && self.given.insert(task.id.clone()) {
                whole.push(task);
            }
        }
        whole
    }
}

/// Whether a group around a task waits for something that the task does not name.
fn waits_with_its_group(task: &TaskSpec, tasks: &[TaskSpec]) -> bool {
    let find = |id: &TaskId| tasks.iter().find(|task| task.id == *id);
    let around = std::iter::successors(task.parent.as_ref().and_then(find), |group| group.parent.as_ref().and_then(find));
    around.take(tasks.len()).flat_map(|group| &group.dependencies).any(|id| !task.dependencies.contains(id))
}

fn items() -> ArrivingItems {
    ArrivingItems::of(&["tasks", "steps"])
}

#[cfg(test)]
mod tests {
    use aime_llm::ToolDefinition;

    use super::*;

    fn given(mode: PlanMode, text: &str) -> String {
        let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
        let tools = [ToolDefinition { name: "read_file".to_owned(), description: String::new(), parameters: schema.into() }];
        let mut arriving = ArrivingTasks::new(PlanChecker { tools: &tools, mode: Some(mode), ..PlanChecker::default() });
        let mut parts = Vec::new();
        for letter in text.chars() {
            let ids: Vec<String> = arriving.push(&letter.to_string()).into_iter().map(|task| task.id.to_string()).collect();
            if !ids.is_empty() {
                parts.push(ids.join(" "));
            }
        }
        parts.join("; ")
    }

    #[test]
    fn tasks_are_given_once_each_with_what_they_wait_for() {
        let read = |id: &str, path: &str, after: &str| {
            format!(r#"{{"id": "{id}", "tool": "read_file", "parameters": {{"path": {path}}}, "dependencies": [{after}]}}"#)
        };
        let (a, b, c) = (read("a", r#""x""#, ""), read("b", r#""x""#, r#""a""#), read("c", r#""x""#, r#""d""#));
        let cases = [
            (PlanMode::Complex, format!(r#"{{"goal": "g", "tasks": [{a}, {b}]}}"#), "a; b"),
            (PlanMode::Complex, format!(r#"{{"tasks": [{c}, {a}, {{"id": "d", "description": "do"}}]"#), "a; c d"),
            (PlanMode::Complex, format!(r#"{{"tasks": [{}, {a}]}}"#, read("b", "7", r#""nobody""#)), "a"),
            (PlanMode::Complex, format!(r#"{{"tasks": [{}, {a}]}}"#, read("b", "{}", "")), "a"),
            (PlanMode::Complex, r#"{"tasks": [{"id": "a", "tool": "fly"}, {"id": "b", "description": "do"}]}"#.to_owned(), "b"),
            (PlanMode::Simple, format!(r#"{{"tasks": [{a}, {}, {b}]}}"#, read("e", r#""x""#, "")), "a; e b"),
            (PlanMode::Simple, format!(r#"{{"tasks": [{a}, {}]}}"#, read("e", r#""x""#, "")), "a"),
            (
                PlanMode::Complex,
                format!(
                    r#"{{"tasks": [{a}, {{"id": "g", "description": "do", "dependencies": ["a"]}}, {{"id": "h", "parent": "g", "tool": "read_file",
                       "parameters": {{"path": "x"}}}}, {{"id": "i", "parent": "g", "tool": "read_file", "parameters": {{"path": "x"}},
                       "dependencies": ["a"]}}]}}"#
                ),
                "a; g; i",
            ),
            (PlanMode::Complex, format!(r#"Well: {{"tasks": [{a}]}}"#), ""),
        ];
        for (mode, text, expected) in cases {
            assert_eq!(given(mode, &text), expected, "{text}");
        }
    }

    #[test]
    fn no_more_than_so_many_are_looked_at() {
        let tasks: Vec<Value> = (0..2 * MOST).map(|number| json!({"id": format!("t{number}"), "description": "do"})).collect();
        let parts = given(PlanMode::Complex, &json!({"tasks": tasks}).to_string());
        assert_eq!(parts.split("; ").count(), MOST);
    }
}
