//! Runs whose process dies: the future is dropped in the middle, and another orchestrator continues from the files.

use std::time::Duration;

use aime_progress_management::{CallOutcome, Outcome, ProgressEvent, RunStatus, TaskStatus};

use crate::bench::{Bench, Point, append, control, done, four_lines, plan, run_id, statuses, wait_for_events};
use aime_llm::scripted::{Reply, ScriptedModel, When};
use aime_orchestrator::RunResult;
use serde_json::json;

/// Continues the run, and drops it at an event if it has not ended before.
async fn until(
    bench: &Bench,
    plan: Option<aime_progress_management::Plan>,
    moment: impl AsyncFnOnce(tokio::sync::mpsc::UnboundedReceiver<aime_orchestrator::PublishedEvent>),
) -> Option<RunResult> {
    let ((control, events), orchestrator) = (control(), bench.orchestrator());
    let carried = async {
        match plan {
            Some(plan) => orchestrator.run_with(bench.request("Write four lines", Some(plan)), control).await,
            None => orchestrator.resume(&run_id(), None, control).await,
        }
    };
    tokio::select! {
        biased;
        () = moment(events) => None,
        result = carried => Some(result.unwrap()),
    }
}

/// Checks the invariants of the four lines, for any number of crashes and stops.
pub(crate) fn check(bench: &Bench, result: &RunResult, when: &str) {
    let (log, state) = (bench.log(), bench.state());
    for line in ["one", "two", "three", "four"] {
        assert!(log.iter().filter(|written| *written == line).count() <= 1, "{line} was written twice, {when}: {log:?}");
    }
    let finished = bench.events().into_iter().filter_map(|timed| match timed.event {
        ProgressEvent::ToolCallFinished { task, outcome, .. } => Some((task, outcome)),
        _ => None,
    });
    // A call interrupted by a crash or a stop is not repeated without a decision.
    let cut = |outcome| matches!(outcome, CallOutcome::InDoubt | CallOutcome::Cancelled);
    let cut_off: Vec<_> = finished.filter(|(_, outcome)| cut(*outcome)).collect();
    if cut_off.is_empty() {
        assert_eq!(log, ["one", "two", "three", "four"], "{when}");
        assert_eq!(result.status, RunStatus::Completed, "{when}: {result:#?}");
    }
    match result.status {
        RunStatus::Completed => {
            assert!(cut_off.iter().all(|(task, _)| task.as_ref().is_some_and(|task| task.as_str() == "middle")), "{when}: {cut_off:?}")
        }
        _ => {
            // A call of the plan was interrupted, and the planner had no solution: it is reported, not repeated.
            let failed = state.tasks.values().find(|task| task.status == TaskStatus::Failed).unwrap();
            assert_eq!(failed.conclusion.as_ref().unwrap().outcome, Outcome::InDoubt, "{when}");
            assert!(result.error.as_ref().unwrap().message.to_string().contains("its outcome is unknown"), "{when}: {result:#?}");
            assert!(state.evidence.iter().any(|evidence| evidence.task.as_ref() == Some(&failed.spec.id)));
        }
    }
    assert!(!statuses(&state).iter().any(|(_, status)| status.is_open()), "{when}: {:?}", statuses(&state));
}

// Requirement: 7.13
#[tokio::test]
async fn a_crash_after_any_event_repeats_nothing() {
    for event in 1.. {
        let (model, plan) = four_lines();
        let bench = Bench::new(model);
        if until(&bench, Some(plan), async |events| wait_for_events(events, event).await).await.is_some() {
            assert!(event > 20, "it was killed in the middle");
            break;
        }
        let result = bench.resume().await;
        check(&bench, &result, &format!("killed after event {event}"));
    }
}

