//! Tools against servers of our own.

#[cfg(feature = "mcp")]
mod mcp;
