//! Settings of the triggers and of the frequency control.

use aime_progress::{Significance, TriggerKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// When a replan is wanted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TriggerSettings {
    /// How often a failed task is tried again; one failure more asks for a replan.
    pub max_retries: u32,
    /// The least significance at which evidence asks for a replan.
    pub evidence_significance: Significance,
    /// Whether a task that is blocked by its dependencies asks for a replan.
    pub blocked: bool,
    /// After how many seconds without progress a replan is asked for; 0 for never.
    pub stall_timeout: u64,
    /// The part of the token budget, 0 to 1, below which what remains asks for a replan; 0 for never.
    pub token_budget_threshold: f64,
    /// Which of the five triggers count; all of them where it is empty. That criteria of success failed, or a person asked, always counts.
    pub only: Vec<TriggerKind>,
}

impl Default for TriggerSettings {
    fn default() -> Self {
        Self {
            max_retries: 2,
            evidence_significance: Significance::High,
            blocked: true,
            stall_timeout: 300,
            token_budget_threshold: 0.2,
            only: Vec::new(),
        }
    }
}

impl TriggerSettings {
    /// Returns true if a trigger counts.
    pub(crate) fn counts(&self, kind: TriggerKind) -> bool {
        self.only.is_empty() || self.only.contains(&kind)
    }
}

/// How often a replan is allowed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FrequencySettings {
    /// How many replans a plan may have.
    pub max_replans_per_plan: u32,
    /// How many seconds lie between two replans at least.
    pub cooldown_seconds: u64,
    /// After how many replans a person is asked before the next one.
    pub escalation_threshold: u32,
    /// Whether the cooldown also holds when nothing else can go on. It exists to stop thrashing beside running work;
    /// in an idle run it would only be time lost.
    pub cooldown_when_idle: bool,
}

impl Default for FrequencySettings {
    fn default() -> Self {
        Self { max_replans_per_plan: 3, cooldown_seconds: 60, escalation_threshold: 3, cooldown_when_idle: false }
    }
}
