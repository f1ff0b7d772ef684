//! `cargo xtask coverage`: test coverage of the pure crates.

use anyhow::{Result, bail};

use xtask::workspace::{cargo, run};

/// Crates without waiting or IO, which unit tests can cover completely.
const PURE: [&str; 6] =
    ["aime-progress-management", "aime-replan-triggers", "aime-dynamic-planner", "aime-llm", "aime-durable", "aime-redact"];
/// Smallest line coverage of all of them together, in percent.
const MIN_PERCENT: &str = "90";

/// Runs their tests with counters and fails if the coverage is too low. It needs its own build of some minutes.
pub(crate) fn coverage() -> Result<()> {
    if !cargo(["llvm-cov", "--version"]).output().is_ok_and(|output| output.status.success()) {
        bail!("cargo llvm-cov is not there: cargo install cargo-llvm-cov --locked; rustup component add llvm-tools");
    }
    let mut command = cargo(["llvm-cov", "--lib", "--fail-under-lines", MIN_PERCENT, "--ignore-filename-regex", "tests?(/|\\.rs$)"]);
    // Each package is named, because the tests of the others cover a crate only by chance.
    for package in PURE {
        command.args(["--package", package]);
    }
    run(&mut command)
}
