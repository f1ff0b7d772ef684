//! `cargo xtask size`: measures the size of the release binary, the cost of its start, and its idle memory.
//!
//! It runs on demand and is not part of `ci`: the release build takes some ten minutes.

mod idle;
mod start;

use std::fs;

use anyhow::{Context, Result, bail};
use clap::Args;

use idle::Idle;
use start::{Calls, Start, Starts};
use xtask::workspace::build_aime;

/// Largest binary that the documents promise, in bytes. It includes the engine of local models.
const MAX_BYTES: u64 = 45_000_000;

/// Goal for the binary, in bytes. It is a tenth above the 33.2 MB before the protocols of Anthropic and Gemini, images and PDF documents
/// were added. The binary misses it, so a missed goal is printed and is no fault.
const GOAL_BYTES: u64 = 36_500_000;

/// Features to build with.
#[derive(Args)]
pub(crate) struct SizeArguments {
    /// Build without the default features, so without a model in the binary
    #[arg(long)]
    no_default_features: bool,
}

/// Builds the release binary, prints the measurements, and fails if any limit is exceeded. A missed goal is only printed.
pub(crate) fn size(arguments: &SizeArguments) -> Result<()> {
    let without: &[&str] = if arguments.no_default_features { &["--no-default-features"] } else { &[] };
    let program = build_aime(&[&["--release"], without].concat())?;
    let bytes = fs::metadata(&program).with_context(|| format!("could not look at {}", program.display()))?.len();

    println!("binary     {bytes} bytes; {}; at most {MAX_BYTES}", goal(bytes));
    let mut faults = Vec::from_iter(size_fault(bytes));
    let folder = tempfile::tempdir().context("there is no temporary folder")?;
    for start in Start::ALL {
        let starts = Starts::measure(start, &program, folder.path())?;
        println!("{:<15} {starts}", start.line());
        faults.extend(starts.fault());
        match Calls::trace(start, &program, folder.path())? {
            Some(calls) => {
                println!("{:<15} {calls}", start.line());
                faults.extend(calls.faults(start));
            }
            None => println!("{:<15} its system calls were not counted: there is no strace", start.line()),
        }
    }
    match Idle::measure(&program, folder.path())? {
        Some(idle) => {
            println!("{:<15} {idle}", "aime mcp serve");
            faults.extend(idle.fault());
        }
        None => println!("{:<15} this system does not tell what it holds", "aime mcp serve"),
    }
    if faults.is_empty() {
        return Ok(());
    }
    bail!("over the bounds:\n  {}", faults.join("\n  "))
}

/// Describes the size beside the goal.
fn goal(bytes: u64) -> String {
    match bytes.saturating_sub(GOAL_BYTES) {
        0 => format!("the goal of {GOAL_BYTES} is met"),
        missed => format!("the goal of {GOAL_BYTES} is missed by {missed}"),
    }
}

/// Describes an exceeded size limit. The trial of a packed archive has the same limit.
pub(crate) fn size_fault(bytes: u64) -> Option<String> {
    (bytes > MAX_BYTES).then(|| format!("the binary has {bytes} bytes, {} too many", bytes - MAX_BYTES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missed_goal_is_no_fault() {
        for (bytes, expected) in [(36_500_000, "is met"), (36_500_001, "is missed by 1"), (45_000_000, "is missed by 8500000")] {
            assert!(goal(bytes).ends_with(expected), "{}", goal(bytes));
            assert_eq!(size_fault(bytes), None);
        }
        assert_eq!(size_fault(45_000_001).as_deref(), Some("the binary has 45000001 bytes, 1 too many"));
    }
}
