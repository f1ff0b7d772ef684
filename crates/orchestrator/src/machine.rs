//! The run machine: from facts to progress events and effects. Pure: time comes with each fact.

mod cancelling;
mod counting;
pub(crate) mod early;
mod ending;
mod growing;
mod open;
mod open_calls;
mod origins;
mod output;
pub(crate) mod people;
mod planning;
mod remembering;
mod replanning;
mod stopping;
mod taking;
mod tasks;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use aime_durable::{EffectId, Machine, Outbox, Reason, UnixMillis};
use aime_planner::Growth;
use aime_progress::{
    Census, Decision, EvidenceId, FoldError, Frontier, Origin, ProgressEvent, ProgressState, QuestionId, RunStatus, Spent, TaskId,
    Timestamp, TriggerReason,
};
use aime_tools::ToolSheet;
use serde::{Deserialize, Serialize};

use self::open::Open;
use crate::{CriterionResult, RunEffect, RunFact, RunInput, fact::ModelUse};

pub use self::output::{FailureCode, RunFailure, RunOutput};

/// Where the machine is on its way.
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

/// What an open effect is for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Work {
    Recall,
    Remember,
    Route,
    Plan,
    Replan(Vec<TriggerReason>),
    Task(TaskId),
    /// A task of a plan that is still being written.
    Early(TaskId),
    Verify,
    Answer,
    Ask(QuestionId),
    Timer(Timestamp),
}

/// One run, from goal to answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RunMachine {
    input: RunInput,
    state: ProgressState,
    phase: Phase,
    now: Timestamp,
    /// The time of the fact before the present one.
    before: Timestamp,
    open: Open,
    /// Numbers effects that are not named by a task.
    counter: u64,
    /// The current execution of each task, from 1; a new one begins after each conclusion.
    executions: BTreeMap<TaskId, u32>,
    /// The next event number expected of each execution.
    reported: BTreeMap<String, u64>,
    /// The calls that were begun and of whose end nobody has told.
    #[serde(default)]
    calls: open_calls::OpenCalls,
    /// What has arrived of the plan that is being written, in the order in which it came.
    #[serde(default)]
    early: Vec<early::Early>,
    /// What people said unasked, in the order in which it came.
    #[serde(default)]
    said: Vec<people::Said>,
    /// The names of the bounds that were reached.
    #[serde(default)]
    bounds_reached: BTreeSet<String>,
    /// What a person was last asked about the call of a tool task.
    approvals: BTreeMap<TaskId, people::Approval>,
    /// Trigger reasons that a replan, its refusal or a person has dealt with.
    handled: BTreeSet<String>,
    /// Evidence that was looked at and stays open, since no usable patch came of that.
    #[serde(default)]
    left_open: BTreeSet<EvidenceId>,
    /// The reasons last told to the user, so that they are told once.
    announced: BTreeSet<String>,
    /// Replans since the last time a person allowed more.
    replans: u32,
    /// When the last replan ended.
    last_replan_at: Option<Timestamp>,
    /// What has happened since the plan was last looked at.
    #[serde(default)]
    growth: Growth,
    /// A decision that waits until the actors it cancels have stopped.
    decision: Option<Decision>,
    /// The running tasks that the decision takes out of the plan, each with the effect that was revoked for it, if it had one.
    cancelling: BTreeMap<TaskId, Option<EffectId>>,
    /// The tasks that a person wants cancelled and of which that is not decided yet, each with the reason.
    #[serde(default)]
    to_cancel: Vec<(TaskId, String)>,
    /// What the run is left with, once everything under way has stopped.
    leaving: Option<RunOutput>,
    /// Criteria that did not hold when they were last looked at.
    unmet: Vec<String>,
    /// Whether the criteria were looked at since the last change of the plan.
    verified: bool,
    /// Why the plan is not changed any more.
    give_up: Option<String>,
    /// Tasks that the plan held back and never released.
    never_released: BTreeSet<TaskId>,
    /// A person ended the run: what is left of it is not begun.
    ended_by_person: bool,
    /// Milliseconds of work before the current segment.
    worked_ms: u64,
    /// When the current segment began; none while the run is left.
    segment_at: Option<Timestamp>,
    bounds: crate::Bounds,
    /// What was recalled, for the prompts.
    #[serde(default)]
    known: String,
    /// Where that comes from.
    #[serde(default)]
    known_origins: Vec<Origin>,
    /// Where the texts come from that the plan may have been made from and that nobody vouches for.
    #[serde(default)]
    plan_origins: Vec<Origin>,
    /// What was told of faults of memory.
    #[serde(default)]
    memory_faults: BTreeSet<String>,
    fault: Option<String>,
    /// What is due in the plan; made again when it is missing.
    #[serde(skip)]
    frontier: Option<Frontier>,
    /// What of the plan the triggers look at; likewise.
    #[serde(skip)]
    census: Option<Census>,
}