#[tokio::test]
async fn a_crash_in_any_call_repeats_nothing() {
    for point in (1..=4).flat_map(|call| [Point::Begun(call), Point::Written(call)]) {
        let (model, plan) = four_lines();
        let bench = Bench::new(model);
        let there = bench.hold(point);
        assert!(until(&bench, Some(plan), async |_| there.await).await.is_none(), "it was killed at {point:?}");
        bench.release();
        let result = bench.resume().await;
        let when = format!("killed at {point:?}");
        check(&bench, &result, &when);
        let in_doubt = bench
            .events()
            .into_iter()
            .filter(|timed| matches!(timed.event, ProgressEvent::ToolCallFinished { outcome: CallOutcome::InDoubt, .. }));
        assert_eq!(in_doubt.count(), 1, "one call is in doubt, {when}");
    }
}

#[tokio::test]
async fn crash_after_crash_the_run_comes_to_its_end() {
    let (model, plan) = four_lines();
    let bench = Bench::new(model);
    let mut plan = Some(plan);
    for round in 0.. {
        assert!(round < 100, "it never ends");
        if let Some(result) = until(&bench, plan.take(), async |events| wait_for_events(events, 9).await).await {
            check(&bench, &result, "killed again and again");
            break;
        }
    }
}

#[tokio::test]
async fn an_actor_is_told_of_a_call_in_doubt_and_decides() {
    let model = ScriptedModel::new("m")
        .on(When::tool("append").and_turn(0), [append("one")])
        .on(
            When::tool("append").and_contains("It was begun").and_contains("Files changed since: `log`").and_turn(1),
            [Reply::call("read_file", json!({"path": "log"}))],
        )
        .on(When::tool("append").and_turn(2), [done("I looked: it is written")]);
    let bench = Bench::new(model);
    let tasks = json!([{"id": "write", "kind": "actor", "description": "Write a line", "bundles": ["append", "files_read"]}]);
    let there = bench.hold(Point::Written(1));
    let killed = until(&bench, Some(plan(tasks)), async |_| there.await);
    assert!(killed.await.is_none());
    bench.release();
    let result = bench.resume().await;
    assert_eq!((result.status, result.answer.as_str()), (RunStatus::Completed, "I looked: it is written"), "{result:#?}");
    assert_eq!(bench.log(), ["one"]);
    assert_eq!(bench.state().tasks[0].attempts, 2, "the interrupted attempt is counted");
}

#[tokio::test]
async fn a_run_that_is_dropped_leaves_nothing_behind() {
    let (model, plan) = four_lines();
    let bench = Bench::new(model);
    let (orchestrator, there) = (bench.orchestrator(), bench.hold(Point::Begun(1)));
    tokio::select! {
        biased;
        () = there => {}
        result = orchestrator.run(bench.request("Write four lines", Some(plan))) => panic!("{result:?}"),
    }
    assert!(orchestrator.live().get(&run_id()).is_none(), "it is not live any more");
    bench.release();
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(bench.log().is_empty(), "the call was dropped with the run");
    // The message stays in the inbox, because nobody reads it any more.
    let journal = &bench.journal;
    journal.inbox_put("trip", 1, r#"{"message": "answer", "question": "q", "text": "yes"}"#).await.unwrap();
    tokio::time::sleep(Duration::from_millis(700)).await;
    assert_eq!(journal.inbox("trip").unwrap().len(), 1);
}

// Requirement: 7.13
#[tokio::test]
async fn a_run_whose_process_died_before_its_first_record_is_begun_again_under_its_name() {
    let (model, plan) = four_lines();
    let bench = Bench::new(model);
    let entered = aime_durable::NewRun { id: "trip", at: 0, machine_version: 1, title: "Write four lines", status: "planning" };
    bench.journal.create_run(entered.clone()).await.unwrap();
    let result = bench.run("Write four lines", Some(plan.clone())).await;
    check(&bench, &result, "begun again");
    let again = bench.orchestrator().run(bench.request("Write four lines", Some(plan))).await;
    assert!(again.is_err(), "one that has begun keeps its name");
}
