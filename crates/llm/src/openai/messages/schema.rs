//! Schemas of answers in the part of JSON Schema that Anthropic holds its models to.
//!
//! Objects there name all their members. A value of any type is requested as JSON in a text, and parsed afterwards.
//!
//! Source: <https://platform.claude.com/docs/en/build-with-claude/structured-outputs#json-schema-limitations>.

use serde_json::{Map, Value, json};

use crate::SchemaChecker;
use crate::openai::form::without_references;

/// The member that holds the whole of an answer that is no object with named members.
const WHOLE: &str = "value";

static ANYTHING: Value = Value::Bool(true);

/// Returns the schema that is sent in place of the schema of an answer.
pub(super) fn sent(name: &str, schema: &Value) -> Value {
    let schema = without_references(schema);
    let mut sent = match Shape::of(&schema) {
        Shape::Object(_) => part(&schema),
        _ => json!({"type": "object", "properties": {WHOLE: part(&schema)}, "required": [WHOLE], "additionalProperties": false}),
    };
    if let Some(fields) = sent.as_object_mut() {
        let title = schema.get("title").cloned().unwrap_or_else(|| json!(name));
        fields.insert("title".into(), title);
    }
    sent
}

/// Returns the answer in the form of the original schema, if it differs from the answer in the form of the schema
/// that was sent.
pub(in crate::openai) fn read(schema: &Value, answer: &str) -> Option<String> {
    let schema = without_references(schema);
    let given: Value = serde_json::from_str(answer).ok()?;
    let mut value = match Shape::of(&schema) {
        Shape::Object(_) => given.clone(),
        _ => given.as_object().filter(|members| members.len() == 1)?.get(WHOLE)?.clone(),
    };
    unpack(&schema, &mut value);
    (value != given).then(|| value.to_string())
}

