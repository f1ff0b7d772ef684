//! How planning goes.

use serde::{Deserialize, Serialize};

/// How planning goes, counted by whoever plans.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanningMetrics {
    /// Plans that were asked for.
    pub asked: u64,
    /// Those that were made as asked.
    pub made: u64,
    /// The time that planning took, in milliseconds.
    pub planning_ms: u64,
    /// Plans of before that were used again, for which nobody was asked.
    #[serde(default)]
    pub reused: u64,
    /// Plans that were carried out to an end.
    pub executed: u64,
    /// Those that reached their goal.
    pub succeeded: u64,
}

impl PlanningMetrics {
    /// Counts a plan that was asked for: whether it was made as asked (no fallback, no error), and how long that took.
    pub const fn planned(&mut self, as_asked: bool, took_ms: u64) {
        self.asked += 1;
        self.made += as_asked as u64;
        self.planning_ms += took_ms;
    }

    /// Counts a plan that was used again.
    pub const fn reused(&mut self) {
        self.reused += 1;
    }

    /// Adds what somebody else has counted.
    pub const fn add(&mut self, other: &Self) {
        self.asked += other.asked;
        self.made += other.made;
        self.planning_ms += other.planning_ms;
        self.reused += other.reused;
        self.executed += other.executed;
        self.succeeded += other.succeeded;
    }

    /// Counts a plan that was carried out to an end.
    pub const fn executed(&mut self, reached_goal: bool) {
        self.executed += 1;
        self.succeeded += reached_goal as u64;
    }

    /// The part of plans that were made as asked, 0 to 1; nothing before the first.
    #[must_use]
    pub fn planning_success_rate(&self) -> Option<f64> {
        rate(self.made, self.asked)
    }

    /// The part of executed plans that reached their goal, 0 to 1; nothing before the first.
    #[must_use]
    pub fn execution_success_rate(&self) -> Option<f64> {
        rate(self.succeeded, self.executed)
    }

    /// The mean time of planning in milliseconds; nothing before the first.
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
