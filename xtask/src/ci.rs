//! `cargo xtask ci`: everything a change must pass.

use anyhow::Result;

use crate::workspace::{cargo, has_std, run};
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
    // What needs no engine of it, and the replay of recorded histories: by that a change is seen that breaks runs under way.
    run(&mut cargo(["test", "--package", test::APART]))?;
    test::all()
}

/// Compiles what confines commands for macOS, where this machine has its standard library. It is run nowhere.
fn macos() -> Result<()> {
    if !has_std(MACOS)? {
        eprintln!("not checked for macOS: `rustup target add {MACOS}` makes it so");
        return Ok(());
    }
    run(&mut cargo(["check", "--package", "aime-sandbox", "--target", MACOS]))
}
