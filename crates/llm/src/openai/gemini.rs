//! Gemini's generateContent.

mod answer;
mod request;

pub(super) use answer::Answer;
pub(super) use request::{is_since_3, parts, path, settings, tool};
