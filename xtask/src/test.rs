//! `cargo xtask test`: build everything and run every test.

use anyhow::Result;

use crate::workspace::{cargo, run};

/// Documentation tests first, then everything else, so that the last line is the test runner's own count.
///
/// No test needs a network, a key or a model. Some start an example as a program of its own, which naming the kinds of targets would only build as
/// a test, so the examples are built first.
pub(crate) fn test() -> Result<()> {
    run(&mut cargo(["build", "--workspace", "--examples"]))?;
    run(&mut cargo(["test", "--workspace", "--no-fail-fast", "--doc"]))?;
    run(&mut cargo(["test", "--workspace", "--no-fail-fast", "--lib", "--bins", "--tests", "--examples"]))
}
