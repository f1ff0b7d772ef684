//! Builders of runs for the tests.

use aime_dynamic_planner::Strategy;
use aime_llm::ToolDefinition;
use aime_progress_management::{Conclusion, FailureCause, Outcome, Plan, PlanChange, PlanPatch, TaskId, TaskKind, TaskSpec};
use aime_tools::{Approval, PermissionRules, RuleLists, ToolScope, ToolSpec};
use serde_json::{Map, Value, json};

use crate::{CriterionResult, ModelUse, RunInput, RunSettings};

pub(super) fn id(text: &str) -> TaskId {
    TaskId::new(text).unwrap()
}

pub(super) fn tool_spec(name: &str, read_only: bool, touches: ToolScope) -> ToolSpec {
    let parameters = json!({"type": "object"}).into();
    let mut tool_spec = ToolSpec::new(ToolDefinition { name: name.to_owned(), description: String::new(), parameters });
    (tool_spec.read_only, tool_spec.idempotent, tool_spec.touches) = (read_only, read_only, touches);
    tool_spec
}

pub(super) fn input() -> RunInput {
    RunInput {
        run: "run".parse().unwrap(),
        plan_id: "run".parse().unwrap(),
        goal: "the goal".to_owned(),
        images: Vec::new(),
        plan: None,
        can_plan: true,
        lead: None,
        has_memory: false,
        plan_only: false,
        planning: Vec::new(),
        conversation: None,
        comments: None,
        settings: RunSettings { strategy: Strategy::Always, approval: Approval::Edits, ..RunSettings::default() },
        rules: PermissionRules::at("/work", RuleLists::default()).unwrap(),
        tools: [
            tool_spec("look", true, ToolScope::Files),
            tool_spec("append", false, ToolScope::Files),
            tool_spec("shell", false, ToolScope::Processes),
        ]
        .map(std::sync::Arc::new)
        .into(),
    }
}

/// Parses a task: `a`, or `a: b c` for an actor task that depends on others; `g/a` for one in a group, `g/` for a
/// group; `a=append` for a tool task.
pub(super) fn spec(text: &str) -> TaskSpec {
    let (name, dependencies) = text.split_once(':').unwrap_or((text, ""));
    let (name, tool) = name.trim().split_once('=').map_or((name.trim(), None), |(name, tool)| (name, Some(tool.trim().to_owned())));
    let (parent, name, group) = match name.rsplit_once('/') {
        Some((name, "")) => (None, name, true),
        Some((parent, name)) => (Some(id(parent)), name, false),
        None => (None, name, false),
    };
    let kind = match (&tool, group) {
        (Some(_), _) => TaskKind::Tool,
        (None, true) => TaskKind::Group,
        (None, false) => TaskKind::Actor,
    };
    let description = if kind == TaskKind::Actor { format!("Do {name}") } else { String::new() };
    let dependencies = dependencies.split_whitespace().map(id).collect();
    TaskSpec { kind, tool, parent, dependencies, ..TaskSpec::actor(id(name), description) }
}

/// Parses the tasks of `text`, separated by semicolons, each in the form of [`spec`].
pub(super) fn plan(text: &str) -> Plan {
    let tasks = text.split(';').map(str::trim).filter(|text| !text.is_empty()).map(spec);
    Plan::new("the goal", tasks)
}

pub(super) fn add(text: &str, replaces: &[&str]) -> PlanChange {
    PlanChange::AddTask { task: Box::new(spec(text)), replaces: replaces.iter().map(|text| id(text)).collect() }
}

pub(super) fn patch(changes: Vec<PlanChange>) -> PlanPatch {
    PlanPatch { schema: aime_progress_management::PATCH_SCHEMA.to_owned(), reasoning: "because".to_owned(), changes }
}

pub(super) fn conclusion(outcome: Outcome, error: Option<&str>, cause: Option<FailureCause>) -> Conclusion {
    Conclusion { error: error.map(Into::into), cause, ..Conclusion::new(outcome, "what was done") }
}

pub(super) fn model_use(purpose: &str, tokens: u64) -> ModelUse {
    let spent = aime_progress_management::ModelCost { requests: 1, input_tokens: tokens, ..Default::default() };
    ModelUse { purpose: purpose.to_owned(), model: "m".to_owned(), effort: None, spent, duration_ms: 1, finish: None }
}

pub(super) fn check(criterion: &str, passed: Option<bool>) -> CriterionResult {
    CriterionResult { passed, reason: "looked".into(), ..CriterionResult::open(&aime_progress_management::Criterion::text(criterion)) }
}

pub(super) fn parameters(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}
