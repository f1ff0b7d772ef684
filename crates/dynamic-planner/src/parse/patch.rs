//! Parses plan patches.

use aime_messages::{Message, message};
use aime_progress_management::{Owner, PATCH_SCHEMA, Plan, PlanChange, PlanPatch, TaskChange, TaskId, TaskKind, TaskSpec};
use serde_json::{Map, Value};

use super::{
    coerce::{Members, Notes, effort, is_level, is_nothing, mentions, object, seconds, snake, text, texts, unread_level},
    criterion::{criteria, one_criterion},
    edge::{read_edge, read_ends, unknown_members},
    ids::{Names, normalise},
    omission_message, read_whole, spec_of, strategic,
    task::{kind_of, read_object},
    unread_effort, unwrap,
};
use crate::PlanFault;

/// A parsed patch.
#[derive(Debug, Clone, PartialEq)]
pub struct ParsedPatch {
    /// The patch. Every member has the right type; nothing else is checked.
    pub patch: PlanPatch,
    /// Descriptions of the repairs.
    pub repairs: Vec<Message>,
}

/// Parses a patch of a plan from a text. An empty list of changes is legal: the plan stays unchanged.
///
/// # Errors
///
/// Every fault that makes the patch unintelligible. The progress state checks if the patch fits a plan.
pub fn parse_patch(text: &str, plan: &Plan) -> Result<ParsedPatch, Vec<PlanFault>> {
    let (value, repairs) = read_whole(text)?;
    let mut parsed = patch_from_value(&value, plan)?;
    parsed.repairs.splice(0..0, repairs);
    Ok(parsed)
}

