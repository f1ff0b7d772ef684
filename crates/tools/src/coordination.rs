//! Tools that an actor answers itself: their parameters, read tolerantly.
//!
//! The actor machine calls the `parse` functions (for `todo` [`TodoList::from_parameters`](aime_progress::TodoList::from_parameters));
//! the runtime never runs these tools. What a model meant is taken where it is plain:
//! words in any case, common synonyms, numbers for texts. What is not plain is an error that says what is expected.

use aime_progress::{EvidenceKind, ProgressReport, Significance};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::ToolError;

/// `update_progress`: a word on how the work goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpdateProgress {
    /// What was said.
    pub report: ProgressReport,
}

/// `report_evidence`: something learnt that may change the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportEvidence {
    /// Where it comes from.
    pub kind: EvidenceKind,
    /// How much it matters.
    pub significance: Significance,
    /// What was learnt.
    pub content: String,
    /// The risk of the plan that came true, if one did: its number, or its words, as they were given.
    pub risk: Option<String>,
}

/// `ask_human`: a question to a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskHuman {
    /// The question.
    pub question: String,
}

/// `terminate`: the end of an actor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terminate {
    /// Whether it says that its task is done.
    pub success: bool,
    /// What was done, or why not.
    pub message: String,
    /// What was made: paths, addresses.
    pub references: Vec<String>,
}

impl UpdateProgress {
    /// Reads the parameters of a call. A missing status is `in progress`.
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
    /// Reads the parameters of a call. A missing type is a discovery. A missing significance is medium, and high for a risk that came true: the
    /// plan has said that it matters.
    ///
    /// # Errors
    /// [`ToolError::InvalidParameters`] without content, and for a type or a significance that is none.
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
    /// Reads the parameters of a call.
    ///
    /// # Errors
    /// [`ToolError::InvalidParameters`] without a question.
    pub fn parse(parameters: &Map<String, Value>) -> Result<Self, ToolError> {
        let question = text(parameters, &["question", "message", "text", "prompt"]);
        Ok(Self { question: question.ok_or_else(|| missing("question", "what to ask"))? })
    }
}

impl Terminate {
    /// Reads the parameters of a call. A missing message is empty.
    ///
    /// # Errors
    /// [`ToolError::InvalidParameters`] without a status, and for a status that means neither success nor failure.
    pub fn parse(parameters: &Map<String, Value>) -> Result<Self, ToolError> {
        let status = word(parameters, &["status", "success", "result"]);
        let success = match status.as_deref() {
            None => return Err(missing("status", "success or failure")),
            Some(
                "success" | "succeeded" | "successful" | "successfully" | "ok" | "okay" | "done" | "complete" | "completed" | "finished"
                | "true" | "yes" | "pass" | "passed",
            ) => true,
            Some(
                "failure" | "fail" | "failed" | "error" | "false" | "no" | "aborted" | "blocked" | "impossible" | "incomplete"
                | "unsuccessful" | "cancelled" | "canceled",
            ) => false,
            Some(other) => return Err(not_one_of("status", other, "success or failure")),
        };
        let message = text(parameters, &["message", "summary", "answer", "content"]).unwrap_or_default();
        Ok(Self { success, message, references: texts(parameters.get("references")) })
    }
}

/// The first of the parameters that holds text; blank text is none.
pub(crate) fn text(parameters: &Map<String, Value>, names: &[&str]) -> Option<String> {
    let given = names.iter().filter_map(|name| parameters.get(*name));
    given.filter_map(plain).find(|text| !text.trim().is_empty())
}

/// The same as a word: lower case, `_` for blanks and hyphens.
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

/// A list of texts; one text is a list of one, and a list may come as JSON in a text.
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

/// The parameters as a model is told of them: stricter than what is read.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TodoParameters {
    /// The whole list, 20 items at most, one in progress
    #[expect(dead_code, reason = "the schema is made from it; the actor reads the call")]
    items: Vec<TodoParameter>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "the schema is made from it; the actor reads the call")]
struct TodoParameter {
    /// Number or name
    id: String,
    /// What is to be done
    text: String,
    status: aime_progress::TodoStatus,
    /// What is being done, such as "Reading the file"
    active_form: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "the schema is made from it; the actor reads the call")]
pub(crate) struct UpdateProgressParameters {
    /// A word or two
    status: String,
    /// A sentence
    message: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "the schema is made from it; the actor reads the call")]
pub(crate) struct ReportEvidenceParameters {
    #[serde(rename = "type")]
    kind: EvidenceKind,
    significance: Significance,
    /// What was learnt
    content: String,
    /// Its number, if a risk came true
    risk: Option<u32>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "the schema is made from it; the actor reads the call")]
