//! From the goal to the answer, in each mode.

use aime_progress_management::{PlanMode, ProgressEvent, RunStatus};

use super::{
    build::{add, patch, plan},
    world::World,
};
use crate::{Planning, RefusedAnswer, Replanning, RunEffect, RunFact};

// Requirement: 1.2, 2.12
#[test]
fn a_goal_is_routed_planned_carried_out_and_answered() {
    let mut world = World::new();
    assert_eq!(world.open(), "route");
    world.routed(PlanMode::Complex);
    assert_eq!((world.open().as_str(), world.state().status), ("plan", RunStatus::Planning));
    world.planned("a; b: a");
    assert_eq!((world.open().as_str(), world.state().status), ("a", RunStatus::Executing));
    world.done("a").done("b");
    assert_eq!(world.open(), "answer", "two tasks need one voice");
    world.answers("all is done");
    assert_eq!(world.ended(), "completed");
    assert_eq!(world.state().answer.as_deref(), Some("all is done"));
    assert!(world.machine.is_over());
    let kinds: Vec<&str> = world.events.iter().map(|(_, event)| event.name()).collect();
    assert_eq!(
        kinds,
        [
            "run_started",
            "routed",
            "planning_started",
            "model_called",
            "plan_created",
            "run_status_changed",
            "task_status_changed", // a: ready
            "task_status_changed", // a: running
            "task_concluded",
            "task_status_changed", // a: completed
            "task_status_changed", // b: ready
            "task_status_changed", // b: running
            "task_concluded",
            "task_status_changed", // b: completed
            "answered",
            "run_status_changed",
        ]
    );
}

// Requirement: 3.2, 3.8
#[test]
fn a_direct_goal_is_one_actor_whose_words_are_the_answer() {
    let mut world = World::new();
    world.routed(PlanMode::Direct);
    assert_eq!(world.state().tasks.len(), 1);
    let task = world.open();
    assert!(matches!(world.under_way[0].effect, RunEffect::StartActor { execution: 1, .. }), "{task}");
    world.done(&task);
    assert_eq!(world.ended(), "completed");
    assert_eq!(world.state().answer.as_deref(), Some("what was done"));
}

// Requirement: 3.2
#[test]
fn a_direct_goal_is_never_replanned() {
    let mut world = World::new();
    world.routed(PlanMode::Direct);
    let task = world.open();
    world.fails_for_good(&task);
    assert_eq!(world.ended(), "goal_not_reached");
    assert!(world.message().contains("it broke"), "{}", world.message());
}

// Requirement: 3.9
#[test]
fn a_plan_of_tools_needs_no_model() {
    let mut world = World::given(|input| {
        input.plan = Some(plan("a=append; b=look: a"));
        input.can_plan = false;
    });
    assert_eq!(world.events_named("routed").len(), 1);
    assert_eq!(world.open(), "a");
    world.done("a").done("b");
    assert_eq!(world.ended(), "completed");
    assert_eq!(world.state().answer.as_deref(), Some("- a (completed): what was done\n- b (completed): what was done"));
    assert_eq!((world.events_named("tool_call_started").len(), world.events_named("tool_call_finished").len()), (2, 2));
}

#[test]
fn a_plan_of_tools_that_fails_without_a_model_ends_with_a_report() {
    let mut world = World::given(|input| {
        input.plan = Some(plan("a=append; b=look: a; c=look"));
        input.can_plan = false;
    });
    world.done("c").fails_for_good("a");
    assert_eq!(world.ended(), "goal_not_reached");
    assert_eq!(world.statuses(), "a:failed b:skipped c:completed");
    let answer = world.state().answer.clone().unwrap();
    assert!(answer.starts_with("The goal was not reached: a failed: it broke"), "{answer}");
    assert!(answer.contains("- b (skipped): given up: waits for what cannot be had"), "{answer}");
}

