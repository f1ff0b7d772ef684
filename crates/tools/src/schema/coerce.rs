//! Taking what a model plainly meant: `"5"` for 5, null for nothing, a list written as text.

use serde_json::{Map, Number, Value};

/// Changes parameters to the types that the schema asks for, where nothing is lost by it.
pub(super) fn coerce(schema: &Value, parameters: &mut Map<String, Value>) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return;
    };
    parameters.retain(|name, value| !value.is_null() || properties.get(name).is_none_or(|property| allows(property, "null")));
    for (name, value) in parameters.iter_mut() {
        if let Some(property) = properties.get(name)
            && let Some(meant) = meant(property, value)
        {
            *value = meant;
        }
    }
}

/// Whether a schema allows a type. One that names no type allows all.
fn allows(schema: &Value, kind: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(only)) => only == kind,
        Some(Value::Array(kinds)) => kinds.iter().any(|one| one == kind),
        _ => !["enum", "const", "anyOf", "oneOf", "allOf", "$ref"].iter().any(|keyword| schema.get(keyword).is_some()),
    }
}

fn meant(schema: &Value, value: &Value) -> Option<Value> {
    match value {
        Value::String(_) if allows(schema, "string") => None,
        Value::String(text) => {
            let parsed: Value = serde_json::from_str(text.trim().to_lowercase().as_str())
                .ok()
                .filter(|parsed: &Value| !parsed.is_array() && !parsed.is_object())
                .or_else(|| serde_json::from_str(text).ok())?;
            let kind = match &parsed {
                Value::Number(_) => "number",
                Value::Bool(_) => "boolean",
                Value::Array(_) => "array",
                Value::Object(_) => "object",
                Value::String(_) | Value::Null => return None,
            };
            if kind == "number" && allows(schema, "integer") {
                whole(&parsed).or(Some(parsed))
            } else {
                allows(schema, kind).then_some(parsed)
            }
        }
        Value::Number(_) if allows(schema, "integer") => whole(value),
        Value::Number(_) | Value::Bool(_) => {
            let kind = if value.is_number() { "number" } else { "boolean" };
            (allows(schema, "string") && !allows(schema, kind)).then(|| Value::String(value.to_string()))
        }
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// `5.0` as 5: the same number, but not the same type to a reader of integers.
fn whole(number: &Value) -> Option<Value> {
    /// Beyond this a 64-bit float no longer holds every integer.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let float = number.as_f64().filter(|float| number.is_f64() && float.fract() == 0.0 && float.abs() <= EXACT)?;
    // Within the bounds the text of a whole float is that of an integer.
    let integer: i64 = format!("{float:.0}").parse().ok()?;
    Some(Value::Number(Number::from(integer)))
}
