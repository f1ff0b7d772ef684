#![doc = include_str!("../README.md")]

mod body;
mod gate;
mod protocol;
mod reply;
mod rounds;
mod script;
mod server;
mod serving;
#[cfg(test)]
mod tests;

pub use reply::{Odd, Reply, ScriptedCall, ScriptedUsage};
pub use rounds::RoundsServer;
pub use script::{Rule, Script, ScriptError, When};
pub use server::{Received, ScriptedServer};
