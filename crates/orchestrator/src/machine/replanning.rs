//! From trouble to a changed plan: triggers, frequency control, decision.

use aime_durable::Reason;
use aime_progress::{
    Decision, Evidence, EvidenceId, EvidenceKind, PlanChange, PlanMode, PlanPatch, ProgressEvent, RunStatus, Significance, StatusChange,
    Task, TaskId, TaskKind, TaskStatus, Timestamp, TriggerKind, TriggerReason, lowering,
};
use aime_replan_triggers::{ReplanHistory, TokenBudget, Verdict, evaluate_with, next_deadline_with};

use super::{FailureCode, Out, Phase, RunMachine, Work, growing::is_update};
use crate::{RunEffect, fact::Replanning};

/// Criteria that do not hold go before what only may stand in the way, and after what surely does.
const CRITERIA_PRIORITY: u8 = 85;
/// What a person says goes before every trigger.
pub(super) const PERSON_PRIORITY: u8 = 100;

impl RunMachine {
    /// Whether this plan can be changed by a model at all.
    pub(super) fn can_replan(&self) -> bool {
        self.input.can_plan && self.state.mode != Some(PlanMode::Direct) && self.give_up.is_none()
    }

    pub(super) fn replanning(&self) -> bool {
        self.decision.is_some() || self.open.replans()
    }

    /// Nothing runs and nothing is asked of a model: what is open are questions and timers.
    pub(super) fn idle(&self) -> bool {
        self.open.only_waits()
    }

    /// The reasons for a replan that nobody has dealt with yet.
    pub(super) fn reasons(&mut self) -> Vec<TriggerReason> {
        let budget = self.bounds.max_tokens.map(|limit| TokenBudget { limit, used: self.tokens() });
        self.census();
        let Some(census) = &self.census else { return Vec::new() };
        let mut reasons = evaluate_with(&self.state, census, self.now, budget, &self.input.settings.triggers);
        if !self.unmet.is_empty() {
            let detail = format!("success criteria do not hold: {}", self.unmet.join("; "));
            reasons.push(TriggerReason {
                kind: TriggerKind::CriteriaFailed,
                priority: CRITERIA_PRIORITY,
                detail,
                tasks: Vec::new(),
                evidence: Vec::new(),
            });
        }
        // What has no task was said to the run itself, by a person: they are heard whatever the frequency control says.
        let said = |evidence: &&Evidence| evidence.kind == EvidenceKind::UserInput && evidence.task.is_none();
        let said: Vec<&Evidence> = census.unused(&self.state, Significance::High).into_iter().filter(said).collect();
        if !said.is_empty() {
            let words: Vec<&str> = said.iter().map(|evidence| evidence.content.as_str()).collect();
            reasons.push(TriggerReason {
                kind: TriggerKind::Person,
                priority: PERSON_PRIORITY,
                detail: format!("a person says: {}", words.join("; ")),
                tasks: Vec::new(),
                evidence: said.iter().map(|evidence| evidence.id.clone()).collect(),
            });
        }
        if self.is_emergent() {
            // Failures and what they block are what its updates are for.
            reasons.retain(|reason| !matches!(reason.kind, TriggerKind::TaskFailed | TriggerKind::Blocked));
        }
        reasons.retain(|reason| !self.handled.contains(&self.key(reason)));
        reasons
    }

    /// The same trouble has the same key; the same task failing once more is new trouble.
    fn key(&self, reason: &TriggerReason) -> String {
        // What was found out is the same however often the task that found it is tried.
        let of_evidence = matches!(reason.kind, TriggerKind::Evidence | TriggerKind::Person);
        let tasks = reason.tasks.iter().filter(|_| !of_evidence || !self.input.keeps_unused);
        let tasks: Vec<String> = tasks.map(|id| format!("{id}:{}", self.state.tasks.get(id).map_or(0, |task| task.attempts))).collect();
        let evidence: Vec<&str> = reason.evidence.iter().map(EvidenceId::as_str).collect();
        let since = match reason.kind {
            TriggerKind::Stalled => self.state.last_progress_at.as_millis(),
            TriggerKind::CriteriaFailed => i64::from(self.state.version),
            _ => 0,
        };
        format!("{:?} {} {} {since}", reason.kind, tasks.join(","), evidence.join(","))
    }

