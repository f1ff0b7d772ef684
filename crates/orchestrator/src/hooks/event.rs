//! Events of hooks, and the changes that hooks may make to them.

use std::{path::PathBuf, sync::Arc};

use aime_progress_management::{Conclusion, HookAction, HookOutcome, HookPoint, RunId, TaskId, TaskSpec};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{CriterionResult, RunResult};

/// The `schema` member of a hook event.
pub(crate) const HOOK_SCHEMA: &str = "aime.hook/v1";

/// Maximum number of characters of a message that a hook adds to a prompt.
const MAX_MESSAGE_CHARS: usize = 4_000;
/// Maximum number of characters in the report of a hook's action.
const MAX_REPORT_CHARS: usize = 500;
/// The tool that calls a tool of an MCP server by its name.
const CALL_TOOL: &str = "mcp_call_tool";
/// Its parameter with the parameters of that tool.
const PARAMETERS: &str = "parameters";
/// Prefix of the names of MCP tools.
pub(super) const OF_SERVERS: &str = "mcp__";

/// Event of a hook. A command reads it as one JSON object.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HookEvent {
    /// Always `aime.hook/v1`.
    pub schema: String,
    /// The point.
    pub point: HookPoint,
    /// The run.
    pub run: RunId,
    /// The task, if the action is for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// Private folder in which the call works; absent for the working folder. A command hook runs in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<HookFolder>,
    /// The action or its outcome.
    pub payload: HookPayload,
}

/// Private folder of a task. In the document it is its path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "PathBuf", into = "PathBuf")]
pub struct HookFolder {
    /// Path of the folder.
    pub path: PathBuf,
    /// Paths outside of it that commands in it may read.
    pub reads: Vec<PathBuf>,
}

impl From<PathBuf> for HookFolder {
    fn from(path: PathBuf) -> Self {
        Self { path, reads: Vec::new() }
    }
}

impl From<HookFolder> for PathBuf {
    fn from(folder: HookFolder) -> Self {
        folder.path
    }
}

/// The action that is about to happen, or its outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum HookPayload {
    /// A request to a model.
    Prompt {
        /// The model's name.
        model: String,
        /// The whole conversation.
        messages: Vec<HookMessage>,
        /// The answer, after the request.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answer: Option<HookMessage>,
    },
    /// The first plan.
    Plan {
        /// Text of the goal.
        goal: String,
        /// The plan document, after planning.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        plan: Option<Value>,
    },
    /// A change of the plan.
    Patch {
        /// Text of the goal.
        goal: String,
        /// Reasons for the change of the plan.
        reasons: Vec<String>,
        /// The patch document, after replanning.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        patch: Option<Value>,
    },
    /// An attempt at a task.
    Task {
        /// The task.
        spec: Arc<TaskSpec>,
        /// Result of the attempt, after it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        conclusion: Option<Conclusion>,
        /// Results of its completion criteria, as far as they could be checked.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        criteria: Vec<CriterionResult>,
    },
    /// A call of a tool.
    Tool {
        /// Its name.
        tool: String,
        /// The tool that calls it by its name: `mcp_call_tool`, if the actor has called that.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        through: Option<String>,
        /// Its parameters.
        parameters: Map<String, Value>,
        /// Result of the call, after it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<HookToolResult>,
    },
    /// The end of a run, or of this process's part of it.
    Stop {
        /// The result document.
        result: Box<RunResult>,
    },
}

/// A message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookMessage {
    /// `system`, `user`, `assistant`, `tool`.
    pub role: String,
    /// Text of the message. Each tool call of an assistant is a line `name {"parameter": …}`.
    pub text: String,
}

/// Result of a tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookToolResult {
    /// False if the tool returned an error.
    pub ok: bool,
    /// The text that the model receives.
    pub text: String,
}

