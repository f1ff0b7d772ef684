//! Plans that grow: emergent ones after their TODOs, complex ones between their tasks.

use aime_dynamic_planner::{Adaptive, GrowthSettings};
use aime_progress_management::{PlanChange, PlanMode, ProgressEvent, RunStatus, Significance, TaskStatus, TriggerKind};

use super::{
    build::{add, id},
    replans::evidence,
    world::World,
};
use crate::{Replanning, RunEffect, RunSettings};

/// Returns an emergent run with these first TODOs.
fn emergent(todos: &str) -> World {
    emergent_with(todos, |_| {})
}

fn emergent_with(todos: &str, change: impl FnOnce(&mut RunSettings)) -> World {
    let mut world = World::given(|input| {
        input.settings.max_parallel = 10;
        change(&mut input.settings);
    });
    world.routed(PlanMode::Emergent).planned(todos);
    world
}

/// Returns the reason for the pending update of the plan.
fn why(world: &World) -> String {
    let reasons = &world.order("replan").wake.reasons;
    assert!(reasons.iter().all(|reason| reason.kind == TriggerKind::Update), "{reasons:?}");
    reasons.iter().map(|reason| reason.detail.to_string()).collect::<Vec<_>>().join("; ")
}

// Requirement: 3.6
#[test]
fn a_plan_grows_by_what_was_found_until_nothing_is_missing() {
    let mut world = emergent("look");
    world.done("look");
    assert_eq!(why(&world), "every TODO is settled: is the goal reached?");
    assert_eq!(world.state().status, RunStatus::Replanning);
    world.patched(vec![add("dig: look", &[]), add("write: dig", &[])]);
    assert_eq!((world.open().as_str(), world.state().version), ("dig", 2));
    world.done("dig").done("write");
    world.patched(vec![]);
    assert_eq!(world.open(), "answer", "the results are put together");
    world.answers("found");
    assert_eq!((world.ended(), world.state().version), ("completed", 2));
    assert_eq!(world.state().decisions.iter().filter(|decision| decision.is_replan()).count(), 0, "growth is no replan");
}

// Requirement: 3.54
#[test]
fn what_is_independent_goes_on_while_the_plan_is_looked_at() {
    let mut world = emergent("a; b; c; d: a; e");
    world.done("a").done("b").done("c");
    assert_eq!(why(&world), "3 TODOs were completed since the last look");
    assert_eq!(world.open(), "e d replan", "nobody waits for the model");
    world.done("e").done("d");
    assert_eq!(world.open(), "replan");
    world.patched(vec![]);
    assert_eq!(why(&world), "every TODO is settled: is the goal reached?");
    world.patched(vec![]).answers("done");
    assert_eq!(world.ended(), "completed");
}

// Requirement: 3.57
#[test]
fn a_failure_is_looked_at_and_tried_again_and_the_third_holds_the_todo_back() {
    let mut world = emergent_with("a; b: a", |settings| settings.growth.stagnant_rounds = 4);
    for attempt in 1..=2 {
        world.fails("a");
        assert_eq!((why(&world).as_str(), world.open().as_str()), ("an attempt at a failed", "replan"), "{attempt}");
        assert_eq!(world.statuses(), "a:failed b:pending", "it waits for the look");
        if attempt == 1 {
            world.stopped().resumed();
            assert_eq!((why(&world).as_str(), world.open().as_str()), ("the last look came to nothing", "replan"));
        }
        world.patched(vec![]);
        assert_eq!(world.open(), "a", "the answer leaves it");
    }
    world.fails("a");
    assert_eq!(world.statuses(), "a:blocked b:pending", "it is not left in progress");
    let state = &world.order("replan").state;
    assert_eq!(state.tasks[&id("a")].reason.as_ref().map(ToString::to_string).as_deref(), Some("failed 3 times: it broke"));
    world.patched(vec![add("a1", &["a"])]);
    assert_eq!(world.statuses(), "a:skipped a1:running b:pending");
    world.done("a1").done("b").patched(vec![]).answers("done");
    assert_eq!(world.ended(), "completed");
}

// Requirement: 3.59
#[test]
fn what_nothing_can_start_is_told_and_not_waited_for() {
    let mut world = emergent_with("a; b: a", |settings| settings.growth.max_failures = 1);
    world.fails("a").patched(vec![]);
    assert_eq!(world.ended(), "goal_not_reached", "an empty update is an answer");
    assert_eq!(world.statuses(), "a:skipped b:skipped");
    assert!(world.message().contains("a was given up: failed: it broke"), "{}", world.message());
}

// Requirement: 3.58
#[test]
fn a_run_that_brings_nothing_about_stops_and_reports() {
    let mut world = emergent("a");
    let mut looks = 0;
    while world.output.is_none() {
        if world.open().contains("replan") {
            looks += 1;
            world.patched(vec![PlanChange::UnblockTask { id: id("a") }]);
        } else {
            world.fails("a");
        }
        assert!(looks <= 4, "{}", world.statuses());
    }
    assert_eq!((world.ended(), looks), ("goal_not_reached", 3));
    assert!(world.message().contains("stagnation: 4 looks"), "{}", world.message());
    assert!(world.state().tasks.values().all(|task| !task.status.is_open()), "{}", world.statuses());
}

#[test]
fn without_an_answer_the_plan_stays_and_ends() {
    let mut world = emergent("a");
    world.done("a").no_patch();
    assert_eq!(world.ended(), "completed");
    assert_eq!(world.events_named("replan_suppressed").len(), 0);
}

