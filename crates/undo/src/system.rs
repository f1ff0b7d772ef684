//! What operating systems do differently: names that are no text, rights of new files, free room.

use std::{
    fs::{DirBuilder, OpenOptions},
    io,
    path::{Path, PathBuf},
};

/// Makes new folders their owner's alone. On Windows they have the rights of the folder that they stand in.
pub(crate) fn private_folder() -> DirBuilder {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true);
    builder
}

/// Makes a new file its owner's alone. On Windows it has the rights of the folder that it stands in.
pub(crate) fn private_file(options: &mut OpenOptions) {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    #[cfg(not(unix))]
    let _ = options;
}

/// Bytes that this user may still write in a folder's file system.
#[cfg(unix)]
pub(crate) fn free_space(folder: &Path) -> io::Result<u64> {
    let found = rustix::fs::statvfs(folder)?;
    Ok(found.f_bavail.saturating_mul(found.f_frsize))
}

#[cfg(windows)]
pub(crate) fn free_space(folder: &Path) -> io::Result<u64> {
    fs4::available_space(folder)
}

/// The path that these bytes of a name stand for.
#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "elsewhere not all bytes are a name")]
pub(crate) fn path_of(bytes: Vec<u8>) -> Option<PathBuf> {
    Some(PathBuf::from(<std::ffi::OsString as std::os::unix::ffi::OsStringExt>::from_vec(bytes)))
}

/// The same on Windows, where half a character outside of the basic plane stands in no name here.
#[cfg(windows)]
pub(crate) fn path_of(bytes: Vec<u8>) -> Option<PathBuf> {
    String::from_utf8(bytes).ok().map(PathBuf::from)
}
