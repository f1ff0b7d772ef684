//! Tools for agents: a registry, bundles, schemas from types, and the built-in tools.

mod context;
mod tool;

pub use context::ToolContext;
pub use tool::{HandledBy, Tool, ToolError, ToolOutput, ToolSheet, Touches};
