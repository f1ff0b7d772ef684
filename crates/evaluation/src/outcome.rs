//! Outcome of a trial, and its log.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    path::Path,
};

use aime_messages::{Describe, Message, message};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Trial, Variant};

/// Schema version of a line.
const SCHEMA: &str = "aime.trial/v1";
/// Maximum bytes of an answer or an error that are kept.
const KEPT: usize = 2_000;

/// Outcome of one trial, a line of `trials.jsonl`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Always `aime.trial/v1`.
    pub schema: String,
    /// Name of the task.
    pub task: String,
    /// Variant of the trial.
    pub variant: Variant,
    /// Number of the repetition, from 1.
    pub repeat: u32,
    /// True if the check passed; this alone counts as success.
    pub reached: bool,
    /// True if the run claimed success.
    pub claimed: bool,
    /// Digest of the inputs: the task, the model, the settings. Absent in older trials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_of: Option<String>,
    /// Kind of failure; `None` for a success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// Start time (RFC 3339), if the run reports it; it identifies the version of the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begun: Option<String>,
    /// Duration of the whole run in seconds.
    pub seconds: u64,
    /// Number of requests to models.
    #[serde(default)]
    pub requests: u64,
    /// Number of input tokens, including cached ones; absent if the program does not report them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Number of cached input tokens.
    #[serde(default)]
    pub cached_input_tokens: u64,
    /// Number of output tokens; absent if the program does not report them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// Cost in US dollars; absent if the program does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// Number of plan changes.
    #[serde(default)]
    pub replans: u64,
    /// Number of questions to a person.
    #[serde(default)]
    pub interventions: u64,
    /// Reason of a fallback plan, if the planner's plan was replaced by one: the trial then evaluates the fallback instead of the mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback: Option<String>,
    /// Chosen mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Answer, cut to the maximum length.
    #[serde(default)]
    pub answer: String,
    /// Error message of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Kind of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Failure {
    /// The run claimed success, but the check failed.
    FalseClaim,
    /// The run reported failure.
    GivenUp,
    /// A bound of tokens, money, time or steps was reached.
    Bound,
    /// The run waits for a person, and none is present.
    Waiting,
    /// The model could not be used.
    Model,
    /// The program was called incorrectly, for example with invalid settings.
    Usage,
    /// The program failed, or gave no result.
    Fault,
}

impl Describe for Failure {
    fn describe(&self) -> Message {
        match self {
            Self::FalseClaim => message!("eval-false-claim"),
            Self::GivenUp => message!("eval-given-up"),
            Self::Bound => message!("eval-bound"),
            Self::Waiting => message!("eval-waiting"),
            Self::Model => message!("eval-model"),
            Self::Usage => message!("eval-usage"),
            Self::Fault => message!("eval-fault"),
        }
    }
}

impl Failure {
    /// Returns true if nothing was tried: such a trial says nothing about the variant, does not count, and is repeated.
    #[must_use]
    pub const fn is_of_the_set_up(self) -> bool {
        matches!(self, Self::Model | Self::Usage)
    }

    /// Determines the kind from the exit code of a run that did not reach its goal. `tells` is true if the codes 0 and 1
    /// are the program's own report.
    const fn of_exit(code: Option<i32>, tells: bool) -> Self {
        match code {
            Some(0) if tells => Self::FalseClaim,
            Some(1) if tells => Self::GivenUp,
            // Exit codes of a shell for a missing program.
            Some(2 | 126 | 127) => Self::Usage,
            Some(3) => Self::Model,
            Some(4) => Self::Bound,
            Some(5) => Self::Waiting,
            _ => Self::Fault,
        }
    }
}

