//! Actors with a scripted model, in this process or behind HTTP. Measures the cost of a round without the model, many concurrent actors,
//! and the memory of a waiting actor.

use std::{
    fs,
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use aime_orchestrator::{
    Isolation, OrchestratorBuilder, PlanRoute, RunRequest, RunSettings,
    llm::{
        ChatModel, ChatRequest, ChatResponse, FinishReason, Message, ModelError, ModelLimits, ModelStack, OpenAiSettings, StreamPart,
        ToolCall, ToolDefinition, Usage, in_one_part,
    },
    progress::Plan,
    tools::{Approval, ToolContext, ToolError, ToolOutput, ToolRegistry, TypedTool, builtin},
};
use anyhow::{Context, Result};
use futures::{future::BoxFuture, stream::BoxStream};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::{sync::watch, time::sleep};

use crate::run::{carry_out, milliseconds};

/// Bytes of the tool's result, as for a page of a file.
pub(crate) const PAGE: usize = 400;
/// Assumed bytes per token, the same as for the peers.
pub(crate) const BYTES_OF_TOKEN: usize = 4;

/// Runs one actor for this many rounds; the model requests one call in each.
///
/// # Errors
/// A run that fails.
pub(crate) async fn rounds(rounds: usize) -> Result<serde_json::Value> {
    let script = Arc::new(Script::new(rounds, Duration::ZERO));
    let took = run(1, rounds, scripted(&script)).await?;
    let Seen { model, requests, sent, shared, fixed, all, .. } = script.seen();
    let beside = took.saturating_sub(model);
    let per_round = beside.as_secs_f64() * 1_000_000.0 / (rounds + 1) as f64;
    Ok(json!({
        "rounds": rounds, "ms": milliseconds(took), "us_per_round": per_round,
        "shared_prefix": shared as f64 / sent.max(1) as f64, "first_request_tokens": fixed, "requests": requests, "prompt_tokens": all / BYTES_OF_TOKEN,
    }))
}

/// Runs one actor over HTTP, as for a real model, with a server of rounds at this address.
///
/// # Errors
/// A run that fails.
pub(crate) async fn rounds_over_http(server: &str, rounds: usize) -> Result<serde_json::Value> {
    // Exclude one-time work of the process's first request from the measurement.
    served(&format!("{server}/warm/1/v1"), 1).await?;
    let took = served(&format!("{server}/rounds/{rounds}/v1"), rounds).await?;
    Ok(json!({"rounds": rounds, "ms": milliseconds(took)}))
}

async fn served(base_url: &str, rounds: usize) -> Result<Duration> {
    let settings = OpenAiSettings { limits: limits(), ..OpenAiSettings::new("scripted", base_url) };
    run(1, rounds, ModelStack::server(settings)?).await
}

/// Runs this many concurrent actors, each with one call and an end. The model takes `wait` for each answer.
///
/// # Errors
/// A run that fails.
pub(crate) async fn at_once(actors: usize, wait: Duration) -> Result<serde_json::Value> {
    let script = Arc::new(Script::new(1, wait));
    let took = milliseconds(run(actors, 1, scripted(&script)).await?);
    // The call, the end, and the final answer of the run, which is written if there are several actors.
    let ideal = milliseconds(wait * if actors > 1 { 3 } else { 2 });
    Ok(json!({"actors": actors, "ms": took, "ideal_ms": ideal, "ratio": took / ideal}))
}

/// Measures the memory of this many actors while all of them wait for their model.
///
/// # Errors
/// A system without `/proc`, and a run that fails.
pub(crate) async fn waiting(actors: usize) -> Result<serde_json::Value> {
    let before = resident_kb()?;
    let script = Arc::new(Script { all: Some(watch::Sender::new(None)), actors, ..Script::new(0, Duration::ZERO) });
    let took = run(actors, 0, scripted(&script)).await?;
    let held = script.all.as_ref().and_then(|all| *all.borrow()).context("nobody looked while they waited")?;
    let each = held.saturating_sub(before) as f64 / actors as f64;
    Ok(json!({"actors": actors, "ms": milliseconds(took), "kb_per_actor": each, "resident_mb": held as f64 / 1_024.0}))
}

/// Returns the resident memory of the process in kB.
fn resident_kb() -> Result<u64> {
    let status = fs::read_to_string("/proc/self/status").context("no /proc here")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS in /proc/self/status")?;
    Ok(line.trim().trim_end_matches("kB").trim().parse()?)
}

async fn run(actors: usize, rounds: usize, model: ModelStack) -> Result<Duration> {
    let folder = tempfile::tempdir()?;
    let builder = builder(folder.path(), model);
    let tasks: Vec<_> = (0..actors)
        .map(|at| json!({"id": format!("t{at}"), "kind": "actor", "description": format!("Look at part {at}"), "bundles": ["look"]}))
        .collect();
    let plan: Plan = serde_json::from_value(json!({ "tasks": tasks }))?;
    let mut settings = RunSettings {
        route: PlanRoute::Rules,
        isolation: Isolation::Shared,
        approval: Approval::All,
        unattended: true,
        plan_approved: true,
        ..RunSettings::default()
    };
    settings.max_parallel = u32::try_from(actors)?;
    settings.bounds.max_steps = Some(u32::try_from(rounds)? + 5);
    settings.bounds.max_tool_calls = u64::MAX;
    settings.bounds.max_actors = u32::MAX;
    let request = RunRequest { plan: Some(plan), settings, ..RunRequest::new("bench".parse()?, "Look") };
    Ok(carry_out(builder, request).await?.took)
}

/// Parameters of a call.
#[derive(Deserialize, JsonSchema)]
struct Look {
    /// Number of the page.
    page: u64,
}

fn builder(folder: &Path, model: ModelStack) -> OrchestratorBuilder {
    let mut tools: ToolRegistry = builtin();
    let tool = TypedTool::new("look", "Gives a page of the part.", async |given: Look, _: ToolContext| -> Result<ToolOutput, ToolError> {
        let words = format!("page {} ", given.page);
        Ok(ToolOutput::text(words.repeat(PAGE / words.len())))
    });
    tools.register(Arc::new(tool.read_only()));
    OrchestratorBuilder::new().model(model).tools(tools).undo(None).folder(folder)
}

/// Scripted model: requests a call for each answer that it has not given yet, then ends, or writes the final answer of the run.
struct Script {
    rounds: usize,
    wait: Duration,
    seen: Mutex<Seen>,
    /// Set if all actors wait for each other: the memory of the process once they do.
    all: Option<watch::Sender<Option<u64>>>,
    actors: usize,
    asked: AtomicUsize,
}

/// Statistics of the model.
#[derive(Clone, Default)]
struct Seen {
    /// Time spent in the model itself.
    model: Duration,
    /// Number of requests, and their total bytes including tools.
    requests: u64,
    all: usize,
    /// Bytes of all requests but the first, including tools, and the bytes of the prefixes that they share with the request before.
    sent: usize,
    shared: usize,
    /// Estimated tokens of the first request, including tools.
    fixed: u64,
    before: Vec<Arc<Message>>,
    tools: Arc<[ToolDefinition]>,
}

impl Script {
    fn new(rounds: usize, wait: Duration) -> Self {
        Self { rounds, wait, seen: Mutex::default(), all: None, actors: 0, asked: AtomicUsize::new(0) }
    }

    fn seen(&self) -> Seen {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the answer with its call: the next page, or the end.
    fn answer(&self, request: &ChatRequest) -> ChatResponse {
        let given = request.messages.iter().filter(|message| matches!(message.as_ref(), Message::Assistant { .. })).count();
        let call = if given < self.rounds {
            call(given, "look", &json!({ "page": given }))
        } else {
            call(given, "terminate", &json!({"status": "success", "message": "All pages were looked at."}))
        };
        let content = if request.tools.is_empty() { "Done.".to_owned() } else { String::new() };
        let tool_calls = if request.tools.is_empty() { Vec::new() } else { vec![call] };
        let finish = if tool_calls.is_empty() { FinishReason::Stop } else { FinishReason::ToolCalls };
        let (reasoning, usage, model) = (String::new(), Usage::default(), "script".to_owned());
        ChatResponse {
            content,
            reasoning,
            tool_calls,
            native: None,
            citations: Vec::new(),
            finish,
            usage,
            usage_estimated: true,
            model,
            effort: None,
            cost_usd: 0.0,
        }
    }

    /// Compares a request with the one before: with one actor they belong to one conversation.
    fn compare(&self, request: &ChatRequest) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = bytes(request);
        seen.requests += 1;
        seen.all += bytes;
        if seen.before.is_empty() {
            seen.fixed = aime_orchestrator::llm::estimate_request_tokens(request);
        } else {
            let pairs = request.messages.iter().zip(&seen.before);
            let shared: usize = pairs.take_while(|(now, before)| now == before).map(|(now, _)| size(now)).sum();
            // Servers put the tools before all messages.
            let same = request.tools == seen.tools;
            seen.shared += if same { request.tools.iter().map(weight).sum::<usize>() + shared } else { 0 };
            seen.sent += bytes;
        }
        seen.before.clone_from(&request.messages);
        seen.tools = Arc::clone(&request.tools);
    }
}

fn call(number: usize, name: &str, arguments: &serde_json::Value) -> ToolCall {
    ToolCall { id: format!("c{number}"), name: name.to_owned(), arguments: arguments.to_string() }
}

/// Returns the bytes of a request: its messages and its tools.
pub(crate) fn bytes(request: &ChatRequest) -> usize {
    request.tools.iter().map(weight).sum::<usize>() + request.messages.iter().map(|message| size(message)).sum::<usize>()
}

/// Returns the bytes of a tool's definition.
fn weight(tool: &ToolDefinition) -> usize {
    tool.name.len() + tool.description.len() + tool.parameters.to_string().len()
}

/// Returns the bytes of a message's texts.
fn size(message: &Message) -> usize {
    match message {
        Message::System { content } | Message::User { content, .. } | Message::Tool { content, .. } => content.len(),
        Message::Assistant { content, tool_calls, .. } => {
            content.len() + tool_calls.iter().map(|call| call.name.len() + call.arguments.len()).sum::<usize>()
        }
    }
}

struct Scripted(Arc<Script>);

fn scripted(script: &Arc<Script>) -> ModelStack {
    ModelStack::of(Scripted(Arc::clone(script)))
}

/// Returns limits without compaction, because the benchmark measures a growing history.
fn limits() -> ModelLimits {
    ModelLimits { context_tokens: u32::MAX, ..ModelLimits::default() }
}

impl ChatModel for Scripted {
    fn name(&self) -> &str {
        "script"
    }

    fn limits(&self) -> ModelLimits {
        limits()
    }

    fn stream(&self, request: ChatRequest) -> BoxStream<'_, Result<StreamPart, ModelError>> {
        in_one_part(self.complete(request))
    }

    fn complete(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatResponse, ModelError>> {
        Box::pin(async move {
            let (script, begun) = (&self.0, Instant::now());
            if let Some(all) = script.all.as_ref().filter(|_| !request.tools.is_empty()) {
                if script.asked.fetch_add(1, Ordering::SeqCst) + 1 == script.actors {
                    all.send_replace(Some(resident_kb().unwrap_or_default()));
                }
                // The sender lives as long as the script.
                drop(all.subscribe().wait_for(Option::is_some).await);
            }
            if !script.wait.is_zero() {
                sleep(script.wait).await;
            }
            if script.all.is_none() && script.wait.is_zero() {
                script.compare(&request);
            }
            let response = script.answer(&request);
            script.seen.lock().unwrap_or_else(PoisonError::into_inner).model += begun.elapsed();
            Ok(response)
        })
    }
}
