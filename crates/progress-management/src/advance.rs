//! Advances a state without a journal: creates an event and applies it in one step.

use aime_messages::Message;

use crate::{
    Conclusion, Decision, FailureCause, FoldError, Outcome, PlanPatch, ProgressEvent, ProgressState, RebasedPatch, StatusChange, Task,
    TaskId, TaskStatus, Timestamp, TriggerReason, handled_failures,
};

impl StatusChange {
    /// Returns a change of a task to another status.
    #[must_use]
    pub const fn new(task: TaskId, to: TaskStatus) -> Self {
        Self { task, to, for_good: false, reason: None }
    }

    /// Returns the failure for good of a task, which is not retried.
    #[must_use]
    pub fn failed_for_good(task: TaskId, reason: impl Into<Message>) -> Self {
        Self { task, to: TaskStatus::Failed, for_good: true, reason: Some(reason.into()) }
    }
}

/// The next step of a task after a failed attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterFailure {
    /// The task is retried.
    Retry,
    /// The task has failed for good.
    ForGood,
}

impl Task {
    /// Returns the consequence of one more failure if the task may be retried `max_retries` times.
    #[must_use]
    pub const fn after_failure(&self, max_retries: u32) -> AfterFailure {
        if self.failures < max_retries { AfterFailure::Retry } else { AfterFailure::ForGood }
    }
}

impl Conclusion {
    /// Returns the conclusion of an attempt with this outcome and nothing else to report.
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
            hint: None,
            cause: None,
            checks: Vec::new(),
            needs: None,
            origins: Vec::new(),
            unmerged: None,
        }
    }

    /// Returns the conclusion of an attempt without a result, for this reason.
    #[must_use]
    pub fn without_result(outcome: Outcome, error: impl Into<Message>, cause: Option<FailureCause>) -> Self {
        let error = error.into();
        Self { cause, ..Self::new(outcome, error.to_string()).with_error(error) }
    }

    /// Returns a success.
    #[must_use]
    pub fn success(summary: impl Into<String>) -> Self {
        Self::new(Outcome::Success, summary)
    }

    /// Returns a failure.
    #[must_use]
    pub fn failure(error: impl Into<Message>) -> Self {
        Self::new(Outcome::Failure, "").with_error(error.into())
    }

    fn with_error(self, error: Message) -> Self {
        Self { error: Some(error), ..self }
    }

    /// Returns the error, or else the summary.
    #[must_use]
    pub fn explanation(&self) -> Message {
        self.error.clone().unwrap_or_else(|| Message::text(&self.summary))
    }
}

impl Decision {
    /// Returns the next decision of a run in this state. It uses the evidence that its triggers name, drops the changes
    /// that do not fit, and records how it deals with each failed task.
    #[must_use]
    pub fn next(state: &ProgressState, at: Timestamp, triggers: Vec<TriggerReason>, patch: PlanPatch) -> Self {
        let evidence = triggers.iter().flat_map(|reason| reason.evidence.iter().cloned()).collect();
        let mut decision =
            Self { version: state.version.saturating_add(1), at, triggers, patch, evidence, lowered: Vec::new(), dropped: Vec::new() };
        decision.rebase(state);
        decision
    }

    /// Drops the changes that do not fit this state. A patch without any fitting change is left unchanged.
    pub fn rebase(&mut self, state: &ProgressState) {
        if let Ok(RebasedPatch { patch, dropped }) = state.rebase(&self.patch) {
            self.patch = patch;
            self.dropped.extend(dropped);
        }
        self.lowered = handled_failures(state, &self.patch).unwrap_or_default();
    }
}

impl ProgressState {
    /// Changes one status: creates its event and applies it.
    ///
    /// # Errors
    ///
    /// [`FoldError`] if the task is unknown or the transition illegal; the state is then unchanged.
    pub fn advance(&mut self, at: Timestamp, change: &StatusChange) -> Result<ProgressEvent, FoldError> {
        let event = self.status_event(change)?;
        self.apply(at, &event)?;
        Ok(event)
    }

    /// Ends a failed attempt at a running task. Returns the consequence for the task, and the events in order. A task
    /// that may be retried becomes pending again.
    ///
    /// # Errors
    ///
    /// [`FoldError`] if the task is unknown or does not run; the state is then unchanged.
    pub fn fail(
        &mut self,
        at: Timestamp,
        task: &TaskId,
        conclusion: Conclusion,
        max_retries: u32,
    ) -> Result<(AfterFailure, Vec<ProgressEvent>), FoldError> {
        let known = self.tasks.get(task).ok_or_else(|| FoldError::UnknownTask { task: task.clone() })?;
        let after =
            if conclusion.cause.is_some_and(FailureCause::is_final) { AfterFailure::ForGood } else { known.after_failure(max_retries) };
        let error = conclusion.explanation();
        let failed = StatusChange { for_good: after == AfterFailure::ForGood, ..StatusChange::failed_for_good(task.clone(), error) };
        let failed = self.status_event(&failed)?;
        let mut events = vec![ProgressEvent::TaskConcluded { task: task.clone(), conclusion }, failed];
        for event in &events {
            self.apply(at, event)?;
        }
        if after == AfterFailure::Retry {
            events.push(self.advance(at, &StatusChange::new(task.clone(), TaskStatus::Pending))?);
        }
        Ok((after, events))
    }

    /// Applies all changes that follow from the graph alone ([`next_changes`](Self::next_changes)) until none is left,
    /// and returns the events in order.
    ///
    /// # Errors
    ///
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
