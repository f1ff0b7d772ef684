//! Gemini's generateContent: `parameters` and `responseSchema`, which support only a subset of OpenAPI's schemas.
//!
//! `parametersJsonSchema` and `responseJsonSchema` accept JSON Schema and are not checked
//! (<https://github.com/NousResearch/hermes-agent/pull/98928>).

use serde_json::Value;

use super::gemini_fields::Faults;
use super::gemini_native::invalid;
use super::{Refusal, RuleContext};
use crate::view::gemini::{generation, snake};
use crate::view::{list, text};

/// The members of a schema (<https://ai.google.dev/api/caching#Schema>).
const SCHEMA: &[&str] = &[
    "type",
    "format",
    "title",
    "description",
    "nullable",
    "enum",
    "items",
    "maxItems",
    "minItems",
    "properties",
    "required",
    "propertyOrdering",
    "minProperties",
    "maxProperties",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "pattern",
    "anyOf",
    "default",
    "example",
];

/// Adds the members that Google's schemas do not support: `$ref`, `additionalProperties`, `const`, `oneOf` and others.
///
/// Words: <https://github.com/openswarm-ai/openswarm/issues/24>, <https://github.com/ahmadrosid/nakama/issues/292>; a list of types:
/// <https://github.com/brightwave-inc/tidebreak/issues/1516>; an enumeration of numbers: <https://github.com/thClaws/thClaws/issues/172>.
pub(super) fn schema_faults(place: &str, schema: &Value, faults: &mut Faults) {
    for key in schema.as_object().into_iter().flat_map(|members| members.keys()) {
        if !SCHEMA.iter().any(|name| name == key || snake(name) == *key) {
            faults.unknown(place, key);
        }
    }
    if schema.get("type").is_some_and(Value::is_array) {
        faults.bad(place, "type", "Proto field is not repeating, cannot start list.");
    }
    for (index, value) in list(schema.get("enum")).iter().enumerate().filter(|(_, value)| !value.is_string()) {
        let at = format!("{place}.enum[{index}]");
        faults.add(&at, format!("Invalid value at '{at}' (TYPE_STRING), {value}"));
    }
    for (index, inner) in
        schema.get("properties").and_then(Value::as_object).into_iter().flat_map(|properties| properties.values()).enumerate()
    {
        schema_faults(&format!("{place}.properties[{index}].value"), inner, faults);
    }
    for (index, inner) in list(schema.get("anyOf")).iter().enumerate() {
        schema_faults(&format!("{place}.any_of[{index}]"), inner, faults);
    }
    if let Some(items) = schema.get("items") {
        schema_faults(&format!("{place}.items"), items, faults);
    }
}

/// Objects have properties. Words and form: <https://github.com/CherryHQ/cherry-studio/issues/3270>, and
/// <https://github.com/browser-use/browser-use/issues/3786> for inner objects.
pub(super) fn empty_objects(asked: &RuleContext<'_>) -> Option<Refusal> {
    let functions = asked.request.tools();
    let parameters = |(place, function): (usize, &&Value)| {
        empty_object(&format!("tools[0].function_declarations[{place}].parameters"), function.get("parameters")?)
    };
    let answer = || empty_object("generation_config.response_schema", generation(asked.request.body, "responseSchema")?);
    functions.iter().enumerate().find_map(parameters).or_else(answer)
}

fn empty_object(place: &str, schema: &Value) -> Option<Refusal> {
    let is_object = text(schema, "type").is_some_and(|kind| kind.eq_ignore_ascii_case("object"));
    let properties = schema.get("properties").and_then(Value::as_object);
    if is_object && properties.is_none_or(|properties| properties.is_empty()) {
        return Some(invalid(&format!("{place}.properties: should be non-empty for OBJECT type")));
    }
    let named = properties.into_iter().flatten().find_map(|(name, inner)| empty_object(&format!("{place}.properties[\"{name}\"]"), inner));
    named.or_else(|| schema.get("items").and_then(|items| empty_object(&format!("{place}.items"), items)))
}
