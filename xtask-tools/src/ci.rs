//! `cargo xtask ci`: everything a change must pass.

use anyhow::Result;

use crate::tidy;
use xtask::workspace::{cargo, has_std, run};
use xtask::{APART, run_tests};

/// Target for which the macOS sandbox is compiled.
const MACOS: &str = "aarch64-apple-darwin";

/// Runs cheap checks first, tests last.
pub(crate) fn ci() -> Result<()> {
    run(&mut cargo(["fmt", "--all", "--check"]))?;
    tidy::tidy()?;
    run(&mut cargo(["clippy", "--workspace", "--exclude", APART, "--all-targets", "--", "-D", "warnings"]))?;
    macos()?;
    run(cargo(["doc", "--workspace", "--exclude", APART, "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings"))?;
    // These are its tests that need no engine, including the replay of recorded histories, which detects changes that break runs under way.
    run(&mut cargo(["test", "--package", APART]))?;
    // The command with an engine is in no default build.
    run(&mut cargo(["clippy", "--package", "aime", "--features", "temporal", "--all-targets", "--", "-D", "warnings"]))?;
    run_tests()
}

/// Compiles the macOS sandbox if this machine has the standard library for it. Nothing of it is run.
fn macos() -> Result<()> {
    if !has_std(MACOS)? {
        eprintln!("not checked for macOS: `rustup target add {MACOS}` makes it so");
        return Ok(());
    }
    run(&mut cargo(["check", "--package", "aime-sandbox", "--target", MACOS]))
}
