//! Work that is blocked: the run asks for what is missing, waits, and goes on in the same conversation.

use aime_progress_management::{Conclusion, FailureCause, Outcome, PlanMode, RunId, TaskStatus};

use super::{build::conclusion, world::World};
use crate::{ActorContinuation, NextStep, RunEffect, RunFact};

pub(super) fn blocked(needs: &str) -> Conclusion {
    Conclusion { needs: Some(needs.to_owned()), ..conclusion(Outcome::Failure, Some("there is no key"), Some(FailureCause::Blocked)) }
}

impl World {
    /// Returns a run whose goal one actor does.
    fn direct() -> Self {
        let mut world = Self::new();
        world.routed(PlanMode::Direct);
        world
    }

    /// Returns the words with which the actor of a task goes on.
    fn returned(&self, task: &str) -> Option<ActorContinuation> {
        match &self.under_way[&self.effect(task)].effect {
            RunEffect::StartActor { brief, .. } => brief.returned.clone(),
            other => panic!("{other:?}"),
        }
    }

    fn message_run(&mut self, text: &str) -> &mut Self {
        self.send(RunFact::PersonSaid { id: "p-1".parse().unwrap(), task: None, text: text.to_owned() })
    }
}

/// Returns a run whose only actor has ended as blocked and whom nobody answered.
fn waiting() -> World {
    let mut world = World::direct();
    world.ends("main", blocked("a key for the service"));
    world.deferred("blocked");
    world
}

// Requirement: 7.2
#[test]
fn a_blocked_run_waits_and_says_what_it_needs() {
    let world = waiting();
    assert_eq!((world.ended(), world.statuses()), ("waiting_for_human", "main:blocked".to_owned()));
    let error = world.output.as_ref().unwrap().error.as_ref().unwrap();
    assert_eq!(error.message, "what was done\nneeds: a key for the service");
    assert_eq!(error.next, Some(NextStep::Supply { run: RunId::new("run").unwrap() }));
}

#[test]
fn resuming_a_blocked_run_continues_the_conversation() {
    let answer = |words: &str| Some(ActorContinuation { number: 1, missing: words.to_owned(), answer: true });
    let mut silent = waiting();
    silent.resumed().deferred("blocked");
    assert_eq!((silent.returned("main"), silent.effect("main").as_str()), (answer(""), "main/1/2"), "the same execution");
    let mut answered = waiting();
    answered.resumed().person("it is in key.txt");
    assert_eq!(answered.returned("main"), answer("it is in key.txt"));
    let mut messaged = waiting();
    messaged.resumed().message_run("it is in key.txt");
    assert_eq!(messaged.returned("main"), answer(""), "the actor hears the message itself");
    for mut world in [silent, answered, messaged] {
        world.ends("main", blocked("a longer key"));
        assert_eq!((world.statuses(), world.open()), ("main:blocked".to_owned(), "ask-blocked".to_owned()));
        world.person("here").done("main");
        assert_eq!(world.ended(), "completed");
        world.replayed();
    }
}

#[test]
fn a_blocked_run_waits_over_stops_and_crashes() {
    let mut world = World::direct();
    world.ends("main", blocked("a key")).stopped();
    assert_eq!((world.ended(), world.statuses()), ("interrupted", "main:blocked".to_owned()));
    world.resumed();
    assert_eq!(world.open(), "ask-blocked");
    world.crashed();
    world.person("here").done("main");
    assert_eq!(world.ended(), "completed");
    world.replayed();
}

#[test]
fn a_planner_finds_another_way_before_a_person_is_asked() {
    let mut world = World::of("a; b");
    world.ends("a", blocked("a key"));
    assert_eq!(world.open(), "b replan");
    world.patched(vec![super::build::add("c", &["a"])]).done("b").done("c").answers("done");
    assert_eq!(world.ended(), "completed");
    // The planner finds none.
    let mut world = World::of("a; b: a; c");
    world.ends("a", blocked("a key")).no_patch().done("c");
    assert_eq!((world.statuses(), world.open()), ("a:failed b:blocked c:completed".to_owned(), "ask-blocked".to_owned()));
    world.deferred("blocked");
    assert_eq!(world.ended(), "waiting_for_human");
    world.resumed().person("it is in key.txt");
    assert_eq!(world.status("a"), TaskStatus::Running);
    let RunEffect::StartActor { brief, .. } = &world.under_way[&world.effect("a")].effect else { panic!() };
    assert!(brief.results.contains("A person about what was missing\nit is in key.txt"), "{}", brief.results);
    world.done("a").done("b").answers("done");
    assert_eq!(world.ended(), "completed");
    world.replayed();
}

#[test]
fn other_failures_end_a_run() {
    for cause in [None, Some(FailureCause::Reported), Some(FailureCause::Denied)] {
        let mut world = World::direct();
        while world.output.is_none() {
            world.ends("main", conclusion(Outcome::Failure, Some("it broke"), cause));
        }
        assert_eq!(world.ended(), "goal_not_reached", "{cause:?}");
    }
}
