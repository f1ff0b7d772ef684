//! Checks that a model on a server can do what runs need: call a tool, read its result, answer in a given form.

use std::sync::Arc;

use aime_llm::{
    ChatModel, ChatRequest, ChatResponse, FinishReason, Message, Model, ModelError, StructuredError, StructuredRequest, Tiers, ToolCall,
    ToolChoice, ToolDefinition, ask, calls_in_text, read_arguments,
};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::models::{PATIENCE, silent};
use crate::{
    failure::{Failure, code},
    i18n::{msg, print},
    output::plain,
};

const TOOL: &str = "add";
const CALL: &str = "Call the tool `add` with a = 2 and b = 3. Do not add the numbers yourself. When you have the result of the tool, tell it to me \
                    in one sentence.";
const RESULT: &str = "5";
const FORM: &str = "What is 2 + 3? Give the sum as a number, and the same number as an English word.";
/// The longest quotation of a model, in characters.
const QUOTED: usize = 120;

/// A part of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// The model calls a tool with the required arguments.
    Calls,
    /// The model answers with a text after it got the result of the call.
    Results,
    /// The model answers in the form of a schema.
    Form,
}

/// The reason why a part does not work.
struct Fault {
    failure: Failure,
    kind: FaultKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FaultKind {
    /// The model answered, but not as asked.
    Answer,
    /// The server refused the request, or its answer is unreadable. It may accept other requests.
    Request,
    /// The model is unusable for now.
    Model,
}

/// Results of the parts that were tried.
pub(super) struct Trial {
    /// Name of the model, with the server's name for it if that differs.
    model: String,
    protocol: &'static str,
    /// True if at least one part works.
    works: bool,
    /// Parts that do not work, in the order in which they were tried.
    faults: Vec<(Part, Fault)>,
}

/// Judgement of a model.
pub(super) enum Verdict {
    Works(String),
    /// The model answers, but some parts do not work.
    Limited {
        detail: String,
        hint: String,
    },
    Unusable(Failure),
}

impl Trial {
    /// Tries all parts. If the server is unreachable, lacks the model or refuses the key, no further part is tried.
    pub(super) async fn of(model: &Model) -> Self {
        let mut trial = Self { model: model.name().to_owned(), protocol: "", works: false, faults: Vec::new() };
        let request = call_request(model);
        match complete(model, request.clone()).await {
            Ok(response) => {
                if !response.model.is_empty() && response.model != model.name() {
                    trial.model = msg!("doctor-model-as", model = model.name(), name = plain(&response.model));
                }
                let calls = calls_of(&response);
                trial.note(Part::Calls, check_calls(&calls, &response));
                if !calls.is_empty() {
                    let answer = complete(model, with_results(request, &response, calls)).await;
                    trial.note(Part::Results, answer.and_then(|response| check_text(&response)));
                }
            }
            Err(fault) => trial.note(Part::Calls, Err(fault)),
        }
        if !trial.is_over() {
            trial.note(Part::Form, check_form(model).await);
        }
        // The client may have changed the protocol after a refusal.
        trial.protocol = model.protocol().map_or("", |protocol| protocol.as_str());
        trial
    }

    fn note(&mut self, part: Part, outcome: Result<(), Fault>) {
        match outcome {
            Ok(()) => self.works = true,
            Err(fault) => self.faults.push((part, fault)),
        }
    }

    fn is_over(&self) -> bool {
        self.faults.last().is_some_and(|(_, fault)| fault.kind == FaultKind::Model)
    }

