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
