//! Plans and patches as a model writes them.

use aime_progress_management::{Plan, ProgressState, Task, TaskKind, TaskStatus};
use fastrand::Rng;
use serde_json::{Value, json};

use crate::{
    scenario::FaultRates,
    tools::{LOOK, MARK, NOTE},
};

/// Returns a plan that was handed over; `None` if the current version cannot parse it, which a test rules out.
pub(crate) fn plan(rng: &mut Rng, prefix: &str, most: usize, odds: &FaultRates) -> Option<Plan> {
    serde_json::from_value(document(rng, prefix, most, odds)).ok()
}

/// Returns a plan as a document.
pub(crate) fn document(rng: &mut Rng, prefix: &str, most: usize, odds: &FaultRates) -> Value {
    let count = rng.usize(2..=most.max(2));
    let mut tasks = Vec::new();
    let mut edges = Vec::new();
    for number in 0..count {
        let before: Vec<String> = (0..number).filter(|_| rng.u32(0..100) < 35).map(|before| format!("{prefix}{before}")).collect();
        let id = format!("{prefix}{number}");
        tasks.push(task(rng, &id, &before, odds));
        if odds.tool_fails > 200 && rng.u32(0..5) == 0 && number + 1 < count {
            edges.push(
                json!({"from": id, "to": format!("{prefix}{}", number + 1), "type": if rng.bool() { "rollback" } else { "dependency" }}),
            );
        }
    }
    let criteria = if odds.unmet > 0 && rng.bool() { json!(["it is good"]) } else { json!([]) };
    json!({"strategic": {"approach": "step by step", "success_criteria": criteria}, "tasks": tasks, "edges": edges})
}

fn task(rng: &mut Rng, id: &str, dependencies: &[String], odds: &FaultRates) -> Value {
    if rng.u32(0..100) < 40 {
        let tool = rng.choice([MARK, MARK, NOTE, LOOK]).unwrap_or(MARK);
        return json!({"id": id, "name": id, "kind": "tool", "tool": tool, "parameters": {"key": id}, "dependencies": dependencies});
    }
    let criteria = if odds.unmet > 0 && rng.u32(0..3) == 0 { json!([format!("{id} is good")]) } else { json!([]) };
    json!({
        "id": id, "name": id, "kind": "actor", "description": format!("[[{id}]] Do it"), "dependencies": dependencies,
        "bundles": [MARK, NOTE, LOOK, "coordination", "delegation"], "completion_criteria": criteria,
    })
}

/// Returns a patch for the current state of a run, mostly a valid one.
pub(crate) fn patch(rng: &mut Rng, state: &ProgressState, odds: &FaultRates) -> Value {
    let mut changes = Vec::new();
    let work = || state.tasks.values().filter(|task| task.spec.kind != TaskKind::Group);
    let waits = |task: &&Task| matches!(task.status, TaskStatus::Pending | TaskStatus::Ready);
    let mut new = 0;
    let mut fresh = || {
        new += 1;
        format!("n{}x{new}", state.version)
    };
    for failed in work().filter(|task| task.failed_for_good || task.status == TaskStatus::Blocked) {
        let id = failed.spec.id.as_str();
        changes.push(match rng.u32(0..10) {
            0..6 => {
                let name = fresh();
                json!({"op": "add_task", "task": task(rng, &name, &[], odds), "replaces": [id]})
            }
            6 => json!({"op": "remove_task", "id": id, "reason": "it is not needed"}),
            7 => json!({"op": "unblock_task", "id": id}),
            8 => json!({"op": "modify_task", "id": id, "change": {"description": format!("[[{id}v{}]] Do it otherwise", state.version)}}),
            _ => continue,
        });
    }
    if rng.u32(0..3) == 0 {
        let waiting: Vec<&Task> = work().filter(waits).collect();
        let running = work().find(|task| task.status == TaskStatus::Running);
        match (rng.u32(0..5), rng.choice(&waiting), running) {
            (0, Some(one), _) => changes.push(json!({"op": "block_task", "id": one.spec.id, "reason": "not yet"})),
            (1, Some(one), _) => changes.push(json!({"op": "remove_task", "id": one.spec.id, "reason": "no"})),
            (2, _, Some(one)) => changes.push(json!({"op": "cancel_task", "id": one.spec.id, "reason": "no"})),
            (3, _, _) => changes.push(json!({"op": "remove_task", "id": "nobody", "reason": "no"})),
            _ => {
                let name = fresh();
                let after: Vec<String> =
                    work().filter(|task| task.status == TaskStatus::Completed).map(|task| task.spec.id.to_string()).collect();
                let after: Vec<String> = rng.choice(&after).cloned().into_iter().collect();
                changes.push(json!({"op": "add_task", "task": task(rng, &name, &after, odds), "replaces": []}));
            }
        }
    }
    json!({"reasoning": "another way", "changes": changes})
}
