//! The lead: conditions for its wakes, and the information that it has received.

mod commands;
mod own_work;
mod reviewing;

#[cfg(test)]
pub(super) use self::commands::changes_of;
pub(crate) use self::commands::{lead_words_id, may_end_after};

use std::collections::{BTreeMap, BTreeSet};

use aime_actor_factory::{LEAD_PREFIX, LeadRest, effect_prefix};
use aime_durable::Reason;
use aime_dynamic_planner::{BudgetLeft, LeadMemory, UnsolicitedMessage, Wake, WakeKind, kept_words};
use aime_messages::{Message, message};
use aime_progress_management::{
    Conclusion, Decision, DroppedChange, EvidenceId, FailureCause, Outcome, PlanMode, ProgressEvent, RunStatus, Task, TaskId, TaskKind,
    TaskStatus, TriggerKind, TriggerReason, is_replan,
};
use serde::{Deserialize, Serialize};

use self::{
    commands::{changes_nothing, handled_by},
    own_work::faults,
};
use super::{
    FailureCode, Out, Phase, RunMachine,
    effects::EffectPurpose,
    tasks::{about_no_task, task_of_report},
};
use crate::{CriterionResult, LeadWakeOrder, RunEffect, RunOutput};

/// The task that is the lead's own work.
pub(crate) const MAIN: &str = aime_progress_management::Plan::DIRECT_TASK;
/// The execution number of that task: all of the lead's conversation is one execution.
pub(crate) const MAIN_EXECUTION: u32 = 1;

/// Maximum number of times that the lead is asked for the answer of one version of the plan.
const MAX_ASKED: u32 = 3;
/// Maximum number of wakes for the answer or for refused commands between two attempts at tasks. A lead that changes nothing would
/// be woken for ever.
const MAX_IDLE: u32 = 12;

/// The priority of the reason that nothing can start.
const BLOCKED_PRIORITY: u8 = 70;

/// The wakes of the lead so far, and the information that it has received.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct LeadState {
    /// The number of the last wake that the lead answered.
    answered: u32,
    /// The wake that has no answer yet.
    open: Option<Wake>,
    /// The status and attempts of each task when the lead was last shown its end.
    shown: BTreeMap<TaskId, (TaskStatus, u32)>,
    /// The evidence that the lead was shown.
    known: BTreeSet<EvidenceId>,
    /// The messages of people that the wakes contained.
    told: BTreeSet<EvidenceId>,
    /// The reasons of the last wake for which no change was made yet. A correction of a refused change has the same
    /// reasons.
    #[serde(default)]
    cause: Vec<TriggerReason>,
    /// True if the lead was told how a plan is changed.
    #[serde(default)]
    guided: bool,
    /// Changes of the lead that did not fit. The next wake reports them.
    dropped: Vec<DroppedChange>,
    /// The accepted change of the lead that waited for actors to stop when the run was stopped.
    #[serde(default)]
    shelved: Option<Box<Decision>>,
    /// Commands of the lead that could not be carried out. The next wake reports them.
    refused: Vec<String>,
    /// The tasks that the lead holds, while their actors stop.
    holding: BTreeSet<TaskId>,
    /// True if the lead wants to leave its held tasks held.
    leaves_held: bool,
    /// Number of wakes for the answer, with the version of the plan that they were for.
    asked_for_answer: (u32, u32),
    /// Number of attempts at tasks, and of the wakes since the last one.
    #[serde(default)]
    idle: (u64, u32),
    /// The conclusion with which the lead has ended the run.
    ending: Option<Conclusion>,
    /// True if the lead ended the run with success while no task was open: it has done the work of the tasks that it removed.
    #[serde(default)]
    did_the_rest: bool,
    /// True if the task `main` is the lead's own work. A plan may have a task of this name, too.
    #[serde(default)]
    owns_main: bool,
    /// True if the lead makes no plan or fails to use its tools correctly, so that rules plan the run.
    gave_up: bool,
}

