//! Anthropic's Messages.

mod answer;
mod request;
mod schema;

pub(super) use answer::Answer;
pub(super) use request::{blocks, form_tool, marked, settings, tool};
pub(super) use schema::read;
