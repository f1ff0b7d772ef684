//! A store of what is large, by content, in a folder that all processes of a deployment share.

use std::{
    borrow::Cow,
    fs,
    io::{ErrorKind, Write as _},
    path::{Path, PathBuf},
};

use tempfile::NamedTempFile;

use crate::{Seal, SealError, seal::is_sealed};

/// Why something large could not be stored or found.
#[derive(Debug, thiserror::Error)]
pub enum BlobError {
    /// The folder could not be written to.
    #[error("{path} cannot be written: {source}")]
    Write {
        /// Where.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The folder could not be read, or has no such blob.
    #[error("{path} cannot be read: {source}; every worker and client must share the folder of the blobs")]
    Read {
        /// Where.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// What is there is not what was stored.
    #[error("{path} holds something else than its name says")]
    Damaged {
        /// Where.
        path: PathBuf,
    },
    /// It could not be sealed, or opened.
    #[error("{name} cannot be used: {source}")]
    Seal {
        /// Its name.
        name: String,
        /// Why.
        source: SealError,
    },
    /// The name is no name of a blob.
    #[error("{name:?} is no name of a blob")]
    Name {
        /// The name.
        name: String,
    },
}

/// Blobs in a folder, named by the BLAKE3 hash of what they hold: a keyed one where they are sealed. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Blobs {
    folder: PathBuf,
    seal: Option<Seal>,
}

impl Blobs {
    /// In a folder, which is made when the first blob is stored.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), seal: None }
    }

    /// The same, where all that is stored is sealed. What was stored without is still found.
    #[must_use]
    pub fn sealed(self, seal: Option<Seal>) -> Self {
        Self { seal, ..self }
    }

    pub(crate) const fn seal(&self) -> Option<&Seal> {
        self.seal.as_ref()
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Stores bytes and gives their name. They are on the disk when it returns; what is there already is not written again.
    ///
    /// # Errors
    /// [`BlobError::Write`].
    pub fn put(&self, bytes: &[u8]) -> Result<String, BlobError> {
        let named = self.seal.as_ref().and_then(|seal| seal.name(bytes));
        let name = named.unwrap_or_else(|| blake3::hash(bytes).to_hex().to_string());
        let path = self.path(&name)?;
        let failed = |source| BlobError::Write { path: path.clone(), source };
        if path.exists() {
            return Ok(name);
        }
        let sealed = match &self.seal {
            Some(seal) => Cow::Owned(seal.seal(bytes).map_err(|source| BlobError::Seal { name: name.clone(), source })?),
            None => Cow::Borrowed(bytes),
        };
        let folder = path.parent().unwrap_or(&self.folder);
        fs::create_dir_all(folder).map_err(failed)?;
        let mut file = NamedTempFile::new_in(folder).map_err(failed)?;
        file.write_all(&sealed).and_then(|()| file.as_file().sync_all()).map_err(failed)?;
        match file.persist_noclobber(&path) {
            Ok(_) => {
                // Its name is lasting too: the engine will know it.
                #[cfg(unix)]
                fs::File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)?;
                Ok(name)
            }
            // Another process was quicker with the same bytes.
            Err(error) if error.error.kind() == ErrorKind::AlreadyExists => Ok(name),
            Err(error) => Err(failed(error.error)),
        }
    }

    /// The bytes of a name, checked against it.
    ///
    /// # Errors
    /// [`BlobError`].
    pub fn get(&self, name: &str) -> Result<Vec<u8>, BlobError> {
        let path = self.path(name)?;
        let bytes = fs::read(&path).map_err(|source| BlobError::Read { path: path.clone(), source })?;
        if blake3::hash(&bytes).to_hex().as_str() == name {
            return Ok(bytes);
        }
        if !is_sealed(&bytes) {
            return Err(BlobError::Damaged { path });
        }
        let failed = |source| BlobError::Seal { name: name.to_owned(), source };
        let (bytes, own) = self.seal.as_ref().ok_or_else(|| failed(SealError::NoKeyGiven))?.open_named(&bytes).map_err(failed)?;
        if own == name { Ok(bytes) } else { Err(BlobError::Damaged { path }) }
    }

    /// A name that came from elsewhere must not become any other path.
    fn path(&self, name: &str) -> Result<PathBuf, BlobError> {
        let fits = name.len() == 2 * blake3::OUT_LEN && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        match name.split_at_checked(2).filter(|_| fits) {
            Some((first, rest)) => Ok(self.folder.join(first).join(rest)),
            None => Err(BlobError::Name { name: name.to_owned() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BlobError, Blobs};
    use crate::Seal;

    #[test]
    fn what_is_stored_is_found_and_damage_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let blobs = Blobs::new(folder.path().join("blobs"));
        let name = blobs.put(b"a long text").unwrap();
        assert_eq!(blobs.put(b"a long text").unwrap(), name);
        assert_eq!(blobs.get(&name).unwrap(), b"a long text");
        std::fs::write(blobs.path(&name).unwrap(), "another").unwrap();
        assert!(matches!(blobs.get(&name), Err(BlobError::Damaged { .. })));
        assert!(matches!(blobs.get(&"0".repeat(64)), Err(BlobError::Read { .. })));
    }

    #[test]
    fn what_is_sealed_is_found_by_its_key_alone() {
        let folder = tempfile::tempdir().unwrap();
        let seal = |digit: &str| Some(Seal::read(&digit.repeat(64)).unwrap());
        let plain = Blobs::new(folder.path());
        let (one, other) = (plain.clone().sealed(seal("1")), plain.clone().sealed(seal("2")));
        let name = one.put(b"a long text").unwrap();
        assert_eq!(one.put(b"a long text").unwrap(), name, "it is stored once");
        assert_eq!(one.get(&name).unwrap(), b"a long text");
        let stored = std::fs::read(one.path(&name).unwrap()).unwrap();
        assert!(!stored.windows(4).any(|part| part == b"long"));
        for without in [&other, &plain] {
            assert!(matches!(without.get(&name), Err(BlobError::Seal { .. })));
        }
        assert_eq!(one.get(&plain.put(b"from before").unwrap()).unwrap(), b"from before");
        // One blob does not stand for another.
        let more = one.put(b"more").unwrap();
        std::fs::copy(one.path(&more).unwrap(), one.path(&name).unwrap()).unwrap();
        assert!(matches!(one.get(&name), Err(BlobError::Damaged { .. })));
    }

    #[test]
    fn no_name_leads_out_of_the_folder() {
        let blobs = Blobs::new("blobs");
        for name in ["", "../../etc/passwd", "é", &format!("../{}", "a".repeat(61)), &"g".repeat(64)] {
            assert!(matches!(blobs.get(name), Err(BlobError::Name { .. })), "{name:?}");
        }
    }
}
