//! The run machine: from facts to progress events and effects. Pure: time comes with each fact.

mod amending;
mod budgets;
mod cancelling;
mod claims;
mod criteria;
mod dispatch;
mod effects;
mod ending;
pub(crate) mod executions;
mod following_up;
mod growing;
pub(crate) mod lead;
mod needs;
mod origins;
mod output;
pub(crate) mod people;
mod planning;
mod questions;
mod remembering;
mod replan_state;
mod replanning;
mod state;
mod stopping;
mod tasks;
mod timer;

use std::sync::Arc;

use aime_durable::{EffectId, Machine, Outbox, Reason, UnixMillis};
use aime_messages::Message;
use aime_progress_management::{FoldError, ModelCost, Origin, ProgressEvent, ProgressState, RunId, RunStatus, TaskId, Timestamp};
use aime_tools::ToolSpec;
use serde::{Deserialize, Serialize};

use self::{
    budgets::Budgets,
    cancelling::Cancellations,
    criteria::CriteriaState,
    effects::{EffectPurpose, OpenEffects},
    executions::Executions,
    lead::LeadState,
    people::People,
    remembering::MemoryState,
    replan_state::ReplanState,
    state::TrackedState,
    stopping::StopState,
};
use crate::{CriterionResult, NextStep, RunEffect, RunFact, RunInput, fact::ModelUse};

pub use self::output::{FailureCode, RunFailure, RunOutput};
pub use self::questions::withdrawal;

/// The phase of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Phase {
    Recalling,
    Routing,
    Planning,
    Executing,
    Verifying,
    Answering,
    Over,
}

/// One run, from goal to answer. Each part of its state is a type that owns its rules; the methods of the machine turn facts into their changes,
/// events and effects.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RunMachine {
    input: RunInput,
    phase: Phase,
    /// The time of the present fact.
    now: Timestamp,
    state: TrackedState,
    effects: OpenEffects,
    executions: Executions,
    budgets: Budgets,
    people: People,
    replans: ReplanState,
    lead: LeadState,
    cancellations: Cancellations,
    criteria: CriteriaState,
    stopping: StopState,
    memory: MemoryState,
    /// Untrusted sources of the texts that the plan may have been made from.
    plan_origins: Vec<Origin>,
    /// A fault of the machine, which ends the run.
    fault: Option<String>,
}

type Out = Outbox<RunMachine>;

impl Machine for RunMachine {
    const VERSION: u32 = 1;
    // `again` is not needed: the first fact is `Resumed` or `CancelRequested`, and both revoke every open effect.
    const SNAPSHOT: Option<u32> = Some(14);
    type Input = RunInput;
    type Fact = RunFact;
    type Effect = RunEffect;
    type Event = ProgressEvent;
    type Output = RunOutput;

    fn start(at: UnixMillis, input: &RunInput, out: &mut Out) -> Self {
        let now = Timestamp::from_millis(at);
        let mut run = Self {
            state: TrackedState::new(ProgressState::new(input.plan_id.clone(), input.goal.clone(), now)),
            input: input.clone(),
            phase: Phase::Routing,
            now,
            effects: OpenEffects::default(),
            executions: Executions::default(),
            budgets: Budgets::new(input.settings.bounds.clone(), now),
            people: People::default(),
            replans: ReplanState::default(),
            lead: LeadState::default(),
            cancellations: Cancellations::default(),
            criteria: CriteriaState::default(),
            stopping: StopState::default(),
            memory: MemoryState::default(),
            plan_origins: Vec::new(),
            fault: None,
        };
        run.continue_conversation();
        out.emit(input.started());
        run.begin(out);
        run.watch_time(out);
        if run.effects.is_empty() {
            // A plan can end before anything has started, for example when every task is refused. Then the fact of the
            // timer brings the output.
            run.set_timer(now, out);
        }
        run
    }

    fn apply(&mut self, at: UnixMillis, fact: &RunFact, out: &mut Out) -> Option<RunOutput> {
        self.budgets.fact_followed(self.now);
        self.now = Timestamp::from_millis(at);
        let purpose = Self::answers(fact).and_then(|id| self.effects.remove(id));
        self.dispatch(fact, purpose, out);
        self.watch_time(out);
        if let Some(fault) = self.fault.take() {
            return Some(self.failed(FailureCode::Internal, fault.into(), Some(NextStep::Report {})));
        }
        self.finish_suspending(out)
    }

