//! Builds the release binary of one target on this machine.

use std::env;
use std::fs;
use std::iter;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::install::{PYTHON, answer, python_packages};
use xtask::workspace::{build_aime, build_by, cargo, has_std, host, program_on_path, run, target_folder};

/// cargo-zigbuild and Zig, as Python packages that contain only the programs.
const REQUIREMENTS: &str = include_str!("requirements.txt");

/// Linker for Windows on other systems, with the C library.
const MINGW: &str = "x86_64-w64-mingw32-gcc";

/// Compiler and linker for C.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Toolchain {
    /// Tools of this machine.
    Own,
    /// Zig, which contains the C library of every Linux.
    Zig,
}

impl Toolchain {
    /// Selects the toolchain for `target` on a machine with the target `host`.
    pub(super) fn of(target: &str, host: &str) -> Self {
        let is_linux = |target: &str| target.contains("-linux-");
        if target != host && is_linux(target) && is_linux(host) { Self::Zig } else { Self::Own }
    }
}

/// Builds the release binary, and downloads its prerequisites: Rust's standard library for the target, and a linker for other kinds of
/// Linux.
pub(super) fn build(target: &str) -> Result<PathBuf> {
    if !has_std(target)? {
        run(Command::new("rustup").args(["target", "add", target])).with_context(|| format!("this rustc cannot build for {target}"))?;
    }
    if target.ends_with("windows-gnu") && !cfg!(windows) && program_on_path(MINGW).is_none() {
        bail!("{MINGW} was not found: install it (Debian: apt-get install gcc-mingw-w64-x86-64)");
    }
    let options = ["--release", "--locked", "--target", target];
    match Toolchain::of(target, &host()?) {
        Toolchain::Own => build_aime(&options),
        Toolchain::Zig => build_by(zigbuild()?, "aime", &options),
    }
}

/// Returns an aime that this machine can start: `program` itself if it was built for this machine, and otherwise a debug build.
pub(super) fn started_here(target: &str, program: &Path) -> Result<PathBuf> {
    if target == host()? { Ok(program.to_owned()) } else { build_aime(&["--locked"]) }
}

/// Returns `cargo zigbuild`, downloaded once. It replaces `cargo build`.
fn zigbuild() -> Result<Command> {
    answer(Command::new("python3").args(["-I", "-c", "import venv; print('here')"]), PYTHON)?;
    let folder = target_folder().join("dist-tools");
    fs::create_dir_all(&folder).with_context(|| format!("could not make {}", folder.display()))?;
    let python = python_packages(&folder, "zig", REQUIREMENTS)?;
    let programs = python.parent().map(Path::to_path_buf).unwrap_or_default();
    // cargo finds its subcommand in this folder, and the subcommand finds the `python3` with Zig.
    let path = env::join_paths(iter::once(programs).chain(env::split_paths(&env::var_os("PATH").unwrap_or_default())))?;
    let mut command = cargo(["zigbuild"]);
    command.env("PATH", path);
    Ok(command)
}
