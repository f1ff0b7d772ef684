//! `cargo xtask test`: build everything and run every test.

use anyhow::{Result, bail};
use clap::Args;

use crate::temporal;
use crate::workspace::{cargo, run};

/// The package that is built and tested by itself: the library of its engine takes minutes, and its tests need a server.
pub(crate) const APART: &str = "aime-temporal";

/// Which tests.
#[derive(Args)]
pub(crate) struct TestArguments {
    /// `temporal` for those of runs on an engine, which is fetched; all others by default
    part: Option<String>,
}

/// Runs the tests that were asked for.
pub(crate) fn test(arguments: &TestArguments) -> Result<()> {
    match arguments.part.as_deref() {
        None => all(),
        Some("temporal") => temporal::test(),
        Some(other) => bail!("there is no part {other}: there is temporal"),
    }
}

/// Documentation tests first, then everything else, so that the last line is the test runner's own count.
///
/// No test needs a network, a key or a model. Some start an example as a program of its own, which naming the kinds of targets would only build as
/// a test, so the examples are built first.
pub(crate) fn all() -> Result<()> {
    run(&mut cargo(["build", "--workspace", "--exclude", APART, "--examples"]))?;
    run(&mut cargo(["test", "--workspace", "--exclude", APART, "--no-fail-fast", "--doc"]))?;
    run(&mut cargo(["test", "--workspace", "--exclude", APART, "--no-fail-fast", "--lib", "--bins", "--tests", "--examples"]))
}
