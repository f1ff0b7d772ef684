//! `cargo xtask ci`: everything a change must pass.

use anyhow::Result;

use crate::workspace::{cargo, run};
use crate::{test, tidy};

/// Cheap checks first, tests last.
pub(crate) fn ci() -> Result<()> {
    run(&mut cargo(["fmt", "--all", "--check"]))?;
    tidy::tidy()?;
    run(&mut cargo(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))?;
    run(cargo(["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings"))?;
    test::test()
}
