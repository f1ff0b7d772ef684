//! Interrupted calls of actors whose task nobody resumes.

use aime_progress_management::{CallOutcome, Owner, PlanChange, ProgressEvent, TaskStatus};

use super::{build::id, world::World};
use crate::RunFact;

fn started(call: &str) -> ProgressEvent {
    ProgressEvent::ToolCallStarted { task: Some(id("b")), call: call.to_owned(), tool: "append".to_owned(), parameters: Default::default() }
}

fn finished(call: &str) -> ProgressEvent {
    ProgressEvent::ToolCallFinished {
        task: Some(id("b")),
        call: call.to_owned(),
        tool: "append".to_owned(),
        outcome: CallOutcome::Ok,
        output: "done".to_owned(),
        origin: None,
        duration_ms: 1,
    }
}

/// Returns each call whose end was reported, with the outcome.
fn ends<'a>(world: &'a World) -> Vec<(&'a str, CallOutcome)> {
    let end = |event: &'a ProgressEvent| match event {
        ProgressEvent::ToolCallFinished { call, outcome, .. } => Some((call.as_str(), *outcome)),
        _ => None,
    };
    world.events.iter().filter_map(|(_, event)| end(event)).collect()
}

/// `b` has ended one call and is in the middle of two others when its process dies. Its actor has not reported yet in
/// the next process.
fn died_in_calls() -> World {
    let mut world = World::given(|input| {
        input.plan = Some(super::build::plan("a; b"));
    });
    world.reports("b", 0, started("c1")).reports("b", 1, finished("c1"));
    world.reports("b", 2, started("c2")).reports("b", 3, started("c3"));
    world.crashed();
    assert_eq!(world.open(), "a b");
    world
}

const CUT: [(&str, CallOutcome); 3] = [("c1", CallOutcome::Ok), ("c2", CallOutcome::InDoubt), ("c3", CallOutcome::InDoubt)];

// Requirement: 7.14
#[test]
fn a_call_cut_off_by_a_crash_is_in_doubt_when_its_task_is_cancelled() {
    let mut world = died_in_calls();
    assert_eq!(ends(&world), CUT[..1], "its actor may still tell");
    world.send(RunFact::CancelRequested { task: Some(id("b")), reason: "not needed".into(), message: None });
    assert_eq!((world.status("b"), ends(&world)), (TaskStatus::Skipped, CUT.to_vec()));
    // Reports of a given-up actor, for example from a runner that was aborted too late, are ignored.
    world.reports("b", 4, finished("c2")).done("a");
    assert_eq!(ends(&world), CUT);
}

#[test]
fn a_call_cut_off_by_a_crash_is_in_doubt_when_the_run_is_cancelled() {
    let mut world = died_in_calls();
    world.send(RunFact::CancelRequested { task: None, reason: "not needed".into(), message: None });
    assert_eq!((world.ended(), ends(&world)), ("cancelled", CUT.to_vec()));
}

#[test]
fn a_call_cut_off_by_a_crash_is_in_doubt_when_the_plan_takes_its_task_out() {
    let mut world = died_in_calls();
    world.fails_for_good("a").patched(vec![PlanChange::CancelTask { id: id("b"), reason: "not needed".to_owned(), by: Owner::Lead }]);
    assert_eq!((world.status("b"), ends(&world)), (TaskStatus::Skipped, CUT.to_vec()), "{}", world.statuses());
}

#[test]
fn a_call_is_in_doubt_when_the_attempt_that_made_it_breaks() {
    let mut world = died_in_calls();
    world.done("a");
    let id = world.effect("b");
    world.send(RunFact::EffectFailed { id, message: "a fault".into() });
    assert_eq!(ends(&world), CUT);
    // The next attempt makes its own calls.
    world.reports("b", 0, started("d1")).reports("b", 1, finished("d1"));
    assert_eq!(ends(&world).last(), Some(&("d1", CallOutcome::Ok)));
}

#[test]
fn an_actor_that_goes_on_tells_of_its_calls_itself() {
    let mut world = died_in_calls();
    world.done("a").reports("b", 4, finished("c2")).reports("b", 5, finished("c3")).done("b");
    assert!(ends(&world).iter().all(|(_, outcome)| *outcome == CallOutcome::Ok) && ends(&world).len() == 3);
}
