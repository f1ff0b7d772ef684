//! Actions of hooks, as events report them.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::TaskId;

/// Point at which a hook is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HookPoint {
    /// A request is about to go to a model: the hook may append a message or block the request.
    BeforePrompt,
    /// A model has answered: the hook may block the answer.
    AfterPrompt,
    /// The planner is about to be asked for a plan or a patch: the hook may block the request.
    BeforePlan,
    /// A plan or patch has passed every check: the hook may change or refuse it.
    AfterPlan,
    /// An attempt at a task is about to begin: the hook may block it.
    BeforeTask,
    /// An attempt at a task has ended: the hook may refuse a success.
    AfterTask,
    /// A tool is about to be called: the hook may change the parameters or block the call.
    BeforeTool,
    /// A tool has returned: the hook may change or block the text that the model receives.
    AfterTool,
    /// A run has ended or was suspended.
    Stop,
}

impl HookPoint {
    /// All points.
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

    /// Returns the name in settings and events.
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

    /// Returns true for the points before and after a tool call.
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

/// Action of a hook. A hook that changed nothing is not reported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct HookAction {
    /// The hook.
    pub hook: String,
    /// The point.
    pub point: HookPoint,
    /// The task, if the action was for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// Kind of action.
    pub did: HookOutcome,
    /// The change, the reason, or the error message; cut to a limit.
    pub detail: String,
}

/// Kind of a hook's action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HookOutcome {
    /// The hook changed something.
    Changed,
    /// The hook blocked something.
    Blocked,
    /// The hook failed, and the run continued without it.
    Failed,
}

impl HookOutcome {
    /// Returns the kind as one word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Blocked => "blocked",
            Self::Failed => "failed",
        }
    }
}
