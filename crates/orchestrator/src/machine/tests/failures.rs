//! Failed attempts, and the consequences for the task and for others.

use aime_progress_management::{CallOutcome, ConflictKind, FailureCause, MergeConflict, Outcome, ProgressEvent, Significance};

use super::{
    build::{check, conclusion, id},
    world::World,
};
use crate::{FoundConflict, RunEffect, RunFact};

// Requirement: 6.1
#[test]
fn a_task_is_tried_again_as_often_as_is_allowed() {
    for max_retries in [0, 1, 2, 5] {
        let mut world = World::with("a", |settings| settings.triggers.max_retries = max_retries);
        for execution in 1..=max_retries + 1 {
            assert_eq!(world.effect("a").as_str(), format!("a/{execution}/{execution}"));
            world.fails("a");
        }
        let task = &world.state().tasks[&id("a")];
        assert_eq!((task.attempts, task.failures, task.failed_for_good), (max_retries + 1, max_retries + 1, true));
        assert_eq!(world.open(), "replan");
    }
}

#[test]
fn a_retry_that_succeeds_is_a_success() {
    let mut world = World::of("a");
    world.fails("a").fails("a").done("a");
    assert_eq!(world.ended(), "completed");
    assert_eq!(world.events_named("triggers_fired").len(), 0);
}

#[test]
fn an_attempt_that_ends_as_interrupted_by_itself_counts() {
    let mut world = World::of("a=append");
    for _ in 0..3 {
        world.ends("a", conclusion(Outcome::Interrupted, None, None));
    }
    assert_eq!(world.statuses(), "a:failed");
    assert_eq!(world.open(), "replan", "it does not go on for ever");
}

// Requirement: 6.1
#[test]
fn a_final_failure_asks_for_a_replan_at_once() {
    for cause in [FailureCause::Denied, FailureCause::Reported, FailureCause::Blocked] {
        let mut world = World::of("a");
        world.ends("a", conclusion(Outcome::Failure, Some("not done"), Some(cause)));
        assert_eq!(world.statuses(), "a:failed");
        assert_eq!((world.state().tasks[&id("a")].attempts, world.open().as_str()), (1, "replan"), "{cause:?}");
    }
}

#[test]
fn a_failed_child_never_cancels_its_siblings() {
    let mut world = World::of("g/; g/a; g/b; c; d: a");
    world.acknowledges = false;
    world.fails_for_good("a");
    assert_eq!(world.stopping(), "", "nobody is stopped");
    assert_eq!(world.open(), "b c replan");
    assert_eq!(world.statuses(), "g:running a:failed b:running c:running d:blocked");
    world.acknowledges = true;
    world.no_patch().done("b").done("c");
    assert_eq!(world.statuses(), "g:completed a:failed b:completed c:completed d:skipped");
    assert_eq!(world.ended(), "goal_not_reached");
}

#[test]
fn a_model_that_cannot_be_used_leaves_a_run_that_resumes() {
    let mut world = World::with("a; b", |settings| settings.triggers.max_retries = 0);
    for attempt in 2..=4 {
        world.ends("a", conclusion(Outcome::Failure, Some("401: no key"), Some(FailureCause::Model)));
        assert_eq!(world.ended(), "model_unavailable");
        assert!(world.message().contains("401"));
        assert_eq!(world.statuses(), "a:pending b:pending");
        world.resumed();
        let expected = (format!("a/1/{attempt}"), format!("b/1/{attempt}"));
        assert_eq!((world.effect("a").as_str(), world.effect("b").as_str()), (&*expected.0, &*expected.1), "both actors go on");
    }
    assert_eq!((world.state().tasks[&id("a")].failures, world.events_named("task_concluded").len()), (0, 0), "no attempt has ended");
    world.replayed();
    world.done("a").done("b").answers("done");
    assert_eq!(world.ended(), "completed");
}

#[test]
fn actors_that_ran_out_of_steps_are_a_bound() {
    let mut world = World::of("a");
    for _ in 0..3 {
        world.ends("a", conclusion(Outcome::Failure, Some("reached max_steps (20)"), Some(FailureCause::Steps)));
    }
    world.no_patch();
    assert_eq!(world.ended(), "bound_reached");
}

#[test]
fn an_outcome_that_nobody_knows_is_evidence_and_not_repeated() {
    let mut world = World::of("a=append; b: a");
    world.ends("a", conclusion(Outcome::InDoubt, Some("cut off"), None));
    assert_eq!(world.statuses(), "a:failed b:blocked");
    let [evidence] = &world.state().evidence[..] else { panic!() };
    assert_eq!((evidence.task.as_ref(), evidence.significance, evidence.processed), (Some(&id("a")), Significance::High, false));
    assert_eq!(world.open(), "replan", "the planner decides");
    world.no_patch();
    assert!(!world.state().evidence[0].processed, "no decision used it");
    assert_eq!(world.ended(), "goal_not_reached");
}

#[test]
fn a_conflict_is_evidence_at_once_also_where_the_task_is_tried_again() {
    let mut world = World::of("a; b");
    world.ends("b", conclusion(Outcome::Failure, Some("it conflicts with: page"), Some(FailureCause::Conflict)));
    let [evidence] = &world.state().evidence[..] else { panic!() };
    assert_eq!((evidence.id.as_str(), evidence.task.as_ref(), evidence.significance), ("conflict-1", Some(&id("b")), Significance::High));
    assert!(evidence.content.contains("page"), "{}", evidence.content);
    assert_eq!(world.open(), "a b replan", "it is done again while the planner looks at what else may change the same files");
    world.patched(vec![]).done("a").done("b").answers("done");
    assert!(world.state().evidence[0].processed);
    assert_eq!(world.ended(), "completed");
}