#[test]
fn updates_are_not_bounded_by_the_frequency_of_replans() {
    let mut world = emergent_with("t0", |settings| settings.frequency.max_replans_per_plan = 0);
    for number in 1..=8 {
        world.done(&format!("t{}", number - 1)).patched(vec![add(&format!("t{number}"), &[])]);
    }
    world.done("t8").patched(vec![]).answers("done");
    assert_eq!((world.ended(), world.state().version), ("completed", 9));
}

#[test]
fn a_stop_in_the_middle_of_a_look_looks_again() {
    for crash in [false, true] {
        let mut world = emergent("a");
        world.done("a");
        if crash {
            world.crashed()
        } else {
            world.stopped().resumed()
        };
        assert_eq!(why(&world), "the last look came to nothing");
        world.patched(vec![add("b", &[])]);
        world.done("b").patched(vec![]).answers("done");
        assert_eq!(world.ended(), "completed");
        world.replayed();
    }
}

#[test]
fn significant_evidence_is_still_a_replan() {
    let mut world = emergent("a; b");
    world.reports("a", 0, evidence("e", "a", Significance::High));
    let reasons = &world.order("replan").wake.reasons;
    assert_eq!(reasons[0].kind, TriggerKind::Evidence);
}

fn complex(adaptive: Adaptive) -> World {
    let mut world = World::given(|input| input.settings.adaptive = adaptive);
    world.routed(PlanMode::Complex).planned("a; b: a; c: b");
    world
}

// Requirement: 3.5
#[test]
fn a_complex_plan_adapts_between_its_tasks() {
    let mut world = complex(Adaptive::Always);
    world.done("a");
    assert_eq!((why(&world).as_str(), world.open().as_str()), ("a task was completed: does the rest of the plan still fit?", "b replan"));
    world.patched(vec![PlanChange::RemoveTask { id: id("c"), reason: "b does it".to_owned() }, add("d: b", &[])]);
    world.done("b").done("d").answers("done");
    assert_eq!((world.ended(), world.statuses().as_str()), ("completed", "a:completed b:completed c:skipped d:completed"));
}

// Requirement: 3.5
#[test]
fn news_below_the_trigger_is_looked_at_between_tasks_and_then_used() {
    let mut world = complex(Adaptive::Evidence);
    world.done("a");
    assert_eq!(world.open(), "b", "nothing was learnt");
    world.reports("b", 0, evidence("e", "b", Significance::Medium));
    // The next update follows a completed task, and one is completed already.
    assert!(why(&world).starts_with("something was learnt"));
    world.patched(vec![]);
    assert!(world.state().evidence.iter().all(|evidence| evidence.processed), "an answer that changes nothing has used it too");
    world.done("b").done("c").answers("done");
    assert_eq!(world.ended(), "completed");
    let mut world = complex(Adaptive::Never);
    world.reports("a", 0, evidence("e", "a", Significance::Medium)).done("a");
    assert_eq!(world.open(), "b");
}

#[test]
fn an_update_that_the_plan_has_overtaken_is_asked_for_again() {
    let mut world = emergent("a; b; c; d");
    world.done("a").done("b").done("c");
    let patch = vec![PlanChange::ModifyTask { id: id("d"), change: Box::default() }];
    world.done("d").patched(patch);
    assert_eq!(why(&world), "the last look came to nothing");
    world.replans(Replanning::Patched { patch: super::build::patch(vec![]), refused: vec![] }).answers("done");
    assert_eq!(world.ended(), "completed");
}

// Requirement: 3.55
#[test]
fn the_bounds_of_growth_can_be_set() {
    let mut world = emergent_with("a; b; c", |settings| settings.growth = GrowthSettings { update_every: 1, ..settings.growth.clone() });
    world.done("a");
    assert_eq!(why(&world), "1 TODO was completed since the last look");
    assert_eq!(world.status("b"), TaskStatus::Running);
    assert_eq!(
        world
            .events_named("planning_started")
            .iter()
            .filter(|event| matches!(event, ProgressEvent::PlanningStarted { purpose } if purpose == "update"))
            .count(),
        1
    );
}

#[test]
fn an_update_is_no_way_around_the_cooldown() {
    for mode in [PlanMode::Complex, PlanMode::Emergent] {
        let mut world = World::given(|input| {
            input.settings.adaptive = Adaptive::Always;
            input.settings.max_parallel = 10;
        });
        world.routed(mode).planned("a; b; c; d; e: d");
        world.reports("a", 0, evidence("first", "a", Significance::High)).patched(vec![add("f", &[])]);
        // The next replan has to wait for the cooldown, and its evidence waits with it.
        world.reports("a", 1, evidence("second", "a", Significance::Critical));
        world.done("a").done("b").done("c");
        let replan = world.under_way.values().find_map(|under_way| match &under_way.effect {
            RunEffect::Lead { order } => Some(order.wake.reasons.clone()),
            _ => None,
        });
        match mode {
            PlanMode::Complex => assert_eq!(replan, None),
            _ => assert!(replan.is_some_and(|reasons| reasons.iter().all(|reason| reason.evidence.is_empty()))),
        }
        let second = world.state().evidence.iter().find(|evidence| evidence.id.as_str() == "second").unwrap();
        assert!(!second.processed, "{mode}");
    }
}
