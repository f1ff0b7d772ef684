//! Next steps for the user after a failed operation.

use std::fmt;

use aime_messages::{Message, message};
use aime_orchestrator::NextStep;
use aime_progress_management::RunId;
#[cfg(feature = "mcp")]
use aime_tools::McpError;

/// Next step for the user. A user interface words it with its own commands; `Display` names none.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Hint {
    /// Advice that names no command.
    Text(Message),
    /// Next step after a run was suspended or failed.
    Next(Box<NextStep>),
    /// No run has begun in the folder: start one, or name another folder.
    StartRun,
    /// List the runs of the folder.
    ListRuns,
    /// Wait until the run that a process works on ends, or pause it.
    AwaitOrPause,
    /// The name `last` means the newest run.
    NewestRun,
    /// Look at the state of a run, its tasks and the versions of its plan.
    ShowRun(String),
    /// Choose another name for the run.
    OtherId,
    /// Choose another name for the run, or resume the one that has it.
    OtherIdOrResume,
    /// Resume a stopped run, or start a new one.
    ResumeOrStart(String),
    /// Make the folder a repository, or commit nothing.
    MakeRepository,
    /// Fix the cause, then resume: earlier records are safe.
    FixThenResume,
    /// List the damage of a run, or delete it.
    CheckOrDelete(String),
    /// Check the plan, and see its format.
    CheckPlan,
    /// Cancel the whole run.
    CancelRun(String),
    /// Send the message to the run itself.
    TellRun(String),
    /// Report a fault of aime; runs can be resumed.
    ReportFault,
    /// Configure a model, such as by one of these variables.
    ConfigureModel(String),
    /// Write a configuration to begin with.
    InitConfiguration,
    /// List the known names of a kind; one may be meant.
    List {
        /// Kind of the names.
        kind: NameKind,
        /// Name that may be meant.
        near: Option<String>,
    },
    /// Name a known local model, or the path of a file; one may be meant.
    LocalModels {
        /// Name that may be meant.
        near: Option<String>,
    },
    /// Correct the path of a model's file, or use a known model.
    CorrectModelFile,
    /// Fetch this model once there is a network, put its file there, or use a model on a server.
    FetchLater(String),
    /// Fetch a model.
    FetchModel {
        /// Name of the model.
        model: String,
        /// Size of its file, for people.
        size: String,
    },
    /// Use a local model that is known to run, or a model on a server.
    OtherModel,
    /// Give the task another profile, or run the plan without an engine.
    OtherProfile,
    /// Log in to the MCP server of this name.
    LogIn(String),
    /// Next step for runs on an engine.
    Engine(EngineStep),
}

/// Next steps for runs on an engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineStep {
    /// Start the server of the engine.
    Server,
    /// List the runs of the engine.
    List,
    /// Start a worker.
    Worker,
    /// End the run first.
    EndRun,
    /// Undo the run in the folder where its files were changed.
    UndoElsewhere,
}

/// Kinds of names that can be listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameKind {
    /// Profiles of actors.
    Profiles,
    /// Models.
    Models,
    /// Skills.
    Skills,
}

impl Default for Hint {
    fn default() -> Self {
        Self::Text(Message::default())
    }
}

impl Hint {
    /// Returns the next step after a fault of an MCP server, if a person can take one.
    #[cfg(feature = "mcp")]
    pub fn for_server(fault: &McpError) -> Option<Self> {
        match fault {
            McpError::Unauthorized { server } | McpError::Forbidden { server, .. } => Some(Self::LogIn(server.clone())),
            _ => None,
        }
    }
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => text.fmt(f),
            Self::Next(next) => next.fmt(f),
            Self::StartRun => f.write_str("nothing has run there yet"),
            Self::ListRuns => f.write_str("look at the list of runs of this folder"),
            Self::AwaitOrPause => f.write_str("wait until it ends, or pause it"),
            Self::NewestRun => f.write_str("`last` is the newest run"),
            Self::ShowRun(_) => f.write_str("look at the state of the run"),
            Self::OtherId => f.write_str("choose another name"),
            Self::OtherIdOrResume => f.write_str("choose another name, or resume that run"),
            Self::ResumeOrStart(_) => f.write_str("a stopped run can be resumed; otherwise start a new run"),
            Self::MakeRepository => f.write_str("make the folder a git repository, or commit nothing"),
            Self::FixThenResume => f.write_str("what was recorded before is safe: fix it, then resume the run"),
            Self::CheckOrDelete(_) => f.write_str("check the run for all damage, or delete it"),
            Self::CheckPlan => f.write_str("check the plan against its format, aime.plan/v1"),
            Self::CancelRun(_) => f.write_str("cancel the run"),
            Self::TellRun(_) => f.write_str("send it to the run"),
            Self::ReportFault => f.write_str("a run can be resumed; please report the messages above"),
            Self::ConfigureModel(keys) => {
                write!(f, "set the key of a provider ({keys}), or OPENAI_BASE_URL, or write [models.default] into aime.toml")
            }
            Self::InitConfiguration => f.write_str("begin with the commented settings"),
            Self::List { near: Some(near), .. } | Self::LocalModels { near: Some(near) } => write!(f, "did you mean {near:?}?"),
            Self::List { kind: NameKind::Profiles, near: None } => f.write_str("use one of the known profiles"),
            Self::List { kind: NameKind::Models, near: None } => f.write_str("use one of the known models"),
            Self::List { kind: NameKind::Skills, near: None } => f.write_str("use one of the known skills"),
            Self::LocalModels { near: None } => f.write_str("use a known local model, or the path of a file that ends in .gguf"),
            Self::CorrectModelFile => f.write_str("correct the path, or use a known local model"),
            Self::FetchLater(model) => write!(
                f,
                "with a network, unset AIME_OFFLINE (or local.offline) and fetch {model}; or put the file there; or set OPENAI_BASE_URL, or the key of a provider"
            ),
            Self::FetchModel { model, size } => write!(f, "fetch {model} ({size})"),
            Self::OtherModel => f.write_str("use a local model that is known to run, or a model on a server"),
            Self::OtherProfile => f.write_str("give the task another profile, or run the plan without an engine"),
            Self::LogIn(server) => write!(f, "log in to the MCP server {server}"),
            Self::Engine(EngineStep::Server) => f.write_str("check that the server is there"),
            Self::Engine(EngineStep::List) => f.write_str("look at the list of runs of this engine"),
            Self::Engine(EngineStep::Worker) => f.write_str("check that a worker is there"),
            Self::Engine(EngineStep::UndoElsewhere) => f.write_str("undo it in the folder of its workers, or in the one where it began"),
            Self::Engine(EngineStep::EndRun) => f.write_str("cancel the run first"),
        }
    }
}

impl From<NextStep> for Hint {
    fn from(next: NextStep) -> Self {
        Self::Next(Box::new(next))
    }
}

impl From<Message> for Hint {
    fn from(text: Message) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for Hint {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for Hint {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

/// Returns what to do about a run that has ended: continue from its plan, or start anew if it has none.
pub(crate) fn after_end(run: &RunId, version: u32) -> Hint {
    if version == 0 { Hint::Text(message!("run-anew")) } else { NextStep::Fork { run: run.clone(), version }.into() }
}
