//! Folder of an evaluation: locked against other processes, and used only if it holds nothing else.

use std::{
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
};

use crate::remove_tree;

/// Folder of an evaluation. It is locked until it is dropped.
#[derive(Debug)]
pub struct EvaluationFolder {
    path: PathBuf,
    _lock: File,
}

/// Reason why a folder cannot hold an evaluation.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// The folder holds files of another origin, which new trials and proofs would delete.
    #[error("{} existed before and is not the folder of an evaluation", .0.display())]
    Foreign(PathBuf),
    /// Another process evaluates in the folder.
    #[error("another evaluation is under way in {}", .0.display())]
    Busy(PathBuf),
    /// The folder cannot be made or locked.
    #[error("cannot use {}: {source}", path.display())]
    Unusable {
        /// The folder, or its lock.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
}

impl EvaluationFolder {
    /// Opens a folder, and makes it if necessary.
    ///
    /// # Errors
    /// [`FolderError`] with the reason why it cannot hold an evaluation.
    pub fn open(path: PathBuf) -> Result<Self, FolderError> {
        let unusable = |path: &Path, source| FolderError::Unusable { path: path.to_owned(), source };
        fs::create_dir_all(&path).map_err(|error| unusable(&path, error))?;
        let has = |name: &str| path.join(name).exists();
        if let Some(part) = ["trials", "proofs"].into_iter().find(|part| has(part))
            && !has("lock")
            && !has("trials.jsonl")
        {
            return Err(FolderError::Foreign(path.join(part)));
        }
        let lock = path.join("lock");
        let held = File::create(&lock).map_err(TryLockError::Error).and_then(|file| file.try_lock().map(|()| file));
        match held {
            Ok(held) => Ok(Self { path, _lock: held }),
            Err(TryLockError::WouldBlock) => Err(FolderError::Busy(path)),
            Err(TryLockError::Error(error)) => Err(unusable(&lock, error)),
        }
    }

    /// Returns its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the files of the evaluation, and nothing else.
    ///
    /// # Errors
    /// The error of the operating system.
    pub fn clear(&self) -> io::Result<()> {
        ["trials", "proofs", "trials.jsonl", "summary.md", "summary.html"].iter().try_for_each(|name| remove_tree(&self.path.join(name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_used_by_one_and_only_if_it_is_its_own() {
        let root = tempfile::tempdir().unwrap();
        let path = || root.path().join("e");
        let folder = EvaluationFolder::open(path()).unwrap();
        assert!(matches!(EvaluationFolder::open(path()), Err(FolderError::Busy(_))));
        fs::create_dir_all(path().join("trials")).unwrap();
        fs::write(path().join("notes.txt"), "mine").unwrap();
        folder.clear().unwrap();
        assert!(!path().join("trials").exists() && path().join("notes.txt").exists());
        drop(folder);
        fs::create_dir_all(path().join("proofs")).unwrap();
        assert!(EvaluationFolder::open(path()).is_ok(), "it has a lock");
        fs::remove_file(path().join("lock")).unwrap();
        assert!(matches!(EvaluationFolder::open(path()), Err(FolderError::Foreign(part)) if part.ends_with("proofs")));
    }
}
