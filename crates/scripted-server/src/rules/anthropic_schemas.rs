//! Anthropic's Messages: schemas that an answer or the arguments of a strict tool must follow.
//!
//! Limits: <https://platform.claude.com/docs/en/build-with-claude/structured-outputs#json-schema-limitations>.

use serde_json::Value;

use super::anthropic::refuse;
use super::anthropic_tools::custom;
use super::{Refusal, RuleContext};
use crate::view::messages::format;
use crate::view::{list, text};

const STRICT_TOOLS: usize = 20;
const OPTIONAL: usize = 24;
const UNIONS: usize = 16;

/// Strict schemas are limited in number and complexity: objects are closed, no schema is recursive, and only few parameters are optional.
///
/// Words: <https://github.com/veryfront/veryfront-code/pull/3921> for closed objects, <https://github.com/elie222/inbox-zero/issues/2323>
/// for optional parameters, <https://github.com/mozilla/bugbug/pull/6129> for unions. The limits apply to the total of all strict schemas
/// of a request (<https://github.com/alphaXiv/agents/pull/51>).
pub(super) fn strict(asked: &RuleContext<'_>) -> Option<Refusal> {
    let strict_tools: Vec<(usize, &Value)> = custom(asked).filter(|(_, tool)| tool.get("strict") == Some(&Value::Bool(true))).collect();
    let number = strict_tools.len();
    if number > STRICT_TOOLS {
        return Some(refuse(format!(
            "Too many strict tools ({number}). The maximum number of strict tools supported is {STRICT_TOOLS}. Try reducing the number of \
             tools marked as strict."
        )));
    }
    let of_tools = strict_tools.iter().filter_map(|(place, tool)| Some((format!("tools.{place}.custom"), tool.get("input_schema")?)));
    let of_answer = format(asked.request.body).and_then(|format| format.get("schema"));
    let schemas: Vec<(String, &Value)> =
        of_tools.chain(of_answer.map(|schema| ("output_config.format.schema".to_owned(), schema))).collect();
    if let Some(message) = schemas.iter().find_map(|(place, schema)| Some(format!("{place}: {}", fault(schema).or_else(|| cycle(schema))?)))
    {
        return Some(refuse(message));
    }
    let count = |of: fn(&Value) -> usize| schemas.iter().map(|(_, schema)| total(schema, of)).sum::<usize>();
    let (optional, unions) = (count(optional), count(unions));
    if optional > OPTIONAL {
        return Some(refuse(format!(
            "Schemas contains too many optional parameters ({optional}), which would make grammar compilation inefficient. Reduce the \
             number of optional parameters in your tool schemas (limit: {OPTIONAL})."
        )));
    }
    (unions > UNIONS).then(|| {
        refuse(format!(
            "Schemas contains too many parameters with union types ({unions} parameters with type arrays or anyOf). This causes \
             exponential compilation cost. Reduce the number of nullable or union-typed parameters (limit: {UNIONS} parameters with \
             unions)."
        ))
    })
}

/// Returns the direct subschemas of a schema.
fn inner(schema: &Value) -> Vec<&Value> {
    let members = |key: &str| schema.get(key).and_then(Value::as_object).into_iter().flat_map(|members| members.values());
    let named = ["properties", "$defs", "definitions"].into_iter().flat_map(members);
    let listed = ["anyOf", "allOf", "oneOf", "prefixItems"].into_iter().flat_map(|key| list(schema.get(key)));
    named.chain(listed).chain(schema.get("items")).collect()
}

/// Returns the total of `of` over a schema and all its subschemas.
fn total(schema: &Value, of: fn(&Value) -> usize) -> usize {
    of(schema) + inner(schema).into_iter().map(|inner| total(inner, of)).sum::<usize>()
}

fn optional(schema: &Value) -> usize {
    let required = list(schema.get("required"));
    let names = schema.get("properties").and_then(Value::as_object).into_iter().flat_map(|properties| properties.keys());
    names.filter(|name| !required.iter().any(|one| one.as_str() == Some(name))).count()
}

fn unions(schema: &Value) -> usize {
    usize::from(schema.get("anyOf").is_some() || schema.get("type").is_some_and(Value::is_array))
}

/// Returns the first feature that a grammar cannot express.
///
/// Words: <https://github.com/veryfront/veryfront-code/pull/3921>. Restriction of `additionalProperties` to false:
/// <https://github.com/BerriAI/litellm/pull/35811>; `oneOf` and `minItems`: <https://github.com/ENTERPILOT/GoModel/pull/963>.
fn fault(schema: &Value) -> Option<String> {
    if schema.get("oneOf").is_some() {
        return Some("Schema type 'oneOf' is not supported".to_owned());
    }
    let kind = text(schema, "type").unwrap_or_default();
    if kind == "object" {
        match schema.get("additionalProperties") {
            Some(Value::Bool(false)) => {}
            None => return Some("For 'object' type, 'additionalProperties' must be explicitly set to false".to_owned()),
            Some(_) => {
                let message =
                    "For 'object' type, 'additionalProperties: true' is not supported. Please set 'additionalProperties' to false";
                return Some(message.to_owned());
            }
        }
    }
    let bounds: &[&str] = match kind {
        "integer" | "number" => &["exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum", "multipleOf"],
        "string" => &["maxLength", "minLength"],
        "array" => &["maxItems", "uniqueItems"],
        "object" => &["maxProperties", "minProperties"],
        _ => &[],
    };
    let given: Vec<&str> = bounds.iter().filter(|key| schema.get(**key).is_some()).copied().collect();
    match given.as_slice() {
        [] => {}
        [one] => return Some(format!("For '{kind}' type, property '{one}' is not supported")),
        several => return Some(format!("For '{kind}' type, properties {} are not supported", several.join(", "))),
    }
    if schema.get("minItems").and_then(Value::as_u64).is_some_and(|least| least > 1) {
        return Some("For 'array' type, 'minItems' values other than 0 or 1 are not supported".to_owned());
    }
    inner(schema).into_iter().find_map(fault)
}

/// Returns the path of references from a definition back to itself.
///
/// Source: <https://github.com/experientiallabs/experiential/pull/804>.
fn cycle(root: &Value) -> Option<String> {
    let tables = ["$defs", "definitions"].into_iter().filter_map(|key| root.get(key)?.as_object());
    let definitions: Vec<(&str, &Value)> = tables.flatten().map(|(name, schema)| (name.as_str(), schema)).collect();
    let whole = [("#", root)];
    let found = definitions.iter().chain(&whole).find_map(|(name, schema)| way_back(name, schema, &definitions, &mut vec![*name]))?;
    Some(format!("Circular reference detected in schema definitions: {found}"))
}

fn way_back<'a>(from: &str, schema: &'a Value, definitions: &[(&'a str, &'a Value)], way: &mut Vec<&'a str>) -> Option<String> {
    if let Some(target) = text(schema, "$ref").and_then(|target| target.rsplit('/').next()) {
        if target == from {
            return Some(format!("{} -> {target}", way.join(" -> ")));
        }
        let (name, next) = definitions.iter().find(|(name, _)| *name == target && !way.contains(name))?;
        way.push(name);
        let found = way_back(from, next, definitions, way);
        way.pop();
        return found;
    }
    // Definitions are reached only through references.
    let direct = inner(schema).into_iter().filter(|inner| !definitions.iter().any(|(_, definition)| std::ptr::eq(*definition, *inner)));
    direct.collect::<Vec<_>>().into_iter().find_map(|inner| way_back(from, inner, definitions, way))
}
