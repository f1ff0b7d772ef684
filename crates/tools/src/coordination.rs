//! Tolerant parsers for the parameters of tools that an actor answers itself.
//!
//! The actor machine calls the `parse` functions (for `todo` [`TodoList::from_parameters`](aime_progress_management::TodoList::from_parameters)); the
//! runtime never runs these tools. The parsers accept words in any case, common synonyms, and numbers for texts. An ambiguous value is an
//! error that lists the expected values.

use aime_progress_management::{CommandCheck, EvidenceKind, InvalidExpectation, ProgressReport, Significance};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::ToolError;

/// Parameters of `update_progress`: a report on the state of the work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpdateProgress {
    /// The report.
    pub report: ProgressReport,
}

/// Parameters of `report_evidence`: a finding that may change the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportEvidence {
    /// Kind of the evidence.
    pub kind: EvidenceKind,
    /// Significance for the plan.
    pub significance: Significance,
    /// The finding.
    pub content: String,
    /// Risk of the plan that materialized, if any: its number or its text, as the model wrote it.
    pub risk: Option<String>,
}

/// Parameters of `ask_human`: a question to a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskHuman {
    /// The question.
    pub question: String,
}

/// Parameters of `terminate`, which ends an actor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terminate {
    /// Final status of the task.
    pub status: TerminateStatus,
    /// Summary of the work, or reason for failure.
    pub message: String,
    /// Paths and URLs of the results.
    pub references: Vec<String>,
    /// Commands that verify the work.
    pub checks: Vec<CommandCheck>,
    /// Missing input or permission, if the actor is blocked.
    pub needs: Option<String>,
}

/// Outcome of a task, as its actor reports it at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TerminateStatus {
    /// The task is done.
    Success,
    /// The task cannot be done.
    Failure,
    /// The task needs something that the actor lacks.
    Blocked,
}

impl UpdateProgress {
    /// Parses the parameters of a call. A missing status is `in progress`.
    ///
    /// # Errors
    /// [`ToolError::InvalidParameters`] without a message.
    pub fn parse(parameters: &Map<String, Value>) -> Result<Self, ToolError> {
        let status = text(parameters, &["status"]);
        let message = text(parameters, &["message", "content", "text"]);
        let (status, message) = match (status, message) {
            (Some(status), message) => (status, message.unwrap_or_default()),
            (None, Some(message)) => ("in progress".to_owned(), message),
            (None, None) => return Err(missing("message", "a sentence on how the work goes")),
        };
        Ok(Self { report: ProgressReport { status, message } })
    }
}

impl ReportEvidence {
    /// Parses the parameters of a call. A missing type is a discovery. A missing significance is medium, or high for a risk that
    /// materialized, since the plan lists the risk.
    ///
    /// # Errors
    /// [`ToolError::InvalidParameters`] without content, and for an unknown type or significance.
    pub fn parse(parameters: &Map<String, Value>) -> Result<Self, ToolError> {
        let content =
            text(parameters, &["content", "message", "description", "text"]).ok_or_else(|| missing("content", "what was learnt"))?;
        let kind = match word(parameters, &["type", "kind"]).as_deref() {
            None | Some("discovery" | "finding" | "observation" | "information" | "info") => EvidenceKind::Discovery,
            Some("error" | "failure" | "problem" | "issue") => EvidenceKind::Error,
            Some("user_input" | "user" | "human" | "person" | "userinput") => EvidenceKind::UserInput,
            Some("external" | "environment") => EvidenceKind::External,
            Some(other) => return Err(not_one_of("type", other, "discovery, error, user_input or external")),
        };
        let risk = text(parameters, &["risk"]).filter(|risk| !matches!(risk.trim(), "0" | "none" | "no" | "false"));
        let significance = match word(parameters, &["significance", "severity", "importance", "priority"]).as_deref() {
            Some("low" | "minor" | "info" | "trivial") => Significance::Low,
            None if risk.is_some() => Significance::High,
            None | Some("medium" | "moderate" | "normal") => Significance::Medium,
            Some("high" | "important" | "major") => Significance::High,
            Some("critical" | "severe" | "urgent" | "blocker") => Significance::Critical,
            Some(other) => return Err(not_one_of("significance", other, "low, medium, high or critical")),
        };
        Ok(Self { kind, significance, content, risk })
    }
}

impl AskHuman {
    /// Parses the parameters of a call.
    ///
    /// # Errors
    /// [`ToolError::InvalidParameters`] without a question.
    pub fn parse(parameters: &Map<String, Value>) -> Result<Self, ToolError> {
        let question = text(parameters, &["question", "message", "text", "prompt"]);
        Ok(Self { question: question.ok_or_else(|| missing("question", "what to ask"))? })
    }
}

impl Terminate {
    /// Parses the parameters of a call. A missing message is empty.
    ///
    /// # Errors
    /// [`ToolError::InvalidParameters`] without a status, for an unknown status, and for a check without a command or with an unknown
    /// expectation.
    pub fn parse(parameters: &Map<String, Value>) -> Result<Self, ToolError> {
        let status = match word(parameters, &["status", "success", "result"]).as_deref() {
            None => return Err(missing("status", STATUSES)),
            Some(
                "success" | "succeeded" | "successful" | "successfully" | "ok" | "okay" | "done" | "complete" | "completed" | "finished"
                | "true" | "yes" | "pass" | "passed",
            ) => TerminateStatus::Success,
            Some(
                "failure" | "fail" | "failed" | "error" | "false" | "no" | "aborted" | "impossible" | "incomplete" | "unsuccessful"
                | "cancelled" | "canceled",
            ) => TerminateStatus::Failure,
            Some("blocked" | "stuck" | "waiting" | "needs_input") => TerminateStatus::Blocked,
            Some(other) => return Err(not_one_of("status", other, STATUSES)),
        };
        Ok(Self {
            status,
            message: text(parameters, &["message", "summary", "answer", "content"]).unwrap_or_default(),
            references: texts(parameters.get("references")),
            checks: checks(parameters.get("checks"))?,
            needs: Some(texts(parameters.get("needs")).join("; ")).filter(|needs| !needs.is_empty()),
        })
    }
}

