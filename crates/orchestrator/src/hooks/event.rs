//! What a hook is told, and what it may change of it.

use std::fmt;

use aime_progress::{Conclusion, ProgressEvent, RunId, TaskId, TaskSpec};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{CriterionResult, RunResult};

/// The `schema` member of what a hook is told.
pub(crate) const HOOK_SCHEMA: &str = "aime.hook/v1";

/// The longest message that a hook adds to a prompt, in characters.
const MAX_MESSAGE_CHARS: usize = 4_000;
/// How much of what a hook did is told, in characters.
const MAX_TOLD_CHARS: usize = 500;

/// When a hook is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookPoint {
    /// A request is about to go to a model: a message may be added at its end, or it is blocked.
    BeforePrompt,
    /// A model answered: the answer may be blocked.
    AfterPrompt,
    /// The planner is about to be asked for a plan or a patch: that may be blocked.
    BeforePlan,
    /// A plan or patch passed every check: it may be changed, or refused.
    AfterPlan,
    /// An attempt at a task is about to begin: it may be blocked.
    BeforeTask,
    /// An attempt at a task ended: a success may be refused.
    AfterTask,
    /// A tool is about to be called: the parameters may be changed, or the call blocked.
    BeforeTool,
    /// A tool returned: what is told of it may be changed or blocked.
    AfterTool,
    /// A run ended or was left.
    Stop,
}

impl HookPoint {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::BeforePrompt,
        Self::AfterPrompt,
        Self::BeforePlan,
        Self::AfterPlan,
        Self::BeforeTask,
        Self::AfterTask,
        Self::BeforeTool,
        Self::AfterTool,
        Self::Stop,
    ];

    /// The name in settings and events.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::BeforePrompt => "before_prompt",
            Self::AfterPrompt => "after_prompt",
            Self::BeforePlan => "before_plan",
            Self::AfterPlan => "after_plan",
            Self::BeforeTask => "before_task",
            Self::AfterTask => "after_task",
            Self::BeforeTool => "before_tool",
            Self::AfterTool => "after_tool",
            Self::Stop => "stop",
        }
    }

    /// Whether a tool is about to be called, or was.
    #[must_use]
    pub const fn is_of_tools(self) -> bool {
        matches!(self, Self::BeforeTool | Self::AfterTool)
    }
}

impl fmt::Display for HookPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a hook is told. A command reads it as one JSON object.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HookEvent {
    /// Always `aime.hook/v1`.
    pub schema: String,
    /// When.
    pub point: HookPoint,
    /// In which run.
    pub run: RunId,
    /// For which task, where it is for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// What is about to be done, or what came of it.
    pub payload: HookPayload,
}

/// What is about to be done, or what came of it.
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
        /// The answer, afterwards.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answer: Option<HookMessage>,
    },
    /// The first plan.
    Plan {
        /// What is wanted.
        goal: String,
        /// The plan document, afterwards.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        plan: Option<Value>,
    },
    /// A change of the plan.
    Patch {
        /// What is wanted.
        goal: String,
        /// Why the plan is to be changed.
        reasons: Vec<String>,
        /// The patch document, afterwards.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        patch: Option<Value>,
    },
    /// An attempt at a task.
    Task {
        /// The task.
        spec: Box<TaskSpec>,
        /// What the attempt came to, afterwards.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        conclusion: Option<Conclusion>,
        /// Its completion criteria, as far as they could be looked at.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        criteria: Vec<CriterionResult>,
    },
    /// A call of a tool.
    Tool {
        /// Its name.
        tool: String,
        /// Its parameters.
        parameters: Map<String, Value>,
        /// What it returned, afterwards.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<HookToolResult>,
    },
    /// The end of a run, or of this part of it.
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
    /// Its text; a call that an assistant asks for stands as a line `name {"parameter": …}`.
    pub text: String,
}

/// What a tool returned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookToolResult {
    /// Whether it was a result and no error.
    pub ok: bool,
    /// The text that is told.
    pub text: String,
}

impl HookEvent {
    /// What a hook is told at a point.
    #[must_use]
    pub fn new(point: HookPoint, run: RunId, task: Option<TaskId>, payload: HookPayload) -> Self {
        Self { schema: HOOK_SCHEMA.to_owned(), point, run, task, payload }
    }

    /// The tool that it is about.
    #[must_use]
    pub fn tool(&self) -> Option<&str> {
        match &self.payload {
            HookPayload::Tool { tool, .. } => Some(tool),
            _ => None,
        }
    }

    /// Changes what may be changed here: `{"message": …}` before a prompt, `{"parameters": …}` before a tool, `{"text": …}` after one,
    /// `{"plan": …}` or `{"patch": …}` after the planner.
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

/// What a hook did, for the journal and for people. A hook that let things be is not told of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookAct {
    /// The hook.
    pub hook: String,
    /// When.
    pub point: HookPoint,
    /// For which task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// What.
    pub did: HookDeed,
    /// The change, the reason, or what went wrong; cut.
    pub detail: String,
}

/// What a hook did, in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookDeed {
    /// It changed something.
    Changed,
    /// It blocked something.
    Blocked,
    /// It failed, and things went on as though it was not there.
    Failed,
}

impl HookDeed {
    /// The word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Blocked => "blocked",
            Self::Failed => "failed",
        }
    }
}

impl HookAct {
    pub(super) fn new(hook: &str, event: &HookEvent, did: HookDeed, detail: &str) -> Self {
        let mut text: String = detail.chars().take(MAX_TOLD_CHARS).collect();
        if text.len() < detail.len() {
            text.push_str(" …");
        }
        Self { hook: hook.to_owned(), point: event.point, task: event.task.clone(), did, detail: text }
    }

    /// The event that tells of it: a note on the topic `hook`.
    #[must_use]
    pub fn event(&self) -> ProgressEvent {
        let task = self.task.as_ref().map(|task| ("task".to_owned(), Value::from(task.as_str())));
        let members = [("hook", self.hook.as_str()), ("point", self.point.name()), ("did", self.did.name()), ("detail", &self.detail)];
        let detail = members.into_iter().map(|(name, text)| (name.to_owned(), Value::from(text))).chain(task).collect();
        ProgressEvent::Noted { topic: "hook".to_owned(), detail }
    }
}
