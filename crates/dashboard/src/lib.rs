#![doc = include_str!("../README.md")]

mod access;
mod api;
mod changes;
mod folders;
mod live;
mod pages;
mod runs;
mod server;

pub use folders::Folders;
pub use runs::{
    Act, Approve, Asked, Draft, Event, Found, Hit, Looked, Mode, NewRun, PlanForecast, PlanReview, Problem, Refusal, ReviewVerdict,
    RunEntry, Runs,
};
pub use server::{Dashboard, app};
