//! Builders of plans and states for tests.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::{
    Conclusion, Decision, Edge, EdgeType, Outcome, PATCH_SCHEMA, PLAN_SCHEMA, Plan, PlanChange, PlanPatch, ProgressEvent, ProgressState,
    StatusChange, Strategic, TaskId, TaskKind, TaskSpec, TaskStatus, Timestamp,
};

pub(crate) fn id(text: &str) -> TaskId {
    TaskId::new(text).unwrap()
}

pub(crate) fn ids(text: &str) -> Vec<TaskId> {
    text.split_whitespace().map(id).collect()
}

pub(crate) fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

/// Parses a task: `a`, or `a: b c` for an actor task `a` that depends on `b` and `c`; `g/a: b` for one in the group
/// `g`; `g/` for a group.
pub(crate) fn spec(text: &str) -> TaskSpec {
    let (name, dependencies) = text.split_once(':').unwrap_or((text, ""));
    let (parent, name) = match name.trim().rsplit_once('/') {
        Some((group, "")) => {
            let (parent, group) = group.rsplit_once('/').map_or((None, group), |(parent, group)| (Some(id(parent)), group));
            return TaskSpec {
                kind: TaskKind::Group,
                description: String::new(),
                dependencies: ids(dependencies),
                parent,
                ..TaskSpec::actor(id(group), "")
            };
        }
        Some((parent, name)) => (Some(id(parent)), name),
        None => (None, name.trim()),
    };
    TaskSpec { dependencies: ids(dependencies), parent, ..TaskSpec::actor(id(name), format!("Do {name}")) }
}

pub(crate) fn tool(text: &str, parameters: Value) -> TaskSpec {
    let Value::Object(parameters) = parameters else { panic!("parameters are an object") };
    TaskSpec { kind: TaskKind::Tool, tool: Some("bash".into()), parameters, description: String::new(), ..spec(text) }
}

pub(crate) fn edge(from: &str, to: &str, kind: EdgeType) -> Edge {
    Edge { from: id(from), to: id(to), kind, condition: None }
}

pub(crate) fn conditional(from: &str, to: &str, condition: &str) -> Edge {
    Edge { condition: Some(condition.into()), ..edge(from, to, EdgeType::Conditional) }
}

pub(crate) fn plan_of(tasks: Vec<TaskSpec>, edges: Vec<Edge>) -> Plan {
    Plan {
        schema: PLAN_SCHEMA.into(),
        goal: "the goal".into(),
        strategic: Strategic::default(),
        tasks: tasks.into_iter().map(Arc::new).collect(),
        edges,
    }
}

pub(crate) fn patch_of(changes: Vec<PlanChange>) -> PlanPatch {
    PlanPatch { schema: PATCH_SCHEMA.into(), reasoning: "because".into(), changes }
}

/// Returns a state with this plan at version 1.
pub(crate) fn state_of(tasks: Vec<TaskSpec>, edges: Vec<Edge>) -> ProgressState {
    let mut state = empty_state();
    let plan = plan_of(tasks, edges);
    state.apply(at(1), &ProgressEvent::PlanCreated { plan, repairs: vec![], fallback: None }).unwrap();
    state
}

/// Returns a state with the tasks of `text`, one per line, each in the form of [`spec`].
pub(crate) fn state(text: &str) -> ProgressState {
    state_of(specs(text), vec![])
}

pub(crate) fn specs(text: &str) -> Vec<TaskSpec> {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).map(spec).collect()
}

pub(crate) fn empty_state() -> ProgressState {
    ProgressState::new("plan".parse().unwrap(), "the goal", at(0))
}

pub(crate) fn done(text: &str, result: Value) -> Conclusion {
    Conclusion { text: Some(text.into()), result, ..conclusion(Outcome::Success, "done", None) }
}

pub(crate) fn conclusion(outcome: Outcome, summary: &str, error: Option<&str>) -> Conclusion {
    let value = serde_json::json!({"outcome": outcome, "summary": summary, "error": error});
    serde_json::from_value(value).unwrap()
}

pub(crate) fn parameters(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

impl ProgressState {
    pub(crate) fn status(&self, task: &str) -> TaskStatus {
        self.tasks[&id(task)].status
    }

    /// Changes one status by an event.
    pub(crate) fn go(&mut self, task: &str, to: TaskStatus) {
        self.change(&StatusChange { task: id(task), to, for_good: false, reason: None });
    }

    pub(crate) fn change(&mut self, change: &StatusChange) {
        let event = self.status_event(change).unwrap();
        self.apply(at(10), &event).unwrap();
    }

    /// Applies every change that follows from the graph alone.
    pub(crate) fn settle(&mut self) -> &mut Self {
        for _ in 0..1_000 {
            let changes = self.next_changes();
            if changes.is_empty() {
                return self;
            }
            changes.iter().for_each(|change| self.change(change));
        }
        panic!("the state does not settle");
    }

    /// Gives up blocked tasks, as after a refused replan.
    pub(crate) fn close(&mut self) -> &mut Self {
        for _ in 0..1_000 {
            self.settle();
            let changes = self.closing_changes();
            if changes.is_empty() {
                return self;
            }
            changes.iter().for_each(|change| self.change(change));
        }
        panic!("the state does not close");
    }

    pub(crate) fn complete(&mut self, task: &str) -> &mut Self {
        self.conclude(task, done("done", Value::Null))
    }

    pub(crate) fn conclude(&mut self, task: &str, conclusion: Conclusion) -> &mut Self {
        self.settle();
        self.go(task, TaskStatus::Running);
        self.apply(at(10), &ProgressEvent::TaskConcluded { task: id(task), conclusion }).unwrap();
        self.go(task, TaskStatus::Completed);
        self.settle()
    }

    pub(crate) fn failed(&mut self, task: &str, for_good: bool) -> &mut Self {
        self.settle();
        self.go(task, TaskStatus::Running);
        let conclusion = conclusion(Outcome::Failure, "not done", Some("it broke"));
        self.apply(at(10), &ProgressEvent::TaskConcluded { task: id(task), conclusion }).unwrap();
        self.change(&StatusChange { task: id(task), to: TaskStatus::Failed, for_good, reason: None });
        self.settle()
    }

    pub(crate) fn patch(&mut self, changes: Vec<PlanChange>) -> &mut Self {
        let decision = Decision {
            version: self.version + 1,
            at: at(20),
            triggers: vec![],
            patch: patch_of(changes),
            evidence: vec![],
            lowered: vec![],
            dropped: vec![],
        };
        self.apply(at(20), &ProgressEvent::PlanChanged { decision }).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(self.inconsistencies(), []);
        self
    }

    pub(crate) fn patch_faults(&self, changes: Vec<PlanChange>) -> Vec<String> {
        self.check_patch(&patch_of(changes)).map_or_else(|faults| faults.lines(), |()| vec![])
    }

    /// Returns the statuses in the form `a:completed b:ready …`.
    pub(crate) fn statuses(&self) -> String {
        self.tasks.values().map(|task| format!("{}:{}", task.spec.id, task.status)).collect::<Vec<_>>().join(" ")
    }
}