#[test]
fn refused_answers_and_repairs_are_told() {
    let mut world = World::new();
    world.routed(PlanMode::Simple);
    world.plans(Planning::Planned {
        plan: Box::new(plan("a")),
        repairs: vec!["a comma".into()],
        refused: vec![RefusedAnswer { attempt: 1, faults: vec!["no tasks".into()] }],
        fallback: Some("simplified".into()),
    });
    assert!(matches!(world.events_named("plan_refused")[..], [ProgressEvent::PlanRefused { attempt: 1, .. }]));
    let [ProgressEvent::PlanCreated { repairs, fallback, .. }] = world.events_named("plan_created")[..] else { panic!() };
    assert_eq!((repairs.len(), fallback.clone()), (1, Some("simplified".into())));
    world.done("a");
    assert_eq!(world.ended(), "completed");
}

// Requirement: 3.40
#[test]
fn repairs_of_a_patch_are_told_before_it() {
    let mut world = World::with("a", |settings| settings.triggers.max_retries = 0);
    world.fails("a");
    let patched = Replanning::Patched { patch: patch(vec![add("b", &["a"])]), refused: vec![] };
    world.replans_repaired(patched, &["replaced single quotes"]);
    let repaired = |world: &World| world.events_named("patch_repaired").into_iter().cloned().collect::<Vec<_>>();
    let expected = [ProgressEvent::PatchRepaired { repairs: vec!["replaced single quotes".into()] }];
    assert_eq!(repaired(&world), expected);
    world.fails("b").patched(vec![add("c", &["b"])]);
    assert_eq!(repaired(&world), expected, "a patch without faults was not repaired");
}

#[test]
fn without_a_plan_the_run_ends() {
    let mut world = World::new();
    world.routed(PlanMode::Simple).plans(Planning::NoPlan { message: "nothing to be read".into(), refused: vec![] });
    assert_eq!(world.ended(), "goal_not_reached");
    assert!(world.state().answer.as_deref().unwrap().contains("nothing to be read"));
}

#[test]
fn a_plan_that_breaks_a_rule_is_refused_and_no_fault() {
    for (text, fault) in [("a: b; b: a", "cycle"), ("a: nowhere", "nowhere"), ("a; a", "a")] {
        let mut world = World::of(text);
        world.later(0);
        assert_eq!(world.ended(), "goal_not_reached", "{text}");
        assert!(world.message().contains(fault), "{text}: {}", world.message());
        assert!(world.machine.is_over());

        let mut world = World::new();
        world.routed(PlanMode::Simple).planned(text);
        assert_eq!(world.ended(), "goal_not_reached", "{text}");
    }
}

#[test]
fn an_unusable_model_leaves_a_run_that_resumes() {
    let mut world = World::new();
    world.routed(PlanMode::Simple);
    world.plans(Planning::ModelFailed { message: "nobody listens".into(), hint: Some("start it".into()) });
    assert_eq!(world.ended(), "model_unavailable");
    assert!(!world.machine.is_over());
    world.resumed();
    assert_eq!(world.open(), "plan", "the route is known");
    world.planned("a").done("a");
    assert_eq!(world.ended(), "completed");
}

#[test]
fn a_fault_of_the_runtime_in_planning_leaves_the_run() {
    for what in ["route", "plan"] {
        let mut world = World::new();
        if what == "plan" {
            world.routed(PlanMode::Simple);
        }
        let id = world.effect(what);
        world.send(RunFact::EffectFailed { id, message: "it panicked".into() });
        assert_eq!(world.ended(), "internal");
        world.resumed();
        assert_eq!(world.open(), what);
    }
}

// Requirement: 1.9
#[test]
fn an_answer_that_cannot_be_written_is_the_summary_of_the_tasks() {
    for silent in [true, false] {
        let mut world = World::of("a; b");
        world.done("a").done("b");
        let id = world.effect("answer");
        world.send(if silent {
            RunFact::AnswerWritten { id, text: None, calls: vec![] }
        } else {
            RunFact::EffectFailed { id, message: "it panicked".into() }
        });
        assert_eq!(world.ended(), "completed");
        assert!(world.state().answer.as_deref().unwrap().contains("- Do a (completed): what was done"));
    }
}