impl LeadState {
    pub(super) const fn is_awake(&self) -> bool {
        self.open.is_some()
    }

    pub(super) fn refuse(&mut self, why: impl Into<String>) {
        self.refused.push(why.into());
    }

    pub(super) fn drop_changes(&mut self, dropped: &[DroppedChange]) {
        self.dropped.extend_from_slice(dropped);
    }

    pub(super) fn forget_shelved(&mut self) {
        self.shelved = None;
    }

    /// Returns whether the lead still has to be told of a command that was not carried out.
    fn must_answer(&self) -> bool {
        !self.dropped.is_empty() || !self.refused.is_empty()
    }

    /// Removes the earlier end of the run.
    pub(super) fn reopen(&mut self) {
        (self.ending, self.did_the_rest, self.asked_for_answer) = (None, false, (0, 0));
    }

    /// Keeps the reasons of a change that could not be made, for its correction.
    pub(super) fn keep_cause(&mut self, cause: Vec<TriggerReason>) {
        if is_replan(&cause) {
            self.cause = cause;
        }
    }

    fn hold(&mut self, task: TaskId) {
        self.holding.insert(task);
    }

    fn is_holding(&self, task: &TaskId) -> bool {
        self.holding.contains(task)
    }

    /// Ends the wait for the actor of a task that the lead holds. Returns whether the run waited for it.
    pub(super) fn stop_holding(&mut self, task: &TaskId) -> bool {
        self.holding.remove(task)
    }
}

impl RunMachine {
    /// Returns whether one conversation leads the run.
    pub(crate) fn is_led(&self) -> bool {
        self.input.lead.is_some() && !self.lead.gave_up
    }

    /// Returns whether the task is the lead's own work. Without such a task the lead speaks in its name, too.
    pub(super) fn is_main(&self, task: &TaskId) -> bool {
        self.input.lead.is_some() && task.as_str() == MAIN && (self.lead.owns_main || !self.state.tasks.contains_key(task))
    }

    /// Returns whether the lead works on the goal itself.
    pub(super) fn works_itself(&self) -> bool {
        self.lead.owns_main && self.state.tasks.get(MAIN).is_some_and(|task| task.status == TaskStatus::Running)
    }

    /// Starts the conversation, or wakes a lead again that was stopped before it had a plan.
    pub(super) fn begin_lead(&mut self, out: &mut Out) {
        self.phase = Phase::Planning;
        self.emit(ProgressEvent::PlanningStarted { purpose: "lead".to_owned() }, out);
        self.wake_lead(WakeKind::Begin, Vec::new(), out);
    }

    /// Wakes the lead because of these reasons.
    pub(super) fn wake_for(&mut self, reasons: Vec<TriggerReason>, out: &mut Out) {
        let all = |kind| !reasons.is_empty() && reasons.iter().all(|reason: &TriggerReason| reason.kind == kind);
        let kind = match () {
            () if all(TriggerKind::Update) => WakeKind::Update,
            () if reasons.iter().any(|reason| reason.kind == TriggerKind::Person) => WakeKind::Person,
            () => WakeKind::Trouble,
        };
        self.wake_lead(kind, reasons, out);
    }

    /// Wakes the lead because all progress has stopped while it holds tasks, unless the lead wants that. Returns
    /// whether it does.
    pub(super) fn wake_for_held(&mut self, out: &mut Out) -> bool {
        let holds = self.state.tasks.values().any(|task| task.held && task.status == TaskStatus::Blocked);
        let due = self.is_led() && holds && !self.lead.leaves_held && !self.stopping.is_ended();
        if due {
            self.wake_lead(WakeKind::NothingReady, Vec::new(), out);
        }
        due
    }