type Out = Outbox<RunMachine>;

impl Machine for RunMachine {
    const VERSION: u32 = 1;
    // `again` is not needed: `Resumed` and `CancelRequested`, one of which comes first, revoke all that was under way.
    const SNAPSHOT: Option<u32> = Some(3);
    type Input = RunInput;
    type Fact = RunFact;
    type Effect = RunEffect;
    type Event = ProgressEvent;
    type Output = RunOutput;

    fn start(at: UnixMillis, input: &RunInput, out: &mut Out) -> Self {
        let now = Timestamp::from_millis(at);
        let mut run = Self {
            state: ProgressState::new(input.plan_id.clone(), input.goal.clone(), now),
            input: input.clone(),
            phase: Phase::Routing,
            now,
            before: now,
            open: Open::default(),
            counter: 0,
            executions: BTreeMap::new(),
            reported: BTreeMap::new(),
            calls: open_calls::OpenCalls::default(),
            early: Vec::new(),
            said: Vec::new(),
            bounds_reached: BTreeSet::new(),
            approvals: BTreeMap::new(),
            handled: BTreeSet::new(),
            left_open: BTreeSet::new(),
            announced: BTreeSet::new(),
            replans: 0,
            last_replan_at: None,
            growth: Growth::default(),
            decision: None,
            cancelling: BTreeMap::new(),
            to_cancel: Vec::new(),
            leaving: None,
            unmet: Vec::new(),
            verified: false,
            give_up: None,
            never_released: BTreeSet::new(),
            ended_by_person: false,
            worked_ms: 0,
            segment_at: Some(now),
            bounds: input.settings.bounds.clone(),
            known: String::new(),
            known_origins: Vec::new(),
            plan_origins: Vec::new(),
            memory_faults: BTreeSet::new(),
            fault: None,
            frontier: None,
            census: None,
        };
        out.emit(input.started());
        run.begin(out);
        run.watch_time(out);
        if run.open.is_empty() {
            // A plan can come to its end before anything is begun, as when every task is refused. The output needs a fact to follow.
            run.set_timer(now, out);
        }
        run
    }

    fn apply(&mut self, at: UnixMillis, fact: &RunFact, out: &mut Out) -> Option<RunOutput> {
        self.before = std::mem::replace(&mut self.now, Timestamp::from_millis(at));
        let work = Self::answers(fact).and_then(|id| self.open.remove(id));
        self.take(fact, work, out);
        self.watch_time(out);
        if let Some(fault) = self.fault.take() {
            return Some(self.failed(FailureCode::Internal, fault, Some("this is a fault in aime: please report it".to_owned())));
        }
        self.left(out)
    }

    fn answers(fact: &RunFact) -> Option<&EffectId> {
        match fact {
            RunFact::Recalled { id, .. }
            | RunFact::Remembered { id, .. }
            | RunFact::Routed { id, .. }
            | RunFact::Planned { id, .. }
            | RunFact::Replanned { id, .. }
            | RunFact::TaskEnded { id, .. }
            | RunFact::Verified { id, .. }
            | RunFact::AnswerWritten { id, .. }
            | RunFact::Answered { id, .. }
            | RunFact::Deferred { id }
            | RunFact::TimerFired { id }
            | RunFact::Revoked { id, .. }
            | RunFact::EffectFailed { id, .. } => Some(id),
            RunFact::PlanPart { .. }
            | RunFact::ActorReported { .. }
            | RunFact::ActorsHeard { .. }
            | RunFact::ActorAsked { .. }
            | RunFact::ToolAskedModel { .. }
            | RunFact::PersonAnswered { .. }
            | RunFact::PersonSaid { .. }
            | RunFact::BoundReached { .. }
            | RunFact::HookActed { .. }
            | RunFact::UndoLost { .. }
            | RunFact::FileChanged { .. }
            | RunFact::StopRequested { .. }
            | RunFact::CancelRequested { .. }
            | RunFact::Forked {}
            | RunFact::Resumed { .. } => None,
        }
    }

    fn revoked(id: &EffectId, why: &Reason) -> RunFact {
        RunFact::Revoked { id: id.clone(), why: why.clone() }
    }

