//! What is begun while the plan is still being written.

use aime_durable::Reason;
use aime_progress::{CallOutcome, Edge, EdgeType, FailureCause, Outcome, PlanMode, ProgressEvent};
use aime_tools::{Approval, Touches};
use serde_json::json;

use super::{
    build::{check, conclusion, id, parameters, plan, sheet},
    world::World,
};
use crate::{EagerStart, Planning, RunEffect, RunFact, RunInput};

/// A run that is being planned.
fn planning() -> World {
    planning_with(|_| {})
}

fn planning_with(change: impl FnOnce(&mut RunInput)) -> World {
    let mut world = World::given(change);
    world.routed(PlanMode::Complex);
    world
}

/// The calls so far, each with its end.
fn calls(world: &World) -> String {
    let told = world.events.iter().filter_map(|(_, event)| match event {
        ProgressEvent::ToolCallStarted { call, .. } => Some(format!("+{call}")),
        ProgressEvent::ToolCallFinished { call, outcome, .. } => Some(format!("{call}:{outcome:?}")),
        _ => None,
    });
    told.collect::<Vec<_>>().join(" ")
}

#[test]
fn a_call_begins_before_the_plan_stands_and_is_not_made_again() {
    let mut world = planning();
    world.part("a=look; b=look; c=append; d; e=look: d; f=look: a");
    assert_eq!(world.open(), "plan a b", "what changes something, what has an actor and what waits for others waits for the plan");
    world.done("a");
    assert_eq!(world.open(), "plan b f");
    world.planned("a=look; b=look; c=append; d; e=look: d; f=look: a; g: a");
    assert_eq!(world.statuses(), "a:completed b:running c:ready d:running e:pending f:running g:ready");
    assert_eq!(calls(&world), "+a/1/1 +b/1/1 a/1/1:Ok +f/1/1", "each call is made once");
    world.done("f").done("b");
    assert_eq!(calls(&world), "+a/1/1 +b/1/1 a/1/1:Ok +f/1/1 f/1/1:Ok b/1/1:Ok +c/1/1");
    assert_eq!((world.status("f").word(), world.status("b").word()), ("completed", "completed"));
    assert_eq!(world.state().tasks[&id("a")].attempts, 1);
    assert_eq!(world.state().tool_calls, 4);
}

#[test]
fn what_the_plan_has_otherwise_is_stopped_and_begun_anew() {
    let mut world = planning_with(|input| input.settings.max_parallel = 9);
    world.acknowledges = false;
    world.part("a=look; b=look; c=look; d=look; e=look; f=look: a");
    world.done("a").done("c");
    world.part("f=look: a");
    let mut given = plan("a=look; b=look: a; g/: a; g/d=look; e=look; f=look: a; c=look; h=append");
    given.tasks.iter_mut().find(|task| task.id == id("c")).unwrap().parameters = parameters(json!({"x": 1}));
    given.edges = vec![Edge { from: id("a"), to: id("e"), kind: EdgeType::Rollback, condition: None }];
    world.plans(Planning::Planned { plan: Box::new(given), repairs: vec![], refused: vec![], fallback: None });
    // Not b, which waits for another now; not d, whose group does; not e, which an edge leads to; not c, which asks for something else.
    assert_eq!(world.stopping(), "b d e");
    assert_eq!(world.status("a").word(), "completed");
    assert_eq!(world.effect("f").as_str(), "f/1/1");
    let goes_on = |one: &super::world::UnderWay| one.revoked.is_none() && matches!(one.effect, RunEffect::CallTool { .. });
    let begun: Vec<&str> = world.under_way.iter().filter(|(_, one)| goes_on(one)).map(|(id, _)| id.as_str()).collect();
    assert_eq!(begun, ["f/1/1", "b/2/1", "d/2/1", "c/2/1", "h/1/1"], "what was given up is another execution");
    assert!(world.under_way.values().filter_map(|one| one.revoked.clone()).all(|why| why == Reason::Cancelled));
    assert_eq!(calls(&world).matches("Cancelled").count(), 3, "{}", calls(&world));
    world.acknowledge_all();
    assert_eq!(calls(&world).matches("Cancelled").count(), 3, "told once: {}", calls(&world));
    for task in ["b", "d", "f", "c", "h"] {
        world.done(task);
    }
    world.acknowledge_all();
    assert_eq!(world.ended(), "completed");
}

