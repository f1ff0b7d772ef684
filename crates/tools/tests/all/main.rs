//! Tests of tools from outside, and against local servers.

#![cfg(test)]

mod alone;
#[cfg(feature = "mcp")]
mod mcp;
#[cfg(feature = "web")]
mod web;
#[cfg(feature = "web")]
mod web_model;
