//! Replanning: triggers, frequency control, decision.

use aime_messages::{Message, message};
use aime_progress_management::{
    Decision, Evidence, EvidenceId, EvidenceKind, PlanChange, PlanMode, PlanPatch, ProgressEvent, RunStatus, Significance, StatusChange,
    TaskId, TaskStatus, TriggerKind, TriggerReason, is_replan,
};
use aime_replan_triggers::{FrequencyDecision, TokenBudget, evaluate_with};

use super::{FailureCode, Out, RunMachine, growing::is_update};
use crate::{fact::Replanning, run_context::words_of_cancels};

/// Failed criteria rank above possible obstacles and below certain ones.
const CRITERIA_PRIORITY: u8 = 85;
/// Messages of a person rank above every trigger.
pub(super) const PERSON_PRIORITY: u8 = 100;

impl RunMachine {
    /// Returns true if a model can change this plan at all.
    pub(super) fn can_replan(&self) -> bool {
        // A direct plan stays a single task, until a person continues the run.
        let may_grow = self.state.mode != Some(PlanMode::Direct) || self.people.has_follow_ups();
        self.input.can_plan && may_grow && self.stopping.given_up().is_none() && !self.stopping.is_ended()
    }

    pub(super) fn replanning(&self) -> bool {
        self.replans.is_deciding() || self.effects.replans()
    }

    /// Returns true if no task runs and no model is asked: all open effects are questions and timers.
    pub(super) fn idle(&self) -> bool {
        self.effects.only_waits()
    }

    /// Returns the reasons for a replan that have not been dealt with.
    pub(super) fn reasons(&mut self) -> Vec<TriggerReason> {
        let budget = self.bounds().max_tokens.map(|limit| TokenBudget { limit, used: self.tokens() });
        let (trigger_index, state) = self.state.trigger_index();
        let mut reasons = evaluate_with(state, trigger_index, self.now, budget, &self.input.settings.triggers);
        // The worker of a task whose criteria are being checked has nothing to do.
        for stall in reasons.iter_mut().filter(|reason| reason.kind == TriggerKind::Stalled) {
            stall.tasks.retain(|task| !self.executions.is_checking(task));
        }
        reasons.retain(|reason| reason.kind != TriggerKind::Stalled || !reason.tasks.is_empty());
        if let Some(detail) = self.criteria.failure() {
            reasons.push(TriggerReason {
                kind: TriggerKind::CriteriaFailed,
                priority: CRITERIA_PRIORITY,
                detail,
                tasks: Vec::new(),
                evidence: Vec::new(),
            });
        }
        // User input without a task is a message to the run itself. It is processed regardless of the frequency
        // control.
        let is_message = |evidence: &&Evidence| evidence.kind == EvidenceKind::UserInput && evidence.task.is_none();
        let messages: Vec<&Evidence> = trigger_index.unused(state, Significance::High).into_iter().filter(is_message).collect();
        if !messages.is_empty() {
            // The same words are no evidence that the plan is in trouble.
            let is_among = |id: &EvidenceId| messages.iter().any(|evidence| evidence.id == *id);
            reasons.retain(|reason| reason.kind != TriggerKind::Evidence || !reason.evidence.iter().all(is_among));
            let words: Vec<&str> = messages.iter().map(|evidence| evidence.content.as_str()).collect();
            reasons.push(TriggerReason {
                kind: TriggerKind::Person,
                priority: PERSON_PRIORITY,
                detail: message!("trigger-person", text = words.join("; ")),
                tasks: Vec::new(),
                evidence: messages.iter().map(|evidence| evidence.id.clone()).collect(),
            });
        }
        if self.is_emergent() {
            // The plan's updates deal with failures and with the tasks that they block.
            reasons.retain(|reason| !matches!(reason.kind, TriggerKind::TaskFailed | TriggerKind::Blocked));
        }
        reasons.retain(|reason| !self.replans.is_handled(&self.key(reason)));
        reasons
    }

    /// Returns the key of a reason. The same trouble has the same key; another failure of the same task has a new one.
    fn key(&self, reason: &TriggerReason) -> String {
        // Evidence stays the same, no matter how often the task that reported it is attempted.
        let of_evidence = matches!(reason.kind, TriggerKind::Evidence | TriggerKind::Person);
        let tasks = reason.tasks.iter().filter(|_| !of_evidence);
        let tasks: Vec<String> = tasks.map(|id| format!("{id}:{}", self.state.tasks.get(id).map_or(0, |task| task.attempts))).collect();
        let evidence: Vec<&str> = reason.evidence.iter().map(EvidenceId::as_str).collect();
        let since = match reason.kind {
            TriggerKind::Stalled => self.state.last_progress_at.as_millis(),
            TriggerKind::CriteriaFailed => i64::from(self.state.version),
            _ => 0,
        };
        format!("{:?} {} {} {since}", reason.kind, tasks.join(","), evidence.join(","))
    }

