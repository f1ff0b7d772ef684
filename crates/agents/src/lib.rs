#![doc = include_str!("../README.md")]

mod agent;
mod answer;
mod calls;
mod consent;
mod process;
mod session;
mod settings;
mod terminal;

pub use agent::ExternalAgent;
pub use process::AgentError;
pub use settings::{AgentLimits, AgentSettings, AgentWork, agent_limits};
