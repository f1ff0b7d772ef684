//! The lead: the one conversation of a run that plans it.
//!
//! The lead has [plan tools](lead_tools), whose calls [`parse_command`] turns into commands for the run. A *wake* is one
//! activation of the lead: the run sends a message, the lead answers with commands and rests. [`wake_message`] describes
//! the changes since the last wake, and [`kept_words`] returns the texts that a compaction must keep.

mod call;
mod command;
mod criteria;
mod kept;
mod message;
mod prompt;
mod result;
mod schema;
mod settled;
mod tasks;
#[cfg(test)]
mod tests;
mod tools;
mod wake;

pub use command::{PlanRules, parse_command};
pub use kept::kept_words;
pub use message::{TaskChanges, wake_message};
pub(crate) use prompt::LeadContext;
pub use prompt::{BundleBrief, LeadBrief, LeadPrompt};
pub use result::read_result;
pub use tools::{PlanTool, lead_tools};
pub use wake::{BudgetLeft, LeadMemory, UnsolicitedMessage, Wake, WakeKind};
