//! Parses one task of a plan.

use aime_messages::{Message, message};
use aime_progress_management::{Criterion, ReasoningEffort, TaskId, TaskKind};
use serde_json::{Map, Value};

use super::{
    coerce::{Members, Notes, effort, is_level, is_nothing, mentions, object, seconds, snake, text, texts, unread_level},
    criterion::criteria,
    ids::Names,
};
use crate::PlanFault;

/// Members that contain the tasks of a plan, or of a task.
pub(super) const CHILDREN: &[&str] = &[
    "subtasks",
    "sub_tasks",
    "children",
    "actions",
    "sub_goals",
    "subgoals",
    "steps",
    "todos",
    "task_list",
    "items",
    "nodes",
    "substeps",
    "sub_steps",
];

/// A task before its mentions are resolved.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub(super) place: String,
    pub(super) id: Option<String>,
    pub(super) name: String,
    pub(super) description: String,
    pub(super) kind: Option<TaskKind>,
    pub(super) tool: Option<String>,
    pub(super) parameters: Map<String, Value>,
    pub(super) criteria: Vec<Criterion>,
    pub(super) dependencies: Vec<String>,
    pub(super) parent: Option<String>,
    /// Index of the enclosing task.
    pub(super) inside: Option<usize>,
    pub(super) profile: Option<String>,
    pub(super) bundles: Vec<String>,
    pub(super) denied_tools: Vec<String>,
    pub(super) skills: Vec<String>,
    pub(super) exclusive: Vec<String>,
    pub(super) phase: Option<String>,
    pub(super) effort_seconds: Option<u32>,
    pub(super) model: Option<String>,
    pub(super) effort: Option<ReasoningEffort>,
    /// The value in the place of a level of effort that is no level.
    pub(super) unread_effort: Option<String>,
}

impl Draft {
    /// Removes the mentions that are words for *nothing here*.
    pub(super) fn leave_out_nothing(&mut self, names: &Names) {
        self.dependencies.retain(|mention| !names.means_nothing(mention));
        self.parent.take_if(|mention| names.means_nothing(mention));
    }
}

/// Parses a list of tasks, including nested ones, into `drafts`.
pub(super) fn read_list(
    list: &Value,
    place: &str,
    inside: Option<usize>,
    drafts: &mut Vec<Draft>,
    notes: &mut Notes,
    faults: &mut Vec<PlanFault>,
) {
    match list {
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                read(item, &format!("{place}[{at}]"), None, inside, drafts, notes, faults);
            }
        }
        Value::Object(map) => {
            notes.add(message!("repair-keys", place));
            for (key, item) in map {
                read(item, &format!("{place}.{key}"), Some(key), inside, drafts, notes, faults);
            }
        }
        Value::String(lines) => {
            notes.add(message!("repair-lines", place));
            for (at, line) in lines.lines().filter(|line| !line.trim().is_empty()).enumerate() {
                read(&Value::String(line.to_owned()), &format!("{place}[{at}]"), None, inside, drafts, notes, faults);
            }
        }
        other => faults.push(PlanFault::new(place, message!("plan-list-of-tasks", kind = kind_of(other)))),
    }
}

fn read(
    item: &Value,
    place: &str,
    key: Option<&str>,
    inside: Option<usize>,
    drafts: &mut Vec<Draft>,
    notes: &mut Notes,
    faults: &mut Vec<PlanFault>,
) {
    match item {
        Value::String(line) => {
            notes.add(message!("repair-text"));
            let id = key.map(str::to_owned);
            drafts.push(Draft { place: place.to_owned(), id, description: without_number(line), inside, ..Draft::default() });
        }
        Value::Object(members) => {
            let at = drafts.len();
            let mut members = Members::of(wrapped(members, notes));
            let (mut draft, children) = read_object(&mut members, place, notes, faults);
            draft.inside = inside;
            draft.id = draft.id.or_else(|| key.map(str::to_owned));
            drafts.push(draft);
            if let Some((name, list)) = children {
                notes.add(message!("repair-children", key = name));
                read_list(list, &format!("{place}.{name}"), Some(at), drafts, notes, faults);
            }
        }
        Value::Null => notes.add(message!("repair-null", place)),
        other => faults.push(PlanFault::new(place, message!("plan-task", kind = kind_of(other)))),
    }
}

