//! Stage 2 of the classifier: a model chooses if the rules are unsure.

use std::sync::Arc;

use aime_llm::{ChatModel, Model, StructuredRequest, Tiers, ask};
use aime_messages::{Message, message};
use aime_progress_management::{ModelCost, PlanMode};
use serde_json::Value;

use crate::{
    PlannerPromptError, Prompts, RouteDecision, UndecidedGoal,
    prompt::{RouteContext, cut},
    schema, spent,
};

/// Maximum number of characters of a goal in the prompt.
const MAX_GOAL: usize = 4_000;

/// The answer of stage 2.
#[derive(Debug, Clone, PartialEq)]
pub struct RouteAnswer {
    /// The chosen route.
    pub routed: RouteDecision,
    /// Cost of the request.
    pub spent: ModelCost,
    /// The model that was asked.
    pub model: String,
    /// Reason why the model gave no usable answer, if so; the goal then counts as complex.
    pub failure: Option<String>,
}

/// Asks a model, at temperature 0, if a goal is simple or complex. Without a usable answer the goal counts as complex,
/// because a plan that is too large costs less than one that is too small. An unreachable model is no error here,
/// because planning will report it.
///
/// # Errors
///
/// [`PlannerPromptError`] if a user's prompt cannot be filled in.
pub async fn ask_route(
    model: &Model,
    tiers: &Tiers,
    prompts: &Prompts,
    goal: &str,
    undecided: UndecidedGoal,
) -> Result<RouteAnswer, PlannerPromptError> {
    let messages = prompts.route(&RouteContext { goal: cut(goal.trim(), MAX_GOAL) })?;
    let question = StructuredRequest {
        must_fit: false,
        temperature: Some(0.0),
        max_output_tokens: Some(model.limits().max_output_tokens),
        tries: 2,
        ..StructuredRequest::new("aime_route", schema::route(), messages.into_iter().map(Arc::new).collect())
    };
    let answer = ask(model, tiers, question, |value| read(&value)).await;
    let UndecidedGoal { score, category, mut reasons } = undecided;
    let (mode, spent, failure) = match answer {
        Ok(answer) => {
            let (mode, reason) = answer.value;
            reasons.push(Message::text(format_args!("{}: {reason}", model.name())));
            (mode, spent::of(answer.spent), None)
        }
        Err(error) => {
            reasons.push(message!("route-no-answer"));
            (PlanMode::Complex, spent::of(error.spent()), Some(error.to_string()))
        }
    };
    let routed = RouteDecision { mode, by: "model".to_owned(), score: Some(score), category, reasons };
    Ok(RouteAnswer { routed, spent, model: model.name().to_owned(), failure })
}

fn read(value: &Value) -> Result<(PlanMode, String), Vec<Message>> {
    let text = |names: &[&str]| names.iter().find_map(|name| value.get(*name)).and_then(Value::as_str).unwrap_or_default().to_owned();
    let written = text(&["complexity", "mode", "answer"]);
    let mode = match written.trim().to_lowercase().as_str() {
        "simple" => PlanMode::Simple,
        "complex" => PlanMode::Complex,
        _ => return Err(vec![format!("complexity is {written:?}, must be \"simple\" or \"complex\"").into()]),
    };
    Ok((mode, cut(text(&["reason", "reasoning"]).trim(), 300)))
}
