//! The JSON Schemas for a model's answers: small subsets of the public formats, suitable for constrained decoding.
//!
//! Arrays are bounded and names are enumerated. Optional members come last, because decoders write members in this
//! order. An answer in the public format that does not fit the subset is accepted too.

use serde_json::{Map, Value, json};

use crate::{ProfileBrief, ToolLine};

/// The names that a plan's tasks may use, and the maximum number of tasks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TaskShape<'a> {
    pub(crate) tools: &'a [ToolLine],
    pub(crate) profiles: &'a [ProfileBrief],
    pub(crate) tool_tasks: bool,
}

/// The tasks of a plan that a patch may name, by the possible operations.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Nameable {
    /// Tasks that have not run, or failed.
    pub(crate) waiting: Vec<String>,
    /// Running tasks.
    pub(crate) running: Vec<String>,
}

/// Maximum number of enumerated names, because servers limit the size of a schema.
const MAX_NAMES: usize = 100;

/// Returns the schema `aime_route`.
pub(crate) fn route() -> Value {
    json!({
        "type": "object",
        "properties": {
            "reason": {"type": "string"},
            "complexity": {"type": "string", "enum": ["simple", "complex"]},
        },
        "required": ["reason", "complexity"],
        "additionalProperties": false,
    })
}

/// Returns the schema `aime_plan` for a few consecutive tasks.
pub(crate) fn plan_simple(shape: TaskShape<'_>, max_tasks: usize) -> Value {
    let strategic = json!({
        "type": "object",
        "properties": {"approach": {"type": "string"}, "success_criteria": strings(4)},
        "required": ["approach", "success_criteria"],
        "additionalProperties": false,
    });
    plan(strategic, task(shape, false), 1, max_tasks)
}

/// Returns the schema `aime_plan` for sub-goals and actions, and for edges between them if requested.
pub(crate) fn plan_complex(shape: TaskShape<'_>, max_sub_goals: usize, max_actions: usize, edges: bool) -> Value {
    let strategic = json!({
        "type": "object",
        "properties": {
            "approach": {"type": "string"},
            "phases": {"type": "array", "maxItems": 4, "items": pair("name", "objective")},
            "risks": {"type": "array", "maxItems": 3, "items": pair("description", "mitigation")},
            "success_criteria": strings(5),
        },
        "required": ["approach", "phases", "risks", "success_criteria"],
        "additionalProperties": false,
    });
    let mut plan = plan(strategic, task(shape, true), 2, max_sub_goals.saturating_mul(max_actions.saturating_add(1)));
    if let Some(members) = plan.get_mut("properties").and_then(Value::as_object_mut).filter(|_| edges) {
        members.insert("edges".to_owned(), json!({"type": "array", "maxItems": 10, "items": edge(&["conditional", "rollback"])}));
    }
    plan
}

/// Returns the schema `aime_plan` for a simplified plan.
pub(crate) fn plan_simplified(max_tasks: usize) -> Value {
    json!({
        "type": "object",
        "properties": {"tasks": {"type": "array", "minItems": 1, "maxItems": max_tasks, "items": pair("id", "description")}},
        "required": ["tasks"],
        "additionalProperties": false,
    })
}

