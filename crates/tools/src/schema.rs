//! JSON Schemas from Rust types, and checks of parameters against them.

mod check;

use std::sync::{Arc, OnceLock};

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Map, Value};

pub(crate) use check::Checker;

/// Compiled check of calls against the schema of one tool. Compiled at the first call, since a run uses only a few of its tools. Copies of
/// the tool's spec share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct SchemaCheck(Arc<OnceLock<(Arc<Value>, Checker)>>);

impl SchemaCheck {
    /// Returns the corrected parameters, or an error with every fault.
    pub(crate) fn check(&self, tool: &str, schema: &Arc<Value>, parameters: Map<String, Value>) -> Result<Map<String, Value>, String> {
        let (of, checker) = self.0.get_or_init(|| (Arc::clone(schema), Checker::new(tool, schema)));
        // A copy of the spec may have another schema.
        if Arc::ptr_eq(of, schema) { checker.check(parameters) } else { Checker::new(tool, schema).check(parameters) }
    }

    pub(crate) fn make_ready(&self, tool: &str, schema: &Arc<Value>) {
        self.0.get_or_init(|| (Arc::clone(schema), Checker::new(tool, schema)));
    }
}

/// Always equal: the check is derived from the schema.
impl PartialEq for SchemaCheck {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// Returns the JSON Schema of a tool's parameters: inlined, without parts that a model does not need.
pub(crate) fn schema_of<P: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<P>().to_value();
    tidy(&mut schema);
    if let Some(schema) = schema.as_object_mut() {
        // The tool's description already says this.
        schema.remove("description");
        schema.entry("properties").or_insert_with(|| Value::Object(Map::new()));
        // Reject unknown properties, so that a misspelt name is not mistaken for an omitted parameter.
        schema.entry("additionalProperties").or_insert(Value::Bool(false));
    }
    schema
}

/// Removes titles, number formats and null alternatives, and turns described constants into a plain `enum`.
fn tidy(schema: &mut Value) {
    let Some(object) = schema.as_object_mut() else {
        return;
    };
    for noise in ["title", "format"] {
        object.remove(noise);
    }
    if object.get("default").is_some_and(Value::is_null) {
        object.remove("default");
    }
    without_null(object);
    constants_to_enum(object);
    for (keyword, part) in object.iter_mut() {
        match (keyword.as_str(), part) {
            ("properties", Value::Object(properties)) => properties.values_mut().for_each(tidy),
            ("items", part) => tidy(part),
            ("anyOf" | "oneOf", Value::Array(parts)) => parts.iter_mut().for_each(tidy),
            _ => {}
        }
    }
}

/// Removes the null alternative of a parameter that may be omitted.
fn without_null(object: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|kind| kind != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            object.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(parts)) = object.get_mut("anyOf") {
        parts.retain(|part| part.get("type").is_none_or(|kind| kind != "null"));
        if let [Value::Object(only)] = parts.as_slice() {
            let only = only.clone();
            object.remove("anyOf");
            let description = object.remove("description");
            object.extend(only);
            object.extend(description.map(|description| ("description".to_owned(), description)));
        }
    }
}

/// Converts `oneOf` with described constants, as schemars writes a documented enum, to a plain `enum`.
fn constants_to_enum(object: &mut Map<String, Value>) {
    let Some(Value::Array(parts)) = object.get("oneOf") else {
        return;
    };
    let constants: Option<Vec<_>> = parts.iter().map(|part| part.get("const").filter(|constant| constant.is_string()).cloned()).collect();
    if let Some(constants) = constants {
        object.remove("oneOf");
        // The values already say what the description of the type says.
        object.remove("description");
        object.insert("type".to_owned(), "string".into());
        object.insert("enum".to_owned(), Value::Array(constants));
    }
}
