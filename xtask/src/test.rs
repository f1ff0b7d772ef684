//! `cargo xtask test`: builds everything and runs every test.

use std::env;

use anyhow::Result;

use crate::workspace::{cargo, run};

/// Package that is built and tested separately: its engine library takes minutes, and its tests need a server.
pub const APART: &str = "aime-temporal";

/// Seed of the property tests, so that the tests of one commit have one outcome. The caller's own seed wins.
pub const SEED: (&str, &str) = ("PROPTEST_RNG_SEED", "1");

/// Runs documentation tests first, so that the last line is the test runner's own count.
///
/// No test needs a network, a key or a model. Some tests start an example as a program. Selecting kinds of targets would build examples
/// only as tests, so they are built first.
///
/// # Errors
///
/// Something does not build, or a test fails.
pub fn run_tests() -> Result<()> {
    run(&mut cargo(["build", "--workspace", "--exclude", APART, "--examples"]))?;
    run(&mut cargo(["test", "--workspace", "--exclude", APART, "--no-fail-fast", "--doc"]))?;
    let mut tests = cargo(["test", "--workspace", "--exclude", APART, "--no-fail-fast", "--lib", "--bins", "--tests", "--examples"]);
    if env::var_os(SEED.0).is_none() {
        tests.env(SEED.0, SEED.1);
    }
    run(&mut tests)
}
