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
    Act, Approve, Draft, Event, Found, Hit, Mode, NewRun, OpenQuestion, PlanForecast, PlanReview, Problem, Refusal, ReviewVerdict,
    RunDetails, RunEntry, RunList, Runs, UnreadableFolder,
};
pub use server::{Dashboard, app};
