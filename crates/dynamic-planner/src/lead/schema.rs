//! The parameters of the plan tools, as JSON Schemas.
//!
//! They suit servers that support few schema rules: no references, no alternatives but one, no bounds. A change is one
//! object with all members of any operation. [`parse_command`](super::parse_command) checks the rules that the schemas
//! leave out.

use aime_progress::{PlanMode, ReasoningEffort, TaskKind};
use serde_json::{Map, Value, json};

use crate::PlanChecker;

/// Maximum number of enumerated names, because servers limit the size of a schema.
const MOST_NAMES: usize = 100;

const CRITERION: &str = "Best a command that shows it: {command, expect?}; else a fact about a file: {file, contains?}; else a sentence.";
const CONDITION: &str = "Of a conditional edge: `@{steps.ID.result.PATH} OP literal` or `@{steps.ID.status} == completed`.";
const CHANGE: &str = "One change. `op` says what it does and which members it takes: add_task: task, replaces?; modify_task: id, change; \
     remove_task, block_task, cancel_task: id, reason; unblock_task: id; merge_tasks: ids, task; add_edge: edge; remove_edge: from, to; \
     set_strategic: strategic. block_task holds back a task that waits; unblock_task lets it, or a failed one, run again.";

/// Returns the parameters of `submit_plan`: the plan document.
pub(super) fn submit_plan(names: &PlanChecker<'_>) -> Value {
    let mut members = vec![
        ("strategic", strategic()),
        ("tasks", described(list(task(names)), "The tasks. They run at the same time unless `dependencies` or `edges` order them.")),
        ("edges", described(list(edge()), "Only where a task hangs on how another one ends.")),
    ];
    if names.mode.is_none() {
        let modes = [PlanMode::Simple, PlanMode::Complex, PlanMode::Emergent];
        let words = "simple: a few steps in a row. complex: a graph of tasks. emergent: only the first one to three tasks; you are woken as they \
                     are done, and add the next.";
        members.push(("mode", described(json!({"type": "string", "enum": modes}), words)));
    }
    object(members, &["tasks"])
}

/// Returns the parameters of `change_plan`: the patch document, and the evidence that it handles.
pub(super) fn change_plan(names: &PlanChecker<'_>) -> Value {
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
    let change = object(
        vec![
            ("op", json!({"type": "string", "enum": ops})),
            ("id", text("The task that changes.")),
            ("task", task(names)),
            ("replaces", described(texts(), "Failed, blocked or waiting tasks whose place the new task takes.")),
            (
                "change",
                described(json!({"type": "object"}), "The members of the task with their new values, as in `task`; the others stay."),
            ),
            ("ids", described(texts(), "The tasks that are merged.")),
            ("edge", edge()),
            ("from", plain()),
            ("to", plain()),
            ("strategic", strategic()),
            ("reason", plain()),
        ],
        &["op"],
    );
    object(
        vec![
            ("reasoning", text("Why the plan changes.")),
            ("changes", list(described(change, CHANGE))),
            ("handled", described(texts(), "Ids of the evidence and the words of people that you have dealt with.")),
        ],
        &["reasoning", "changes"],
    )
}

/// Returns the parameters of a tool that acts on one task: its id and these texts.
pub(super) fn of_task(texts: &[(&'static str, &str)]) -> Value {
    let mut members = vec![("task", text("The id of the task."))];
    members.extend(texts.iter().map(|(name, words)| (*name, text(words))));
    let required: Vec<&str> = members.iter().map(|(name, _)| *name).collect();
    object(members, &required)
}

/// Returns the parameters of `amend_criterion`.
pub(super) fn amend_criterion() -> Value {
    let members = vec![
        ("number", described(json!({"type": "integer"}), "The number of the criterion, from 1.")),
        ("text", text("The criterion as it must read; a command or a fact about a file as JSON.")),
        ("evidence", text("What shows that the old one is wrong.")),
    ];
    object(members, &["number", "text", "evidence"])
}

/// Returns the parameters of `read_result`.
pub(super) fn read_result() -> Value {
    let members = vec![
        ("task", text("The id of the task.")),
        ("offset", described(json!({"type": "integer"}), "The first character to read, from 0.")),
        ("limit", described(json!({"type": "integer"}), "The most characters to read.")),
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
        (
            "description",
            text("All that the worker needs: it sees nothing of this conversation but this and the results of the task's dependencies."),
        ),
    ];
    members.extend([
        ("completion_criteria", list(criterion())),
        ("dependencies", described(texts(), "Ids of the tasks that must be done first. Their results are shown to the worker.")),
    ]);
    let profiles: Vec<&str> = names.profiles.iter().map(|profile| profile.name.as_str()).collect();
    let bundles: Vec<&str> = names.bundles.iter().map(String::as_str).collect();
    let models: Vec<&str> = names.models.iter().map(String::as_str).collect();
    let tools: Vec<&str> = names.tools.iter().map(|tool| tool.name.as_str()).collect();
    if !profiles.is_empty() {
        members.push(("profile", described(one_of(&profiles), "The kind of worker; chosen for you if left out.")));
    }
    if !bundles.is_empty() {
        members.push(("bundles", described(list(one_of(&bundles)), "Tools beside those of the profile.")));
    }
    if !models.is_empty() {
        members.push(("model", one_of(&models)));
    }
    members.push(("effort", described(json!({"type": "string", "enum": ReasoningEffort::ALL}), "How long the model thinks.")));
    members.push(("effort_seconds", described(json!({"type": "integer"}), "An estimate of the time that the task takes.")));
    if !tools.is_empty() {
        members.push(("tool", described(one_of(&tools), "Of a tool task.")));
        let words = "Of a tool task. `@{steps.ID.result}` stands for the result of task ID.";
        members.push(("parameters", described(json!({"type": "object"}), words)));
    }
    members.push(("exclusive", described(texts(), "Such as port:8080: tasks that name the same never run at once.")));
    members.push(("parent", text("The group that holds the task.")));
    members.push(("phase", text("The name of a phase; ready tasks of earlier phases go first.")));
    object(members, &["id", "description"])
}

fn strategic() -> Value {
    let pair = |first: &'static str, second: &'static str| list(object(vec![(first, plain()), (second, plain())], &[first, second]));
    let members = vec![
        ("approach", text("The way to the goal, in a sentence or two.")),
        ("phases", pair("name", "objective")),
        ("risks", pair("description", "mitigation")),
        ("success_criteria", list(criterion())),
    ];
    object(members, &[])
}

fn edge() -> Value {
    let types = "dependency: `to` waits for `from`. conditional: it is skipped unless `condition` holds. rollback: it runs only when `from` has failed for good.";
    let members = vec![
        ("from", plain()),
        ("to", plain()),
        ("type", described(json!({"type": "string", "enum": ["dependency", "conditional", "rollback"]}), types)),
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
