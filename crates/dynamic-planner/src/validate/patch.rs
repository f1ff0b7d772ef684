//! Validates tools and profiles in a patch. The progress state checks if the patch fits the plan.

use aime_messages::{Message, message};
use aime_progress_management::{Plan, PlanChange, PlanPatch, TaskChange, TaskKind, TaskSpec};

use super::PlanChecker;
use crate::PlanFault;

impl PlanChecker<'_> {
    /// Checks the tools, parameters, profiles and bundles in a patch of `plan`, and repairs harmless
    /// faults. For a modified task, tool and parameters are checked together, even if only one of them is new.
    ///
    /// # Errors
    ///
    /// All faults, with their places.
    pub fn check_patch(&self, patch: &mut PlanPatch, plan: &Plan) -> Result<Vec<Message>, Vec<PlanFault>> {
        let mut repairs = Vec::new();
        let mut faults = Vec::new();
        for (at, change) in patch.changes.iter_mut().enumerate() {
            let place = format!("changes[{at}]");
            match change {
                PlanChange::AddTask { task, .. } | PlanChange::MergeTasks { task, .. } => {
                    let before = faults.len();
                    self.check_task(task, &format!("{place}.task"), &mut repairs, &mut faults);
                    let id = task.id.to_string();
                    faults.iter_mut().skip(before).for_each(|fault| fault.task = Some(id.clone()));
                }
                PlanChange::ModifyTask { id, change } => {
                    let before = faults.len();
                    let task = plan.tasks.iter().find(|task| task.id == *id);
                    if let Some(task) = task {
                        self.check_call(change, task, &format!("{place}.change"), &mut repairs, &mut faults);
                    }
                    let of = (&*id, format!("{place}.change.profile"));
                    self.check_profile(&mut change.profile, of, message!("repair-profile-gone"), &mut repairs, &mut faults);
                    self.check_model(&mut change.model, (&*id, format!("{place}.change.model")), &mut repairs, &mut faults);
                    if let Some(bundles) = &mut change.bundles {
                        self.check_bundles(bundles, (&*id, format!("{place}.change.bundles")), &mut repairs, &mut faults);
                    }
                    if let Some(denied) = &mut change.denied_tools {
                        self.check_denied(denied, (&*id, format!("{place}.change.denied_tools")), &mut repairs, &mut faults);
                    }
                    if let Some(task) = task.filter(|_| change.bundles.is_some() || change.profile.is_some()) {
                        let mut changed = TaskSpec::clone(task);
                        change.apply_to(&mut changed);
                        self.check_capabilities(&changed, &format!("{place}.change.bundles"), &mut faults);
                    }
                    faults.iter_mut().skip(before).for_each(|fault| fault.task = Some(id.to_string()));
                }
                _ => {}
            }
        }
        if faults.is_empty() { Ok(repairs) } else { Err(faults) }
    }

    /// Checks the call of a changed task.
    fn check_call(&self, change: &mut TaskChange, task: &TaskSpec, place: &str, repairs: &mut Vec<Message>, faults: &mut Vec<PlanFault>) {
        if change.tool.is_none() && change.parameters.is_none() {
            return;
        }
        if task.kind != TaskKind::Tool {
            // An empty object is no call.
            change.parameters.take_if(|parameters| parameters.is_empty());
            let member = if change.tool.is_some() { "tool" } else { "parameters" };
            if change.tool.is_some() || change.parameters.is_some() {
                let is_group = task.kind == TaskKind::Group;
                let problem =
                    if is_group { message!("plan-call-of-group", task = task.id) } else { message!("plan-call-of-actor", task = task.id) };
                faults.push(PlanFault::new(format!("{place}.{member}"), problem).hint(message!("plan-call-hint")));
            }
            return;
        }
        let mut changed = task.clone();
        change.apply_to(&mut changed);
        let meant = changed.parameters.clone();
        self.check_tool(&mut changed, place, repairs, faults);
        change.tool = change.tool.take().and(changed.tool);
        if changed.parameters != meant {
            change.parameters = Some(changed.parameters);
        }
    }
}
