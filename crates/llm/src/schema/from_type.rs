//! A JSON Schema from a type, as model servers like it.

use schemars::{
    JsonSchema, Schema,
    generate::SchemaSettings,
    transform::{Transform, transform_subschemas},
};
use serde_json::Value;

/// Returns the JSON Schema of a type for model servers. Subschemas are inlined (except in recursive types), there is
/// no `$schema`, `title`, `format` or `default: null`, and alternatives are `anyOf`, which more servers understand
/// than `oneOf`.
///
/// `additionalProperties: false` is present if serde denies unknown fields.
///
/// ```
/// #[derive(schemars::JsonSchema, serde::Deserialize)]
/// #[serde(deny_unknown_fields)]
/// struct Verdict {
///     /// Whether it is good.
///     passed: bool,
/// }
/// let schema = aime_llm::json_schema_of::<Verdict>();
/// assert_eq!(schema["properties"]["passed"]["type"], "boolean");
/// assert_eq!(schema["additionalProperties"], false);
/// assert!(schema.get("title").is_none());
/// ```
#[must_use]
pub fn json_schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    settings.with_transform(Plain).into_generator().into_root_schema_for::<T>().to_value()
}

/// Takes away what only costs tokens or is refused by some server.
#[derive(Clone)]
struct Plain;

impl Transform for Plain {
    fn transform(&mut self, schema: &mut Schema) {
        for noise in ["$schema", "title", "format"] {
            schema.remove(noise);
        }
        if schema.get("default").is_some_and(Value::is_null) {
            schema.remove("default");
        }
        if schema.get("anyOf").is_none()
            && let Some(alternatives) = schema.remove("oneOf")
        {
            schema.insert("anyOf".to_owned(), alternatives);
        }
        transform_subschemas(self, schema);
    }
}