/// Parses a patch of a plan from JSON. A word such as `none` means no task, unless the plan or the patch has a task of that
/// id.
///
/// # Errors
///
/// Every fault that makes the patch unintelligible.
pub fn patch_from_value(value: &Value, plan: &Plan) -> Result<ParsedPatch, Vec<PlanFault>> {
    let mut notes = Notes::default();
    let mut faults = Vec::new();
    let mut patch = PlanPatch { schema: PATCH_SCHEMA.to_owned(), reasoning: String::new(), changes: Vec::new() };
    let list = match unwrap(value, &mut notes, 0) {
        Value::Array(list) => {
            notes.add(message!("repair-patch-list"));
            list.as_slice()
        }
        Value::Object(object) => {
            let mut members = Members::of(object);
            if let Some(schema) = members.take("schema", &["$schema"], &mut notes).and_then(text)
                && schema != PATCH_SCHEMA
                && schema.starts_with("aime.")
            {
                faults.push(
                    PlanFault::new("schema", message!("plan-schema", schema = format!("{schema:?}")))
                        .hint(message!("plan-patch-schema", schema = format!("{PATCH_SCHEMA:?}"))),
                );
            }
            patch.reasoning = members
                .take("reasoning", &["reason", "explanation", "rationale", "thought"], &mut notes)
                .and_then(text)
                .unwrap_or_default();
            let others = [
                "change",
                "operations",
                "ops",
                "patch",
                "actions",
                "modifications",
                "updates",
                "plan_changes",
                "tasks",
                "new_tasks",
                "steps",
            ];
            match members.take("changes", &others, &mut notes) {
                Some(Value::Array(list)) => list.as_slice(),
                Some(one @ Value::Object(_)) => std::slice::from_ref(one),
                Some(other) => {
                    faults.push(PlanFault::new("changes", message!("plan-list", kind = kind_of(other))));
                    &[]
                }
                None if object.keys().any(|key| is_operation(key)) => std::slice::from_ref(value),
                None if object.contains_key("changes") => &[],
                None => {
                    faults.push(PlanFault::new("changes", message!("plan-no-changes")).hint(message!("plan-keep", json = "[]")));
                    &[]
                }
            }
        }
        other => {
            faults.push(PlanFault::new("patch", message!("plan-object", kind = kind_of(other))));
            &[]
        }
    };
    let mut names = Names::of_plan(plan);
    let mut given = Vec::new();
    list.iter().flat_map(|item| item.as_object()).for_each(|change| given.extend(new_task_id(change)));
    given.iter().for_each(|id| names.reserve(id));
    for (at, id) in given.iter().enumerate() {
        names.give(Some(id), "", at + 1, &mut notes);
    }
    for (at, item) in list.iter().enumerate() {
        let place = format!("changes[{at}]");
        match item {
            Value::Object(change) => {
                let mut reader = Reader { place, names: &mut names, notes: &mut notes, faults: &mut faults };
                patch.changes.extend(reader.change(change));
            }
            Value::Null => {}
            other => faults.push(PlanFault::new(place, message!("plan-change", kind = kind_of(other)))),
        }
    }
    if faults.is_empty() { Ok(ParsedPatch { patch, repairs: notes.list }) } else { Err(faults) }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Op {
    Add,
    Modify,
    Remove,
    Merge,
    Block,
    Unblock,
    Cancel,
    AddEdge,
    RemoveEdge,
    Strategic,
    Amend,
    Keep,
}

const OPS: &str = "add_task, modify_task, remove_task, merge_tasks, block_task, unblock_task, cancel_task, add_edge, remove_edge, set_strategic, amend_criterion";
const OP_NAMES: &[&str] = &["op", "operation", "action", "type", "kind", "change_type"];

fn read_op(written: &str) -> Option<Op> {
    Some(match snake(written).trim_end_matches("_task").trim_end_matches("_tasks") {
        "add" | "create" | "insert" | "new" | "replace" | "split" => Op::Add,
        "modify" | "update" | "change" | "edit" | "revise" | "rewrite" => Op::Modify,
        "remove" | "delete" | "skip" | "drop" => Op::Remove,
        "merge" | "combine" | "join" => Op::Merge,
        "block" | "hold" | "pause" => Op::Block,
        "unblock" | "retry" | "resume" | "rerun" | "restart" => Op::Unblock,
        "cancel" | "stop" | "abort" => Op::Cancel,
        "add_edge" | "add_dependency" => Op::AddEdge,
        "remove_edge" | "remove_dependency" | "delete_edge" => Op::RemoveEdge,
        "set_strategic" | "set_strategy" | "update_strategic" | "update_strategy" => Op::Strategic,
        "amend" | "amend_criterion" | "amend_criteria" => Op::Amend,
        "keep" | "no_change" | "none" | "noop" | "continue" => Op::Keep,
        _ => return None,
    })
}

/// Returns true if a key is the full name of an operation, as in `{"add_task": {…}}`.
fn is_operation(key: &str) -> bool {
    let key = snake(key);
    (key.ends_with("_task") || key.ends_with("_tasks") || key.ends_with("_edge") || key == "op") && (key == "op" || read_op(&key).is_some())
}

/// Returns the written id of the task that a change adds.
fn new_task_id(change: &Map<String, Value>) -> Option<String> {
    let (op, body) = operation(change)?;
    let id = |object: &Map<String, Value>| ["id", "task_id", "step_id"].iter().find_map(|key| object.get(*key).and_then(text));
    match (op, body.get("task").or_else(|| body.get("new_task"))) {
        (Op::Add | Op::Merge, Some(Value::Object(task))) => id(task),
        (Op::Add, _) => id(body),
        _ => None,
    }
}

/// Returns the operation of a change and the object with its other members.
fn operation(change: &Map<String, Value>) -> Option<(Op, &Map<String, Value>)> {
    let named =
        OP_NAMES.iter().find_map(|key| change.iter().find(|(k, _)| snake(k) == *key)).and_then(|(_, value)| read_op(value.as_str()?));
    if let Some(op) = named {
        return Some((op, change));
    }
    change.iter().find_map(|(key, value)| match value {
        Value::Object(inner) if is_operation(key) => Some((read_op(key)?, inner)),
        _ => None,
    })
}

struct Reader<'a> {
    place: String,
    names: &'a mut Names,
    notes: &'a mut Notes,
    faults: &'a mut Vec<PlanFault>,
}

