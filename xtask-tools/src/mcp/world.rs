//! Environment of the scenario: a working folder under git, a separate home, the built aime, and a scripted model.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use aime_scripted_server::{Reply, Script, ScriptedServer, When};
use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::calls::Call;
use super::install::Installed;
use xtask::fresh_folder;

/// Folder and settings of aime.
pub(crate) struct World {
    program: PathBuf,
    root: PathBuf,
}

impl World {
    pub(crate) fn new(program: PathBuf, installed: &Installed) -> Result<Self> {
        let root = fresh_folder("aime-mcp")?;
        for folder in ["work", "home", "settings/aime"] {
            fs::create_dir_all(root.join(folder))?;
        }
        let work = root.join("work");
        let author = ["-c", "user.name=aime", "-c", "user.email=aime@localhost"];
        for words in [&["init", "--quiet"][..], &["commit", "--quiet", "--allow-empty", "--message", "the first of this repository"]] {
            let status = Command::new("git").args(author).args(words).current_dir(&work).status().context("could not start git")?;
            ensure!(status.success(), "git {words:?} failed");
        }
        eprintln!("servers in {}, runs in {}", installed.folder().display(), root.display());
        Ok(Self { program, root })
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.root
    }

    /// Returns aime's working folder.
    pub(crate) fn work(&self) -> PathBuf {
        self.root.join("work")
    }

    /// Replaces the user's settings.
    pub(crate) fn configure(&self, settings: &str) -> Result<()> {
        Ok(fs::write(self.root.join("settings/aime/config.toml"), settings)?)
    }

    /// Returns a command of aime in the working folder with these settings. Of the caller's environment it gets only what finds programs.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments).env_clear().envs(std::env::vars_os().filter(|(name, _)| name == "PATH")).env("AIME_OFFLINE", "1");
        command.env("HOME", self.root.join("home")).env("XDG_CONFIG_HOME", self.root.join("settings"));
        command.current_dir(self.work()).stdin(Stdio::null());
        command
    }

    /// Runs aime until it ends.
    pub(crate) fn aime(&self, arguments: &[&str]) -> Result<Ended> {
        Ok(Ended { line: arguments.join(" "), output: self.command(arguments).output().context("could not start aime")? })
    }

    /// Runs an actor that makes these calls in order, and checks each result.
    pub(crate) fn actor(&self, calls: &[Call]) -> Result<()> {
        let script = calls.iter().enumerate().fold(Script::new(), |script, (turn, call)| {
            script.on(When::tools().and_turn(turn), [Reply::call(call.tool.clone(), call.parameters.clone())])
        });
        let server = model(script)?;
        let mut command = self.command(&RUN);
        let output = command.env("OPENAI_BASE_URL", server.url()).output().context("could not start aime")?;
        Ended { line: RUN.join(" "), output }.reached()?;
        let requests = server.requests();
        for (turn, call) in calls.iter().enumerate() {
            let request = requests.get(turn + 1).with_context(|| format!("nothing was asked after {}", call.tool))?;
            let answer = last_result(request);
            for expected in &call.expects {
                ensure!(answer.contains(expected), "{} {} brings no {expected:?}, but: {answer}", call.tool, call.parameters);
            }
        }
        Ok(())
    }
}

/// Arguments that start an actor.
pub(crate) const RUN: [&str; 8] = ["run", "call the tools", "--mode", "direct", "--approve", "all", "--output", "jsonl"];

/// Starts a model that follows the script, and at the end says that all is done.
pub(crate) fn model(script: Script) -> Result<ScriptedServer> {
    ScriptedServer::try_start(script.on(When::tools(), [done()]), 0).context("the scripted model does not start")
}

/// Returns the reply by which an actor reports success.
pub(crate) fn done() -> Reply {
    Reply::call("terminate", json!({"status": "success", "message": "all is called"}))
}

/// Returns the last tool result in a request.
pub(crate) fn last_result(request: &Value) -> String {
    let messages = request.get("messages").and_then(Value::as_array);
    let last = messages.and_then(|messages| messages.iter().rfind(|message| message.get("role").is_some_and(|role| role == "tool")));
    let content = last.and_then(|message| message.get("content"));
    content.map(|content| content.as_str().map_or_else(|| content.to_string(), str::to_owned)).unwrap_or_default()
}

/// Result of an aime command.
pub(crate) struct Ended {
    pub(crate) line: String,
    pub(crate) output: Output,
}

impl Ended {
    fn output_text(&self) -> String {
        format!("{}{}", String::from_utf8_lossy(&self.output.stdout), String::from_utf8_lossy(&self.output.stderr))
    }

    /// Fails unless the goal was reached.
    pub(crate) fn reached(&self) -> Result<&Self> {
        if self.output.status.success() {
            Ok(self)
        } else {
            bail!("aime {} failed ({}):\n{}", self.line, self.output.status, self.output_text())
        }
    }

    /// Fails unless the output contains all of these texts.
    pub(crate) fn holds(&self, texts: &[&str]) -> Result<&Self> {
        let output = self.output_text();
        let missing: Vec<_> = texts.iter().filter(|text| !output.contains(**text)).collect();
        ensure!(missing.is_empty(), "aime {} does not tell {missing:?}:\n{output}", self.line);
        Ok(self)
    }

    /// Returns the last line of standard error.
    pub(crate) fn last_line(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).lines().last().unwrap_or_default().to_owned()
    }
}
