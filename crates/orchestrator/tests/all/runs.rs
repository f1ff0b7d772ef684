//! Undisturbed runs, and runs that are stopped.

use aime_llm::{
    Prices,
    scripted::{Reply, ScriptedModel, When},
};
use aime_orchestrator::{Bounds, OrchestratorError, view};
use aime_progress_management::{PlanMode, RunStatus, TaskStatus, read_snapshot};
use serde_json::json;

use crate::{
    bench::{Bench, Point, control, done, four_lines, plan, run_id, statuses, stopped_after_two_calls, wait_for_events},
    crashes::check,
};

// Requirement: 1.7, 7.9
#[tokio::test]
async fn a_goal_is_planned_and_carried_out_to_its_answer() {
    let planned = json!({"tasks": [
        {"id": "write", "description": "Write the first line into the file log"},
        {"id": "check", "kind": "tool", "tool": "read_file", "parameters": {"path": "log"}, "dependencies": ["write"]},
    ]});
    let model = ScriptedModel::new("m")
        .on(When::schema("aime_route"), [Reply::json(json!({"complexity": "complex", "reason": "two steps"}))])
        .on(When::schema("aime_plan"), [Reply::json(planned)])
        .on(When::schema("aime_verdict"), [Reply::json(json!({"passed": true, "reason": "it is there"}))])
        .on(When::tools().and_turn(0), [Reply::call("write_file", json!({"path": "log", "content": "hello\n"}))])
        .on(When::tools().and_turn(1), [done("written")])
        .on(When::plain(), [Reply::text("The log says hello.")]);
    let bench = Bench::new(model);
    let (mut request, (control, mut events)) = (bench.request("Write a line and then check that it is there", None), control());
    request.settings.mode = Some(PlanMode::Complex);
    let result = bench.orchestrator().run_with(request, control).await.unwrap();
    assert_eq!((result.status, result.answer.as_str()), (RunStatus::Completed, "The log says hello."), "{result:#?}");
    assert_eq!(bench.log(), ["hello"]);
    let state = bench.state();
    assert_eq!(statuses(&state), [("write", TaskStatus::Completed), ("check", TaskStatus::Completed)]);
    assert_eq!(state.tasks[1].conclusion.as_ref().unwrap().text().trim(), "hello", "{:?}", state.tasks[1]);
    assert_eq!(result.usage.requests, bench.model.requests().len() as u64, "every request is paid for");
    // The events published during the run equal those in the journal.
    let mut live = Vec::new();
    while let Some(event) = events.recv().await {
        assert_eq!(event.seq, live.len() as u64 + 1);
        live.push(event.event);
    }
    assert_eq!(live, bench.events().into_iter().map(|timed| timed.event).collect::<Vec<_>>());
    let snapshot = read_snapshot(&bench.path(".aime/progress/trip.json")).unwrap();
    assert_eq!(snapshot, state);
}

#[tokio::test]
async fn a_run_that_is_over_gives_its_result_again_and_does_nothing() {
    let (model, plan) = four_lines();
    let bench = Bench::new(model);
    let first = bench.run("Write four lines", Some(plan)).await;
    assert_eq!(first.status, RunStatus::Completed, "{first:#?}");
    let (requests, events) = (bench.model.requests().len(), bench.events().len());
    assert_eq!(bench.resume().await, first);
    assert_eq!((bench.model.requests().len(), bench.events().len()), (requests, events));
    assert_eq!(bench.log(), ["one", "two", "three", "four"]);
}

// Requirement: 7.13
#[tokio::test]
async fn a_stop_at_any_event_resumes_with_nothing_done_twice() {
    for stop_at in (1..).step_by(3) {
        let (model, plan) = four_lines();
        let bench = Bench::new(model);
        let ((control, events), orchestrator) = (control(), bench.orchestrator());
        let stop = control.stop.clone();
        let stopping = tokio::spawn(async move {
            wait_for_events(events, stop_at).await;
            stop.cancel();
        });
        let first = orchestrator.run_with(bench.request("Write four lines", Some(plan)), control).await.unwrap();
        stopping.abort();
        let code = first.error.as_ref().map(|error| error.code.word());
        assert!(matches!(code, None | Some("interrupted" | "goal_not_reached")), "{first:#?}");
        assert!(!statuses(&bench.state()).iter().any(|(_, status)| *status == TaskStatus::Running), "nothing is left running");
        let stopped = code == Some("interrupted");
        let result = if stopped { bench.resume().await } else { first };
        check(&bench, &result, &format!("stopped at {stop_at}"));
        if !stopped {
            break;
        }
    }
}

// Requirement: 10.8
#[tokio::test]
async fn a_bound_on_tool_calls_holds_for_actors() {
    let bench = stopped_after_two_calls().await;
    assert_eq!(bench.log(), ["one", "two"], "the third call is not made");
    let raised = Bounds { max_tool_calls: 100, ..Bounds::default() };
    let result = bench.orchestrator().resume(&run_id(), Some(raised), control().0).await.unwrap();
    assert_eq!(result.status, RunStatus::Completed, "{result:#?}");
    assert_eq!(bench.log(), ["one", "two", "four"], "the actor was told that its call was not ended, and did not repeat it");
}

