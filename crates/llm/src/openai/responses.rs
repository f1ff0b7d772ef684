//! OpenAI's Responses.

mod answer;
mod request;

pub(super) use answer::Answer;
pub(super) use request::{items, settings, tool};
