//! Runs aime on one goal, and reads the outcome from its result.

use std::fs::{self, File};
use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::run::Prepared;

/// Outcome of one run.
pub(crate) struct Trial {
    events: Vec<Value>,
    seconds: u64,
}

impl Trial {
    /// Runs aime on a goal in `folder`, unattended. Its output is kept beside the folder, as `FOLDER.jsonl` and `FOLDER.log`.
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

    /// Returns aime's final status, or `nothing` without a result.
    pub(crate) fn status(&self) -> &str {
        self.text("status").unwrap_or("nothing")
    }

    pub(crate) fn answer(&self) -> &str {
        self.text("answer").unwrap_or_default()
    }

    /// Returns aime's reason for missing the goal.
    pub(crate) fn error(&self) -> Option<&str> {
        self.result().pointer("/error/message")?.as_str()
    }

    /// Returns the mode that was chosen or set.
    pub(crate) fn mode(&self) -> &str {
        self.events.iter().find_map(|event| event.get("mode")?.as_str()).unwrap_or("-")
    }

    /// Returns the final tasks, each with its status.
    pub(crate) fn tasks(&self) -> Vec<String> {
        let line_of = |task: &Value| Some(format!("{} {}", task.get("id")?.as_str()?, task.get("status")?.as_str()?));
        self.result().get("tasks").and_then(Value::as_array).into_iter().flatten().filter_map(line_of).collect()
    }

    /// Formats the columns of [`COST`].
    pub(crate) fn cost(&self) -> String {
        let usage = |name: &str| self.result().pointer(&format!("/usage/{name}")).and_then(Value::as_u64).unwrap_or_default();
        let (input, cached, output) = (usage("input_tokens"), usage("cached_input_tokens"), usage("output_tokens"));
        format!("{} | {input} ({cached}) | {output} | {}", usage("requests"), self.seconds)
    }
}

/// Headers of the columns of [`Trial::cost`].
pub(crate) const COST: &str = "requests | tokens in (cached) | tokens out | seconds";
