//! Unix implementation of modes, links, and access to an entry itself.

use std::{
    fs::File,
    io::{self, ErrorKind},
    os::fd::AsFd,
    path::Path,
};

use cap_std::fs::{Dir, DirBuilder, DirBuilderExt, Metadata, MetadataExt, OpenOptions, OpenOptionsExt, Permissions, PermissionsExt};
use rustix::fs::{Mode, OFlags, openat};

use super::Stamp;

/// Permission bits of a mode.
const MODE: u32 = 0o7777;

/// Opening a FIFO must not wait for its other end.
#[cfg(any(target_os = "linux", target_os = "android"))]
const O_NONBLOCK: i32 = 0o4000;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const O_NONBLOCK: i32 = 0x4;

/// Returns options for reading a file that may not be regular.
pub(super) fn reading() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(O_NONBLOCK);
    options
}

pub(super) fn mode(metadata: &Metadata) -> u32 {
    MetadataExt::mode(metadata) & MODE
}

pub(super) fn stamp(metadata: &Metadata) -> Stamp {
    let nanoseconds = |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000).saturating_add(rest);
    Stamp {
        device: MetadataExt::dev(metadata),
        inode: MetadataExt::ino(metadata),
        size: metadata.len(),
        modified: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
        changed: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
    }
}

/// Returns the permissions of a mode.
#[expect(clippy::unnecessary_wraps, reason = "elsewhere there are none")]
pub(super) fn permissions(mode: u32) -> Option<Permissions> {
    Some(Permissions::from_mode(mode & MODE))
}

/// Returns options for a folder that only its owner may use.
pub(super) fn private_folder() -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.mode(0o700);
    builder
}

/// Opens an entry for reading; refuses a link.
pub(super) fn open_itself(folder: &Dir, name: &Path) -> io::Result<cap_std::fs::File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(cap_std::fs::File::from_std(File::from(openat(folder, name, flags, Mode::empty())?)))
}

/// Opens a folder; refuses a link to one.
pub(super) fn open_folder_itself(folder: &Dir, name: &Path) -> io::Result<Dir> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match openat(folder, name, flags, Mode::empty()) {
        Ok(open) => Ok(Dir::from_std_file(File::from(open))),
        // The entry is a link, so the path does not name a real folder.
        Err(rustix::io::Errno::LOOP) => Err(ErrorKind::NotADirectory.into()),
        Err(error) => Err(error.into()),
    }
}

/// Gives a new file or folder the owner of another entry if this is the superuser; any other user's entries are the user's own. A failure
/// leaves the owner as it is.
pub(super) fn give_owner(new: &impl AsFd, other: impl FnOnce() -> io::Result<Metadata>) {
    if rustix::process::geteuid().is_root()
        && let Ok(other) = other()
    {
        let _kept = std::os::unix::fs::fchown(new, Some(MetadataExt::uid(&other)), Some(MetadataExt::gid(&other)));
    }
}

/// Creates a link with any target.
pub(super) fn link(folder: &Dir, target: &Path, name: &Path) -> io::Result<()> {
    folder.symlink_contents(target, name)
}
