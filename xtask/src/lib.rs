//! Parts of `cargo xtask` that need nearly no crates: cargo commands in the workspace, a run of aime, and the tests.
#![expect(clippy::disallowed_methods, reason = "a task starts cargo and aime, and reads the caller's settings")]
#![expect(clippy::print_stderr, reason = "a task talks to a person at a terminal")]

mod command_line;
mod progress;
mod run;
mod test;
pub mod workspace;

pub use command_line::CommandLine;
pub use run::{GoalRun, fresh_folder, use_local_model};
pub use test::{APART, SEED, run_tests};
