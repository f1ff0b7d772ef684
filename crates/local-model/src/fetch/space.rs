//! Free disk space.

use std::{io, path::Path};

/// Returns the bytes that this user may still write in a folder's file system.
#[cfg(unix)]
pub(super) fn free_space(folder: &Path) -> io::Result<u64> {
    let found = rustix::fs::statvfs(folder)?;
    Ok(found.f_bavail.saturating_mul(found.f_frsize))
}

#[cfg(windows)]
pub(super) fn free_space(folder: &Path) -> io::Result<u64> {
    fs4::available_space(folder)
}
