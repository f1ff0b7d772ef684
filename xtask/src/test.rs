//! `cargo xtask test`: builds everything and runs every test.

use std::env;

use anyhow::{Result, bail};
use clap::Args;

use crate::temporal;
use crate::workspace::{cargo, run};

/// Package that is built and tested separately: its engine library takes minutes, and its tests need a server.
pub(crate) const APART: &str = "aime-temporal";

/// Seed of the property tests, so that the tests of one commit have one outcome. The caller's own seed wins.
const SEED: (&str, &str) = ("PROPTEST_RNG_SEED", "1");

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
        None => all(),
        Some("temporal") => temporal::test(),
        Some("random") => run(cargo(["test", "--workspace", "--exclude", APART, "--no-fail-fast", "--lib"]).env_remove(SEED.0)),
        Some(other) => bail!("there is no part {other}: there are temporal and random"),
    }
}

/// Runs documentation tests first, so that the last line is the test runner's own count.
///
/// No test needs a network, a key or a model. Some tests start an example as a program. Selecting kinds of targets would build examples
/// only as tests, so they are built first.
pub(crate) fn all() -> Result<()> {
    run(&mut cargo(["build", "--workspace", "--exclude", APART, "--examples"]))?;
    run(&mut cargo(["test", "--workspace", "--exclude", APART, "--no-fail-fast", "--doc"]))?;
    let mut tests = cargo(["test", "--workspace", "--exclude", APART, "--no-fail-fast", "--lib", "--bins", "--tests", "--examples"]);
    if env::var_os(SEED.0).is_none() {
        tests.env(SEED.0, SEED.1);
    }
    run(&mut tests)
}
