//! The first inputs of each target: the cases of the corpora, files that come with the crates, and a journal that is made here.

use std::fs;
use std::path::Path;

use aime_durable::{Journal, NewRun};
use toml::{Table, Value};

use crate::Target;

/// The seeds of a target, read from the checkout; empty outside of one.
#[must_use]
pub fn seeds(target: Target) -> Vec<Vec<u8>> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = Vec::new();
    for place in target.seeds {
        collect(&crates.join(place), &mut found);
    }
    if target.name == "journal" {
        found.extend(a_journal());
    }
    found
}

/// A journal with a run in it.
fn a_journal() -> Option<Vec<u8>> {
    let folder = tempfile::tempdir().ok()?;
    let path = folder.path().join("aime.db");
    let runtime = tokio::runtime::Builder::new_current_thread().build().ok()?;
    let journal = Journal::open(&path).ok()?;
    let run = NewRun { id: "r1", at: 1, machine_version: 1, title: "count the words", status: "executing" };
    runtime.block_on(journal.create_run(run)).ok()?;
    // The last one to go folds the write-ahead log into the file.
    drop(journal);
    fs::read(&path).ok()
}

fn collect(path: &Path, found: &mut Vec<Vec<u8>>) {
    if let Ok(entries) = fs::read_dir(path) {
        let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        paths.iter().for_each(|path| collect(path, found));
        return;
    }
    let Ok(bytes) = fs::read(path) else { return };
    let corpus = std::str::from_utf8(&bytes).ok().and_then(|text| text.parse::<Table>().ok());
    match corpus.as_ref().and_then(|corpus| corpus.get("case")).and_then(Value::as_array) {
        Some(cases) => found.extend(cases.iter().map(input)),
        None => found.push(bytes),
    }
}

/// The text of a case, or its events as a server sends them.
fn input(case: &Value) -> Vec<u8> {
    let text = ["text", "body"].iter().find_map(|key| case.get(*key)?.as_str());
    if let Some(text) = text {
        return text.as_bytes().to_vec();
    }
    let events = case.get("events").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let mut stream: String = events.map(|event| format!("data: {event}\n\n")).collect();
    stream.push_str("data: [DONE]\n\n");
    stream.into_bytes()
}