    /// Wakes the lead because every task is settled: it writes the answer, or continues. Returns whether it does.
    pub(super) fn wake_for_answer(&mut self, out: &mut Out) -> bool {
        let (version, asked) = self.lead.asked_for_answer;
        let asked = if version == self.state.version { asked + 1 } else { 1 };
        self.lead.asked_for_answer = (self.state.version, asked);
        let due = asked <= MAX_ASKED && !self.is_idle();
        if due {
            self.wake_lead(WakeKind::Done, Vec::new(), out);
        }
        due
    }

    /// Returns true if the plan has tool tasks only, and all of them are completed.
    fn is_done_by_tools(&self) -> bool {
        let by_tool = |task: &Task| task.spec.kind != TaskKind::Actor && task.status == TaskStatus::Completed;
        !self.state.tasks.is_empty() && self.state.tasks.values().all(by_tool)
    }

    /// Counts a wake. Returns whether there were too many since the last attempt at a task.
    fn is_idle(&mut self) -> bool {
        let attempts = self.state.tasks.values().map(|task| u64::from(task.attempts)).sum();
        let (before, wakes) = self.lead.idle;
        self.lead.idle = (attempts, if before == attempts { wakes + 1 } else { 1 });
        self.lead.idle.1 > MAX_IDLE
    }

    /// Wakes the lead at once if a command of it was not carried out. Returns whether it does.
    pub(super) fn wake_for_refusals(&mut self, out: &mut Out) -> bool {
        let due = self.is_led() && self.lead.must_answer() && !self.replanning() && !self.stopping.is_suspending() && self.fault.is_none();
        // The next wake of another kind reports what was refused.
        let due = due && !self.is_idle();
        if due {
            self.wake_lead(WakeKind::Refused, Vec::new(), out);
        }
        due
    }

    /// Wakes the lead before the run ends if a person said something to the run that no actor has read and no wake has contained. Returns whether
    /// it does.
    pub(super) fn wake_for_untold_words(&mut self, out: &mut Out) -> bool {
        let is_untold = |words: &UnsolicitedMessage| words.task.is_none() && !self.lead.told.contains(&words.id);
        let due = self.is_led() && self.stopping.given_up().is_none() && self.unhandled_words().iter().any(is_untold);
        if due {
            if self.is_done_by_lead() || self.lead.ending.as_ref().is_some_and(|ending| ending.outcome == Outcome::Success) {
                self.process_told_words(out);
            }
            self.lead.reopen();
            self.stopping.take_back_end();
            self.wake_lead(WakeKind::Person, Vec::new(), out);
        }
        due
    }

    /// Marks the messages that the lead was told as processed, because its result is accepted.
    pub(super) fn process_told_words(&mut self, out: &mut Out) {
        let told = self.lead.told.iter().cloned().collect();
        self.process(told, message!("words-done"), out);
    }

    /// Wakes a lead again that was stopped in the middle of a wake.
    pub(super) fn wake_again(&mut self, out: &mut Out) {
        self.wake_lead(WakeKind::NothingReady, Vec::new(), out);
    }

    /// Wakes a lead that left its own work open, or that a person lets go on with it.
    pub(super) fn wake_for_own_work(&mut self, out: &mut Out) {
        let kind = if self.unhandled_words().is_empty() { WakeKind::NothingReady } else { WakeKind::Person };
        self.wake_lead(kind, Vec::new(), out);
    }

    /// Returns whether the lead did all the work itself, so that its conclusion is the answer.
    pub(super) fn is_done_by_lead(&self) -> bool {
        self.state.tasks.values().all(|task| self.is_main(&task.spec.id))
    }

    /// Returns whether the lead has done the work of the tasks that it removed.
    pub(super) const fn has_lead_done_the_rest(&self) -> bool {
        self.lead.did_the_rest
    }

