//! Parses plans and patches in the forms that models and people write.
//!
//! Parsing is lenient: it accepts other names for members, ids of any kind, nested lists, and the step form. It reports
//! each repair as text. Input that cannot be understood is a fault with its place, and all faults are reported at once.

mod coerce;
mod criterion;
mod edge;
mod ids;
mod patch;
mod strategic;
mod task;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use aime_llm::read_json;
use aime_messages::{Describe, Message, message};
use aime_progress_management::{PLAN_SCHEMA, Plan, ReasoningEffort, TaskId, TaskKind, TaskSpec};
use serde_json::{Map, Value};

use self::{
    coerce::{Members, Notes, snake, text},
    edge::read_edges,
    ids::Names,
    task::{CHILDREN, Draft, kind_of, read_list},
};
use crate::PlanFault;

pub(crate) use criterion::criterion;
pub use patch::{ParsedPatch, parse_patch, patch_from_value};

/// Maximum number of tasks parsed from one plan of a model: a safety limit, not a rule for good plans.
pub(crate) const MAX_TASKS: usize = 1_000;

/// A parsed plan.
#[derive(Debug, Clone, PartialEq)]
pub struct ParsedPlan {
    /// The plan. Every member has the right type; nothing else is checked.
    pub plan: Plan,
    /// Descriptions of the repairs.
    pub repairs: Vec<Message>,
    /// Place of each task in the document: `tasks[2]`, `steps[0]`, `tasks[0].actions[1]`.
    pub places: Vec<String>,
    /// Omitted values that a task or edge does not need. They are reported to a person, but a model is not asked again.
    pub(crate) unread: Vec<PlanFault>,
}

/// Parses a plan from a text: an answer of a model, or a file.
///
/// ```
/// let read = aime_dynamic_planner::parse_plan(r#"Here: {"steps": [{"step_id": 1, "description": "Look"},
///     {"step_id": 2, "description": "Tell", "dependencies": [1]}]}"#).unwrap();
/// assert_eq!(read.plan.tasks.len(), 2);
/// assert_eq!(read.plan.tasks[1].dependencies[0].as_str(), "1");
/// ```
///
/// # Errors
/// Every fault that makes the plan unintelligible. Rules between tasks are checked by
/// [`PlanChecker`](crate::PlanChecker).
pub fn parse_plan(text: &str) -> Result<ParsedPlan, Vec<PlanFault>> {
    let (value, repairs) = read_whole(text)?;
    let mut parsed = plan_from_value(&value)?;
    parsed.repairs.splice(0..0, repairs);
    Ok(parsed)
}

/// Parses a plan from JSON.
///
/// # Errors
///
/// Every fault that makes the plan unintelligible.
pub(crate) fn plan_from_value(value: &Value) -> Result<ParsedPlan, Vec<PlanFault>> {
    let (mut parsed, faults) = read_plan(value, Some(MAX_TASKS));
    parsed.leave_out_unread();
    if faults.is_empty() { Ok(parsed) } else { Err(faults) }
}

/// Returns the JSON of a text. Refuses a truncated text.
pub(crate) fn read_whole(text: &str) -> Result<(Value, Vec<Message>), Vec<PlanFault>> {
    let read = read_json(text).map_err(|error| vec![PlanFault::new("json", error.to_string()).hint(message!("plan-json"))])?;
    if read.cut {
        let fault = PlanFault::new("json", message!("plan-cut"));
        return Err(vec![fault.hint(message!("plan-shorter"))]);
    }
    Ok((read.value, read.repairs.into_iter().map(Message::text).collect()))
}

