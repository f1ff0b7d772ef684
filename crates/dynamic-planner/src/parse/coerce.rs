//! Coerces values of the wrong type into the intended ones.

use aime_llm::read_json;
use aime_messages::{Message, message};
use aime_progress_management::ReasoningEffort;
use serde_json::{Map, Value};

/// Repairs made while parsing, each once.
#[derive(Debug, Default)]
pub(super) struct Notes {
    pub(super) list: Vec<Message>,
}

impl Notes {
    pub(super) fn add(&mut self, note: impl Into<Message>) {
        let note = note.into();
        if !self.list.contains(&note) {
            self.list.push(note);
        }
    }
}

/// Members of an object, under their own name or another one that models use.
pub(super) struct Members<'a> {
    object: &'a Map<String, Value>,
    used: Vec<&'a str>,
}

impl<'a> Members<'a> {
    pub(super) fn of(object: &'a Map<String, Value>) -> Self {
        Self { object, used: Vec::new() }
    }

    /// Takes the member `name`, or the first of its other names that is present and not null. A member is taken only
    /// once.
    pub(super) fn take(&mut self, name: &str, others: &[&str], notes: &mut Notes) -> Option<&'a Value> {
        self.take_where(name, others, notes, |_| true)
    }

    /// Does the same as [`Self::take`] for values that `fit`.
    pub(super) fn take_where(&mut self, name: &str, others: &[&str], notes: &mut Notes, fit: impl Fn(&Value) -> bool) -> Option<&'a Value> {
        for wanted in std::iter::once(&name).chain(others) {
            let Some((key, value)) = self.object.iter().find(|(key, _)| snake(key) == *wanted) else { continue };
            if self.used.contains(&key.as_str()) {
                continue;
            }
            if value.is_null() {
                self.used.push(key);
                continue;
            }
            if fit(value) {
                self.used.push(key);
                if key != name && !is_step_form(key) {
                    notes.add(message!("repair-key", key, name));
                }
                return Some(value);
            }
        }
        let is_meant = |(key, value): &(&String, &Value)| {
            !self.used.contains(&key.as_str()) && !value.is_null() && is_slip_of(&snake(key), name) && fit(value)
        };
        let (key, value) = self.object.iter().find(is_meant)?;
        self.used.push(key);
        notes.add(message!("repair-key", key, name));
        Some(value)
    }

    /// Returns true if there is a member of that name, tolerating typing errors.
    pub(super) fn has(&self, name: &str) -> bool {
        self.object.keys().any(|key| snake(key) == name)
    }

    /// Returns the keys that were not taken.
    pub(super) fn rest(&self) -> impl Iterator<Item = &'a str> {
        self.object.keys().map(String::as_str).filter(|key| !self.used.contains(key)).collect::<Vec<_>>().into_iter()
    }
}

/// Returns true if a key is a name with a typing error: a letter too few, too many, changed, or two transposed. A long
/// name may have two errors.
fn is_slip_of(key: &str, name: &str) -> bool {
    let most = match name.len() {
        0..5 => 0,
        5..10 => 1,
        _ => 2,
    };
    strsim::damerau_levenshtein(key, name) <= most
}

/// Returns true for the members of the step form, which is a format of its own and needs no repair.
fn is_step_form(key: &str) -> bool {
    matches!(key, "steps" | "step_id" | "tool_name" | "tool_parameters" | "plan_id" | "task_id")
}

/// Converts `dependsOn`, `Depends On`, `depends-on` to `depends_on`.
pub(super) fn snake(key: &str) -> String {
    let mut out = String::with_capacity(key.len());
    let mut lower_before = false;
    for c in key.trim().chars() {
        if c.is_ascii_uppercase() && lower_before {
            out.push('_');
        }
        lower_before = c.is_ascii_lowercase() || c.is_ascii_digit();
        out.push(if c == '-' || c == ' ' { '_' } else { c.to_ascii_lowercase() });
    }
    out
}

/// Returns a text, or a number or boolean as text.
pub(super) fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.trim().to_owned()),
        Value::Number(number) => Some(match number.as_f64() {
            Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 1e15 => format!("{float:.0}"),
            _ => number.to_string(),
        }),
        Value::Bool(truth) => Some(truth.to_string()),
        _ => None,
    }
}

/// Returns true for words that mean *nothing here*.
pub(super) fn is_nothing(text: &str) -> bool {
    matches!(text.trim().to_lowercase().as_str(), "" | "none" | "null" | "nil" | "n/a" | "na" | "-" | "—" | "[]" | "无" | "没有")
}

/// Returns the texts of a list, of a lone text, or of objects that contain a text.
pub(super) fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(object) => {
            let known = ["text", "criterion", "description", "name", "value", "id"];
            known.iter().find_map(|key| object.get(*key).and_then(text)).into_iter().collect()
        }
        other => text(other).filter(|text| !is_nothing(text)).into_iter().collect(),
    }
}

/// Parses mentions of tasks: a list, a lone mention, `a, b`, numbers, or objects with an id. They include words that mean
/// *nothing here*, because such a word may be the id of a task.
pub(super) fn mentions(value: &Value) -> Vec<String> {
    match value {
        Value::Array(items) => items.iter().flat_map(mentions).collect(),
        Value::Object(object) => {
            let known = ["id", "task_id", "step_id", "task", "step", "from", "name"];
            known.iter().find_map(|key| object.get(*key).and_then(text)).into_iter().collect()
        }
        Value::String(list) => list.split([',', ';', '，', '、']).map(str::trim).filter(|m| !m.is_empty()).map(str::to_owned).collect(),
        other => text(other).into_iter().collect(),
    }
}

/// Returns the value as an object, or the object that a string contains.
pub(super) fn object(value: &Value) -> Option<Map<String, Value>> {
    match value {
        Value::Object(object) => Some(object.clone()),
        Value::String(text) if is_nothing(text) => Some(Map::new()),
        Value::String(text) => match read_json(text).ok()?.value {
            Value::Object(object) => Some(object),
            _ => None,
        },
        Value::Array(items) if items.is_empty() => Some(Map::new()),
        _ => None,
    }
}

/// Parses a level of effort.
pub(super) fn effort(value: &Value) -> Option<ReasoningEffort> {
    let word: String = text(value)?.chars().filter(char::is_ascii_alphabetic).collect();
    ReasoningEffort::ALL.into_iter().find(|level| level.as_str().eq_ignore_ascii_case(&word))
}

/// Returns true if a value of `effort` is a level, or meant as one, and not an estimate of time such as `60` or `5
/// minutes`.
pub(super) fn is_level(value: &Value) -> bool {
    text(value).is_none_or(|text| !text.starts_with(|c: char| c.is_ascii_digit()))
}

/// Returns a value in the place of a level of effort that is no level.
pub(super) fn unread_level(value: &Value) -> Option<String> {
    let written = text(value).unwrap_or_else(|| value.to_string());
    (effort(value).is_none() && !is_nothing(&written)).then_some(written)
}

/// Parses seconds from a number or a text that begins with one, such as `5 minutes`.
pub(super) fn seconds(value: &Value) -> Option<u32> {
    let text = text(value)?;
    let digits: String = text.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
    let number: f64 = digits.parse().ok()?;
    let unit = text.get(digits.len()..).unwrap_or("").trim().to_lowercase();
    let factor = match unit.chars().next() {
        Some('m') => 60.0,
        Some('h') => 3600.0,
        _ => 1.0,
    };
    let seconds = (number * factor).round();
    if (0.0..=f64::from(u32::MAX)).contains(&seconds) { format!("{seconds:.0}").parse().ok() } else { None }
}