/// Form in which a value is requested.
enum Shape<'a> {
    /// An object with these members.
    Object(&'a Map<String, Value>),
    List(&'a Value),
    OneOf(&'a [Value]),
    /// A text, a number, a truth value or null.
    Plain,
    /// JSON in a text.
    Text,
}

impl<'a> Shape<'a> {
    fn of(schema: &'a Value) -> Self {
        let Some(fields) = schema.as_object() else { return Self::Text };
        let values =
            fields.get("enum").and_then(Value::as_array).map(Vec::as_slice).or_else(|| fields.get("const").map(std::slice::from_ref));
        if let Some(values) = values {
            return if values.iter().any(|value| value.is_object() || value.is_array()) { Self::Text } else { Self::Plain };
        }
        if ["allOf", "prefixItems"].iter().any(|name| fields.contains_key(*name)) {
            return Self::Text;
        }
        let properties = fields.get("properties").and_then(Value::as_object).filter(|properties| !properties.is_empty());
        let choices = ["anyOf", "oneOf"].iter().find_map(|name| fields.get(*name)?.as_array()).filter(|choices| !choices.is_empty());
        match (properties, choices) {
            (None, Some(choices)) => return Self::OneOf(choices),
            (Some(_), Some(choices)) if choices.iter().any(|choice| choice.get("properties").is_some()) => return Self::Text,
            _ => {}
        }
        let kinds = kinds(schema);
        let open = fields.get("additionalProperties").is_some_and(|value| value.is_object() || value == &json!(true));
        match properties {
            Some(properties) if !open && (kinds.is_empty() || kinds.contains(&"object")) && !kinds.contains(&"array") => {
                return Self::Object(properties);
            }
            Some(_) => return Self::Text,
            None if kinds.contains(&"object") => return Self::Text,
            None => {}
        }
        match (kinds.contains(&"array"), kinds.is_empty(), fields.get("items")) {
            (true, _, items) => Self::List(items.unwrap_or(&ANYTHING)),
            (false, true, Some(items)) => Self::List(items),
            (false, true, None) => Self::Text,
            (false, false, _) => Self::Plain,
        }
    }
}

fn kinds(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(kind)) => vec![kind],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// Returns a schema with only the keywords that the server accepts. The dropped keywords narrow the values, and the
/// caller checks the answer against them.
fn part(schema: &Value) -> Value {
    let kept = |names: &[&str]| -> Map<String, Value> {
        names.iter().filter_map(|name| Some(((*name).to_owned(), schema.get(*name)?.clone()))).collect()
    };
    let mut sent = kept(&["type", "description"]);
    match Shape::of(schema) {
        Shape::Plain => sent.extend(kept(&["enum", "const"])),
        Shape::OneOf(choices) => {
            sent.shift_remove("type");
            sent.insert("anyOf".into(), choices.iter().map(part).collect());
        }
        Shape::List(items) => {
            sent.entry("type").or_insert_with(|| json!("array"));
            sent.insert("items".into(), part(items));
        }
        Shape::Object(properties) => {
            sent.entry("type").or_insert_with(|| json!("object"));
            sent.insert("properties".into(), properties.iter().map(|(name, schema)| (name.clone(), part(schema))).collect());
            let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
            let known = required.filter(|name| name.as_str().is_some_and(|name| properties.contains_key(name)));
            sent.insert("required".into(), known.cloned().collect());
            sent.insert("additionalProperties".into(), json!(false));
        }
        Shape::Text => {
            let described = schema.get("description").and_then(Value::as_str).map(|words| format!("{words} ")).unwrap_or_default();
            let kind = if kinds(schema) == ["object"] { "a JSON object" } else { "JSON" };
            let fields = schema.as_object().into_iter().flatten();
            let shape = match fields.clone().any(|(name, _)| !matches!(name.as_str(), "type" | "description" | "title" | "properties")) {
                true => format!(", which fits this schema: {schema}"),
                false => String::new(),
            };
            return json!({"type": "string", "description": format!("{described}Write {kind} as a text{shape}")});
        }
    }
    Value::Object(sent)
}

/// Parses the JSON in texts that were requested as such.
fn unpack(schema: &Value, value: &mut Value) {
    match (Shape::of(schema), value) {
        (Shape::Text, value) => {
            let parsed = value.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
            let wanted = |parsed: &Value| {
                let kinds = kinds(schema);
                kinds.is_empty() || kinds.contains(&"string") || !parsed.is_string()
            };
            if let Some(parsed) = parsed.filter(wanted) {
                *value = parsed;
            }
        }
        (Shape::OneOf(choices), value) => {
            let fits = |choice: &&Value| SchemaChecker::new(&part(choice)).is_ok_and(|checker| checker.fits(value));
            if let Some(choice) = choices.iter().find(fits) {
                unpack(choice, value);
            }
        }
        (Shape::Object(properties), Value::Object(members)) => {
            for (name, value) in members {
                if let Some(schema) = properties.get(name) {
                    unpack(schema, value);
                }
            }
        }
        (Shape::List(items), Value::Array(list)) => list.iter_mut().for_each(|value| unpack(items, value)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(properties: Value) -> Value {
        json!({"type": "object", "properties": properties})
    }

    fn closed(properties: Value, required: Value) -> Value {
        json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
    }

    fn text(description: &str) -> Value {
        json!({"type": "string", "description": description})
    }

    #[test]
    fn schemas_are_sent_in_the_form_that_is_taken() {
        let json_object = text("Write a JSON object as a text");
        let cases = [
            (json!({"type": "string", "pattern": "^a", "maxLength": 9}), json!({"type": "string"})),
            (json!({"type": "number", "minimum": 0, "maximum": 1}), json!({"type": "number"})),
            (json!({"enum": ["a", null]}), json!({"enum": ["a", null]})),
            (json!({"type": "array", "maxItems": 4, "items": {"type": "integer"}}), json!({"type": "array", "items": {"type": "integer"}})),
            (json!({"type": "object"}), json_object.clone()),
            (json!({"type": "object", "description": "Parameters."}), text("Parameters. Write a JSON object as a text")),
            (json!({}), text("Write JSON as a text")),
            (json!({"oneOf": [{"type": "null"}, {"type": "object"}]}), json!({"anyOf": [{"type": "null"}, json_object]})),
            (
                json!({"type": "object", "additionalProperties": {"type": "integer"}}),
                text(
                    "Write a JSON object as a text, which fits this schema: \
                     {\"type\":\"object\",\"additionalProperties\":{\"type\":\"integer\"}}",
                ),
            ),
            (
                object(json!({"inner": object(json!({"a": {"type": "boolean"}}))})),
                closed(json!({"inner": closed(json!({"a": {"type": "boolean"}}), json!([]))}), json!([])),
            ),
            (
                json!({"type": "object", "properties": {"a": {"type": "null"}}, "required": ["a", "b"], "anyOf": [{"required": ["a"]}]}),
                closed(json!({"a": {"type": "null"}}), json!(["a"])),
            ),
        ];
        for (schema, expected) in cases {
            let whole = object(json!({"it": schema}));
            let sent = sent("answer", &whole);
            assert_eq!((&sent["properties"]["it"], &sent["title"]), (&expected, &json!("answer")), "{schema}");
        }
    }

    #[test]
    fn answers_are_read_back_as_the_schema_wants_them() {
        let step = |tool: &str| object(json!({"op": {"type": "string", "const": tool}, "parameters": {"type": "object"}}));
        let plan = object(json!({
            "tasks": {"type": "array", "items": {"anyOf": [object(json!({"op": {"const": "wait"}})), step("call")]}},
            "note": {"type": "string"}, "any": {},
        }));
        let cases = [
            (
                json!({"tasks": [{"op": "wait"}, {"op": "call", "parameters": "{\"path\": \"a\"}"}], "note": "{\"a\": 1}", "any": "[1]"}),
                json!({"tasks": [{"op": "wait"}, {"op": "call", "parameters": {"path": "a"}}], "note": "{\"a\": 1}", "any": [1]}),
            ),
            // A text that is not JSON is kept for the reader of the answer.
            (json!({"tasks": [{"op": "call", "parameters": "{path"}], "any": "a word"}), json!(null)),
        ];
        for (given, expected) in cases {
            let read = read(&plan, &given.to_string()).map(|read| serde_json::from_str(&read).unwrap());
            assert_eq!(read, Some(expected).filter(|expected| !expected.is_null()), "{given}");
        }
        assert_eq!(read(&plan, "{\"tasks\": ["), None, "a cut answer");
        for (schema, given, expected) in [
            (json!({"type": "array", "items": {"type": "integer"}}), json!({"value": [1]}), json!([1])),
            (json!(true), json!({"value": "{\"a\": 1}"}), json!({"a": 1})),
            (json!({"anyOf": [{"type": "string"}, {"type": "null"}]}), json!({"value": null}), json!(null)),
        ] {
            assert_eq!(sent("answer", &schema)["required"], json!(["value"]));
            assert_eq!(read(&schema, &given.to_string()), Some(expected.to_string()), "{schema}");
        }
    }

    #[test]
    fn a_schema_that_holds_itself_is_asked_for_as_text_at_its_end() {
        let node = json!({"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}});
        let schema = json!({"type": "object", "properties": {"first": {"$ref": "#/$defs/node"}}, "$defs": {"node": node}});
        let sent = sent("answer", &schema).to_string();
        assert!(!sent.contains("$ref") && !sent.contains("$defs") && sent.contains("Write a JSON object as a text"), "{sent}");
    }
}
