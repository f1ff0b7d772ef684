//! The replans of a run so far.

use std::collections::BTreeSet;

use aime_dynamic_planner::Growth;
use aime_progress_management::{Decision, EvidenceId, Timestamp};
use aime_replan_triggers::ReplanHistory;
use serde::{Deserialize, Serialize};

use super::growing::is_update;

/// The replans so far, the trigger reasons that were dealt with, and the pending decision.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct ReplanState {
    /// Number of replans since a person last allowed more.
    count: u32,
    /// Time at which the last replan ended.
    last_at: Option<Timestamp>,
    /// The keys of trigger reasons that a replan, its refusal or a person has dealt with.
    handled: BTreeSet<String>,
    /// The keys of the reasons last reported as waiting, so that they are reported once.
    announced: BTreeSet<String>,
    /// Evidence that the planner has seen and that stays open, because no usable patch resulted.
    left_open: BTreeSet<EvidenceId>,
    /// Progress since the last update of the plan.
    growth: Growth,
    /// A decision that waits until the actors it cancels have stopped.
    decision: Option<Decision>,
}

impl ReplanState {
    pub(super) const fn history(&self) -> ReplanHistory {
        ReplanHistory { count: self.count, last_at: self.last_at }
    }

    pub(super) const fn count(&mut self, now: Timestamp) {
        self.count += 1;
        self.last_at = Some(now);
    }

    /// Resets the count, because a person allows more replans.
    pub(super) fn allow_more(&mut self) {
        (self.count, self.last_at) = (0, None);
        self.announced.clear();
    }

    pub(super) fn is_handled(&self, key: &str) -> bool {
        self.handled.contains(key)
    }

    pub(super) fn handle(&mut self, keys: Vec<String>) {
        self.handled.extend(keys);
        self.announced.clear();
    }

    /// Stores the keys of the waiting reasons. Returns whether they differ from the keys of the last call.
    pub(super) fn announce(&mut self, keys: BTreeSet<String>) -> bool {
        let is_new = self.announced != keys;
        self.announced = keys;
        is_new
    }

    pub(super) fn nothing_waits(&mut self) {
        self.announced.clear();
    }

    /// Returns whether a replan is wanted that is not allowed yet.
    pub(super) fn is_waiting(&self) -> bool {
        !self.announced.is_empty()
    }

    pub(super) fn leave_open(&mut self, evidence: Vec<EvidenceId>) {
        self.left_open.extend(evidence);
    }

    pub(super) fn is_left_open(&self, evidence: &EvidenceId) -> bool {
        self.left_open.contains(evidence)
    }

    pub(super) fn take_left_open(&mut self) -> BTreeSet<EvidenceId> {
        std::mem::take(&mut self.left_open)
    }

    pub(super) const fn growth(&self) -> &Growth {
        &self.growth
    }

    pub(super) const fn growth_mut(&mut self) -> &mut Growth {
        &mut self.growth
    }

    pub(super) const fn is_deciding(&self) -> bool {
        self.decision.is_some()
    }

    pub(super) fn propose(&mut self, decision: Decision) {
        self.decision = Some(decision);
    }

    pub(super) const fn take_decision(&mut self) -> Option<Decision> {
        self.decision.take()
    }

    /// Removes and returns the pending decision. Failures and requested cancellations trigger again by themselves; growth
    /// needs a new request.
    pub(super) fn drop_decision(&mut self) -> Option<Decision> {
        let decision = self.decision.take();
        if decision.as_ref().is_some_and(|decision| is_update(&decision.triggers)) {
            self.growth.lost();
        }
        decision
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(text: &str) -> BTreeSet<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn the_same_waiting_reasons_are_announced_once() {
        let mut replans = ReplanState::default();
        let cases = [("a", true), ("a", false), ("a b", true), ("a", true)];
        for (reasons, expected) in cases {
            assert_eq!(replans.announce(keys(reasons)), expected, "{reasons}");
        }
        replans.nothing_waits();
        assert!(!replans.is_waiting() && replans.announce(keys("a")));
        replans.handle(vec!["a".to_owned()]);
        assert!(replans.is_handled("a") && !replans.is_handled("b") && !replans.is_waiting());
    }

    #[test]
    fn a_person_makes_the_count_begin_anew() {
        let mut replans = ReplanState::default();
        let now = Timestamp::from_millis(7);
        replans.count(now);
        replans.count(now);
        assert_eq!((replans.history().count, replans.history().last_at), (2, Some(now)));
        replans.allow_more();
        assert_eq!((replans.history().count, replans.history().last_at), (0, None));
    }
}