    /// Wakes the lead. Without a lead that leads the run, each wake is fresh: the answer is a plan or a patch.
    pub(super) fn wake_lead(&mut self, kind: WakeKind, reasons: Vec<TriggerReason>, out: &mut Out) {
        if self.effects.replans() {
            return;
        }
        let wake = if self.is_led() {
            // An interrupted wake is repeated unchanged.
            let wake = self.lead.open.clone().unwrap_or_else(|| self.new_wake(kind, reasons));
            self.lead.open = Some(wake.clone());
            wake
        } else {
            let (words, left) = (self.unhandled_words(), self.budget_left());
            Wake { words, left, ..Wake::fresh(1, kind, reasons, &self.state) }
        };
        let name = match (wake.memory, kind) {
            (LeadMemory::Kept, _) => "lead",
            (LeadMemory::Fresh, WakeKind::Begin) => "plan",
            (LeadMemory::Fresh, WakeKind::Update) => "update",
            (LeadMemory::Fresh, _) => "replan",
        };
        let (reasons, is_kept) = (wake.reasons.clone(), wake.memory == LeadMemory::Kept);
        let order = LeadWakeOrder {
            works: self.works_itself(),
            kept: if is_kept { kept_words(&self.state, &wake.words) } else { String::new() },
            wake,
            state: Box::new(self.state.get().clone()),
            known: self.memory.text(),
            origins: self.origins_of_plans(),
        };
        let id = self.effects.next_id(name);
        self.issue(id, RunEffect::Lead { order: Box::new(order) }, EffectPurpose::Lead(reasons), out);
    }

    fn new_wake(&mut self, kind: WakeKind, reasons: Vec<TriggerReason>) -> Wake {
        let ended = |task: &&Task| {
            let at = (task.status, task.attempts);
            // The lead knows what it has done itself.
            let is_own = self.is_main(&task.spec.id) && task.status == TaskStatus::Completed;
            Wake::reports(task) && !is_own && self.lead.shown.get(&task.spec.id) != Some(&at)
        };
        let settled = self.state.tasks.values().filter(ended).map(|task| task.spec.id.clone()).collect();
        // The lead knows its own messages, and the words of people to the run come apart until it has read them.
        let own: BTreeSet<&EvidenceId> =
            self.person_messages().iter().filter(|message| message.by_lead || message.task.is_none()).map(|message| &message.id).collect();
        let is_new = |id: &EvidenceId| !self.lead.known.contains(id) && !own.contains(id);
        let evidence = self.state.evidence.iter().map(|evidence| evidence.id.clone()).filter(is_new).collect();
        let is_over = kind == WakeKind::Done && reasons.is_empty() && !self.is_emergent();
        Wake {
            reasons,
            settled,
            evidence,
            words: self.unhandled_words(),
            dropped: std::mem::take(&mut self.lead.dropped),
            refused: std::mem::take(&mut self.lead.refused),
            left: self.budget_left(),
            may_write: self.input.lead.is_some_and(|lead| !lead.must_plan) && self.input.comments.is_none() && self.effects.tasks() == 0,
            // A plan that is over is not changed, unless it grows or something of it failed.
            guide: !self.lead.guided && !self.is_done_by_lead() && !is_over,
            ..Wake::new(self.lead.answered + 1, kind)
        }
    }

    /// Returns the messages of people that no change of the plan has dealt with.
    fn unhandled_words(&self) -> Vec<UnsolicitedMessage> {
        let open = |id: &EvidenceId| self.state.evidence.iter().any(|evidence| evidence.id == *id && !evidence.processed);
        let messages = self.person_messages().iter().filter(|message| !message.by_lead && open(&message.id));
        messages
            .map(|message| UnsolicitedMessage { id: message.id.clone(), task: message.task.clone(), text: message.text.clone() })
            .collect()
    }

    fn budget_left(&self) -> BudgetLeft {
        let bounds = self.bounds();
        let spent = &self.state.spent;
        BudgetLeft {
            tokens: bounds.max_tokens.map(|most| most.saturating_sub(self.tokens())),
            cost_usd: bounds.max_cost_usd.map(|most| (most - spent.cost_usd).max(0.0)),
            seconds: self.budgets.seconds_left(self.now),
        }
    }

