//! One goal given to aime, and what came of it as its own result tells.

use std::fs::{self, File};
use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::run::Prepared;

/// What came of one run.
pub(crate) struct Trial {
    events: Vec<Value>,
    seconds: u64,
}

impl Trial {
    /// Gives a goal to aime in `folder`, with nobody to ask. What it printed is kept beside the folder, as `FOLDER.jsonl` and `FOLDER.log`.
    pub(crate) fn run<S: AsRef<str>>(prepared: &Prepared, folder: &Path, goal: &str, rest: impl IntoIterator<Item = S>) -> Result<Self> {
        let begun = Instant::now();
        let mut command = prepared.aime();
        command.arg("-C").arg(folder).args(["run", goal, "--approve", "all", "--unattended", "--output", "jsonl"]);
        command.args(rest.into_iter().map(|argument| argument.as_ref().to_owned()));
        let log = File::create(folder.with_added_extension("log"))?;
        let output = command.stdin(Stdio::null()).stderr(log).output().context("could not start aime")?;
        let seconds = begun.elapsed().as_secs();
        fs::write(folder.with_added_extension("jsonl"), &output.stdout)?;
        let events = output.stdout.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect();
        Ok(Self { events, seconds })
    }

    fn result(&self) -> &Value {
        self.events.last().unwrap_or(&Value::Null)
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.result().get(name)?.as_str()
    }

    /// The status that aime ended with; `nothing` where it gave no result.
    pub(crate) fn status(&self) -> &str {
        self.text("status").unwrap_or("nothing")
    }

    pub(crate) fn answer(&self) -> &str {
        self.text("answer").unwrap_or_default()
    }

    /// Why the goal was not reached, in aime's words.
    pub(crate) fn error(&self) -> Option<&str> {
        self.result().pointer("/error/message")?.as_str()
    }

    /// The mode that was chosen or set.
    pub(crate) fn mode(&self) -> &str {
        self.events.iter().find_map(|event| event.get("mode")?.as_str()).unwrap_or("-")
    }

    /// The tasks in the end, each with its status.
    pub(crate) fn tasks(&self) -> Vec<String> {
        let told = |task: &Value| Some(format!("{} {}", task.get("id")?.as_str()?, task.get("status")?.as_str()?));
        self.result().get("tasks").and_then(Value::as_array).into_iter().flatten().filter_map(told).collect()
    }

    /// The columns of [`COST`].
    pub(crate) fn cost(&self) -> String {
        let usage = |name: &str| self.result().pointer(&format!("/usage/{name}")).and_then(Value::as_u64).unwrap_or_default();
        let (input, cached, output) = (usage("input_tokens"), usage("cached_input_tokens"), usage("output_tokens"));
        format!("{} | {input} ({cached}) | {output} | {}", usage("requests"), self.seconds)
    }
}

/// The heads of the columns of [`Trial::cost`].
pub(crate) const COST: &str = "requests | tokens in (cached) | tokens out | seconds";
