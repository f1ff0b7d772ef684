//! Answering from a record.

use std::{
    collections::HashMap,
    path::Path,
    sync::{Mutex, PoisonError},
};

use futures::{StreamExt, stream, stream::BoxStream};

use crate::{ChatModel, ChatRequest, ChatResponse, ModelError, StreamPart, scripted};

use super::record::{Recorded, SCHEMA, hash};

/// Why a record cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// The file cannot be read.
    #[error("cannot read the recording")]
    File(#[from] std::io::Error),
    /// A line is damaged. A last line without its end, as a crash leaves it, is passed over instead.
    #[error("line {line} of the recording is damaged: {reason}")]
    Line {
        /// Counted from 1.
        line: usize,
        /// What is wrong.
        reason: String,
    },
}

/// A model that answers from a record, and fails with [`ModelError::NotRecorded`] on everything else.
///
/// A request that was answered several times gets its answers in their order, the last one again and again.
#[derive(Debug)]
pub struct ReplayModel {
    name: String,
    answers: Mutex<HashMap<String, Answers>>,
}

#[derive(Debug, Default)]
struct Answers {
    recorded: Vec<ChatResponse>,
    used: usize,
}

impl ReplayModel {
    /// Reads a record.
    ///
    /// # Errors
    /// The file cannot be read, or a line of it is damaged.
    pub fn from_file(name: impl Into<String>, path: &Path) -> Result<Self, ReplayError> {
        Self::from_text(name, &std::fs::read_to_string(path)?)
    }

    /// Takes a record from its text.
    ///
    /// # Errors
    /// A line is damaged.
    pub fn from_text(name: impl Into<String>, text: &str) -> Result<Self, ReplayError> {
        let mut answers: HashMap<String, Answers> = HashMap::new();
        for (index, line) in text.split_inclusive('\n').enumerate() {
            let damaged = |reason: String| ReplayError::Line { line: index + 1, reason };
            if line.trim().is_empty() {
                continue;
            }
            let recorded: Recorded = match serde_json::from_str(line) {
                Ok(recorded) => recorded,
                Err(_) if !line.ends_with('\n') => break,
                Err(error) => return Err(damaged(error.to_string())),
            };
            if recorded.schema != SCHEMA {
                return Err(damaged(format!("its form is {:?}, and only {SCHEMA:?} is known", recorded.schema)));
            }
            answers.entry(recorded.hash).or_default().recorded.push(recorded.response);
        }
        Ok(Self { name: name.into(), answers: Mutex::new(answers) })
    }

    fn answer(&self, request: &ChatRequest) -> Result<ChatResponse, ModelError> {
        let hash = hash(request);
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = answers.get_mut(&hash).and_then(|answers| {
            let answer = answers.recorded.get(answers.used).or_else(|| answers.recorded.last()).cloned();
            answers.used += 1;
            answer
        });
        answer.ok_or_else(|| ModelError::NotRecorded { model: self.name.clone(), reason: scripted::in_short(request) })
    }
}

impl ChatModel for ReplayModel {
    fn name(&self) -> &str {
        &self.name
    }

    fn stream(&self, request: ChatRequest) -> BoxStream<'_, Result<StreamPart, ModelError>> {
        let parts = match self.answer(&request) {
            Ok(response) => scripted::parts(response).into_iter().map(Ok).collect(),
            Err(error) => vec![Err(error)],
        };
        stream::iter(parts).boxed()
    }
}
