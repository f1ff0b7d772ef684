//! Tests of tools against local servers.

#![cfg(test)]

#[cfg(feature = "mcp")]
mod mcp;
#[cfg(feature = "web")]
mod web;
#[cfg(feature = "web")]
mod web_model;
