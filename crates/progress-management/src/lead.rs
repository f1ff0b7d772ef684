//! The accepted calls of the lead's plan tools.

use aime_messages::Message;
use serde::{Deserialize, Serialize};

use crate::{Criterion, EvidenceId, Plan, PlanMode, PlanPatch, TaskId};

/// A call of one of the lead's plan tools that passed validation. The run machine carries it out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case")]
pub enum LeadCommand {
    /// Replaces the plan of the run.
    SubmitPlan {
        /// The new plan.
        plan: Box<Plan>,
        /// The mode of the plan.
        mode: PlanMode,
        /// Corrections that the parser made to the model's text.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        repairs: Vec<Message>,
    },
    /// Changes the plan of the run.
    ChangePlan {
        /// The changes; the run machine rebases them on its current plan.
        patch: PlanPatch,
        /// The evidence that the change takes into account, words of people included.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        handled: Vec<EvidenceId>,
        /// Corrections that the parser made to the model's text.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        repairs: Vec<Message>,
    },
    /// Sends a message to the actor of a running task.
    TellTask {
        /// The task.
        task: TaskId,
        /// The message.
        text: String,
    },
    /// Stops the actor of a task after the current call.
    HoldTask {
        /// The task.
        task: TaskId,
    },
    /// Continues the execution of a held task.
    ReleaseTask {
        /// The task.
        task: TaskId,
    },
    /// Cancels a task for good; it becomes skipped.
    CancelTask {
        /// The task.
        task: TaskId,
        /// Reason for the cancellation.
        reason: String,
    },
    /// Rewords one of the lead's own success criteria.
    AmendCriterion {
        /// Its number in the list of success criteria, from 1.
        number: u32,
        /// The new criterion.
        criterion: Criterion,
        /// Evidence that the former wording is wrong.
        evidence: String,
    },
}
