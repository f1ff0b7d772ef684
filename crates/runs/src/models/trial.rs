//! Checks that a model can do what runs need: call a tool, read its result, answer in a given form. A model in this process only has to
//! answer.

use std::{sync::Arc, time::Duration};

use aime_llm::{
    ChatModel, ChatRequest, ChatResponse, FinishReason, Message as ChatMessage, Model, ModelError, StructuredError, StructuredRequest,
    Tiers, ToolCall, ToolChoice, ToolDefinition, ask, calls_in_text, read_arguments,
};
use aime_messages::{Message, message};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{Choice, ask_for_window, client, local, place, single};
use crate::{
    Environment, ErrorKind, RunsError, Setup,
    config::{ModelConfig, Provider},
};

/// Time limit of a model for one part of its trial.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(120);
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
    failure: RunsError,
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

/// A model that was tried.
#[derive(Debug)]
pub struct TriedModel {
    /// The model and its place.
    pub model: Message,
    /// Judgement.
    pub result: TrialResult,
}

/// Judgement of a model.
#[derive(Debug)]
pub enum TrialResult {
    /// The model in this process answers.
    Answers,
    /// The model calls a tool, reads its result, and keeps to a form.
    Works,
    /// The model answers, but some parts do not work.
    Limited {
        /// Parts that do not work, each with its reason.
        faults: Vec<Message>,
        /// The way to make them work.
        hints: Vec<Message>,
    },
    /// The model cannot be used.
    Unusable(RunsError),
}

/// Results of the parts that were tried.
struct Trial {
    /// Name of the model, with the server's name for it if that differs.
    model: Message,
    protocol: &'static str,
    /// True if at least one part works.
    works: bool,
    /// Parts that do not work, in the order in which they were tried.
    faults: Vec<(Part, Fault)>,
}

/// Tries a model once.
///
/// # Errors
/// [`RunsError`] if the model cannot be set up, or, in this process, gives no answer.
pub async fn try_model(
    name: &str,
    config: &ModelConfig,
    choice: &Choice,
    opened: &mut local::Opened,
    setup: &Setup,
) -> Result<TriedModel, RunsError> {
    let at = place(config, &setup.environment);
    if config.provider == Provider::Local {
        let answer = ask_for_a_word(&single(name, config, choice, opened, setup)?.build(setup.redactor())).await?;
        return Ok(TriedModel { model: message!("doctor-local", model = answer, place = at), result: TrialResult::Answers });
    }
    let mut config = config.clone();
    ask_for_window(name, &mut config, &setup.environment).await;
    let client = client(name, &config, &setup.environment)?;
    let trial = Trial::of(&client.build(setup.redactor())).await;
    let window = client.limits().context_tokens;
    let model = message!("doctor-model", model = trial.model, place = at, protocol = trial.protocol, number = window);
    Ok(TriedModel { model, result: trial.verdict(name) })
}

/// Returns the settings of a model as far as they change what its server is asked, with the defaults filled in.
#[must_use]
pub fn as_asked(config: &ModelConfig, environment: &Environment) -> ModelConfig {
    let served = config.provider != Provider::Local;
    ModelConfig {
        model: super::model_name(config),
        base_url: served.then(|| super::server(config, environment).0),
        api_key_env: if served { super::key_variable(config, environment) } else { None },
        fallback: Vec::new(),
        prices: None,
        ..config.clone()
    }
}

/// Asks a model in this process for one word.
async fn ask_for_a_word(model: &Model) -> Result<Message, RunsError> {
    let request = ChatRequest {
        messages: vec![Arc::new(ChatMessage::user("Answer with the one word: ready"))],
        max_output_tokens: Some(16),
        ..ChatRequest::default()
    };
    let answer = timeout(ANSWER_TIMEOUT, model.complete(request)).await.map_err(|_| silent(model.name()))?;
    let response = answer.map_err(failed)?;
    Ok(if response.model == model.name() || response.model.is_empty() {
        message!("model-answers", model = model.name())
    } else {
        message!("model-answers-as", model = model.name(), name = response.model)
    })
}

/// Returns the failure of a model that did not answer within [`ANSWER_TIMEOUT`].
fn silent(model: &str) -> RunsError {
    RunsError::model(message!("model-silent", model, seconds = ANSWER_TIMEOUT.as_secs())).hint(message!("model-busy"))
}

fn failed(error: ModelError) -> RunsError {
    let hint = error.hint();
    let failed = RunsError::caused(ErrorKind::MODEL, error);
    match hint {
        Some(hint) => failed.hint(Message::text(hint)),
        None => failed,
    }
}