    /// Looks at the triggers and asks for a patch when one is wanted and allowed.
    pub(super) fn consider(&mut self, out: &mut Out) {
        if self.leaving.is_some() || self.replanning() || self.escalated() {
            return;
        }
        // Reasons are looked for in the whole plan, so only where they could lead to something.
        let reasons = if self.can_replan() { self.reasons() } else { Vec::new() };
        if reasons.is_empty() {
            self.announced.clear();
            return;
        }
        let history = ReplanHistory { count: self.replans, last_at: self.last_replan_at };
        match aime_replan_triggers::decide(&reasons, history, self.now, self.idle(), &self.input.settings.frequency) {
            Verdict::Allow => self.ask_patch("patch", reasons, out),
            Verdict::Wait { reason, .. } => self.announce(&reasons, &reason, out),
            Verdict::Escalate { reason } => {
                self.announce(&reasons, &reason, out);
                self.escalate(&reasons, &reason, out);
            }
        }
    }

    /// Tells that a replan is not allowed now: once for the same reasons.
    fn announce(&mut self, reasons: &[TriggerReason], why: &str, out: &mut Out) {
        let keys = reasons.iter().map(|reason| self.key(reason)).collect();
        if self.announced != keys {
            self.announced = keys;
            self.emit(ProgressEvent::ReplanSuppressed { reason: why.to_owned(), triggers: reasons.to_vec() }, out);
        }
    }

    pub(super) fn ask_patch(&mut self, purpose: &str, reasons: Vec<TriggerReason>, out: &mut Out) {
        self.emit(ProgressEvent::TriggersFired { reasons: reasons.clone() }, out);
        self.set_status(RunStatus::Replanning, None, out);
        self.emit(ProgressEvent::PlanningStarted { purpose: purpose.to_owned() }, out);
        let id = self.next_id(if purpose == "update" { "update" } else { "replan" });
        let effect = RunEffect::Replan { state: Box::new(self.state.clone()), reasons: reasons.clone(), known: self.known.clone() };
        self.issue(id, effect, Work::Replan(reasons), out);
    }

    /// These reasons need no further replan.
    pub(super) fn handle(&mut self, reasons: &[TriggerReason]) {
        let keys: Vec<String> = reasons.iter().map(|reason| self.key(reason)).collect();
        self.handled.extend(keys);
        self.announced.clear();
    }

