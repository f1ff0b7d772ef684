//! Scripted model for all systems: a process that answers aime and its peers in turn, and measures the cost of their requests to a bare
//! client.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result};
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// Server that ends when this is dropped.
pub(crate) struct Server {
    process: Child,
    questions: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    /// Address for all systems.
    pub(crate) url: String,
}

#[derive(Deserialize)]
struct Address {
    url: String,
}

impl Server {
    /// Starts a server by aime's own program, which takes `ms` milliseconds for each answer.
    pub(crate) fn start(program: &Path, ms: u64) -> Result<Self> {
        let mut command = Command::new(program);
        command.args(["serve", "--ms", &ms.to_string()]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().context("the scripted model does not start")?;
        let questions = process.stdin.take();
        let mut answers = BufReader::new(process.stdout.take().context("the scripted model has no output")?);
        let Address { url } = read(&mut answers)?;
        Ok(Self { process, questions, answers, url })
    }

    /// Returns the statistics of the requests since the last question: `floor` or `tokens`.
    pub(crate) fn ask<T: DeserializeOwned>(&mut self, question: &str) -> Result<T> {
        writeln!(self.questions.as_ref().context("the scripted model has no input")?, "{question}")?;
        read(&mut self.answers)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The server ends with its input.
        drop(self.questions.take());
        let _ = self.process.wait();
    }
}

fn read<T: DeserializeOwned>(answers: &mut impl BufRead) -> Result<T> {
    let mut line = String::new();
    answers.read_line(&mut line)?;
    serde_json::from_str(&line).with_context(|| format!("the scripted model said {line:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_and_anything_else_is_told() {
        let mut output = "{\"url\": \"http://127.0.0.1:1\"}\nboom\n".as_bytes();
        assert_eq!(read::<Address>(&mut output).unwrap().url, "http://127.0.0.1:1");
        assert_eq!(read::<Address>(&mut output).err().unwrap().to_string(), "the scripted model said \"boom\\n\"");
    }
}
