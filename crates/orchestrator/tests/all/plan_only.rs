//! Runs that stop once their plan is made.

use std::sync::Arc;

use aime_dynamic_planner::{Fallback, PlannerSettings, Prompts};
use aime_llm::scripted::{Reply, ScriptedModel, When};
use aime_orchestrator::{
    FailureCode, Hook, HookAnswer, HookError, HookEvent, HookPoint, Hooks, KeptPlans, ModelUse, OrchestratorBuilder, PlanResult, PlanRoute,
    PublishedEvent, RunFailure, RunRequest,
};
use aime_progress_management::{PlanMode, ProgressEvent, RunStatus};
use futures::future::BoxFuture;
use serde_json::json;

use crate::bench::{Bench, control, done, wait_for_events};

const GOAL: &str = "Write a line";

fn model() -> ScriptedModel {
    let plan = json!({"tasks": [{"id": "line", "description": "Write it", "dependencies": []}]});
    ScriptedModel::new("m").on(When::schema("aime_plan"), [Reply::json(plan)]).on(When::tools(), [done("written")])
}

fn request(bench: &Bench) -> RunRequest {
    let mut request = bench.request(GOAL, None);
    request.settings.mode = Some(PlanMode::Simple);
    request
}

fn builder(bench: &Bench) -> OrchestratorBuilder {
    bench.builder().model(bench.model.clone())
}

async fn plan(builder: OrchestratorBuilder, request: RunRequest) -> (PlanResult, Vec<PublishedEvent>) {
    let (control, mut watched) = control();
    let result = builder.build().unwrap().plan(request, control).await.unwrap();
    let mut events = Vec::new();
    while let Ok(event) = watched.try_recv() {
        events.push(event);
    }
    (result, events)
}

fn names(events: &[PublishedEvent]) -> Vec<&str> {
    events.iter().map(|published| published.event.name()).collect()
}

fn failure(result: PlanResult) -> RunFailure {
    result.plan.unwrap_err()
}

