//! Grammars that constrain an answer to a JSON schema or to calls of the offered tools.

use aime_llm::ToolDefinition;
use llguidance::api::TopLevelGrammar;
use llguidance::earley::SlicedBiasComputer;
use llguidance::{Matcher, ParserFactory};
use serde_json::{Map, Value, json};
use toktrie::{InferenceCapabilities, TokEnv};

use crate::template::CallStyle;

/// Largest number of calls in one answer.
const MAX_CALLS: usize = 4;

/// Creates matchers for one vocabulary.
pub(crate) struct Grammars {
    factory: ParserFactory,
}

impl Grammars {
    pub(crate) fn new(vocabulary: &TokEnv) -> Result<Self, String> {
        let abilities = InferenceCapabilities { ff_tokens: true, ..InferenceCapabilities::default() };
        let mut factory =
            ParserFactory::new(vocabulary, abilities, &SlicedBiasComputer::json_slices()).map_err(|error| error.to_string())?;
        factory.quiet();
        Ok(Self { factory })
    }

    fn matcher(&self, grammar: TopLevelGrammar) -> Result<Matcher, String> {
        let matcher = Matcher::new(self.factory.create_parser(grammar));
        matcher.get_error().map_or(Ok(matcher), Err)
    }

    /// Returns a matcher for an answer that fits the schema.
    pub(crate) fn answer(&self, schema: &Value) -> Result<Matcher, String> {
        self.matcher(TopLevelGrammar::from_json_schema(compact(schema.clone())))
    }

    /// Returns a matcher for an answer of one or more calls, and nothing else.
    pub(crate) fn calls(&self, tools: &[ToolDefinition], style: CallStyle) -> Result<Matcher, String> {
        let (before, after) = style.around();
        let (before, after) = (json!(before), json!(after));
        let call = compact(call_schema(tools));
        let more = format!("(\"\\n\" call){{0,{}}}", MAX_CALLS - 1);
        self.matcher(TopLevelGrammar::from_lark(format!("start: call {more}\ncall: {before} object {after}\nobject: %json {call}\n")))
    }

    /// Returns a matcher for the rest of an answer, from a call that the model began by itself. It permits the model's own spacing: a
    /// space, or a new line and an indentation.
    pub(crate) fn begun_call(&self, tools: &[ToolDefinition], style: CallStyle) -> Result<Matcher, String> {
        let (before, after) = style.around();
        let (before, after) = (json!(before), json!(after.trim_start()));
        let mut call = call_schema(tools);
        set_spacing(&mut call, json!({"whitespace_flexible": true, "whitespace_pattern": "( |\\n {0,6})?", "lenient": true}));
        let more = format!("(\"\\n\" {before} object SPACE {after}){{0,{}}}", MAX_CALLS - 1);
        self.matcher(TopLevelGrammar::from_lark(format!(
            "start: LEAD object SPACE {after} {more}\nLEAD: /[^{{}}]*/\nSPACE: /[ \\n]?/\nobject: %json {call}\n"
        )))
    }
}

/// Restricts the schema to JSON on one line, so that a small model cannot get lost in whitespace.
fn compact(mut schema: Value) -> Value {
    set_spacing(&mut schema, json!({"whitespace_flexible": false, "item_separator": ", ", "key_separator": ": ", "lenient": true}));
    schema
}

fn set_spacing(schema: &mut Value, spacing: Value) {
    match schema {
        Value::Object(object) => {
            object.insert("x-guidance".to_owned(), spacing);
        }
        _ => *schema = json!({"type": "object", "x-guidance": spacing}),
    }
}

/// Returns the schema of a call of one of the tools: an object with its name and arguments.
fn call_schema(tools: &[ToolDefinition]) -> Value {
    let mut definitions = Map::new();
    let calls: Vec<Value> = tools
        .iter()
        .enumerate()
        .map(|(number, tool)| {
            let mut arguments = Value::clone(&tool.parameters);
            // References start at the root of the parameters, which is no longer the root of the schema.
            let prefix = format!("tool{number}_");
            for holder in ["$defs", "definitions"] {
                if let Some(Value::Object(own)) = arguments.as_object_mut().and_then(|object| object.remove(holder)) {
                    for (name, mut definition) in own {
                        point_to(&mut definition, &prefix);
                        definitions.insert(format!("{prefix}{name}"), definition);
                    }
                }
            }
            point_to(&mut arguments, &prefix);
            if let Some(object) = arguments.as_object_mut() {
                object.remove("$schema");
                object.insert("type".to_owned(), json!("object"));
            } else {
                arguments = json!({"type": "object"});
            }
            json!({
                "type": "object",
                "properties": {"name": {"const": tool.name}, "arguments": arguments},
                "required": ["name", "arguments"],
                "additionalProperties": false,
            })
        })
        .collect();
    let mut schema = json!({"anyOf": calls});
    if !definitions.is_empty()
        && let Some(object) = schema.as_object_mut()
    {
        object.insert("$defs".to_owned(), Value::Object(definitions));
    }
    schema
}

fn point_to(schema: &mut Value, prefix: &str) {
    match schema {
        Value::Object(object) => {
            for (key, value) in object.iter_mut() {
                match value {
                    Value::String(target) if key == "$ref" => {
                        for holder in ["#/$defs/", "#/definitions/"] {
                            if let Some(name) = target.strip_prefix(holder) {
                                *target = format!("#/$defs/{prefix}{name}");
                                break;
                            }
                        }
                    }
                    other => point_to(other, prefix),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| point_to(item, prefix)),
        _ => {}
    }
}

#[cfg(test)]
mod tests;
