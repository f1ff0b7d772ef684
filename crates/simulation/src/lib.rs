#![doc = include_str!("../README.md")]

mod chance;
mod check;
mod counts;
mod cuts;
mod life;
mod model;
mod patches;
mod people;
mod scenario;
mod stage;
mod story;
mod tools;
mod world;

pub use counts::Counts;
pub use cuts::{cuts_of, uncut};
pub use scenario::Scenario;
pub use stage::{Stage, StageError};
pub use story::{Story, play};
pub use world::{Cut, Moment};