    pub(super) fn replanned(&mut self, outcome: &Replanning, reasons: Vec<TriggerReason>, out: &mut Out) {
        match outcome {
            Replanning::Patched { patch, refused } if is_update(&reasons) && patch.changes.is_empty() => {
                self.tell_refused(refused, out);
                let why = format!("the plan stays as it is: {}", patch.reasoning);
                self.set_status(RunStatus::Executing, Some(&why), out);
                self.dismiss(reasons.iter().flat_map(|reason| reason.evidence.clone()).collect(), why, out);
                self.advance(out);
            }
            Replanning::Patched { patch, refused } => {
                self.count_replan(&reasons);
                self.tell_refused(refused, out);
                self.plan_was_changed();
                let patch = patch.clone();
                // What was left open was shown with the rest.
                let mut evidence: Vec<EvidenceId> = reasons.iter().flat_map(|reason| reason.evidence.clone()).collect();
                let still_open = |id: &&EvidenceId| self.state.evidence.iter().any(|known| known.id == **id && !known.processed);
                let left_open = std::mem::take(&mut self.left_open);
                evidence.extend(left_open.iter().filter(still_open).filter(|id| !evidence.contains(id)).cloned().collect::<Vec<_>>());
                let lowered = lowering(&self.state, &patch).unwrap_or_default();
                let decision = Decision { version: self.state.version + 1, at: self.now, triggers: reasons, patch, evidence, lowered };
                self.stop_cancelled(&decision.patch, out);
                self.decision = Some(decision);
                self.decide_if_ready(out);
            }
            Replanning::NoPatch { message, refused } => {
                self.count_replan(&reasons);
                self.tell_refused(refused, out);
                self.handle(&reasons);
                let why = format!("no usable patch: {message}");
                self.set_status(RunStatus::Executing, Some(&why), out);
                let looked_at = reasons.iter().flat_map(|reason| reason.evidence.iter().cloned());
                let (open, minor): (Vec<_>, Vec<_>) = looked_at.partition(|id| self.input.keeps_unused && self.asks_for_a_replan(id));
                self.left_open.extend(open);
                self.dismiss(minor, why, out);
                self.advance(out);
            }
            Replanning::ModelFailed { message, hint } => {
                if is_update(&reasons) {
                    self.growth.lost();
                }
                let output = self.failed(FailureCode::ModelUnavailable, message.clone(), hint.clone());
                self.leave(output, out);
            }
        }
    }

    fn count_replan(&mut self, reasons: &[TriggerReason]) {
        if !is_update(reasons) {
            self.replans += 1;
            self.last_replan_at = Some(self.now);
        }
    }

    /// A patch that takes running tasks out of the plan, by themselves or with their group, stops their actors first. One that does not
    /// fit stops nobody.
    pub(super) fn stop_cancelled(&mut self, patch: &PlanPatch, out: &mut Out) {
        let Ok(after) = self.state.patched(patch, self.now) else { return };
        let stops = |task: &&Task| {
            let after = after.tasks.get(&task.spec.id).map(|task| task.status);
            task.status == TaskStatus::Running && task.spec.kind != TaskKind::Group && after != Some(TaskStatus::Running)
        };
        let cancelled: Vec<TaskId> = self.state.tasks.values().filter(stops).map(|task| task.spec.id.clone()).collect();
        for task in cancelled {
            let begun = self.open.iter().find(|(_, work)| **work == Work::Task(task.clone())).map(|(effect, _)| effect.clone());
            if let Some(effect) = &begun {
                out.revoke(effect.clone(), Reason::Cancelled);
            }
            self.cancelling.entry(task).or_insert(begun);
        }
    }

    /// Applies the decision once the actors it cancels have stopped.
    pub(super) fn decide_if_ready(&mut self, out: &mut Out) {
        if self.decision.is_some() && self.cancelling.values().flatten().any(|effect| self.open.contains_key(effect)) {
            return;
        }
        if let Some(decision) = self.decision.take() {
            self.cancel_decided(&decision.patch);
            self.decide(decision, out);
            self.cancel_next(out);
        }
        self.advance(out);
    }

    fn decide(&mut self, decision: Decision, out: &mut Out) {
        let cancelled = std::mem::take(&mut self.cancelling);
        match self.state.check_patch(&decision.patch) {
            Ok(()) => {
                self.set_status(RunStatus::Executing, None, out);
                self.handle(&decision.triggers);
                self.verified = false;
                self.unmet.clear();
                self.emit(ProgressEvent::PlanChanged { decision }, out);
                self.doubt_calls_of_settled(out);
            }
            Err(faults) => {
                // The evidence was not used: it asks for the next replan.
                if is_update(&decision.triggers) {
                    self.growth.lost();
                }
                if let (Some(TriggerKind::Person), [PlanChange::CancelTask { id, .. }]) =
                    (decision.triggers.first().map(|trigger| trigger.kind), decision.patch.changes.as_slice())
                {
                    self.tell_not_cancelled(id, &faults, out);
                }
                let why = format!("the plan moved on before the patch came: {faults}");
                self.set_status(RunStatus::Executing, Some(&why), out);
            }
        }
        for (task, begun) in cancelled {
            if self.state.tasks.get(&task).is_some_and(|known| known.status == TaskStatus::Running) {
                self.cut_off(&task, begun.as_ref(), out);
            }
        }
    }

