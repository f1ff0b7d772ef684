//! Permanent consents of people, by folder. They are kept in a file of the user, outside the reach of runs.

#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    fs::{self, File, OpenOptions},
    io::{self, ErrorKind, Write},
    path::{Path, PathBuf},
};

use aime_messages::{Message, message};
use aime_tools::PermissionRule;
use serde::{Deserialize, Serialize};

use crate::{environment::Environment, error::RunsError, files::without_path};

/// Version of the file format. A file with a newer version is left unchanged.
const VERSION: u32 = 1;

/// Store of consents for one working folder.
#[derive(Debug, Clone)]
pub struct Consents {
    file: PathBuf,
    /// Working folder without links; the key in the file.
    folder: String,
}

/// Content of the file.
#[derive(Debug, Serialize, Deserialize)]
struct ConsentFile {
    version: u32,
    /// Consents by working folder.
    #[serde(default)]
    folders: BTreeMap<String, Vec<Consent>>,
}

impl Default for ConsentFile {
    fn default() -> Self {
        Self { version: VERSION, folders: BTreeMap::new() }
    }
}

/// One consent. If this version cannot parse its rule, it is kept but has no effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Consent {
    /// Rule that is allowed.
    pub rule: String,
    /// Time of the consent, in milliseconds since 1970.
    #[serde(default)]
    pub at: i64,
}

impl Consents {
    /// Returns the store for a folder. There is none if the user has no state folder, or if that lies in the working folder, where runs
    /// write.
    pub fn of(environment: &Environment, folder: &Path) -> Option<Self> {
        let file = environment.state_outside(folder)?.join("permissions.json");
        Some(Self { file, folder: folder.canonicalize().ok()?.display().to_string() })
    }

    /// Returns the consents for this folder, oldest first.
    pub fn list(&self) -> Result<Vec<Consent>, RunsError> {
        Ok(self.read()?.folders.remove(&self.folder).unwrap_or_default())
    }

    /// Returns the consents for this folder as rules.
    pub fn rules(&self) -> Result<Vec<PermissionRule>, RunsError> {
        Ok(self.list()?.iter().filter_map(|consent| consent.rule.parse().ok()).collect())
    }

    /// Adds the rules that are not there yet.
    pub fn add(&self, rules: &[String], at: i64) -> Result<(), RunsError> {
        self.change(|known| {
            for rule in rules {
                if !known.iter().any(|consent| consent.rule == *rule) {
                    known.push(Consent { rule: rule.clone(), at });
                }
            }
        })
    }

    /// Removes the consent with this number in the list, from 1, or all of them. Returns the removed ones.
    pub fn forget(&self, number: Option<usize>) -> Result<Vec<Consent>, RunsError> {
        let mut gone = Vec::new();
        self.change(|known| match number {
            Some(number) => gone.extend((1..=known.len()).contains(&number).then(|| known.remove(number - 1))),
            None => gone = std::mem::take(known),
        })?;
        Ok(gone)
    }

    /// Returns the path of the file, for people.
    pub fn file(&self) -> &Path {
        &self.file
    }

    fn read(&self) -> Result<ConsentFile, RunsError> {
        let text = match fs::read_to_string(&self.file) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(ConsentFile::default()),
            Err(error) => return Err(self.failed(&error)),
        };
        let kept: ConsentFile = serde_json::from_str(&text).map_err(|error| {
            RunsError::usage(message!("unreadable", what = self.file.display(), reason = Message::text(error)))
                .hint(message!("consents-unreadable"))
        })?;
        if kept.version > VERSION {
            return Err(RunsError::usage(message!("consents-newer", file = self.file.display())).hint(message!("consents-newer-hint")));
        }
        Ok(kept)
    }

    /// Changes the list of this folder under a lock against other processes, and replaces the file atomically.
    fn change(&self, change: impl FnOnce(&mut Vec<Consent>)) -> Result<(), RunsError> {
        let folder = self.file.parent().unwrap_or(Path::new("."));
        let failed = |error: io::Error| self.failed(&error);
        fs::create_dir_all(folder).map_err(failed)?;
        let lock = lock(&self.file.with_extension("lock")).map_err(failed)?;
        let mut kept = self.read()?;
        kept.version = VERSION;
        let list = kept.folders.entry(self.folder.clone()).or_default();
        change(list);
        if list.is_empty() {
            kept.folders.remove(&self.folder);
        }
        let text = serde_json::to_string_pretty(&kept).map_err(RunsError::internal)?;
        let mut new = tempfile::NamedTempFile::new_in(folder).map_err(without_path).map_err(failed)?;
        new.write_all(text.as_bytes()).and_then(|()| new.as_file().sync_all()).map_err(failed)?;
        new.persist(&self.file).map_err(|error| self.failed(&error.error))?;
        drop(lock);
        Ok(())
    }

    fn failed(&self, error: &io::Error) -> RunsError {
        RunsError::usage(message!("at-place", place = self.file.display(), what = Message::text(error))).hint(message!("consents-rights"))
    }
}

/// Takes the lock, which lasts as long as the returned file.
fn lock(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(path)?;
    file.lock()?;
    Ok(file)
}
