//! The plan tools of the lead.

use std::{fmt, sync::Arc};

use aime_llm::ToolDefinition;
use aime_tools::{Executor, ToolScope, ToolSpec};
use serde_json::Value;

use super::schema;
use crate::PlanChecker;

/// A plan tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PlanTool {
    /// Replaces the plan.
    SubmitPlan,
    /// Changes the plan.
    ChangePlan,
    /// Sends a message to the actor of a running task.
    TellTask,
    /// Stops a running task after its current call.
    HoldTask,
    /// Lets a held task continue.
    ReleaseTask,
    /// Cancels a task for good.
    CancelTask,
    /// Rewords a success criterion.
    AmendCriterion,
    /// Reads the whole result of a task.
    ReadResult,
}

impl PlanTool {
    /// All plan tools, in the order in which the lead's requests list them.
    pub const ALL: [Self; 8] = [
        Self::SubmitPlan,
        Self::ChangePlan,
        Self::TellTask,
        Self::HoldTask,
        Self::ReleaseTask,
        Self::CancelTask,
        Self::AmendCriterion,
        Self::ReadResult,
    ];

    /// Returns the name by which the model calls the tool.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::SubmitPlan => "submit_plan",
            Self::ChangePlan => "change_plan",
            Self::TellTask => "tell_task",
            Self::HoldTask => "hold_task",
            Self::ReleaseTask => "release_task",
            Self::CancelTask => "cancel_task",
            Self::AmendCriterion => "amend_criterion",
            Self::ReadResult => "read_result",
        }
    }

    /// Returns the tool of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    const fn description(self) -> &'static str {
        match self {
            Self::SubmitPlan => {
                "Hand the work over to a plan of tasks, each done by its own worker. Without `tasks` it returns how to write plans."
            }
            Self::ChangePlan => "Change the plan.",
            Self::TellTask => "Message the worker of a running task.",
            Self::HoldTask => "Pause a running task.",
            Self::ReleaseTask => "Resume a held task.",
            Self::CancelTask => "Cancel a task for good.",
            Self::AmendCriterion => "Correct a wrong success criterion.",
            Self::ReadResult => "Read a task's whole result.",
        }
    }

    fn parameters(self, names: &PlanChecker<'_>) -> Value {
        match self {
            Self::SubmitPlan => schema::submit_plan(names),
            Self::ChangePlan => schema::change_plan(),
            Self::TellTask => schema::of_task(&["text"]),
            Self::HoldTask | Self::ReleaseTask => schema::of_task(&[]),
            Self::CancelTask => schema::of_task(&["reason"]),
            Self::AmendCriterion => schema::amend_criterion(),
            Self::ReadResult => schema::read_result(),
        }
    }
}

impl fmt::Display for PlanTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Returns the plan tools of a run's lead. Their schemas name the tools, profiles, bundles and models that plans are
/// checked against, but no task, so that the list stays the same for the whole run and prompt caches match.
#[must_use]
pub fn lead_tools(names: &PlanChecker<'_>) -> Vec<Arc<ToolSpec>> {
    let spec = |tool: PlanTool| {
        let definition = ToolDefinition {
            name: tool.name().to_owned(),
            description: tool.description().to_owned(),
            parameters: tool.parameters(names).into(),
        };
        let mut spec = ToolSpec::new(definition);
        (spec.handled_by, spec.touches) = (Executor::Run, ToolScope::Nothing);
        // The run answers a repeated call with its earlier answer.
        (spec.read_only, spec.idempotent) = (tool == PlanTool::ReadResult, true);
        Arc::new(spec)
    };
    PlanTool::ALL.into_iter().map(spec).collect()
}