    /// Evaluates the triggers and requests a patch when one is wanted and allowed.
    pub(super) fn consider(&mut self, out: &mut Out) {
        if self.stopping.is_suspending() || self.replanning() || self.escalated() {
            return;
        }
        // Searching for reasons visits the whole plan, so it happens only if a reason could have an effect.
        let reasons = if self.can_replan() { self.reasons() } else { Vec::new() };
        if reasons.is_empty() {
            self.replans.nothing_waits();
            return;
        }
        match aime_replan_triggers::decide_replan(&reasons, self.replans.history(), self.now, self.idle(), &self.input.settings.frequency) {
            FrequencyDecision::Allow => self.ask_patch("patch", reasons, out),
            FrequencyDecision::Wait { reason, .. } => self.announce(&reasons, &reason, out),
            FrequencyDecision::Escalate { reason } => {
                self.announce(&reasons, &reason, out);
                self.escalate(&reasons, &reason, out);
            }
        }
    }

    /// Reports that a replan is not allowed now, once for the same reasons.
    fn announce(&mut self, reasons: &[TriggerReason], why: &Message, out: &mut Out) {
        let keys = reasons.iter().map(|reason| self.key(reason)).collect();
        if self.replans.announce(keys) {
            self.emit(ProgressEvent::ReplanSuppressed { reason: why.clone(), triggers: reasons.to_vec() }, out);
        }
    }

    pub(super) fn ask_patch(&mut self, purpose: &str, reasons: Vec<TriggerReason>, out: &mut Out) {
        self.emit(ProgressEvent::TriggersFired { reasons: reasons.clone() }, out);
        self.set_status(RunStatus::Replanning, None, out);
        self.emit(ProgressEvent::PlanningStarted { purpose: purpose.to_owned() }, out);
        self.wake_for(reasons, out);
    }

    /// Marks reasons as dealt with, so that they cause no further replan.
    pub(super) fn handle(&mut self, reasons: &[TriggerReason]) {
        let keys = reasons.iter().map(|reason| self.key(reason)).collect();
        self.replans.handle(keys);
    }

    pub(super) fn replanned(&mut self, outcome: &Replanning, reasons: Vec<TriggerReason>, out: &mut Out) {
        match outcome {
            Replanning::Patched { patch, refused } if is_update(&reasons) && patch.changes.is_empty() => {
                self.report_refused(refused, out);
                let why = message!("plan-stays", reason = patch.reasoning);
                self.set_status(RunStatus::Executing, Some(&why), out);
                self.dismiss(reasons.iter().flat_map(|reason| reason.evidence.clone()).collect(), why, out);
                self.advance(out);
            }
            Replanning::Patched { patch, refused } => {
                self.count_replan(&reasons);
                self.report_refused(refused, out);
                self.plan_was_changed();
                // The planner has also seen the evidence that was left open.
                let mut decision = Decision::next(&self.state, self.now, reasons, patch.clone());
                let still_open = |id: &&EvidenceId| self.state.evidence.iter().any(|known| known.id == **id && !known.processed);
                let left_open = self.replans.take_left_open();
                let more: Vec<_> = left_open.iter().filter(still_open).filter(|id| !decision.evidence.contains(id)).cloned().collect();
                decision.evidence.extend(more);
                self.stop_cancelled(&decision.patch, out);
                self.replans.propose(decision);
                self.decide_if_ready(out);
            }
            Replanning::NoPatch { message, refused } => {
                self.count_replan(&reasons);
                self.report_refused(refused, out);
                self.handle(&reasons);
                let why = message!("no-patch", reason = message);
                self.set_status(RunStatus::Executing, Some(&why), out);
                let looked_at = reasons.iter().flat_map(|reason| reason.evidence.iter().cloned());
                let (open, minor): (Vec<_>, Vec<_>) = looked_at.partition(|id| self.asks_for_a_replan(id));
                self.replans.leave_open(open);
                self.dismiss(minor, why, out);
                self.advance(out);
            }
            Replanning::ModelFailed { message, hint } => {
                if is_update(&reasons) {
                    self.replans.growth_mut().lost();
                }
                let output = self.failed(FailureCode::ModelUnavailable, message.clone(), self.repair_model(hint.clone()));
                self.suspend(output, out);
            }
        }
    }

    pub(super) fn count_replan(&mut self, reasons: &[TriggerReason]) {
        if is_replan(reasons) {
            self.replans.count(self.now);
        }
    }

