//! `cargo xtask test`: build everything and run every test.

use anyhow::Result;

use crate::workspace::{cargo, run};

/// Documentation tests first, then everything else, so that the last line is the test runner's own count.
///
/// No test needs a network, a key or a model.
pub(crate) fn test() -> Result<()> {
    run(&mut cargo(["test", "--workspace", "--no-fail-fast", "--doc"]))?;
    run(&mut cargo(["test", "--workspace", "--no-fail-fast", "--lib", "--bins", "--tests", "--examples"]))
}