impl Outcome {
    /// Creates the outcome from the events that a run printed, one per line with the result last. The goal counts as not reached until the
    /// check.
    ///
    /// Also returns the whole answer, of which only the beginning is kept, because a check may need its end.
    pub(crate) fn new(trial: &Trial<'_>, printed: &str, code: Option<i32>, seconds: u64) -> (Self, String) {
        let lines: Vec<Value> = printed.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let result = result(&lines);
        let counter = |name: &str| result.and_then(|result| result.pointer(name)?.as_u64());
        let number = |name: &str| counter(name).unwrap_or_default();
        let text = |name: &str| result.and_then(|result| Some(cut(result.pointer(name)?.as_str()?)));
        let of_type = |kind: &'static str| lines.iter().filter(move |line| line.get("type").and_then(Value::as_str) == Some(kind));
        let answer = result.and_then(|result| result.pointer("/answer")?.as_str()).unwrap_or_default().to_owned();
        // For another agent the exit code is enough; aime always prints a result.
        let tells = result.is_some() || trial.variant.agent.is_some();
        let outcome = Self {
            schema: SCHEMA.to_owned(),
            task: trial.task.name.clone(),
            variant: trial.variant.clone(),
            repeat: trial.repeat,
            reached: false,
            claimed: code == Some(0) && tells,
            made_of: None,
            failure: Some(Failure::of_exit(code, tells)),
            begun: lines.iter().find_map(|line| line.get("time")?.as_str().map(str::to_owned)),
            seconds,
            requests: number("/usage/requests"),
            input_tokens: counter("/usage/input_tokens"),
            cached_input_tokens: number("/usage/cached_input_tokens"),
            output_tokens: counter("/usage/output_tokens"),
            cost_usd: result.and_then(|result| result.pointer("/usage/cost_usd")?.as_f64()),
            replans: number("/replans"),
            interventions: u64::try_from(of_type("question_asked").count()).unwrap_or(u64::MAX),
            fallback: of_type("plan_created").next().and_then(|event| event.get("fallback")?.as_str().map(cut)),
            mode: of_type("routed").next().and_then(|event| event.get("mode")?.as_str().map(str::to_owned)),
            answer: cut(&answer),
            error: text("/error/message"),
        };
        (outcome, answer)
    }

    /// Sets the result of the check.
    pub(crate) fn checked(self, reached: bool) -> Self {
        Self { reached, failure: self.failure.filter(|_| !reached), ..self }
    }

    /// Returns true if the outcome belongs to this trial, with the same inputs as far as they are known.
    pub(crate) fn is_of(&self, trial: &Trial<'_>, made_of: &str) -> bool {
        let same = || self.made_of.as_deref().is_none_or(|known| known == made_of);
        self.task == trial.task.name && self.variant == *trial.variant && self.repeat == trial.repeat && same()
    }

    /// Returns the number of input and output tokens, if reported.
    #[must_use]
    pub fn tokens(&self) -> Option<u64> {
        Some(self.input_tokens? + self.output_tokens?)
    }

    /// Returns the identity of the trial.
    #[must_use]
    pub fn key(&self) -> (String, Variant, u32) {
        (self.task.clone(), self.variant.clone(), self.repeat)
    }
}

/// Returns the result in the output of a run: the last one.
fn result(lines: &[Value]) -> Option<&Value> {
    lines.iter().rev().find(|line| line.get("schema").and_then(Value::as_str) == Some("aime.result/v1"))
}

/// Returns the error message of a program on standard error: from its last `error` on, or else its last line.
pub(crate) fn last_words(text: &str) -> Option<String> {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let from = lines.iter().rposition(|line| line.starts_with("error")).unwrap_or(lines.len().saturating_sub(1));
    let message = lines.get(from..).unwrap_or_default().join("\n");
    (!message.is_empty()).then(|| cut(&message))
}

fn cut(text: &str) -> String {
    let end = (0..=KEPT.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
    text.get(..end).unwrap_or_default().to_owned()
}

/// Append-only file with the outcomes of an evaluation, from which it can be continued.
#[derive(Debug)]
pub struct OutcomeLog {
    file: File,
    outcomes: Vec<Outcome>,
}

impl OutcomeLog {
    /// Opens a file, and creates it if needed. Removes a truncated last line, so that its trial is repeated.
    ///
    /// # Errors
    /// A file that cannot be used, or an invalid line before the last, with its line number.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut file = OpenOptions::new().create(true).read(true).append(true).open(path)?;
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        if whole < text.len() {
            file.set_len(u64::try_from(whole).unwrap_or_default())?;
            file.seek(SeekFrom::End(0))?;
        }
        let lines = text.get(..whole).unwrap_or_default().lines();
        let read = |(index, line): (usize, &str)| {
            let outcome: Outcome = serde_json::from_str(line).map_err(|error| io::Error::other(format!("line {}: {error}", index + 1)))?;
            let known = outcome.schema == SCHEMA;
            known.then_some(outcome).ok_or_else(|| io::Error::other(format!("line {} is of another version", index + 1)))
        };
        let outcomes = lines.enumerate().map(read).collect::<io::Result<_>>()?;
        Ok(Self { file, outcomes })
    }

    /// Returns all outcomes in the file.
    #[must_use]
    pub fn outcomes(&self) -> &[Outcome] {
        &self.outcomes
    }

    /// Appends an outcome; it is on the disk when this returns.
    ///
    /// # Errors
    /// A failed write.
    pub fn add(&mut self, outcome: Outcome) -> io::Result<()> {
        let mut line = serde_json::to_vec(&outcome)?;
        line.push(b'\n');
        self.file.write_all(&line)?;
        self.file.sync_data()?;
        self.outcomes.push(outcome);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