    /// Judges the model of this name in the configuration; `answers` describes it by its name at the server and the protocol.
    pub(super) fn verdict(&self, name: &str, answers: impl Fn(&str, &str) -> String) -> Verdict {
        let detail = answers(&self.model, self.protocol);
        let Some((part, first)) = self.faults.first() else { return Verdict::Works(msg!("doctor-model-works", model = detail)) };
        let over = self.faults.last().filter(|_| self.is_over());
        if let Some((part, last)) = over.filter(|(part, _)| *part != Part::Calls) {
            return Verdict::Unusable(Failure { message: part.describe(&last.failure).into(), ..last.failure.clone() });
        }
        if *part == Part::Calls && !self.works && first.kind != FaultKind::Answer {
            return Verdict::Unusable(first.failure.clone());
        }
        let faults = self.faults.iter().map(|(part, fault)| part.describe(&fault.failure));
        let detail: Vec<String> = std::iter::once(detail).chain(faults).collect();
        let detail = detail.join("\n");
        let hint = |(part, fault): &(Part, Fault)| fault.failure.hint.as_ref().map_or_else(|| part.hint(name), print);
        let mut hints: Vec<String> = self.faults.iter().map(hint).collect();
        hints.dedup();
        let hint = hints.join(&msg!("row-separator"));
        let answers = self.works || self.faults.iter().any(|(_, fault)| fault.kind == FaultKind::Answer);
        if answers { Verdict::Limited { detail, hint } } else { Verdict::Unusable(Failure::new(code::MODEL, detail).hint(hint)) }
    }
}

impl Part {
    /// Describes what does not work, the consequence, and the reason.
    fn describe(self, failure: &Failure) -> String {
        let why = print(&failure.message);
        match self {
            Self::Calls => msg!("doctor-no-calls", why),
            Self::Results => msg!("doctor-no-results", why),
            Self::Form => msg!("doctor-no-form", why),
        }
    }

    fn hint(self, name: &str) -> String {
        match self {
            Self::Calls => msg!("doctor-no-calls-hint", name),
            Self::Results => msg!("doctor-no-results-hint", name),
            Self::Form => msg!("doctor-no-form-hint"),
        }
    }
}

impl Fault {
    fn answer(message: String) -> Self {
        Self { failure: Failure::new(code::MODEL, message), kind: FaultKind::Answer }
    }

