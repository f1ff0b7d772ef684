//! Blobs in a folder that processes share.

use std::{
    fs::{self, File},
    io::{ErrorKind, Write as _},
    path::{Path, PathBuf},
    time::SystemTime,
};

use tempfile::NamedTempFile;

use super::BlobError;

/// A folder, with a folder in it for the first two digits of names.
#[derive(Debug, Clone)]
pub(super) struct Folder {
    folder: PathBuf,
}

impl Folder {
    pub(super) const fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        let (first, rest) = name.split_at_checked(2).unwrap_or((name, ""));
        self.folder.join(first).join(rest)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    pub(super) fn get(&self, name: &str) -> Result<Vec<u8>, BlobError> {
        let path = self.path(name);
        fs::read(&path).map_err(|source| BlobError::Read { path, source })
    }

    /// Renews the time of a blob, so that a cleanup of old blobs keeps it.
    pub(super) fn touch(&self, name: &str) -> Result<(), BlobError> {
        let path = self.path(name);
        let touched = File::options().append(true).open(&path).and_then(|file| file.set_modified(SystemTime::now()));
        touched.map_err(|source| BlobError::Write { path, source })
    }

    /// Writes the blob whole, replacing an existing one. Content and name are on the disk when this returns.
    pub(super) fn put(&self, name: &str, bytes: &[u8]) -> Result<(), BlobError> {
        let path = self.path(name);
        let failed = |source| BlobError::Write { path: path.clone(), source };
        let folder = path.parent().unwrap_or(&self.folder);
        let is_new = !folder.exists();
        fs::create_dir_all(folder).map_err(failed)?;
        let mut file = NamedTempFile::new_in(folder).map_err(failed)?;
        file.write_all(bytes).and_then(|()| file.as_file().sync_all()).map_err(failed)?;
        file.persist(&path).map_err(|error| failed(error.error))?;
        lasting(folder).map_err(failed)?;
        if is_new { lasting(&self.folder).map_err(failed) } else { Ok(()) }
    }
}

/// Makes the names in a folder durable too, because the engine will refer to them.
fn lasting(folder: &Path) -> std::io::Result<()> {
    if cfg!(unix) {
        match File::open(folder).and_then(|folder| folder.sync_all()) {
            // Some network file systems do not support this.
            Err(error) if !matches!(error.kind(), ErrorKind::Unsupported | ErrorKind::InvalidInput) => return Err(error),
            _ => {}
        }
    }
    Ok(())
}
