//! Carrying out the lead's commands.

use std::sync::Arc;

use aime_actor_factory::LeadRest;
use aime_dynamic_planner::{Wake, check_update};
use aime_messages::{Message, message};
use aime_progress_management::{
    Conclusion, Decision, Evidence, EvidenceId, EvidenceKind, LeadCommand, Outcome, Owner, Plan, PlanChange, PlanMode, PlanPatch,
    ProgressEvent, ProgressState, RebasedPatch, RunStatus, Significance, Strategic, StrategicChange, Task, TaskId, TaskKind, TaskStatus,
    TriggerReason, handled_failures,
};

use super::{Out, RunMachine, main_id};
use crate::CriterionResult;

impl RunMachine {
    /// Carries out the commands of one wake, in order. Changes of the plan become one decision. If the lead ended the run in the same
    /// answer, and nothing is open after its changes, the run ends; otherwise the lead is woken.
    pub(super) fn carry_out(&mut self, wake: &Wake, rest: &LeadRest, category: &str, checks: &[CriterionResult], out: &mut Out) {
        let can_end = !self.input.plan_only && !self.replans.is_deciding();
        // A task may have ended after the host decided not to execute the checks.
        let is_checked = |conclusion: &Conclusion| conclusion.checks.is_empty() || !checks.is_empty();
        let may_end = |conclusion: &Conclusion| can_end && is_checked(conclusion) && may_end_after(&rest.commands, conclusion, &self.state);
        let ending = rest.conclusion.as_ref().filter(|conclusion| may_end(conclusion));
        // The lead's own work ends if it wants other tasks done.
        let is_plan = |command: &LeadCommand| matches!(command, LeadCommand::SubmitPlan { .. } | LeadCommand::ChangePlan { .. });
        if rest.commands.iter().any(|command| is_plan(command) && !changes_nothing(command)) {
            self.hand_over_main(out);
        }
        let mut patch = PlanPatch::new("", Vec::new());
        let mut handled = Vec::new();
        let mut route = None;
        for (number, command) in rest.commands.iter().cloned().enumerate() {
            match command {
                LeadCommand::SubmitPlan { plan, mode, repairs } if self.state.version == 0 => {
                    return self.submit_first(*plan, mode, repairs, category, out);
                }
                LeadCommand::SubmitPlan { plan, mode, repairs } => {
                    self.report_repairs(&repairs, out);
                    route = Some(mode);
                    patch.changes.extend(changes_of(*plan));
                }
                LeadCommand::ChangePlan { patch: change, handled: dealt_with, repairs } => {
                    self.report_repairs(&repairs, out);
                    patch.reasoning.clone_from(&change.reasoning);
                    patch.changes.extend(change.changes);
                    handled.extend(dealt_with);
                }
                LeadCommand::CancelTask { task, reason } => {
                    patch.changes.extend(PlanPatch::cancelling(&task, &reason, Owner::Lead).changes)
                }
                LeadCommand::AmendCriterion { number, criterion, evidence } => {
                    if self.asks_about_criterion(number, &criterion, &evidence, out) {
                        continue;
                    }
                    let separator = if patch.reasoning.is_empty() { "" } else { "; " };
                    patch.reasoning.push_str(&format!("{separator}{evidence}"));
                    patch.changes.push(PlanChange::amend(number, criterion, &evidence));
                }
                LeadCommand::TellTask { task, text } => self.message_task(wake.number, number, &task, &text, out),
                LeadCommand::HoldTask { task } => self.hold_task(&task, out),
                LeadCommand::ReleaseTask { task } => self.release_task(&task, out),
            }
        }
        if patch.reasoning.is_empty() {
            patch.reasoning.clone_from(&rest.answer);
        }
        let faults = self.faults_of_change(&patch, route.or(self.state.mode));
        if !faults.is_empty() {
            self.handle(&wake.reasons);
            self.lead.refuse(format!("no change of the plan was made: {}", faults.join("; ")));
            self.set_status(RunStatus::Executing, Some(&message!("plan-change-refused")), out);
            return self.advance(out);
        }
        if let Some(mode) = route {
            self.report_lead_route(mode, "the lead planned what is left", category, out);
        }
        if let Some(conclusion) = ending {
            // No actor has to stop first, so the decision does not wait.
            let decision = self.decision_of_lead(wake, patch, handled);
            self.apply_decision(decision, out);
            return self.lead_concluded(conclusion, category, checks, out);
        }
        self.change_by_lead(wake, patch, handled, out);
    }

    /// Returns the rules that the changes of one wake break together. Each call was checked alone, against the plan as it
    /// was then.
    fn faults_of_change(&self, patch: &PlanPatch, mode: Option<PlanMode>) -> Vec<String> {
        let state = self.state.get();
        // Changes that do not fit are dropped later.
        let Ok(RebasedPatch { patch, .. }) = state.rebase(patch) else { return Vec::new() };
        let Ok(after) = state.patched(&patch, self.now) else { return Vec::new() };
        let mut faults = handled_failures(state, &patch).err().unwrap_or_default().into_iter().map(String::from).collect::<Vec<_>>();
        if mode == Some(PlanMode::Emergent) {
            faults.extend(check_update(state, &after, &patch, &self.input.settings.growth));
        }
        faults
    }

