//! The stale-write guard: no file tool overwrites a change that its actor has not seen.

use std::{collections::BTreeMap, fmt, path::Path, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::{ToolContext, ToolError};

/// A version of a file that an actor has read or written. Kept in its journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenFile {
    /// Relative to the working folder, links followed.
    pub path: String,
    /// The BLAKE3 hash of the content in hexadecimal digits; none for a file that the actor deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
}

/// The versions of files that an actor has seen last: hashes by path.
pub type SeenFiles = BTreeMap<String, String>;

/// The author of a change since an actor last saw a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OtherChange {
    /// Nobody of whom aime knows.
    Nobody,
    /// Somebody, such as "task `mean`".
    By(String),
    /// Changes are not recorded, so aime cannot tell.
    Unknown,
}

/// Looks up who changed the file at a path since it had a hash, or since the run began.
type LookUp = dyn Fn(&Path, Option<&str>) -> OtherChange + Send + Sync;

/// The files that the actor of a call has seen. Cheap to clone.
#[derive(Clone)]
pub struct WriteGuard {
    actor: Arc<str>,
    seen: Arc<SeenFiles>,
    look_up: Option<Arc<LookUp>>,
}

impl WriteGuard {
    /// The guard of an actor, by its name in the run, that has seen these versions. It alone changes files, unless
    /// [`looking_up`](Self::looking_up) is given.
    #[must_use]
    pub fn new(actor: &str, seen: SeenFiles) -> Self {
        Self { actor: actor.into(), seen: Arc::new(seen), look_up: None }
    }

    /// The same where others may change files too: `look_up` says who changed the file at a path since it had a hash, or without one
    /// since the run began. It may block.
    #[must_use]
    pub fn looking_up(self, look_up: impl Fn(&Path, Option<&str>) -> OtherChange + Send + Sync + 'static) -> Self {
        Self { look_up: Some(Arc::new(look_up)), ..self }
    }

    /// Returns the name of the actor.
    #[must_use]
    pub fn actor(&self) -> &str {
        &self.actor
    }

    /// Returns who made the file at a path what it is, in words; none where the actor knows this version.
    fn other_change(&self, path: &str, bytes: &[u8]) -> Option<Other> {
        let seen = self.seen.get(path);
        if seen.is_some_and(|hash| *hash == hash_of(bytes)) {
            return None;
        }
        let by = self.look_up.as_ref().map_or(OtherChange::Nobody, |look_up| look_up(Path::new(path), seen.map(String::as_str)));
        match (seen, by) {
            (Some(_), OtherChange::By(who)) => Some(Other { who, since: "since you last read it" }),
            (Some(_), OtherChange::Nobody) => Some(Other { who: NOBODY.to_owned(), since: "since you last read it" }),
            (Some(_), OtherChange::Unknown) => Some(Other { who: "somebody".to_owned(), since: "since you last read it" }),
            (None, OtherChange::By(who)) => Some(Other { who, since: "in this run, and you have not read it" }),
            (None, OtherChange::Unknown) => {
                Some(Other { who: "somebody".to_owned(), since: "perhaps in this run, and you have not read it" })
            }
            (None, OtherChange::Nobody) => None,
        }
    }
}

/// The author of a change that neither an actor nor a command of the run made.
const NOBODY: &str = "a person or another program";

/// Somebody else's change.
struct Other {
    who: String,
    since: &'static str,
}

impl fmt::Debug for WriteGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriteGuard").field("actor", &self.actor).field("seen", &self.seen).finish_non_exhaustive()
    }
}

impl ToolContext {
    /// Returns a note of a version of a file that the actor of the call has read or written; nothing where no actor has made the call.
    pub(crate) fn saw(&self, path: &str, bytes: &[u8]) -> Vec<SeenFile> {
        let Some(_) = &self.guard else { return Vec::new() };
        vec![SeenFile { path: self.real_path(path), hash: Some(hash_of(bytes)) }]
    }

    /// Returns a note that the actor of the call has deleted a file.
    pub(crate) fn deleted(&self, path: &str) -> Vec<SeenFile> {
        if self.guard.is_none() { Vec::new() } else { vec![SeenFile { path: path.to_owned(), hash: None }] }
    }

    /// Returns a note of the version that an edit made of one that the actor has seen. Of an edit on top of another's change there is none: the
    /// actor has seen no more than its own part.
    pub(crate) fn edited(&self, path: &str, before: &[u8], to: &str, after: &[u8]) -> Vec<SeenFile> {
        let known = self.guard.as_ref().and_then(|guard| guard.seen.get(&self.real_path(path)));
        if known.is_some_and(|hash| *hash == hash_of(before)) { self.saw(to, after) } else { Vec::new() }
    }

    /// Refuses to overwrite or delete a version of a file that the actor of the call has not seen. `act` says what was to be done.
    ///
    /// # Errors
    /// [`ToolError::Failed`], which names who made that version and what to do.
    pub(crate) fn must_have_seen(&self, path: &str, bytes: &[u8], act: &str) -> Result<(), ToolError> {
        let other = self.guard.as_ref().and_then(|guard| guard.other_change(&self.real_path(path), bytes));
        let Some(Other { who, since }) = other else { return Ok(()) };
        Err(ToolError::Failed(format!(
            "not {act}: `{path}` was changed by {who} {since}. Read it again, and keep that change: best change only your part of it, with edit_file"
        )))
    }

    /// Returns a line on the change of somebody else that an edit was made on top of, if there was one.
    pub(crate) fn note_of_other_change(&self, path: &str, bytes: &[u8]) -> Option<String> {
        let guard = self.guard.as_ref()?;
        let real = self.real_path(path);
        guard.seen.get(&real)?;
        let Other { who, since } = guard.other_change(&real, bytes)?;
        Some(format!("[`{path}` was changed by {who} {since}; this edit was made on top of that change, which is kept]"))
    }

    /// Returns the path of a file with links followed, as far as it is there.
    fn real_path(&self, path: &str) -> String {
        let real = self.folder.resolve(path).or_else(|_| self.folder.relative(path));
        real.map_or_else(|_| path.to_owned(), |path| path.to_string_lossy().into_owned())
    }
}

/// The hash by which a version of a file is known.
fn hash_of(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

#[cfg(test)]
mod tests;
