//! The planner with your own executor: a model plans, plain code executes the plan, and the model is asked for a patch
//! when a task fails. The model is scripted, so the example needs no server: `cargo run -p aime-dynamic-planner --example
//! own_executor`
#![expect(clippy::print_stdout, clippy::indexing_slicing, reason = "it shows what it does, and asks for tasks that it has")]

use std::error::Error;

use aime_dynamic_planner::{
    PlanFault, PlanRequest, Planner, PlannerSettings, ReplanRequest, Route, RouteSettings, default_categories,
    llm::scripted::{Reply, ScriptedModel, When},
    progress::{
        Conclusion, Decision, PlanMode, ProgressEvent, ProgressState, StatusChange, TaskId, TaskSpec, TaskStatus, Timestamp, TriggerKind,
        TriggerReason,
    },
    route,
};
use serde_json::json;

/// Your executor, whatever it is: a queue, a robot, people. This one has no oven.
fn carry_out(task: &TaskSpec) -> Result<String, String> {
    println!("  {}: {}", task.id, task.description);
    if task.description.contains("oven") { Err("there is no oven".to_owned()) } else { Ok("done".to_owned()) }
}

/// Returns a scripted model: its first answer is a plan with a mistake, its second a patch.
/// `aime_llm::ModelStack::server` calls real ones.
fn model() -> ScriptedModel {
    let plan = json!({"tasks": [
        {"id": "dough", "description": "Knead the dough"},
        {"id": "bake", "description": "Bake it in the oven", "depends_on": "dough"},
        {"id": "serve", "description": "Serve the bread", "depends_on": ["bake"]},
    ]});
    let patch = json!({"reasoning": "a pan does as well", "changes": [
        {"op": "add_task", "task": {"id": "fry", "description": "Fry it in a pan", "dependencies": ["dough"]}, "replaces": ["bake"]},
    ]});
    ScriptedModel::new("baker").on(When::schema("aime_plan"), [Reply::json(plan)]).on(When::schema("aime_patch"), [Reply::json(patch)])
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let goal = "First knead a dough, then bake it, and serve the bread afterwards";
    let planner = Planner::new(model().built(), PlannerSettings::default());

    // Rules choose the mode. If they are unsure, a model can decide (`ask_route`).
    let mode = match route(goal, &RouteSettings::default(), &default_categories()) {
        Route::Decided(routed) => routed.mode,
        Route::AskModel(_) => PlanMode::Complex,
    };
    let planned = planner.plan(&PlanRequest::new(goal, mode)).await?;
    println!("{mode} plan of {} tasks; repaired: {}", planned.plan.tasks.len(), aime_messages::Message::list("; ", &planned.repairs));

    // The progress of the plan is the fold of events. You provide the times; here they are constant.
    let now = Timestamp::from_millis(0);
    let mut state = ProgressState::new("bread".parse()?, goal, now);
    state.apply(now, &ProgressEvent::PlanCreated { plan: planned.plan, repairs: planned.repairs, fallback: planned.fallback })?;
    loop {
        state.settle_all(now)?;
        let Some(task) = state.ready_by_priority().into_iter().next() else { break };
        state.advance(now, &StatusChange::new(task.clone(), TaskStatus::Running))?;
        match carry_out(&state.tasks[&task].spec) {
            Ok(summary) => {
                state.apply(now, &ProgressEvent::TaskConcluded { task: task.clone(), conclusion: Conclusion::success(summary) })?;
                state.advance(now, &StatusChange::new(task, TaskStatus::Completed))?;
            }
            Err(error) => {
                state.fail(now, &task, Conclusion::failure(&error), 0)?;
                repair(&planner, &mut state, task, error).await?;
            }
        }
    }
    println!("\n{}", state.to_markdown());
    let done = state.tasks.values().filter(|task| task.status == TaskStatus::Completed).map(|task| task.spec.id.as_str());
    assert_eq!(done.collect::<Vec<_>>(), ["dough", "fry", "serve"]);
    Ok(())
}

/// Asks for a patch. Answers are checked against the current plan, and the model is asked again if one does not fit.
async fn repair(planner: &Planner, state: &mut ProgressState, failed: TaskId, error: String) -> Result<(), Box<dyn Error>> {
    println!("  {failed} failed: {error}");
    let trigger = TriggerReason { tasks: vec![failed], ..TriggerReason::new(TriggerKind::TaskFailed, 90, error) };
    let request = ReplanRequest::of(state, vec![trigger.clone()]);
    let after = |patch: &_| match state.patched(patch, state.last_progress_at) {
        Ok(after) => Ok(after.plan()),
        Err(found) => Err(found.faults.into_iter().map(PlanFault::from).collect()),
    };
    let replanned = planner.replan(&request, after).await?;
    println!("  patched: {}", replanned.patch.reasoning);
    let at = state.last_progress_at;
    let decision = Decision::next(state, at, vec![trigger], replanned.patch);
    Ok(state.apply(at, &ProgressEvent::PlanChanged { decision })?)
}

#[test]
fn a_plan_is_carried_out_and_repaired() {
    main().unwrap();
}
