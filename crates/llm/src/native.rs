//! A model's turn as its provider wrote it: opaque state that only the same provider and model can read again.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Protocol, ToolCall};

/// Complete turn of a model in the provider's own form, including encrypted reasoning, signatures and ids, in the
/// order of arrival.
///
/// It is kept beside the readable content of the turn. It goes back unchanged to the same protocol, host and model,
/// or not at all. A seal over the items, the text and the calls shows if one of them was edited, for example by
/// redaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NativeTurn {
    protocol: Protocol,
    host: String,
    model: String,
    items: Vec<Value>,
    seal: String,
}

/// The readable side of a turn, and where it was made.
#[derive(Debug, Clone, Copy)]
pub struct TurnSource<'a> {
    /// The protocol that carried it.
    pub protocol: Protocol,
    /// The server: host and port.
    pub host: &'a str,
    /// The server's name of the model that was asked.
    pub model: &'a str,
}

impl NativeTurn {
    /// Seals the items of a turn to the text and the calls that were read from them. Returns `None` where there are no items.
    #[must_use]
    pub fn new(source: TurnSource<'_>, items: Vec<Value>, content: &str, calls: &[ToolCall]) -> Option<Arc<Self>> {
        if items.is_empty() {
            return None;
        }
        let seal = seal(&items, content, calls);
        Some(Arc::new(Self { protocol: source.protocol, host: source.host.to_owned(), model: source.model.to_owned(), items, seal }))
    }

    /// Returns the items, if the turn was made by this source and neither they nor the text and the calls were
    /// changed since.
    #[must_use]
    pub fn items_for(&self, source: TurnSource<'_>, content: &str, calls: &[ToolCall]) -> Option<&[Value]> {
        let same = self.protocol == source.protocol && self.host == source.host && self.model == source.model;
        (same && self.seal == seal(&self.items, content, calls)).then_some(self.items.as_slice())
    }

    /// Returns the unique id of this turn.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.seal
    }

    /// Returns the items as they came.
    #[must_use]
    pub fn items(&self) -> &[Value] {
        &self.items
    }

    /// Returns the length of the items as JSON, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.items.iter().map(|item| item.to_string().len()).sum()
    }

    /// Returns true if a text of the items, or the name of a field, satisfies the condition. Redaction uses it to
    /// search for secrets.
    #[must_use]
    pub fn any_text(&self, mut condition: impl FnMut(&str) -> bool) -> bool {
        fn any(value: &Value, condition: &mut impl FnMut(&str) -> bool) -> bool {
            match value {
                Value::String(text) => condition(text),
                Value::Array(items) => items.iter().any(|item| any(item, condition)),
                Value::Object(fields) => fields.iter().any(|(name, value)| condition(name) || any(value, condition)),
                Value::Null | Value::Bool(_) | Value::Number(_) => false,
            }
        }
        self.items.iter().any(|item| any(item, &mut condition))
    }
}

/// Returns a hash over the items, the text, and the names and arguments of the calls. Ids are left out, because a
/// runtime may rename them. So are arguments that are no JSON object: they are rewritten before they are sent back.
fn seal(items: &[Value], content: &str, calls: &[ToolCall]) -> String {
    let calls: Vec<(&str, Option<Value>)> = calls.iter().map(|call| (call.name.as_str(), object(&call.arguments))).collect();
    let sealed = serde_json::to_vec(&(items, content, calls)).unwrap_or_default();
    blake3::hash(&sealed).to_hex().to_string()
}

/// Arguments that are a JSON object with members. Empty ones count as none, however they are written.
fn object(arguments: &str) -> Option<Value> {
    serde_json::from_str::<Value>(arguments).ok().filter(|value| value.as_object().is_some_and(|members| !members.is_empty()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const SOURCE: TurnSource<'static> = TurnSource { protocol: Protocol::Responses, host: "h:1", model: "m" };

    fn call(id: &str, arguments: &str) -> ToolCall {
        ToolCall { id: id.to_owned(), name: "t".to_owned(), arguments: arguments.to_owned() }
    }

    fn turn(calls: &[ToolCall]) -> Arc<NativeTurn> {
        NativeTurn::new(SOURCE, vec![json!({"type": "reasoning", "encrypted_content": "gAAA"})], "text", calls).unwrap()
    }

    // Requirement: 11.2
    #[test]
    fn goes_back_to_its_source_alone() {
        let native = turn(&[]);
        assert!(native.items_for(SOURCE, "text", &[]).is_some());
        for other in
            [TurnSource { protocol: Protocol::Chat, ..SOURCE }, TurnSource { host: "h:2", ..SOURCE }, TurnSource { model: "n", ..SOURCE }]
        {
            assert_eq!(native.items_for(other, "text", &[]), None, "{other:?}");
        }
        assert_eq!(NativeTurn::new(SOURCE, Vec::new(), "text", &[]), None);
    }

    // Requirement: 11.2
    #[test]
    fn an_edit_breaks_the_seal_and_a_renamed_id_does_not() {
        let native = turn(&[call("a", r#"{"x": 1}"#), call("b", "")]);
        let intact = |content: &str, calls: &[ToolCall]| native.items_for(SOURCE, content, calls).is_some();
        assert!(intact("text", &[call("other", r#"{ "x":1 }"#), call("b", "{}")]));
        assert!(!intact("tex", &[call("a", r#"{"x": 1}"#), call("b", "")]));
        assert!(!intact("text", &[call("a", r#"{"x": 2}"#), call("b", "")]));
        assert!(!intact("text", &[call("a", r#"{"x": 1}"#)]));
        let mut edited = (*native).clone();
        edited.items = vec![json!({"type": "reasoning", "encrypted_content": "[redacted]"})];
        assert_eq!(edited.items_for(SOURCE, "text", &[call("a", r#"{"x": 1}"#), call("b", "")]), None);
    }

    proptest! {
        #[test]
        fn survives_the_journal(text in "\\PC{0,20}", number in proptest::num::f64::NORMAL, arguments in "(\\{\\}|\\{\"a\":[0-9]{1,6}\\}|\\PC{0,8})") {
            let items = vec![json!({"b": text, "a": [number, {"text": text}]})];
            let calls = [call("1", &arguments)];
            let native = NativeTurn::new(SOURCE, items.clone(), &text, &calls).unwrap();
            let read: NativeTurn = serde_json::from_str(&serde_json::to_string(&native).unwrap()).unwrap();
            prop_assert_eq!(read.items_for(SOURCE, &text, &calls), Some(items.as_slice()));
        }
    }
}
