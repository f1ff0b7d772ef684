//! Known values and known forms, taken out of texts and documents.

use std::{
    borrow::Cow,
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    fmt, mem,
    sync::{Arc, PoisonError, RwLock},
};

use aho_corasick::{AhoCorasick, MatchKind};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{REDACTED, REDACTED_WORD, encoded::writings, forms::without_forms, scan::any_text};

/// Shorter values are too common to be taken out wherever they stand.
const SHORTEST: usize = 6;
/// Members of the program's own documents that hold words of its own.
const OWN: [&str; 7] = ["schema", "type", "status", "code", "mode", "kind", "outcome"];

/// Takes secrets out of texts. Cheap to clone; what one clone learns all of them know. Never shows what it knows.
#[derive(Clone, Default)]
pub struct Redactor(Arc<RwLock<Arc<Known>>>);

/// The values that are known.
#[derive(Default)]
pub(crate) struct Known {
    values: BTreeSet<String>,
    finder: Option<AhoCorasick>,
    /// The bytes of the longest writing of a value.
    pub(crate) longest: usize,
}

impl Redactor {
    /// One that knows these values. Those of fewer than 6 bytes are left out: they would stand in too many texts by chance.
    #[must_use]
    pub fn new<V: AsRef<str>>(values: impl IntoIterator<Item = V>) -> Self {
        let redactor = Self::default();
        redactor.learn(values);
        redactor
    }

    /// Takes these values out from now on, too.
    pub fn learn<V: AsRef<str>>(&self, values: impl IntoIterator<Item = V>) {
        let known = self.known();
        let new: Vec<String> = values
            .into_iter()
            .map(|value| value.as_ref().trim().to_owned())
            .filter(|value| value.len() >= SHORTEST && !REDACTED.contains(value.as_str()) && !known.values.contains(value))
            .collect();
        if new.is_empty() {
            return;
        }
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let values: BTreeSet<String> = known.values.iter().cloned().chain(new).collect();
        *known = Arc::new(Known::of(values));
    }

    /// A text without known values, and without what has the form of a key.
    #[must_use]
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.known().without_secrets(text)
    }

    /// A text without known values, also where they are encoded.
    #[must_use]
    pub fn values<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.known().without(text)
    }

    /// Whether a text holds a secret.
    #[must_use]
    pub fn finds(&self, text: &str) -> bool {
        matches!(self.text(text), Cow::Owned(_))
    }

    /// Takes secrets out of all texts of a document; whether there were any.
    pub fn document(&self, document: &mut Value) -> bool {
        let known = self.known();
        change(document, &mut String::new(), &mut |_, text| owned(known.without_secrets(text)))
    }

    /// The same for anything that can be written as JSON and read again. Where a text with the mark cannot be read again, as a name that must
    /// be a word, [`REDACTED_WORD`] stands in its place; a text that can be read with neither is left as it is. The names of fields and
    /// variants are the program's own, and stay.
    #[must_use]
    pub fn typed<T: Serialize + DeserializeOwned>(&self, value: T) -> T {
        let known = self.known();
        typed(value, &|text| known.without_secrets(text))
    }

    /// The same with known values alone.
    #[must_use]
    pub fn typed_values<T: Serialize + DeserializeOwned>(&self, value: T) -> T {
        let known = self.known();
        typed(value, &|text| known.without(text))
    }

    /// Takes known values out of the texts of a document that the program itself has made. Names of members in small letters and `_` are its own
    /// and stay, and so do such words, and names of schemas, where a member holds one of its own: `schema`, `type`, `status`, `code`, `mode`,
    /// `kind` and `outcome`.
    pub fn own_document(&self, document: &mut Value) -> bool {
        let known = self.known();
        change(document, &mut String::new(), &mut |place, text| if is_own(place, text) { None } else { owned(known.without(text)) })
    }

    /// How many values are known. A text that was clean stays so until this is another number.
    #[must_use]
    pub fn values_known(&self) -> usize {
        self.known().values.len()
    }

    pub(crate) fn known(&self) -> Arc<Known> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Redactor({} values)", self.known().values.len())
    }
}

