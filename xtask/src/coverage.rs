//! `cargo xtask coverage`: how much of the pure crates their tests reach.

use anyhow::{Result, bail};

use crate::workspace::{cargo, run};

/// The crates that decide without waiting: what they do can be shown whole.
const PURE: [&str; 6] = ["aime-progress", "aime-replan-triggers", "aime-planner", "aime-llm", "aime-durable", "aime-redact"];
/// The least part of their lines, in percent, together.
const LEAST: &str = "90";

/// Runs their tests with counters and fails where they reach too little. A build of its own, some minutes.
pub(crate) fn coverage() -> Result<()> {
    if !cargo(["llvm-cov", "--version"]).output().is_ok_and(|output| output.status.success()) {
        bail!("cargo llvm-cov is not there: cargo install cargo-llvm-cov --locked; rustup component add llvm-tools");
    }
    let mut command = cargo(["llvm-cov", "--lib", "--fail-under-lines", LEAST, "--ignore-filename-regex", "tests?(/|\\.rs$)"]);
    // What belongs to no crate of these is counted only as far as their tests happen to use it, so each stands for itself.
    for package in PURE {
        command.args(["--package", package]);
    }
    run(&mut command)
}
