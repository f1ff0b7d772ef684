//! Integrity check of the undo data of a run.

use std::{collections::BTreeSet, fs, io::ErrorKind, path::Path};

use aime_durable::ContentError;
use aime_messages::{Describe as _, Message};

use crate::{
    Entry, UndoError,
    log::{self, Log, Record},
    objects::contents,
    store::Store,
};

/// Faults in the undo data of a run, as text for people.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UndoFaults {
    /// Reason why the log cannot be read: nothing of the run can be undone.
    pub log: Option<Message>,
    /// True if the log ends in a truncated line, as after a crash. The next record removes it, and so does [`repair`].
    pub cut: bool,
    /// Missing or damaged contents: files with these contents cannot be restored.
    pub contents: Vec<String>,
}

/// Checks the log of a run, and every content that it refers to. Changes nothing. Reads all of it, and blocks.
///
/// # Errors
/// [`UndoError`] for any other error of the system than a missing file.
pub fn check(data_folder: &Path, run: &str) -> Result<UndoFaults, UndoError> {
    let store = Store::new(data_folder);
    let path = store.log(run);
    let mut faults = UndoFaults::default();
    let text = match fs::read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(faults),
        Err(error) => return Err(crate::error::store(&path, "read")(error)),
    };
    let (records, whole) = match log::parse(&path, &text) {
        Ok(read) => read,
        Err(error) => {
            faults.log = Some(error.describe());
            return Ok(faults);
        }
    };
    faults.cut = whole < text.len() as u64;
    // Contents that were pruned for later runs are missing by intent.
    let kept = records.iter().rposition(|record| matches!(record, Record::Lost { .. })).map_or(0, |lost| lost + 1);
    let entries = records.iter().skip(kept).flat_map(Record::entries);
    let hashes: BTreeSet<&str> = entries.filter_map(Entry::hash).collect();
    let contents = contents(store.root());
    for hash in hashes {
        let fault = match contents.get(hash) {
            Ok(_) => continue,
            Err(ContentError::Damaged { .. }) => "is not as it was written".to_owned(),
            Err(ContentError::Store { source, .. }) if source.kind() == ErrorKind::NotFound => "is gone".to_owned(),
            Err(error) => format!("cannot be read: {error}"),
        };
        faults.contents.push(format!("the content {hash} {fault}"));
    }
    Ok(faults)
}

/// Removes the truncated line at the end of a run's log.
///
/// # Errors
/// [`UndoError`] if the log cannot be read or written.
pub fn repair(data_folder: &Path, run: &str) -> Result<(), UndoError> {
    Log::open(&Store::new(data_folder).log(run)).map(drop)
}
