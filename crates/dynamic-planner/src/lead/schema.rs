//! The parameters of the plan tools, as JSON Schemas.
//!
//! They suit servers that support few schema rules: no references, no alternatives but one, no bounds. Every request of
//! a run carries them, also of one that never plans. So they describe only members that their names do not explain, in a few words: the
//! [guide](crate::Prompts::plan_guide) explains them and lists the names that they may hold, and
//! [`parse_command`](super::parse_command) checks the rules that the schemas leave out.

use aime_progress_management::{PlanMode, TaskKind};
use serde_json::{Map, Value, json};

use crate::PlanChecker;

/// Returns the parameters of `submit_plan`: the plan document.
pub(super) fn submit_plan(names: &PlanChecker<'_>) -> Value {
    let mut members = vec![
        ("tasks", list(task(names))),
        ("edges", described(list(any()), "Conditions and rollbacks")),
        ("strategic", described(strategic(), "The plan as a whole")),
    ];
    if names.mode.is_none() {
        let modes = [PlanMode::Simple, PlanMode::Complex, PlanMode::Emergent];
        members.push(("mode", json!({"type": "string", "enum": modes, "description": "Row, graph, or first tasks only"})));
    }
    object(members, &[])
}

/// Returns the parameters of `change_plan`: the patch document, and the evidence that it handles. The first message
/// about a plan explains the members of each operation.
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
    let change = object(
        vec![
            ("op", json!({"type": "string", "enum": ops})),
            ("id", plain()),
            ("ids", texts()),
            ("task", any()),
            ("replaces", texts()),
            ("change", any()),
            ("edge", any()),
            ("from", plain()),
            ("to", plain()),
            ("strategic", any()),
            ("reason", plain()),
        ],
        &["op"],
    );
    let handled = described(texts(), "Ids of evidence and of people's words that you acted on");
    object(vec![("reasoning", plain()), ("changes", list(change)), ("handled", handled)], &["reasoning", "changes"])
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
    let members = vec![("number", json!({"type": "integer"})), ("text", plain()), ("evidence", plain())];
    object(members, &["number", "text", "evidence"])
}

/// Returns the parameters of `read_result`.
pub(super) fn read_result() -> Value {
    let members = vec![("task", plain()), ("offset", json!({"type": "integer"})), ("limit", json!({"type": "integer"}))];
    object(members, &["task"])
}

fn task(names: &PlanChecker<'_>) -> Value {
    let kinds = [TaskKind::Actor, TaskKind::Tool, TaskKind::Group];
    let mut members = vec![
        ("id", described(plain(), "Unique")),
        ("name", plain()),
        ("description", described(plain(), "All that the worker needs: it sees only this and the results of its dependencies")),
        ("dependencies", described(texts(), "Tasks whose results it needs; others run at once")),
        ("completion_criteria", described(criteria(), "Such as {\"command\": \"cargo test\"}, {\"file\": \"a.md\"}, or a sentence")),
        ("kind", json!({"type": "string", "enum": kinds})),
        ("profile", described(plain(), "Kind of worker")),
        ("bundles", described(texts(), "More tools")),
        ("denied_tools", described(texts(), "Tools that it lacks")),
        ("skills", texts()),
    ];
    if names.models.len() > 1 {
        members.push(("model", plain()));
    }
    members.extend([("effort", described(plain(), "none to max")), ("effort_seconds", json!({"type": "integer"}))]);
    if !names.tools.is_empty() {
        members.extend([("tool", plain()), ("parameters", any())]);
    }
    members.extend([
        ("exclusive", described(texts(), "Used by one task at a time")),
        ("parent", described(plain(), "Its group")),
        ("phase", plain()),
    ]);
    object(members, &["id"])
}

fn strategic() -> Value {
    // The guide explains its phases and risks.
    let members = vec![
        ("approach", plain()),
        ("success_criteria", described(criteria(), "They hold at the end")),
        ("confidence", described(json!({"type": "number"}), "0 to 1")),
    ];
    object(members, &[])
}

/// Returns the schema of criteria: each is a text, or an object for a command or a file.
fn criteria() -> Value {
    list(json!({"anyOf": [plain(), any()]}))
}

fn object(members: Vec<(&'static str, Value)>, required: &[&str]) -> Value {
    let properties: Map<String, Value> = members.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect();
    let mut schema = Map::from_iter([("type".to_owned(), "object".into()), ("properties".to_owned(), properties.into())]);
    // Some servers refuse an empty list.
    if !required.is_empty() {
        schema.insert("required".to_owned(), required.into());
    }
    schema.into()
}

fn described(schema: Value, words: &str) -> Value {
    let mut schema = schema;
    if let Some(fields) = schema.as_object_mut() {
        fields.insert("description".to_owned(), words.into());
    }
    schema
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

/// Returns the schema of an object whose members the guide explains.
fn any() -> Value {
    json!({"type": "object"})
}
