//! `cargo xtask ci`: everything a change must pass.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::workspace::{cargo, root, run};
use crate::{test, tidy};

/// What confinement on macOS is compiled for.
const MACOS: &str = "aarch64-apple-darwin";

/// Cheap checks first, tests last.
pub(crate) fn ci() -> Result<()> {
    run(&mut cargo(["fmt", "--all", "--check"]))?;
    tidy::tidy()?;
    run(&mut cargo(["clippy", "--workspace", "--exclude", test::APART, "--all-targets", "--", "-D", "warnings"]))?;
    macos()?;
    run(cargo(["doc", "--workspace", "--exclude", test::APART, "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings"))?;
    test::all()
}

/// Compiles what confines commands for macOS, where this machine has its standard library. It is run nowhere.
fn macos() -> Result<()> {
    let asked = Command::new("rustc").current_dir(root()).args(["--print", "target-libdir", "--target", MACOS]).output();
    let folder = String::from_utf8(asked.context("could not start rustc")?.stdout).unwrap_or_default();
    if !Path::new(folder.trim()).is_dir() || folder.trim().is_empty() {
        eprintln!("not checked for macOS: `rustup target add {MACOS}` makes it so");
        return Ok(());
    }
    run(&mut cargo(["check", "--package", "aime-sandbox", "--target", MACOS]))
}
