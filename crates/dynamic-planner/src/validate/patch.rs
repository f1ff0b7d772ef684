//! Tools and profiles in a patch. Whether it fits the plan is for the progress state to say.

use aime_progress::{Plan, PlanChange, PlanPatch, TaskChange, TaskKind, TaskSpec};

use super::PlanChecker;
use crate::PlanFault;

impl PlanChecker<'_> {
    /// Checks what a patch of the plan `standing` says of tools, parameters, profiles and bundles, and mends what is harmless. Of a task that it
    /// modifies, tool and parameters are looked at together, whichever of them is new.
    ///
    /// # Errors
    /// All faults, with their places.
    pub fn check_patch(&self, patch: &mut PlanPatch, standing: &Plan) -> Result<Vec<String>, Vec<PlanFault>> {
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
                    let task = standing.tasks.iter().find(|task| task.id == *id);
                    if let Some(task) = task {
                        self.check_call(change, task, &format!("{place}.change"), &mut repairs, &mut faults);
                    }
                    let of = (&*id, format!("{place}.change.profile"));
                    self.check_profile(&mut change.profile, of, "does not exist and was left out", &mut repairs, &mut faults);
                    self.check_model(&mut change.model, (&*id, format!("{place}.change.model")), &mut repairs, &mut faults);
                    if let Some(bundles) = &mut change.bundles {
                        self.check_bundles(bundles, (&*id, format!("{place}.change.bundles")), &mut repairs, &mut faults);
                    }
                    if let Some(task) = task.filter(|_| change.bundles.is_some() || change.profile.is_some()) {
                        let mut changed = task.clone();
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

    /// Checks the call that a task makes once it is changed.
    fn check_call(&self, change: &mut TaskChange, task: &TaskSpec, place: &str, repairs: &mut Vec<String>, faults: &mut Vec<PlanFault>) {
        if change.tool.is_none() && change.parameters.is_none() {
            return;
        }
        let mut changed = task.clone();
        change.apply_to(&mut changed);
        if changed.kind != TaskKind::Tool {
            // Whether such a task may name a tool is for the progress state to say; that there is such a tool, for us.
            changed.tool.as_ref().and_then(|name| self.tool(name, &format!("{place}.tool"), faults));
            return;
        }
        let meant = changed.parameters.clone();
        self.check_tool(&mut changed, place, repairs, faults);
        change.tool = change.tool.take().and(changed.tool);
        if changed.parameters != meant {
            change.parameters = Some(changed.parameters);
        }
    }
}
