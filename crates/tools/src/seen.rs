//! The stale-write guard: no file tool overwrites a change that its actor has not seen.

use std::{collections::BTreeMap, fmt, path::Path, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::{ToolContext, ToolError};

/// Version of a file that an actor has read or written. The actor's journal contains it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenFile {
    /// Path relative to the working folder, with symbolic links resolved.
    pub path: String,
    /// BLAKE3 hash of the content in hexadecimal digits; `None` for a file that the actor deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
}

/// File versions that an actor has seen last: hashes by path.
pub type SeenFiles = BTreeMap<String, String>;

/// Author of a change since an actor last saw a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeAuthor {
    /// No known author.
    Nobody,
    /// A known author, such as "task `mean`".
    By(String),
    /// Changes are not recorded, so aime cannot tell.
    Unknown,
}

/// Looks up who changed the file at a path since it had a hash, or since the run began.
type ChangeLookup = dyn Fn(&Path, Option<&str>) -> ChangeAuthor + Send + Sync;

/// File versions that the actor of a call has seen. Cheap to clone.
#[derive(Clone)]
pub struct WriteGuard {
    actor: Arc<str>,
    seen: Arc<SeenFiles>,
    look_up: Option<Arc<ChangeLookup>>,
}

impl WriteGuard {
    /// Creates the guard of an actor, given by its name in the run, that has seen these versions. Assumes that no other actor changes
    /// files, unless [`looking_up`](Self::looking_up) is used.
    #[must_use]
    pub fn new(actor: &str, seen: SeenFiles) -> Self {
        Self { actor: actor.into(), seen: Arc::new(seen), look_up: None }
    }

    /// Sets the look-up of other authors: `look_up` returns who changed the file at a path since it had a hash, or without a hash, since
    /// the run began. It may block.
    #[must_use]
    pub fn looking_up(self, look_up: impl Fn(&Path, Option<&str>) -> ChangeAuthor + Send + Sync + 'static) -> Self {
        Self { look_up: Some(Arc::new(look_up)), ..self }
    }

    /// Returns the name of the actor.
    #[must_use]
    pub fn actor(&self) -> &str {
        &self.actor
    }

    /// Returns the author of the current version of a file; `None` if the actor has seen this version.
    fn other_change(&self, path: &str, bytes: &[u8]) -> Option<Other> {
        let seen = self.seen.get(path);
        if seen.is_some_and(|hash| *hash == hash_of(bytes)) {
            return None;
        }
        let by = self.look_up.as_ref().map_or(ChangeAuthor::Nobody, |look_up| look_up(Path::new(path), seen.map(String::as_str)));
        match (seen, by) {
            (Some(_), ChangeAuthor::By(who)) => Some(Other { author: who, since: "since you last read it" }),
            (Some(_), ChangeAuthor::Nobody) => Some(Other { author: NOBODY.to_owned(), since: "since you last read it" }),
            (Some(_), ChangeAuthor::Unknown) => Some(Other { author: "somebody".to_owned(), since: "since you last read it" }),
            (None, ChangeAuthor::By(who)) => Some(Other { author: who, since: "in this run, and you have not read it" }),
            (None, ChangeAuthor::Unknown) => {
                Some(Other { author: "somebody".to_owned(), since: "perhaps in this run, and you have not read it" })
            }
            (None, ChangeAuthor::Nobody) => None,
        }
    }
}

/// The author of a change that neither an actor nor a command of the run made.
const NOBODY: &str = "a person or another program";

/// A change by another author.
struct Other {
    author: String,
    since: &'static str,
}

impl fmt::Debug for WriteGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriteGuard").field("actor", &self.actor).field("seen", &self.seen).finish_non_exhaustive()
    }
}

impl ToolContext {
    /// Returns a record that the actor of the call has read or written this version; empty if no actor made the call.
    pub(crate) fn record_seen(&self, path: &str, bytes: &[u8]) -> Vec<SeenFile> {
        let Some(_) = &self.guard else { return Vec::new() };
        vec![SeenFile { path: self.real_path(path), hash: Some(hash_of(bytes)) }]
    }

    /// Returns a record that the actor of the call has deleted a file.
    pub(crate) fn deleted(&self, path: &str) -> Vec<SeenFile> {
        if self.guard.is_none() { Vec::new() } else { vec![SeenFile { path: path.to_owned(), hash: None }] }
    }

    /// Returns a record of the version that an edit created, if the actor had seen the version before. After an edit on top of another
    /// author's change the actor has not seen the whole file, so there is no record.
    pub(crate) fn edited(&self, path: &str, before: &[u8], to: &str, after: &[u8]) -> Vec<SeenFile> {
        let known = self.guard.as_ref().and_then(|guard| guard.seen.get(&self.real_path(path)));
        if known.is_some_and(|hash| *hash == hash_of(before)) { self.record_seen(to, after) } else { Vec::new() }
    }

    /// Refuses to overwrite or delete a version of a file that the actor of the call has not seen. `act` names the attempted action.
    ///
    /// # Errors
    /// [`ToolError::Failed`], which names the author of that version and the next step.
    pub(crate) fn must_have_seen(&self, path: &str, bytes: &[u8], act: &str) -> Result<(), ToolError> {
        let other = self.guard.as_ref().and_then(|guard| guard.other_change(&self.real_path(path), bytes));
        let Some(Other { author: who, since }) = other else { return Ok(()) };
        Err(ToolError::Failed(format!(
            "not {act}: `{path}` was changed by {who} {since}. Read it again, and keep that change: best change only your part of it, with edit_file"
        )))
    }

    /// Returns a line about another author's change that an edit was made on top of, if there was one.
    pub(crate) fn note_of_other_change(&self, path: &str, bytes: &[u8]) -> Option<String> {
        let guard = self.guard.as_ref()?;
        let real = self.real_path(path);
        guard.seen.get(&real)?;
        let Other { author: who, since } = guard.other_change(&real, bytes)?;
        Some(format!("[`{path}` was changed by {who} {since}; this edit was made on top of that change, which is kept]"))
    }

    /// Returns the path of a file with symbolic links resolved, as far as the path exists.
    fn real_path(&self, path: &str) -> String {
        let real = self.folder.resolve(path).or_else(|_| self.folder.relative(path));
        real.map_or_else(|_| path.to_owned(), |path| path.to_string_lossy().into_owned())
    }
}

/// Returns the hash that identifies a version of a file.
fn hash_of(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

#[cfg(test)]
mod tests;
