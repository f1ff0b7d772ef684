//! The corpus of what models and servers answer: `tests/corpus`. Each file says how its cases are read.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;

/// A file of cases.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Corpus<C> {
    #[serde(rename = "case")]
    pub(crate) cases: Vec<C>,
    /// JSON Schemas by the name that cases use.
    #[serde(default)]
    pub(crate) schemas: BTreeMap<String, String>,
}

/// A case is found by its name.
pub(crate) trait Named {
    fn name(&self) -> &str;
}

/// A text, and what it means or why it is refused.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TextCase {
    pub(crate) name: String,
    /// The schema it is read for.
    pub(crate) tool: Option<String>,
    pub(crate) text: String,
    /// JSON.
    pub(crate) is: Option<String>,
    /// True if the reader must report that something is missing.
    #[serde(default)]
    pub(crate) cut: bool,
    /// Words of the error.
    pub(crate) refused: Option<String>,
}

impl Named for TextCase {
    fn name(&self) -> &str {
        &self.name
    }
}

/// Reads one file of the corpus; no two of its cases may have one name.
pub(crate) fn read<C: DeserializeOwned + Named>(file: &str) -> Corpus<C> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(file);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let corpus: Corpus<C> = toml::from_str(&text).unwrap_or_else(|error| panic!("{file}: {error}"));
    let mut names = BTreeSet::new();
    for case in &corpus.cases {
        assert!(names.insert(case.name()), "{file}: two cases are named {:?}", case.name());
    }
    corpus
}

/// Returns the files of a folder of the corpus, by name.
pub(crate) fn files(folder: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(folder);
    let entries = std::fs::read_dir(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut files: Vec<String> = entries.map(|entry| format!("{folder}/{}", entry.unwrap().file_name().display())).collect();
    files.sort();
    files
}

/// Fails with all that went wrong, so that one run shows every case that must be looked at.
#[track_caller]
pub(crate) fn none_of(wrong: &[String]) {
    assert!(wrong.is_empty(), "{} cases\n\n{}", wrong.len(), wrong.join("\n\n"));
}
