//! Recording what a model answers, and answering from the record.
//!
//! A record is a file of JSON lines, one an answer: `{"schema": "aime.recording/v1", "hash", "request", "response"}`. The hash is BLAKE3 over
//! the canonical form of the request (keys sorted, no white space), so a record does not depend on the order of asking. Failures are not recorded.

mod record;
mod replay;

#[cfg(test)]
mod tests;

use std::{
    fs::{File, OpenOptions},
    io::{self, Write},
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use futures::{StreamExt, stream::BoxStream};
use secrecy::{ExposeSecret, SecretString};

use crate::{ChatModel, ChatRequest, ChatResponse, ModelError, ModelLimits, Prices, StreamPart};

pub use self::replay::{ReplayError, ReplayModel};

/// A model whose answers are written to a file as they come.
///
/// Keys of a client never are in a request, so they cannot get into the record; what else must not get there can be named with
/// [`without`](Self::without).
pub struct RecordingModel {
    model: Arc<dyn ChatModel>,
    file: Mutex<File>,
    secrets: Vec<SecretString>,
}

impl RecordingModel {
    /// Records to the file at `path`, which is created, or added to.
    ///
    /// # Errors
    /// The file cannot be opened for writing.
    pub fn to_file(model: Arc<dyn ChatModel>, path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Self { model, file: Mutex::new(file), secrets: Vec::new() })
    }

    /// Replaces these texts by `***` wherever they stand in the record. A request that held one of them is not found again in a replay.
    #[must_use]
    pub fn without(mut self, secrets: impl IntoIterator<Item = SecretString>) -> Self {
        self.secrets.extend(secrets);
        self
    }

    fn write(&self, request: &ChatRequest, response: &ChatResponse) {
        let secrets: Vec<&str> = self.secrets.iter().map(ExposeSecret::expose_secret).filter(|secret| !secret.is_empty()).collect();
        let mut line = record::line(request, response, &secrets);
        line.push('\n');
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = file.write_all(line.as_bytes()) {
            // A lost line must not fail the run that is recorded.
            tracing::warn!(%error, "cannot write to the recording");
        }
    }
}

impl ChatModel for RecordingModel {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn limits(&self) -> ModelLimits {
        self.model.limits()
    }

    fn prices(&self) -> Option<Prices> {
        self.model.prices()
    }

    fn stream(&self, request: ChatRequest) -> BoxStream<'_, Result<StreamPart, ModelError>> {
        let kept = request.clone();
        self.model
            .stream(request)
            .inspect(move |part| {
                if let Ok(StreamPart::Done(response)) = part {
                    self.write(&kept, response);
                }
            })
            .boxed()
    }
}
