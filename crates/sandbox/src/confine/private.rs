//! Private temporary folder of the commands of one run, removed at the end of the run.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use tempfile::TempDir;

use crate::process::remove_at_end;

/// Created when the first command needs it.
#[derive(Debug)]
pub(crate) struct PrivateFolder {
    place: PathBuf,
    folder: Mutex<Option<TempDir>>,
}

impl PrivateFolder {
    /// Creates a handle for a folder that will be created in this place.
    pub(crate) fn within(place: &Path) -> Self {
        Self { place: place.to_owned(), folder: Mutex::new(None) }
    }

    /// Returns the folder, and creates it if needed.
    ///
    /// # Errors
    /// The error of creating it.
    pub(crate) fn path(&self) -> io::Result<PathBuf> {
        let mut made = self.folder.lock().unwrap_or_else(PoisonError::into_inner);
        // Another program may have deleted the folder in the meantime.
        if let Some(folder) = made.as_ref().filter(|folder| folder.path().is_dir()) {
            return Ok(folder.path().to_owned());
        }
        let mut builder = tempfile::Builder::new();
        builder.prefix("aime-");
        // On other systems the user's own temporary folder is already private.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
        let folder = builder.tempdir_in(&self.place)?;
        let path = folder.path().canonicalize()?;
        std::fs::create_dir(path.join("cache"))?;
        remove_at_end(&path);
        *made = Some(folder);
        Ok(path)
    }
}
