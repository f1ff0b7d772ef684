//! Local model as a chat model.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};

use aime_llm::{ChatModel, ChatRequest, ModelError, ModelLimits, StreamPart};
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use tokio::sync::mpsc::unbounded_channel;

use crate::engine::{Job, Opened};
use crate::{LocalModelError, LocalModelSettings};

/// Model in this process.
///
/// A dedicated thread loads the weights at the first request and ends when the model is dropped. Dropping a stream ends its request before
/// the next token.
pub struct LocalModel {
    name: String,
    limits: ModelLimits,
    state: Mutex<State>,
}

enum State {
    /// Before the first request.
    Opened(Box<Opened>),
    Running(Sender<Job>),
    /// The thread could not be started.
    Failed(LocalModelError),
}

impl std::fmt::Debug for LocalModel {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("LocalModel").field("name", &self.name).field("limits", &self.limits).finish_non_exhaustive()
    }
}

impl LocalModel {
    /// Opens a model file: reads and checks its header, which takes milliseconds, but not its weights.
    ///
    /// # Errors
    /// If the file cannot be read, is not a valid GGUF file, is of an unsupported kind, or exceeds the granted memory.
    pub fn open(settings: LocalModelSettings) -> Result<Self, LocalModelError> {
        let opened = Opened::read(settings)?;
        Ok(Self { name: opened.name().to_owned(), limits: opened.limits(), state: Mutex::new(State::Opened(Box::new(opened))) })
    }

    /// Returns the sender to the thread, which is started if necessary.
    fn jobs(&self) -> Result<Sender<Job>, LocalModelError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match &*state {
            State::Running(jobs) => return Ok(jobs.clone()),
            State::Failed(error) => return Err(error.clone()),
            State::Opened(_) => {}
        }
        let (sender, receiver) = channel();
        let State::Opened(opened) = std::mem::replace(&mut *state, State::Running(sender.clone())) else { return Ok(sender) };
        let (name, file) = (opened.name().to_owned(), opened.file());
        let started = std::thread::Builder::new().name("local-model".to_owned()).spawn(move || serve(*opened, &name, &receiver));
        match started {
            Ok(_) => Ok(sender),
            Err(error) => {
                let error = LocalModelError::Threads { file, reason: error.to_string() };
                *state = State::Failed(error.clone());
                Err(error)
            }
        }
    }
}

/// Body of the thread: loads at the first request, then answers.
fn serve(opened: Opened, name: &str, jobs: &Receiver<Job>) {
    let Ok(first) = jobs.recv() else { return };
    match opened.load() {
        Ok(engine) => engine.run(jobs, first),
        Err(error) => {
            let _ = first.answer.send(Err(not_loaded(name, &error)));
            for job in jobs {
                let _ = job.answer.send(Err(not_loaded(name, &error)));
            }
        }
    }
}

fn not_loaded(name: &str, error: &LocalModelError) -> ModelError {
    ModelError::Unloadable { model: name.to_owned(), reason: error.to_string() }
}

impl ChatModel for LocalModel {
    fn name(&self) -> &str {
        &self.name
    }

    fn limits(&self) -> ModelLimits {
        self.limits
    }

    fn stream(&self, request: ChatRequest) -> BoxStream<'_, Result<StreamPart, ModelError>> {
        let (answer, mut parts) = unbounded_channel();
        let sent = self
            .jobs()
            .map_err(|error| not_loaded(&self.name, &error))
            .and_then(|jobs| jobs.send(Job { request, answer }).map_err(|_| ModelError::Cut { model: self.name.clone() }));
        if let Err(error) = sent {
            return stream::once(std::future::ready(Err(error))).boxed();
        }
        stream::poll_fn(move |context| parts.poll_recv(context)).boxed()
    }
}
