//! Long-term memory: recalled first, extended at the end of the run, and never a reason to fail.

use aime_durable::Reason;
use aime_progress_management::{PlanMode, ProgressEvent, RecalledFrom, RecalledItem};

use super::{build::id, world::World};
use crate::{KnownContext, RunEffect, RunFact};

const KNOWN: &str = "Memories of earlier runs.\n\n[1] Climb the hill\n> Take the path in the north.\n";

fn world() -> World {
    World::given(|input| input.has_memory = true)
}

fn known() -> KnownContext {
    let item =
        RecalledItem { from: RecalledFrom::Memory, name: "r1".to_owned(), line: None, title: "Climb the hill".to_owned(), cut: false };
    KnownContext { text: KNOWN.to_owned(), items: vec![item], tokens: 20, left_out: 1, faults: Vec::new(), origins: Vec::new() }
}

impl World {
    fn recalled(&mut self, known: KnownContext) -> &mut Self {
        let id = self.effect("recall");
        self.send(RunFact::Recalled { id, known })
    }

    fn remembered(&mut self, fault: Option<&str>) -> &mut Self {
        let id = self.effect("remember");
        self.send(RunFact::Remembered { id, fault: fault.map(str::to_owned) })
    }
}

// Requirement: 1.1
#[test]
fn what_is_recalled_reaches_the_planner_and_the_actors() {
    let mut world = world();
    assert_eq!(world.open(), "recall", "nothing else is begun");
    world.recalled(known());
    let [ProgressEvent::Recalled { items, tokens: 20, left_out: 1 }] = world.events_named("recalled")[..] else { panic!() };
    assert_eq!(*items, known().items);
    world.routed(PlanMode::Complex);
    let known = &world.order("plan").known;
    assert_eq!(known, KNOWN);
    world.planned("a; b: a");
    let RunEffect::StartActor { known, .. } = &world.under_way[&world.effect("a")].effect else { panic!() };
    assert_eq!(known, KNOWN);
    world.crashed();
    let RunEffect::StartActor { known, .. } = &world.under_way[&world.effect("a")].effect else { panic!() };
    assert_eq!(known, KNOWN, "the journal has it: memory is not asked again");
    world.done("a").done("b").answers("done");
    assert!(world.output.is_none(), "the run is remembered first");
    let RunEffect::Remember { state, failure: None } = &world.under_way[&world.effect("remember")].effect else { panic!() };
    assert_eq!(state.answer.as_deref(), Some("done"));
    world.remembered(None);
    assert_eq!((world.ended(), world.events_named("recalled").len(), world.events_named("memory_failed").len()), ("completed", 1, 0));
    world.replayed();
}

#[test]
fn what_is_recalled_reaches_a_replan_too() {
    let mut world = World::given(|input| {
        input.has_memory = true;
        input.settings.triggers.max_retries = 0;
    });
    world.recalled(known());
    world.routed(PlanMode::Complex);
    world.planned("a; b: a");
    world.fails("a");
    let known = &world.order("replan").known;
    assert_eq!(known, KNOWN);
}

#[test]
fn a_plan_that_was_handed_over_recalls_for_its_actors_alone() {
    let given = |plan: &str, can_plan| {
        World::given(|input| {
            input.has_memory = true;
            input.can_plan = can_plan;
            input.plan = Some(super::build::plan(plan));
        })
    };
    assert_eq!(given("a; b=look", true).open(), "recall");
    for mut world in [given("b=look", true), given("b=look", false)] {
        assert_eq!(world.open(), "b", "nobody has use for it");
        world.done("b");
        assert_eq!(world.ended(), "completed", "and nothing is remembered");
    }
}

#[test]
fn nothing_that_is_recalled_is_not_told() {
    let mut world = world();
    world.recalled(KnownContext::default()).routed(PlanMode::Direct);
    assert_eq!((world.events_named("recalled").len(), world.events_named("memory_failed").len()), (0, 0));
}

#[test]
fn a_stop_while_recalling_or_remembering_resumes_there() {
    for crash in [false, true] {
        let mut world = world();
        if crash {
            world.crashed();
        } else {
            world.stopped();
            assert_eq!(world.ended(), "interrupted");
            world.resumed();
        }
        assert_eq!(world.open(), "recall", "it is asked again");
        world.recalled(known()).routed(PlanMode::Direct);
        let task = world.state().tasks.keys().next().unwrap().clone();
        world.done(task.as_str());
        assert_eq!(world.open(), "remember");
        if crash {
            world.crashed();
            assert_eq!(world.open(), "remember", "it is told again: the same memory takes the place of the first");
        } else {
            world.stopped();
            assert!(world.under_way.values().all(|under_way| under_way.revoked != Some(Reason::Stopped)), "the run is over already");
        }
        world.remembered(None);
        assert_eq!(world.ended(), "completed");
    }
}

#[test]
fn faults_of_memory_are_told_once_and_fail_nothing() {
    let fault = "the memory is damaged";
    let mut world = world();
    world.recalled(KnownContext { faults: vec![fault.to_owned()], ..KnownContext::default() }).routed(PlanMode::Complex);
    world.planned("a").done("a").remembered(Some(fault));
    assert_eq!(world.ended(), "completed");
    let [ProgressEvent::MemoryFailed { message }] = world.events_named("memory_failed")[..] else { panic!() };
    assert_eq!(message, fault);
}

#[test]
fn memory_that_breaks_down_is_a_fault_like_others() {
    let mut world = world();
    for effect in ["recall", "remember"] {
        let id = world.effect(effect);
        world.send(RunFact::EffectFailed { id, message: format!("{effect} broke").into() });
        if effect == "recall" {
            world.routed(PlanMode::Complex).planned("a").done("a");
        }
    }
    assert_eq!((world.ended(), world.events_named("memory_failed").len()), ("completed", 2));
}

// Requirement: 1.9
#[test]
fn a_failure_is_remembered_where_something_was_tried() {
    let mut world = world();
    world.recalled(KnownContext::default()).routed(PlanMode::Complex).planned("a").fails_for_good("a").no_patch();
    let RunEffect::Remember { failure: Some(failure), .. } = &world.under_way[&world.effect("remember")].effect else { panic!() };
    assert!(failure.contains("a failed: it broke"), "{failure}");
    assert!(world.state().tasks[&id("a")].conclusion.is_some());
    world.remembered(None);
    assert_eq!(world.ended(), "goal_not_reached");

    let mut world = self::world();
    world.recalled(KnownContext::default()).routed(PlanMode::Complex);
    world.plans(crate::Planning::NoPlan { message: "no idea".into(), refused: Vec::new() });
    assert_eq!(world.ended(), "goal_not_reached", "nothing was tried, so nothing was learnt");
}
