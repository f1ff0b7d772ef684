//! Interface to the program that starts the agent: folders, and runs in them.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use aime_llm::Image;
use aime_orchestrator::{HumanChannel, PublishedEvent, RunResult, RunView};
use aime_progress::{QuestionId, RunId};
use futures::future::BoxFuture;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::Chosen;

/// Reason why a request is refused, for the client.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The request is invalid: the folder or the setting does not exist.
    #[error("{0}")]
    Invalid(String),
    /// It went wrong here: no model, a journal that cannot be written.
    #[error("{0}")]
    Failed(String),
}

/// Opens folders.
pub trait Workshop: Send + Sync + 'static {
    /// A new name, of a session and of its first run.
    ///
    /// # Errors
    /// [`Refusal`].
    fn new_name(&self) -> Result<RunId, Refusal>;

    /// Opens a folder, with its settings, and starts the servers that the client offers.
    fn open(&self, folder: PathBuf, servers: Vec<OfferedServer>) -> BoxFuture<'_, Result<Arc<dyn Folder>, Refusal>>;
}

/// A folder in which runs are carried out.
pub trait Folder: Send + Sync + 'static {
    /// Its path without links.
    fn path(&self) -> &Path;

    /// Returns the options that the folder's settings choose.
    fn chosen(&self) -> Chosen;

    /// Its runs, the latest first.
    ///
    /// # Errors
    /// [`Refusal`].
    fn runs(&self) -> Result<Vec<KnownRun>, Refusal>;

    /// Returns a run as recorded in its journal; `None` if nothing of it was recorded.
    ///
    /// # Errors
    /// [`Refusal`].
    fn view(&self, run: &RunId) -> Result<Option<RunView>, Refusal>;

    /// Carries out a run until it ends or is suspended. The run ends in order even if the future's owner no longer
    /// waits for it.
    fn carry(&self, turn: Turn) -> BoxFuture<'_, Result<RunResult, Refusal>>;
}

/// A run of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownRun {
    /// Its name.
    pub run: RunId,
    /// Its goal.
    pub goal: String,
    /// When something last happened in it, in RFC 3339.
    pub updated: String,
}

/// Work that one prompt starts.
pub struct Turn {
    /// The run.
    pub run: RunId,
    /// Action on the run.
    pub work: Work,
    /// Exchanges in the session before this run, the oldest first.
    pub earlier: Vec<Earlier>,
    /// Channel for its questions.
    pub human: Arc<dyn HumanChannel>,
    /// Gets its events.
    pub events: mpsc::UnboundedSender<PublishedEvent>,
    /// Stops it, so that it can go on later.
    pub stop: CancellationToken,
}

/// Action on a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Work {
    /// It is begun.
    Start {
        /// Its goal.
        goal: String,
        /// The images of the goal.
        images: Vec<Image>,
        /// Options of the run.
        chosen: Chosen,
    },
    /// A question is answered, and it goes on.
    Answer {
        /// The question.
        question: QuestionId,
        /// The answer.
        text: String,
    },
    /// Something is said to it unasked, and it goes on.
    Say {
        /// The words.
        text: String,
    },
}

/// Goal and answer of an earlier run of the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Earlier {
    /// Its goal.
    pub asked: String,
    /// Its answer; empty where it came to none.
    pub answered: String,
}

/// An MCP server that the client offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferedServer {
    /// Its name.
    pub name: String,
    /// Transport to the server.
    pub reach: Reach,
}

/// Transport to a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// It is started.
    Command {
        /// The program.
        program: PathBuf,
        /// Its arguments.
        arguments: Vec<String>,
        /// Variables that it sees beside the usual ones.
        variables: BTreeMap<String, String>,
    },
    /// Streamable HTTP.
    Http {
        /// Its address.
        url: String,
        /// Headers of every request.
        headers: BTreeMap<String, String>,
    },
}
