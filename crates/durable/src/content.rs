//! Contents by name: the name of a content is the BLAKE3 hash of its bytes, so that equal contents are stored once and damage is seen.

use std::{
    collections::BTreeSet,
    fmt,
    fs::{self, DirBuilder, File},
    io::{self, ErrorKind, Write as _},
    path::{Path, PathBuf},
    time::SystemTime,
};

use aime_messages::{Describe, Message, message};
use futures::{FutureExt as _, future::BoxFuture};
use tempfile::NamedTempFile;
use tokio::task::spawn_blocking;

/// Reason why a content could not be stored or returned.
#[derive(Debug, thiserror::Error)]
pub enum ContentError {
    /// The store could not be used, or has no such content (then the source is [`ErrorKind::NotFound`]).
    #[error("{}", self.describe())]
    Store {
        /// Place of the content, or of several.
        place: String,
        /// Attempted action, such as `read`.
        action: &'static str,
        /// Error of the operating system, or of the service.
        source: io::Error,
    },
    /// The content differs from what was stored.
    #[error("{}", self.describe())]
    Damaged {
        /// Place of the content.
        place: String,
    },
    /// The name is not the name of a content.
    #[error("{}", self.describe())]
    Name {
        /// The name.
        name: String,
    },
}

impl Describe for ContentError {
    fn describe(&self) -> Message {
        match self {
            Self::Store { place, action, source } => message!("file-failed", path = place, action, error = source),
            Self::Damaged { place } => message!("content-damaged", place),
            Self::Name { name } => message!("content-name", name = format!("{name:?}")),
        }
    }
}

/// Place for contents, each under its name. A caller that stores something else than the named bytes, such as their encryption, checks it
/// by itself.
pub trait ContentStore: fmt::Debug + Send + Sync {
    /// Returns the stored bytes of a name.
    fn read<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Vec<u8>, ContentError>>;

    /// Stores bytes under a name, and replaces existing ones. They are durable when this returns.
    fn write<'a>(&'a self, name: &'a str, bytes: Vec<u8>) -> BoxFuture<'a, Result<(), ContentError>>;

    /// Renews the time of a content, so that a cleanup of old contents keeps it. Returns false if only [`write`](Self::write) does that.
    fn renew<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<bool, ContentError>>;

    /// Returns the place of a content for messages.
    fn place(&self, name: &str) -> String;
}

