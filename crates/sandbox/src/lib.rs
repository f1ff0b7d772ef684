//! Running a process with limits, and files confined to one folder.

mod process;

pub use process::{Captured, ProcessEnd, ProcessOutcome, ProcessRequest};