#[tokio::test]
async fn the_plan_of_a_run_and_nothing_else() {
    let bench = Bench::new(model());
    let (result, events) = plan(builder(&bench), request(&bench)).await;
    assert_eq!(names(&events), ["run_started", "routed", "planning_started", "model_called", "plan_created"]);
    assert_eq!(events.iter().map(|published| published.seq).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
    let of_plan = bench.model.requests();
    assert_eq!((of_plan.len(), result.calls.len()), (1, 1));
    assert!(bench.journal.runs().unwrap().is_empty() && !bench.path(".aime/runs").exists() && !bench.path(".aime/progress").exists());

    // A run asks the same question and gets the same plan.
    let other = Bench::new(model());
    builder(&other).build().unwrap().run(request(&other)).await.unwrap();
    let created = other.events().into_iter().find_map(|timed| match timed.event {
        ProgressEvent::PlanCreated { plan, .. } => Some(plan),
        _ => None,
    });
    assert_eq!(result.plan.ok(), created);
    assert_eq!(of_plan[0], other.model.requests()[0]);
}

#[tokio::test]
async fn a_run_counts_the_calls_that_made_its_plan() {
    let bench = Bench::new(model());
    let (PlanResult { plan: made, calls, .. }, _) = plan(builder(&bench), request(&bench)).await;
    let of_plan: Vec<u64> = calls.iter().map(|call: &ModelUse| call.spent.input_tokens).collect();
    let made = RunRequest { plan: made.ok(), planning: calls, ..request(&bench) };
    let result = builder(&bench).build().unwrap().run(made.clone()).await.unwrap();
    assert_eq!((result.status, result.usage.requests), (RunStatus::Completed, 2), "{result:#?}");

    // The bound of the run covers both planning and execution.
    let other = Bench::new(model());
    let mut bounded = made;
    bounded.settings.bounds.max_tokens = Some(of_plan[0]);
    let result = builder(&other).build().unwrap().run(bounded).await.unwrap();
    assert_eq!(result.error.map(|error| error.code), Some(FailureCode::BoundReached));
    assert!(other.model.requests().is_empty());
}

#[tokio::test]
async fn bounds_hold() {
    let bench = Bench::new(model());
    let mut request = request(&bench);
    request.settings.bounds.max_tokens = Some(10);
    let (result, _) = plan(builder(&bench), request).await;
    let failure = failure(result);
    assert_eq!(failure.code, FailureCode::BoundReached);
    assert_eq!(failure.hint.as_ref().map(ToString::to_string).as_deref(), Some("raise the bound on tokens, then plan again"));
    assert!(bench.model.requests().is_empty());
}

#[tokio::test]
async fn it_can_be_stopped() {
    let bench = Bench::new(model());
    let (control, _watched) = control();
    control.stop.cancel();
    let result = builder(&bench).build().unwrap().plan(request(&bench), control).await.unwrap();
    let failure = failure(result);
    assert_eq!((failure.code, failure.hint), (FailureCode::Interrupted, None));
}

/// Its conversation is in no journal of runs, whether the planning ends or is given up.
#[tokio::test]
async fn a_lead_that_only_plans_leaves_no_run() {
    let submitted = json!({"tasks": [{"id": "line", "description": "Write it", "dependencies": []}]});
    let bench = Bench::new(ScriptedModel::new("m").on(When::tool("submit_plan"), [Reply::call("submit_plan", submitted)]));
    let mut request = request(&bench);
    request.settings.route = PlanRoute::Auto;
    let (orchestrator, (control, events)) = (builder(&bench).build().unwrap(), control());
    tokio::select! {
        biased;
        () = wait_for_events(events, 1) => {}
        result = orchestrator.plan(request.clone(), control) => panic!("it was not given up: {result:?}"),
    }
    assert!(bench.journal.runs().unwrap().is_empty());
    let (result, _) = plan(builder(&bench), request).await;
    assert!(result.plan.is_ok() && result.conversation.is_some(), "{result:?}");
    assert!(bench.journal.runs().unwrap().is_empty());
}

/// Refuses every plan.
struct Never;

impl Hook for Never {
    fn name(&self) -> &str {
        "never"
    }

    fn points(&self) -> &[HookPoint] {
        &[HookPoint::AfterPlan, HookPoint::Stop]
    }

    fn ask<'a>(&'a self, event: &'a HookEvent) -> BoxFuture<'a, Result<HookAnswer, HookError>> {
        assert_eq!(event.point, HookPoint::AfterPlan);
        Box::pin(async { Ok(HookAnswer::Block { reason: "no plan is good".to_owned() }) })
    }
}

#[tokio::test]
async fn a_plan_that_a_hook_refuses_is_refused() {
    let bench = Bench::new(model());
    let hooks: Hooks = [Arc::new(Never) as Arc<dyn Hook>].into_iter().collect();
    let settings = PlannerSettings { fallback: Fallback::Fail, ..PlannerSettings::default() };
    let builder = builder(&bench).hooks(hooks).planner(settings, Prompts::default());
    let (result, events) = plan(builder, request(&bench)).await;
    assert_eq!(result.calls.iter().map(|call| call.spent.requests).sum::<u64>(), 3, "each try counts");
    let failure = failure(result);
    assert_eq!(failure.code, FailureCode::GoalNotReached);
    assert!(failure.message.to_string().contains("no plan is good"), "{failure:?}");
    assert_eq!(names(&events).iter().filter(|name| **name == "plan_refused").count(), 3);
}

#[tokio::test]
async fn a_kept_plan_is_used_and_none_is_kept() {
    let bench = Bench::new(model());
    let kept = KeptPlans::new(bench.path(".aime/plans"));
    let keeping = || builder(&bench).kept_plans(kept.clone());
    plan(keeping(), request(&bench)).await.0.plan.unwrap();
    plan(keeping(), request(&bench)).await.0.plan.unwrap();
    assert_eq!(bench.model.requests().len(), 2, "a plan that nobody carried out is not kept");
    keeping().build().unwrap().run(request(&bench)).await.unwrap();
    let asked = bench.model.requests().len();
    let (result, events) = plan(keeping(), request(&bench)).await;
    assert!(result.plan.is_ok() && result.calls.is_empty() && names(&events).contains(&"plan_reused"), "{events:?}");
    assert_eq!(bench.model.requests().len(), asked);
}
