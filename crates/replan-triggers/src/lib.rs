#![doc = include_str!("../README.md")]

mod deadline;
mod frequency;
mod settings;
mod triggers;

/// The crate whose types are part of this crate's API.
pub use aime_progress_management as progress;

pub use deadline::{next_deadline, next_deadline_with};
pub use frequency::{FrequencyDecision, ReplanHistory, decide_replan};
pub use settings::{FrequencySettings, TriggerSettings};
pub use triggers::{TokenBudget, evaluate, evaluate_with};
