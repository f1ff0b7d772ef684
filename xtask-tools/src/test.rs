//! `cargo xtask test PART`: the tests that `cargo xtask test` leaves out.

use anyhow::{Result, bail};
use clap::Args;

use crate::temporal;
use xtask::workspace::{cargo, run};
use xtask::{APART, SEED, run_tests};

/// Choice of tests.
#[derive(Args)]
pub(crate) struct TestArguments {
    /// `temporal` for those of runs on an engine, which is fetched; `random` for unit tests with another seed for each
    /// property; all but those on an engine by default
    part: Option<String>,
}

/// Runs the requested tests.
pub(crate) fn test(arguments: &TestArguments) -> Result<()> {
    match arguments.part.as_deref() {
        None => run_tests(),
        Some("temporal") => temporal::test(),
        Some("random") => run(cargo(["test", "--workspace", "--exclude", APART, "--no-fail-fast", "--lib"]).env_remove(SEED.0)),
        Some(other) => bail!("there is no part {other}: there are temporal and random"),
    }
}
