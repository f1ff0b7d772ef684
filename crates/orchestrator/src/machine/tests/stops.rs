//! Leaving a run and continuing: neither stops nor crashes may lose or repeat work.

use aime_durable::Reason;
use aime_progress_management::{CallOutcome, Outcome, PlanMode, ProgressEvent, RunStatus};

use super::{
    build::{conclusion, id},
    world::World,
};
use crate::{RunEffect, RunFact};

// Requirement: 10.10
#[test]
fn a_stop_leaves_nothing_running_and_resumes() {
    let mut world = World::of("a; b=look; c; d: a");
    world.done("c").acknowledges = false;
    world.stopped();
    assert!(world.under_way.values().all(|under_way| under_way.revoked == Some(Reason::Stopped)));
    world.done("a");
    assert!(world.output.is_none(), "everything is waited for");
    world.acknowledge_all();
    assert_eq!(world.ended(), "interrupted");
    assert_eq!(world.statuses(), "a:pending b:pending c:completed d:pending", "a result after the stop changes nothing");
    assert_eq!(world.events_named("run_interrupted").len(), 1);
    world.acknowledges = true;
    world.resumed();
    assert_eq!((world.effect("a").as_str(), world.effect("b").as_str()), ("a/1/2", "b/1/2"), "new effects");
    let RunEffect::StartActor { execution, .. } = world.under_way[&world.effect("a")].effect else { panic!() };
    assert_eq!(execution, 1, "the same execution: the actor goes on from its own journal");
    world.done("a").done("b").done("d").answers("done");
    assert_eq!(world.ended(), "completed");
    assert_eq!(world.state().tasks[&id("c")].attempts, 1, "what was completed is not done again");
}

#[test]
fn a_stop_in_each_phase_resumes_there() {
    for phase in ["route", "plan", "a", "replan", "verify", "answer"] {
        for crash in [false, true] {
            let mut world = World::new();
            let mut plan = super::build::plan("a; b: a");
            plan.strategic.success_criteria = vec!["good".into()];
            for step in ["route", "plan", "a", "replan", "verify", "answer"] {
                if step == phase {
                    if crash {
                        world.crashed();
                    } else {
                        world.stopped();
                        assert_eq!(world.ended(), "interrupted");
                        world.resumed();
                    }
                    assert!(world.open().split(' ').any(|open| open == phase), "{phase}: {}", world.open());
                }
                match step {
                    "route" => world.routed(PlanMode::Complex),
                    "plan" => world.plans(crate::Planning::Planned {
                        plan: Box::new(plan.clone()),
                        repairs: vec![],
                        refused: vec![],
                        fallback: None,
                    }),
                    "a" => world.fails_for_good("a"),
                    "replan" => world.patched(vec![super::build::add("a1", &["a"])]).done("a1").done("b"),
                    "verify" => world.verified(&[("good", Some(true))]),
                    _ => world.answers("done"),
                };
            }
            assert_eq!((world.ended(), world.state().status), ("completed", RunStatus::Completed), "{phase}");
        }
    }
}

#[test]
fn a_second_stop_and_a_stop_of_what_is_over_change_nothing() {
    let mut world = World::of("a");
    world.acknowledges = false;
    world.stopped().stopped();
    assert_eq!(world.events_named("run_interrupted").len(), 1);
    world.acknowledge_all();
    assert_eq!(world.ended(), "interrupted");
}

// Requirement: 7.14
#[test]
fn a_call_cut_off_by_a_crash_is_repeated_only_if_it_may_be() {
    for (tool, status) in [("look", "running"), ("append", "failed")] {
        let mut world = World::of(&format!("a={tool}; b: a"));
        world.crashed();
        assert_eq!(world.status("a").word(), status, "{tool}");
        let [ProgressEvent::ToolCallFinished { outcome: CallOutcome::InDoubt, call, .. }] = world.events_named("tool_call_finished")[..]
        else {
            panic!()
        };
        assert_eq!(call, "a/1/1");
        if status == "failed" {
            let task = &world.state().tasks[&id("a")];
            assert!(task.failed_for_good);
            assert_eq!(world.state().evidence[0].task, Some(id("a")));
            let error = task.conclusion.clone().unwrap().error.unwrap();
            assert_eq!(error, "append was begun (a/1/1) and cut off before its end, and its outcome is unknown");
            assert_eq!(world.open(), "replan");
        } else {
            assert_eq!(world.effect("a").as_str(), "a/1/2");
        }
    }
}

