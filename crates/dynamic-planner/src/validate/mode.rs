//! The limits of each mode.

use std::sync::Arc;

use aime_messages::{Message, message};
use aime_progress_management::{Plan, PlanMode, TaskId, TaskKind};

use super::PlanLimits;
use crate::{PlanFault, PlanProblem};

/// Makes the tasks of a simple plan consecutive if the model named no dependency at all.
pub(super) fn chain(plan: &mut Plan) -> Option<Message> {
    let work = plan.tasks.iter().filter(|task| task.kind != TaskKind::Group).count();
    if work < 2 || !plan.edges.is_empty() || plan.tasks.iter().any(|task| !task.dependencies.is_empty()) {
        return None;
    }
    let mut before: Option<TaskId> = None;
    for task in plan.tasks.iter_mut().filter(|task| task.kind != TaskKind::Group) {
        let after = before.replace(task.id.clone());
        Arc::make_mut(task).dependencies.extend(after);
    }
    Some(message!("repair-row"))
}

/// Returns the faults of a plan that exceeds the limits of its mode.
pub(super) fn faults(plan: &Plan, mode: PlanMode, limits: PlanLimits) -> Vec<PlanFault> {
    let mut faults = Vec::new();
    let work = plan.tasks.iter().filter(|task| task.kind != TaskKind::Group).count();
    let most = match mode {
        PlanMode::Direct => 1,
        PlanMode::Simple => limits.max_tasks,
        PlanMode::Emergent => limits.first_todos,
        PlanMode::Complex => limits.max_sub_goals.saturating_mul(limits.max_actions),
    };
    if work > most {
        faults.push(
            PlanFault::new("tasks", PlanProblem::TooLarge(message!("plan-too-large", tasks = work, most))).hint(message!("plan-merge")),
        );
    }
    if work == 0 {
        faults.push(PlanFault::new("tasks", message!("plan-only-groups")).hint(message!("plan-only-groups-hint")));
    }
    if mode == PlanMode::Complex {
        let groups: Vec<&TaskId> = plan.tasks.iter().filter(|task| task.kind == TaskKind::Group).map(|task| &task.id).collect();
        if groups.len() > limits.max_sub_goals {
            let message = message!("plan-too-many-goals", goals = groups.len(), most = limits.max_sub_goals);
            faults.push(PlanFault::new("tasks", PlanProblem::TooLarge(message)).hint(message!("plan-merge")));
        }
        for group in groups {
            let actions = plan.tasks.iter().filter(|task| task.kind != TaskKind::Group && task.parent.as_ref() == Some(group)).count();
            if actions > limits.max_actions {
                let message = message!("plan-too-many-actions", goal = group, actions, most = limits.max_actions);
                faults.push(PlanFault::new("tasks", PlanProblem::TooLarge(message)).hint(message!("plan-merge")));
            }
        }
    }
    faults
}