    fn submit_first(&mut self, plan: Plan, mode: PlanMode, repairs: Vec<Message>, category: &str, out: &mut Out) {
        self.report_lead_route(mode, "the lead looked and submitted a plan", category, out);
        self.plan_was_made();
        self.adopt(plan, repairs, None, out);
    }

    fn report_repairs(&mut self, repairs: &[Message], out: &mut Out) {
        if !repairs.is_empty() {
            self.emit(ProgressEvent::PatchRepaired { repairs: repairs.to_vec() }, out);
        }
    }

    /// Ends the lead's own work, because a plan takes its place.
    fn hand_over_main(&mut self, out: &mut Out) {
        if self.works_itself() {
            let conclusion = Conclusion::new(Outcome::Success, "handed over to the tasks of the plan");
            self.conclude(&main_id(), &conclusion, out);
        }
    }

    /// Makes the changes of the lead, as far as they fit, once the actors that they cancel have stopped.
    fn change_by_lead(&mut self, wake: &Wake, patch: PlanPatch, handled: Vec<EvidenceId>, out: &mut Out) {
        if patch.changes.is_empty() {
            self.handle(&wake.reasons);
            let why = if patch.reasoning.is_empty() { message!("plan-unchanged") } else { Message::text(patch.reasoning) };
            self.set_status(RunStatus::Executing, Some(&why), out);
            self.process(handled, why, out);
            return self.advance(out);
        }
        let decision = self.decision_of_lead(wake, patch, handled);
        self.stop_cancelled(&decision.patch, out);
        self.replans.propose(decision);
        self.decide_if_ready(out);
    }

    /// Returns the changes of the lead as a decision, as far as they fit.
    fn decision_of_lead(&mut self, wake: &Wake, patch: PlanPatch, handled: Vec<EvidenceId>) -> Decision {
        let words: Vec<&EvidenceId> = wake.words.iter().map(|words| &words.id).collect();
        let reasons: Vec<TriggerReason> = std::mem::take(&mut self.lead.cause)
            .into_iter()
            .map(|mut reason| {
                // A message of a person stays open until the lead says that it dealt with it.
                reason.evidence.retain(|id| handled.contains(id) || !words.contains(&id));
                reason
            })
            .collect();
        self.handle(&wake.reasons);
        let mut decision = Decision::next(&self.state, self.now, reasons, patch);
        decision.evidence.extend(handled.into_iter().filter(|id| !decision.evidence.contains(id)).collect::<Vec<_>>());
        self.lead.drop_changes(&decision.dropped);
        decision
    }

    /// Puts the pending decision aside, because the run stops. Nothing would trigger an accepted change of the lead again.
    pub(in crate::machine) fn shelve_decision(&mut self) {
        let Some(decision) = self.replans.drop_decision() else { return };
        if self.is_led() && !self.cancellations.is_requested(&decision.patch) {
            self.lead.shelved = Some(Box::new(decision));
        }
    }

    /// Decides on the change that was put aside, as far as it still fits.
    pub(in crate::machine) fn carry_out_shelved(&mut self, out: &mut Out) {
        if self.replans.is_deciding() || self.stopping.is_suspending() {
            return;
        }
        let Some(shelved) = self.lead.shelved.take() else { return };
        let Decision { triggers, patch, evidence, .. } = *shelved;
        let mut decision = Decision::next(&self.state, self.now, triggers, patch);
        decision.evidence = evidence;
        self.lead.drop_changes(&decision.dropped);
        self.stop_cancelled(&decision.patch, out);
        self.replans.propose(decision);
        self.decide_if_ready(out);
    }

    /// Marks evidence as processed that needs no change of the plan.
    pub(in crate::machine) fn process(&mut self, handled: Vec<EvidenceId>, why: Message, out: &mut Out) {
        let open = |id: &EvidenceId| self.state.evidence.iter().any(|evidence| evidence.id == *id && !evidence.processed);
        let evidence: Vec<EvidenceId> = handled.into_iter().filter(open).collect();
        if !evidence.is_empty() {
            self.emit(ProgressEvent::EvidenceProcessed { evidence, reason: why }, out);
        }
    }

    /// Forwards a message of the lead to the actor of a task.
    fn message_task(&mut self, wake: u32, number: usize, task: &TaskId, text: &str, out: &mut Out) {
        let runs = self.state.tasks.get(task).is_some_and(|known| known.status.is_open());
        let (true, Ok(id)) = (runs, EvidenceId::new(lead_words_id(wake, number))) else {
            return self.lead.refuse(format!("`{task}` was not told: it has ended"));
        };
        self.people.add_lead_message(&id, task, text);
        let evidence = Evidence {
            task: Some(task.clone()),
            ..Evidence::new(id, self.now, EvidenceKind::External, Significance::Low, format!("the lead says: {text}"))
        };
        self.emit(ProgressEvent::EvidenceAdded { evidence }, out);
    }

