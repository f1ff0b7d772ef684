//! Tools of MCP servers, by the official client; and one's own tools, served to the clients of others.
//!
//! A server is not trusted: what it answers is data, its schemas are checked before they are used, its words are bounded, and its hints
//! give it no rights.

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
mod result;
mod serve;
mod server;
mod servers;
mod settings;
mod tools;

pub use self::{
    error::McpError,
    listed::{McpOffer, McpTool},
    serve::{McpServeError, McpService},
    servers::{McpPlace, McpServers},
    settings::{McpLoading, McpServerSettings, McpSettings, McpTransport, NamePatternError, NamePatterns},
};
