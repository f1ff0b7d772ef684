//! Planning metrics.

use serde::{Deserialize, Serialize};

/// Planning metrics, counted by the user of the planner.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanningMetrics {
    /// Number of requested plans.
    pub asked: u64,
    /// Number of requested plans that were made without fallback and error.
    pub made: u64,
    /// The time that planning took, in milliseconds.
    pub planning_ms: u64,
    /// Number of kept plans that were reused without a request.
    #[serde(default)]
    pub reused: u64,
    /// Number of plans executed to an end.
    pub executed: u64,
    /// Number of executed plans that reached their goal.
    pub succeeded: u64,
}

impl PlanningMetrics {
    /// Counts a requested plan. `as_asked` is true if it was made without fallback and error.
    pub const fn planned(&mut self, as_asked: bool, took_ms: u64) {
        self.asked += 1;
        self.made += as_asked as u64;
        self.planning_ms += took_ms;
    }

    /// Counts a reused plan.
    pub const fn reused(&mut self) {
        self.reused += 1;
    }

    /// Adds other counts.
    pub const fn add(&mut self, other: &Self) {
        self.asked += other.asked;
        self.made += other.made;
        self.planning_ms += other.planning_ms;
        self.reused += other.reused;
        self.executed += other.executed;
        self.succeeded += other.succeeded;
    }

    /// Counts a plan executed to an end.
    pub const fn executed(&mut self, reached_goal: bool) {
        self.executed += 1;
        self.succeeded += reached_goal as u64;
    }

    /// Returns the share of requested plans that were made as requested, 0 to 1; `None` before the first.
    #[must_use]
    pub fn planning_success_rate(&self) -> Option<f64> {
        rate(self.made, self.asked)
    }

    /// Returns the share of executed plans that reached their goal, 0 to 1; `None` before the first.
    #[must_use]
    pub fn execution_success_rate(&self) -> Option<f64> {
        rate(self.succeeded, self.executed)
    }

    /// Returns the mean time of planning in milliseconds; `None` before the first.
    #[must_use]
    pub fn mean_planning_ms(&self) -> Option<f64> {
        rate(self.planning_ms, self.asked)
    }
}

fn rate(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

#[cfg(test)]
mod tests;
