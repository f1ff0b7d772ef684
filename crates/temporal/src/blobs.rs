//! Blobs: large contents that all processes of a deployment share, in a folder or a bucket of S3.

mod bucket;

use std::{path::PathBuf, sync::Arc};

use aime_durable::{ContentError, ContentStore, FolderStore, content_name};
use aime_messages::{Describe, Message, message};
use tokio::task::{JoinError, spawn_blocking};

pub use self::bucket::{Bucket, BucketError, BucketKeys};
use crate::{Seal, SealError, seal::is_sealed};

/// Reason why a blob could not be stored or found.
#[derive(Debug, thiserror::Error)]
pub enum BlobError {
    /// The store did not take it.
    #[error(transparent)]
    Write(ContentError),
    /// The store did not return it, or has no such blob.
    #[error("{}", self.describe())]
    Read(ContentError),
    /// The blob could not be encrypted or decrypted.
    #[error("{}", self.describe())]
    Seal {
        /// Name of the blob.
        name: String,
        /// Error of the decryption.
        source: SealError,
    },
    /// The work on the bytes was not completed: the process ends, or aime has a fault.
    #[error("{}", self.describe())]
    GivenUp(#[from] JoinError),
}

impl Describe for BlobError {
    fn describe(&self) -> Message {
        match self {
            Self::Write(error) => error.describe(),
            Self::Read(error) => message!("blob-unread", reason = error.describe()),
            Self::Seal { name, source } => message!("blob-sealed", name, reason = source.describe()),
            Self::GivenUp(error) => message!("blob-given-up", reason = error),
        }
    }
}

/// Blobs, named by the BLAKE3 hash of their content; sealed blobs by a keyed hash. Cheap to clone.
///
/// The time of a blob is that of its last use in a run that began or went on; storing it again renews its time.
#[derive(Debug, Clone)]
pub struct Blobs {
    store: Arc<dyn ContentStore>,
    seal: Option<Seal>,
}

impl Blobs {
    /// Keeps blobs in a store that all processes share, such as a [`Bucket`].
    #[must_use]
    pub fn new(store: impl ContentStore + 'static) -> Self {
        Self { store: Arc::new(store), seal: None }
    }

    /// Keeps blobs in a folder, which is created when the first blob is stored.
    #[must_use]
    pub fn in_folder(folder: impl Into<PathBuf>) -> Self {
        Self::new(FolderStore::new(folder).synced())
    }

    /// Returns the same store with encryption of everything that is stored. Blobs stored without encryption are still
    /// found.
    #[must_use]
    pub fn sealed(self, seal: Option<Seal>) -> Self {
        Self { seal, ..self }
    }

    pub(crate) const fn seal(&self) -> Option<&Seal> {
        self.seal.as_ref()
    }

    /// Stores bytes and returns their name. When it returns, they are on the disk or accepted by the bucket. In a
    /// folder, a blob that exists undamaged is not written again.
    ///
    /// # Errors
    /// [`BlobError`].
    pub async fn put(&self, bytes: Vec<u8>) -> Result<String, BlobError> {
        let seal = self.seal.clone();
        let sealed = spawn_blocking(move || {
            let named = seal.as_ref().and_then(|seal| seal.name(&bytes));
            let name = named.unwrap_or_else(|| content_name(&bytes));
            let sealed = match &seal {
                Some(seal) => seal.seal(&bytes).map_err(|source| BlobError::Seal { name: name.clone(), source })?,
                None => bytes,
            };
            Ok::<_, BlobError>((name, sealed))
        });
        let (name, bytes) = sealed.await??;
        let is_whole = self.store.renew(&name).await.map_err(BlobError::Write)? && self.get(&name).await.is_ok();
        if !is_whole {
            self.store.write(&name, bytes).await.map_err(BlobError::Write)?;
        }
        Ok(name)
    }

