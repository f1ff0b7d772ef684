//! A run that counts TODO comments and reports them, from the lead's point of view.

mod calls;
mod messages;
mod prompts;
mod properties;
mod results;

use aime_llm::ToolDefinition;
use aime_progress_management::{Conclusion, Outcome, Plan, ProgressEvent, ProgressState, Task, TaskId, TaskStatus, Timestamp};
use serde_json::{Value, json};

use super::*;
use crate::{GrowthSettings, PlanChecker, PlanFault, ProfileBrief, parse_plan};

const NOW: Timestamp = Timestamp::from_millis(0);

/// Returns the message of a wake after tasks that changed no file.
fn message(wake: &Wake, state: &ProgressState, budget_tokens: u64) -> String {
    wake_message(wake, state, &TaskChanges::new(), budget_tokens)
}

fn id(text: &str) -> TaskId {
    TaskId::new(text).unwrap()
}

/// Returns the run before it has a plan.
fn unplanned() -> ProgressState {
    ProgressState::new("plan".parse().unwrap(), "Count the TODO comments and write a report", NOW)
}

/// Returns the run with a plan of tasks, all pending.
fn planned(plan: &Value) -> ProgressState {
    let mut state = unplanned();
    let plan: Plan = parse_plan(&plan.to_string()).unwrap().plan;
    state.apply(NOW, &ProgressEvent::PlanCreated { plan, repairs: vec![], fallback: None }).unwrap();
    state
}

/// Returns the run in progress: `find` is done, `slow` runs, `lint` failed for good, `report` waits, `publish` is held.
fn at_work() -> ProgressState {
    let mut state = planned(&json!({
        "strategic": {"approach": "Look for both, then report.", "success_criteria": ["report.md lists every TODO", {"command": "make check"}]},
        "tasks": [
            {"id": "look", "name": "Look", "kind": "group"},
            {"id": "find", "name": "Find TODOs", "description": "List every TODO comment.", "parent": "look"},
            {"id": "slow", "name": "Find slow tests", "description": "Run the tests and list those slower than one second.", "parent": "look", "profile": "oracle"},
            {"id": "lint", "tool": "bash", "parameters": {"command": "make lint"}, "completion_criteria": ["no warnings"]},
            {"id": "report", "name": "Write the report", "description": "Write report.md.", "dependencies": ["find", "slow"]},
            {"id": "publish", "description": "Publish the report.", "dependencies": ["report"]},
        ],
        "edges": [{"from": "report", "to": "publish", "type": "conditional", "condition": "@{steps.report.status} == completed"}],
    }));
    task(&mut state, "look", |task| task.status = TaskStatus::Running);
    task(&mut state, "find", |task| {
        task.status = TaskStatus::Completed;
        let rows: Vec<String> = (1..=60).map(|row| format!("| src/file_{row}.rs | {row} | TODO: handle case {row} |")).collect();
        let mut conclusion = Conclusion::new(Outcome::Success, "60 TODO comments were found.");
        conclusion.text = Some(format!("60 TODO comments:\n\n{}", rows.join("\n")));
        conclusion.references = vec!["todos.txt".to_owned()];
        task.conclusion = Some(conclusion);
    });
    task(&mut state, "slow", |task| {
        task.status = TaskStatus::Running;
        task.activity = Some("bash make test".to_owned());
    });
    task(&mut state, "lint", |task| {
        (task.status, task.failures, task.failed_for_good) = (TaskStatus::Failed, 2, true);
        let mut conclusion = Conclusion::new(Outcome::Failure, "It could not be run.");
        conclusion.error = Some("make: *** No rule to make target 'lint'.  Stop.\nexit code 2".into());
        task.conclusion = Some(conclusion);
    });
    task(&mut state, "publish", |task| {
        (task.status, task.held) = (TaskStatus::Blocked, true);
        task.reason = Some("a person must agree first".into());
    });
    state
}

fn task(state: &mut ProgressState, name: &str, change: impl FnOnce(&mut Task)) {
    change(state.tasks.get_mut(&id(name)).unwrap());
}

/// Adds evidence and returns its id.
fn learn(state: &mut ProgressState, name: &str, content: &str, kind: &str) -> aime_progress_management::EvidenceId {
    let evidence = json!({"id": name, "at": NOW, "type": kind, "significance": "high", "content": content});
    state.evidence.push(serde_json::from_value(evidence).unwrap());
    name.parse().unwrap()
}

fn tool(name: &str, properties: &Value, required: &Value) -> ToolDefinition {
    let parameters = json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false});
    ToolDefinition { name: name.to_owned(), description: format!("Does {name}."), parameters: parameters.into() }
}

/// Names that plans may use.
struct Names {
    tools: Vec<ToolDefinition>,
    profiles: Vec<ProfileBrief>,
    models: Vec<String>,
    bundles: Vec<String>,
    growth: GrowthSettings,
}

impl Names {
    fn new() -> Self {
        let text = json!({"type": "string"});
        Self {
            tools: vec![
                tool("bash", &json!({"command": text}), &json!(["command"])),
                tool("grep", &json!({"pattern": text}), &json!(["pattern"])),
            ],
            profiles: ["sisyphus", "oracle"].map(|name| ProfileBrief::new(name, format!("Is {name}."))).into(),
            models: vec!["default".to_owned(), "fast".to_owned()],
            bundles: vec!["files".to_owned(), "web".to_owned()],
            growth: GrowthSettings::default(),
        }
    }

    fn checker(&self) -> PlanChecker<'_> {
        PlanChecker { tools: &self.tools, profiles: &self.profiles, models: &self.models, bundles: &self.bundles, ..PlanChecker::default() }
    }

    fn rules(&self) -> PlanRules<'_> {
        PlanRules { checker: self.checker(), growth: &self.growth }
    }
}

fn lines(faults: &[PlanFault]) -> String {
    faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}
