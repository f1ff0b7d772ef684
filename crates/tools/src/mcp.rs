//! Tools of MCP servers through the official client, and aime's own tools served to MCP clients.
//!
//! A server is not trusted: its answers are data, its schemas are checked before use, its texts are bounded, and its hints give it no
//! rights.

mod auth;
mod call;
mod challenge;
mod connection;
mod demand;
mod elicit;
mod error;
mod find;
mod handler;
mod http;
mod listed;
mod login;
mod names;
mod offers;
mod pages;
mod rejection;
mod result;
mod serve;
mod server;
mod servers;
mod settings;
mod tools;

pub use self::{
    error::McpError,
    listed::{McpAbilities, McpTool},
    serve::{McpServeError, McpService},
    servers::{McpPlace, McpServers},
    settings::{McpClient, McpLoading, McpLogin, McpServerSettings, McpSettings, McpTransport, NamePatternError, NamePatterns},
};
