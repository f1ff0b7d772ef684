//! Bounds on a run: each makes the run stop, and raising it lets the run continue.

use aime_progress_management::{FailureCause, ModelCost, Outcome, ProgressEvent, ProgressReport};

use super::{
    build::{conclusion, id},
    replans,
    world::World,
};
use crate::{Bounds, RunFact};

fn call(task: &str) -> ProgressEvent {
    ProgressEvent::ToolCallStarted { task: Some(id(task)), call: "1".into(), tool: "append".into(), parameters: Default::default() }
}

fn progress() -> ProgressEvent {
    ProgressEvent::ProgressReported { task: Some(id("a")), report: ProgressReport { status: "busy".into(), message: "on it".into() } }
}

/// The run stops at the bound, does not continue until the bound is raised, and then continues.
fn is_reached(world: &mut World, bound: &str, raised: Bounds) {
    assert_eq!(world.ended(), "bound_reached", "{bound}");
    assert!(world.message().starts_with(&format!("the bound on {bound} was reached: ")), "{}", world.message());
    let [.., ProgressEvent::BoundReached { bound: reached, .. }] = world.events_named("bound_reached")[..] else { panic!() };
    assert_eq!(reached, bound);
    assert!(!world.machine.is_over());
    world.resumed_with(Some(raised));
    assert!(world.output.is_none(), "{bound}: {:?}", world.output);
}

#[test]
fn tokens_and_money_are_reserved_by_the_runner_which_tells_of_the_bound() {
    for bound in ["tokens", "money"] {
        let mut world = World::of("a; b");
        world.send(RunFact::BoundReached { bound: bound.to_owned(), detail: "100 of 100".into() });
        is_reached(&mut world, bound, Bounds::default());
        assert_eq!((world.effect("a").as_str(), world.effect("b").as_str()), ("a/1/2", "b/1/2"), "both go on where they were");
    }
}

// Requirement: 10.4
#[test]
fn time_runs_out_in_every_phase() {
    let bounds = Bounds { max_seconds: Some(10), ..Bounds::default() };
    let raised = Bounds { max_seconds: Some(1_000), ..Bounds::default() };
    for phase in ["route", "plan", "a", "replan", "verify", "answer"] {
        let mut world = World::given(|input| input.settings.bounds = bounds.clone());
        for step in ["route", "plan", "a", "replan", "verify", "answer"] {
            if step == phase {
                break;
            }
            match step {
                "route" => world.routed(aime_progress_management::PlanMode::Complex),
                "plan" => {
                    let mut plan = super::build::plan("a; b: a");
                    plan.strategic.success_criteria = vec!["good".into()];
                    world.plans(crate::Planning::Planned { plan: Box::new(plan), repairs: vec![], refused: vec![], fallback: None })
                }
                "a" => world.reports("a", 0, replans::evidence("e", "a", aime_progress_management::Significance::High)),
                "replan" => world.patched(vec![]).done("a").done("b"),
                _ => world.verified(&[("good", Some(true))]),
            };
        }
        world.later(9);
        assert!(world.output.is_none() && world.open().contains(phase), "{phase}: {}", world.open());
        world.later(1);
        is_reached(&mut world, "time", raised.clone());
    }
}

// Requirement: 10.4
#[test]
fn time_is_that_of_the_work_alone() {
    let mut world = World::with("a", |settings| settings.bounds.max_seconds = Some(100));
    world.later(60).stopped();
    world.now += 1_000_000;
    world.resumed().later(30).reports("a", 0, call("a"));
    // After a crash, only the time of the last fact is known.
    world.now += 1_000_000;
    world.crashed();
    world.later(9);
    assert_eq!(world.open(), "a");
    world.later(1);
    assert_eq!(world.ended(), "bound_reached");
    world.resumed();
    assert_eq!(world.ended(), "bound_reached", "it is still used up");
}

#[test]
fn a_time_without_end_does_not_overflow() {
    let mut world = World::with("a", |settings| {
        settings.bounds.max_seconds = Some(u64::MAX);
        settings.triggers.stall_timeout = 0;
    });
    world.later(1_000_000).done("a");
    assert_eq!(world.ended(), "completed");
}

