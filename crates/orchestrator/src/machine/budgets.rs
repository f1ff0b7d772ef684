//! The bounds of a run, and how much of them is used.

use std::collections::BTreeSet;

use aime_messages::{Message, message};
use aime_progress_management::{ProgressEvent, RunId, TaskId, TaskKind, Timestamp};
use serde::{Deserialize, Serialize};

use super::{FailureCode, Out, RunMachine};
use crate::{Bounds, NextStep};

/// A bound that forbids the next step: its name, and the reason as text.
pub(super) type Shortage = (&'static str, Message);

/// The bounds in force, the names of those that were reached, and the time that the run has worked.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Budgets {
    bounds: Bounds,
    reached: BTreeSet<String>,
    /// Milliseconds of work before the current segment.
    worked_ms: u64,
    /// The beginning of the current segment; absent while the run is suspended.
    segment_at: Option<Timestamp>,
    /// The time of the fact before the current one. After a crash, it is the last known time of work.
    last_fact_at: Timestamp,
}

impl Budgets {
    pub(super) const fn new(bounds: Bounds, now: Timestamp) -> Self {
        Self { bounds, reached: BTreeSet::new(), worked_ms: 0, segment_at: Some(now), last_fact_at: now }
    }

    pub(super) const fn bounds(&self) -> &Bounds {
        &self.bounds
    }

    pub(super) const fn reached(&self) -> &BTreeSet<String> {
        &self.reached
    }

    fn reach(&mut self, bound: &str) {
        self.reached.insert(bound.to_owned());
    }

    pub(super) const fn fact_followed(&mut self, at: Timestamp) {
        self.last_fact_at = at;
    }

    /// Ends the current segment of work.
    pub(super) fn pause(&mut self, at: Timestamp) {
        if let Some(begun) = self.segment_at.take() {
            self.worked_ms += at.millis_since(begun);
        }
    }

    /// Begins a segment of work, and replaces the bounds if new ones are given. A segment that a crash left open ends
    /// at the time of the last fact.
    pub(super) fn resume(&mut self, now: Timestamp, bounds: Option<&Bounds>) {
        self.pause(self.last_fact_at);
        self.segment_at = Some(now);
        if let Some(bounds) = bounds {
            self.bounds = bounds.clone();
        }
    }

    /// Returns the time at which the allowed seconds will be used up.
    pub(super) fn deadline(&self) -> Option<Timestamp> {
        let allowed = self.bounds.max_seconds?.saturating_mul(1_000);
        Some(self.segment_at?.plus_millis(allowed.saturating_sub(self.worked_ms)))
    }

    /// Returns the seconds that are left, if they are bounded.
    pub(super) fn seconds_left(&self, now: Timestamp) -> Option<u64> {
        Some(self.deadline()?.millis_since(now) / 1_000)
    }

    /// Returns the shortage if the time is used up.
    fn time_shortage(&self, now: Timestamp) -> Option<Shortage> {
        let allowed = self.bounds.max_seconds.filter(|_| self.deadline().is_some_and(|deadline| deadline <= now))?;
        Some(("time", message!("limit-seconds", number = allowed)))
    }

    /// Returns the shortage if the bound allows no further actor.
    fn actor_shortage(&self, actors: u32) -> Option<Shortage> {
        let most = self.bounds.max_actors;
        (actors >= most).then(|| ("actors", message!("limit-actors", number = actors, limit = most)))
    }

    /// Returns the shortage if the bound allows no further tool call.
    fn call_shortage(&self, calls: u64) -> Option<Shortage> {
        let most = self.bounds.max_tool_calls;
        (calls >= most).then(|| ("tool_calls", message!("limit-calls-made", number = calls, limit = most)))
    }

    /// Returns the shortage if actors have made more tool calls than the bound allows.
    fn call_excess(&self, calls: u64) -> Option<Shortage> {
        let most = self.bounds.max_tool_calls;
        (calls > most).then(|| ("tool_calls", message!("limit-calls", number = most)))
    }
}

/// Returns the name of a bound.
fn bound_name(bound: &str) -> Message {
    match bound {
        "tokens" => message!("bound-tokens"),
        "money" => message!("bound-money"),
        "time" => message!("bound-time"),
        "tool_calls" => message!("bound-tool-calls"),
        "actors" => message!("bound-actors"),
        other => Message::text(other),
    }
}

/// Returns the step that makes room under a bound.
fn next_step(bound: &str, run: Option<RunId>) -> NextStep {
    if bound == "quota" { NextStep::AwaitQuota { run } } else { NextStep::RaiseBound { bound: bound.to_owned(), run } }
}

impl RunMachine {
    /// Returns the bounds in force.
    #[must_use]
    pub const fn bounds(&self) -> &Bounds {
        self.budgets.bounds()
    }

    /// Returns the names of the bounds that were reached so far.
    #[must_use]
    pub const fn bounds_reached(&self) -> &BTreeSet<String> {
        self.budgets.reached()
    }

    /// Returns the number of actors that have reported: one for each execution of a task that has an actor, and one for
    /// each delegation. An attempt that resumes a stopped actor does not count again.
    #[must_use]
    pub fn actors(&self) -> u32 {
        self.executions.actors()
    }

    /// Returns the number of actors that have reported or have a journal. An actor has a journal and no report if the
    /// process died before the run took its first report. `streams` are the names of all journals of the run.
    pub(crate) fn actors_begun(&self, streams: &[String]) -> u32 {
        self.executions.actors_with_journals(streams)
    }