#[test]
fn a_task_that_comes_otherwise_takes_what_hangs_on_it_along() {
    let mut world = planning();
    world.part("a=look").done("a").part("b=look: a");
    assert_eq!(world.open(), "plan b");
    let mut again = plan("a=look; b=look: a");
    again.tasks[0].parameters = parameters(json!({"path": "other"}));
    let of = world.effect("plan");
    world.send(RunFact::PlanPart { of, number: 1, tasks: again.tasks.clone() });
    assert_eq!(calls(&world), "+a/1/1 a/1/1:Ok +b/1/1 b/1/1:Cancelled +a/2/1");
    world.done("a");
    assert_eq!(world.effect("b").as_str(), "b/2/1", "it is begun with what the other has come to");
    world.plans(Planning::Planned { plan: Box::new(again), repairs: vec![], refused: vec![], fallback: None }).done("b");
    assert_eq!(world.ended(), "completed");
}

#[test]
fn what_did_not_go_well_is_begun_anew_by_the_plan() {
    let ends = [
        conclusion(Outcome::Failure, Some("it broke"), None),
        conclusion(Outcome::Failure, Some("no"), Some(FailureCause::Denied)),
        conclusion(Outcome::Interrupted, None, None),
    ];
    for end in ends {
        let mut world = planning();
        world.part("a=look").ends("a", end);
        assert_eq!(world.open(), "plan", "not at once");
        world.planned("a=look; b=append");
        assert_eq!(world.effect("a").as_str(), "a/2/1");
        assert_eq!(world.state().tasks[&id("a")].failures, 0, "the task has not failed");
    }
    let mut world = planning();
    let effect = world.part("a=look").effect("a");
    let (conclusion, checks) = (conclusion(Outcome::Success, None, None), vec![check("x exists", Some(false))]);
    world.send(RunFact::TaskEnded { id: effect, conclusion, checks, calls: Vec::new(), duration_ms: 1 });
    world.planned("a=look; b=append");
    assert_eq!(world.effect("a").as_str(), "a/2/1");
    let mut world = planning();
    let id = world.part("a=look").effect("a");
    world.send(RunFact::EffectFailed { id, message: "it panicked".to_owned() });
    assert_eq!(calls(&world), "+a/1/1 a/1/1:Error");
}

#[test]
fn without_a_plan_nothing_is_left() {
    let message = "no".to_owned();
    for outcome in [
        Planning::NoPlan { message: message.clone(), refused: Vec::new() },
        Planning::ModelFailed { message, hint: None },
        Planning::Planned { plan: Box::new(plan("a=look: nobody")), repairs: vec![], refused: vec![], fallback: None },
    ] {
        let mut world = planning();
        world.part("a=look; b=look").done("b").plans(outcome);
        assert!(["goal_not_reached", "model_unavailable"].contains(&world.ended()));
        assert_eq!(calls(&world), "+a/1/1 +b/1/1 b/1/1:Ok a/1/1:Cancelled");
        world.replayed();
    }
}

