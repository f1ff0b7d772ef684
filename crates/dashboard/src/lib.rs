#![doc = include_str!("../README.md")]

mod access;
mod api;
mod live;
mod pages;
mod runs;
mod server;

pub use runs::{Act, Asked, Event, Looked, Problem, Refusal, RunEntry, Runs};
pub use server::{Dashboard, app};
