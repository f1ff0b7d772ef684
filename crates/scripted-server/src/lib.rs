#![doc = include_str!("../README.md")]

mod body;
mod gate;
mod protocol;
mod reply;
mod script;
mod server;
#[cfg(test)]
mod tests;

pub use reply::{Odd, Reply, ScriptedCall, ScriptedUsage};
pub use script::{Rule, Script, ScriptError, When};
pub use server::{Received, ScriptedServer};
