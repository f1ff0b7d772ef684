//! Evidence, decisions, and the reasons for a replan: the facts behind a changed plan.

use aime_messages::Message;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{DroppedChange, EvidenceId, HandledFailure, Origin, PlanPatch, TaskId, Timestamp};

/// Source of evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceKind {
    /// A finding during the work.
    Discovery,
    /// A failure.
    Error,
    /// A statement by a person.
    UserInput,
    /// A change of the outside world.
    External,
}

/// Importance of evidence, from low to critical.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Significance {
    /// Good to know.
    Low,
    /// May affect one task.
    Medium,
    /// The plan should be reviewed.
    High,
    /// The plan cannot be kept.
    Critical,
}

/// Something learned that may change the plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// Identifier, unique in the run.
    pub id: EvidenceId,
    /// Time of the report.
    pub at: Timestamp,
    /// Task that reported it; absent if a person or the runtime did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// Source of the evidence.
    #[serde(rename = "type")]
    pub kind: EvidenceKind,
    /// Importance of the evidence.
    pub significance: Significance,
    /// The finding, in words.
    pub content: String,
    /// True if a decision has used it.
    #[serde(default)]
    pub processed: bool,
    /// Untrusted origins of the texts that this evidence may be based on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub origins: Vec<Origin>,
}

impl Evidence {
    /// Returns evidence that no task reported and no decision has used.
    #[must_use]
    pub fn new(id: EvidenceId, at: Timestamp, kind: EvidenceKind, significance: Significance, content: impl Into<String>) -> Self {
        Self { id, at, task: None, kind, significance, content: content.into(), processed: false, origins: Vec::new() }
    }
}

/// Kind of cause for a replan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TriggerKind {
    /// A task failed more often than the retries allow.
    TaskFailed,
    /// No decision has yet used some significant evidence.
    Evidence,
    /// A task is blocked by its dependencies.
    Blocked,
    /// There was no progress for too long.
    Stalled,
    /// Few tokens remain.
    TokenBudget,
    /// The goal's success criteria did not hold at the end.
    CriteriaFailed,
    /// A person asked for a replan.
    Person,
    /// The plan grows or adapts in the course of the run: not a repair, and not counted as a replan.
    Update,
}

/// One reason for a replan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TriggerReason {
    /// Kind of cause.
    pub kind: TriggerKind,
    /// Priority from 0 to 100; the highest comes first.
    pub priority: u8,
    /// The cause in words.
    pub detail: Message,
    /// Tasks concerned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<TaskId>,
    /// Evidence concerned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<EvidenceId>,
}

impl TriggerReason {
    /// Returns a reason that concerns no task and no evidence.
    #[must_use]
    pub fn new(kind: TriggerKind, priority: u8, detail: impl Into<Message>) -> Self {
        Self { kind, priority, detail: detail.into(), tasks: Vec::new(), evidence: Vec::new() }
    }
}

/// A change of the plan, with its reasons.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Decision {
    /// Version of the plan after the change.
    pub version: u32,
    /// Time of the decision.
    pub at: Timestamp,
    /// Reasons for the change.
    pub triggers: Vec<TriggerReason>,
    /// The change, with its reasoning.
    pub patch: PlanPatch,
    /// Evidence that the decision used; this marks it as processed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<EvidenceId>,
    /// Treatment of each task that had failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lowered: Vec<HandledFailure>,
    /// Changes that no longer fitted the plan at the time of the decision.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<DroppedChange>,
}

impl Decision {
    /// Returns true if the decision repaired the plan. A change that a person wants, that lets the plan grow, or that
    /// follows a plan whose tasks are all settled repairs nothing.
    #[must_use]
    pub fn is_replan(&self) -> bool {
        is_replan(&self.triggers)
    }

    /// Returns true if the decision only let the plan grow: neither trouble nor a person asked for it.
    #[must_use]
    pub fn only_grows(&self) -> bool {
        self.triggers.iter().all(|reason| reason.kind == TriggerKind::Update)
    }
}

/// Returns true if a change for these reasons repairs the plan, so that the frequency control counts it.
#[must_use]
pub fn is_replan(reasons: &[TriggerReason]) -> bool {
    reasons.iter().any(|reason| !matches!(reason.kind, TriggerKind::Update | TriggerKind::Person))
}