/// Returns the schema `aime_patch`. It allows changes of existing tasks only, and only those that their statuses allow.
/// Otherwise a small model invents names, even if the prompt forbids it.
pub(crate) fn patch(shape: TaskShape<'_>, nameable: &Nameable) -> Value {
    let text = || json!({"type": "string"});
    let task = || json!({"$ref": "#/$defs/task"});
    let change = json!({
        "type": "object",
        "properties": {
            "name": text(), "description": text(), "completion_criteria": strings(4), "dependencies": strings(10), "profile": text(),
            "tool": text(), "parameters": {"type": "object"},
        },
        "additionalProperties": false,
    });
    let edge = edge(&["dependency", "conditional", "rollback"]);
    let strategic = json!({
        "type": "object",
        "properties": {"approach": text(), "success_criteria": strings(5)},
        "required": ["approach"],
        "additionalProperties": false,
    });
    let Nameable { waiting, running } = nameable;
    let name = |kind: &str| json!({"$ref": format!("#/$defs/{kind}")});
    let names = |kind: &str, most: usize| json!({"type": "array", "maxItems": most, "items": name(kind)});
    let replaces = if waiting.is_empty() { strings(0) } else { names("waiting", 6) };
    let mut changes = vec![op("add_task", &[("task", task()), ("replaces", replaces)])];
    if !waiting.is_empty() {
        changes.extend([
            op("modify_task", &[("id", name("waiting")), ("change", change)]),
            op("remove_task", &[("id", name("waiting")), ("reason", text())]),
            op("block_task", &[("id", name("waiting")), ("reason", text())]),
            op("unblock_task", &[("id", name("waiting"))]),
        ]);
    }
    if waiting.len() > 1 {
        changes.push(op("merge_tasks", &[("ids", names("waiting", 6)), ("task", task())]));
    }
    if !running.is_empty() {
        changes.push(op("cancel_task", &[("id", name("running")), ("reason", text())]));
    }
    changes.extend([
        op("add_edge", &[("edge", edge)]),
        op("remove_edge", &[("from", text()), ("to", text())]),
        op("set_strategic", &[("strategic", strategic)]),
    ]);
    let mut shared = Map::from_iter([("task".to_owned(), self::task(shape, true))]);
    shared.extend(
        [("waiting", waiting), ("running", running)].into_iter().filter_map(|(kind, names)| Some((kind.to_owned(), one_of(names)?))),
    );
    json!({
        "type": "object",
        "properties": {
            "reasoning": text(),
            "changes": {"type": "array", "maxItems": 8, "items": {"anyOf": changes}},
        },
        "required": ["reasoning", "changes"],
        "additionalProperties": false,
        "$defs": shared,
    })
}

/// Returns the schema `aime_verdict`.
pub(crate) fn verdict() -> Value {
    json!({
        "type": "object",
        "properties": {
            "reason": {"type": "string"},
            "passed": {"type": "boolean"},
            "score": {"type": "number", "minimum": 0, "maximum": 1},
            "feedback": {"type": "string"},
            "suggestions": strings(3),
        },
        "required": ["reason", "passed", "score", "feedback", "suggestions"],
        "additionalProperties": false,
    })
}

fn plan(strategic: Value, task: Value, least: usize, most: usize) -> Value {
    json!({
        "type": "object",
        "properties": {
            "strategic": strategic,
            "tasks": {"type": "array", "minItems": least, "maxItems": most, "items": task},
        },
        "required": ["strategic", "tasks"],
        "additionalProperties": false,
    })
}

/// Returns the schema of an edge of one of these types.
fn edge(types: &[&str]) -> Value {
    let text = || json!({"type": "string"});
    json!({
        "type": "object",
        "properties": {"from": text(), "to": text(), "type": {"type": "string", "enum": types}, "condition": text()},
        "required": ["from", "to", "type"],
        "additionalProperties": false,
    })
}

