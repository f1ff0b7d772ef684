//! The JSON Schemas of the documents, made from their types.

use schemars::{JsonSchema, Schema, schema_for};
use serde_json::{Map, Value, json};

use crate::{EVENT_SCHEMA, PATCH_SCHEMA, PLAN_SCHEMA, PROGRESS_SCHEMA, Plan, PlanPatch, ProgressEvent, Snapshot};

/// Returns the JSON Schema of a plan document as people and models may write it: the `kind` of a task is optional.
#[must_use]
pub fn plan_schema() -> Value {
    with_open_kind(document::<Plan>(PLAN_SCHEMA))
}

/// Returns the JSON Schema of a plan patch as people and models may write it: the `kind` of a task is optional.
#[must_use]
pub fn patch_schema() -> Value {
    with_open_kind(document::<PlanPatch>(PATCH_SCHEMA))
}

/// Returns the JSON Schema of a progress snapshot.
#[must_use]
pub fn progress_schema() -> Value {
    document::<Snapshot>(PROGRESS_SCHEMA)
}

/// Returns the JSON Schema of an event document: the members of a [`ProgressEvent`], and `schema`, `run_id`, `seq`
/// (from 1, without gaps) and `time` (RFC 3339, UTC).
#[must_use]
pub fn event_schema() -> Value {
    let mut schema = schema_for!(ProgressEvent);
    let object = schema.ensure_object();
    object.insert("title".to_owned(), EVENT_SCHEMA.into());
    let common = json!({
        "schema": {"type": "string", "const": EVENT_SCHEMA},
        "run_id": {"type": "string", "description": "The run."},
        "seq": {"type": "integer", "minimum": 1, "description": "Counts the events of the run, without gaps."},
        "time": {"type": "string", "format": "date-time", "description": "When it happened, UTC."},
    });
    object.insert("properties".to_owned(), common);
    object.insert("required".to_owned(), json!(["schema", "run_id", "seq", "time", "type"]));
    object.insert("type".to_owned(), "object".into());
    schema.to_value()
}

/// Makes every task's kind optional: written documents contain it, and the parser infers a missing one.
fn with_open_kind(mut schema: Value) -> Value {
    if let Some(required) = schema.pointer_mut("/$defs/TaskSpec/required").and_then(Value::as_array_mut) {
        required.retain(|member| member != "kind");
    }
    if let Some(Value::Object(kind)) = schema.pointer_mut("/$defs/TaskSpec/properties/kind") {
        let description =
            "Who carries it out. Without it: `tool` where `tool` is given, `group` where others name it as `parent`, else `actor`.";
        kind.insert("description".to_owned(), description.into());
    }
    schema
}

fn document<T: JsonSchema>(name: &str) -> Value {
    let mut schema: Schema = schema_for!(T);
    let object = schema.ensure_object();
    object.insert("title".to_owned(), name.into());
    if let Some(member) = object.get_mut("properties").and_then(Value::as_object_mut).and_then(|all| all.get_mut("schema")) {
        let mut fixed = Map::new();
        fixed.insert("type".to_owned(), "string".into());
        fixed.insert("const".to_owned(), name.into());
        fixed.insert("description".to_owned(), format!("Always `{name}`.").into());
        *member = Value::Object(fixed);
    }
    schema.to_value()
}

#[cfg(test)]
mod tests;
