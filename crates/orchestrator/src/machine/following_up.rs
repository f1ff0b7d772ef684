//! Continues a run that has ended. The follow-up is a message of a person to the planner: the lead reads it in its
//! conversation, and a planner without a lead changes the plan with the known results. No actor is continued: its task
//! is settled, and a settled task never opens again.

use aime_durable::Reason;
use aime_messages::{Message, message};
use aime_progress_management::{EvidenceId, ProgressEvent, RunStatus, TaskStatus};

use super::{Out, Phase, RunMachine, lead};
use crate::Bounds;

impl RunMachine {
    /// Returns the reason why the run cannot continue with a follow-up, if there is one.
    #[must_use]
    pub(crate) fn refuses_follow_up(&self) -> Option<Message> {
        match () {
            // A bound or an unreachable model stops a run early, and it can be resumed.
            () if !self.is_over() && self.state.status == RunStatus::Failed => Some(message!("follow-up-failed")),
            () if !self.is_over() => Some(message!("follow-up-unfinished")),
            () if self.state.status == RunStatus::Cancelled => Some(message!("follow-up-cancelled")),
            () if !self.input.can_plan || self.input.plan_only => Some(message!("follow-up-no-model")),
            () if self.state.version == 0 => Some(message!("follow-up-no-plan")),
            () => None,
        }
    }

    /// Continues a run that has ended.
    pub(super) fn follow_up(&mut self, goal: &str, bounds: Option<&Bounds>, out: &mut Out) {
        if self.refuses_follow_up().is_some() {
            return;
        }
        let Ok(id) = EvidenceId::new(format!("follow-up-{}", self.people.count_follow_up())) else { return };
        self.effects.take_all().into_keys().for_each(|effect| out.revoke(effect, Reason::Stopped));
        self.stopping.reopen();
        self.lead.reopen();
        self.criteria.plan_changed();
        self.budgets.resume(self.now, bounds);
        self.emit(ProgressEvent::RunContinued { goal: goal.to_owned() }, out);
        self.phase = Phase::Executing;
        self.set_status(RunStatus::Executing, None, out);
        // Questions that were open at the end of the run are not asked again.
        let open = self.state.evidence.iter().filter(|evidence| !evidence.processed).map(|evidence| evidence.id.clone()).collect();
        self.process(open, message!("evidence-run-ended"), out);
        let main = lead::main_id();
        self.executions.forget_rejections(&main);
        if self.is_led() && self.is_main(&main) && self.state.tasks.get(&main).is_some_and(|task| task.status == TaskStatus::Failed) {
            self.set_task(&main, TaskStatus::Pending, Some(message!("task-continued")), out);
        }
        self.accept_person_message(&id, None, goal, out);
    }
}