/// Unwraps `{"task": {…}}` and `{"add_task": {…}}`.
fn wrapped<'a>(members: &'a Map<String, Value>, notes: &mut Notes) -> &'a Map<String, Value> {
    match members.iter().next() {
        Some((key, Value::Object(inner))) if members.len() == 1 => {
            notes.add(message!("repair-inner", key));
            inner
        }
        _ => members,
    }
}

/// Parses the members of a task; returns the nested tasks.
pub(super) fn read_object<'a>(
    members: &mut Members<'a>,
    place: &str,
    notes: &mut Notes,
    faults: &mut Vec<PlanFault>,
) -> (Draft, Option<(String, &'a Value)>) {
    let mut draft = Draft { place: place.to_owned(), ..Draft::default() };
    let is_text = |value: &Value| matches!(value, Value::String(_) | Value::Number(_));
    let children = CHILDREN.iter().chain(&["tasks"]).find_map(|name| {
        let fit = |value: &Value| value.as_array().is_some_and(|list| list.iter().any(|item| item.is_object() || item.is_string()));
        members.take_where(name, &[], notes, fit).map(|list| ((*name).to_owned(), list))
    });
    let written = members.take("id", &["step_id", "task_id", "key", "number", "step_number"], notes);
    // `step` may be a number or the description of the work.
    let is_id = |value: &Value| value.as_str().map_or(value.is_number(), |text| !text.trim().contains(' '));
    draft.id = written.or_else(|| members.take_where("id", &["step"], notes, is_id)).and_then(|value| {
        if value.is_number() && !place.contains("steps") {
            notes.add(message!("repair-numbers"));
        }
        let id = text(value);
        if id.is_none() {
            faults.push(PlanFault::new(format!("{place}.id"), message!("plan-text", kind = kind_of(value))));
        }
        // A word such as `none` is a valid id, too.
        id.filter(|id| !is_nothing(id) || TaskId::new(id).is_ok())
    });
    draft.name =
        members.take_where("name", &["title", "task_name", "step_name", "label"], notes, is_text).and_then(text).unwrap_or_default();
    let described = [
        "desc",
        "instructions",
        "instruction",
        "details",
        "detail",
        "task",
        "action",
        "objective",
        "goal",
        "what",
        "step",
        "prompt",
        "content",
        "text",
    ];
    draft.description = members.take_where("description", &described, notes, is_text).and_then(text).unwrap_or_default();
    draft.kind = members.take("kind", &["type", "task_type"], notes).and_then(|value| {
        let written = text(value).unwrap_or_default();
        let kind = read_kind(&written);
        if kind.is_none() && !is_nothing(&written) {
            notes.add(message!("repair-kind", place, kind = format!("{written:?}")));
        }
        kind
    });
    read_tool(members, &mut draft, notes, faults);
    let other_names =
        ["completion_criterion", "acceptance_criteria", "criteria", "success_criteria", "done_when", "expected_output", "expected_outcome"];
    if let Some(value) = members.take("completion_criteria", &other_names, notes) {
        if value.is_string() {
            notes.add(message!("repair-criteria"));
        }
        draft.criteria = criteria(value, &format!("{place}.completion_criteria"), notes, faults);
    }
    let waits = ["depends_on", "dependency", "deps", "dependson", "requires", "after", "needs", "prerequisites", "blocked_by"];
    if let Some(value) = members.take("dependencies", &waits, notes) {
        let list = mentions(value);
        let plain = value.as_array().is_some_and(|items| items.iter().all(Value::is_string));
        if !plain && !place.contains("steps") && !list.iter().all(|mention| is_nothing(mention)) {
            notes.add(message!("repair-dependencies"));
        }
        draft.dependencies = list;
    }
    draft.parent = members
        .take("parent", &["parent_id", "parent_task", "group", "sub_goal", "subgoal"], notes)
        .and_then(|value| mentions(value).into_iter().next());
    let is_name = |value: &Value| value.is_string();
    draft.profile = members
        .take_where("profile", &["actor", "agent", "role", "assignee", "actor_profile"], notes, is_name)
        .and_then(text)
        .filter(|p| !is_nothing(p));
    draft.phase = members.take_where("phase", &["stage"], notes, is_name).and_then(text).filter(|phase| !is_nothing(phase));
    draft.bundles = members.take("bundles", &["bundle", "tool_bundles"], notes).map(texts).unwrap_or_default();
    draft.denied_tools = members.take("denied_tools", &["exclude_tools"], notes).map(texts).unwrap_or_default();
    draft.skills = members.take("skills", &["skill"], notes).map(texts).unwrap_or_default();
    draft.exclusive = members.take("exclusive", &["exclusively", "locks"], notes).map(texts).unwrap_or_default();
    // `mode` is not a misspelt `model`.
    if members.has("model") {
        draft.model = members.take_where("model", &[], notes, is_name).and_then(text).filter(|model| !is_nothing(model));
    }
    // A number, or a text that begins with one, is an estimate of time.
    if let Some(level) = members.take_where("effort", &[], notes, is_level) {
        draft.effort = effort(level);
        draft.unread_effort = unread_level(level);
    }
    draft.effort_seconds = members
        .take("effort_seconds", &["effort", "estimated_seconds", "estimate_seconds", "estimated_time", "duration"], notes)
        .and_then(seconds);
    for key in members.rest() {
        if !matches!(snake(key).as_str(), "schema" | "plan_id" | "task_id" | "status" | "op" | "replaces")
            && !CHILDREN.contains(&snake(key).as_str())
        {
            notes.add(message!("repair-task-member", key));
        }
    }
    (draft, children)
}

fn read_tool(members: &mut Members<'_>, draft: &mut Draft, notes: &mut Notes, faults: &mut Vec<PlanFault>) {
    let place = draft.place.clone();
    let mut parameters = None;
    if let Some(value) = members.take("tool", &["tool_name", "tool_call", "function", "function_call"], notes) {
        match value {
            Value::Object(call) => {
                notes.add(message!("repair-call"));
                let mut call = Members::of(call);
                draft.tool = call.take("name", &["tool", "tool_name", "function"], notes).and_then(text);
                parameters = call.take("parameters", PARAMETERS, notes).cloned();
            }
            other => draft.tool = text(other),
        }
    }
    draft.tool = draft.tool.take().filter(|tool| !is_nothing(tool));
    if let Some(value) = members.take("parameters", PARAMETERS, notes).cloned().or(parameters) {
        match object(&value) {
            Some(parameters) => {
                if value.is_string() && !parameters.is_empty() {
                    notes.add(message!("repair-parameters", place));
                }
                draft.parameters = parameters;
            }
            None => faults.push(
                PlanFault::new(format!("{place}.parameters"), message!("plan-object", kind = kind_of(&value)))
                    .hint(message!("plan-parameters-form", json = "{\"path\": \"notes.txt\"}")),
            ),
        }
    }
}

const PARAMETERS: &[&str] = &["tool_parameters", "params", "arguments", "args", "input", "inputs", "tool_input", "tool_args"];

fn read_kind(written: &str) -> Option<TaskKind> {
    match snake(written).as_str() {
        "actor" | "agent" | "action" | "llm" | "model" | "actor_task" => Some(TaskKind::Actor),
        "tool" | "tool_call" | "function" | "tool_task" => Some(TaskKind::Tool),
        "group" | "goal" | "sub_goal" | "subgoal" | "phase" | "composite" | "parent" => Some(TaskKind::Group),
        _ => None,
    }
}

/// Removes a leading number: `1. Read it` → `Read it`.
fn without_number(line: &str) -> String {
    let line = line.trim().trim_start_matches(['-', '*']).trim_start();
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let rest = if rest.len() < line.len() { rest.strip_prefix(['.', ')', ':', '、']).unwrap_or(line) } else { line };
    rest.trim().to_owned()
}

/// Returns the type of a value as text.
pub(super) fn kind_of(value: &Value) -> Message {
    match value {
        Value::Null => message!("json-null"),
        Value::Bool(_) => message!("json-truth"),
        Value::Number(_) => message!("json-number"),
        Value::String(_) => message!("json-text"),
        Value::Array(_) => message!("json-list"),
        Value::Object(_) => message!("json-object"),
    }
}
