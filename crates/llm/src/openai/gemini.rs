//! Gemini's generateContent.

mod answer;
mod request;

pub(super) use answer::Answer;
pub(super) use request::{parts, path, settings, tool};