    /// Takes in the commands of the lead.
    pub(super) fn lead_rested(&mut self, rest: &LeadRest, category: &str, checks: &[CriterionResult], out: &mut Out) {
        self.take_rest(rest, category, checks, out);
        if self.input.plan_only && self.state.version > 0 {
            self.end_review(out);
        }
    }

    fn take_rest(&mut self, rest: &LeadRest, category: &str, checks: &[CriterionResult], out: &mut Out) {
        let Some(wake) = self.lead.open.take() else { return };
        self.lead.answered = wake.number;
        self.lead.guided |= wake.guide;
        self.lead.known.extend(wake.evidence.iter().cloned());
        self.lead.told.extend(wake.words.iter().map(|words| words.id.clone()));
        if wake.kind != WakeKind::Refused {
            self.lead.cause.clone_from(&wake.reasons);
        }
        if wake.kind == WakeKind::NothingReady && !self.works_itself() {
            self.lead.cause.push(TriggerReason::new(TriggerKind::Blocked, BLOCKED_PRIORITY, message!("trigger-nothing-ready")));
        }
        for task in &wake.settled {
            let Some(known) = self.state.tasks.get(task) else { continue };
            self.lead.shown.insert(task.clone(), (known.status, known.attempts));
        }
        self.lead.leaves_held = wake.kind == WakeKind::NothingReady && rest.commands.is_empty();
        self.plan_was_changed();
        self.lead_has_read(&rest.origins);
        self.withdraw_need_of_lead(out);
        if rest.gave_up {
            return self.lead_gave_up(out);
        }
        match &rest.conclusion {
            Some(conclusion) if rest.commands.iter().all(changes_nothing) => {
                // A suspended run wakes the lead for them again when it is resumed.
                if !self.must_wait_for_model(conclusion) {
                    self.handle(&wake.reasons);
                }
                self.process(handled_by(&rest.commands), message!("plan-unchanged"), out);
                if !self.lead_waits_for_need(conclusion, category, out) {
                    self.lead_concluded(conclusion, category, checks, out);
                }
            }
            // A statement on its own work ends that work.
            None if rest.commands.is_empty() && self.works_itself() => {
                self.lead_concluded(&Conclusion::new(Outcome::Success, rest.answer.clone()), category, checks, out);
            }
            _ if rest.commands.is_empty() => self.record_lead_message(&wake, &rest.answer, out),
            _ => self.carry_out(&wake, rest, category, checks, out),
        }
    }

    /// Returns whether the run has to wait until its lead can use a model. A plan of tool tasks needs no model, so its results answer the goal,
    /// unless a criterion failed.
    fn must_wait_for_model(&self, conclusion: &Conclusion) -> bool {
        let is_done = || self.is_done_by_tools() && self.undone().is_none() && self.criteria.failure().is_none();
        conclusion.cause == Some(FailureCause::Model) && !is_done()
    }