// Requirement: 10.1
#[tokio::test]
async fn a_bound_on_tokens_is_kept_before_they_are_spent() {
    let (model, plan) = four_lines();
    let bench = Bench::new(model);
    let mut request = bench.request("Write four lines", Some(plan));
    request.settings.bounds.max_tokens = Some(10);
    let result = bench.orchestrator().run(request).await.unwrap();
    assert_eq!(result.error.as_ref().map(|error| error.code.word()), Some("bound_reached"), "{result:#?}");
    assert!(bench.model.requests().is_empty(), "nothing was spent");
    let raised = Bounds { max_tokens: Some(1_000_000), ..Bounds::default() };
    let result = bench.orchestrator().resume(&run_id(), Some(raised), control().0).await.unwrap();
    assert_eq!(result.status, RunStatus::Completed, "{result:#?}");
    assert_eq!(bench.log(), ["one", "two", "three", "four"]);
}

/// The budget has no room for the planner's request, so no attempt at a task waits for the run to revoke it.
#[tokio::test]
async fn a_bound_on_tokens_stops_planning_too() {
    let planned = json!({"tasks": [{"id": "say", "description": "Say it"}]});
    let model = ScriptedModel::new("m").on(When::schema("aime_plan"), [Reply::json(planned)]).on(When::tools(), [done("said")]);
    let bench = Bench::new(model.on(When::plain(), [Reply::text("It is said.")]));
    let mut request = bench.request("Say it", None);
    request.settings.mode = Some(PlanMode::Complex);
    request.settings.bounds.max_tokens = Some(10);
    let result = bench.orchestrator().run(request).await.unwrap();
    assert_eq!(result.error.as_ref().map(|error| error.code.word()), Some("bound_reached"), "{result:#?}");
    assert!(bench.model.requests().is_empty(), "nothing was spent");
    let raised = Bounds { max_tokens: Some(1_000_000), ..Bounds::default() };
    let result = bench.orchestrator().resume(&run_id(), Some(raised), control().0).await.unwrap();
    assert_eq!(result.status, RunStatus::Completed, "what was left out for want of budget is done: {result:#?}");
}

// Requirement: 10.3
#[tokio::test]
async fn a_bound_on_money_is_kept_before_it_is_spent() {
    let (model, plan) = four_lines();
    // At a million dollars per million tokens, the first request alone would cost hundreds.
    let bench = Bench::new(model.with_prices(Prices { input: 1_000_000.0, output: 1_000_000.0, ..Prices::default() }));
    let mut request = bench.request("Write four lines", Some(plan));
    request.settings.bounds.max_cost_usd = Some(100.0);
    let result = bench.orchestrator().run(request).await.unwrap();
    let error = result.error.unwrap();
    assert_eq!(error.code.word(), "bound_reached");
    assert!(error.message.to_string().contains("0.0000 of 100.0000 USD are spent or reserved"), "{}", error.message);
    assert!(bench.model.requests().is_empty(), "nothing was spent");
    let raised = Bounds { max_cost_usd: Some(1_000_000.0), ..Bounds::default() };
    let result = bench.orchestrator().resume(&run_id(), Some(raised), control().0).await.unwrap();
    assert_eq!(result.status, RunStatus::Completed, "{result:#?}");
}

#[tokio::test]
async fn a_raised_bound_on_steps_reaches_the_actors_made_after_it() {
    let (model, plan) = four_lines();
    let bench = Bench::new(model);
    let mut request = bench.request("Write four lines", Some(plan));
    request.settings.bounds = Bounds { max_steps: Some(1), max_actors: 1, ..Bounds::default() };
    let result = bench.orchestrator().run(request).await.unwrap();
    assert_eq!(result.error.as_ref().map(|error| error.code.word()), Some("bound_reached"), "{result:#?}");
    let result = bench.orchestrator().resume(&run_id(), Some(Bounds::default()), control().0).await.unwrap();
    assert_eq!(result.status, RunStatus::Completed, "{result:#?}");
}

#[tokio::test]
async fn a_plan_that_breaks_a_rule_is_a_result_with_the_faults() {
    let bench = Bench::new(ScriptedModel::new("m"));
    let tasks = json!([{"id": "a", "kind": "actor", "description": "x", "dependencies": ["b"]}]);
    let result = bench.run("Do it", Some(plan(tasks))).await;
    let error = result.error.unwrap();
    assert_eq!(error.code.word(), "goal_not_reached");
    assert!(
        error.message.to_string().contains("the plan is not valid") && error.message.to_string().contains("\"b\""),
        "{}",
        error.message
    );
}

#[tokio::test]
async fn names_of_runs_are_kept_apart() {
    let (model, plan) = four_lines();
    let bench = Bench::new(model);
    assert!(matches!(view(&bench.journal, &run_id()), Err(OrchestratorError::NoSuchRun { .. })));
    assert!(matches!(bench.orchestrator().resume(&run_id(), None, control().0).await, Err(OrchestratorError::NoSuchRun { .. })));
    bench.run("Write four lines", Some(plan.clone())).await;
    let again = bench.orchestrator().run(bench.request("Write four lines", Some(plan))).await;
    assert!(matches!(again, Err(OrchestratorError::Journal(_))), "{again:?}");
    assert_eq!(bench.log().len(), 4);
}

#[tokio::test]
async fn two_do_not_drive_one_run() {
    let (model, plan) = four_lines();
    let bench = Bench::new(model);
    let (orchestrator, there) = (bench.orchestrator(), bench.hold(Point::Begun(1)));
    let first = orchestrator.run(bench.request("Write four lines", Some(plan)));
    let second = async {
        there.await;
        let second = bench.orchestrator().resume(&run_id(), None, control().0).await;
        bench.release();
        second
    };
    let (first, second) = tokio::join!(first, second);
    assert!(matches!(second, Err(OrchestratorError::Lock(_))), "{second:?}");
    assert_eq!(first.unwrap().status, RunStatus::Completed);
}
