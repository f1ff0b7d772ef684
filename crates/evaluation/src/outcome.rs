//! What came of one trial, as it is kept.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    path::Path,
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Trial, Variant};

/// The format of a line.
const SCHEMA: &str = "aime.trial/v1";
/// Bytes of an answer or an error that are kept.
const KEPT: usize = 2_000;

/// One trial, and what came of it: a line of `trials.jsonl`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Always `aime.trial/v1`.
    pub schema: String,
    /// The task.
    pub task: String,
    /// How it was tried.
    pub variant: Variant,
    /// The how manieth time, from 1.
    pub repeat: u32,
    /// Whether the check passed: the only thing that counts as success.
    pub reached: bool,
    /// Whether the run said that it reached the goal.
    pub claimed: bool,
    /// A digest of what it was made of: the task, the model, the settings. Absent in trials of before that was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_of: Option<String>,
    /// Why it was not reached; nothing where it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// When it began (RFC 3339), where the run tells: that says with which version of the program it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begun: Option<String>,
    /// Seconds of the whole run.
    pub seconds: u64,
    /// Requests to models.
    #[serde(default)]
    pub requests: u64,
    /// Tokens that were sent, those from a cache among them; absent where the program did not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Of these, those from a cache.
    #[serde(default)]
    pub cached_input_tokens: u64,
    /// Tokens that were answered; absent where the program did not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// What that cost; absent where the program did not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// Changes of the plan.
    #[serde(default)]
    pub replans: u64,
    /// Questions to a person.
    #[serde(default)]
    pub interventions: u64,
    /// Why the plan was none of the planner's, where it fell back: what was tried then is what it fell back to, and not the mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback: Option<String>,
    /// The mode that was chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// The answer, cut.
    #[serde(default)]
    pub answer: String,
    /// Why the goal was not reached, in the run's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Why a goal was not reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Failure {
    /// The run said that it did, and the check disagrees.
    FalseClaim,
    /// The run says that it did not.
    GivenUp,
    /// A bound of tokens, money, time or steps.
    Bound,
    /// The run waits for a person, and nobody is there.
    Waiting,
    /// The model could not be used.
    Model,
    /// The program was used wrongly, as with settings that cannot stand.
    Usage,
    /// A fault in the program, or no result of it at all.
    Fault,
}

impl Failure {
    /// In words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::FalseClaim => "claimed and not reached",
            Self::GivenUp => "given up",
            Self::Bound => "out of bounds",
            Self::Waiting => "waits for a person",
            Self::Model => "no model",
            Self::Usage => "wrong use",
            Self::Fault => "fault of the program",
        }
    }

    /// Whether nothing was tried at all: that says nothing of the way, does not count, and is made again.
    #[must_use]
    pub const fn is_of_the_set_up(self) -> bool {
        matches!(self, Self::Model | Self::Usage)
    }

    /// By the exit code of a run, for one whose goal was not reached. What has ended otherwise than by its own will `tells` nothing by it.
    const fn of_exit(code: Option<i32>, tells: bool) -> Self {
        match code {
            Some(0) if tells => Self::FalseClaim,
            Some(1) if tells => Self::GivenUp,
            // Those that a shell gives where there is no such program.
            Some(2 | 126 | 127) => Self::Usage,
            Some(3) => Self::Model,
            Some(4) => Self::Bound,
            Some(5) => Self::Waiting,
            _ => Self::Fault,
        }
    }
}

impl Outcome {
    /// Of the events that a run printed, one a line with the result last. As yet nothing was found to be reached.
    ///
    /// With the whole answer, of which the beginning is kept: a check may look for its end.
    pub(crate) fn new(trial: &Trial<'_>, printed: &str, code: Option<i32>, seconds: u64) -> (Self, String) {
        let lines: Vec<Value> = printed.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let result = result(&lines);
        let told = |name: &str| result.and_then(|result| result.pointer(name)?.as_u64());
        let number = |name: &str| told(name).unwrap_or_default();
        let text = |name: &str| result.and_then(|result| Some(cut(result.pointer(name)?.as_str()?)));
        let of_type = |kind: &'static str| lines.iter().filter(move |line| line.get("type").and_then(Value::as_str) == Some(kind));
        let answer = result.and_then(|result| result.pointer("/answer")?.as_str()).unwrap_or_default().to_owned();
        // Of another agent its exit code is enough. aime has always a result to tell.
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
            input_tokens: told("/usage/input_tokens"),
            cached_input_tokens: number("/usage/cached_input_tokens"),
            output_tokens: told("/usage/output_tokens"),
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

    /// The same with what the check found.
    pub(crate) fn checked(self, reached: bool) -> Self {
        Self { reached, failure: self.failure.filter(|_| !reached), ..self }
    }

    /// Whether it is of this trial, and was made of the same, as far as that is known.
    pub(crate) fn is_of(&self, trial: &Trial<'_>, made_of: &str) -> bool {
        let same = || self.made_of.as_deref().is_none_or(|known| known == made_of);
        self.task == trial.task.name && self.variant == *trial.variant && self.repeat == trial.repeat && same()
    }

    /// Tokens in and out, where the program told.
    #[must_use]
    pub fn tokens(&self) -> Option<u64> {
        Some(self.input_tokens? + self.output_tokens?)
    }

    /// What tells it from other trials.
    #[must_use]
    pub fn key(&self) -> (String, Variant, u32) {
        (self.task.clone(), self.variant.clone(), self.repeat)
    }
}

/// The result among the lines that a run printed: the last of its kind.
fn result(lines: &[Value]) -> Option<&Value> {
    lines.iter().rev().find(|line| line.get("schema").and_then(Value::as_str) == Some("aime.result/v1"))
}

/// What a program said last, on standard error: from its last `error` on, or else its last line.
pub(crate) fn last_words(text: &str) -> Option<String> {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let from = lines.iter().rposition(|line| line.starts_with("error")).unwrap_or(lines.len().saturating_sub(1));
    let said = lines.get(from..).unwrap_or_default().join("\n");
    (!said.is_empty()).then(|| cut(&said))
}

fn cut(text: &str) -> String {
    let end = (0..=KEPT.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
    text.get(..end).unwrap_or_default().to_owned()
}

/// The outcomes of an evaluation in a file that only grows, so that it can be gone on with.
#[derive(Debug)]
pub struct OutcomeLog {
    file: File,
    outcomes: Vec<Outcome>,
}

impl OutcomeLog {
    /// Opens a file, or makes it. A last line that was cut off is taken away: its trial is made again.
    ///
    /// # Errors
    /// When the file cannot be used, or a line before the last is no outcome, which is told with its number.
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

    /// All that are in it.
    #[must_use]
    pub fn outcomes(&self) -> &[Outcome] {
        &self.outcomes
    }

    /// Adds one, on the disk before this returns.
    ///
    /// # Errors
    /// When it cannot be written.
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