impl Known {
    fn of(values: BTreeSet<String>) -> Self {
        let writings: Vec<String> = values.iter().flat_map(|value| writings(value)).collect();
        let longest = writings.iter().map(String::len).max().unwrap_or_default();
        // Nothing that is built of so few and short texts is too large.
        let finder = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&writings).ok();
        Self { values, finder, longest }
    }

    fn without_secrets<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.without(text) {
            Cow::Borrowed(text) => without_forms(text),
            Cow::Owned(text) => Cow::Owned(without_forms(&text).into_owned()),
        }
    }

    fn without<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut clean = String::new();
        let mut kept = 0;
        for (from, to) in self.places(text) {
            clean.push_str(text.get(kept..from).unwrap_or_default());
            clean.push_str(REDACTED);
            kept = to;
        }
        if kept == 0 {
            return Cow::Borrowed(text);
        }
        clean.push_str(text.get(kept..).unwrap_or_default());
        Cow::Owned(clean)
    }

    /// Where secrets stand, in bytes.
    pub(crate) fn places<'a>(&'a self, text: &'a str) -> impl Iterator<Item = (usize, usize)> + 'a {
        let found = self.finder.iter().flat_map(move |finder| finder.find_iter(text));
        found.map(|found| (found.start(), found.end()))
    }
}

/// Puts what `clean` makes of them in the place of texts and of names of members; whether there were any. `clean` is told the place of a text,
/// too: the names of the members that lead to it, each with a `/` before it, so that the items of a list have one place. A name of a member
/// has the place of an empty one.
fn change(document: &mut Value, place: &mut String, clean: &mut dyn FnMut(&str, &str) -> Option<String>) -> bool {
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

/// Whether the text at a place of the program's own document, as [`change`] tells it, is a word of the program.
fn is_own(place: &str, text: &str) -> bool {
    let name = text.strip_prefix("aime.").and_then(|name| name.split_once("/v")).map_or(text, |(name, _)| name);
    place.rsplit_once('/').is_some_and(|(_, member)| member.is_empty() || OWN.contains(&member))
        && name.bytes().all(|letter| letter.is_ascii_lowercase() || letter == b'_')
}

fn owned(text: Cow<'_, str>) -> Option<String> {
    match text {
        Cow::Borrowed(_) => None,
        Cow::Owned(text) => Some(text),
    }
}

fn typed<T: Serialize + DeserializeOwned>(value: T, clean: &dyn Fn(&str) -> Cow<'_, str>) -> T {
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
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[test]
    fn known_values_are_taken_out_wherever_they_stand() {
        let redactor = Redactor::new(["abcdef", "abcdef-123456", "short", "pass\"word"]);
        for (text, clean) in [
            ("abcdef-123456 abcdef", "[redacted-secret] [redacted-secret]"),
            ("xabcdefx", "x[redacted-secret]x"),
            ("short stays", "short stays"),
            ("61626364 65662d313233343536", "61626364 65662d313233343536"),
            ("6162636465662d313233343536", "[redacted-secret]"),
            ("{\"a\":\"pass\\\"word\"}", "{\"a\":\"[redacted-secret]\"}"),
            ("数字 abcdef 和", "数字 [redacted-secret] 和"),
        ] {
            assert_eq!(redactor.values(text), clean, "{text:?}");
        }
        assert_eq!(format!("{redactor:?}"), "Redactor(3 values)");
    }

    #[test]
    fn what_one_learns_all_know() {
        let redactor = Redactor::default();
        let other = redactor.clone();
        redactor.learn(["hunter22", "redacted"]);
        assert_eq!(other.text("hunter22"), REDACTED);
        assert_eq!(other.text(REDACTED), REDACTED, "the mark is no secret");
    }

    #[test]
    fn documents_are_cleaned_whole() {
        let redactor = Redactor::new(["hunter22"]);
        let mut document = json!({"a": ["x hunter22", 1, null, {"hunter22": "key sk-0123456789abcdefghij"}]});
        assert!(redactor.document(&mut document));
        assert_eq!(document, json!({"a": ["x [redacted-secret]", 1, null, {"[redacted-secret]": "key [redacted-secret]"}]}));
        assert!(!redactor.document(&mut document));
    }

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

    /// What is made of a plan by one that knows this value.
    fn plan_without(secret: &str, plan: Value) -> Value {
        let plan: Plan = serde_json::from_value(plan).unwrap();
        serde_json::to_value(Redactor::new([secret]).typed(plan)).unwrap()
    }

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

    proptest! {
        /// No text is an error, a known value never stays, and what is clean is left as it is.
        #[test]
        fn known_values_never_stay(before in "(.|\n){0,60}", secret in "[a-zA-Z0-9]{6,20}", after in "(.|\n){0,60}") {
            let redactor = Redactor::new([&secret]);
            let clean = redactor.text(&format!("{before}{secret}{after}")).into_owned();
            prop_assert!(!clean.replace(REDACTED, "\n").contains(&secret));
            prop_assert_eq!(redactor.text("Plain words, 数字 42.\n\nAnd more."), "Plain words, 数字 42.\n\nAnd more.");
        }
    }
}
