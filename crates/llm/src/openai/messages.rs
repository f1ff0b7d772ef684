//! Anthropic's Messages.

mod answer;
mod request;

pub(super) use answer::Answer;
pub(super) use request::{blocks, fits_a_schema, marked, settings, tool};
