//! Detects an actor that repeats itself: the same call with the same arguments and the same result.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::text::hash;

/// Number of repetitions since the last change after which the actor is told to try another way.
pub(crate) const WARN_AFTER_REPEATS: u32 = 3;
/// Number of repetitions after which an actor with a small model is asked for its conclusion only.
pub(crate) const CONCLUDE_AFTER_REPEATS: u32 = 6;
/// Number of repetitions after which the task fails.
pub(crate) const ABORT_AFTER_REPEATS: u32 = 20;

/// Number of times that each call had each result since the last change. It compares calls and results, never messages: a result is not an
/// answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Repeats {
    counts: BTreeMap<u64, u32>,
    /// Hashes of the calls that changed something, whatever their result. A repeated one is not a new change, so that cycles of changes are
    /// found too.
    #[serde(default)]
    changes: BTreeSet<u64>,
}

impl Repeats {
    /// Counts one call and returns how often it has occurred. `changed` means that it may have changed something, after which earlier calls
    /// may legitimately be repeated.
    pub(crate) fn record(&mut self, name: &str, parameters: &Map<String, Value>, result: &str, changed: bool) -> u32 {
        let mut arguments = String::new();
        canonical(&Value::Object(parameters.clone()), &mut arguments);
        if changed && self.changes.insert(hash(&[name, &arguments])) {
            self.counts.clear();
        }
        let count = self.counts.entry(hash(&[name, &arguments, result])).or_default();
        *count = count.saturating_add(1);
        *count
    }
}

/// Writes JSON with sorted keys, so that the order in which a model writes them does not matter.
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

    // Requirement: 4.34
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
            assert_eq!(repeats.record(name, parameters, result, false), expected, "{name} {parameters:?} {result}");
        }
    }

    // Requirement: 4.34
    #[test]
    fn what_is_changed_for_the_first_time_begins_the_count_anew() {
        let mut repeats = Repeats::default();
        let (a, b) = (map(json!({"path": "a"})), map(json!({"path": "b"})));
        let steps = [
            ("bash", &a, "1 failed", 1),
            ("bash", &a, "1 failed", 2),
            ("edit_file", &a, "edited", 1),
            ("bash", &a, "1 failed", 1),
            ("bash", &a, "1 failed", 2),
            ("edit_file", &b, "edited", 1),
            ("bash", &a, "1 failed", 1),
            // The same changes again form a cycle.
            ("edit_file", &a, "edited", 1),
            ("bash", &a, "1 failed", 2),
            ("edit_file", &b, "edited", 2),
            ("edit_file", &a, "edited again", 1),
            ("bash", &a, "1 failed", 3),
        ];
        for (at, (name, parameters, result, expected)) in steps.into_iter().enumerate() {
            assert_eq!(repeats.record(name, parameters, result, true), expected, "{at}: {name} {parameters:?}");
        }
    }

    #[test]
    fn an_older_snapshot_is_read() {
        let old: Repeats = serde_json::from_value(json!({"counts": {"7": 2}})).unwrap();
        assert_eq!((old.counts[&7], old.changes.len()), (2, 0));
    }
}
