//! Chat completions.

mod answer;
mod native;
mod request;
mod think;

pub(super) use answer::Answer;
pub(super) use request::{marked, message, settings, tool};