/// Parses as much of a plan as can be understood, and returns the faults of the rest. More tasks than `most` are a fault.
pub(crate) fn read_plan(value: &Value, most: Option<usize>) -> (ParsedPlan, Vec<PlanFault>) {
    let mut notes = Notes::default();
    let mut faults = Vec::new();
    let value = unwrap(value, &mut notes, 0);
    let mut plan = Plan::new("", Vec::new());
    let mut drafts = Vec::new();
    let mut edges = None;
    match value {
        Value::Array(_) => {
            notes.add(message!("repair-list"));
            read_list(value, "tasks", None, &mut drafts, &mut notes, &mut faults);
        }
        Value::Object(object) => {
            let mut members = Members::of(object);
            read_head(&mut members, &mut plan, &mut notes, &mut faults);
            let is_list = |value: &Value| value.is_array() || value.is_object() || value.is_string();
            let others: Vec<&str> = ["plan", "dag", "graph", "changes"].iter().chain(CHILDREN).copied().collect();
            match members.take_where("tasks", &others, &mut notes, is_list) {
                Some(list) => {
                    let place = if object.contains_key("steps") && !object.contains_key("tasks") { "steps" } else { "tasks" };
                    read_list(list, place, None, &mut drafts, &mut notes, &mut faults);
                }
                None => faults.push(
                    PlanFault::new("tasks", message!("plan-no-tasks"))
                        .hint(message!("plan-plan-form", json = "{\"tasks\": [{\"id\", \"description\", …}]}")),
                ),
            }
            edges = members.take("edges", &["links"], &mut notes);
            for key in members.rest() {
                if !matches!(snake(key).as_str(), "plan_id" | "task_id" | "version" | "mode" | "reasoning" | "id" | "name" | "thought") {
                    notes.add(message!("repair-member", key));
                }
            }
        }
        other => faults.push(PlanFault::new("plan", message!("plan-object", kind = kind_of(other)))),
    }
    if let Some(most) = most.filter(|most| drafts.len() > *most) {
        faults.push(PlanFault::new("tasks", message!("plan-too-many", tasks = drafts.len(), most)));
        drafts.truncate(most);
    }
    if drafts.is_empty() && faults.is_empty() {
        faults.push(PlanFault::new("tasks", message!("plan-no-tasks")).hint(message!("plan-one-task")));
    }
    let places = drafts.iter().map(|draft| draft.place.clone()).collect();
    let mut unread: Vec<PlanFault> =
        drafts.iter().filter_map(|draft| Some(unread_effort(&draft.place, draft.unread_effort.as_ref()?))).collect();
    let names = assemble(drafts, &mut plan, &mut notes, &mut faults);
    if let Some(edges) = edges {
        plan.edges = read_edges(edges, &names, &mut notes, &mut unread, &mut faults);
    }
    (ParsedPlan { plan, repairs: notes.list, places, unread }, faults)
}

impl ParsedPlan {
    /// Turns omitted values into repairs.
    pub(crate) fn leave_out_unread(&mut self) {
        self.repairs.extend(self.unread.drain(..).map(|fault| omission_message(&fault)));
    }
}

/// Returns the fault of an effort that is no known level.
fn unread_effort(place: &str, written: &str) -> PlanFault {
    let levels = ReasoningEffort::ALL.map(ReasoningEffort::as_str).join(", ");
    PlanFault::new(format!("{place}.effort"), message!("plan-no-effort", effort = format!("{written:?}")))
        .hint(message!("plan-there-are", names = levels))
}

/// Returns the message about an omitted value.
fn omission_message(fault: &PlanFault) -> Message {
    message!("repair-left-out", place = fault.place, fault = fault.problem.describe())
}

/// Unwraps a plan from the objects that models put around it.
fn unwrap<'a>(value: &'a Value, notes: &mut Notes, depth: usize) -> &'a Value {
    let Value::Object(object) = value else { return value };
    let has_tasks = object.keys().any(|key| matches!(snake(key).as_str(), "tasks" | "steps"));
    if has_tasks || depth > 4 {
        return value;
    }
    let wrappers =
        ["plan", "aime_plan", "patch", "aime_patch", "result", "response", "output", "answer", "data", "json", "arguments", "parameters"];
    let inner = object.iter().find(|(key, inner)| wrappers.contains(&snake(key).as_str()) && inner.is_object());
    match inner {
        Some((key, inner)) => {
            notes.add(message!("repair-content", key));
            unwrap(inner, notes, depth + 1)
        }
        None => value,
    }
}

