//! The folder in which models are kept.

use std::{
    io,
    path::{Path, PathBuf},
};

use super::sha256_of_file;
use crate::CatalogModel;

/// The folder in which models are kept. Several processes may share it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelStore {
    folder: PathBuf,
}

/// Whether a model is here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Presence {
    /// Its file is here, of the right length; its hash was checked when it was put here.
    Here {
        /// The file.
        file: PathBuf,
    },
    /// There is a file of its name, and of another length: it was damaged since, or put here by hand. Fetching replaces it.
    Damaged {
        /// The file.
        file: PathBuf,
        /// Its length in bytes.
        bytes: u64,
    },
    /// It is not here.
    Absent {
        /// Bytes of it that were fetched already.
        kept: u64,
    },
}

impl ModelStore {
    /// The models in this folder, which need not be there.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where the file of a model is, or would be.
    #[must_use]
    pub fn file(&self, model: &CatalogModel) -> PathBuf {
        self.folder.join(&model.file)
    }

    /// Whether a model is here. Looks at names and lengths alone; see [`Self::verify`].
    #[must_use]
    pub fn look(&self, model: &CatalogModel) -> Presence {
        let length = |path: &Path| path.metadata().ok().filter(std::fs::Metadata::is_file).map(|found| found.len());
        let file = self.file(model);
        match length(&file) {
            Some(bytes) if bytes == model.bytes => Presence::Here { file },
            Some(bytes) => Presence::Damaged { file, bytes },
            None => Presence::Absent { kept: length(&self.part_file(model)).unwrap_or(0) },
        }
    }

    /// Reads the whole file of a model and answers whether its bytes are the pinned ones. A gigabyte takes a second or more.
    ///
    /// # Errors
    /// The file cannot be read.
    pub async fn verify(&self, model: &CatalogModel) -> io::Result<bool> {
        let file = self.file(model);
        let found = tokio::task::spawn_blocking(move || sha256_of_file(&file)).await.map_err(io::Error::other)??;
        Ok(found == model.sha256)
    }

    /// Removes the file of a model, and what was fetched of it. It is no error if there is none.
    ///
    /// # Errors
    /// The operating system refuses.
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
