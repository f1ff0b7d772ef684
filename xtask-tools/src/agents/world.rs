//! Environment of the scenario: a working folder, homes, the built aime.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use aime_scripted_server::ScriptedServer;
use anyhow::{Context, Result};
use serde_json::Value;

use xtask::fresh_folder;

/// Name of the run.
pub(super) const RUN: &str = "parts";
/// Content of a file that no agent may read.
pub(super) const SECRET: &str = "SECRET-OF-THE-SCENARIO";

/// Folders and settings of aime.
pub(super) struct World {
    program: PathBuf,
    root: PathBuf,
}

impl World {
    pub(super) fn new(program: PathBuf) -> Result<Self> {
        let root = fresh_folder("aime-agents")?;
        for folder in ["work", "home", "settings/aime", "outside", "homes/claude", "homes/gemini"] {
            fs::create_dir_all(root.join(folder))?;
        }
        fs::write(root.join("outside/secret"), SECRET)?;
        Ok(Self { program, root })
    }

    pub(super) fn folder(&self) -> &Path {
        &self.root
    }

    /// Returns aime's working folder.
    pub(super) fn work(&self) -> PathBuf {
        self.root.join("work")
    }

    /// Returns a folder that no agent may use.
    pub(super) fn outside(&self) -> PathBuf {
        self.root.join("outside")
    }

    /// Returns the home of an agent.
    pub(super) fn home(&self, agent: &str) -> PathBuf {
        self.root.join("homes").join(agent)
    }

    pub(super) fn configure(&self, settings: &str) -> Result<()> {
        Ok(fs::write(self.root.join("settings/aime/config.toml"), settings)?)
    }

    pub(super) fn plan(&self, plan: &Value) -> Result<()> {
        Ok(fs::write(self.work().join("plan.json"), plan.to_string())?)
    }

    fn command(&self, arguments: &[&str], model: &ScriptedServer) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments).env_clear().envs(std::env::vars_os().filter(|(name, _)| name == "PATH")).env("AIME_OFFLINE", "1");
        command.env("HOME", self.root.join("home")).env("XDG_CONFIG_HOME", self.root.join("settings"));
        command.env("OPENAI_BASE_URL", model.url()).env("AIME__PLANNING__ROUTE", "rules");
        command.current_dir(self.work()).stdin(Stdio::null());
        command
    }

    /// Runs aime until it ends, and returns its output. `doctor` has its own exit code, so the caller judges by the text.
    pub(super) fn aime(&self, arguments: &[&str], model: &ScriptedServer) -> Result<String> {
        let log = fs::File::create(self.root.join(format!("{}.log", arguments.first().copied().unwrap_or_default())))?;
        let output = self.command(arguments, model).stderr(log).output().context("could not start aime")?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Starts the run.
    pub(super) fn start(&self, model: &ScriptedServer) -> Result<Child> {
        let run = ["run", "--plan", "plan.json", "--run-id", RUN, "--unattended", "--approve", "all", "--output", "json"];
        let log = |name: &str| fs::File::create(self.root.join(name));
        Ok(self.command(&run, model).stdout(log("run.out")?).stderr(log("run.log")?).spawn()?)
    }

    /// Returns the tasks that have succeeded so far.
    pub(super) fn concluded(&self, model: &ScriptedServer) -> Result<Vec<String>> {
        let events = self.aime(&["runs", "events", RUN, "--output", "jsonl"], model)?;
        let events = events.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let succeeded = events.filter(|event| {
            event.get("type").is_some_and(|kind| kind == "task_concluded")
                && event.pointer("/conclusion/outcome").is_some_and(|outcome| outcome == "success")
        });
        Ok(succeeded.filter_map(|event| Some(event.get("task")?.as_str()?.to_owned())).collect())
    }
}