impl HookPayload {
    /// Creates the payload for a call. It shows a call of `mcp_call_tool` as a call of the tool that it names, so that no hook misses that.
    pub(crate) fn of_call(tool: &str, parameters: &Map<String, Value>, result: Option<HookToolResult>) -> Self {
        let named = parameters.get("name").and_then(Value::as_str).filter(|name| tool == CALL_TOOL && name.starts_with(OF_SERVERS));
        match named {
            Some(name) => {
                let handed = parameters.get(PARAMETERS).and_then(Value::as_object).cloned().unwrap_or_default();
                Self::Tool { tool: name.to_owned(), through: Some(tool.to_owned()), parameters: handed, result }
            }
            None => Self::Tool { tool: tool.to_owned(), through: None, parameters: parameters.clone(), result },
        }
    }

    /// Returns the parameters of the call with those of this payload, which hooks may have changed.
    pub(crate) fn into_parameters(self, mut call: Map<String, Value>) -> Map<String, Value> {
        match self {
            Self::Tool { through: Some(_), parameters, .. } => {
                call.insert(PARAMETERS.to_owned(), Value::Object(parameters));
                call
            }
            Self::Tool { parameters, .. } => parameters,
            _ => call,
        }
    }
}

impl HookEvent {
    /// Creates the event for a point.
    #[must_use]
    pub fn new(point: HookPoint, run: RunId, task: Option<TaskId>, payload: HookPayload) -> Self {
        Self { schema: HOOK_SCHEMA.to_owned(), point, run, task, folder: None, payload }
    }

    /// Returns the tool that the event is about.
    #[must_use]
    pub fn tool(&self) -> Option<&str> {
        match &self.payload {
            HookPayload::Tool { tool, .. } => Some(tool),
            _ => None,
        }
    }

    /// Returns the tool by which an actor has called the tool of the event, if it has not called it itself.
    #[must_use]
    pub fn through(&self) -> Option<&str> {
        match &self.payload {
            HookPayload::Tool { through, .. } => through.as_deref(),
            _ => None,
        }
    }

    /// Applies a change that is allowed at this point: `{"message": …}` before a prompt, `{"parameters": …}` before a
    /// tool, `{"text": …}` after one, `{"plan": …}` or `{"patch": …}` after the planner.
    pub(super) fn change(&mut self, change: &Value) -> Result<(), String> {
        let one = |wanted: &str| {
            let members = change.as_object().filter(|members| members.len() == 1);
            members
                .and_then(|members| members.get(wanted))
                .ok_or_else(|| format!("a change at {} is {{\"{wanted}\": …}} and nothing else", self.point))
        };
        let text = |wanted: &str| {
            let text = one(wanted)?.as_str().ok_or_else(|| format!("\"{wanted}\" must be a text"))?;
            Ok::<_, String>(text.chars().take(MAX_MESSAGE_CHARS).collect::<String>())
        };
        let object = |wanted: &str| one(wanted)?.as_object().cloned().ok_or_else(|| format!("\"{wanted}\" must be an object"));
        match (self.point, &mut self.payload) {
            (HookPoint::BeforePrompt, HookPayload::Prompt { messages, .. }) => {
                messages.push(HookMessage { role: "user".to_owned(), text: text("message")? });
            }
            (HookPoint::AfterPlan, HookPayload::Plan { plan, .. }) => *plan = Some(Value::Object(object("plan")?)),
            (HookPoint::AfterPlan, HookPayload::Patch { patch, .. }) => *patch = Some(Value::Object(object("patch")?)),
            (HookPoint::BeforeTool, HookPayload::Tool { parameters, .. }) => *parameters = object("parameters")?,
            (HookPoint::AfterTool, HookPayload::Tool { result: Some(result), .. }) => {
                let text = one("text")?.as_str().ok_or("\"text\" must be a text")?;
                text.clone_into(&mut result.text);
            }
            _ => return Err(format!("nothing can be changed at {}", self.point)),
        }
        Ok(())
    }
}

/// Returns the action of a hook, for the journal and for people.
pub(super) fn act(hook: &str, event: &HookEvent, did: HookOutcome, detail: &str) -> HookAction {
    let mut text: String = detail.chars().take(MAX_REPORT_CHARS).collect();
    if text.len() < detail.len() {
        text.push_str(" …");
    }
    HookAction { hook: hook.to_owned(), point: event.point, task: event.task.clone(), did, detail: text }
}
