//! OpenAI's requirements on the schema of a tool, the same in both of its protocols.

use serde_json::Value;

use super::{Refusal, RuleContext, openai_error};
use crate::view::{Protocol, View, list, text};

/// The parameters of a tool must be a plain object schema.
///
/// Words and form: <https://github.com/nspady/google-calendar-mcp/issues/39>; newer models also name `const`
/// (<https://github.com/goruck/home-generative-agent/pull/545>).
pub(super) fn plain_object(asked: &RuleContext<'_>) -> Option<Refusal> {
    each_tool(&asked.request, |name, function| {
        let schema = function.get("parameters")?;
        let combined = ["oneOf", "anyOf", "allOf", "enum", "not"].iter().any(|key| schema.get(key).is_some());
        (combined || text(schema, "type") != Some("object")).then(|| {
            format!(
                "Invalid schema for function '{name}': schema must have type 'object' and not have \
                 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level."
            )
        })
    })
}

/// The schema of a strict tool closes each object and requires each property.
///
/// Source: <https://developers.openai.com/api/docs/guides/function-calling#strict-mode>.
pub(super) fn strict(asked: &RuleContext<'_>) -> Option<Refusal> {
    each_tool(&asked.request, |name, function| {
        let fault = strict_fault(function.get("parameters")?, "").filter(|_| function.get("strict") == Some(&Value::Bool(true)))?;
        Some(format!("Invalid schema for function '{name}': {fault}"))
    })
}

/// Calls `fault` with the name and the function of each tool, and refuses the first one with a fault.
fn each_tool(request: &View<'_>, fault: impl Fn(&str, &Value) -> Option<String>) -> Option<Refusal> {
    request.tools().into_iter().enumerate().filter(|(_, tool)| text(tool, "type") == Some("function")).find_map(|(place, tool)| {
        let function = request.function(tool);
        let message = fault(text(function, "name").unwrap_or_default(), function)?;
        let param = match request.protocol {
            Protocol::Chat => format!("tools[{place}].function.parameters"),
            _ => format!("tools[{place}].parameters"),
        };
        Some(openai_error(400, message, Some(&param), Some("invalid_function_parameters")))
    })
}

fn strict_fault(schema: &Value, context: &str) -> Option<String> {
    let at = |inner: &str| if context.is_empty() { inner.to_owned() } else { format!("{context}, {inner}") };
    if text(schema, "type") == Some("object") {
        if schema.get("additionalProperties") != Some(&Value::Bool(false)) {
            return Some(format!("In context=({context}), 'additionalProperties' is required to be supplied and to be false."));
        }
        let required = list(schema.get("required"));
        for (name, inner) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            if !required.iter().any(|one| one.as_str() == Some(name)) {
                return Some(format!(
                    "In context=({context}), 'required' is required to be supplied and to be an array including every key in \
                     properties. Missing '{name}'."
                ));
            }
            if let Some(fault) = strict_fault(inner, &at(&format!("'properties', '{name}'"))) {
                return Some(fault);
            }
        }
    }
    let variants = list(schema.get("anyOf")).iter().enumerate();
    let mut variants = variants.filter_map(|(place, inner)| strict_fault(inner, &at(&format!("'anyOf', '{place}'"))));
    variants.next().or_else(|| schema.get("items").and_then(|inner| strict_fault(inner, &at("'items'"))))
}
