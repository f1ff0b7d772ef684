//! The lead's own work: one task, `main`.

use aime_dynamic_planner::{WakeKind, direct_plan};
use aime_messages::Message;
use aime_progress_management::{Conclusion, FailureCause, PlanMode, ProgressEvent, RunStatus, TaskStatus};

use super::main_id;
use crate::{
    CriterionResult,
    machine::{Out, Phase, RunMachine, tasks::OUT_OF_STEPS},
};

impl RunMachine {
    /// Creates the task for the lead's own work and starts it.
    pub(in crate::machine) fn begin_main(&mut self, why: &str, category: &str, out: &mut Out) {
        if self.state.version != 0 {
            return;
        }
        self.lead.owns_main = true;
        self.report_lead_route(PlanMode::Direct, why, category, out);
        let plan = self.with_checks(direct_plan(&self.input.goal, None));
        self.emit(ProgressEvent::PlanCreated { plan, repairs: Vec::new(), fallback: None }, out);
        self.set_status(RunStatus::Executing, None, out);
        self.phase = Phase::Executing;
        let main = main_id();
        self.executions.begin(&main);
        self.set_task(&main, TaskStatus::Ready, None, out);
        self.set_task(&main, TaskStatus::Running, None, out);
    }

    /// Lets the lead continue its own work, after a stop or a failed attempt.
    pub(in crate::machine) fn go_on_with_main(&mut self, out: &mut Out) {
        let main = main_id();
        self.executions.begin(&main);
        self.set_task(&main, TaskStatus::Running, None, out);
        self.wake_for_own_work(out);
    }

    /// Returns the lead's result to it if its steps were used up or its checks failed, so that it continues its conversation.
    /// Returns whether it does.
    pub(super) fn return_result_of_lead(&mut self, conclusion: &Conclusion, checks: &[CriterionResult], out: &mut Out) -> bool {
        let main = main_id();
        let failed = self.numbered_faults(checks);
        let needs_steps = conclusion.cause == Some(FailureCause::Steps);
        let before = self.executions.rejections(&main);
        let is_due = needs_steps || !failed.is_empty();
        if !is_due || self.stopping.is_suspending() || before >= self.input.settings.triggers.max_retries {
            return false;
        }
        let task = self.works_itself().then_some(&main);
        self.report_checks(task, checks, out);
        let (missing, words) = match needs_steps {
            true => (OUT_OF_STEPS.to_owned(), OUT_OF_STEPS.to_owned()),
            false => not_accepted(&failed.join("; ")),
        };
        self.lead.refuse(words);
        self.executions.return_result(&main, missing);
        self.wake_lead(WakeKind::Refused, Vec::new(), out);
        true
    }

    /// Returns the end of the run to the lead if criteria fail, so that it continues its conversation. Returns whether it does.
    pub(in crate::machine) fn return_end_to_lead(&mut self, failure: &Message, out: &mut Out) -> bool {
        let main = main_id();
        let before = self.executions.rejections(&main);
        if !self.is_led() || self.stopping.is_suspending() || before >= self.input.settings.triggers.max_retries {
            return false;
        }
        self.lead.reopen();
        self.stopping.take_back_end();
        if self.criteria.has_unchecked() {
            self.criteria.plan_changed();
        }
        let (missing, words) = not_accepted(&failure.to_string());
        self.lead.refuse(words);
        self.executions.return_result(&main, missing);
        self.wake_lead(WakeKind::Refused, Vec::new(), out);
        true
    }
}

impl RunMachine {
    /// Returns the faults that the lead may be able to remove, each with the number by which `amend_criterion` names its criterion.
    fn numbered_faults(&self, checks: &[CriterionResult]) -> Vec<String> {
        let criteria = &self.state.strategic.success_criteria;
        let number_of = |check: &CriterionResult| criteria.iter().position(|known| known.to_string() == check.criterion);
        let failed = checks.iter().filter(|check| check.is_fault_of_worker());
        let numbered = failed.filter_map(|check| {
            let fault = check.fault()?;
            let fault = fault.to_string();
            Some(number_of(check).map_or_else(|| fault.clone(), |at| format!("success criterion {}: {fault}", at + 1)))
        });
        numbered.collect()
    }
}

/// Returns what is missing, and the words about it to the lead.
fn not_accepted(missing: &str) -> (String, String) {
    (missing.to_owned(), format!("your result is not accepted yet: {missing}. Do what is missing, and end again"))
}

/// Returns the faults of the checks.
pub(super) fn faults(checks: &[CriterionResult]) -> Vec<String> {
    checks.iter().filter_map(CriterionResult::fault).map(String::from).collect()
}
