//! What of files a Unix has its own way for: modes, links, and opening what stands at a name itself.

use std::{
    fs::File,
    io::{self, ErrorKind},
    path::Path,
};

use cap_std::fs::{Dir, DirBuilder, DirBuilderExt, Metadata, MetadataExt, OpenOptions, OpenOptionsExt, Permissions, PermissionsExt};
use rustix::fs::{Mode, OFlags, openat};

use super::Stamp;

/// The bits of a mode that say who may do what.
const MODE: u32 = 0o7777;

/// Opening a FIFO must not wait for its other end.
#[cfg(any(target_os = "linux", target_os = "android"))]
const O_NONBLOCK: i32 = 0o4000;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const O_NONBLOCK: i32 = 0x4;

/// To read what may be no regular file.
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

/// The permissions of a mode.
#[expect(clippy::unnecessary_wraps, reason = "elsewhere there are none")]
pub(super) fn permissions(mode: u32) -> Option<Permissions> {
    Some(Permissions::from_mode(mode & MODE))
}

/// A folder for its owner alone.
pub(super) fn private_folder() -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.mode(0o700);
    builder
}

/// Opens what stands at a name to read it; a link is refused.
pub(super) fn open_itself(folder: &Dir, name: &Path) -> io::Result<cap_std::fs::File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(cap_std::fs::File::from_std(File::from(openat(folder, name, flags, Mode::empty())?)))
}

/// Opens the folder at a name; a link to one is none.
pub(super) fn open_folder_itself(folder: &Dir, name: &Path) -> io::Result<Dir> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match openat(folder, name, flags, Mode::empty()) {
        Ok(open) => Ok(Dir::from_std_file(File::from(open))),
        // A link: where it leads to is not this path.
        Err(rustix::io::Errno::LOOP) => Err(ErrorKind::NotADirectory.into()),
        Err(error) => Err(error.into()),
    }
}

/// Makes a link, wherever it leads to.
pub(super) fn link(folder: &Dir, target: &Path, name: &Path) -> io::Result<()> {
    folder.symlink_contents(target, name)
}