pub(crate) struct AskHumanParameters {
    /// What to ask
    question: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "the schema is made from it; the actor reads the call")]
pub(crate) struct TerminateParameters {
    status: TerminateStatus,
    /// What was done and found, or why it failed
    message: String,
    /// Files made or changed
    references: Option<Vec<String>>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum TerminateStatus {
    Success,
    Failure,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn map(value: Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn terminate_takes_what_was_meant() {
        for status in ["success", "SUCCESS", "ok", "Done", "completed", "Completed.", "successful"] {
            let parsed = Terminate::parse(&map(json!({"status": status, "message": "m"}))).unwrap();
            assert_eq!(parsed, Terminate { success: true, message: "m".into(), references: Vec::new() }, "{status}");
        }
        for status in ["failure", "Failed", "error", "ERROR"] {
            assert!(!Terminate::parse(&map(json!({"status": status}))).unwrap().success, "{status}");
        }
        assert!(Terminate::parse(&map(json!({"success": true}))).unwrap().success);
        let table = [
            (json!({"message": "m"}), "`status` is missing: success or failure"),
            (json!({"status": "perhaps"}), "`status` must be success or failure, not \"perhaps\""),
            (json!({"status": "  "}), "`status` is missing: success or failure"),
        ];
        for (given, expected) in table {
            assert_eq!(Terminate::parse(&map(given)).unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn references_come_as_a_list_or_as_one() {
        let table = [
            (json!(["a", "b"]), vec!["a", "b"]),
            (json!("a"), vec!["a"]),
            (json!("[\"a\", \"b\"]"), vec!["a", "b"]),
            (json!(null), vec![]),
            (json!(""), vec![]),
            (json!([1, null, ""]), vec!["1"]),
        ];
        for (given, expected) in table {
            let parsed = Terminate::parse(&map(json!({"status": "ok", "references": given}))).unwrap();
            assert_eq!(parsed.references, expected, "{given}");
        }
    }

    #[test]
    fn evidence_is_tolerant_in_case_and_word() {
        let table = [
            (json!({"type": "ERROR", "significance": "High", "content": "c"}), EvidenceKind::Error, Significance::High),
            (json!({"type": "user input", "significance": "CRITICAL", "content": "c"}), EvidenceKind::UserInput, Significance::Critical),
            (json!({"content": "c"}), EvidenceKind::Discovery, Significance::Medium),
            (json!({"kind": "external", "severity": "minor", "message": "c"}), EvidenceKind::External, Significance::Low),
        ];
        for (given, kind, significance) in table {
            let expected = ReportEvidence { kind, significance, content: "c".into(), risk: None };
            assert_eq!(ReportEvidence::parse(&map(given.clone())).unwrap(), expected, "{given}");
        }
        for (given, risk, significance) in [
            (json!({"content": "c", "risk": 2}), Some("2"), Significance::High),
            (json!({"content": "c", "risk": "no pandas", "significance": "low"}), Some("no pandas"), Significance::Low),
            (json!({"content": "c", "risk": 0}), None, Significance::Medium),
            (json!({"content": "c", "risk": null}), None, Significance::Medium),
        ] {
            let parsed = ReportEvidence::parse(&map(given.clone())).unwrap();
            assert_eq!((parsed.risk.as_deref(), parsed.significance), (risk, significance), "{given}");
        }
        let table = [
            (json!({}), "`content` is missing: what was learnt"),
            (json!({"type": "rumour", "content": "c"}), "`type` must be discovery, error, user_input or external, not \"rumour\""),
            (json!({"significance": "9", "content": "c"}), "`significance` must be low, medium, high or critical, not \"9\""),
        ];
        for (given, expected) in table {
            assert_eq!(ReportEvidence::parse(&map(given)).unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn the_others_need_but_one_text() {
        let report = UpdateProgress::parse(&map(json!({"message": "half"}))).unwrap().report;
        assert_eq!((report.status.as_str(), report.message.as_str()), ("in progress", "half"));
        let report = UpdateProgress::parse(&map(json!({"status": 50}))).unwrap().report;
        assert_eq!((report.status.as_str(), report.message.as_str()), ("50", ""));
        assert!(UpdateProgress::parse(&Map::new()).is_err());
        assert_eq!(AskHuman::parse(&map(json!({"question": "why?"}))).unwrap().question, "why?");
        assert!(AskHuman::parse(&map(json!({"question": " "}))).is_err());
    }
}