    /// Whether evidence asks for a replan by itself. No decision used it where no usable patch came of that: it stays open for the next one, and for who
    /// reads the result.
    fn asks_for_a_replan(&self, id: &EvidenceId) -> bool {
        let asks = |evidence: &Evidence| {
            evidence.kind == EvidenceKind::UserInput || evidence.significance >= self.input.settings.triggers.evidence_significance
        };
        self.state.evidence.iter().find(|evidence| evidence.id == *id).is_some_and(asks)
    }

    /// Evidence that was looked at and changes nothing asks for no further replan.
    fn dismiss(&mut self, evidence: Vec<EvidenceId>, why: String, out: &mut Out) {
        if !evidence.is_empty() {
            self.emit(ProgressEvent::EvidenceProcessed { evidence, reason: why }, out);
        }
    }

    /// Gives up what no replan has saved: what is blocked and that nothing will unblock is skipped, a group that cannot complete fails.
    pub(super) fn give_up_blocked(&mut self, out: &mut Out) -> bool {
        let mut given_up = false;
        loop {
            let (frontier, state) = self.frontier();
            let changes = frontier.graph().closing_changes(state);
            if changes.is_empty() || self.fault.is_some() {
                return given_up;
            }
            given_up = true;
            let held = |change: &&StatusChange| self.state.tasks.get(&change.task).is_some_and(|task| task.held);
            let held: Vec<TaskId> = changes.iter().filter(held).map(|change| change.task.clone()).collect();
            self.never_released.extend(held);
            self.make_changes(changes, out);
            self.settle(out);
        }
    }

    /// Sets the one timer: for the next moment at which a trigger or a bound could change the verdict. The bound on time holds in every
    /// phase, also while a plan is made or an answer is written.
    pub(super) fn watch_time(&mut self, out: &mut Out) {
        if self.leaving.is_some() || self.phase == Phase::Over {
            return;
        }
        let bound = self.time_bound();
        if bound.is_some_and(|bound| bound <= self.now) {
            let detail = format!("{} seconds were allowed", self.bounds.max_seconds.unwrap_or_default());
            return self.bound_reached("time", &detail, out);
        }
        let triggers = (self.phase == Phase::Executing && self.can_replan()).then(|| {
            let history = ReplanHistory { count: self.replans, last_at: self.last_replan_at };
            self.census();
            let settings = (&self.input.settings.triggers, &self.input.settings.frequency);
            next_deadline_with(&self.state, self.census.as_ref()?, history, self.now, settings)
        });
        let Some(at) = [triggers.flatten(), bound].into_iter().flatten().min() else { return };
        let earlier = |work: &Work| matches!(work, Work::Timer(set) if *set <= at);
        if at > self.now && !self.open.values().any(earlier) {
            self.set_timer(at, out);
        }
    }

    /// When the time that is allowed will be used up.
    fn time_bound(&self) -> Option<Timestamp> {
        let allowed = self.bounds.max_seconds?.saturating_mul(1_000);
        Some(self.segment_at?.plus_millis(allowed.saturating_sub(self.worked_ms)))
    }

    pub(super) fn set_timer(&mut self, at: Timestamp, out: &mut Out) {
        let later = self.open.iter().filter(|(_, work)| matches!(work, Work::Timer(_)));
        for effect in later.map(|(effect, _)| effect.clone()).collect::<Vec<_>>() {
            out.revoke(effect, Reason::Cancelled);
        }
        let id = self.next_id("timer");
        self.issue(id, RunEffect::Timer { at }, Work::Timer(at), out);
    }
}