impl Trial {
    /// Tries all parts. If the server is unreachable, lacks the model or refuses the key, no further part is tried.
    async fn of(model: &Model) -> Self {
        let mut trial = Self { model: Message::text(model.name()), protocol: "", works: false, faults: Vec::new() };
        let request = call_request(model);
        match complete(model, request.clone()).await {
            Ok(response) => {
                if !response.model.is_empty() && response.model != model.name() {
                    trial.model = message!("doctor-model-as", model = model.name(), name = response.model);
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

    /// Judges the model of this name in the configuration.
    fn verdict(self, name: &str) -> TrialResult {
        let over = self.is_over();
        let has_answered = self.faults.iter().any(|(_, fault)| fault.kind == FaultKind::Answer);
        let Some((part, first)) = self.faults.first() else { return TrialResult::Works };
        if let Some((part, last)) = self.faults.last().filter(|(part, _)| over && *part != Part::Calls) {
            let mut failure = last.failure.clone();
            failure.message = part.describe(&last.failure);
            return TrialResult::Unusable(failure);
        }
        if *part == Part::Calls && !self.works && first.kind != FaultKind::Answer {
            return TrialResult::Unusable(first.failure.clone());
        }
        let faults: Vec<Message> = self.faults.iter().map(|(part, fault)| part.describe(&fault.failure)).collect();
        let hint = |(part, fault): &(Part, Fault)| match &fault.failure.hint {
            Some(hint) => Message::text(hint),
            None => part.hint(name),
        };
        let mut hints: Vec<Message> = self.faults.iter().map(hint).collect();
        hints.dedup();
        if self.works || has_answered {
            return TrialResult::Limited { faults, hints };
        }
        let all = |messages: &[Message]| messages.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
        TrialResult::Unusable(RunsError::model(all(&faults)).hint(all(&hints)))
    }
}

impl Part {
    /// Describes what does not work, the consequence, and the reason.
    fn describe(self, failure: &RunsError) -> Message {
        let why = &failure.message;
        match self {
            Self::Calls => message!("doctor-no-calls", why),
            Self::Results => message!("doctor-no-results", why),
            Self::Form => message!("doctor-no-form", why),
        }
    }

    fn hint(self, name: &str) -> Message {
        match self {
            Self::Calls => message!("doctor-no-calls-hint", name),
            Self::Results => message!("doctor-no-results-hint", name),
            Self::Form => message!("doctor-no-form-hint"),
        }
    }
}

impl Fault {
    fn answer(message: impl Into<Message>) -> Self {
        Self { failure: RunsError::model(message), kind: FaultKind::Answer }
    }

    /// Describes an answer that contains nothing of what was asked for.
    fn other_answer(response: &ChatResponse) -> Self {
        match (&response.finish, quoted(&response.content)) {
            (FinishReason::Length, _) => Self::answer(message!("doctor-why-cut", tokens = response.usage.output_tokens)),
            (FinishReason::ContentFilter, _) => Self::answer(message!("doctor-why-withheld")),
            (_, text) if text.is_empty() => Self::answer(message!("doctor-why-empty")),
            (_, text) => Self::answer(message!("doctor-why-text", text)),
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
        Self { failure: failed(error), kind }
    }
}

fn no_answer(model: &Model) -> Fault {
    Fault { failure: silent(model.name()), kind: FaultKind::Model }
}

async fn complete(model: &Model, request: ChatRequest) -> Result<ChatResponse, Fault> {
    let answer = timeout(ANSWER_TIMEOUT, model.complete(request)).await;
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
        messages: vec![Arc::new(ChatMessage::user(CALL))],
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
            Some(other) => Fault::answer(message!("doctor-why-other", tool = quoted(&other.name))),
            None => Fault::other_answer(response),
        });
    };
    let values = read_arguments(&call.arguments, Some(&parameters())).map_err(|error| Fault::answer(error.to_string()))?;
    let number = |name: &str| values.get(name).and_then(Value::as_i64);
    if (number("a"), number("b")) == (Some(2), Some(3)) {
        return Ok(());
    }
    Err(Fault::answer(message!("doctor-why-arguments", arguments = quoted(&call.arguments))))
}

/// Returns the request extended by the calls and their results. The model is free in its answer.
fn with_results(mut request: ChatRequest, response: &ChatResponse, calls: Vec<ToolCall>) -> ChatRequest {
    let results: Vec<ChatMessage> = calls.iter().map(|call| ChatMessage::tool(&call.id, &call.name, RESULT)).collect();
    let turn = ChatMessage::Assistant { content: response.content.clone(), tool_calls: calls, native: response.native.clone() };
    request.messages.extend(std::iter::once(turn).chain(results).map(Arc::new));
    request.tool_choice = ToolChoice::Auto;
    request
}

fn check_text(response: &ChatResponse) -> Result<(), Fault> {
    match calls_of(response).first() {
        Some(call) => Err(Fault::answer(message!("doctor-why-again", tool = quoted(&call.name)))),
        None if response.content.trim().is_empty() => Err(Fault::other_answer(response)),
        None => Ok(()),
    }
}

async fn check_form(model: &Model) -> Result<(), Fault> {
    let schema = closed_object(&[("number", json!({"type": "integer"})), ("word", json!({"type": "string"}))]);
    let mut request = StructuredRequest::new("aime_doctor", schema, vec![Arc::new(ChatMessage::user(FORM))]);
    request.max_output_tokens = Some(model.limits().max_output_tokens);
    let tiers = Tiers::new();
    let answer = timeout(ANSWER_TIMEOUT, ask(model, &tiers, request, |_| Ok(()))).await.map_err(|_| no_answer(model))?;
    match answer {
        Ok(_) => Ok(()),
        Err(StructuredError::Model { source, .. }) => Err(source.into()),
        Err(error) => Err(match error.refused().last() {
            Some(last) => {
                let faults = Message::list("; ", &last.faults).to_string();
                Fault::answer(match quoted(&last.answer) {
                    text if text.is_empty() => faults.into(),
                    text => message!("doctor-why-form", faults = quoted(&faults), text),
                })
            }
            None => Fault { failure: RunsError::caused(ErrorKind::MODEL, error), kind: FaultKind::Request },
        }),
    }
}

/// Returns the beginning of a model's text, on one line.
fn quoted(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    if line.chars().count() <= QUOTED { line } else { format!("{}…", line.chars().take(QUOTED).collect::<String>()) }
}