impl Reader<'_> {
    fn change(&mut self, change: &Map<String, Value>) -> Option<PlanChange> {
        let written = OP_NAMES.iter().find_map(|key| change.get(*key)).and_then(Value::as_str);
        let Some((op, body)) = operation(change) else {
            // A task without an operation can only be a new one.
            if written.is_none_or(|word| matches!(word, "actor" | "tool" | "group")) && change.contains_key("description") {
                self.notes.add(message!("repair-add-task"));
                return self.add(change);
            }
            let message = written.map_or_else(|| message!("plan-no-op"), |op| message!("plan-no-such-op", op = format!("{op:?}")));
            self.faults.push(PlanFault::new(format!("{}.op", self.place), message).hint(message!("plan-there-are", names = OPS)));
            return None;
        };
        let mut members = Members::of(body);
        let reason = |members: &mut Members<'_>, notes: &mut Notes| {
            members.take("reason", &["reasoning", "why"], notes).and_then(text).unwrap_or_default()
        };
        match op {
            Op::Keep => {
                self.notes.add(message!("repair-keeps"));
                None
            }
            Op::Add => self.add(body),
            Op::Merge => {
                let ids = self.ids(&mut members, "ids", &["task_ids", "tasks", "merge", "sources"]);
                let Some(Value::Object(task)) = members.take("task", &["new_task", "into", "merged", "merged_task", "result"], self.notes)
                else {
                    self.fault("task", message!("plan-no-successor"));
                    return None;
                };
                Some(PlanChange::MergeTasks { ids, task: Box::new(self.task(task)?) })
            }
            Op::Modify => self.modify(body),
            Op::Remove => Some(PlanChange::RemoveTask { id: self.id(&mut members)?, reason: reason(&mut members, self.notes) }),
            Op::Block => Some(PlanChange::BlockTask { id: self.id(&mut members)?, reason: reason(&mut members, self.notes) }),
            Op::Unblock => Some(PlanChange::UnblockTask { id: self.id(&mut members)? }),
            Op::Cancel => {
                Some(PlanChange::CancelTask { id: self.id(&mut members)?, reason: reason(&mut members, self.notes), by: Owner::Lead })
            }
            Op::Amend => self.amend(&mut members),
            Op::AddEdge => {
                let mut inner = match body.get("edge") {
                    Some(Value::Object(edge)) => Members::of(edge),
                    _ => {
                        let mut flat = Members::of(body);
                        // `type` may be the operation itself.
                        flat.take_where("type", OP_NAMES, &mut Notes::default(), |value| value.as_str().and_then(read_op).is_some());
                        flat
                    }
                };
                let edge = read_edge(&mut inner, &self.place, self.names, self.notes, self.faults)?;
                unknown_members(&inner, &self.place).iter().for_each(|fault| self.notes.add(omission_message(fault)));
                Some(PlanChange::AddEdge { edge })
            }
            Op::RemoveEdge => {
                let inner = if let Some(Value::Object(edge)) = body.get("edge") { edge } else { body };
                let (from, to) = read_ends(&mut Members::of(inner), &self.place, self.names, self.notes, self.faults)?;
                Some(PlanChange::RemoveEdge { from, to })
            }
            Op::Strategic => {
                let value =
                    members.take("strategic", &["strategy", "value"], self.notes).cloned().unwrap_or_else(|| Value::Object(body.clone()));
                Some(PlanChange::SetStrategic {
                    strategic: strategic::change_from_value(&value, &format!("{}.strategic", self.place), self.notes, self.faults),
                })
            }
        }
    }

    fn amend(&mut self, members: &mut Members<'_>) -> Option<PlanChange> {
        let task = members.take("task", &["id", "task_id"], self.notes).and_then(|value| mentions(value).into_iter().next());
        let task = task.filter(|mention| !self.names.means_nothing(mention));
        // Without its task the change would amend a criterion of the plan.
        let task = task.map(|mention| self.resolve(&mention, "task"));
        let number = members.take("number", &["n"], self.notes).and_then(text).and_then(|number| number.parse().ok());
        let place = format!("{}.criterion", self.place);
        let written = members.take("criterion", &["text", "to", "new"], self.notes);
        let criterion = written.and_then(|value| one_criterion(value, &place, self.notes, self.faults));
        let evidence = members.take("evidence", &["reason", "why"], self.notes).and_then(text).unwrap_or_default();
        if number.is_none() {
            self.fault("number", message!("plan-no-criterion"));
        }
        if written.is_none() {
            self.fault("criterion", message!("plan-no-new-criterion"));
        }
        let task = match task {
            Some(resolved) => Some(resolved?),
            None => None,
        };
        // No model amends in the name of a person.
        Some(PlanChange::AmendCriterion { task, number: number?, criterion: criterion?, evidence, by: Owner::Lead })
    }

    /// Returns the task that a mention refers to. Adds a fault if it could be no id.
    fn resolve(&mut self, mention: &str, member: &str) -> Option<TaskId> {
        let found = self.names.resolve(mention, self.notes);
        if found.is_none() {
            self.faults.push(self.names.unknown(mention, format!("{}.{member}", self.place)));
        }
        found
    }

    fn fault(&mut self, member: &str, message: Message) {
        self.faults.push(PlanFault::new(format!("{}.{member}", self.place), message));
    }

    fn id(&mut self, members: &mut Members<'_>) -> Option<TaskId> {
        let written = members
            .take("id", &["task_id", "task", "step_id", "target", "name"], self.notes)
            .and_then(|value| mentions(value).into_iter().next());
        match written {
            Some(mention) => self.resolve(&mention, "id"),
            None => {
                self.fault("id", message!("plan-edge"));
                None
            }
        }
    }

    fn ids(&mut self, members: &mut Members<'_>, name: &str, others: &[&str]) -> Vec<TaskId> {
        let written = members.take(name, others, self.notes);
        written.map(|written| self.resolved(written, name)).unwrap_or_default()
    }

    /// Returns the tasks that the value of a member mentions.
    fn resolved(&mut self, written: &Value, member: &str) -> Vec<TaskId> {
        let mut found = mentions(written);
        found.retain(|mention| !self.names.means_nothing(mention));
        found.iter().enumerate().filter_map(|(at, mention)| self.resolve(mention, &format!("{member}[{at}]"))).collect()
    }

    fn add(&mut self, body: &Map<String, Value>) -> Option<PlanChange> {
        let mut members = Members::of(body);
        let replaces = self.ids(&mut members, "replaces", &["replace", "instead_of", "replacing", "replaced"]);
        let nested = members.take_where("task", &["new_task", "step", "value"], self.notes, Value::is_object);
        let task = match nested {
            Some(Value::Object(task)) => {
                let inner = self.ids(&mut Members::of(task), "replaces", &["replace", "instead_of"]);
                let replaces = if replaces.is_empty() { inner } else { replaces };
                return Some(PlanChange::AddTask { task: Box::new(self.task(task)?), replaces });
            }
            _ => {
                self.notes.add(message!("repair-task-in-change"));
                let mut flat = body.clone();
                for key in OP_NAMES.iter().chain(&["replaces", "replace", "instead_of", "replacing", "replaced"]) {
                    let is_kind = *key == "kind" && flat.get(*key).and_then(Value::as_str).is_some_and(|word| read_op(word).is_none());
                    if !is_kind {
                        flat.remove(*key);
                    }
                }
                flat
            }
        };
        Some(PlanChange::AddTask { task: Box::new(self.task(&task)?), replaces })
    }

    fn task(&mut self, task: &Map<String, Value>) -> Option<TaskSpec> {
        let place = format!("{}.task", self.place);
        let mut members = Members::of(task);
        let (mut draft, children) = read_object(&mut members, &place, self.notes, self.faults);
        if children.is_some() {
            self.faults.push(PlanFault::new(&place, message!("plan-nested")).hint(message!("plan-nested-hint")));
            return None;
        }
        if let Some(written) = &draft.unread_effort {
            self.notes.add(omission_message(&unread_effort(&place, written)));
        }
        let written = draft.id.clone();
        let position = self.names.len() + 1;
        let id = match &written {
            Some(text) => self.names.give(Some(text), &draft.name, position, self.notes),
            None => {
                let stem = normalise(&draft.name).map(|id| id.as_str().to_lowercase());
                let stem = stem.unwrap_or_else(|| self.names.free(&format!("new-{position}")).to_string());
                self.names.give(Some(&stem), &draft.name, position, self.notes)
            }
        };
        draft.leave_out_nothing(self.names);
        let parent = draft.parent.clone();
        let is_group = draft.kind == Some(TaskKind::Group);
        let mut spec = spec_of(draft, id, is_group, self.names, self.notes, self.faults);
        spec.parent = parent.and_then(|mention| self.resolve(&mention, "task.parent")).filter(|parent| *parent != spec.id);
        if spec.kind != TaskKind::Tool && spec.description.is_empty() {
            if spec.name.is_empty() {
                self.faults.push(PlanFault::new(&place, message!("plan-nothing-to-do", task = spec.id)));
                return None;
            }
            spec.description.clone_from(&spec.name);
        }
        Some(spec)
    }

    fn modify(&mut self, body: &Map<String, Value>) -> Option<PlanChange> {
        let mut members = Members::of(body);
        let others = ["changes", "fields", "set", "updates", "with", "new_values", "modifications", "task", "new_task", "updated_task"];
        let ids = ["id", "task_id", "step_id"];
        // `task` may name the task, contain the changes, or both.
        let holds_changes =
            |value: &Value| value.as_object().is_some_and(|object| object.keys().any(|key| !ids.contains(&snake(key).as_str())));
        let nested = members.take_where("change", &others, self.notes, holds_changes).and_then(Value::as_object);
        let named_inside = nested.filter(|_| !body.keys().any(|key| ids.contains(&snake(key).as_str())));
        let id = match named_inside.and_then(|fields| Members::of(fields).take("id", &["task_id", "step_id"], self.notes)) {
            Some(inside) => text(inside).and_then(|mention| self.names.resolve(&mention, self.notes)),
            None => None,
        };
        let id = match id {
            Some(id) => id,
            None => self.id(&mut members)?,
        };
        let fields = nested.unwrap_or_else(|| {
            self.notes.add(message!("repair-members-in-change"));
            body
        });
        let mut fields = Members::of(fields);
        // `mode` is not a misspelt `model`.
        let model = if fields.has("model") { fields.take("model", &[], self.notes).and_then(text) } else { None };
        let model = model.filter(|model| !is_nothing(model));
        let level = fields.take_where("effort", &[], self.notes, is_level).cloned();
        if let Some(written) = level.as_ref().and_then(unread_level) {
            self.notes.add(omission_message(&unread_effort(&format!("{}.change", self.place), &written)));
        }
        let mut one = |name: &str, others: &[&str], notes: &mut Notes| fields.take(name, others, notes).cloned();
        let mut change = TaskChange {
            name: if nested.is_some() { one("name", &["title"], self.notes).as_ref().and_then(text) } else { None },
            description: one("description", &["desc", "instructions", "details"], self.notes).as_ref().and_then(text),
            completion_criteria: one("completion_criteria", &["criteria", "acceptance_criteria"], self.notes)
                .map(|value| criteria(&value, &format!("{}.change.completion_criteria", self.place), self.notes, self.faults)),
            tool: one("tool", &["tool_name"], self.notes).as_ref().and_then(text).filter(|tool| !is_nothing(tool)),
            profile: one("profile", &["actor", "agent"], self.notes).as_ref().and_then(text),
            model,
            effort: level.as_ref().and_then(effort),
            bundles: one("bundles", &["tool_bundles"], self.notes).as_ref().map(texts),
            denied_tools: one("denied_tools", &["exclude_tools"], self.notes).as_ref().map(texts),
            skills: one("skills", &["skill"], self.notes).as_ref().map(texts),
            exclusive: one("exclusive", &["exclusively", "locks"], self.notes).as_ref().map(texts),
            effort_seconds: one("effort_seconds", &["effort"], self.notes).as_ref().and_then(seconds),
            ..TaskChange::default()
        };
        if let Some(parameters) = one("parameters", &["tool_parameters", "params", "arguments", "args"], self.notes) {
            let mut parameters = Value::Object(object(&parameters).unwrap_or_default());
            self.names.rename_references(&mut parameters);
            if let Value::Object(parameters) = parameters {
                change.parameters = Some(parameters);
            }
        }
        if let Some(dependencies) = one("dependencies", &["depends_on", "deps", "requires"], self.notes) {
            change.dependencies = Some(self.resolved(&dependencies, "change.dependencies"));
        }
        if change == TaskChange::default() {
            self.fault("change", message!("plan-nothing-changed"));
            return None;
        }
        Some(PlanChange::ModifyTask { id, change: Box::new(change) })
    }
}
