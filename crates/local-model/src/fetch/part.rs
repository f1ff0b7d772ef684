//! Partial file of a download, with the running hash of its content.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};

use super::lock::Lock;

/// Size of a read or write, in bytes.
pub(super) const BLOCK: usize = 1 << 20;

/// File that grows at its end. Its hash is updated along, so that nothing must be read again.
///
/// All work on the file runs on threads for blocking calls. If the future is dropped, the work still completes.
#[derive(Debug)]
pub(super) struct PartFile {
    path: PathBuf,
    length: u64,
    growing: Option<PartialDownload>,
}

/// Open file.
#[derive(Debug)]
pub(super) struct PartialDownload {
    file: File,
    hash: Sha256,
    length: u64,
    // Held until the last work on the file has ended, even if nobody awaits it any more.
    _lock: Lock,
}

impl PartFile {
    /// Opens a partial file with its earlier content. A file longer than `limit` cannot be right and is emptied.
    pub(super) async fn open(path: PathBuf, limit: u64, lock: Lock) -> io::Result<Self> {
        let opened = path.clone();
        let growing = blocking(move || PartialDownload::open(&opened, limit, lock)).await??;
        Ok(Self { path, length: growing.length, growing: Some(growing) })
    }

    /// Returns its length in bytes.
    pub(super) const fn len(&self) -> u64 {
        self.length
    }

    /// Runs work on the open file.
    pub(super) async fn with<T: Send + 'static>(&mut self, work: impl FnOnce(&mut PartialDownload) -> T + Send + 'static) -> io::Result<T> {
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

    /// Appends bytes.
    pub(super) async fn append(&mut self, bytes: Vec<u8>) -> io::Result<()> {
        self.with(move |growing| growing.append(&bytes)).await?
    }

    /// Empties the file.
    pub(super) async fn clear(&mut self) -> io::Result<()> {
        self.with(|growing| growing.cut_to(0, Sha256::new())).await?
    }

    /// Returns the SHA-256 of its content, in lower-case hexadecimal.
    pub(super) async fn sha256(&mut self) -> io::Result<String> {
        self.with(|growing| hexadecimal(growing.hash.clone())).await
    }

    /// Syncs the file and gives it its final name, replacing any file of that name.
    pub(super) async fn place(mut self, file: PathBuf) -> io::Result<PathBuf> {
        let part = self.path.clone();
        self.with(move |growing| {
            growing.file.sync_all()?;
            std::fs::rename(&part, &file)?;
            // The rename is durable only after the folder is synced.
            if let Some(folder) = file.parent() {
                File::open(folder)?.sync_all()?;
            }
            Ok(file)
        })
        .await?
    }
}

impl PartialDownload {
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

    /// Appends bytes.
    pub(super) fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Err(error) = self.file.write_all(bytes) {
            // After a failed write the file may contain bytes that are not in the hash.
            self.file.set_len(self.length)?;
            self.file.seek(SeekFrom::Start(self.length))?;
            return Err(error);
        }
        self.hash.update(bytes);
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// Returns the present position, for [`Self::cut_to`].
    pub(super) fn mark(&self) -> (u64, Sha256) {
        (self.length, self.hash.clone())
    }

    /// Goes back to an earlier position.
    pub(super) fn cut_to(&mut self, length: u64, hash: Sha256) -> io::Result<()> {
        self.file.set_len(length)?;
        self.file.seek(SeekFrom::Start(length))?;
        self.length = length;
        self.hash = hash;
        Ok(())
    }
}

/// Returns the SHA-256 of a file, in lower-case hexadecimal. Reads the whole file.
///
/// # Errors
/// The file cannot be read.
pub fn sha256_of_file(path: &Path) -> io::Result<String> {
    let mut hash = Sha256::new();
    hash_rest(&mut File::open(path)?, &mut hash)?;
    Ok(hexadecimal(hash))
}

/// Hashes the remaining bytes and returns their number.
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

/// Formats the hash.
pub(super) fn hexadecimal(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Runs blocking work on a thread for that purpose.
pub(super) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)
}
