//! The JSON Schemas that a model is asked to fit: small subsets of the public formats, fit for constrained decoding.
//!
//! Arrays are bounded and names are enumerated. What is optional stands last, since decoders write members in this order.
//! An answer that fits the public format but not the subset is read all the same.

use serde_json::{Map, Value, json};

use crate::{ProfileBrief, ToolLine};

/// What a plan's tasks may name, and how many there may be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TaskShape<'a> {
    pub(crate) tools: &'a [ToolLine],
    pub(crate) profiles: &'a [ProfileBrief],
    pub(crate) tool_tasks: bool,
}

/// `aime_route`.
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

/// `aime_plan` for a few tasks in a row.
pub(crate) fn plan_simple(shape: TaskShape<'_>, max_tasks: usize) -> Value {
    let strategic = json!({
        "type": "object",
        "properties": {"approach": {"type": "string"}, "success_criteria": strings(4)},
        "required": ["approach", "success_criteria"],
        "additionalProperties": false,
    });
    plan(strategic, task(shape, false), 1, max_tasks)
}

/// `aime_plan` for sub-goals and actions.
pub(crate) fn plan_complex(shape: TaskShape<'_>, max_sub_goals: usize, max_actions: usize) -> Value {
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
    plan(strategic, task(shape, true), 2, max_sub_goals.saturating_mul(max_actions.saturating_add(1)))
}

/// `aime_plan` for the plainest plan.
pub(crate) fn plan_simplified(max_tasks: usize) -> Value {
    json!({
        "type": "object",
        "properties": {"tasks": {"type": "array", "minItems": 1, "maxItems": max_tasks, "items": pair("id", "description")}},
        "required": ["tasks"],
        "additionalProperties": false,
    })
}

/// `aime_patch`.
pub(crate) fn patch(shape: TaskShape<'_>) -> Value {
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
    let edge = json!({
        "type": "object",
        "properties": {
            "from": text(), "to": text(), "type": {"type": "string", "enum": ["dependency", "conditional", "rollback"]}, "condition": text(),
        },
        "required": ["from", "to", "type"],
        "additionalProperties": false,
    });
    let strategic = json!({
        "type": "object",
        "properties": {"approach": text(), "success_criteria": strings(5)},
        "required": ["approach"],
        "additionalProperties": false,
    });
    let changes = [
        op("add_task", &[("task", task()), ("replaces", strings(6))]),
        op("modify_task", &[("id", text()), ("change", change)]),
        op("remove_task", &[("id", text()), ("reason", text())]),
        op("merge_tasks", &[("ids", strings(6)), ("task", task())]),
        op("block_task", &[("id", text()), ("reason", text())]),
        op("unblock_task", &[("id", text())]),
        op("cancel_task", &[("id", text()), ("reason", text())]),
        op("add_edge", &[("edge", edge)]),
        op("remove_edge", &[("from", text()), ("to", text())]),
        op("set_strategic", &[("strategic", strategic)]),
    ];
    json!({
        "type": "object",
        "properties": {
            "reasoning": text(),
            "changes": {"type": "array", "maxItems": 8, "items": {"anyOf": changes}},
        },
        "required": ["reasoning", "changes"],
        "additionalProperties": false,
        "$defs": {"task": self::task(shape, true)},
    })
}

/// `aime_verdict`.
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

/// A change, all of whose members are required: what may be left out is left out by small models.
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

fn strings(most: usize) -> Value {
    json!({"type": "array", "maxItems": most, "items": {"type": "string"}})
}
