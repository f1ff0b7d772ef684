//! What of files Windows has its own way for. It has no modes: a file has that of one that its owner writes, or of one that nobody does.
//!
//! A link that is swapped in between looking and opening is followed; it leads nowhere outside of the folder all the same.

use std::{
    io::{self, ErrorKind},
    path::Path,
};

use cap_std::fs::{Dir, DirBuilder, Metadata, MetadataExt, OpenOptions, Permissions};

use super::Stamp;

/// The time in a tick of Windows, in nanoseconds.
const TICK: i64 = 100;
/// From 1601, where Windows begins to count, to 1970, in ticks.
const EPOCH: i64 = 116_444_736_000_000_000;

/// To read what may be no regular file.
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

/// The time of its making stands for the number of a file: another one that takes its place has another.
pub(super) fn stamp(metadata: &Metadata) -> Stamp {
    let nanoseconds = |ticks: u64| i64::try_from(ticks).unwrap_or(EPOCH).saturating_sub(EPOCH).saturating_mul(TICK);
    let modified = nanoseconds(metadata.last_write_time());
    Stamp { device: 0, inode: metadata.creation_time(), size: metadata.len(), modified, changed: modified }
}

/// A mode says nothing here.
pub(super) fn permissions(_: u32) -> Option<Permissions> {
    None
}

/// A folder has the rights of the one that it stands in.
pub(super) fn private_folder() -> DirBuilder {
    DirBuilder::new()
}

/// Opens what stands at a name to read it; a link is refused.
pub(super) fn open_itself(folder: &Dir, name: &Path) -> io::Result<cap_std::fs::File> {
    no_link(folder, name)?;
    folder.open(name)
}

/// Opens the folder at a name; a link to one is none.
pub(super) fn open_folder_itself(folder: &Dir, name: &Path) -> io::Result<Dir> {
    no_link(folder, name)?;
    folder.open_dir(name)
}

fn no_link(folder: &Dir, name: &Path) -> io::Result<()> {
    if folder.symlink_metadata(name)?.file_type().is_symlink() { Err(ErrorKind::NotADirectory.into()) } else { Ok(()) }
}

/// Makes a link to a file; Windows lets only some users do that.
pub(super) fn link(folder: &Dir, target: &Path, name: &Path) -> io::Result<()> {
    folder.symlink_file(target, name)
}