    /// Returns the bytes of a name, checked against it.
    ///
    /// # Errors
    /// [`BlobError`].
    pub async fn get(&self, name: &str) -> Result<Vec<u8>, BlobError> {
        let bytes = self.store.read(name).await.map_err(BlobError::Read)?;
        let (place, name, seal) = (self.store.place(name), name.to_owned(), self.seal.clone());
        let opened = spawn_blocking(move || {
            if content_name(&bytes) == name {
                return Ok(bytes);
            }
            if is_sealed(&bytes) {
                let failed = |source| BlobError::Seal { name: name.clone(), source };
                let (bytes, own) = seal.as_ref().ok_or_else(|| failed(SealError::NoKeyGiven))?.open_named(&bytes).map_err(failed)?;
                if own == name {
                    return Ok(bytes);
                }
            }
            Err(BlobError::Read(ContentError::Damaged { place }))
        });
        opened.await?
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs::File,
        time::{Duration, SystemTime},
    };

    use super::*;

    fn at(blobs: &Blobs, name: &str) -> String {
        blobs.store.place(name)
    }

    // Requirement: 18.5
    #[tokio::test]
    async fn what_is_stored_is_found_and_damage_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let blobs = Blobs::in_folder(folder.path().join("blobs"));
        let name = blobs.put(b"a long text".to_vec()).await.unwrap();
        assert_eq!(blobs.put(b"a long text".to_vec()).await.unwrap(), name);
        assert_eq!(blobs.get(&name).await.unwrap(), b"a long text");
        std::fs::write(at(&blobs, &name), "another").unwrap();
        assert!(matches!(blobs.get(&name).await, Err(BlobError::Read(ContentError::Damaged { .. }))));
        assert_eq!(blobs.put(b"a long text".to_vec()).await.unwrap(), name);
        assert_eq!(blobs.get(&name).await.unwrap(), b"a long text", "what was damaged is whole again");
        assert!(matches!(blobs.get(&"0".repeat(64)).await, Err(BlobError::Read(ContentError::Store { .. }))));
    }

    // Requirement: 18.5
    #[tokio::test]
    async fn what_is_stored_again_is_as_if_it_were_new() {
        let folder = tempfile::tempdir().unwrap();
        for blobs in [Blobs::in_folder(folder.path()), Blobs::in_folder(folder.path()).sealed(Some(Seal::read(&"1".repeat(64)).unwrap()))] {
            let name = blobs.put(b"a long text".to_vec()).await.unwrap();
            let file = File::options().append(true).open(at(&blobs, &name)).unwrap();
            let before = std::fs::read(at(&blobs, &name)).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
            blobs.put(b"a long text".to_vec()).await.unwrap();
            assert!(file.metadata().unwrap().modified().unwrap() > SystemTime::now() - Duration::from_secs(3_600));
            assert_eq!(std::fs::read(at(&blobs, &name)).unwrap(), before, "it is not written again");
        }
    }

    #[tokio::test]
    async fn what_is_sealed_is_found_by_its_key_alone() {
        let folder = tempfile::tempdir().unwrap();
        let seal = |digit: &str| Some(Seal::read(&digit.repeat(64)).unwrap());
        let plain = Blobs::in_folder(folder.path());
        let (one, other) = (plain.clone().sealed(seal("1")), plain.clone().sealed(seal("2")));
        let name = one.put(b"a long text".to_vec()).await.unwrap();
        assert_eq!(one.put(b"a long text".to_vec()).await.unwrap(), name, "it is stored once");
        assert_eq!(one.get(&name).await.unwrap(), b"a long text");
        let stored = std::fs::read(at(&one, &name)).unwrap();
        assert!(!stored.windows(4).any(|part| part == b"long"));
        for without in [&other, &plain] {
            assert!(matches!(without.get(&name).await, Err(BlobError::Seal { .. })));
        }
        assert_eq!(one.get(&plain.put(b"from before".to_vec()).await.unwrap()).await.unwrap(), b"from before");
        // A blob cannot be replaced by another one.
        let more = one.put(b"more".to_vec()).await.unwrap();
        std::fs::copy(at(&one, &more), at(&one, &name)).unwrap();
        assert!(matches!(one.get(&name).await, Err(BlobError::Read(ContentError::Damaged { .. }))));
    }

    // Requirement: 18.5
    #[tokio::test]
    async fn no_name_leads_out_of_the_folder() {
        let blobs = Blobs::in_folder("blobs");
        for name in ["", "../../etc/passwd", "é", &format!("../{}", "a".repeat(61)), &"g".repeat(64)] {
            assert!(matches!(blobs.get(name).await, Err(BlobError::Read(ContentError::Name { .. }))), "{name:?}");
        }
    }
}
