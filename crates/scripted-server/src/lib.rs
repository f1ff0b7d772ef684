#![doc = include_str!("../README.md")]

mod cache;
mod errors;
mod gate;
mod memory;
mod model;
mod models;
mod provider;
mod render;
mod reply;
mod rounds;
mod rules;
mod script;
mod sending;
mod server;
mod serving;
#[cfg(test)]
mod tests;
mod view;
mod when;

pub use provider::Provider;
pub use reply::{Reply, ScriptedCall, ScriptedFailure, ScriptedUsage, ServerQuirk};
pub use rounds::RoundsServer;
pub use script::{Rule, Script, ScriptError};
pub use server::{ReceivedRequest, ScriptedServer};
pub use when::When;