// Requirement: 10.8
#[test]
fn tool_calls_are_counted_over_all_tasks() {
    let raised = Bounds { max_tool_calls: 10, ..Bounds::default() };
    let mut world = World::with("a=look; b=look: a; c=look: b", |settings| settings.bounds.max_tool_calls = 2);
    world.done("a").done("b");
    is_reached(&mut world, "tool_calls", raised.clone());
    assert_eq!(world.open(), "c");

    let mut world = World::with("a; b", |settings| settings.bounds.max_tool_calls = 2);
    world.reports("a", 0, call("a")).reports("b", 0, call("b"));
    assert_eq!(world.open(), "a b");
    world.reports("a", 1, call("a"));
    is_reached(&mut world, "tool_calls", raised);
}

// Requirement: 10.6
#[test]
fn actors_are_counted_with_their_retries() {
    let mut world = World::with("a; b: a", |settings| settings.bounds.max_actors = 2);
    world.reports("a", 0, progress()).fails("a").reports("a", 0, progress()).done("a");
    is_reached(&mut world, "actors", Bounds { max_actors: 3, ..Bounds::default() });
    world.done("b").answers("done");
    assert_eq!(world.ended(), "completed");
}

/// An actor that is about to be created counts against the bound; an attempt resumed after a stop is the same actor.
#[test]
fn a_stop_uses_no_actor_up() {
    let mut world = World::with("a; b: a", |settings| settings.bounds.max_actors = 1);
    for number in 0..3 {
        assert_eq!(world.open(), "a");
        world.reports("a", number, progress()).stopped().resumed();
    }
    assert_eq!((world.machine.actors(), world.state().tasks[&id("a")].attempts), (1, 4));

    let mut world = World::with("a; b", |settings| settings.bounds.max_actors = 1);
    is_reached(&mut world, "actors", Bounds { max_actors: 2, ..Bounds::default() });
    assert_eq!(world.open(), "a b");
}

#[test]
fn no_bound_at_all_is_reached_at_once() {
    let nothing = [
        Bounds { max_actors: 0, ..Bounds::default() },
        Bounds { max_tool_calls: 0, ..Bounds::default() },
        Bounds { max_seconds: Some(0), ..Bounds::default() },
    ];
    for bounds in nothing {
        let mut world = World::with("a; b=look", |settings| settings.bounds = bounds.clone());
        world.later(0);
        assert_eq!(world.ended(), "bound_reached", "{bounds:?}");
        world.resumed_with(Some(Bounds::default()));
        world.done("a").done("b").answers("done");
        assert_eq!(world.ended(), "completed");
    }
}

#[test]
fn what_was_spent_is_summed() {
    let mut world = World::new();
    world.routed(aime_progress_management::PlanMode::Simple).planned("a");
    let spent = ModelCost { requests: 1, input_tokens: 5, cached_input_tokens: 1, output_tokens: 2, cost_usd: 0.5, ..ModelCost::default() };
    let called = ProgressEvent::ModelCalled {
        task: Some(id("a")),
        purpose: "act".into(),
        model: "m".into(),
        effort: None,
        spent,
        duration_ms: 1,
        text: String::new(),
        finish: None,
    };
    world.reports("a", 0, called.clone()).reports("a", 1, called);
    let spent = world.state().spent;
    assert_eq!((spent.requests, spent.input_tokens, spent.output_tokens, spent.cost_usd), (3, 20, 4, 1.0));
}

#[test]
fn a_bound_is_told_once() {
    let mut world = World::of("a");
    world.acknowledges = false;
    for _ in 0..3 {
        world.send(RunFact::BoundReached { bound: "tokens".to_owned(), detail: "all".into() });
    }
    assert_eq!(world.events_named("bound_reached").len(), 1);
}

// Requirement: 10.5
#[test]
fn who_ran_out_of_steps_is_told_which_bounds_to_raise() {
    let mut world = World::of("a");
    for _ in 0..3 {
        world.ends("a", conclusion(Outcome::Failure, Some("reached max_steps (12)"), Some(FailureCause::Steps)));
    }
    world.no_patch();
    let failure = world.output.and_then(|output| output.error).unwrap();
    assert!(
        failure.hint.as_ref().is_some_and(|hint| hint.to_string().contains("[run]") && hint.to_string().contains("profile")),
        "{failure:?}"
    );
}
