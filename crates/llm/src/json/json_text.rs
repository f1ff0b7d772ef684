//! Values as text, with surplus closing brackets, for tests.

use proptest::prelude::*;
use serde_json::{Map, Value};

/// A value as text, and the places behind the items of its lists and the members of its objects.
#[derive(Debug, Clone, Default)]
pub(crate) struct JsonText {
    pub(crate) text: String,
    pub(crate) places: Vec<Place>,
}

/// A place behind an item or a member.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) at: usize,
    /// The brackets that close the value around it, from the outermost.
    pub(crate) open: String,
}

/// Writes a value as JSON without spaces.
pub(crate) fn json_text(value: &Value) -> JsonText {
    let mut whole = JsonText::default();
    whole.add(value, &mut String::new());
    whole
}

impl JsonText {
    fn add(&mut self, value: &Value, open: &mut String) {
        let (opener, closer) = match value {
            Value::Object(_) => ('{', '}'),
            Value::Array(_) => ('[', ']'),
            other => return self.text.push_str(&other.to_string()),
        };
        self.text.push(opener);
        open.push(closer);
        let empty = Map::new();
        let members = value.as_object().unwrap_or(&empty).iter().map(|(key, value)| (Some(key), value));
        let items = value.as_array().into_iter().flatten().map(|value| (None, value));
        for (at, (key, value)) in members.chain(items).enumerate() {
            if at > 0 {
                self.text.push(',');
            }
            if let Some(key) = key {
                self.text.push_str(&format!("{}:", Value::from(key.as_str())));
            }
            self.add(value, open);
            self.places.push(Place { at: self.text.len(), open: open.clone() });
        }
        open.pop();
        self.text.push(closer);
    }

    /// Returns the text with closing brackets inserted at places.
    pub(crate) fn with(&self, surplus: &[(Place, &str)]) -> String {
        let mut surplus = surplus.to_vec();
        surplus.sort_by_key(|(place, _)| place.at);
        let mut text = self.text.clone();
        for (place, closers) in surplus.iter().rev() {
            text.insert_str(place.at, closers);
        }
        text
    }
}

/// Returns the keys, texts, numbers and other scalars of a value, wherever they are in it.
pub(crate) fn leaves(value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut left = vec![value];
    while let Some(value) = left.pop() {
        match value {
            Value::Object(members) => {
                found.extend(members.keys().cloned());
                left.extend(members.values());
            }
            Value::Array(items) => left.extend(items),
            other => found.push(other.to_string()),
        }
    }
    found.sort();
    found
}

pub(crate) fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[ -~äß中文“”\\n\\t\"\\\\{}\\[\\],:<>`']{0,20}".prop_map(Value::from),
    ]
}

/// Any value that is nested up to `depth` levels.
pub(crate) fn any_value(depth: u32) -> impl Strategy<Value = Value> {
    scalar().prop_recursive(depth, 40, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::vec(("[a-z_\" ]{0,8}", inner), 0..6).prop_map(|entries| Value::Object(Map::from_iter(entries))),
        ]
    })
}

/// Generates a list of objects whose members are scalars, objects and lists of objects.
pub(crate) fn objects() -> impl Strategy<Value = Value> {
    let member = scalar().prop_recursive(3, 24, 4, |inner| {
        let object = object_of(inner, 1..4).boxed();
        prop_oneof![object.clone(), proptest::collection::vec(object, 1..4).prop_map(Value::from)]
    });
    proptest::collection::vec(object_of(member, 1..4), 2..5).prop_map(Value::from)
}

pub(crate) fn object_of(member: impl Strategy<Value = Value>, count: std::ops::Range<usize>) -> impl Strategy<Value = Value> {
    proptest::collection::vec(("[a-z]{1,6}", member), count).prop_map(|entries| Value::Object(Map::from_iter(entries)))
}
