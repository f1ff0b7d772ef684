//! `cargo xtask run GOAL --server`: a run with a model behind a server, and runs of aime for other tasks.
//!
//! aime uses the model that the environment names or, without one, the small model in its own process. With `--server` a separate process
//! serves the small model during the run, to compare the two. `xtask` itself carries out a run without `--server`.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::Result;
use clap::Args;
use xtask::workspace::build_aime;
use xtask::{GoalRun, use_local_model};

use crate::model::{Name, Server, setup};

/// Settings for a model behind the server: it is small; a plan takes a minute on two busy cores; and a model that starts to repeat itself
/// does not stop.
const SERVER_LIMITS: [(&str, &str); 4] = [
    ("AIME__MODELS__DEFAULT__SMALL", "true"),
    ("AIME__MODELS__DEFAULT__TIMEOUT_SECONDS", "600"),
    ("AIME__MODELS__DEFAULT__CONTEXT_TOKENS", "8192"),
    ("AIME__MODELS__DEFAULT__MAX_OUTPUT_TOKENS", "1024"),
];

/// Arguments of a run.
#[derive(Args)]
pub(crate) struct RunArguments {
    /// Goal of the run
    goal: String,
    /// The folder to work in; a new empty one by default
    #[arg(long)]
    folder: Option<PathBuf>,
    #[command(flatten)]
    model: ModelArguments,
    /// Further arguments of `aime run`
    #[arg(last = true)]
    rest: Vec<String>,
}

/// Model of a run, and its server.
#[derive(Args)]
pub(crate) struct ModelArguments {
    /// Use this local model even if the environment names another
    #[arg(long)]
    model: Option<Name>,
    /// Serve it with llama.cpp's server, which is fetched, instead of running it in aime's process
    #[arg(long)]
    pub(crate) server: bool,
}

/// Runs the goal and returns aime's own exit code.
pub(crate) fn run(arguments: &RunArguments) -> Result<ExitCode> {
    let RunArguments { goal, folder, model, rest } = arguments;
    let prepared = Prepared::new(model)?;
    GoalRun { goal: goal.clone(), folder: folder.clone(), rest: rest.clone() }.start(prepared.aime())
}

/// Built aime, with its model ready.
pub(crate) struct Prepared {
    program: PathBuf,
    /// Ends when this is dropped.
    server: Option<Server>,
    model: Option<Name>,
}

impl Prepared {
    /// Builds aime, and serves the model if requested.
    pub(crate) fn new(model: &ModelArguments) -> Result<Self> {
        let program = build_aime(&[])?;
        let server = if model.server {
            let name = model.model.unwrap_or(Name::Qwen1b5);
            Some(Server::start(name, &setup(name)?, Server::free_port()?)?)
        } else {
            None
        };
        Ok(Self { program, server, model: model.model })
    }

    /// Returns true if it serves a local model.
    pub(crate) fn serves(&self) -> bool {
        self.server.is_some()
    }

    /// Returns a command that starts aime with that model.
    pub(crate) fn aime(&self) -> Command {
        let mut command = Command::new(&self.program);
        if let Some(server) = &self.server {
            command.envs(server.variables()).envs(SERVER_LIMITS);
        } else if let Some(name) = self.model {
            use_local_model(&mut command, name.alias());
        }
        command
    }
}

/// Builds aime and runs a goal in a folder.
pub(crate) fn run_goal(goal: &str, folder: &Path, model: &ModelArguments, rest: &[String]) -> Result<u8> {
    let prepared = Prepared::new(model)?;
    GoalRun { goal: goal.to_owned(), folder: None, rest: rest.to_vec() }.start_in(folder, prepared.aime())
}
