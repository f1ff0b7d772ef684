#![doc = include_str!("../README.md")]

mod deadline;
mod frequency;
mod settings;
mod triggers;

pub use deadline::next_deadline;
pub use frequency::{ReplanHistory, Verdict, decide};
pub use settings::{FrequencySettings, TriggerSettings};
pub use triggers::{TokenBudget, evaluate, may_retry};
