//! Interface to the program that starts the agent: folders, and runs in them.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use aime_llm::Image;
use aime_orchestrator::{HumanChannel, PublishedEvent, RunResult, RunView};
use aime_progress_management::{QuestionId, RunId};
use futures::future::BoxFuture;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::SessionChoices;

/// Reason why a request is refused, for the client.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The request is invalid: the folder or the setting does not exist.
    #[error("{0}")]
    Invalid(String),
    /// The agent failed, for lack of a model or of a writable journal.
    #[error("{0}")]
    Failed(String),
}

/// Opens folders.
pub trait FolderService: Send + Sync + 'static {
    /// Returns a new name for a session and its first run.
    ///
    /// # Errors
    /// [`Refusal`].
    fn new_name(&self) -> Result<RunId, Refusal>;

    /// Returns the folder in which the agent was started. Its sessions are listed before the client names any folder.
    fn own_folder(&self) -> PathBuf;

    /// Opens a folder, with its settings, and starts the servers that the client offers.
    fn open(&self, folder: PathBuf, servers: Vec<OfferedServer>) -> BoxFuture<'_, Result<Arc<dyn Folder>, Refusal>>;

    /// Ends the folders that nobody holds any more, with everything that was started for them.
    fn release(&self) -> BoxFuture<'_, ()>;
}

/// A folder in which runs are carried out.
pub trait Folder: Send + Sync + 'static {
    /// Returns its path without links.
    fn path(&self) -> &Path;

    /// Returns the options that the folder's settings choose.
    fn choices(&self) -> SessionChoices;

    /// Returns its runs, the latest first.
    ///
    /// # Errors
    /// [`Refusal`].
    fn runs(&self) -> Result<Vec<KnownRun>, Refusal>;

    /// Returns a run as recorded in its journal; `None` if nothing of it was recorded.
    ///
    /// # Errors
    /// [`Refusal`].
    fn view(&self, run: &RunId) -> Result<Option<RunView>, Refusal>;

    /// Returns the context window of a model by its name, in tokens; `None` if it is not known.
    fn window(&self, model: &str) -> BoxFuture<'_, Option<u64>>;

    /// Deletes a run that nobody drives, with all its data.
    ///
    /// # Errors
    /// [`Refusal`].
    fn delete(&self, run: RunId) -> BoxFuture<'_, Result<(), Refusal>>;

    /// Carries out a run until it ends or is suspended. The run ends in order even if the future's owner no longer
    /// waits for it.
    fn run_turn(&self, turn: Turn) -> BoxFuture<'_, Result<RunResult, Refusal>>;
}

/// A run of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownRun {
    /// Name of the run.
    pub run: RunId,
    /// Goal of the run.
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
    pub earlier: Vec<EarlierRun>,
    /// Channel for its questions.
    pub human: Arc<dyn HumanChannel>,
    /// Gets its events.
    pub events: mpsc::UnboundedSender<PublishedEvent>,
    /// Stops the run, so that it can be resumed later.
    pub stop: CancellationToken,
}

/// Action on a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Work {
    /// Starts the run.
    Start {
        /// Goal of the run.
        goal: String,
        /// The images of the goal.
        images: Vec<Image>,
        /// Options of the run.
        chosen: SessionChoices,
    },
    /// Continues a run that has ended.
    Continue {
        /// The next goal.
        goal: String,
    },
    /// Answers a question of the run and resumes it.
    Answer {
        /// The question.
        question: QuestionId,
        /// The answer.
        text: String,
    },
    /// Sends the run a message and resumes it.
    Say {
        /// The words.
        text: String,
    },
}

/// Goal and answer of an earlier run of the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EarlierRun {
    /// Goal of the run.
    pub goal: String,
    /// Answer of the run; empty if there is none.
    pub answered: String,
}

/// An MCP server that the client offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferedServer {
    /// Name of the server.
    pub name: String,
    /// Transport to the server.
    pub reach: Reach,
}

/// Transport to a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// A command that aime starts.
    Command {
        /// The program.
        program: PathBuf,
        /// Arguments of the command.
        arguments: Vec<String>,
        /// Environment variables in addition to the usual ones.
        variables: BTreeMap<String, String>,
    },
    /// Streamable HTTP.
    Http {
        /// Address of the server.
        url: String,
        /// Headers of every request.
        headers: BTreeMap<String, String>,
    },
}