/// Statuses of `terminate`, for error messages.
const STATUSES: &str = "success, failure or blocked";

/// Parses a list of checks, each an object or a command. Accepts a single check, and a list encoded as JSON in a string.
fn checks(value: Option<&Value>) -> Result<Vec<CommandCheck>, ToolError> {
    let check = |given: &Value| {
        let read = match given {
            Value::Object(fields) => {
                text(fields, &["command", "run", "cmd"]).map(|command| (command, text(fields, &["expect", "expected"])))
            }
            other => plain(other).map(|command| (command, None)),
        };
        let (command, expect) = read.filter(|(command, _)| !command.trim().is_empty()).ok_or_else(|| missing("command", "what to run"))?;
        let expect = expect.map(|text| text.parse()).transpose();
        let expect = expect.map_err(|error: InvalidExpectation| ToolError::InvalidParameters(format!("`expect`: {error}")))?;
        Ok(CommandCheck { command, expect: expect.unwrap_or_default() })
    };
    match value {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(items)) => items.iter().map(check).collect(),
        Some(Value::String(text)) if text.trim().is_empty() => Ok(Vec::new()),
        Some(Value::String(text)) => match serde_json::from_str(text) {
            Ok(list @ (Value::Array(_) | Value::Object(_))) => checks(Some(&list)),
            _ => check(&Value::String(text.clone())).map(|one| vec![one]),
        },
        Some(one) => check(one).map(|one| vec![one]),
    }
}

/// Returns the first of the parameters that holds text. Skips blank text.
pub(crate) fn text(parameters: &Map<String, Value>, names: &[&str]) -> Option<String> {
    let given = names.iter().filter_map(|name| parameters.get(*name));
    given.filter_map(plain).find(|text| !text.trim().is_empty())
}

/// Returns the first text in lower case, with `_` for blanks and hyphens.
fn word(parameters: &Map<String, Value>, names: &[&str]) -> Option<String> {
    Some(text(parameters, names)?.trim().trim_end_matches(['.', '!']).to_lowercase().replace([' ', '-'], "_"))
}

fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Null => None,
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => Some(value.to_string()),
    }
}

/// Parses a list of texts. Accepts a single text, and a list encoded as JSON in a string.
fn texts(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::Array(items)) => items.iter().filter_map(plain).filter(|text| !text.is_empty()).collect(),
        Some(Value::String(text)) => match serde_json::from_str(text) {
            Ok(list @ Value::Array(_)) => texts(Some(&list)),
            _ if text.trim().is_empty() => Vec::new(),
            _ => vec![text.clone()],
        },
        _ => Vec::new(),
    }
}

pub(crate) fn missing(name: &str, expected: &str) -> ToolError {
    ToolError::InvalidParameters(format!("`{name}` is missing: {expected}"))
}

pub(crate) fn not_one_of(name: &str, given: &str, expected: &str) -> ToolError {
    ToolError::InvalidParameters(format!("`{name}` must be {expected}, not \"{given}\""))
}

/// Parameters as published to a model: stricter than those accepted.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TodoParameters {
    /// The whole list, at most 20 items, one in progress
    #[expect(dead_code, reason = "the schema is made from it; the actor reads the call")]
    items: Vec<TodoParameter>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "the schema is made from it; the actor reads the call")]
struct TodoParameter {
    id: String,
    text: String,
    status: aime_progress_management::TodoStatus,
    /// Such as "Reading the file"
    active_form: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "the schema is made from it; the actor reads the call")]
pub(crate) struct UpdateProgressParameters {
    status: String,
    message: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "the schema is made from it; the actor reads the call")]
pub(crate) struct ReportEvidenceParameters {
    #[serde(rename = "type")]
    kind: EvidenceKind,
    significance: Significance,
    /// The finding
    content: String,
    /// Number of the risk, if one came true
    risk: Option<u32>,
}

/// Parameters of the same tool for small models.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "the schema is made from it; the actor reads the call")]
pub(crate) struct ShortEvidenceParameters {
    /// The finding
    content: String,
    significance: Option<Significance>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "the schema is made from it; the actor reads the call")]
pub(crate) struct AskHumanParameters {
    /// The question to a person
    question: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "the schema is made from it; the actor reads the call")]
pub(crate) struct TerminateParameters {
    status: TerminateStatus,
    /// The result that others read: the answer, or what you changed; else what you tried and learnt
    message: String,
    /// Files made or changed
    references: Option<Vec<String>>,
    /// Commands that show success. aime runs them with this call, so you need no last run of your own; if one fails, you see its output and go on
    checks: Option<Vec<CheckParameter>>,
    /// Things you lack, if blocked
    needs: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "the schema is made from it; the actor reads the call")]
struct CheckParameter {
    command: String,
    /// `exit N`, `output contains TEXT`, `output matches REGEX` or `json PATH equals VALUE`; `exit 0` if absent
    expect: Option<String>,
}

/// Parameters of the same tool for small models.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "the schema is made from it; the actor reads the call")]
pub(crate) struct ShortTerminateParameters {
    status: ShortTerminateStatus,
    /// Work done and findings, or why it failed
    message: String,
    /// Files made or changed
    references: Option<Vec<String>>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ShortTerminateStatus {
    Success,
    Failure,
}

#[cfg(test)]
mod tests;
