//! Statistics of planning and of the use of time, counted from the journals of all runs.

use aime_durable::{EventRecord, Journal, Recorded};
use aime_dynamic_planner::PlanningMetrics;
use aime_messages::{Message, message};
use aime_progress_management::{ProgressEvent, RunId, RunStatus, TimeUse, TimeUseCounter, Timestamp};
use serde::Deserialize;

use crate::{OrchestratorError, RunFact, RunInput, view_from_facts};

/// Number of events per read.
const PAGE: usize = 1_000;

/// Statistics of all runs of a journal.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunStats {
    /// Number of runs.
    pub runs: u64,
    /// Planning metrics.
    pub metrics: PlanningMetrics,
    /// Time and tokens, by what used them.
    pub time: TimeUse,
    /// Events and runs that could not be read and are not counted.
    pub not_counted: Vec<Message>,
}

/// Counts the statistics of all runs in the journal. Blocks while it reads.
///
/// - A requested plan counts once it was made or has finally failed: as made, unless it is a fallback. Its time is that
///   from the request to the plan. A reused or handed-over plan was not requested; a request that reached no model does
///   not count yet.
/// - A plan counts as executed when its run has ended for good, and as successful if that run reached its goal.
/// - Facts that a fork copied from another run count for that run only.
///
/// With `only`, it counts that run alone.
///
/// # Errors
///
/// Errors of the journal.
pub fn stats(journal: &Journal, only: Option<&RunId>) -> Result<RunStats, OrchestratorError> {
    let mut stats = RunStats::default();
    for run in journal.runs()?.into_iter().filter(|run| only.is_none_or(|only| only.as_str() == run.id)) {
        stats.runs += 1;
        let mut counted = RunCounters::new(Timestamp::from_millis(run.created_at));
        let mut next = 1;
        loop {
            let events = journal.events(&run.id, next, PAGE)?;
            let Some(last) = events.last() else { break };
            next = last.seq + 1;
            for event in &events {
                if let Err(error) = counted.record(event) {
                    stats.not_counted.push(message!("stats-event", seq = event.seq, run = run.id, reason = error));
                }
            }
        }
        counted.add_to(&mut stats);
    }
    Ok(stats)
}

impl RunStats {
    /// Adds a run, given its input and the facts it has journaled since, from any storage.
    pub fn count(&mut self, input: Recorded<RunInput>, facts: &[Recorded<RunFact>]) {
        self.runs += 1;
        // A fork begins after the facts that it copied.
        let forked = facts.iter().rfind(|fact| matches!(fact.fact, RunFact::Forked {}));
        let mut counted = RunCounters::new(Timestamp::from_millis(forked.map_or(input.at, |fork| fork.at.saturating_add(1))));
        for published in view_from_facts(input, facts).events {
            counted.observe(published.at, &published.event);
        }
        counted.add_to(self);
    }
}

/// Types of the events that matter here; the others are not read.
const COUNTED: [&str; 14] = [
    "planning_started",
    "plan_reused",
    "plan_created",
    "run_status_changed",
    "answered",
    "run_started",
    "model_called",
    "tool_call_finished",
    "criterion_checked",
    "question_asked",
    "question_answered",
    "run_resumed",
    "run_continued",
    "changes_merged",
];

#[derive(Deserialize)]
struct Type {
    #[serde(rename = "type")]
    name: String,
}

/// Counters of a single run.
struct RunCounters {
    began: Timestamp,
    metrics: PlanningMetrics,
    time: TimeUseCounter,
    asked_at: Option<Timestamp>,
    has_plan: bool,
    status: RunStatus,
    answered: bool,
}

impl RunCounters {
    fn new(began: Timestamp) -> Self {
        Self {
            began,
            metrics: PlanningMetrics::default(),
            time: TimeUseCounter::default(),
            asked_at: None,
            has_plan: false,
            status: RunStatus::Planning,
            answered: false,
        }
    }

    fn record(&mut self, record: &EventRecord) -> Result<(), serde_json::Error> {
        let Type { name } = serde_json::from_str(&record.body)?;
        if COUNTED.contains(&name.as_str()) {
            self.observe(Timestamp::from_millis(record.at), &serde_json::from_str(&record.body)?);
        }
        Ok(())
    }

    fn observe(&mut self, at: Timestamp, event: &ProgressEvent) {
        if at >= self.began {
            self.time.record(at, event);
        }
        match event {
            ProgressEvent::PlanningStarted { purpose } if ["plan", "lead"].contains(&purpose.as_str()) => self.asked_at = Some(at),
            ProgressEvent::PlanReused { .. } => {
                self.asked_at = None;
                if at >= self.began {
                    self.metrics.reused();
                }
            }
            ProgressEvent::PlanCreated { fallback, .. } => {
                self.has_plan = true;
                self.planned(at, fallback.is_none());
            }
            ProgressEvent::RunStatusChanged { to, .. } => self.status = *to,
            ProgressEvent::RunContinued { .. } => self.answered = false,
            ProgressEvent::Answered { .. } => {
                self.answered = at >= self.began;
                self.planned(at, false);
            }
            _ => {}
        }
    }

    fn planned(&mut self, at: Timestamp, as_asked: bool) {
        if let Some(asked_at) = self.asked_at.take().filter(|_| at >= self.began) {
            self.metrics.planned(as_asked, at.millis_since(asked_at));
        }
    }

    fn add_to(mut self, stats: &mut RunStats) {
        if self.answered && self.has_plan {
            self.metrics.executed(self.status == RunStatus::Completed);
        }
        stats.metrics.add(&self.metrics);
        stats.time.add(&self.time.finish());
    }
}

#[cfg(test)]
mod tests;
