//! The file that is being fetched: its bytes, and the hash of all of them so far.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};

use super::lock::Lock;

/// How much is read or written at once.
pub(super) const BLOCK: usize = 1 << 20;

/// A file that grows at its end. Its hash is kept along, so that nothing must be read again.
///
/// Work on it is done on threads for blocking calls. Where the future of such work is dropped, the work itself still ends as a whole.
#[derive(Debug)]
pub(super) struct PartFile {
    path: PathBuf,
    length: u64,
    growing: Option<Growing>,
}

/// The open file.
#[derive(Debug)]
pub(super) struct Growing {
    file: File,
    hash: Sha256,
    length: u64,
    // Held until the last work on the file has ended, also where nobody waits for it any more.
    _lock: Lock,
}

impl PartFile {
    /// Opens a part file, with what it holds from before. One that is longer than `limit` cannot be right and begins anew.
    pub(super) async fn open(path: PathBuf, limit: u64, lock: Lock) -> io::Result<Self> {
        let opened = path.clone();
        let growing = blocking(move || Growing::open(&opened, limit, lock)).await??;
        Ok(Self { path, length: growing.length, growing: Some(growing) })
    }

    /// Bytes that it holds.
    pub(super) const fn len(&self) -> u64 {
        self.length
    }

    /// Works on the open file.
    pub(super) async fn with<T: Send + 'static>(&mut self, work: impl FnOnce(&mut Growing) -> T + Send + 'static) -> io::Result<T> {
        let mut growing = self.growing.take().ok_or_else(|| io::Error::other("the file was left by an earlier failure"))?;
        let (growing, result) = blocking(move || {
            let result = work(&mut growing);
            (growing, result)
        })
        .await?;
        self.length = growing.length;
        self.growing = Some(growing);
        Ok(result)
    }

    /// Writes bytes at its end.
    pub(super) async fn append(&mut self, bytes: Vec<u8>) -> io::Result<()> {
        self.with(move |growing| growing.append(&bytes)).await?
    }

    /// Drops everything that it holds.
    pub(super) async fn clear(&mut self) -> io::Result<()> {
        self.with(|growing| growing.cut_to(0, Sha256::new())).await?
    }

    /// The SHA-256 of what it holds, in lower-case hexadecimal.
    pub(super) async fn sha256(&mut self) -> io::Result<String> {
        self.with(|growing| hexadecimal(growing.hash.clone())).await
    }

    /// Makes it lasting and gives it its final name, in the place of what had that name.
    pub(super) async fn place(mut self, file: PathBuf) -> io::Result<PathBuf> {
        let part = self.path.clone();
        self.with(move |growing| {
            growing.file.sync_all()?;
            std::fs::rename(&part, &file)?;
            // The name itself is lasting only when the folder is.
            if let Some(folder) = file.parent() {
                File::open(folder)?.sync_all()?;
            }
            Ok(file)
        })
        .await?
    }
}

impl Growing {
    fn open(path: &Path, limit: u64, lock: Lock) -> io::Result<Self> {
        let mut file = File::options().create(true).truncate(false).read(true).write(true).open(path)?;
        let mut hash = Sha256::new();
        let mut length = file.metadata()?.len();
        if length > limit {
            file.set_len(0)?;
            length = 0;
        }
        length = hash_rest(&mut (&file).take(length), &mut hash)?;
        file.seek(SeekFrom::Start(length))?;
        Ok(Self { file, hash, length, _lock: lock })
    }

    /// Writes bytes at the end.
    pub(super) fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Err(error) = self.file.write_all(bytes) {
            // What was written of it is not in the hash.
            self.file.set_len(self.length)?;
            self.file.seek(SeekFrom::Start(self.length))?;
            return Err(error);
        }
        self.hash.update(bytes);
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// Where it stands, to come back to.
    pub(super) fn mark(&self) -> (u64, Sha256) {
        (self.length, self.hash.clone())
    }

    /// Goes back to a mark.
    pub(super) fn cut_to(&mut self, length: u64, hash: Sha256) -> io::Result<()> {
        self.file.set_len(length)?;
        self.file.seek(SeekFrom::Start(length))?;
        self.length = length;
        self.hash = hash;
        Ok(())
    }
}

/// The SHA-256 of a file, in lower-case hexadecimal. Reads all of it.
///
/// # Errors
/// The file cannot be read.
pub fn sha256_of_file(path: &Path) -> io::Result<String> {
    let mut hash = Sha256::new();
    hash_rest(&mut File::open(path)?, &mut hash)?;
    Ok(hexadecimal(hash))
}

/// Hashes what is still to be read; answers how much it was.
fn hash_rest(from: &mut impl Read, hash: &mut Sha256) -> io::Result<u64> {
    let mut block = vec![0; BLOCK];
    let mut length = 0;
    loop {
        let read = from.read(&mut block)?;
        let Some(bytes) = block.get(..read).filter(|bytes| !bytes.is_empty()) else { return Ok(length) };
        hash.update(bytes);
        length += read as u64;
    }
}

/// The hash of what went in.
pub(super) fn hexadecimal(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Runs work that waits for the disk where it holds nobody up.
pub(super) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)
}
