//! Tests of downloads against a misbehaving server and package client.

mod hub;
mod packages;
mod store;
mod world;