/// Ends a task with a conflict in a private folder.
fn conflicts(world: &mut World, outcome: Outcome, resolved: bool) {
    let conflict = |path: &str, kind| MergeConflict {
        task: id("b"),
        path: path.to_owned(),
        kind,
        kept: Some(format!(".aime/runs/r/private/b-1/own/{path}")).filter(|_| !resolved),
        resolved,
    };
    let hunks = if resolved { "" } else { "@@ line 1 @@\n<<<<<<< in the working folder\na's\n=======\nb's\n>>>>>>> by this task\n" };
    let conflicts = vec![
        FoundConflict { conflict: conflict("page", ConflictKind::Text), hunks: hunks.to_owned() },
        FoundConflict { conflict: conflict("image", ConflictKind::Binary), hunks: String::new() },
    ];
    let checks = if resolved { Vec::new() } else { vec![check("the changes fit", Some(false))] };
    let conclusion = conclusion(outcome, None, None);
    world.send(RunFact::TaskEnded { id: world.effect("b"), conclusion, checks, calls: Vec::new(), conflicts, duration_ms: 1 });
}

// Requirement: 9.2
#[test]
fn a_conflict_goes_to_its_actor_and_then_to_the_planner_with_its_hunks() {
    for outcome in [Outcome::Success, Outcome::Failure] {
        let mut world = World::with("a; b", |settings| settings.triggers.max_retries = 1);
        if outcome == Outcome::Success {
            conflicts(&mut world, outcome, false);
            assert_eq!((world.effect("b").as_str(), world.state().evidence.len()), ("b/1/1+1", 0), "its own actor tries first");
            let RunEffect::StartActor { brief, .. } = &world.under_way[&world.effect("b")].effect else { panic!("no actor") };
            let missing = &brief.returned.as_ref().unwrap().missing;
            let hunks = "from files]\n`page`\n@@ line 1 @@\n<<<<<<< in the working folder\na's\n=======\nb's\n>>>>>>> by this task\n[end ";
            assert!(missing.starts_with("\"the changes fit\" does not hold") && missing.contains(hunks), "{missing}");
        }
        conflicts(&mut world, outcome, false);
        let [evidence] = &world.state().evidence[..] else { panic!("{:?}", world.state().evidence) };
        assert_eq!((evidence.task.as_ref(), evidence.significance), (Some(&id("b")), Significance::High));
        let expected = "two tasks changed the same files at once (b), and its changes are not in the working folder\n\
            `page` (text; its version is kept in `.aime/runs/r/private/b-1/own/page`)\n\
            @@ line 1 @@\n<<<<<<< in the working folder\na's\n=======\nb's\n>>>>>>> by this task\n\n\
            `image` (binary; its version is kept in `.aime/runs/r/private/b-1/own/image`)\n";
        assert_eq!(evidence.content, expected);
        let open: Vec<_> = world.state().conflicts.iter().map(|conflict| (conflict.path.as_str(), conflict.resolved)).collect();
        assert_eq!(open, [("page", false), ("image", false)], "each conflict is there once");
        let task = &world.state().tasks[&id("b")];
        if outcome == Outcome::Success {
            assert!(task.failed_for_good, "a new actor would begin from nothing");
            assert_eq!(task.conclusion.as_ref().unwrap().cause, Some(FailureCause::Conflict));
        }
        assert!(world.open().contains("replan"), "{}", world.open());
    }
}

// Requirement: 9.2
#[test]
fn a_conflict_that_its_actor_resolves_is_no_evidence() {
    let mut world = World::of("a; b");
    conflicts(&mut world, Outcome::Success, false);
    conflicts(&mut world, Outcome::Success, true);
    assert_eq!(world.events_named("merge_conflicted").len(), 2);
    assert!(world.state().evidence.is_empty());
    assert!(world.state().conflicts.iter().all(|conflict| conflict.resolved && conflict.kept.is_none()));
    world.done("a").answers("done");
    assert_eq!(world.ended(), "completed");
}

#[test]
fn the_runtime_failing_at_an_effect_is_a_failed_attempt() {
    let mut world = World::of("a=append; b");
    for task in ["a", "b"] {
        let id = world.effect(task);
        world.send(RunFact::EffectFailed { id, message: "it panicked".into() });
    }
    assert_eq!(world.open(), "a b");
    let [ProgressEvent::ToolCallFinished { outcome, output, .. }] = world.events_named("tool_call_finished")[..] else { panic!() };
    assert_eq!((*outcome, output.as_str()), (CallOutcome::Error, "it panicked"));
    world.done("a").done("b").answers("done");
    assert_eq!(world.ended(), "completed");
}

// Requirement: 4.21
#[test]
fn a_report_of_a_tool_is_cut() {
    let mut world = World::of("a=look");
    let mut ended = conclusion(Outcome::Success, None, None);
    ended.text = Some("x".repeat(5_000));
    world.ends("a", ended);
    let [ProgressEvent::ToolCallFinished { output, call, duration_ms, .. }] = world.events_named("tool_call_finished")[..] else {
        panic!()
    };
    assert_eq!((output.len(), call.as_str(), *duration_ms), (2_000, "a/1/1", 5));
}
