//! The temp folder of the commands of one run: nobody else's, and gone when the run is.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use tempfile::TempDir;

use crate::process::remove_at_end;

/// Made when the first command wants it.
#[derive(Debug)]
pub(crate) struct PrivateFolder {
    place: PathBuf,
    made: Mutex<Option<TempDir>>,
}

impl PrivateFolder {
    /// One that will be made in this folder.
    pub(crate) fn within(place: &Path) -> Self {
        Self { place: place.to_owned(), made: Mutex::new(None) }
    }

    /// The folder, which is there from now on.
    ///
    /// # Errors
    /// When it cannot be made.
    pub(crate) fn path(&self) -> io::Result<PathBuf> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        // Somebody may have emptied the folder around it.
        if let Some(folder) = made.as_ref().filter(|folder| folder.path().is_dir()) {
            return Ok(folder.path().to_owned());
        }
        let mut builder = tempfile::Builder::new();
        builder.prefix("aime-");
        // Elsewhere the user's own temp folder is theirs alone.
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