/// Parses all of a plan except its tasks and edges.
fn read_head(members: &mut Members<'_>, plan: &mut Plan, notes: &mut Notes, faults: &mut Vec<PlanFault>) {
    if let Some(schema) = members.take("schema", &["$schema"], notes).and_then(text)
        && schema != PLAN_SCHEMA
        && schema.starts_with("aime.")
    {
        faults.push(
            PlanFault::new("schema", message!("plan-schema", schema = format!("{schema:?}")))
                .hint(message!("plan-plan-form", json = format!("{PLAN_SCHEMA:?}"))),
        );
    }
    let is_text = |value: &Value| value.is_string();
    plan.goal =
        members.take_where("goal", &["objective", "title", "task", "description"], notes, is_text).and_then(text).unwrap_or_default();
    plan.strategic = strategic::read(members, notes, faults);
}

/// Assigns ids, resolves mentions, and infers kinds.
fn assemble(mut drafts: Vec<Draft>, plan: &mut Plan, notes: &mut Notes, faults: &mut Vec<PlanFault>) -> Names {
    let mut names = Names::default();
    for draft in &drafts {
        names.reserve(draft.id.as_deref().unwrap_or_default());
    }
    let ids: Vec<TaskId> =
        drafts.iter().enumerate().map(|(at, draft)| names.give(draft.id.as_deref(), &draft.name, at + 1, notes)).collect();
    drafts.iter_mut().for_each(|draft| draft.leave_out_nothing(&names));
    let mut parents: Vec<Option<TaskId>> = drafts.iter().zip(&ids).map(|(draft, id)| parent_of(draft, id, &ids, &names, notes)).collect();
    leave_orders(&drafts, &ids, &names, &mut parents, notes);
    for ((draft, id), parent) in drafts.into_iter().zip(&ids).zip(&parents) {
        let is_parent = parents.iter().flatten().any(|parent| parent == id);
        let mut spec = spec_of(draft, id.clone(), is_parent, &names, notes, faults);
        spec.parent = parent.clone();
        let relation = |other: &TaskId| {
            let parent_of = |child: &TaskId| ids.iter().zip(&parents).find(|(id, _)| *id == child).and_then(|(_, parent)| parent.clone());
            let around = std::iter::successors(parent.clone(), parent_of).take(ids.len()).any(|group| group == *other);
            let inside = std::iter::successors(parent_of(other), parent_of).take(ids.len()).any(|group| group == *id);
            around || inside
        };
        spec.dependencies.retain(|other| {
            let keep = other == id || !relation(other);
            if !keep {
                notes.add(message!("repair-inside", task = id, other));
            }
            keep
        });
        if spec.kind == TaskKind::Actor && spec.description.is_empty() && !spec.name.is_empty() {
            notes.add(message!("repair-name", task = id));
            spec.description.clone_from(&spec.name);
        }
        plan.tasks.push(Arc::new(spec));
    }
    names
}

fn parent_of(draft: &Draft, id: &TaskId, ids: &[TaskId], names: &Names, notes: &mut Notes) -> Option<TaskId> {
    if let Some(inside) = draft.inside.and_then(|at| ids.get(at)) {
        return Some(inside.clone());
    }
    let written = draft.parent.as_deref()?;
    let found = names.find(written).filter(|parent| parent != id && ids.contains(parent));
    if found.is_none() {
        notes.add(message!("repair-parent", parent = format!("{written:?}"), task = id));
    }
    found
}

