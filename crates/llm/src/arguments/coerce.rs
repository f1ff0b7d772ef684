//! Evening out harmless differences of type between a value and its schema.

use serde_json::{Map, Number, Value};

use crate::json::strict;

/// The deepest nesting that is followed.
const DEPTH: usize = 32;

/// Changes `value` where its type differs from the type in the JSON Schema and no meaning is lost. Describes each
/// change in `repairs`.
///
/// - A string with a number or boolean becomes that number or boolean; a whole float becomes an integer.
/// - A number or boolean becomes a string.
/// - A JSON string with an array or object becomes that array or object.
/// - A single value becomes an array of one element.
/// - `null` for an optional property that does not allow it: the property is dropped.
///
/// Values whose type fits already are not changed. Alternatives (`anyOf`, `oneOf`) are followed only if all but one
/// are `null`.
pub fn coerce_to_schema(value: &mut Value, schema: &Value, repairs: &mut Vec<String>) {
    Coercion { root: schema, repairs }.value(value, schema, "", DEPTH);
}

struct Coercion<'s, 'r> {
    root: &'s Value,
    repairs: &'r mut Vec<String>,
}

impl<'s> Coercion<'s, '_> {
    fn value(&mut self, value: &mut Value, schema: &'s Value, place: &str, depth: usize) {
        let Some(depth) = depth.checked_sub(1) else { return };
        let schema = self.resolved(schema);
        let wanted = types(schema);
        if !wanted.is_empty()
            && !wanted.iter().any(|wanted| is_of(value, wanted))
            && let Some((changed, how)) = wanted.iter().find_map(|wanted| converted(value, wanted))
        {
            *value = changed;
            self.repairs.push(format!("{}: {how}", if place.is_empty() { "the whole" } else { place }));
        }
        match value {
            Value::Object(object) => self.object(object, schema, place, depth),
            Value::Array(items) => {
                if let Some(item_schema) = schema.get("items").filter(|schema| schema.is_object()) {
                    for (index, item) in items.iter_mut().enumerate() {
                        self.value(item, item_schema, &format!("{place}[{index}]"), depth);
                    }
                }
            }
            _ => {}
        }
    }

    fn object(&mut self, object: &mut Map<String, Value>, schema: &'s Value, place: &str, depth: usize) {
        let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
        let required: Vec<&str> =
            schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
        for (name, property) in properties {
            let Some(value) = object.get_mut(name) else { continue };
            let path = if place.is_empty() { name.clone() } else { format!("{place}.{name}") };
            if value.is_null() && !required.contains(&name.as_str()) && !allows_null(property) && !allows_null(self.resolved(property)) {
                object.shift_remove(name);
                self.repairs.push(format!("{path}: left out null"));
                continue;
            }
            self.value(value, property, &path, depth);
        }
    }

    /// Past a local reference, and past the `null` of an optional type.
    fn resolved(&self, schema: &'s Value) -> &'s Value {
        let mut schema = schema;
        for _ in 0..8 {
            let target = schema.get("$ref").and_then(Value::as_str).and_then(|path| self.root.pointer(path.strip_prefix('#')?));
            let only = ["anyOf", "oneOf", "allOf"].iter().find_map(|key| {
                let branches = schema.get(key)?.as_array()?;
                let mut real = branches.iter().filter(|branch| branch.get("type").and_then(Value::as_str) != Some("null"));
                let first = real.next()?;
                real.next().is_none().then_some(first)
            });
            match target.or(only) {
                Some(next) => schema = next,
                None => break,
            }
        }
        schema
    }
}

fn types(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn allows_null(schema: &Value) -> bool {
    let listed = |key: &str| schema.get(key).and_then(Value::as_array);
    if let Some(options) = listed("enum") {
        return options.contains(&Value::Null);
    }
    if let Some(branches) = listed("anyOf").or_else(|| listed("oneOf")) {
        return branches.iter().any(allows_null);
    }
    let types = types(schema);
    types.contains(&"null") || (types.is_empty() && schema.get("$ref").is_none() && schema.get("const").is_none())
}

fn is_of(value: &Value, wanted: &str) -> bool {
    match wanted {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => true,
    }
}

fn converted(value: &Value, wanted: &str) -> Option<(Value, String)> {
    match (wanted, value) {
        ("integer", Value::Number(number)) => Some((integer(number.as_f64()?)?, "read the float as an integer".to_owned())),
        ("integer", Value::String(text)) => {
            let text = text.trim();
            let number = match text.parse::<i64>() {
                Ok(number) => number.into(),
                Err(_) => integer(plain_float(text)?)?,
            };
            Some((number, "read the string as an integer".to_owned()))
        }
        ("number", Value::String(text)) => {
            let text = text.trim();
            let number = match text.parse::<i64>() {
                Ok(number) => number.into(),
                Err(_) => Number::from_f64(plain_float(text)?)?,
            };
            Some((Value::Number(number), "read the string as a number".to_owned()))
        }
        ("boolean", Value::String(text)) => {
            let truth = match text.trim().to_ascii_lowercase().as_str() {
                "true" => true,
                "false" => false,
                _ => return None,
            };
            Some((Value::Bool(truth), "read the string as a truth value".to_owned()))
        }
        ("string", Value::Number(_) | Value::Bool(_)) => Some((Value::String(value.to_string()), format!("wrote {value} as a string"))),
        ("array", Value::String(text)) => match strict(text.trim()) {
            Ok(array @ Value::Array(_)) => Some((array, "read the JSON inside the string".to_owned())),
            _ if text.trim().is_empty() => Some((Value::Array(Vec::new()), "read the empty string as an empty array".to_owned())),
            _ => Some((Value::Array(vec![value.clone()]), "made an array of the single value".to_owned())),
        },
        ("array", value) if !value.is_null() => Some((Value::Array(vec![value.clone()]), "made an array of the single value".to_owned())),
        ("object", Value::String(text)) => match strict(text.trim()) {
            Ok(object @ Value::Object(_)) => Some((object, "read the JSON inside the string".to_owned())),
            _ => None,
        },
        _ => None,
    }
}

/// Parses a float in plain notation; not `inf`, `nan` or hexadecimal.
fn plain_float(text: &str) -> Option<f64> {
    let plain = text.len() <= 40 && text.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | 'e' | 'E'));
    plain.then(|| text.parse::<f64>().ok()).flatten().filter(|number| number.is_finite())
}

/// Returns a whole float as an integer, as far as floats are exact.
fn integer(number: f64) -> Option<Value> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() != 0.0 || number.abs() > EXACT {
        return None;
    }
    format!("{number:.0}").parse::<i64>().ok().map(Value::from)
}
