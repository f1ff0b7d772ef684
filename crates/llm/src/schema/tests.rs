//! Faults in words, and schemas for model servers.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{SchemaChecker, check_schema, json_schema_of};

fn faults(schema: &Value, value: &Value) -> Vec<String> {
    check_schema(schema, value).err().unwrap_or_default().iter().map(ToString::to_string).collect()
}

fn plan() -> Value {
    json!({
        "type": "object",
        "properties": {
            "goal": {"type": "string", "minLength": 1},
            "tasks": {
                "type": "array",
                "minItems": 1,
                "items": {
                    "type": "object",
                    "properties": {
                        "id": {"type": "string", "pattern": "^[a-z]+$"},
                        "kind": {"enum": ["tool", "actor"]},
                        "effort": {"type": ["integer", "null"], "minimum": 0}
                    },
                    "required": ["id"],
                    "additionalProperties": false
                }
            }
        },
        "required": ["goal", "tasks"]
    })
}

#[test]
fn all_faults_at_once_with_their_places() {
    let value = json!({"goal": "", "tasks": [{"id": "a"}, {"kind": "robot", "effort": -1}, {"id": 3, "colour": "red"}, {"id": "B", "effort": "x"}]});
    assert_eq!(
        faults(&plan(), &value),
        [
            "goal is \"\", must have at least 1 characters",
            "tasks[1].kind is \"robot\", must be one of \"tool\", \"actor\"",
            "tasks[1].effort is -1, must be at least 0",
            "tasks[1] lacks \"id\"",
            "tasks[2].id is 3, must be a string",
            "tasks[2] has members that are not allowed: \"colour\"",
            "tasks[3].id is \"B\", must match \"^[a-z]+$\"",
            "tasks[3].effort is \"x\", must be an integer or null",
        ]
    );
    assert_eq!(faults(&plan(), &json!([])), ["the whole value is [], must be an object"]);
    assert_eq!(faults(&plan(), &json!({})), ["the whole value lacks \"goal\"", "the whole value lacks \"tasks\""]);
    assert_eq!(faults(&plan(), &json!({"goal": "g", "tasks": []})), ["tasks has 0 items, must have at least 1"]);
    assert_eq!(faults(&plan(), &json!({"goal": "g", "tasks": [{"id": "a"}]})), [""; 0]);
}

#[test]
fn alternatives_tell_the_faults_of_the_one_meant() {
    let schema = json!({
        "type": "array",
        "items": {"anyOf": [
            {"type": "object", "properties": {"op": {"const": "add"}, "task": {"type": "object"}}, "required": ["op", "task"]},
            {"type": "object", "properties": {"op": {"const": "remove"}, "id": {"type": "string"}}, "required": ["op", "id"]},
            {"type": "object", "properties": {"op": {"enum": ["block", "unblock"]}, "id": {"type": "string"}, "why": {"type": "string"}}, "required": ["op", "id", "why"]}
        ]}
    });
    let cases = [
        (json!([{"op": "add"}]), vec!["[0] lacks \"task\""]),
        (json!([{"op": "remove", "id": 3}]), vec!["[0].id is 3, must be a string"]),
        (json!([{"op": "delete", "id": "a"}]), vec!["[0].op is \"delete\", must be one of \"add\", \"remove\", \"block\", \"unblock\""]),
        (json!([{"id": "a"}]), vec!["[0] lacks \"op\""]),
        (json!(["add"]), vec!["[0] is \"add\", must be an object"]),
        (json!([{"op": "block", "id": "a"}]), vec!["[0] lacks \"why\""]),
    ];
    for (value, expected) in cases {
        assert_eq!(faults(&schema, &value), expected, "{value}");
    }
}

#[test]
fn optional_alternatives_speak_of_the_real_one() {
    let schema = json!({"type": "object", "properties": {
        "kind": {"anyOf": [{"enum": ["a", "b"]}, {"type": "null"}]},
        "size": {"oneOf": [{"type": "integer"}, {"type": "string"}]},
    }});
    assert_eq!(faults(&schema, &json!({"kind": "c"})), ["kind is \"c\", must be one of \"a\", \"b\""]);
    assert_eq!(faults(&schema, &json!({"size": []})), ["size is [], must be an integer or a string"]);
}

#[test]
fn long_values_are_cut_and_faults_are_bounded() {
    let schema = json!({"type": "array", "items": {"type": "integer"}});
    let value = json!(vec!["x".repeat(500); 400]);
    let found = check_schema(&schema, &value).unwrap_err();
    assert_eq!(found.len(), 50);
    assert!(found.iter().all(|fault| fault.message.to_string().chars().count() < 120));
}

#[test]
fn schemas_that_cannot_be_used_are_named() {
    assert!(SchemaChecker::new(&json!({"type": "nonsense"})).is_err());
    assert!(SchemaChecker::new(&json!({"$ref": "https://example.org/schema.json"})).is_err());
    assert!(faults(&json!({"type": 3}), &json!(1))[0].contains("cannot be checked"));
}

/// One task.
#[derive(Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is looked at")]
struct Task {
    /// Unique in the plan.
    id: String,
    /// Effort in seconds.
    effort_seconds: Option<u32>,
    #[serde(default)]
    title: String,
    kind: Kind,
    #[serde(default)]
    change: Option<Change>,
}

#[derive(Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Kind {
    /// Run by the runtime.
    Tool,
    /// Run by an actor.
    Actor,
}

#[derive(Deserialize, schemars::JsonSchema)]
#[serde(tag = "op", rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is looked at")]
enum Change {
    Add { id: String },
    Remove { id: String, why: Option<String> },
}

#[test]
fn a_schema_for_model_servers() {
    let schema = json_schema_of::<Vec<Task>>();
    insta::assert_json_snapshot!(schema);
    let text = schema.to_string();
    for noise in ["$schema", "$ref", "$defs", "oneOf", "\"format\""] {
        assert!(!text.contains(noise), "{noise} in {text}");
    }
    let good = json!([{"id": "a", "kind": "tool", "title": "T", "change": {"op": "add", "id": "x"}}]);
    assert_eq!(faults(&schema, &good), [""; 0]);
    assert_eq!(faults(&schema, &json!([{"id": "a", "kind": "tool", "x": 1}])), ["[0] has members that are not allowed: \"x\""]);
}