/// Removes a parent that is a task with work of its own and, by the dependencies, precedes or follows the task that
/// names it. Small models write such plans. As a group the parent would be done when its children are, and its own work
/// would never be done.
fn leave_orders(drafts: &[Draft], ids: &[TaskId], names: &Names, parents: &mut [Option<TaskId>], notes: &mut Notes) {
    let find = |id: &TaskId| ids.iter().position(|known| known == id);
    let waits_for: Vec<Vec<usize>> = drafts
        .iter()
        .map(|draft| draft.dependencies.iter().filter_map(|mention| names.find(mention).as_ref().and_then(find)).collect())
        .collect();
    let comes_after = |one: usize, other: usize| {
        let (mut seen, mut open) = (vec![false; drafts.len()], vec![one]);
        while let Some(at) = open.pop() {
            for next in waits_for.get(at).into_iter().flatten() {
                if seen.get_mut(*next).is_some_and(|seen| !std::mem::replace(seen, true)) {
                    open.push(*next);
                }
            }
        }
        seen.get(other).copied().unwrap_or_default()
    };
    let is_work = |at: usize| drafts.get(at).is_some_and(|draft| matches!(draft.kind, Some(TaskKind::Actor | TaskKind::Tool)));
    let mut orders: Vec<TaskId> = Vec::new();
    for (at, draft) in drafts.iter().enumerate() {
        let Some((parent, above)) = parents.get(at).and_then(Option::as_ref).and_then(|parent| Some((parent, find(parent)?))) else {
            continue;
        };
        if draft.inside.is_none() && is_work(above) && (comes_after(at, above) || comes_after(above, at)) && !orders.contains(parent) {
            notes.add(message!("repair-order", task = parent));
            orders.push(parent.clone());
        }
    }
    for (parent, draft) in parents.iter_mut().zip(drafts) {
        parent.take_if(|parent| draft.inside.is_none() && orders.contains(parent));
    }
}

fn spec_of(draft: Draft, id: TaskId, is_parent: bool, names: &Names, notes: &mut Notes, faults: &mut Vec<PlanFault>) -> TaskSpec {
    let mut spec = TaskSpec::actor(id, draft.description);
    spec.name = draft.name;
    spec.completion_criteria = draft.criteria;
    spec.profile = draft.profile;
    spec.bundles = draft.bundles;
    spec.denied_tools = draft.denied_tools;
    spec.skills = draft.skills;
    spec.exclusive = draft.exclusive;
    spec.phase = draft.phase;
    spec.model = draft.model;
    spec.effort = draft.effort;
    spec.effort_seconds = draft.effort_seconds;
    let mut dependencies: Vec<TaskId> = Vec::new();
    for (at, mention) in draft.dependencies.iter().enumerate() {
        match names.resolve(mention, notes) {
            Some(other) if dependencies.contains(&other) => {}
            Some(other) => dependencies.push(other),
            None => faults.push(names.unknown(mention, format!("{}.dependencies[{at}]", draft.place))),
        }
    }
    spec.dependencies = dependencies;
    spec.kind = kind(draft.kind, draft.tool.is_some(), is_parent, &spec, notes);
    if spec.kind == TaskKind::Tool {
        spec.tool = draft.tool;
        let mut parameters = Value::Object(draft.parameters);
        names.rename_references(&mut parameters);
        spec.parameters = if let Value::Object(map) = parameters { map } else { Map::new() };
    } else if let Some(tool) = draft.tool {
        notes.add(message!("repair-not-tool", task = spec.id, tool));
    }
    names.rename_in_text(&mut spec.description);
    spec
}

/// Returns the written kind if it is possible, otherwise the kind that follows from the other members.
fn kind(written: Option<TaskKind>, has_tool: bool, is_parent: bool, spec: &TaskSpec, notes: &mut Notes) -> TaskKind {
    let id = &spec.id;
    match written {
        _ if is_parent => {
            if matches!(written, Some(TaskKind::Actor | TaskKind::Tool)) {
                notes.add(message!("repair-group", task = id));
            }
            TaskKind::Group
        }
        Some(TaskKind::Group) => {
            notes.add(message!("repair-empty-group", task = id));
            TaskKind::Actor
        }
        Some(TaskKind::Tool) if !has_tool && spec.title() != id.as_str() => {
            notes.add(message!("repair-no-tool", task = id));
            TaskKind::Actor
        }
        Some(kind) => kind,
        None if has_tool => TaskKind::Tool,
        None => TaskKind::Actor,
    }
}
