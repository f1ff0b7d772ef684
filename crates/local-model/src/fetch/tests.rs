//! Fetching against a server and a package client that misbehave.

mod hub;
mod packages;
mod store;
mod world;
