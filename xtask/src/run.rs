//! `cargo xtask run GOAL`: the first run, with no set-up.
//!
//! aime uses the model that the environment names or, without one, the small model in its own process. With `--server` a separate process
//! serves the small model during the run, to compare the two.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use clap::Args;

use crate::model::{Name, Server, setup};
use crate::workspace::build_aime;

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
    let folder = match &arguments.folder {
        Some(folder) => folder.clone(),
        None => fresh_folder("aime")?,
    };
    let before = files(&folder);
    let code = run_goal(&arguments.goal, &folder, &arguments.model, &arguments.rest)?;
    let new: Vec<String> = files(&folder).into_iter().filter(|file| !before.contains(file)).collect();
    eprintln!("\nfolder: {}", folder.display());
    if !new.is_empty() {
        eprintln!("new in it: {}", new.join(", "));
    }
    eprintln!("to use `aime` there: `cargo install --locked --path crates/cli`, then `cd {}`", folder.display());
    Ok(ExitCode::from(code))
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
            // Variables override all files, and the name cannot be mistaken for a server's.
            command
                .envs([("AIME__MODELS__DEFAULT__PROVIDER", "local"), ("AIME__MODELS__DEFAULT__MODEL", name.alias())])
                .env_remove("AIME_MODEL");
        }
        command
    }
}

/// Builds aime and runs `aime run GOAL` in a folder.
pub(crate) fn run_goal(goal: &str, folder: &Path, model: &ModelArguments, rest: &[String]) -> Result<u8> {
    fs::create_dir_all(folder).with_context(|| format!("could not make {}", folder.display()))?;
    let prepared = Prepared::new(model)?;
    let mut command = prepared.aime();
    command.arg("-C").arg(folder).arg("run").arg(goal).args(rest);
    eprintln!("$ aime run {goal:?}");
    let status = command.status().context("could not start aime")?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(130))
}

/// Creates a new temporary folder for a trial.
pub(crate) fn fresh_folder(name: &str) -> Result<PathBuf> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
    let folder = std::env::temp_dir().join(format!("{name}-{now}"));
    fs::create_dir(&folder).with_context(|| format!("could not make {}", folder.display()))?;
    Ok(folder)
}

/// Returns the names in a folder, sorted, without hidden ones.
fn files(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.retain(|name| !name.starts_with('.'));
    names.sort();
    names
}
