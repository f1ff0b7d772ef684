//! Choice of the JSON Schema dialect to compile by.

use jsonschema::{Draft, ValidationError, Validator};
use serde_json::Value;

/// Keywords with a value that is no schema, of the same meaning in draft 7 and draft 2020-12. `format` is not among them: only draft 7 checks
/// it.
const VALUES: [&str; 19] = [
    "type",
    "required",
    "enum",
    "const",
    "title",
    "description",
    "default",
    "examples",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "minItems",
    "maxItems",
    "uniqueItems",
];

/// Compiles a schema: of draft 2020-12, unless it names another one. References to other documents are refused, never fetched.
///
/// A schema is first validated against the schema of its dialect, which is compiled once in a process: that of draft 2020-12 takes five times as
/// long as that of draft 7. So a schema that means the same in both is compiled as draft 7.
///
/// # Errors
/// The schema is invalid or refers to something outside of it.
pub fn compile_schema(schema: &Value) -> Result<Validator, ValidationError<'static>> {
    if is_shared(schema) { jsonschema::options().with_draft(Draft::Draft7).build(schema) } else { jsonschema::validator_for(schema) }
}

/// Returns true if a schema means the same in draft 7 and draft 2020-12.
fn is_shared(schema: &Value) -> bool {
    let members = match schema {
        Value::Bool(_) => return true,
        Value::Object(members) => members,
        _ => return false,
    };
    members.iter().all(|(keyword, value)| match keyword.as_str() {
        "properties" => value.as_object().is_some_and(|parts| parts.values().all(is_shared)),
        "items" | "additionalProperties" | "not" => is_shared(value),
        "anyOf" | "oneOf" | "allOf" => value.as_array().is_some_and(|parts| parts.iter().all(is_shared)),
        word => VALUES.contains(&word),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Map, json};

    use super::*;

    #[test]
    fn schemas_of_both_drafts_are_recognised() {
        let cases = [
            (json!(true), true),
            (json!({"type": "object", "properties": {"a": {"items": {"type": "string", "minLength": 1}}}}), true),
            (json!({"anyOf": [{"const": 1}, {"not": {"enum": [2]}}], "additionalProperties": false}), true),
            (json!({"properties": {"format": {"type": "string"}}}), true),
            (json!({"format": "email"}), false),
            (json!({"$ref": "#/$defs/a", "$defs": {"a": true}}), false),
            (json!({"items": [true, false]}), false),
            (json!({"properties": {"a": {"prefixItems": [true]}}}), false),
            (json!({"oneOf": [{"unevaluatedProperties": false}]}), false),
            (json!(7), false),
        ];
        for (schema, expected) in cases {
            assert_eq!(is_shared(&schema), expected, "{schema}");
        }
    }

    /// Generates schemas of the shared keywords.
    fn schemas() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(json!(true)),
            Just(json!({"type": "string", "minLength": 1, "pattern": "^a"})),
            Just(json!({"type": ["integer", "null"], "minimum": 1, "exclusiveMaximum": 3})),
            Just(json!({"enum": [1, "a", null]})),
            Just(json!({"const": {"a": 1}})),
        ];
        leaf.prop_recursive(3, 12, 3, |inner| {
            prop_oneof![
                inner.clone().prop_map(|part| json!({"type": "array", "items": part, "minItems": 1, "uniqueItems": true})),
                (inner.clone(), inner.clone())
                    .prop_map(|(a, b)| json!({"properties": {"a": a}, "required": ["a"], "additionalProperties": b})),
                prop::collection::vec(inner.clone(), 1..3).prop_map(|parts| json!({"anyOf": parts})),
                prop::collection::vec(inner.clone(), 1..3).prop_map(|parts| json!({"oneOf": parts})),
                inner.prop_map(|part| json!({"not": part})),
            ]
        })
    }

    /// Generates values that come near to these schemas.
    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![Just(json!(null)), Just(json!("a")), Just(json!("")), Just(json!({"a": 1})), (0..4).prop_map(|n| json!(n))];
        leaf.prop_recursive(3, 12, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::btree_map("[ab]", inner, 0..3).prop_map(|members| Value::Object(Map::from_iter(members))),
            ]
        })
    }

    proptest! {
        #[test]
        fn both_drafts_give_the_same_verdict(schema in schemas(), value in values()) {
            prop_assert!(is_shared(&schema));
            let later = jsonschema::options().with_draft(Draft::Draft202012).build(&schema).unwrap();
            prop_assert_eq!(compile_schema(&schema).unwrap().is_valid(&value), later.is_valid(&value));
        }
    }
}