#[test]
fn a_call_cut_off_by_a_stop_is_repeated_only_if_it_may_be() {
    for (tool, status) in [("look", "pending"), ("append", "failed")] {
        let mut world = World::of(&format!("a={tool}; b: a"));
        world.stopped();
        assert_eq!((world.ended(), world.status("a").word()), ("interrupted", status), "{tool}");
        let [ProgressEvent::ToolCallFinished { outcome: CallOutcome::Cancelled, .. }] = world.events_named("tool_call_finished")[..] else {
            panic!()
        };
        world.resumed();
        assert_eq!(world.open(), if status == "failed" { "replan" } else { "a" });
    }
}

/// Returns whether the open attempt at `a` has the result of its call already.
fn has_result(world: &World) -> bool {
    match &world.under_way[&world.effect("a")].effect {
        RunEffect::CallTool { result, .. } => result.is_some(),
        _ => panic!(),
    }
}

// Requirement: 5.2
#[test]
fn a_call_that_ended_is_only_checked_again() {
    let cut_off: [fn(&mut World); 3] = [
        |world| {
            world.crashed();
        },
        |world| {
            world.stopped().resumed();
        },
        // A host that lost its process does not know how far the attempt was.
        |world| {
            world.ends("a", conclusion(Outcome::InDoubt, Some("its outcome is unknown"), None));
        },
    ];
    for (number, cut_off) in cut_off.into_iter().enumerate() {
        let mut world = World::of("a=append; b: a");
        assert!(!has_result(&world));
        world.called("a");
        for attempt in ["a/1/2", "a/1/3"] {
            cut_off(&mut world);
            assert_eq!((world.effect("a").as_str(), has_result(&world)), (attempt, true), "{number}");
        }
        world.done("a");
        let calls = [world.events_named("tool_call_started").len(), world.events_named("tool_call_finished").len()];
        assert_eq!((calls, world.statuses().as_str()), ([1, 1], "a:completed b:running"), "{number}");
    }
}

#[test]
fn a_task_whose_check_failed_calls_its_tool_again() {
    let mut world = World::of("a=append");
    world.called("a").fails("a");
    assert_eq!((world.effect("a").as_str(), has_result(&world)), ("a/2/2", false));
    world.called("a").done("a");
    assert_eq!([world.events_named("tool_call_started").len(), world.events_named("tool_call_finished").len()], [2, 2]);
}

#[test]
fn a_crash_while_stopping_stops_nothing_twice() {
    let mut world = World::of("a; b");
    world.acknowledges = false;
    world.stopped();
    world.acknowledges = true;
    world.crashed();
    assert_eq!(world.open(), "a b", "the stop is over with the process");
    world.done("a").done("b").answers("done");
    assert_eq!(world.ended(), "completed");
}

#[test]
fn a_crash_at_the_end_ends_the_run() {
    let mut world = World::with("a", |settings| settings.bounds.max_seconds = Some(100));
    world.acknowledges = false;
    world.done("a");
    assert!(world.output.is_none() && world.machine.is_over(), "the timer is still to be acknowledged");
    let mut after = world.clone();
    after.machine = world.replayed();
    after.send(RunFact::Resumed { bounds: None });
    // `drive` itself acknowledges effects that no host has started.
    assert_eq!(after.output.as_ref().map(|output| output.status), Some(RunStatus::Completed));
}

// Requirement: 3.21
#[test]
fn crash_after_crash_the_run_comes_to_its_end() {
    let mut world = World::of("a; b: a; c=look");
    for task in ["a", "b"] {
        for _ in 0..5 {
            world.crashed();
        }
        world.done(task);
    }
    world.done("c").crashed().answers("done");
    assert_eq!(world.ended(), "completed");
    assert_eq!(world.state().tasks[&id("b")].attempts, 6, "interrupted attempts are counted");
}

#[test]
fn every_effect_is_answered_or_revoked() {
    let mut world = World::of("a; b: a; c");
    world.stopped().resumed().done("a");
    world.crashed();
    world.fails_for_good("b").patched(vec![]).done("c");
    assert_eq!(world.ended(), "goal_not_reached");
    let answered: Vec<_> =
        world.facts.iter().filter_map(|(_, fact)| <super::super::RunMachine as aime_durable::Machine>::answers(fact)).collect();
    for id in &world.issued {
        assert_eq!(answered.iter().filter(|answered| **answered == id).count(), 1, "{id}");
    }
}
