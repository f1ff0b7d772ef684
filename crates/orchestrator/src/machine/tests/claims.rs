//! Tasks of the plan that actors take over.

use std::sync::Arc;

use super::{
    build::{id, plan},
    world::World,
};
use crate::{RunEffect, RunFact};

fn claims(world: &mut World, task: &str, by: &str) {
    let call = format!("{by}/1/1/1");
    let fact =
        RunFact::TaskClaimed { task: id(task), by: id(by), call, words: "in capitals".to_owned(), profile: Some("atlas".to_owned()) };
    world.send(fact);
}

fn one_at_a_time(tasks: &str) -> World {
    World::with(tasks, |settings| settings.max_parallel = 1)
}

// Requirement: 4.31, 4.46
#[test]
fn a_claimed_task_starts_at_once_and_is_settled_by_the_run() {
    let mut world = one_at_a_time("a; b; c");
    assert_eq!(world.open(), "a");
    claims(&mut world, "b", "a");
    assert_eq!((world.open(), world.events_named("task_claimed").len()), ("a b".to_owned(), 1));
    let RunEffect::StartActor { brief, .. } = &world.under_way[&world.effect("b")].effect else { panic!() };
    assert_eq!(brief.spec.profile.as_deref(), Some("atlas"));
    assert!(brief.results.contains("in capitals"), "{}", brief.results);
    world.done("b");
    assert_eq!(world.statuses(), "a:running b:completed c:ready", "one slot is taken");
    world.done("a").done("c").answers("done");
    assert_eq!(world.ended(), "completed");
}

#[test]
fn a_claim_is_taken_once_and_of_open_tasks_alone() {
    let mut world = one_at_a_time("a; b; c");
    claims(&mut world, "b", "a");
    claims(&mut world, "b", "a");
    assert_eq!((world.open(), world.events_named("task_claimed").len()), ("a b".to_owned(), 1));
    world.done("b");
    claims(&mut world, "b", "a");
    claims(&mut world, "zz", "a");
    assert_eq!(world.events_named("task_claimed").len(), 1);
}

// Requirement: 4.46
#[test]
fn a_claimed_task_that_fails_fires_its_trigger() {
    let mut world = one_at_a_time("a; b");
    claims(&mut world, "b", "a");
    world.fails_for_good("b");
    assert_eq!(world.open(), "a replan");
}

#[test]
fn a_claimed_task_waits_for_what_another_holds() {
    let mut planned = plan("a; b; c");
    for task in &mut planned.tasks {
        Arc::make_mut(task).exclusive = vec!["port:8080".to_owned()];
    }
    let mut world = World::given(|input| input.plan = Some(planned.clone()));
    assert_eq!(world.open(), "a");
    claims(&mut world, "b", "a");
    assert_eq!(world.open(), "a b", "a waits for b, and lends it what it holds");
    world.done("b").done("a");
    assert_eq!(world.open(), "c");
    let mut planned = plan("a; b; c");
    for task in planned.tasks.iter_mut().skip(1) {
        Arc::make_mut(task).exclusive = vec!["port:8080".to_owned()];
    }
    let mut world = World::given(|input| input.plan = Some(planned.clone()));
    assert_eq!(world.open(), "a b");
    claims(&mut world, "c", "a");
    assert_eq!(world.open(), "a b");
    world.done("b");
    assert_eq!(world.open(), "a c");
}

#[test]
fn a_claim_survives_a_crash() {
    let mut world = one_at_a_time("a; b");
    claims(&mut world, "b", "a");
    world.crashed();
    let mut open: Vec<String> = world.open().split(' ').map(ToOwned::to_owned).collect();
    open.sort();
    assert_eq!(open, ["a", "b"], "the actor waits for the task, which needs no slot");
}
