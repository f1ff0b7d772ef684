//! Comments of a person on a plan of which nothing has begun: the lead changes the plan in its conversation.

use aime_actor_factory::LEAD_PREFIX;
use aime_dynamic_planner::WakeKind;
use aime_messages::message;
use aime_progress_management::{EvidenceId, ProgressEvent, RunStatus};

use super::{super::Phase, FailureCode, Out, RunMachine};
use crate::RunOutput;

impl RunMachine {
    /// Continues the conversation in which the lead made the plan, if there is one.
    pub(in crate::machine) fn continue_conversation(&mut self) {
        let Some(position) = self.input.conversation else { return };
        self.executions.skip_reports(LEAD_PREFIX.to_owned(), position.reports);
        self.lead.answered = position.wakes;
        // The first wake makes the plan; the next one tells how a plan is changed.
        self.lead.guided = position.wakes > 1;
    }

    /// Wakes the lead with a person's comments on the plan.
    pub(in crate::machine) fn review_plan(&mut self, comments: &str, out: &mut Out) {
        if !self.is_led() {
            let message = message!("review-without-lead");
            return self.finish(self.failed(FailureCode::GoalNotReached, message, None), None, out);
        }
        let Ok(id) = EvidenceId::new(format!("comment-{}", self.lead.answered)) else { return };
        self.phase = Phase::Planning;
        self.emit(ProgressEvent::PlanningStarted { purpose: "lead".to_owned() }, out);
        self.record_person_message(&id, comments, out);
        self.wake_lead(WakeKind::Person, Vec::new(), out);
    }

    /// Reports why the lead left the plan unchanged.
    pub(super) fn keep_plan(&mut self, why: &str, out: &mut Out) {
        self.set_status(RunStatus::Executing, Some(&message!("plan-stays", reason = why)), out);
    }

    /// Ends the planning after a wake of the lead, unless the lead has to correct its change.
    pub(super) fn end_review(&mut self, out: &mut Out) {
        if self.stopping.is_suspending() || self.phase == Phase::Over {
            return;
        }
        if self.lead.gave_up && self.input.comments.is_some() {
            let message = message!("review-gave-up");
            return self.finish(self.failed(FailureCode::GoalNotReached, message, None), None, out);
        }
        if !self.wake_for_refusals(out) {
            self.suspend(RunOutput { status: self.state.status, error: None }, out);
        }
    }
}
