//! History: the plan at a version, and runs that continue from there.

use aime_durable::{Commit, RUN_STREAM};
use aime_llm::scripted::{Reply, ScriptedModel, When};
use aime_orchestrator::{OrchestratorError, RunMachine, RunStats, fork, state_at, stats, view};
use aime_progress_management::{PlanDiff, PlanMode, RunId, RunStatus, TaskStatus, fold};
use serde_json::json;

use crate::bench::{Bench, control, plan, run_id, statuses};

/// A run whose second task fails and is replaced, after which the third continues.
async fn replanned() -> Bench {
    let patch = json!({"reasoning": "another way", "changes": [
        {"op": "add_task", "task": {"id": "other", "kind": "tool", "tool": "append", "parameters": {"line": "otherwise"}, "dependencies": ["first"]}, "replaces": ["second"]},
    ]});
    let model = ScriptedModel::new("m")
        .on(When::contains("The plan now:"), [Reply::json(patch)])
        .on(When::tools().and_contains("GO-STRAIGHT"), [Reply::call("terminate", json!({"status": "failure", "message": "a wall"}))])
        .on(When::plain(), [Reply::text("There.")]);
    let bench = Bench::new(model);
    let tasks = json!([
        {"id": "first", "kind": "tool", "tool": "append", "parameters": {"line": "first"}},
        {"id": "second", "kind": "actor", "description": "GO-STRAIGHT", "dependencies": ["first"]},
        {"id": "third", "kind": "tool", "tool": "append", "parameters": {"line": "third"}, "dependencies": ["second"]},
    ]);
    let result = bench.run("Go there", Some(plan(tasks))).await;
    assert_eq!((result.status, result.plan_version), (RunStatus::Completed, 2), "{result:#?}");
    assert_eq!(bench.log(), ["first", "otherwise", "third"]);
    bench
}

// Requirement: 7.15
#[tokio::test]
async fn a_version_is_seen_as_it_was_made() {
    let bench = replanned().await;
    let view = view(&bench.journal, &run_id()).unwrap();
    let (one, two) = (state_at(&view, 1).unwrap(), state_at(&view, 2).unwrap());
    assert_eq!(one.tasks.values().filter(|task| task.attempts > 0).count(), 0);
    assert_eq!(two.tasks["first".parse::<aime_progress_management::TaskId>().as_ref().unwrap()].status, TaskStatus::Completed);
    assert!(state_at(&view, 0).is_none() && state_at(&view, 3).is_none());
    let diff = PlanDiff::between(&one, &two);
    assert_eq!((diff.added[0].as_str(), diff.removed[0].id.as_str()), ("other", "second"));
}

// Requirement: 7.16
#[tokio::test]
async fn a_fork_goes_on_from_a_version_and_repeats_nothing_of_before() {
    let bench = replanned().await;
    for (version, log) in [
        (2, vec!["first", "otherwise", "third", "otherwise", "third"]),
        (1, vec!["first", "otherwise", "third", "first", "otherwise", "third"]),
    ] {
        std::fs::write(bench.path("log"), "first\notherwise\nthird\n").unwrap();
        let new: RunId = format!("fork-{version}").parse().unwrap();
        fork(&bench.journal, &run_id(), version, &new, 1).await.unwrap();
        let begun = view(&bench.journal, &new).unwrap();
        assert_eq!((begun.state.version, begun.state.plan_id.as_str()), (version, new.as_str()));
        let result = bench.orchestrator().resume(&new, None, control().0).await.unwrap();
        assert_eq!((result.status, result.run_id), (RunStatus::Completed, new.clone()), "{version}");
        assert_eq!(bench.log(), log, "v{version}: what was completed before it is not done again");
        let ended = view(&bench.journal, &new).unwrap();
        assert!(statuses(&ended.state).iter().all(|(_, status)| !status.is_open()));
        let events: Vec<_> = ended
            .events
            .iter()
            .map(|published| aime_progress_management::TimedEvent { at: published.at, event: published.event.clone() })
            .collect();
        assert_eq!(fold(&events).unwrap(), ended.state);
    }
    let source = view(&bench.journal, &run_id()).unwrap();
    assert_eq!((source.state.version, source.is_over), (2, true), "the run itself is as it was");
}

#[tokio::test]
async fn what_was_seen_of_a_run_is_brought_up_to_date_by_what_is_new() {
    let bench = replanned().await;
    let new: RunId = "fork".parse().unwrap();
    fork(&bench.journal, &run_id(), 2, &new, 1).await.unwrap();
    let mut seen = view(&bench.journal, &new).unwrap();
    let before = seen.events.len();
    assert_eq!(seen.renew(&bench.journal, &new).unwrap(), 0, "nothing has happened");
    bench.orchestrator().resume(&new, None, control().0).await.unwrap();
    let whole = view(&bench.journal, &new).unwrap();
    assert_eq!(seen.renew(&bench.journal, &new).unwrap(), whole.events.len() - before);
    assert_eq!((&seen.events, &seen.state, seen.is_over), (&whole.events, &whole.state, whole.is_over));
    assert_eq!((seen.actors, &seen.bounds, &seen.output), (whole.actors, &whole.bounds, &whole.output));
    // The view of another run must not be reused.
    let mut other = view(&bench.journal, &run_id()).unwrap();
    assert_eq!(other.renew(&bench.journal, &new).unwrap(), whole.events.len());
    assert_eq!((other.events, other.state), (whole.events, whole.state));
}