fn task(shape: TaskShape<'_>, kinds: bool) -> Value {
    let text = json!({"type": "string"});
    let tools = shape.tool_tasks && !shape.tools.is_empty();
    let mut properties = Map::new();
    let mut required = vec!["id", "name"];
    let mut add = |name: &str, schema: Value| {
        properties.insert(name.to_owned(), schema);
    };
    add("id", text.clone());
    add("name", text.clone());
    if kinds {
        let kinds: &[&str] = if tools { &["actor", "group", "tool"] } else { &["actor", "group"] };
        add("kind", json!({"type": "string", "enum": kinds}));
        required.push("kind");
    }
    add("description", text.clone());
    add("dependencies", strings(10));
    required.extend(["description", "dependencies"]);
    if kinds {
        add("parent", text);
    }
    add("completion_criteria", strings(4));
    if shape.profiles.len() > 1 {
        let names: Vec<&str> = shape.profiles.iter().map(|profile| profile.name.as_str()).collect();
        add("profile", json!({"type": "string", "enum": names}));
    }
    if tools {
        let names: Vec<&str> = shape.tools.iter().map(|tool| tool.name.as_str()).collect();
        add("tool", json!({"type": "string", "enum": names}));
        add("parameters", json!({"type": "object"}));
    }
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

/// Returns the schema of a change. All its members are required, because small models leave out optional ones.
fn op(name: &str, members: &[(&str, Value)]) -> Value {
    let mut properties = Map::new();
    properties.insert("op".to_owned(), json!({"type": "string", "const": name}));
    for (member, schema) in members {
        properties.insert((*member).to_owned(), schema.clone());
    }
    let mut required = vec!["op"];
    required.extend(members.iter().map(|(member, _)| *member));
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

fn pair(first: &str, second: &str) -> Value {
    json!({
        "type": "object",
        "properties": {first: {"type": "string"}, second: {"type": "string"}},
        "required": [first, second],
        "additionalProperties": false,
    })
}

/// Returns the schema of one of these names; `None` if there are none.
fn one_of(names: &[String]) -> Option<Value> {
    match names.len() {
        0 => None,
        1..=MAX_NAMES => Some(json!({"type": "string", "enum": names})),
        _ => Some(json!({"type": "string"})),
    }
}

fn strings(most: usize) -> Value {
    json!({"type": "array", "maxItems": most, "items": {"type": "string"}})
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn schema(waiting: &[String], running: &[String]) -> Value {
        let shape = TaskShape { tools: &[], profiles: &[], tool_tasks: false };
        patch(shape, &Nameable { waiting: waiting.to_vec(), running: running.to_vec() })
    }

    #[test]
    fn a_patch_can_name_no_task_that_cannot_be_changed_so() {
        let always = "add_edge add_task remove_edge set_strategic";
        let table = [
            ("", "", always.to_owned()),
            ("a", "", format!("{always} block_task modify_task remove_task unblock_task")),
            ("a b", "", format!("{always} block_task modify_task remove_task unblock_task merge_tasks")),
            ("", "c", format!("{always} cancel_task")),
        ];
        for (waiting, running, expected) in table {
            let names = |names: &str| names.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            let (waiting, running) = (names(waiting), names(running));
            let schema = schema(&waiting, &running);
            let changes = schema["properties"]["changes"]["items"]["anyOf"].as_array().unwrap();
            let ops: BTreeSet<_> = changes.iter().map(|change| change["properties"]["op"]["const"].as_str().unwrap()).collect();
            assert_eq!(ops, expected.split_whitespace().collect(), "{waiting:?} {running:?}");
            let checker = aime_llm::SchemaChecker::new(&schema).unwrap();
            let fits = |change: Value| checker.fits(&json!({"reasoning": "", "changes": [change]}));
            for (id, may) in [("a", waiting.contains(&"a".to_owned())), ("c", false), ("invented", false)] {
                assert_eq!(fits(json!({"op": "remove_task", "id": id, "reason": ""})), may, "{id} of {waiting:?}");
                let task = json!({"id": "new", "name": "", "kind": "actor", "description": "", "dependencies": ["newer"]});
                assert_eq!(fits(json!({"op": "add_task", "task": task, "replaces": [id]})), may, "{id} of {waiting:?}");
            }
            assert_eq!(fits(json!({"op": "cancel_task", "id": "c", "reason": ""})), !running.is_empty());
        }
    }

    #[test]
    fn of_very_many_tasks_the_names_are_not_enumerated() {
        let many: Vec<String> = (0..=MAX_NAMES).map(|at| format!("t{at}")).collect();
        assert_eq!(schema(&many, &[])["$defs"]["waiting"], json!({"type": "string"}));
        assert_eq!(schema(&many[1..], &[])["$defs"]["waiting"]["enum"].as_array().unwrap().len(), MAX_NAMES);
    }
}
