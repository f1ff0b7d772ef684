//! Differences between operating systems: names that are not text, permissions of new files.

use std::{fs::OpenOptions, path::PathBuf};

/// Sets options for a file that only its owner may access. On Windows it has the rights of its folder.
pub(crate) fn private_file(options: &mut OpenOptions) {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    #[cfg(not(unix))]
    let _ = options;
}

/// Converts the bytes of a name to a path.
#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "elsewhere not all bytes are a name")]
pub(crate) fn path_of(bytes: Vec<u8>) -> Option<PathBuf> {
    Some(PathBuf::from(<std::ffi::OsString as std::os::unix::ffi::OsStringExt>::from_vec(bytes)))
}

/// Converts the bytes of a name to a path on Windows; names with unpaired surrogates are not supported.
#[cfg(windows)]
pub(crate) fn path_of(bytes: Vec<u8>) -> Option<PathBuf> {
    String::from_utf8(bytes).ok().map(PathBuf::from)
}