    /// Handles a conclusion of the lead, which ends the run or the lead's own work.
    fn lead_concluded(&mut self, conclusion: &Conclusion, category: &str, checks: &[CriterionResult], out: &mut Out) {
        if conclusion.cause == Some(FailureCause::Model) {
            if !self.must_wait_for_model(conclusion) {
                if !self.must_verify() {
                    return self.answered(None, out);
                }
                self.set_status(RunStatus::Executing, None, out);
                return self.advance(out);
            }
            let message = conclusion.error.clone().unwrap_or_default();
            self.lead_stopped(out);
            let output = self.failed(FailureCode::ModelUnavailable, message, self.repair_model(conclusion.hint.clone()));
            return self.suspend(output, out);
        }
        if self.input.plan_only && self.state.version > 0 {
            return self.keep_plan(conclusion.text(), out);
        }
        let must_plan = self.state.version == 0 && self.input.lead.is_some_and(|lead| lead.must_plan);
        if must_plan && conclusion.cause == Some(FailureCause::Steps) {
            return self.lead_gave_up(out);
        }
        if self.input.plan_only {
            let message = message!("lead-no-plan", text = conclusion.text());
            return self.finish(self.failed(FailureCode::GoalNotReached, message, None), None, out);
        }
        if self.state.version == 0 {
            self.begin_main("the lead worked on the goal itself", category, out);
        }
        if self.return_result_of_lead(conclusion, checks, out) {
            return;
        }
        if self.works_itself() {
            return self.task_ended(&main_id(), conclusion, (checks, &[]), 0, out);
        }
        if conclusion.outcome == Outcome::Success && self.refuses_early_end(out) {
            return;
        }
        self.report_checks(None, checks, out);
        let faults = faults(checks);
        let failed = || Conclusion::failure(format!("checks of the lead do not hold: {}", faults.join("; ")));
        self.lead.ending = Some(if faults.is_empty() { conclusion.clone() } else { failed() });
        let succeeds = self.lead.ending.as_ref().is_some_and(|ending| ending.outcome == Outcome::Success);
        if !succeeds {
            self.withdraw_amendments(out);
        }
        // After a first end no task is open, and a lead that must plan cannot work.
        let can_work = self.input.lead.is_some_and(|lead| !lead.must_plan) && !self.stopping.is_ended();
        if succeeds && can_work && !self.has_open_tasks() {
            self.lead.did_the_rest = true;
        }
        // Running tasks stop first.
        self.stopping.end_by_lead();
        self.effects.attempts().for_each(|(_, effect)| out.revoke(effect.clone(), Reason::Cancelled));
        self.set_status(RunStatus::Executing, None, out);
        self.advance(out);
    }

    /// Refuses an end of the run with success while tasks run or the lead holds some. Returns whether it does.
    fn refuses_early_end(&mut self, out: &mut Out) -> bool {
        let is_work = |task: &&Task| task.spec.kind != TaskKind::Group;
        let named = |is_meant: fn(&Task) -> bool| {
            let meant = self.state.tasks.values().filter(is_work).filter(|task| is_meant(task));
            meant.map(|task| format!("`{}`", task.spec.id)).collect::<Vec<_>>().join(", ")
        };
        let (running, held) = (named(|task| task.status == TaskStatus::Running), named(|task| task.held && !task.status.is_settled()));
        if running.is_empty() && held.is_empty() {
            return false;
        }
        let waiting = named(|task| task.status.is_open() && task.status != TaskStatus::Running && !task.held);
        let parts = [("running", running), ("held by you", held), ("waiting", waiting)];
        let parts = parts.iter().filter(|(_, tasks)| !tasks.is_empty()).map(|(what, tasks)| format!("{what}: {tasks}"));
        self.lead.refuse(format!(
            "the run was not ended, because tasks are open ({}). Wait for results, release what you hold, and cancel or remove what is not needed",
            parts.collect::<Vec<_>>().join("; ")
        ));
        self.set_status(RunStatus::Executing, None, out);
        self.advance(out);
        true
    }

    /// Ends the run with the lead's conclusion. Returns whether it does.
    pub(super) fn end_as_the_lead_says(&mut self, out: &mut Out) -> bool {
        let Some(ending) = self.lead.ending.clone() else { return false };
        let text = ending.text().to_owned();
        if ending.outcome != Outcome::Success {
            let message = ending.explanation();
            self.finish(self.failed(FailureCode::GoalNotReached, message, None), Some(text), out);
        } else if let Some(failure) = self.undone() {
            self.finish(RunOutput { status: RunStatus::Failed, error: Some(failure) }, Some(text), out);
        } else if !self.verify(out) {
            match self.criteria.failure() {
                Some(message) if self.return_end_to_lead(&message, out) => {}
                Some(message) => self.finish(self.failed(FailureCode::GoalNotReached, message, None), Some(text), out),
                None => self.answered(Some(text), out),
            }
        }
        true
    }