    /// Applies the decision once the actors that it cancels have stopped.
    pub(super) fn decide_if_ready(&mut self, out: &mut Out) {
        if self.replans.is_deciding() && self.cancellations.wait_for(&self.effects) {
            return;
        }
        if let Some(decision) = self.replans.take_decision() {
            self.cancellations.decided(&decision.patch);
            self.apply_decision(decision, out);
            self.carry_out_requests(out);
            self.carry_out_shelved(out);
        }
        self.advance(out);
    }

    /// Gives a run whose plan was a single task the mode of a plan before it gets more tasks.
    fn outgrow_direct(&mut self, patch: &PlanPatch, out: &mut Out) {
        let adds = |change: &PlanChange| matches!(change, PlanChange::AddTask { .. } | PlanChange::MergeTasks { .. });
        if self.state.mode == Some(PlanMode::Direct) && patch.changes.iter().any(adds) {
            let (category, reasons) = (self.state.category.clone(), vec![message!("route-grew")]);
            let by = if self.is_led() { "lead" } else { "model" }.to_owned();
            self.emit(ProgressEvent::Routed { mode: PlanMode::Complex, by, score: None, category, reasons }, out);
        }
    }

    pub(super) fn apply_decision(&mut self, mut decision: Decision, out: &mut Out) {
        let cancelled = self.cancellations.take_stopping();
        if self.state.check_patch(&decision.patch).is_err() {
            // Tasks may have settled while the actors stopped. The changes that still fit are kept.
            let known = decision.dropped.len();
            decision.rebase(&self.state);
            if self.is_led() {
                self.lead.drop_changes(decision.dropped.get(known..).unwrap_or_default());
            }
        }
        match self.state.check_patch(&decision.patch) {
            Ok(()) => {
                self.set_status(RunStatus::Executing, None, out);
                self.handle(&decision.triggers);
                if self.is_led() {
                    // The changes of one wake, and their corrections, count as one replan.
                    self.count_replan(&decision.triggers);
                }
                self.criteria.plan_changed();
                self.outgrow_direct(&decision.patch, out);
                self.emit(ProgressEvent::PlanChanged { decision: decision.clone() }, out);
                self.people.add_run_messages(words_of_cancels(&decision, &self.working()));
                self.doubt_calls_of_settled(out);
            }
            Err(faults) => {
                // The evidence was not used, so it asks for the next replan.
                if is_update(&decision.triggers) {
                    self.replans.growth_mut().lost();
                }
                if let (Some(TriggerKind::Person), [PlanChange::CancelTask { id, .. }]) =
                    (decision.triggers.first().map(|trigger| trigger.kind), decision.patch.changes.as_slice())
                {
                    self.refuse_cancel(id, &faults, out);
                }
                let why = message!("plan-moved-on", faults = Message::list("; ", &faults.messages()));
                if self.is_led() {
                    self.lead.refuse(why.clone());
                    self.lead.keep_cause(decision.triggers.clone());
                }
                self.set_status(RunStatus::Executing, Some(&why), out);
            }
        }
        for (task, begun) in cancelled {
            if self.state.tasks.get(&task).is_some_and(|known| known.status == TaskStatus::Running) {
                self.cut_off(&task, begun.as_ref(), out);
            }
        }
    }

    /// Returns true if evidence asks for a replan by itself. Evidence from which no usable patch resulted does not: it
    /// stays open for the next replan and for the readers of the result.
    fn asks_for_a_replan(&self, id: &EvidenceId) -> bool {
        let asks = |evidence: &Evidence| {
            evidence.kind == EvidenceKind::UserInput || evidence.significance >= self.input.settings.triggers.evidence_significance
        };
        self.state.evidence.iter().find(|evidence| evidence.id == *id).is_some_and(asks)
    }

    /// Marks evidence that changes nothing as processed, so that it causes no further replan.
    fn dismiss(&mut self, evidence: Vec<EvidenceId>, why: Message, out: &mut Out) {
        if !evidence.is_empty() {
            self.emit(ProgressEvent::EvidenceProcessed { evidence, reason: why }, out);
        }
    }

    /// Gives up tasks that no replan has saved: skips tasks that will stay blocked, and fails groups that cannot
    /// complete.
    pub(super) fn give_up_blocked(&mut self, out: &mut Out) -> bool {
        let mut given_up = false;
        loop {
            let (schedule_index, state) = self.state.schedule_index();
            let changes = schedule_index.graph().closing_changes(state);
            if changes.is_empty() || self.fault.is_some() {
                return given_up;
            }
            given_up = true;
            let held = |change: &&StatusChange| self.state.tasks.get(&change.task).is_some_and(|task| task.held);
            let held: Vec<TaskId> = changes.iter().filter(held).map(|change| change.task.clone()).collect();
            self.stopping.never_release(held);
            self.make_changes(changes, out);
            self.settle(out);
        }
    }
}
