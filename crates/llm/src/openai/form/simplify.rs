//! Schemas without the keywords that servers are known to refuse.

use serde_json::{Map, Value, json};

/// Refused at the top level (OpenAI, Anthropic): an object with properties is demanded there.
const AT_THE_TOP: [&str; 5] = ["anyOf", "oneOf", "allOf", "enum", "not"];
/// Refused anywhere by one server or another; they only narrow what a value may be, and arguments are checked before a call runs.
const ANYWHERE: [&str; 14] = [
    "$schema",
    "$id",
    "pattern",
    "format",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "uniqueItems",
    "patternProperties",
    "propertyNames",
    "if",
    "then",
    "else",
];
/// References are followed so deep; a schema that holds itself has no end.
const MAX_DEPTH: usize = 6;

/// Returns a schema that describes the same parameters with fewer words.
pub(in crate::openai) fn simplified(schema: &Value) -> Value {
    let mut simple = simplify(schema, schema, MAX_DEPTH);
    if let Some(top) = simple.as_object_mut() {
        AT_THE_TOP.iter().for_each(|name| drop(top.remove(*name)));
        top.remove("$defs");
        top.remove("definitions");
        top.insert("type".into(), json!("object"));
        top.entry("properties").or_insert_with(|| json!({}));
    }
    simple
}

/// Returns the schema with what it refers to in its place, and without keywords that only narrow what a value may be.
pub(in crate::openai) fn without_references(schema: &Value) -> Value {
    simplify(schema, schema, MAX_DEPTH)
}

fn simplify(schema: &Value, root: &Value, depth: usize) -> Value {
    let Some(fields) = schema.as_object() else { return schema.clone() };
    if let Some(place) = fields.get("$ref").and_then(Value::as_str) {
        let target = place.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
        return match (target, depth.checked_sub(1)) {
            (Some(target), Some(depth)) => simplify(target, root, depth),
            _ => json!({"type": "object"}),
        };
    }
    let mut simple = Map::new();
    for (name, value) in fields {
        match (name.as_str(), value) {
            (name, _) if ANYWHERE.contains(&name) => {}
            ("properties", Value::Object(properties)) => {
                let properties = properties.iter().map(|(name, schema)| (name.clone(), simplify(schema, root, depth)));
                simple.insert(name.clone(), Value::Object(properties.collect()));
            }
            ("anyOf" | "oneOf" | "allOf", Value::Array(choices)) => {
                simple.insert(name.clone(), choices.iter().map(|choice| simplify(choice, root, depth)).collect());
            }
            ("items" | "additionalProperties", Value::Object(_)) => drop(simple.insert(name.clone(), simplify(value, root, depth))),
            _ => drop(simple.insert(name.clone(), value.clone())),
        }
    }
    Value::Object(simple)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_keywords_go_and_properties_stay() {
        let schema = json!({
            "$schema": "x", "anyOf": [{"required": ["a"]}], "required": ["pattern"],
            "properties": {
                "pattern": {"type": "string", "pattern": "^a", "maxLength": 9},
                "node": {"$ref": "#/$defs/node"},
                "list": {"type": "array", "minItems": 1, "items": {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]}},
            },
            "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}},
        });
        let simple = simplified(&schema);
        assert_eq!(simple["properties"]["pattern"], json!({"type": "string"}));
        assert_eq!(simple["properties"]["list"], json!({"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "null"}]}}));
        assert_eq!((simple["type"].as_str(), &simple["required"]), (Some("object"), &json!(["pattern"])));
        let text = simple.to_string();
        assert!(!["$ref", "$defs", "$schema", "\"anyOf\":[{\"required\""].iter().any(|word| text.contains(word)), "{text}");
        assert_eq!(simplified(&json!({})), json!({"type": "object", "properties": {}}));
    }
}
