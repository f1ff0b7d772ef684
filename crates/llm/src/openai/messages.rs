//! Anthropic's Messages.

mod answer;
mod request;

pub(super) use answer::Answer;
pub(super) use request::{blocks, form_tool, marked, settings, tool};
