//! Folder of downloaded models.

use std::{
    io,
    path::{Path, PathBuf},
};

use super::sha256_of_file;
use crate::CatalogModel;

/// Folder of downloaded models. Several processes may share it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelStore {
    folder: PathBuf,
}

/// Presence of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Presence {
    /// The file is present with the right length. Its hash was checked when it was stored.
    Here {
        /// The file.
        file: PathBuf,
    },
    /// A file of its name has another length: it was damaged later, or stored by hand. A download replaces it.
    Damaged {
        /// The file.
        file: PathBuf,
        /// Its length in bytes.
        bytes: u64,
    },
    /// The file is missing.
    Absent {
        /// Number of bytes already downloaded.
        kept: u64,
    },
}

impl ModelStore {
    /// Creates a store in this folder, which need not exist.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// Returns the folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the path of a model's file, whether it exists or not.
    #[must_use]
    pub fn file(&self, model: &CatalogModel) -> PathBuf {
        self.folder.join(&model.file)
    }

    /// Checks the presence of a model by names and lengths alone; see [`Self::verify`].
    #[must_use]
    pub fn presence(&self, model: &CatalogModel) -> Presence {
        let length = |path: &Path| path.metadata().ok().filter(std::fs::Metadata::is_file).map(|found| found.len());
        let file = self.file(model);
        match length(&file) {
            Some(bytes) if bytes == model.bytes => Presence::Here { file },
            Some(bytes) => Presence::Damaged { file, bytes },
            None => Presence::Absent { kept: length(&self.part_file(model)).unwrap_or(0) },
        }
    }

    /// Reads the whole file of a model and returns true if its bytes are the pinned ones. A gigabyte takes a second or more.
    ///
    /// # Errors
    /// The file cannot be read.
    pub async fn verify(&self, model: &CatalogModel) -> io::Result<bool> {
        let file = self.file(model);
        let found = tokio::task::spawn_blocking(move || sha256_of_file(&file)).await.map_err(io::Error::other)??;
        Ok(found == model.sha256)
    }

    /// Removes the file of a model, and its partial download. A missing file is no error.
    ///
    /// # Errors
    /// Error of the operating system.
    pub fn remove(&self, model: &CatalogModel) -> io::Result<()> {
        for path in [self.file(model), self.part_file(model)] {
            match std::fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    pub(super) fn part_file(&self, model: &CatalogModel) -> PathBuf {
        self.folder.join(format!("{}.part", model.file))
    }

    pub(super) fn lock_file(&self, model: &CatalogModel) -> PathBuf {
        self.folder.join(format!("{}.lock", model.file))
    }

    pub(super) fn wheels(&self) -> PathBuf {
        self.folder.join("wheels")
    }
}
