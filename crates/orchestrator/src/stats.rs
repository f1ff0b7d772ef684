//! How planning goes, counted from the journals of all runs.

use aime_durable::{EventRecord, Journal, Recorded};
use aime_planner::PlanningMetrics;
use aime_progress::{ProgressEvent, RunStatus, Timestamp};
use serde::Deserialize;

use crate::{OrchestratorError, RunFact, RunInput, view_of};

/// How many events are read at once.
const PAGE: usize = 1_000;

/// What is counted over all runs of a journal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunStats {
    /// The runs.
    pub runs: u64,
    /// How planning goes.
    pub metrics: PlanningMetrics,
    /// What could not be read and is not counted.
    pub left_out: Vec<String>,
}

/// Counts what the journals of all runs tell. Blocks while it reads.
///
/// - A plan that was asked for counts once there is one, or once it is known that there will be none: as made, unless it was a fallback. It took the time from the question
///   to the plan. A plan that was used again, or handed over, was not asked for; one that no model could be reached for does not count yet.
/// - A plan counts as carried out when its run has ended for good, and as successful when that run reached its goal.
/// - What a fork took over from another run is that run's.
///
/// # Errors
/// Those of the journal.
pub fn stats(journal: &Journal) -> Result<RunStats, OrchestratorError> {
    let mut stats = RunStats::default();
    for run in journal.runs()? {
        stats.runs += 1;
        let mut counted = Counted::new(Timestamp::from_millis(run.created_at));
        let mut next = 1;
        loop {
            let events = journal.events(&run.id, next, PAGE)?;
            let Some(last) = events.last() else { break };
            next = last.seq + 1;
            for event in &events {
                if let Err(error) = counted.record(event) {
                    stats.left_out.push(format!("event {} of run {}: {error}", event.seq, run.id));
                }
            }
        }
        counted.add_to(&mut stats.metrics);
    }
    Ok(stats)
}

impl RunStats {
    /// Counts one more run by what it started from and has learnt since, wherever that is kept.
    pub fn count(&mut self, input: Recorded<RunInput>, facts: &[Recorded<RunFact>]) {
        self.runs += 1;
        // A fork began after what it took over.
        let forked = facts.iter().rfind(|fact| matches!(fact.fact, RunFact::Forked {}));
        let mut counted = Counted::new(Timestamp::from_millis(forked.map_or(input.at, |fork| fork.at.saturating_add(1))));
        for published in view_of(input, facts).events {
            counted.take(published.at, &published.event);
        }
        counted.add_to(&mut self.metrics);
    }
}

/// The types of events that say something here; the others are not read.
const TOLD: [&str; 6] = ["planning_started", "plan_reused", "plan_created", "run_status_changed", "answered", "run_started"];

#[derive(Deserialize)]
struct Type {
    #[serde(rename = "type")]
    name: String,
}

/// What the events of one run tell.
struct Counted {
    began: Timestamp,
    metrics: PlanningMetrics,
    asked_at: Option<Timestamp>,
    has_plan: bool,
    status: RunStatus,
    answered: bool,
}

impl Counted {
    fn new(began: Timestamp) -> Self {
        Self { began, metrics: PlanningMetrics::default(), asked_at: None, has_plan: false, status: RunStatus::Planning, answered: false }
    }

    fn record(&mut self, record: &EventRecord) -> Result<(), serde_json::Error> {
        let Type { name } = serde_json::from_str(&record.body)?;
        if TOLD.contains(&name.as_str()) {
            self.take(Timestamp::from_millis(record.at), &serde_json::from_str(&record.body)?);
        }
        Ok(())
    }

    fn take(&mut self, at: Timestamp, event: &ProgressEvent) {
        match event {
            ProgressEvent::PlanningStarted { purpose } if purpose == "plan" => self.asked_at = Some(at),
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
            ProgressEvent::Answered { .. } => {
                self.answered = true;
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

    fn add_to(mut self, metrics: &mut PlanningMetrics) {
        if self.answered && self.has_plan {
            self.metrics.executed(self.status == RunStatus::Completed);
        }
        metrics.add(&self.metrics);
    }
}

#[cfg(test)]
mod tests;
