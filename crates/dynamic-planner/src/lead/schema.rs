//! The parameters of the plan tools, as JSON Schemas.
//!
//! They suit servers that support few schema rules: no references, no alternatives but one, no bounds. A change is one
//! object with all members of any operation. [`parse_command`](super::parse_command) checks the rules that the schemas
//! leave out.

use aime_progress_management::{PlanMode, ReasoningEffort, TaskKind};
use serde_json::{Map, Value, json};

use crate::PlanChecker;

/// Maximum number of enumerated names, because servers limit the size of a schema.
const MOST_NAMES: usize = 100;

const CRITERION: &str = "{command, expect?}, {file, contains?} or a sentence.";
const CONDITION: &str = "`@{steps.ID.result.PATH} OP literal` or `@{steps.ID.status} == completed`.";
const CHANGE: &str = "Members by `op`: add_task: task, replaces? (failed or waiting tasks whose place it takes); modify_task: id, change (the \
     members with new values); remove_task, cancel_task: id, reason; block_task: id, reason: holds back a task that waits; unblock_task: id: \
     lets it, or a failed one, run again; merge_tasks: ids, task; add_edge: edge; remove_edge: from, to; set_strategic: strategic. Tasks, \
     edges and strategic have the members of `submit_plan`.";

/// Returns the parameters of `submit_plan`: the plan document.
pub(super) fn submit_plan(names: &PlanChecker<'_>) -> Value {
    let mut members = vec![("strategic", strategic()), ("tasks", list(task(names))), ("edges", list(edge()))];
    if names.mode.is_none() {
        let modes = [PlanMode::Simple, PlanMode::Complex, PlanMode::Emergent];
        members.push(("mode", json!({"type": "string", "enum": modes})));
    }
    object(members, &["tasks"])
}

