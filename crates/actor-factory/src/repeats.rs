//! Finds an actor that repeats itself: the same call, with the same arguments, that comes to the same result.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::text::hash;

/// So often, and the actor is told to try another way.
pub const STUCK_AFTER: u32 = 3;
/// So often, and it is asked for nothing but its conclusion.
pub const CONCLUDE_AFTER: u32 = 6;
/// So often, and its task fails.
pub const HOPELESS_AFTER: u32 = 20;

/// How often each call came to each result. Calls and results are compared, never messages: a result is not an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Repeats {
    counts: BTreeMap<u64, u32>,
}

impl Repeats {
    /// Counts one call and says how often it was seen by now.
    pub(crate) fn record(&mut self, name: &str, parameters: &Map<String, Value>, result: &str) -> u32 {
        let mut arguments = String::new();
        canonical(&Value::Object(parameters.clone()), &mut arguments);
        let count = self.counts.entry(hash(&[name, &arguments, result])).or_default();
        *count = count.saturating_add(1);
        *count
    }
}

/// JSON with sorted keys, so that the order in which a model writes them does not matter.
fn canonical(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| key.as_str());
            out.push('{');
            for (key, value) in entries {
                out.push_str(&Value::String(key.clone()).to_string());
                canonical(value, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for item in items {
                canonical(item, out);
                out.push(',');
            }
            out.push(']');
        }
        scalar => out.push_str(&scalar.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn map(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap()
    }

    #[test]
    fn only_the_same_call_with_the_same_result_counts() {
        let mut repeats = Repeats::default();
        let a = map(json!({"path": "a", "limit": 1}));
        let same = map(json!({"limit": 1, "path": "a"}));
        let b = map(json!({"path": "b", "limit": 1}));
        let steps = [
            ("read_file", &a, "x", 1),
            ("read_file", &same, "x", 2),
            ("read_file", &b, "x", 1),
            ("read_file", &a, "y", 1),
            ("grep", &a, "x", 1),
            ("read_file", &a, "x", 3),
        ];
        for (name, parameters, result, expected) in steps {
            assert_eq!(repeats.record(name, parameters, result), expected, "{name} {parameters:?} {result}");
        }
    }
}