    fn answers(fact: &RunFact) -> Option<&EffectId> {
        match fact {
            RunFact::Recalled { id, .. }
            | RunFact::Remembered { id, .. }
            | RunFact::Routed { id, .. }
            | RunFact::Planned { id, .. }
            | RunFact::Replanned { id, .. }
            | RunFact::LeadRested { id, .. }
            | RunFact::TaskEnded { id, .. }
            | RunFact::Verified { id, .. }
            | RunFact::AnswerWritten { id, .. }
            | RunFact::Answered { id, .. }
            | RunFact::Deferred { id }
            | RunFact::TimerFired { id }
            | RunFact::Revoked { id, .. }
            | RunFact::EffectFailed { id, .. } => Some(id),
            RunFact::ActorReported { .. }
            | RunFact::LeadReported { .. }
            | RunFact::ActorReports { .. }
            | RunFact::ActorAsked { .. }
            | RunFact::TaskClaimed { .. }
            | RunFact::ToolCalled { .. }
            | RunFact::ToolAskedModel { .. }
            | RunFact::PersonAnswered { .. }
            | RunFact::PersonSaid { .. }
            | RunFact::BoundReached { .. }
            | RunFact::HookActed { .. }
            | RunFact::UndoLost { .. }
            | RunFact::FolderAwaited { .. }
            | RunFact::CheckStarted { .. }
            | RunFact::ChangesMerged { .. }
            | RunFact::FileChanged { .. }
            | RunFact::CriterionTried { .. }
            | RunFact::StopRequested { .. }
            | RunFact::CancelRequested { .. }
            | RunFact::Forked {}
            | RunFact::Resumed { .. }
            | RunFact::Continued { .. } => None,
        }
    }

    fn revoked(id: &EffectId, why: &Reason) -> RunFact {
        RunFact::Revoked { id: id.clone(), why: why.clone() }
    }

    fn kind(effect: &RunEffect) -> &'static str {
        effect.kind()
    }

    fn is_repeatable(effect: &RunEffect) -> bool {
        matches!(effect, RunEffect::CallTool { read_only: true, .. } | RunEffect::Timer { .. })
    }
}

impl RunMachine {
    /// Returns the progress state.
    #[must_use]
    pub const fn state(&self) -> &ProgressState {
        self.state.get()
    }

    /// Returns whether the run has ended for good and cannot be resumed.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    fn tool_spec(&self, tool: &str) -> Option<&Arc<ToolSpec>> {
        self.input.tools.iter().find(|spec| spec.name() == tool)
    }

    /// Applies an event to the state and emits it. An event that does not fit is a bug of this machine.
    fn emit(&mut self, event: ProgressEvent, out: &mut Out) {
        if self.fault.is_some() {
            return;
        }
        match self.state.apply(self.now, &event) {
            Ok(()) => out.emit(event),
            Err(error) => self.fail_on_invalid_event(&error),
        }
    }

    /// Ends the run because an event does not fit its state.
    fn fail_on_invalid_event(&mut self, error: &FoldError) {
        self.fault = Some(format!("an event did not fit the state of the run: {error}"));
    }

    /// Issues an effect and keeps its purpose.
    fn issue(&mut self, id: String, effect: RunEffect, purpose: EffectPurpose, out: &mut Out) {
        let id = EffectId::new(id);
        self.effects.insert(id.clone(), purpose);
        out.issue(id, effect);
    }

    fn record_calls(&mut self, calls: &[ModelUse], out: &mut Out) {
        self.record_calls_of(None, calls, out);
    }

    fn record_calls_of(&mut self, task: Option<&TaskId>, calls: &[ModelUse], out: &mut Out) {
        for call in calls {
            let ModelUse { purpose, model, effort, spent, duration_ms, finish } = call.clone();
            let task = task.cloned();
            self.emit(ProgressEvent::ModelCalled { task, purpose, model, effort, spent, duration_ms, text: String::new(), finish }, out);
        }
    }

    /// Reports the verdict on each criterion.
    fn report_checks(&mut self, task: Option<&TaskId>, checks: &[CriterionResult], out: &mut Out) {
        for CriterionResult { criterion, owner, of_plan, executable: _, how, passed, reason, changes, duration_ms } in
            checks.iter().cloned()
        {
            let task = task.filter(|_| !of_plan).cloned();
            self.emit(ProgressEvent::CriterionChecked { task, criterion, owner, how, passed, reason, changes, duration_ms }, out);
        }
    }

    fn set_status(&mut self, to: RunStatus, reason: Option<&Message>, out: &mut Out) {
        let from = self.state.status;
        if from != to {
            self.emit(ProgressEvent::RunStatusChanged { from, to, reason: reason.cloned() }, out);
        }
    }

    fn failed(&self, code: FailureCode, message: Message, next: Option<NextStep>) -> RunOutput {
        RunOutput { status: RunStatus::Failed, error: Some(RunFailure::new(code, message, next)) }
    }

    /// Returns the run if it can be resumed. Without a run the goal is planned again.
    fn resumable(&self) -> Option<RunId> {
        (!self.input.plan_only).then(|| self.input.run.clone())
    }

    /// Returns the tokens that all model calls have used.
    fn tokens(&self) -> u64 {
        let ModelCost { input_tokens, output_tokens, .. } = self.state.get().spent;
        input_tokens + output_tokens
    }
}

#[cfg(test)]
pub(crate) mod tests;
