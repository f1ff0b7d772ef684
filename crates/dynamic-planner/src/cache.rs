//! Plans of goals that were planned before, and how planning goes.

use std::collections::VecDeque;

use aime_progress::{Plan, PlanMode};
use serde::{Deserialize, Serialize};

use crate::PlanRequest;

/// What makes two requests for a plan the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanKey {
    /// The goal, without spaces around it.
    pub goal: String,
    /// The mode.
    pub mode: PlanMode,
    /// A digest of tools, profiles, project notes, what is known, and folder.
    pub with: u64,
}

impl PlanKey {
    /// The key of a request.
    #[must_use]
    pub fn of(request: &PlanRequest) -> Self {
        let mut digest = Fnv::new();
        for tool in &request.tools {
            digest.add(&tool.name);
            digest.add(&tool.description);
            digest.add(&tool.parameters.to_string());
        }
        for profile in &request.profiles {
            digest.add(&profile.name);
        }
        digest.add(&request.project);
        digest.add(&request.known);
        digest.add(&request.folder);
        Self { goal: request.goal.trim().to_owned(), mode: request.mode, with: digest.0 }
    }
}

/// FNV-1a, 64 bits: the same on every machine and in every version.
struct Fnv(u64);

impl Fnv {
    const fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    /// Adds a text and a byte that occurs in none, so that `ab, c` and `a, bc` differ.
    fn add(&mut self, text: &str) {
        for byte in text.bytes().chain([0xff]) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

/// Plans by request, the least recently used one leaving first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlanCache {
    capacity: usize,
    /// The most recently used one last.
    entries: VecDeque<(PlanKey, Plan)>,
}

impl PlanCache {
    /// A cache of at most `capacity` plans.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self { capacity, entries: VecDeque::new() }
    }

    /// The plan of the same request.
    pub fn get(&mut self, key: &PlanKey) -> Option<&Plan> {
        let at = self.entries.iter().position(|(known, _)| known == key)?;
        let entry = self.entries.remove(at)?;
        self.entries.push_back(entry);
        self.entries.back().map(|(_, plan)| plan)
    }

    /// Keeps a plan.
    pub fn insert(&mut self, key: PlanKey, plan: Plan) {
        self.entries.retain(|(known, _)| *known != key);
        self.entries.push_back((key, plan));
        while self.entries.len() > self.capacity {
            self.entries.pop_front();
        }
    }

    /// How many plans it holds.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether it holds none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

/// How planning goes, counted by whoever plans.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanningMetrics {
    /// Plans that were asked for.
    pub asked: u64,
    /// Those that were made as asked.
    pub made: u64,
    /// The time that planning took, in milliseconds.
    pub planning_ms: u64,
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
