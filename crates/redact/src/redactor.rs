//! Removal of known values and known forms from texts and documents.

use std::{
    borrow::Cow,
    collections::BTreeSet,
    fmt,
    sync::{Arc, PoisonError, RwLock},
};

use aho_corasick::{AhoCorasick, MatchKind};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{
    REDACTED,
    documents::{change, is_own, owned, typed},
    encoded::writings,
    forms::without_forms,
};

/// Minimum length of a value that is removed. Shorter values occur too often by chance.
const MIN_VALUE_BYTES: usize = 6;

/// Removes secrets from texts. Cheap to clone; all clones share the known values. It never reveals them.
#[derive(Clone, Default)]
pub struct Redactor(Arc<RwLock<Arc<KnownValues>>>);

/// The values that are known.
#[derive(Default)]
pub(crate) struct KnownValues {
    values: BTreeSet<String>,
    finder: Option<AhoCorasick>,
    /// The bytes of the longest writing of a value.
    pub(crate) longest: usize,
}

impl Redactor {
    /// Creates a redactor for these values. Values of fewer than 6 bytes are ignored, because they occur in too many
    /// texts by chance.
    #[must_use]
    pub fn new<V: AsRef<str>>(values: impl IntoIterator<Item = V>) -> Self {
        let redactor = Self::default();
        redactor.learn(values);
        redactor
    }

    /// Takes these values out from now on, too.
    pub fn learn<V: AsRef<str>>(&self, values: impl IntoIterator<Item = V>) {
        let known = self.known_values();
        let new: Vec<String> = values
            .into_iter()
            .map(|value| value.as_ref().trim().to_owned())
            .filter(|value| value.len() >= MIN_VALUE_BYTES && !REDACTED.contains(value.as_str()) && !known.values.contains(value))
            .collect();
        if new.is_empty() {
            return;
        }
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let values: BTreeSet<String> = known.values.iter().cloned().chain(new).collect();
        *known = Arc::new(KnownValues::of(values));
    }

    /// Returns a text without known values and without the parts that have the form of a key.
    #[must_use]
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.known_values().without_secrets(text)
    }

    /// Returns a text without known values and their encodings.
    #[must_use]
    pub fn values<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.known_values().without(text)
    }

    /// Returns true if a text holds a secret.
    #[must_use]
    pub fn finds(&self, text: &str) -> bool {
        matches!(self.text(text), Cow::Owned(_))
    }

    /// Removes secrets from all texts of a document. Returns true if there were any.
    pub fn document(&self, document: &mut Value) -> bool {
        let known = self.known_values();
        change(document, &mut String::new(), &mut |_, text| owned(known.without_secrets(text)))
    }

    /// Does the same for any value that can be written as JSON and read again. If a text with the mark cannot be read
    /// again, such as a name that must be a word, [`REDACTED_WORD`](crate::REDACTED_WORD) replaces the secret; a text
    /// that can be read with neither is left unchanged. Names of fields and variants belong to the program and are
    /// not changed.
    #[must_use]
    pub fn typed<T: Serialize + DeserializeOwned>(&self, value: T) -> T {
        let known = self.known_values();
        typed(value, &|text| known.without_secrets(text))
    }

    /// Does the same with known values alone.
    #[must_use]
    pub fn typed_values<T: Serialize + DeserializeOwned>(&self, value: T) -> T {
        let known = self.known_values();
        typed(value, &|text| known.without(text))
    }

    /// Takes known values out of the texts of a document that the program itself has made. Names of members in small letters and `_` are its own
    /// and stay, and so do such words, and names of schemas, where a member holds one of its own: `schema`, `type`, `status`, `code`, `mode`,
    /// `kind` and `outcome`.
    pub fn own_document(&self, document: &mut Value) -> bool {
        let known = self.known_values();
        change(document, &mut String::new(), &mut |place, text| if is_own(place, text) { None } else { owned(known.without(text)) })
    }

    /// Returns the number of known values. A clean text stays clean until this number changes.
    #[must_use]
    pub fn values_known(&self) -> usize {
        self.known_values().values.len()
    }

    pub(crate) fn known_values(&self) -> Arc<KnownValues> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Redactor({} values)", self.known_values().values.len())
    }
}

impl KnownValues {
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

    /// Returns the ranges of secrets, in bytes.
    pub(crate) fn places<'a>(&'a self, text: &'a str) -> impl Iterator<Item = (usize, usize)> + 'a {
        let found = self.finder.iter().flat_map(move |finder| finder.find_iter(text));
        found.map(|found| (found.start(), found.end()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
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

    proptest! {
        /// No text is an error, a known value is always removed, and a clean text is left unchanged.
        #[test]
        fn known_values_never_stay(before in "(.|\n){0,60}", secret in "[a-zA-Z0-9]{6,20}", after in "(.|\n){0,60}") {
            let redactor = Redactor::new([&secret]);
            let clean = redactor.text(&format!("{before}{secret}{after}")).into_owned();
            prop_assert!(!clean.replace(REDACTED, "\n").contains(&secret));
            prop_assert_eq!(redactor.text("Plain words, 数字 42.\n\nAnd more."), "Plain words, 数字 42.\n\nAnd more.");
        }
    }
}
