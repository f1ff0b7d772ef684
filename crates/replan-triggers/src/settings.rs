//! Settings of the triggers and of the frequency control.

use aime_progress_management::{Significance, TriggerKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of the replan triggers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TriggerSettings {
    /// Number of retries of a failed task; one more failure asks for a replan.
    pub max_retries: u32,
    /// Least significance at which evidence asks for a replan.
    pub evidence_significance: Significance,
    /// True if a task that is blocked by its dependencies asks for a replan.
    pub blocked: bool,
    /// Seconds without progress after which a replan is asked for; 0 for never.
    pub stall_timeout: u64,
    /// Share of the token budget, 0 to 1, below which the remaining tokens ask for a replan; 0 for never.
    pub token_budget_threshold: f64,
    /// Active ones of the five triggers; all if empty. Failed success criteria and a person's request are always active.
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

/// Limits on the frequency of replans.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FrequencySettings {
    /// Maximum number of replans per plan.
    pub max_replans_per_plan: u32,
    /// Minimum number of seconds between two replans.
    pub cooldown_seconds: u64,
    /// Number of replans after which a person is asked before the next one.
    pub escalation_threshold: u32,
    /// True if the cooldown also applies when nothing else can continue. It exists to stop thrashing beside running work; in an
    /// idle run it would only waste time.
    pub cooldown_when_idle: bool,
}

impl Default for FrequencySettings {
    fn default() -> Self {
        Self { max_replans_per_plan: 3, cooldown_seconds: 60, escalation_threshold: 3, cooldown_when_idle: false }
    }
}
