//! From the goal to the first plan.

use aime_dynamic_planner::{WakeKind, direct_plan};
use aime_messages::{Message, message};
use aime_progress_management::{FoldError, Plan, PlanMode, ProgressEvent, RunStatus};

use super::{FailureCode, Out, Phase, RunMachine, effects::EffectPurpose};
use crate::{
    RunEffect, RunOutput,
    fact::{ChosenRoute, Planning, RefusedAnswer},
};

impl RunMachine {
    /// Takes the first step: recalls memories, if the run has a memory.
    pub(super) fn begin(&mut self, out: &mut Out) {
        if self.uses_memory() { self.ask_memory(out) } else { self.begin_work(out) }
    }

    /// Takes the next step: uses the given plan, or plans in the given mode, or chooses a route.
    pub(super) fn begin_work(&mut self, out: &mut Out) {
        if let Some(plan) = self.input.plan.clone() {
            let planning = self.input.planning.clone();
            self.record_calls(&planning, out);
            if self.input.comments.is_some() {
                return self.adopt(plan, Vec::new(), None, out);
            }
            let reasons = vec![message!("route-handed")];
            self.report_route(
                ChosenRoute {
                    mode: self.input.settings.mode.unwrap_or(PlanMode::Complex),
                    by: "plan_file".to_owned(),
                    score: None,
                    category: String::new(),
                    profile: None,
                    reasons,
                },
                out,
            );
            return self.adopt(plan, Vec::new(), None, out);
        }
        if self.is_led() { self.begin_lead(out) } else { self.choose_route(out) }
    }

    /// Requests a route even if the mode is set, because the route also names the goal's category.
    pub(super) fn choose_route(&mut self, out: &mut Out) {
        self.phase = Phase::Routing;
        let id = self.effects.next_id("route");
        self.issue(id, RunEffect::Route, EffectPurpose::Route, out);
    }

    fn report_route(&mut self, route: ChosenRoute, out: &mut Out) {
        let ChosenRoute { mode, by, score, category, reasons, .. } = route;
        self.emit(ProgressEvent::Routed { mode, by, score, category, reasons }, out);
    }

    pub(super) fn routed(&mut self, route: &ChosenRoute, out: &mut Out) {
        self.report_route(route.clone(), out);
        if route.mode == PlanMode::Direct {
            return self.adopt(direct_plan(&self.input.goal, route.profile.as_deref()), Vec::new(), None, out);
        }
        self.ask_plan(out);
    }

    /// Requests the first plan, in the chosen mode.
    pub(super) fn ask_plan(&mut self, out: &mut Out) {
        self.phase = Phase::Planning;
        self.emit(ProgressEvent::PlanningStarted { purpose: "plan".to_owned() }, out);
        self.wake_lead(WakeKind::Begin, Vec::new(), out);
    }

    /// Repeats the step that a stop interrupted before there was a plan.
    pub(super) fn plan_again(&mut self, out: &mut Out) {
        match self.phase {
            Phase::Recalling => self.ask_memory(out),
            _ if self.is_led() => self.begin_lead(out),
            Phase::Routing => self.choose_route(out),
            _ => self.ask_plan(out),
        }
    }

    pub(super) fn planned(&mut self, outcome: &Planning, out: &mut Out) {
        match outcome.clone() {
            Planning::Planned { plan, repairs, refused, fallback } => {
                self.report_refused(&refused, out);
                self.plan_was_made();
                self.adopt(*plan, repairs, fallback, out);
            }
            Planning::Reused { plan, run, notes } => {
                self.emit(ProgressEvent::PlanReused { run }, out);
                self.plan_was_made();
                self.adopt(*plan, notes, None, out);
            }
            Planning::NoPlan { message, refused } => {
                self.report_refused(&refused, out);
                self.finish(self.failed(FailureCode::GoalNotReached, message, None), None, out);
            }
            Planning::ModelFailed { message, hint } => {
                let output = self.failed(FailureCode::ModelUnavailable, message, self.repair_model(hint));
                self.suspend(output, out);
            }
        }
    }

    pub(super) fn report_refused(&mut self, refused: &[RefusedAnswer], out: &mut Out) {
        for RefusedAnswer { attempt, faults } in refused.iter().cloned() {
            self.emit(ProgressEvent::PlanRefused { attempt, faults }, out);
        }
    }

    /// Returns the plan with the commands of the project among its success criteria.
    pub(super) fn with_checks(&self, mut plan: Plan) -> Plan {
        let criteria = &mut plan.strategic.success_criteria;
        for check in &self.input.settings.checks {
            match criteria.iter_mut().find(|known| known.check == check.check) {
                Some(known) => known.owner = check.owner,
                None => criteria.push(check.clone()),
            }
        }
        plan
    }

    /// Makes a plan the run's plan and starts what can start.
    pub(super) fn adopt(&mut self, mut plan: Plan, repairs: Vec<Message>, fallback: Option<Message>, out: &mut Out) {
        if plan.goal.is_empty() {
            plan.goal.clone_from(&self.input.goal);
        }
        let created = ProgressEvent::PlanCreated { plan: self.with_checks(plan), repairs, fallback };
        match self.state.apply(self.now, &created) {
            Ok(()) => out.emit(created),
            Err(FoldError::Plan(faults)) => {
                let faults = faults.messages();
                let message = message!("plan-invalid", faults = Message::list("; ", &faults));
                self.emit(ProgressEvent::PlanRefused { attempt: 1, faults }, out);
                return self.finish(self.failed(FailureCode::GoalNotReached, message, None), None, out);
            }
            Err(error) => return self.fail_on_invalid_event(&error),
        }
        if self.input.plan_only {
            if let Some(comments) = self.input.comments.clone() {
                return self.review_plan(&comments, out);
            }
            return self.suspend(RunOutput { status: self.state.status, error: None }, out);
        }
        self.set_status(RunStatus::Executing, None, out);
        self.phase = Phase::Executing;
        self.advance(out);
    }
}