/// Returns the name of a content.
#[must_use]
pub fn content_name(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

/// Checks that a name from outside is the name of a content, which leads to no other path.
///
/// # Errors
/// [`ContentError::Name`].
pub fn check_name(name: &str) -> Result<&str, ContentError> {
    let fits = name.len() == 2 * blake3::OUT_LEN && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    if fits { Ok(name) } else { Err(ContentError::Name { name: name.to_owned() }) }
}

/// Contents in a folder, with a folder in it for the first two digits of names. Only their owner may read them. The folders are created when
/// they are needed. Methods block.
#[derive(Debug, Clone)]
pub struct FolderStore {
    folder: PathBuf,
    is_synced: bool,
}

impl FolderStore {
    /// Creates a store whose new contents a loss of power may take.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), is_synced: false }
    }

    /// Returns the same store, which waits until a new content and its name are on the disk.
    #[must_use]
    pub fn synced(self) -> Self {
        Self { is_synced: true, ..self }
    }

    /// Returns the bytes of a name, checked against it.
    ///
    /// # Errors
    /// [`ContentError`].
    pub fn get(&self, name: &str) -> Result<Vec<u8>, ContentError> {
        let path = self.path(name)?;
        let bytes = fs::read(&path).map_err(failed(&path, "read"))?;
        if content_name(&bytes) == name { Ok(bytes) } else { Err(ContentError::Damaged { place: path.display().to_string() }) }
    }

    /// Returns true if there is a content with this name and size.
    #[must_use]
    pub fn has(&self, name: &str, size: u64) -> bool {
        self.path(name).is_ok_and(|path| fs::metadata(path).is_ok_and(|found| found.len() == size))
    }

    /// Stores bytes under a name, whole or not at all, and replaces existing ones.
    ///
    /// # Errors
    /// [`ContentError`].
    pub fn put(&self, name: &str, bytes: &[u8]) -> Result<(), ContentError> {
        let path = self.path(name)?;
        let folder = path.parent().unwrap_or(&self.folder);
        let put = || {
            let is_new = !folder.exists();
            private_folder(folder)?;
            let mut file = NamedTempFile::new_in(folder)?;
            file.write_all(bytes)?;
            if self.is_synced {
                file.as_file().sync_all()?;
            }
            file.persist(&path)?;
            if self.is_synced {
                sync_names(folder)?;
                if is_new {
                    sync_names(&self.folder)?;
                }
            }
            Ok(())
        };
        put().map_err(failed(&path, "written"))
    }

    /// Removes the contents outside of `wanted`. Returns the number of remaining bytes. No process may store contents meanwhile.
    ///
    /// # Errors
    /// [`ContentError`].
    pub fn sweep(&self, wanted: &BTreeSet<String>) -> Result<u64, ContentError> {
        let mut left = 0;
        for parent in fs::read_dir(&self.folder).map_err(failed(&self.folder, "listed"))? {
            let parent = parent.map_err(failed(&self.folder, "listed"))?.path();
            let Some(start) = parent.file_name().and_then(|name| name.to_str()) else { continue };
            for entry in fs::read_dir(&parent).map_err(failed(&parent, "listed"))? {
                let entry = entry.map_err(failed(&parent, "listed"))?;
                if wanted.contains(&format!("{start}{}", entry.file_name().to_string_lossy())) {
                    left += entry.metadata().map_or(0, |found| found.len());
                } else {
                    fs::remove_file(entry.path()).map_err(failed(&entry.path(), "removed"))?;
                }
            }
            // A folder that is not empty stays.
            drop(fs::remove_dir(&parent));
        }
        Ok(left)
    }

    /// Returns the file of a name.
    fn path(&self, name: &str) -> Result<PathBuf, ContentError> {
        let (start, rest) = check_name(name)?.split_at(2);
        Ok(self.folder.join(start).join(rest))
    }

    /// Runs a blocking operation on the file of a name.
    fn blocking<T: Send + 'static>(
        &self,
        name: &str,
        action: &'static str,
        operation: impl FnOnce(&Self, &str, &Path) -> Result<T, ContentError> + Send + 'static,
    ) -> BoxFuture<'static, Result<T, ContentError>> {
        let (store, name) = (self.clone(), name.to_owned());
        async move {
            let path = store.path(&name)?;
            let operated = {
                let path = path.clone();
                spawn_blocking(move || operation(&store, &name, &path)).await
            };
            operated.map_err(|error| failed(&path, action)(io::Error::other(error)))?
        }
        .boxed()
    }
}

impl ContentStore for FolderStore {
    fn read<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Vec<u8>, ContentError>> {
        self.blocking(name, "read", |_, _, path| fs::read(path).map_err(failed(path, "read")))
    }

    fn write<'a>(&'a self, name: &'a str, bytes: Vec<u8>) -> BoxFuture<'a, Result<(), ContentError>> {
        self.blocking(name, "written", move |store, name, _| store.put(name, &bytes))
    }

    fn renew<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<bool, ContentError>> {
        self.blocking(name, "written", |_, _, path| {
            match File::options().append(true).open(path).and_then(|file| file.set_modified(SystemTime::now())) {
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
                renewed => renewed.map(|()| true).map_err(failed(path, "written")),
            }
        })
    }

    fn place(&self, name: &str) -> String {
        self.path(name).map_or_else(|error| error.to_string(), |path| path.display().to_string())
    }
}

/// Creates a folder that only its owner may access, and the folders above it. On Windows they have the rights of their parent.
///
/// # Errors
/// Errors of the operating system.
pub fn private_folder(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.recursive(true).create(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

/// Makes the names in a folder durable.
fn sync_names(folder: &Path) -> io::Result<()> {
    if cfg!(unix) {
        match File::open(folder).and_then(|folder| folder.sync_all()) {
            // Some network file systems do not support this.
            Err(error) if !matches!(error.kind(), ErrorKind::Unsupported | ErrorKind::InvalidInput) => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Returns a function for `map_err` that wraps an error of the operating system at a path.
fn failed(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> ContentError {
    move |source| ContentError::Store { place: path.display().to_string(), action, source }
}

#[cfg(test)]
mod tests;