    /// Describes an answer that contains nothing of what was asked for.
    fn other_answer(response: &ChatResponse) -> Self {
        match (&response.finish, quoted(&response.content)) {
            (FinishReason::Length, _) => Self::answer(msg!("doctor-why-cut", tokens = response.usage.output_tokens)),
            (FinishReason::ContentFilter, _) => Self::answer(msg!("doctor-why-withheld")),
            (_, text) if text.is_empty() => Self::answer(msg!("doctor-why-empty")),
            (_, text) => Self::answer(msg!("doctor-why-text", text)),
        }
    }
}

impl From<ModelError> for Fault {
    fn from(error: ModelError) -> Self {
        let kind = match error.root() {
            // llama.cpp answers 500 if its template or its grammar cannot express the request.
            ModelError::Refused { .. }
            | ModelError::ContextOverflow { .. }
            | ModelError::Server { status: 500 | 501, .. }
            | ModelError::Unreadable { .. }
            | ModelError::Cut { .. } => FaultKind::Request,
            _ => FaultKind::Model,
        };
        Self { failure: Failure { hint: error.hint().map(aime_messages::Message::text), ..Failure::caused(code::MODEL, &error) }, kind }
    }
}

fn no_answer(model: &Model) -> Fault {
    Fault { failure: silent(model.name()), kind: FaultKind::Model }
}

async fn complete(model: &Model, request: ChatRequest) -> Result<ChatResponse, Fault> {
    let answer = timeout(PATIENCE, model.complete(request)).await;
    Ok(answer.map_err(|_| no_answer(model))??)
}

/// Returns a request that can only be answered by calling the tool.
fn call_request(model: &Model) -> ChatRequest {
    let tool = ToolDefinition {
        name: TOOL.to_owned(),
        description: "Adds two integers and returns their sum.".to_owned(),
        parameters: Arc::new(parameters()),
    };
    ChatRequest {
        messages: vec![Arc::new(Message::user(CALL))],
        tools: Arc::from([tool]),
        tool_choice: ToolChoice::Only(TOOL.to_owned()),
        // The limit includes the reasoning, so it is the same as for requests of runs.
        max_output_tokens: Some(model.limits().max_output_tokens),
        ..ChatRequest::default()
    }
}

fn parameters() -> Value {
    let integer = json!({"type": "integer"});
    closed_object(&[("a", integer.clone()), ("b", integer)])
}

/// Returns a schema that providers accept as strict.
fn closed_object(properties: &[(&str, Value)]) -> Value {
    let names: Vec<&str> = properties.iter().map(|(name, _)| *name).collect();
    let properties: serde_json::Map<String, Value> = properties.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
    json!({"type": "object", "properties": properties, "required": names, "additionalProperties": false})
}

/// Returns the calls of an answer, including those written into its text, as actors read them.
fn calls_of(response: &ChatResponse) -> Vec<ToolCall> {
    if !response.tool_calls.is_empty() {
        return response.tool_calls.clone();
    }
    let mut calls = calls_in_text(&response.content, &[TOOL]).calls;
    for (at, call) in calls.iter_mut().enumerate() {
        call.id = format!("call_{at}");
    }
    calls
}

fn check_calls(calls: &[ToolCall], response: &ChatResponse) -> Result<(), Fault> {
    let Some(call) = calls.iter().find(|call| call.name == TOOL) else {
        return Err(match calls.first() {
            Some(other) => Fault::answer(msg!("doctor-why-other", tool = quoted(&other.name))),
            None => Fault::other_answer(response),
        });
    };
    let values = read_arguments(&call.arguments, Some(&parameters())).map_err(|error| Fault::answer(error.to_string()))?;
    let number = |name: &str| values.get(name).and_then(Value::as_i64);
    if (number("a"), number("b")) == (Some(2), Some(3)) {
        return Ok(());
    }
    Err(Fault::answer(msg!("doctor-why-arguments", arguments = quoted(&call.arguments))))
}

/// Returns the request extended by the calls and their results. The model is free in its answer.
fn with_results(mut request: ChatRequest, response: &ChatResponse, calls: Vec<ToolCall>) -> ChatRequest {
    let results: Vec<Message> = calls.iter().map(|call| Message::tool(&call.id, &call.name, RESULT)).collect();
    let turn = Message::Assistant { content: response.content.clone(), tool_calls: calls, native: response.native.clone() };
    request.messages.extend(std::iter::once(turn).chain(results).map(Arc::new));
    request.tool_choice = ToolChoice::Auto;
    request
}

fn check_text(response: &ChatResponse) -> Result<(), Fault> {
    match calls_of(response).first() {
        Some(call) => Err(Fault::answer(msg!("doctor-why-again", tool = quoted(&call.name)))),
        None if response.content.trim().is_empty() => Err(Fault::other_answer(response)),
        None => Ok(()),
    }
}

async fn check_form(model: &Model) -> Result<(), Fault> {
    let schema = closed_object(&[("number", json!({"type": "integer"})), ("word", json!({"type": "string"}))]);
    let mut request = StructuredRequest::new("aime_doctor", schema, vec![Arc::new(Message::user(FORM))]);
    request.max_output_tokens = Some(model.limits().max_output_tokens);
    let tiers = Tiers::new();
    let answer = timeout(PATIENCE, ask(model, &tiers, request, |_| Ok(()))).await.map_err(|_| no_answer(model))?;
    match answer {
        Ok(_) => Ok(()),
        Err(StructuredError::Model { source, .. }) => Err(source.into()),
        Err(error) => Err(match error.refused().last() {
            Some(last) => {
                let faults = last.faults.join("; ");
                Fault::answer(match quoted(&last.answer) {
                    text if text.is_empty() => faults,
                    text => msg!("doctor-why-form", faults = quoted(&faults), text),
                })
            }
            None => Fault { failure: Failure::caused(code::MODEL, &error), kind: FaultKind::Request },
        }),
    }
}

/// Returns the beginning of a model's text, on one line.
fn quoted(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = plain(&words.join(" ")).into_owned();
    if line.chars().count() <= QUOTED { line } else { format!("{}…", line.chars().take(QUOTED).collect::<String>()) }
}