    /// Handles the stop of the lead: its own work waits until it is resumed.
    pub(super) fn lead_stopped(&mut self, out: &mut Out) {
        if self.works_itself() {
            self.set_task(&main_id(), TaskStatus::Pending, Some(message!("status-interrupted")), out);
        }
    }

    /// Handles an answer of the lead without commands.
    fn record_lead_message(&mut self, wake: &Wake, text: &str, out: &mut Out) {
        match wake.kind {
            _ if self.state.version == 0 => self.lead_gave_up(out),
            WakeKind::Done => {
                self.lead.ending = Some(Conclusion::new(Outcome::Success, text));
                self.advance(out);
            }
            _ => {
                self.handle(&wake.reasons);
                let why = message!("plan-stays", reason = text);
                self.set_status(RunStatus::Executing, Some(&why), out);
                let words: BTreeSet<&EvidenceId> = wake.words.iter().map(|words| &words.id).collect();
                let looked_at = wake.reasons.iter().flat_map(|reason| reason.evidence.iter());
                let looked_at: Vec<EvidenceId> = looked_at.filter(|id| !words.contains(id)).cloned().collect();
                self.replans.leave_open(looked_at);
                self.advance(out);
            }
        }
    }

    /// Handles a lead that makes no plan, or fails to use its tools correctly: rules plan the rest of the run.
    fn lead_gave_up(&mut self, out: &mut Out) {
        self.lead.gave_up = true;
        self.emit(ProgressEvent::LeadGaveUp {}, out);
        if self.works_itself() {
            let main = main_id();
            let error = "the lead cannot keep to its tools".to_owned();
            self.conclude(&main, &super::tasks::failure(error, None), out);
        }
        if self.state.version == 0 {
            return self.choose_route(out);
        }
        self.set_status(RunStatus::Executing, Some(&message!("lead-rules-plan")), out);
        // At the end of a run, too, the tasks and criteria decide how it ends.
        self.advance(out);
    }

    fn report_lead_route(&mut self, mode: PlanMode, why: &str, category: &str, out: &mut Out) {
        let (by, category, reasons) = ("lead".to_owned(), category.to_owned(), vec![Message::text(why)]);
        self.emit(ProgressEvent::Routed { mode, by, score: None, category, reasons }, out);
    }

    /// Takes in a report of the lead's conversation, or of an actor to which it delegated. It is about the lead's own work,
    /// or about no task.
    pub(super) fn lead_reported(&mut self, call: Option<&str>, number: u64, event: &ProgressEvent, out: &mut Out) -> bool {
        let Some(of) = task_of_report(event).filter(|of| of.is_none_or(|task| task.as_str() == MAIN)) else { return false };
        if self.input.lead.is_none() {
            return false;
        }
        let journal = call.map_or_else(|| LEAD_PREFIX.to_owned(), |call| effect_prefix(&main_id(), MAIN_EXECUTION, Some(call)));
        // The planning before the run reported these.
        if call.is_none() && number < self.input.conversation.map_or(0, |position| position.reports) {
            return false;
        }
        if of.is_some() {
            self.begin_main("the lead works on the goal itself", "", out);
            // This work may change the results of earlier checks.
            self.criteria.plan_changed();
            if !self.lead.owns_main {
                let Some(event) = about_no_task(event.clone()) else { return false };
                return self.apply_actor_event((journal, number), call.is_some(), &event, out);
            }
        }
        self.apply_actor_event((journal, number), call.is_some(), event, out)
    }
}

/// Returns the id of the task that is the lead's own work.
#[must_use]
#[expect(clippy::expect_used, reason = "the constant is a valid id, which every test of the lead shows")]
pub fn main_id() -> TaskId {
    TaskId::new(MAIN).expect("`main` is an id")
}