    /// Stops the actor of a task after its calls under way. It continues when the lead releases the task. A tool task is nothing but its call,
    /// so it cannot be held.
    fn hold_task(&mut self, task: &TaskId, out: &mut Out) {
        let is_call = self.state.tasks.get(task).is_some_and(|known| known.spec.kind == TaskKind::Tool);
        match self.effects.attempt_at(task).cloned() {
            Some(_) if is_call => self.lead.refuse(format!("`{task}` was not held: its one call is under way")),
            Some(_) => {
                self.lead.hold(task.clone());
                self.stop_for_hold(task, out);
            }
            None => self.lead.refuse(format!("`{task}` was not held: nobody works on it now")),
        }
    }

    /// Stops the actor of a task that the lead holds, unless a call of it is under way.
    pub(in crate::machine) fn stop_for_hold(&mut self, task: &TaskId, out: &mut Out) {
        let due = self.lead.is_holding(task) && !self.has_open_call(task);
        if let Some(effect) = self.effects.attempt_at(task).filter(|_| due) {
            out.revoke(effect.clone(), aime_durable::Reason::Stopped);
        }
    }

    /// Blocks a held task whose actor has stopped.
    pub(in crate::machine) fn hold_stopped(&mut self, task: &TaskId, out: &mut Out) {
        if self.state.tasks.get(task).is_some_and(|known| known.status == TaskStatus::Running) {
            self.set_task(task, TaskStatus::Blocked, Some(message!("task-held-by-lead")), out);
        }
    }

    fn release_task(&mut self, task: &TaskId, out: &mut Out) {
        // The actor may not have stopped yet.
        if self.lead.stop_holding(task) {
            return;
        }
        match self.state.tasks.get(task) {
            Some(known) if known.held => self.set_task(task, TaskStatus::Pending, Some(message!("task-released")), out),
            _ => self.lead.refuse(format!("`{task}` was not released: it is not held")),
        }
    }
}

/// Returns the id of the lead's message to a task: the `number`th command of a wake.
pub(crate) fn lead_words_id(wake: u32, number: usize) -> String {
    format!("lead-{wake}-{}", number + 1)
}

/// Returns a plan as changes to a plan without open tasks.
pub(in crate::machine) fn changes_of(plan: Plan) -> Vec<PlanChange> {
    let Strategic { approach, phases, risks, success_criteria, confidence } = plan.strategic;
    let strategic = StrategicChange {
        approach: Some(approach),
        phases: Some(phases),
        risks: Some(risks),
        success_criteria: Some(success_criteria),
        confidence,
    };
    let tasks = plan.tasks.into_iter().map(|task| PlanChange::AddTask { task: Box::new(Arc::unwrap_or_clone(task)), replaces: Vec::new() });
    let edges = plan.edges.into_iter().map(|edge| PlanChange::AddEdge { edge });
    tasks.chain(edges).chain([PlanChange::SetStrategic { strategic }]).collect()
}

/// Returns true for a command that only names what the lead has dealt with.
pub(super) fn changes_nothing(command: &LeadCommand) -> bool {
    matches!(command, LeadCommand::ChangePlan { patch, .. } if patch.changes.is_empty())
}

/// Returns whether a conclusion of the lead is accepted after the commands of the same answer: they change nothing, or the conclusion is
/// success and they leave nothing open.
pub(crate) fn may_end_after(commands: &[LeadCommand], conclusion: &Conclusion, state: &ProgressState) -> bool {
    commands.iter().all(changes_nothing) || (conclusion.outcome == Outcome::Success && leaves_nothing_open(commands, state))
}

/// Returns whether these commands only change the plan, all their changes fit, no task runs before them, and every task is settled after
/// them.
fn leaves_nothing_open(commands: &[LeadCommand], state: &ProgressState) -> bool {
    let mut patch = PlanPatch::new("", Vec::new());
    for command in commands {
        let LeadCommand::ChangePlan { patch: change, .. } = command else { return false };
        patch.changes.extend(change.changes.iter().cloned());
    }
    let is_still = work(state).all(|task| task.status != TaskStatus::Running);
    is_still && state.patched(&patch, state.last_progress_at).is_ok_and(|after| work(&after).all(|task| task.status.is_settled()))
}

/// Returns the tasks of a plan without its groups.
fn work(state: &ProgressState) -> impl Iterator<Item = &Task> {
    state.tasks.values().filter(|task| task.spec.kind != TaskKind::Group)
}

/// Returns the evidence with which the lead says that it has dealt.
pub(super) fn handled_by(commands: &[LeadCommand]) -> Vec<EvidenceId> {
    let of = |command: &LeadCommand| match command {
        LeadCommand::ChangePlan { handled, .. } => handled.clone(),
        _ => Vec::new(),
    };
    commands.iter().flat_map(of).collect()
}