    /// Returns each task that has begun and is not settled, with its execution.
    pub fn executions_under_way(&self) -> impl Iterator<Item = (&TaskId, u32)> {
        self.executions.under_way(self.state.get())
    }

    /// Returns the number of reports that the run has taken from the actor with this journal.
    #[must_use]
    pub fn reports_of(&self, actor: &str) -> u64 {
        self.executions.reports_of(actor)
    }

    /// Returns the shortage if a bound forbids another attempt at a task of this kind.
    pub(super) fn shortage(&self, task: &TaskId, kind: TaskKind) -> Option<Shortage> {
        // The exact count of attempts in progress is needed only near the bound.
        let at_most = u32::try_from(self.effects.tasks()).unwrap_or(u32::MAX).saturating_add(self.actors());
        let needs_actor = kind == TaskKind::Actor && self.budgets.actor_shortage(at_most).is_some() && !self.executions.has_reported(task);
        let actors = needs_actor.then(|| self.actors_to_come());
        actors.and_then(|actors| self.budgets.actor_shortage(actors)).or_else(|| self.budgets.call_shortage(self.state.tool_calls))
    }

    /// Returns the number of actors, including those that have not reported yet.
    fn actors_to_come(&self) -> u32 {
        let silent = self.effects.attempts().filter(|(task, _)| {
            let is_actor = self.state.tasks.get(*task).is_some_and(|known| known.spec.kind == TaskKind::Actor);
            is_actor && !self.executions.has_reported(task)
        });
        self.actors().saturating_add(u32::try_from(silent.count()).unwrap_or(u32::MAX))
    }

    /// Leaves the run if its actors have made more tool calls than are allowed. Returns whether it does.
    pub(super) fn stop_at_call_excess(&mut self, out: &mut Out) -> bool {
        let Some((bound, detail)) = self.budgets.call_excess(self.state.tool_calls) else { return false };
        self.bound_reached(bound, detail, out);
        true
    }

    /// Leaves the run if its time is used up. Returns whether it does.
    pub(super) fn stop_at_deadline(&mut self, out: &mut Out) -> bool {
        let Some((bound, detail)) = self.budgets.time_shortage(self.now) else { return false };
        self.bound_reached(bound, detail, out);
        true
    }

    /// Leaves the run because of a bound. The user can resume it with a higher one.
    pub(super) fn bound_reached(&mut self, bound: &str, detail: Message, out: &mut Out) {
        if !self.stopping.supersede() {
            return;
        }
        self.budgets.reach(bound);
        self.emit(ProgressEvent::BoundReached { bound: bound.to_owned(), detail: detail.clone() }, out);
        let next = Some(next_step(bound, self.resumable()));
        let output = self.failed(FailureCode::BoundReached, message!("bound-reached", bound = bound_name(bound), reason = detail), next);
        self.suspend(output, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1_000)
    }

    fn budgets(change: impl FnOnce(&mut Bounds)) -> Budgets {
        let mut bounds = Bounds::default();
        change(&mut bounds);
        Budgets::new(bounds, at(0))
    }

    #[test]
    fn only_work_counts_against_the_time() {
        let mut budgets = budgets(|bounds| bounds.max_seconds = Some(10));
        assert_eq!(budgets.deadline(), Some(at(10)));
        budgets.pause(at(4));
        assert_eq!((budgets.deadline(), budgets.time_shortage(at(90))), (None, None));
        budgets.resume(at(100), None);
        assert_eq!(budgets.deadline(), Some(at(106)));
        let shortage = |now| budgets.time_shortage(at(now)).map(|(bound, detail)| format!("{bound}: {detail}"));
        assert_eq!((shortage(105), shortage(106).as_deref()), (None, Some("time: 10 seconds were allowed")));
    }

    #[test]
    fn after_a_crash_the_last_fact_ends_the_work() {
        let mut budgets = budgets(|bounds| bounds.max_seconds = Some(10));
        budgets.fact_followed(at(3));
        budgets.resume(at(100), None);
        assert_eq!(budgets.deadline(), Some(at(107)));
        budgets.resume(at(200), Some(&Bounds { max_seconds: None, ..Bounds::default() }));
        assert_eq!(budgets.deadline(), None);
    }

    #[test]
    fn counts_are_held_against_their_bounds() {
        let budgets = budgets(|bounds| (bounds.max_actors, bounds.max_tool_calls) = (2, 3));
        let cases = [
            (budgets.actor_shortage(1), None),
            (budgets.actor_shortage(2), Some(("actors", "2 of 2 actors were used"))),
            (budgets.call_shortage(2), None),
            (budgets.call_shortage(3), Some(("tool_calls", "3 of 3 tool calls were made"))),
            (budgets.call_excess(3), None),
            (budgets.call_excess(4), Some(("tool_calls", "3 tool calls were allowed"))),
        ];
        for (found, expected) in cases {
            assert_eq!(
                found.map(|(bound, detail)| (bound, detail.to_string())),
                expected.map(|(bound, detail)| (bound, detail.to_owned()))
            );
        }
    }

    #[test]
    fn bounds_are_raised_and_quotas_awaited() {
        let run = || Some(RunId::new("r").unwrap());
        let cases = [
            ("tokens", run(), "raise the bound on tokens, then resume the run"),
            ("time", None, "raise the bound on time, then plan again"),
            ("quota", run(), "wait until then and resume the run, or name a fallback model"),
            ("quota", None, "wait until then and plan again, or name a fallback model"),
        ];
        for (bound, run, expected) in cases {
            assert_eq!(next_step(bound, run).to_string(), expected);
        }
    }
}