/// Returns the parameters of `change_plan`: the patch document, and the evidence that it handles.
///
/// Every run offers this tool before it has a plan, and a list of tools must not change in mid-conversation. So the
/// schema of a change names only the members that most changes take, without a description of each; other members of
/// tasks and the strategic part are as in `submit_plan`.
pub(super) fn change_plan() -> Value {
    let ops = [
        "add_task",
        "modify_task",
        "remove_task",
        "merge_tasks",
        "block_task",
        "unblock_task",
        "cancel_task",
        "add_edge",
        "remove_edge",
        "set_strategic",
    ];
    let part = |members: &[&'static str]| open(members.iter().map(|name| (*name, plain())).collect());
    let mut task = vec![("id", plain()), ("description", plain()), ("dependencies", texts())];
    let change = object(
        vec![
            ("op", json!({"type": "string", "enum": ops})),
            ("id", plain()),
            ("ids", texts()),
            ("task", open(task.clone())),
            ("replaces", texts()),
            ("change", open(task.split_off(1))),
            ("edge", part(&["from", "to", "type", "condition"])),
            ("from", plain()),
            ("to", plain()),
            ("strategic", part(&["approach"])),
            ("reason", plain()),
        ],
        &["op"],
    );
    object(
        vec![
            ("reasoning", plain()),
            ("changes", list(described(change, CHANGE))),
            ("handled", described(texts(), "Ids of the evidence and the words of people that you have dealt with.")),
        ],
        &["reasoning", "changes"],
    )
}

/// Returns the parameters of a tool that acts on one task: its id and these texts.
pub(super) fn of_task(texts: &[&'static str]) -> Value {
    let mut members = vec![("task", plain())];
    members.extend(texts.iter().map(|name| (*name, plain())));
    let required: Vec<&str> = members.iter().map(|(name, _)| *name).collect();
    object(members, &required)
}

/// Returns the parameters of `amend_criterion`.
pub(super) fn amend_criterion() -> Value {
    let members = vec![
        ("number", json!({"type": "integer"})),
        ("text", text("The new criterion; a command or a fact about a file as JSON.")),
        ("evidence", text("What shows that the old one is wrong.")),
    ];
    object(members, &["number", "text", "evidence"])
}

/// Returns the parameters of `read_result`.
pub(super) fn read_result() -> Value {
    let members = vec![
        ("task", plain()),
        ("offset", described(json!({"type": "integer"}), "In characters, from 0.")),
        ("limit", json!({"type": "integer"})),
    ];
    object(members, &["task"])
}

fn task(names: &PlanChecker<'_>) -> Value {
    let kinds = [TaskKind::Actor, TaskKind::Tool, TaskKind::Group];
    let mut members = vec![
        ("id", text("Short and new, of a-z, 0-9, - and _.")),
        ("name", plain()),
        (
            "kind",
            described(
                json!({"type": "string", "enum": kinds}),
                "actor, if left out: a worker does it. tool: one call of `tool`, without a model. group: holds tasks.",
            ),
        ),
        ("description", plain()),
        ("completion_criteria", list(criterion())),
        ("dependencies", texts()),
    ];
    let profiles: Vec<&str> = names.profiles.iter().map(|profile| profile.name.as_str()).collect();
    let bundles: Vec<&str> = names.bundles.iter().map(String::as_str).collect();
    let models: Vec<&str> = names.models.iter().map(String::as_str).collect();
    if !profiles.is_empty() {
        members.push(("profile", described(one_of(&profiles), "Chosen for you if left out.")));
    }
    if !bundles.is_empty() {
        members.push(("bundles", described(list(one_of(&bundles)), "Beside those of the profile.")));
    }
    if !models.is_empty() {
        members.push(("model", one_of(&models)));
    }
    members.push(("effort", json!({"type": "string", "enum": ReasoningEffort::ALL})));
    members.push(("effort_seconds", described(json!({"type": "integer"}), "An estimate.")));
    // The prompt lists the tools, because an enumeration of their names is long.
    if !names.tools.is_empty() {
        members.push(("tool", plain()));
        let words = "Of a tool task. `@{steps.ID.result}` stands for the result of task ID.";
        members.push(("parameters", described(json!({"type": "object"}), words)));
    }
    members.push(("exclusive", described(texts(), "Such as port:8080: tasks that name the same never run at once.")));
    members.push(("parent", text("A group.")));
    members.push(("phase", text("Ready tasks of earlier phases go first.")));
    object(members, &["id", "description"])
}

fn strategic() -> Value {
    let pair = |first: &'static str, second: &'static str| list(object(vec![(first, plain()), (second, plain())], &[first, second]));
    let members = vec![
        ("approach", plain()),
        ("phases", pair("name", "objective")),
        ("risks", pair("description", "mitigation")),
        ("success_criteria", list(criterion())),
    ];
    object(members, &[])
}

fn edge() -> Value {
    let members = vec![
        ("from", plain()),
        ("to", plain()),
        ("type", json!({"type": "string", "enum": ["dependency", "conditional", "rollback"]})),
        ("condition", text(CONDITION)),
    ];
    object(members, &["from", "to", "type"])
}

/// Returns the schema of a criterion: a text, a command or a fact about a file.
fn criterion() -> Value {
    let other = object(vec![("command", plain()), ("expect", plain()), ("file", plain()), ("contains", plain())], &[]);
    json!({"description": CRITERION, "anyOf": [plain(), other]})
}

fn object(members: Vec<(&'static str, Value)>, required: &[&str]) -> Value {
    let properties: Map<String, Value> = members.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect();
    let mut schema = Map::from_iter([("type".to_owned(), "object".into()), ("properties".to_owned(), properties.into())]);
    // Some servers refuse an empty list.
    if !required.is_empty() {
        schema.insert("required".to_owned(), required.into());
    }
    schema.insert("additionalProperties".to_owned(), false.into());
    schema.into()
}

/// Returns the schema of an object that may have other members, too.
fn open(members: Vec<(&'static str, Value)>) -> Value {
    let mut schema = object(members, &[]);
    if let Some(fields) = schema.as_object_mut() {
        fields.remove("additionalProperties");
    }
    schema
}

fn described(schema: Value, words: &str) -> Value {
    let mut schema = schema;
    if let Some(fields) = schema.as_object_mut() {
        fields.insert("description".to_owned(), words.into());
    }
    schema
}

fn text(words: &str) -> Value {
    described(plain(), words)
}

fn plain() -> Value {
    json!({"type": "string"})
}

fn texts() -> Value {
    list(plain())
}

fn list(items: Value) -> Value {
    json!({"type": "array", "items": items})
}

fn one_of(names: &[&str]) -> Value {
    if names.len() > MOST_NAMES { plain() } else { json!({"type": "string", "enum": names}) }
}
