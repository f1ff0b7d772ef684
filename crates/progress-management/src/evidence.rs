//! Evidence, decisions, and the reasons for a replan: the facts behind a changed plan.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{DroppedChange, EvidenceId, Lowered, Origin, PlanPatch, TaskId, Timestamp};

/// Where evidence comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceKind {
    /// Found while working.
    Discovery,
    /// Something failed.
    Error,
    /// A person said it.
    UserInput,
    /// The world outside changed.
    External,
}

/// How much evidence matters. Ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Significance {
    /// Good to know.
    Low,
    /// May matter to one task.
    Medium,
    /// The plan should be looked at again.
    High,
    /// The plan cannot stand.
    Critical,
}

/// Something learnt that may change the plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// Unique in the run.
    pub id: EvidenceId,
    /// When it was reported.
    pub at: Timestamp,
    /// The task that reported it; absent when a person or the runtime did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// Where it comes from.
    #[serde(rename = "type")]
    pub kind: EvidenceKind,
    /// How much it matters.
    pub significance: Significance,
    /// What was learnt.
    pub content: String,
    /// Whether a decision has used it.
    #[serde(default)]
    pub processed: bool,
    /// Where the texts come from that it may have been made from and that nobody vouches for.
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

/// What made a replan necessary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TriggerKind {
    /// A task failed more often than it may be retried.
    TaskFailed,
    /// Evidence that matters was not yet used.
    Evidence,
    /// A task is blocked by its dependencies.
    Blocked,
    /// Nothing moved for too long.
    Stalled,
    /// Few tokens remain.
    TokenBudget,
    /// The goal's success criteria did not hold at the end.
    CriteriaFailed,
    /// A person asked for it.
    Person,
    /// The plan grows or adapts while it is carried out: not a repair, and not counted as a replan.
    Update,
}

/// One reason for a replan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TriggerReason {
    /// What made it necessary.
    pub kind: TriggerKind,
    /// 0 to 100; the highest is dealt with first.
    pub priority: u8,
    /// In words.
    pub detail: String,
    /// The tasks concerned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<TaskId>,
    /// The evidence concerned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<EvidenceId>,
}

impl TriggerReason {
    /// Returns a reason that concerns no task and no evidence.
    #[must_use]
    pub fn new(kind: TriggerKind, priority: u8, detail: impl Into<String>) -> Self {
        Self { kind, priority, detail: detail.into(), tasks: Vec::new(), evidence: Vec::new() }
    }
}

/// A change of the plan, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Decision {
    /// The plan version that it made.
    pub version: u32,
    /// When it was taken.
    pub at: Timestamp,
    /// What made it necessary.
    pub triggers: Vec<TriggerReason>,
    /// What was changed, with the reasoning.
    pub patch: PlanPatch,
    /// The evidence it used, which is processed by it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<EvidenceId>,
    /// What is made of each task that had failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lowered: Vec<Lowered>,
    /// Changes that did not fit any more when the decision was taken.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<DroppedChange>,
}

impl Decision {
    /// Returns true if the decision repaired the plan instead of only growing it.
    #[must_use]
    pub fn is_replan(&self) -> bool {
        self.triggers.iter().any(|reason| reason.kind != TriggerKind::Update)
    }
}
