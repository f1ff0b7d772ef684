//! `cargo xtask dist`: builds the archive of one target, as in a release.
//!
//! The names are defined only here: the release workflow calls this, and a test compares them with those that `cargo binstall` looks for.

mod builder;
mod contents;
#[cfg(test)]
mod tests;
mod trial;

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use clap::Args;
use serde::Deserialize;
use sha2::{Digest, Sha256};

use xtask::workspace::{host, root, run};

/// Targets of a release.
const TARGETS: [&str; 7] = [
    "x86_64-unknown-linux-gnu",
    "aarch64-unknown-linux-gnu",
    "x86_64-unknown-linux-musl",
    "aarch64-unknown-linux-musl",
    "x86_64-apple-darwin",
    "aarch64-apple-darwin",
    "x86_64-pc-windows-msvc",
];

/// Choice of artifacts.
#[derive(Args)]
pub(crate) struct DistArguments {
    /// For this target of rustc; this machine's own without it
    #[arg(long)]
    target: Option<String>,
    /// Fail unless this tag is that of the version
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,
    /// Print the name of the archive and build nothing
    #[arg(long)]
    name: bool,
    /// Then unpack it and use what is in it: alone in an empty root where it is static, and emulated where it is for another processor
    #[arg(long = "try")]
    try_out: bool,
}

/// Archive of a release.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Archive {
    version: String,
    target: String,
}

impl Archive {
    fn is_for_windows(&self) -> bool {
        self.target.contains("windows")
    }

    /// Returns the name of its only folder.
    fn folder(&self) -> String {
        format!("aime-v{}-{}", self.version, self.target)
    }

    /// Returns the name of the file.
    fn file(&self) -> String {
        let ending = if self.is_for_windows() { "zip" } else { "tar.gz" };
        format!("{}.{ending}", self.folder())
    }

    fn binary(&self) -> &'static str {
        if self.is_for_windows() { "aime.exe" } else { "aime" }
    }
}

/// Builds for one target and packs the result, with its checksum, into `target/dist`.
pub(crate) fn dist(arguments: &DistArguments) -> Result<()> {
    let version = version()?;
    if let Some(tag) = &arguments.tag {
        ensure!(*tag == format!("v{version}"), "the tag is {tag}, and the version in Cargo.toml is {version}: make them agree");
    }
    let target = arguments.target.clone().map_or_else(host, Ok)?;
    let archive = Archive { version, target };
    if arguments.name {
        println!("{}", archive.file());
        return Ok(());
    }
    if !TARGETS.contains(&archive.target.as_str()) {
        eprintln!("note: no release has {}; it has {}", archive.target, TARGETS.join(", "));
    }
    if arguments.try_out {
        trial::ready(&archive.target)?;
    }
    let program = builder::build(&archive.target)?;
    let writer = builder::started_here(&archive.target, &program)?;
    let file = make(&root().join("target").join("dist"), &archive, &program, &writer)?;
    println!("{}\n{}", file.display(), checksum(&file)?);
    if arguments.try_out { trial::try_out(&file, &archive) } else { Ok(()) }
}

/// Makes the archive of a binary in `place`, with its checksum beside it, and returns its path. `writer` is an aime that this machine can
/// start.
fn make(place: &Path, archive: &Archive, program: &Path, writer: &Path) -> Result<PathBuf> {
    let folder = place.join(archive.folder());
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    contents::fill(&folder, program, archive.binary(), writer)?;
    let file = place.join(archive.file());
    pack(place, archive, &file)?;
    fs::write(place.join(format!("{}.sha256", archive.file())), format!("{}  {}\n", checksum(&file)?, archive.file()))?;
    Ok(file)
}

/// Packs the folder of an archive, which is in `place`.
fn pack(place: &Path, archive: &Archive, file: &Path) -> Result<()> {
    if archive.is_for_windows() {
        return zip(&place.join(archive.folder()), &archive.folder(), file);
    }
    run(Command::new("tar").arg("-C").arg(place).arg("-czf").arg(file).arg(archive.folder()))
}

fn zip(folder: &Path, name: &str, file: &Path) -> Result<()> {
    let mut packed = zip::ZipWriter::new(File::create(file)?);
    add_to_zip(&mut packed, folder, name)?;
    packed.finish()?;
    Ok(())
}

fn add_to_zip(packed: &mut zip::ZipWriter<File>, folder: &Path, name: &str) -> Result<()> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<_>>()?;
    paths.sort();
    for path in paths {
        let entry = path.file_name().and_then(|name| name.to_str()).context("a file without a name")?;
        let entry = format!("{name}/{entry}");
        if path.is_dir() {
            add_to_zip(packed, &path, &entry)?;
        } else {
            packed.start_file(entry, zip::write::SimpleFileOptions::default())?;
            packed.write_all(&fs::read(&path)?)?;
        }
    }
    Ok(())
}

/// Unpacks an archive into a folder.
fn unpack(file: &Path, archive: &Archive, into: &Path) -> Result<()> {
    if archive.is_for_windows() {
        return Ok(zip::ZipArchive::new(File::open(file)?)?.extract(into)?);
    }
    run(Command::new("tar").arg("-C").arg(into).arg("-xzf").arg(file))
}

/// Returns the SHA-256 of a file in the format of `sha256sum`.
fn checksum(file: &Path) -> Result<String> {
    let mut hash = Sha256::new();
    hash.update(fs::read(file)?);
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

#[derive(Deserialize)]
struct Manifest {
    workspace: WorkspaceTable,
}

#[derive(Deserialize)]
struct WorkspaceTable {
    package: PackageTable,
}

#[derive(Deserialize)]
struct PackageTable {
    version: String,
}

/// Returns the version of all crates.
fn version() -> Result<String> {
    let manifest: Manifest = toml::from_str(&fs::read_to_string(root().join("Cargo.toml"))?)?;
    Ok(manifest.workspace.package.version)
}
