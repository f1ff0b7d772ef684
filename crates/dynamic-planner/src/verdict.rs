//! The verdict: a model judges criteria by the evidence and not by claims.

use std::sync::Arc;

use aime_llm::{ChatModel, Model, StructuredRequest, Tiers, ask};
use aime_progress_management::ModelCost;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    PlannerError, Prompts,
    prompt::{VerdictContext, cut},
    schema, spent,
};

/// Maximum number of characters of evidence in the prompt: the end, which is the latest.
const MAX_EVIDENCE: usize = 12_000;
/// Maximum number of suggestions that are kept.
const MAX_SUGGESTIONS: usize = 5;

/// Judgement on criteria.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// True if all criteria hold.
    pub passed: bool,
    /// Fulfilled share of the criteria, 0 to 1.
    pub score: f64,
    /// Findings from the evidence.
    pub reason: String,
    /// The missing parts.
    #[serde(default)]
    pub feedback: String,
    /// Suggestions for the next steps.
    #[serde(default)]
    pub suggestions: Vec<String>,
}

/// A verdict and its cost.
#[derive(Debug, Clone, PartialEq)]
pub struct CostedVerdict {
    /// The verdict.
    pub verdict: Verdict,
    /// Cost of the request.
    pub spent: ModelCost,
    /// The model that was asked.
    pub model: String,
}

/// Asks a model, at temperature 0, if the criteria hold by the evidence.
///
/// # Errors
///
/// [`PlannerError::Model`] if the model cannot be used, [`PlannerError::NoVerdict`] if no answer could be parsed in
/// three tries.
pub async fn verdict(
    model: &Model,
    tiers: &Tiers,
    prompts: &Prompts,
    goal: &str,
    criteria: &[String],
    evidence: &str,
) -> Result<CostedVerdict, PlannerError> {
    let context = VerdictContext { goal: goal.trim().to_owned(), criteria: criteria.to_vec(), evidence: end_of(evidence.trim()) };
    let question = StructuredRequest {
        must_fit: false,
        temperature: Some(0.0),
        max_output_tokens: Some(model.limits().max_output_tokens),
        ..StructuredRequest::new("aime_verdict", schema::verdict(), prompts.verdict(&context)?.into_iter().map(Arc::new).collect())
    };
    let name = model.name().to_owned();
    match ask(model, tiers, question, |value| read(&value)).await {
        Ok(answer) => Ok(CostedVerdict { verdict: answer.value, spent: spent::of(answer.spent), model: name }),
        Err(error) => Err(PlannerError::of(error, name, |model, refused, spent| PlannerError::NoVerdict { model, refused, spent })),
    }
}

fn read(value: &Value) -> Result<Verdict, Vec<aime_messages::Message>> {
    let passed = match value.get("passed").or_else(|| value.get("pass")).or_else(|| value.get("success")) {
        Some(Value::Bool(passed)) => Some(*passed),
        Some(Value::String(word)) => match word.trim().to_lowercase().as_str() {
            "true" | "yes" | "passed" => Some(true),
            "false" | "no" | "failed" => Some(false),
            _ => None,
        },
        _ => None,
    };
    let Some(passed) = passed else { return Err(vec!["passed must be true or false".into()]) };
    let text = |name: &str| match value.get(name) {
        Some(Value::String(text)) => text.trim().to_owned(),
        _ => String::new(),
    };
    let score = value.get("score").and_then(Value::as_f64).unwrap_or(if passed { 1.0 } else { 0.0 });
    // Models also use scales up to 10 and 100.
    let score = match score {
        ..=1.0 => score.max(0.0),
        ..=10.0 => score / 10.0,
        _ => (score / 100.0).min(1.0),
    };
    let suggestions = match value.get("suggestions") {
        Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).map(str::to_owned).take(MAX_SUGGESTIONS).collect(),
        Some(Value::String(one)) if !one.trim().is_empty() => vec![one.trim().to_owned()],
        _ => Vec::new(),
    };
    Ok(Verdict { passed, score, reason: cut(&text("reason"), 1_000), feedback: cut(&text("feedback"), 1_000), suggestions })
}

/// Returns the last characters of a text, with a mark if something was left out.
fn end_of(text: &str) -> String {
    let length = text.chars().count();
    match text.char_indices().nth(length.saturating_sub(MAX_EVIDENCE)) {
        Some((at, _)) if at > 0 => format!("…{}", text.get(at..).unwrap_or(text)),
        _ => text.to_owned(),
    }
}
