#![doc = include_str!("../README.md")]

mod agent;
mod check;
mod digest;
mod folder;
mod foreign;
mod outcome;
mod page;
mod prove;
mod statistics;
mod suite;
mod summary;
mod trial;
mod variant;

pub use agent::{Agent, AgentSyntaxError, ModelInUse};
pub use check::{Sandbox, Scripts};
pub use digest::NamedSettings;
pub use folder::{EvaluationFolder, FolderError};
pub use outcome::{Failure, Outcome, OutcomeLog};
pub use page::page;
pub use prove::{Proof, prove};
pub use statistics::{Interval, wilson};
pub use suite::{Suite, SuiteError, Task, TaskBounds, TaskFiles};
pub use summary::{AutoMode, Cell, OneMode, Summary};
pub use trial::{Evaluated, Program, Trial, TrialError, remove_tree, trials};
pub use variant::{Fault, Replanning, Variant};