    fn is_repeatable(effect: &RunEffect) -> bool {
        matches!(effect, RunEffect::CallTool { read_only: true, .. } | RunEffect::Timer { .. })
    }
}

impl RunMachine {
    /// The run as it stands.
    #[must_use]
    pub const fn state(&self) -> &ProgressState {
        &self.state
    }

    /// Whether it has ended for good and cannot be resumed.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    /// The bounds in force.
    #[must_use]
    pub const fn bounds(&self) -> &crate::Bounds {
        &self.bounds
    }

    /// The names of the bounds that were reached so far.
    #[must_use]
    pub const fn bounds_reached(&self) -> &BTreeSet<String> {
        &self.bounds_reached
    }

    /// What people said unasked so far.
    pub(crate) fn said(&self) -> &[people::Said] {
        &self.said
    }

    /// What a tool says of itself.
    fn sheet(&self, tool: &str) -> Option<&Arc<ToolSheet>> {
        self.input.tools.iter().find(|sheet| sheet.name() == tool)
    }

    /// What is due in the plan as it is now, and the state that it belongs to.
    fn frontier(&mut self) -> (&mut Frontier, &ProgressState) {
        let frontier = self.frontier.get_or_insert_with(|| Frontier::new(&self.state));
        (frontier, &self.state)
    }

    /// What of the plan the triggers look at.
    fn census(&mut self) -> &Census {
        self.census.get_or_insert_with(|| Census::new(&self.state))
    }

    /// Takes an event into the state, and into what is due after it.
    fn take_in(&mut self, event: &ProgressEvent) -> Result<(), FoldError> {
        self.state.apply(self.now, event)?;
        if let Some(census) = &mut self.census {
            census.follow(&self.state, event);
        }
        if self.input.tells_every_end {
            self.calls.follow(event);
        }
        if let Some(frontier) = &mut self.frontier {
            frontier.follow(&self.state, event);
        }
        Ok(())
    }

    /// Records an event: in the state, and for people. An event that the state refuses is a fault of this machine.
    fn emit(&mut self, event: ProgressEvent, out: &mut Out) {
        if self.fault.is_some() {
            return;
        }
        match self.take_in(&event) {
            Ok(()) => out.emit(event),
            Err(error) => self.fault = Some(format!("an event did not fit the state of the run: {error}")),
        }
    }

    /// Issues an effect and remembers what it is for.
    fn issue(&mut self, id: String, effect: RunEffect, work: Work, out: &mut Out) {
        let id = EffectId::new(id);
        self.open.insert(id.clone(), work);
        out.issue(id, effect);
    }

    /// A name for an effect that is not a task's.
    fn next_id(&mut self, what: &str) -> String {
        self.counter += 1;
        format!("{what}/{}", self.counter)
    }

    fn used(&mut self, calls: &[ModelUse], out: &mut Out) {
        self.used_for(None, calls, out);
    }

    fn used_for(&mut self, task: Option<&TaskId>, calls: &[ModelUse], out: &mut Out) {
        for call in calls {
            let ModelUse { purpose, model, spent, duration_ms, finish } = call.clone();
            let task = task.cloned();
            self.emit(ProgressEvent::ModelCalled { task, purpose, model, spent, duration_ms, text: String::new(), finish }, out);
        }
    }

    /// Tells what was found of each criterion, and of which nobody could tell.
    fn tell_checks(&mut self, task: Option<&TaskId>, checks: &[CriterionResult], out: &mut Out) {
        for CriterionResult { criterion, passed, reason } in checks.iter().cloned() {
            self.emit(ProgressEvent::CriterionChecked { task: task.cloned(), criterion, passed, reason }, out);
        }
    }

    fn set_status(&mut self, to: RunStatus, reason: Option<&str>, out: &mut Out) {
        let from = self.state.status;
        if from != to {
            self.emit(ProgressEvent::RunStatusChanged { from, to, reason: reason.map(ToOwned::to_owned) }, out);
        }
    }

    const fn failed(&self, code: FailureCode, message: String, hint: Option<String>) -> RunOutput {
        RunOutput { status: RunStatus::Failed, error: Some(RunFailure { code, message, hint }) }
    }

    /// Tokens spent so far, over all actors.
    fn tokens(&self) -> u64 {
        let Spent { input_tokens, output_tokens, .. } = self.state.spent;
        input_tokens + output_tokens
    }
}

#[cfg(test)]
pub(crate) mod tests;
