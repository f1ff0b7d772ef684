//! Texts of documents, and of values that are written as documents and read again.

use std::{
    borrow::Cow,
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    mem,
};

use aime_messages::stored::with_ids;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{REDACTED, REDACTED_WORD, scan::any_text};

/// Members of the program's own documents that hold words of its own.
const OWN: [&str; 7] = ["schema", "type", "status", "code", "mode", "kind", "outcome"];

/// Replaces texts and member names by the result of `clean`. Returns true if any was replaced. `clean` also receives
/// the place of a text: the names of the members that lead to it, each with a `/` before it, so that all items of a
/// list have the same place. The name of a member has the place of a member with an empty name.
pub(crate) fn change(document: &mut Value, place: &mut String, clean: &mut dyn FnMut(&str, &str) -> Option<String>) -> bool {
    match document {
        Value::String(text) => match clean(place, text) {
            None => false,
            Some(clean) => {
                *text = clean;
                true
            }
        },
        // Each of them is looked at, also after one has changed.
        Value::Array(items) => items.iter_mut().map(|item| change(item, place, clean)).filter(|changed| *changed).count() > 0,
        Value::Object(members) => {
            let length = place.len();
            let mut changed = false;
            let mut renamed = BTreeMap::new();
            for (name, member) in &mut *members {
                place.push('/');
                if let Some(new) = clean(place, name) {
                    renamed.insert(name.clone(), new);
                }
                place.push_str(name);
                changed |= change(member, place, clean);
                place.truncate(length);
            }
            if renamed.is_empty() {
                return changed;
            }
            // They keep their order.
            *members = mem::take(members).into_iter().map(|(name, member)| (renamed.remove(&name).unwrap_or(name), member)).collect();
            true
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Returns true if the text at a place of one of the program's own documents (in the notation of [`change`]) is a
/// keyword of the program.
pub(crate) fn is_own(place: &str, text: &str) -> bool {
    let name = text.strip_prefix("aime.").and_then(|name| name.split_once("/v")).map_or(text, |(name, _)| name);
    place.rsplit_once('/').is_some_and(|(_, member)| member.is_empty() || OWN.contains(&member))
        && name.bytes().all(|letter| letter.is_ascii_lowercase() || letter == b'_')
}

pub(crate) fn owned(text: Cow<'_, str>) -> Option<String> {
    match text {
        Cow::Borrowed(_) => None,
        Cow::Owned(text) => Some(text),
    }
}

pub(crate) fn typed<T: Serialize + DeserializeOwned>(value: T, clean: &dyn Fn(&str) -> Cow<'_, str>) -> T {
    with_ids(|| cleaned(value, clean))
}

fn cleaned<T: Serialize + DeserializeOwned>(value: T, clean: &dyn Fn(&str) -> Cow<'_, str>) -> T {
    let cleaned = RefCell::new(BTreeMap::new());
    any_text(&value, &|text| {
        if let Cow::Owned(clean) = clean(text) {
            cleaned.borrow_mut().insert(text.to_owned(), clean);
        }
        false
    });
    let cleaned = cleaned.into_inner();
    if cleaned.is_empty() {
        return value;
    }
    let Ok(document) = serde_json::to_value(&value) else { return value };
    let mut whole = document.clone();
    change(&mut whole, &mut String::new(), &mut |_, text| cleaned.get(text).cloned());
    serde_json::from_value(whole).or_else(|_| readable(document, &cleaned)).unwrap_or(value)
}

/// Reads a document in which each place has the mark, or else the word, if it can be read so.
fn readable<T: DeserializeOwned>(mut document: Value, cleaned: &BTreeMap<String, String>) -> serde_json::Result<T> {
    let mut places = BTreeSet::new();
    change(&mut document, &mut String::new(), &mut |place, text| {
        if cleaned.contains_key(text) {
            places.insert(place.to_owned());
        }
        None
    });
    let mut marks = BTreeMap::new();
    let read = |marks: &BTreeMap<String, &str>| {
        let mut document = document.clone();
        change(&mut document, &mut String::new(), &mut |place, text| Some(cleaned.get(text)?.replace(REDACTED, marks.get(place)?)));
        serde_json::from_value::<T>(document)
    };
    for place in places {
        for mark in [REDACTED, REDACTED_WORD] {
            marks.insert(place.clone(), mark);
            if read(&marks).is_ok() {
                break;
            }
            marks.remove(&place);
        }
    }
    read(&marks)
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;
    use crate::Redactor;

    #[test]
    fn words_of_the_program_stay_in_its_documents() {
        let redactor = Redactor::new(["hunter22", "status", "completed", "result"]);
        let document = |secret: &str, status: &str| {
            json!({
                "schema": "aime.result/v1", "status": "completed", "answer": format!("{secret} is {status}"), "tasks": [{"kind": "tool"}],
                "type": "run_status_changed", secret: [secret, 12, null], "mode": secret,
            })
        };
        let mut cleaned = document("hunter22", "completed");
        assert!(redactor.own_document(&mut cleaned));
        assert_eq!(cleaned.to_string(), document(REDACTED, REDACTED).to_string(), "in the same order");
        assert!(!redactor.own_document(&mut cleaned));
        for bare in [json!("completed"), json!(["completed"])] {
            assert!(redactor.own_document(&mut bare.clone()), "{bare} is no member");
        }
    }

    #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(try_from = "String", into = "String")]
    struct Word(String);

    impl TryFrom<String> for Word {
        type Error = String;
        fn try_from(text: String) -> Result<Self, String> {
            if text.contains('[') { Err(text) } else { Ok(Self(text)) }
        }
    }

    impl From<Word> for String {
        fn from(word: Word) -> Self {
            word.0
        }
    }

    #[test]
    fn a_name_that_holds_a_secret_stays_a_name() {
        let redactor = Redactor::new(["hunter22"]);
        let value = BTreeMap::from([("a".to_owned(), Word("x-hunter22".to_owned()))]);
        assert_eq!(redactor.typed(value)["a"], Word("x-redacted-secret".to_owned()));
        assert_eq!(redactor.typed_values("key sk-0123456789abcdefghij".to_owned()), "key sk-0123456789abcdefghij");
    }

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Status {
        Completed,
    }

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    struct Task {
        id: Word,
        needs: Vec<Word>,
        #[serde(default)]
        parameters: serde_json::Map<String, Value>,
        status: Status,
    }

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    struct Plan {
        goal: String,
        tasks: Vec<Task>,
        by_name: BTreeMap<Word, Status>,
    }

    /// Returns the plan after redaction of this value.
    fn plan_without(secret: &str, plan: Value) -> Value {
        let plan: Plan = serde_json::from_value(plan).unwrap();
        serde_json::to_value(Redactor::new([secret]).typed(plan)).unwrap()
    }

    // Requirement: 14.4
    #[test]
    fn the_word_stands_only_where_one_must() {
        let plan = |word: &str, text: &str| {
            let call = json!({"id": text, "content": format!("curl https://{text}.com | sh"), text: [text]});
            let task = |id: &str, call: Value| json!({"id": id, "needs": [word], "parameters": call, "status": "completed"});
            let by_name = json!({word: "completed", format!("x-{word}"): "completed"});
            json!({"goal": format!("get {text}"), "tasks": [task(word, call), task("b", json!({}))], "by_name": by_name})
        };
        assert_eq!(plan_without("hunter22", plan("hunter22", "hunter22")), plan(REDACTED_WORD, REDACTED));
    }

    #[test]
    fn the_names_of_fields_and_variants_are_no_texts() {
        for own in ["parameters", "completed", "status"] {
            let plan = |text: &str| {
                let task = json!({"id": "a", "needs": [], "parameters": {"content": text}, "status": "completed"});
                json!({"goal": text, "tasks": [task], "by_name": {"a": "completed"}})
            };
            assert_eq!(plan_without(own, plan(&format!("the {own}"))), plan("the [redacted-secret]"), "{own}");
            if own == "completed" {
                assert_eq!(plan_without(own, plan(own)), plan(REDACTED), "also where the same is a text elsewhere");
            }
        }
    }
}
