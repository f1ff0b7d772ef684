//! Tools and profiles in a patch. Whether it fits the plan is for the progress state to say.

use aime_progress::{PlanChange, PlanPatch};

use super::{PlanChecker, tool::check_parameters};
use crate::PlanFault;

impl PlanChecker<'_> {
    /// Checks what a patch says of tools, parameters, profiles and bundles, and mends what is harmless.
    ///
    /// # Errors
    /// All faults, with their places.
    pub fn check_patch(&self, patch: &mut PlanPatch) -> Result<Vec<String>, Vec<PlanFault>> {
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
                    if let Some(name) = change.tool.clone()
                        && let Some(tool) = self.tool(&name, &format!("{place}.change.tool"), &mut faults)
                    {
                        change.tool = Some(tool.name.clone());
                        if let Some(parameters) = &mut change.parameters {
                            check_parameters(tool, parameters, &format!("{place}.change.parameters"), &mut repairs, &mut faults);
                        }
                    }
                    let of = (&*id, format!("{place}.change.profile"));
                    self.check_profile(&mut change.profile, of, "does not exist and was left out", &mut repairs, &mut faults);
                    faults.iter_mut().skip(before).for_each(|fault| fault.task = Some(id.to_string()));
                }
                _ => {}
            }
        }
        if faults.is_empty() { Ok(repairs) } else { Err(faults) }
    }
}