#[tokio::test]
async fn what_is_not_there_cannot_be_forked() {
    let bench = replanned().await;
    let new: RunId = "new".parse().unwrap();
    for version in [0, 3] {
        let error = fork(&bench.journal, &run_id(), version, &new, 1).await.unwrap_err();
        assert!(matches!(error, OrchestratorError::NoSuchVersion { latest: 2, .. }), "{error}");
    }
    let error = fork(&bench.journal, &new, 1, &new, 1).await.unwrap_err();
    assert!(matches!(error, OrchestratorError::NoSuchRun { .. }), "{error}");
    let error = fork(&bench.journal, &run_id(), 1, &run_id(), 1).await.unwrap_err();
    assert!(error.to_string().contains("trip"), "a name that is taken: {error}");
    assert_eq!(bench.journal.runs().unwrap().len(), 1);
}

/// An engine has no journal of ours; it passes the input and the facts of a run.
#[tokio::test]
async fn runs_that_are_kept_elsewhere_count_alike() {
    let planned = json!({"tasks": [{"id": "first", "kind": "tool", "tool": "append", "parameters": {"line": "first"}}]});
    let model = ScriptedModel::new("m");
    let bench = Bench::new(model.on(When::schema("aime_plan"), [Reply::json(planned)]).on(When::plain(), [Reply::text("There.")]));
    let mut request = bench.request("Go there", None);
    request.settings.mode = Some(PlanMode::Complex);
    bench.orchestrator().run(request).await.unwrap();
    let new: RunId = "fork".parse().unwrap();
    let ended = view(&bench.journal, &run_id()).unwrap().events.last().unwrap().at.as_millis();
    fork(&bench.journal, &run_id(), 1, &new, ended + 1).await.unwrap();
    bench.orchestrator().resume(&new, None, control().0).await.unwrap();
    let mut elsewhere = RunStats::default();
    for run in [&run_id(), &new] {
        let loaded = bench.journal.load::<RunMachine>(run.as_str(), "").unwrap().unwrap();
        elsewhere.count(loaded.input, &loaded.facts);
    }
    let metrics = &elsewhere.metrics;
    assert_eq!((elsewhere.runs, metrics.asked, metrics.executed), (2, 1, 2), "the plan of the fork was made before it");
    assert_eq!(elsewhere, stats(&bench.journal, None).unwrap());
}

#[tokio::test]
async fn a_fork_that_is_cut_off_has_not_begun() {
    let bench = replanned().await;
    let actors: Vec<String> = bench.journal.streams("trip").unwrap();
    assert!(actors.len() > 1, "{actors:?}");
    for steps in 1.. {
        let new: RunId = format!("fork-{steps}").parse().unwrap();
        let (source, mut ended) = (run_id(), false);
        {
            let mut forking = std::pin::pin!(fork(&bench.journal, &source, 2, &new, 1));
            for _ in 0..steps {
                ended = ended || futures::poll!(&mut forking).is_ready();
                bench.journal.flush().await.unwrap();
            }
        }
        let resumed = bench.orchestrator().resume(&new, None, control().0).await;
        if ended {
            assert_eq!((resumed.unwrap().status, steps > 2), (RunStatus::Completed, true), "{steps}");
            break;
        }
        let streams = bench.journal.streams(new.as_str()).unwrap();
        match resumed {
            Ok(_) => assert_eq!(streams, actors, "{steps}"),
            Err(OrchestratorError::NoSuchRun { .. }) => {
                // Another run may have the name. It does not continue the actors of the fork.
                let mut request = bench
                    .request("Go there", Some(plan(json!([{"id": "a", "kind": "tool", "tool": "append", "parameters": {"line": "a"}}]))));
                request.run = new.clone();
                assert_eq!(bench.orchestrator().run(request).await.unwrap().status, RunStatus::Completed);
                assert_eq!(bench.journal.streams(new.as_str()).unwrap(), [RUN_STREAM], "{steps}");
            }
            Err(error) => panic!("{steps}: {error}"),
        }
    }
}

#[tokio::test]
async fn a_fork_that_fails_leaves_no_run() {
    let bench = replanned().await;
    let loaded = bench.journal.load::<RunMachine>("trip", RUN_STREAM).unwrap().unwrap();
    // No actor has written this.
    let commit = Commit::<RunMachine> { input: Some(&loaded.input), facts: &[], events: Vec::new().into() };
    bench.journal.stream("trip", "second-2").append(commit).await.unwrap();
    let new: RunId = "new".parse().unwrap();
    let error = fork(&bench.journal, &run_id(), 2, &new, 1).await.unwrap_err();
    assert!(matches!(error, OrchestratorError::Journal(_)), "{error}");
    assert!(bench.journal.run("new").unwrap().is_none());
}
