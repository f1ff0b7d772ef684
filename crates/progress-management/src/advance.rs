//! Moving a state on, for those who keep it themselves: make an event and take it in, in one step.

use crate::{
    Conclusion, Decision, FailureCause, FoldError, Outcome, PlanPatch, ProgressEvent, ProgressState, StatusChange, TaskId, TaskStatus,
    Timestamp, TriggerReason, lowering,
};

impl StatusChange {
    /// A task goes to another status.
    #[must_use]
    pub const fn new(task: TaskId, to: TaskStatus) -> Self {
        Self { task, to, for_good: false, reason: None }
    }

    /// A task has failed and will not be tried again.
    #[must_use]
    pub fn failed_for_good(task: TaskId, reason: impl Into<String>) -> Self {
        Self { task, to: TaskStatus::Failed, for_good: true, reason: Some(reason.into()) }
    }
}

impl Conclusion {
    /// An attempt that ended so, and of which there is no more to say.
    #[must_use]
    pub fn new(outcome: Outcome, summary: impl Into<String>) -> Self {
        Self {
            outcome,
            summary: summary.into(),
            text: None,
            result: serde_json::Value::Null,
            references: Vec::new(),
            observed: None,
            error: None,
            cause: None,
            origins: Vec::new(),
        }
    }

    /// An attempt that came to nothing, for this reason.
    #[must_use]
    pub fn without_result(outcome: Outcome, error: impl Into<String>, cause: Option<FailureCause>) -> Self {
        let error = error.into();
        Self { error: Some(error.clone()), cause, ..Self::new(outcome, error) }
    }

    /// The work was done.
    #[must_use]
    pub fn success(summary: impl Into<String>) -> Self {
        Self::new(Outcome::Success, summary)
    }

    /// It was not.
    #[must_use]
    pub fn failure(error: impl Into<String>) -> Self {
        Self { error: Some(error.into()), ..Self::new(Outcome::Failure, "") }
    }
}

impl Decision {
    /// The next decision of a run in this state: it uses the evidence that its triggers name, and says what becomes of what failed.
    #[must_use]
    pub fn next(state: &ProgressState, at: Timestamp, triggers: Vec<TriggerReason>, patch: PlanPatch) -> Self {
        let evidence = triggers.iter().flat_map(|reason| reason.evidence.iter().cloned()).collect();
        let lowered = lowering(state, &patch).unwrap_or_default();
        Self { version: state.version.saturating_add(1), at, triggers, patch, evidence, lowered }
    }
}

impl ProgressState {
    /// Changes one status: makes its event and takes it in.
    ///
    /// # Errors
    /// [`FoldError`] where the task is unknown or the transition illegal; the state is then as it was.
    pub fn advance(&mut self, at: Timestamp, change: &StatusChange) -> Result<ProgressEvent, FoldError> {
        let event = self.status_event(change)?;
        self.apply(at, &event)?;
        Ok(event)
    }

    /// Takes in everything that follows from the graph alone ([`next_changes`](Self::next_changes)), until nothing is left, and gives
    /// the events in order.
    ///
    /// # Errors
    /// [`FoldError`] for a state that did not come from its events.
    pub fn settle_all(&mut self, at: Timestamp) -> Result<Vec<ProgressEvent>, FoldError> {
        let mut events = Vec::new();
        loop {
            let changes = self.next_changes();
            if changes.is_empty() {
                return Ok(events);
            }
            for change in &changes {
                events.push(self.advance(at, change)?);
            }
        }
    }
}