#[test]
fn bounds_and_slots_hold_before_the_plan_too() {
    let mut world = planning_with(|input| (input.settings.max_parallel, input.settings.bounds.max_tool_calls) = (2, 3));
    world.part("a=look; b=look; c=look; d=look");
    assert_eq!(world.open(), "plan a b");
    world.done("a").done("b");
    assert_eq!((world.open().as_str(), world.state().tool_calls), ("plan c", 3));
    world.planned("a=look; b=look; c=look; d=look");
    assert_eq!(world.ended(), "bound_reached", "the plan begins what is left, and finds the bound");
    let mut world = planning_with(|input| input.settings.max_parallel = 1);
    world.acknowledges = false;
    world.part("a=look").planned("b; c");
    assert_eq!(world.open(), "a", "what is being stopped still takes its slot");
    world.acknowledge_all();
    assert_eq!(world.open(), "b");
}

#[test]
fn nobody_is_asked_for_a_plan_that_does_not_stand() {
    let tools = |input: &mut RunInput| {
        input.tools.push(sheet("web", true, Touches::Network).into());
        let mut note = sheet("note", false, Touches::Files);
        note.idempotent = true;
        input.tools.push(note.into());
    };
    let all = "a=look; b=web; c=note; d=append; e=nothing";
    for (eager, approval, begun) in [
        (EagerStart::Never, Approval::All, "plan"),
        (EagerStart::ReadOnly, Approval::All, "plan a"),
        (EagerStart::Repeatable, Approval::All, "plan a b c"),
        (EagerStart::Repeatable, Approval::ReadOnly, "plan a b"),
        (EagerStart::Repeatable, Approval::Ask, "plan a b"),
    ] {
        let mut world = planning_with(|input| {
            tools(input);
            (input.settings.eager_start, input.settings.approval) = (eager, approval);
        });
        world.part(all);
        assert_eq!(world.open(), begun, "{eager:?} {approval:?}");
        for under_way in world.under_way.values() {
            assert!(!matches!(under_way.effect, RunEffect::CallTool { early: false, .. }));
        }
    }
}

#[test]
fn parts_that_come_too_late_change_nothing() {
    let mut world = planning();
    let of = world.effect("plan");
    let late = || RunFact::PlanPart { of: of.clone(), number: 7, tasks: plan("z=look").tasks };
    world.planned("a");
    world.send(late());
    assert_eq!(world.open(), "a");
    world.stopped().resumed().send(late());
    assert_eq!(world.open(), "a");
    let mut world = planning();
    world.stopped().resumed();
    world.send(late());
    assert_eq!(world.open(), "plan", "it was of another question");
}

#[test]
fn a_stop_or_a_crash_loses_what_was_begun_and_says_so() {
    for crash in [false, true] {
        let mut world = planning();
        world.part("a=look; b=look").done("b");
        if crash {
            world.crashed();
        } else {
            world.stopped();
            assert_eq!(world.ended(), "interrupted");
            world.resumed();
        }
        let end = if crash { "InDoubt" } else { "Cancelled" };
        assert_eq!(calls(&world), format!("+a/1/1 +b/1/1 b/1/1:Ok a/1/1:{end}"));
        assert_eq!(world.open(), "plan");
        world.part("b=look").planned("a=look; b=look; c: a b");
        assert_eq!((world.effect("a").as_str(), world.effect("b").as_str()), ("a/2/1", "b/2/1"));
        world.done("a").done("b").done("c").answers("done");
        assert_eq!(world.ended(), "completed");
        world.replayed();
    }
}

#[test]
fn a_crash_after_the_plan_stands_goes_on_as_ever() {
    let mut world = planning();
    world.part("a=look; b=look").done("a").planned("a=look; b=look; c: a b").crashed();
    assert_eq!(world.statuses(), "a:completed b:running c:pending");
    assert_eq!(world.effect("b").as_str(), "b/1/2");
    assert_eq!(calls(&world), "+a/1/1 +b/1/1 a/1/1:Ok b/1/1:InDoubt +b/1/2");
    world.done("b").done("c").answers("done");
    assert_eq!(world.ended(), "completed");
    let outcomes = world.told("tool_call_finished");
    assert!(matches!(outcomes[..], [_, ProgressEvent::ToolCallFinished { outcome: CallOutcome::InDoubt, .. }, _]));
}
