#![doc = include_str!("../README.md")]

mod mutate;
mod seeds;
mod targets;

pub use mutate::Mutator;
pub use seeds::seeds;
pub use targets::{TARGETS, Target, calls, config, journal, json, patch, plan, sse};
