#![doc = include_str!("../README.md")]

mod commit;
mod error;
mod git;
#[cfg(test)]
#[cfg(unix)]
mod tests;
mod tree;

pub use commit::{Commit, NoCommit};
pub use error::WorkTreeError;
pub use tree::{MAX_BUNDLE_BYTES, Merged, WorkTree};
