//! Windows implementation of file access. Windows has no modes: a file has the mode of one that its owner may write, or of a read-only one.
//!
//! A link that is swapped in between the check and the opening is followed, but it still cannot lead out of the folder.

use std::{
    io::{self, ErrorKind},
    path::Path,
};

use cap_std::fs::{Dir, DirBuilder, Metadata, MetadataExt, OpenOptions, Permissions};

use super::Stamp;

/// Length of a Windows clock tick in nanoseconds.
const TICK: i64 = 100;
/// Ticks from 1601, the epoch of Windows, to 1970.
const EPOCH: i64 = 116_444_736_000_000_000;

/// Returns options for reading a file that may not be regular.
pub(super) fn reading() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true);
    options
}

pub(super) fn mode(metadata: &Metadata) -> u32 {
    match (metadata.is_dir(), metadata.permissions().readonly()) {
        (true, _) => 0o755,
        (false, true) => 0o444,
        (false, false) => 0o644,
    }
}

/// Uses the creation time as the file number: a file that replaces another has a different one.
pub(super) fn stamp(metadata: &Metadata) -> Stamp {
    let nanoseconds = |ticks: u64| i64::try_from(ticks).unwrap_or(EPOCH).saturating_sub(EPOCH).saturating_mul(TICK);
    let modified = nanoseconds(metadata.last_write_time());
    Stamp { device: 0, inode: metadata.creation_time(), size: metadata.len(), modified, changed: modified }
}

/// Modes have no effect here.
pub(super) fn permissions(_: u32) -> Option<Permissions> {
    None
}

/// A folder has the rights of its parent.
pub(super) fn private_folder() -> DirBuilder {
    DirBuilder::new()
}

/// Opens an entry for reading; refuses a link.
pub(super) fn open_itself(folder: &Dir, name: &Path) -> io::Result<cap_std::fs::File> {
    no_link(folder, name)?;
    folder.open(name)
}

/// Opens a folder; refuses a link to one.
pub(super) fn open_folder_itself(folder: &Dir, name: &Path) -> io::Result<Dir> {
    no_link(folder, name)?;
    folder.open_dir(name)
}

fn no_link(folder: &Dir, name: &Path) -> io::Result<()> {
    if folder.symlink_metadata(name)?.file_type().is_symlink() { Err(ErrorKind::NotADirectory.into()) } else { Ok(()) }
}

/// A new entry has the owner that its folder decides.
pub(super) fn give_owner<T>(_: &T, _: impl FnOnce() -> io::Result<Metadata>) {}

/// Creates a link to a file; Windows allows this to some users only.
pub(super) fn link(folder: &Dir, target: &Path, name: &Path) -> io::Result<()> {
    folder.symlink_file(target, name)
}
