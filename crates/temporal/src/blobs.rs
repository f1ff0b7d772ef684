//! A store of what is large, by content, that all processes of a deployment share: a folder, or a bucket of S3.

mod bucket;
mod folder;

use std::path::PathBuf;

use tokio::task::{JoinError, spawn_blocking};

pub use self::bucket::{Bucket, BucketError, BucketKeys};
use self::folder::Folder;
use crate::{Seal, SealError, seal::is_sealed};

/// Reason why a blob could not be stored or found.
#[derive(Debug, thiserror::Error)]
pub enum BlobError {
    /// The folder could not be written to.
    #[error("{path} cannot be written: {source}")]
    Write {
        /// Path of the blob.
        path: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// The folder could not be read, or has no such blob.
    #[error("{path} cannot be read: {source}; every worker and client must share the folder of the blobs")]
    Read {
        /// Path of the blob.
        path: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// The bucket did not take it, did not give it, or has no such blob.
    #[error("{place} cannot be used: {why}")]
    Bucket {
        /// Place of the blob.
        place: String,
        /// Error of the store.
        why: String,
    },
    /// The content differs from what was stored.
    #[error("{place} holds something else than its name says")]
    Damaged {
        /// Place of the blob.
        place: String,
    },
    /// The blob could not be encrypted or decrypted.
    #[error("{name} cannot be used: {source}")]
    Seal {
        /// Name of the blob.
        name: String,
        /// Error of the decryption.
        source: SealError,
    },
    /// The name is no name of a blob.
    #[error("{name:?} is no name of a blob")]
    Name {
        /// The name.
        name: String,
    },
    /// The read or write was not completed: the process ends, or aime has a fault.
    #[error("it was given up: {0}")]
    GivenUp(#[from] JoinError),
}

#[derive(Debug, Clone)]
enum Store {
    Folder(Folder),
    Bucket(Box<Bucket>),
}

/// Blobs, named by the BLAKE3 hash of their content; sealed blobs by a keyed hash. Cheap to clone.
///
/// The time of a blob is that of its last use in a run that began or went on; storing it again renews its time.
#[derive(Debug, Clone)]
pub struct Blobs {
    store: Store,
    seal: Option<Seal>,
}

impl Blobs {
    /// Creates a store in a folder, which is created when the first blob is stored.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { store: Store::Folder(Folder::new(folder.into())), seal: None }
    }

    /// Creates a store in an existing bucket.
    #[must_use]
    pub fn in_bucket(bucket: Bucket) -> Self {
        Self { store: Store::Bucket(Box::new(bucket)), seal: None }
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
            let name = named.unwrap_or_else(|| blake3::hash(&bytes).to_hex().to_string());
            let sealed = match &seal {
                Some(seal) => seal.seal(&bytes).map_err(|source| BlobError::Seal { name: name.clone(), source })?,
                None => bytes,
            };
            Ok::<_, BlobError>((name, sealed))
        });
        let (name, bytes) = sealed.await??;
        match &self.store {
            Store::Bucket(bucket) => bucket.put(checked(&name)?, bytes).await?,
            Store::Folder(folder) => {
                let is_whole = folder.has(checked(&name)?) && self.get(&name).await.is_ok();
                let (folder, name) = (folder.clone(), name.clone());
                spawn_blocking(move || if is_whole { folder.touch(&name) } else { folder.put(&name, &bytes) }).await??;
            }
        }
        Ok(name)
    }

    /// Returns the bytes of a name, checked against it.
    ///
    /// # Errors
    /// [`BlobError`].
    pub async fn get(&self, name: &str) -> Result<Vec<u8>, BlobError> {
        let name = checked(name)?.to_owned();
        let (bytes, place) = match &self.store {
            Store::Bucket(bucket) => (bucket.get(&name).await?, bucket.place(&name)),
            Store::Folder(folder) => {
                let (folder, asked) = (folder.clone(), name.clone());
                let place = folder.path(&name).display().to_string();
                (spawn_blocking(move || folder.get(&asked)).await??, place)
            }
        };
        let seal = self.seal.clone();
        let opened = spawn_blocking(move || {
            if blake3::hash(&bytes).to_hex().as_str() == name {
                return Ok(bytes);
            }
            if !is_sealed(&bytes) {
                return Err(BlobError::Damaged { place });
            }
            let failed = |source| BlobError::Seal { name: name.clone(), source };
            let (bytes, own) = seal.as_ref().ok_or_else(|| failed(SealError::NoKeyGiven))?.open_named(&bytes).map_err(failed)?;
            if own == name { Ok(bytes) } else { Err(BlobError::Damaged { place }) }
        });
        opened.await?
    }
}

/// Checks a name from outside, which must not become another path.
fn checked(name: &str) -> Result<&str, BlobError> {
    let fits = name.len() == 2 * blake3::OUT_LEN && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    if fits { Ok(name) } else { Err(BlobError::Name { name: name.to_owned() }) }
}

#[cfg(test)]
mod tests {
    use std::{
        fs::File,
        path::PathBuf,
        time::{Duration, SystemTime},
    };

    use super::{BlobError, Blobs, Store};
    use crate::Seal;

    fn at(blobs: &Blobs, name: &str) -> PathBuf {
        match &blobs.store {
            Store::Folder(folder) => folder.path(name),
            Store::Bucket(_) => panic!("these are in a folder"),
        }
    }

    // Requirement: 18.5
    #[tokio::test]
    async fn what_is_stored_is_found_and_damage_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let blobs = Blobs::new(folder.path().join("blobs"));
        let name = blobs.put(b"a long text".to_vec()).await.unwrap();
        assert_eq!(blobs.put(b"a long text".to_vec()).await.unwrap(), name);
        assert_eq!(blobs.get(&name).await.unwrap(), b"a long text");
        std::fs::write(at(&blobs, &name), "another").unwrap();
        assert!(matches!(blobs.get(&name).await, Err(BlobError::Damaged { .. })));
        assert_eq!(blobs.put(b"a long text".to_vec()).await.unwrap(), name);
        assert_eq!(blobs.get(&name).await.unwrap(), b"a long text", "what was damaged is whole again");
        assert!(matches!(blobs.get(&"0".repeat(64)).await, Err(BlobError::Read { .. })));
    }

    // Requirement: 18.5
    #[tokio::test]
    async fn what_is_stored_again_is_as_if_it_were_new() {
        let folder = tempfile::tempdir().unwrap();
        for blobs in [Blobs::new(folder.path()), Blobs::new(folder.path()).sealed(Some(Seal::read(&"1".repeat(64)).unwrap()))] {
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
        let plain = Blobs::new(folder.path());
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
        assert!(matches!(one.get(&name).await, Err(BlobError::Damaged { .. })));
    }

    // Requirement: 18.5
    #[tokio::test]
    async fn no_name_leads_out_of_the_folder() {
        let blobs = Blobs::new("blobs");
        for name in ["", "../../etc/passwd", "é", &format!("../{}", "a".repeat(61)), &"g".repeat(64)] {
            assert!(matches!(blobs.get(name).await, Err(BlobError::Name { .. })), "{name:?}");
        }
    }
}
