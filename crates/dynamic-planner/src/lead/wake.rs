//! The content of a wake of the lead.

use aime_progress_management::{DroppedChange, EvidenceId, Origin, ProgressState, Task, TaskId, TaskKind, TaskStatus, TriggerReason};
use serde::{Deserialize, Serialize};

/// Reason for a wake of the lead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WakeKind {
    /// The conversation begins.
    Begin,
    /// A replan trigger fired.
    Trouble,
    /// Nothing runs and nothing can start.
    NothingReady,
    /// Every task is settled.
    Done,
    /// A person sent a message.
    Person,
    /// The policy of the plan's mode asks for an update.
    Update,
    /// The run could not carry out the last command, or only a part of it.
    Refused,
}

/// Memory of the lead between its wakes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeadMemory {
    /// One conversation for the whole run. The lead looks by itself, and acts through tools.
    #[default]
    Kept,
    /// Each wake begins a conversation of one request, without tools: its message holds all that is known, and its answer is a
    /// plan or a patch. For small models, and for planning by rules.
    Fresh,
}

impl LeadMemory {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
    const fn is_kept(&self) -> bool {
        matches!(self, Self::Kept)
    }
}

/// One wake of the lead.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Wake {
    /// The number of the wake in the run, from 1.
    pub number: u32,
    /// Reason for the wake.
    pub kind: WakeKind,
    /// The lead's memory of earlier wakes.
    #[serde(default, skip_serializing_if = "LeadMemory::is_kept")]
    pub memory: LeadMemory,
    /// The triggers that fired.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<TriggerReason>,
    /// The tasks that settled or failed since the last wake.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settled: Vec<TaskId>,
    /// The evidence that came since the last wake.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<EvidenceId>,
    /// Messages of people that the lead has not handled yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<UnsolicitedMessage>,
    /// Changes of the last `change_plan` that did not fit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<DroppedChange>,
    /// Other commands that the run could not carry out, each with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<String>,
    /// The rest of the run's budgets.
    #[serde(default)]
    pub left: BudgetLeft,
    /// True if the lead may change files and run commands now.
    pub may_write: bool,
    /// True for the first wake with a plan of tasks: its message tells how the plan is changed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub guide: bool,
}

/// An unsolicited message of a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnsolicitedMessage {
    /// The id of its evidence; `change_plan` names it in `handled`.
    pub id: EvidenceId,
    /// The task whose actor the person addressed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// Text of the message.
    pub text: String,
}

/// Remaining budgets of a run. An absent budget has no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct BudgetLeft {
    /// Tokens, sent and received.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// Seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u64>,
}

impl Wake {
    /// Returns a wake in which nothing changed.
    #[must_use]
    pub fn new(number: u32, kind: WakeKind) -> Self {
        Self {
            number,
            kind,
            memory: LeadMemory::Kept,
            reasons: Vec::new(),
            settled: Vec::new(),
            evidence: Vec::new(),
            words: Vec::new(),
            dropped: Vec::new(),
            refused: Vec::new(),
            left: BudgetLeft::default(),
            may_write: false,
            guide: false,
        }
    }

    /// Returns a wake of a lead that remembers nothing: it names every task that ended, and all evidence that is still open.
    #[must_use]
    pub fn fresh(number: u32, kind: WakeKind, reasons: Vec<TriggerReason>, state: &ProgressState) -> Self {
        let open = state.evidence.iter().filter(|evidence| !evidence.processed);
        Self {
            memory: LeadMemory::Fresh,
            reasons,
            settled: state.tasks.values().filter(|task| Self::reports(task)).map(|task| task.spec.id.clone()).collect(),
            evidence: open.map(|evidence| evidence.id.clone()).collect(),
            ..Self::new(number, kind)
        }
    }

    /// Returns true if a wake reports on a task: it settled, failed, or an attempt at it ended.
    #[must_use]
    pub fn reports(task: &Task) -> bool {
        let has_ended = task.status.is_settled() || task.status == TaskStatus::Failed || task.conclusion.is_some();
        has_ended && task.spec.kind != TaskKind::Group
    }

    /// Returns the untrusted origins of the texts in the message, which a reader of the message takes over.
    #[must_use]
    pub fn origins(&self, state: &ProgressState) -> Vec<Origin> {
        let mut origins = Vec::new();
        let conclusions = self.settled.iter().filter_map(|id| state.tasks.get(id)?.conclusion.as_ref());
        conclusions.for_each(|conclusion| Origin::merge(&mut origins, &conclusion.origins));
        let shown = state.evidence.iter().filter(|evidence| self.evidence.contains(&evidence.id));
        shown.for_each(|evidence| Origin::merge(&mut origins, &evidence.origins));
        origins
    }
}
