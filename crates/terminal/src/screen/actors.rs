//! Actors of each task, with their tool calls.

use std::collections::{BTreeMap, VecDeque};

use aime_progress_management::{CallOutcome, ProgressEvent, TaskId, Timestamp};
use serde_json::{Map, Value};

use crate::text::summary_line;

/// Number of recent calls that are kept for each task.
const MAX_CALLS: usize = 30;
/// Longest text of a call, in characters.
const MAX_CALL_CHARS: usize = 200;

/// Present and past actors, by task.
#[derive(Debug, Default)]
pub(crate) struct Actors {
    by_task: BTreeMap<TaskId, Actor>,
}

/// Actor of a task.
#[derive(Debug, Default)]
pub(crate) struct Actor {
    /// Profile; empty for a task without an actor.
    pub(crate) profile: String,
    /// The model.
    pub(crate) model: String,
    /// Recent calls, oldest first.
    pub(crate) calls: VecDeque<Call>,
    /// Number of requests to models.
    pub(crate) requests: u64,
    /// Tokens sent and received.
    pub(crate) tokens: u64,
}

/// Tool call.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    id: String,
    /// Description, such as `grep: TODO`.
    pub(crate) description: String,
    /// Start time.
    pub(crate) at: Timestamp,
    /// Outcome, and duration in milliseconds.
    pub(crate) ended: Option<(CallOutcome, u64)>,
}

impl Actors {
    pub(super) fn observe(&mut self, at: Timestamp, event: &ProgressEvent) {
        match event {
            // An actor that answers a call of another one leaves that call open.
            ProgressEvent::ActorCreated { task: Some(task), call: None, profile, model, .. } => {
                let actor = self.by_task.entry(task.clone()).or_default();
                actor.profile.clone_from(profile);
                actor.model.clone_from(model);
                // The previous actor has ended, and so have its open calls.
                actor.calls.retain(|call| call.ended.is_some());
            }
            ProgressEvent::ModelCalled { task: Some(task), spent, .. } => {
                let actor = self.by_task.entry(task.clone()).or_default();
                actor.requests += spent.requests;
                actor.tokens += spent.input_tokens + spent.output_tokens;
            }
            ProgressEvent::ToolCallStarted { task: Some(task), call, tool, parameters } => {
                let calls = &mut self.by_task.entry(task.clone()).or_default().calls;
                if calls.len() >= MAX_CALLS {
                    calls.pop_front();
                }
                calls.push_back(Call { id: call.clone(), description: call_description(tool, parameters), at, ended: None });
            }
            ProgressEvent::ToolCallFinished { task: Some(task), call, outcome, duration_ms, .. } => {
                let calls = self.by_task.get_mut(task).map(|actor| &mut actor.calls);
                if let Some(found) = calls.and_then(|calls| calls.iter_mut().rev().find(|known| known.id == *call)) {
                    found.ended = Some((*outcome, *duration_ms));
                }
            }
            _ => {}
        }
    }

    pub(crate) fn of(&self, task: &TaskId) -> Option<&Actor> {
        self.by_task.get(task)
    }
}

impl Actor {
    /// Returns the latest of the calls under way.
    pub(crate) fn current(&self) -> Option<&Call> {
        self.calls.iter().rev().find(|call| call.ended.is_none())
    }
}

/// Returns the tool and the first text among its parameters.
fn call_description(tool: &str, parameters: &Map<String, Value>) -> String {
    let words = parameters.values().find_map(Value::as_str).map(summary_line).filter(|line| !line.is_empty());
    words.map_or_else(|| tool.to_owned(), |words| format!("{tool}: {}", words.chars().take(MAX_CALL_CHARS).collect::<String>()))
}
