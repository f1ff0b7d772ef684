//! Runs and tasks that a person cancels for good.

use std::sync::Arc;

use aime_progress_management::{PlanMode, ProgressEvent, RunId, RunStatus, TaskStatus};
use serde_json::json;

use super::{
    build::{add, id, parameters, plan},
    world::World,
};
use crate::{NextStep, RunFact};

fn cancelled(world: &mut World, task: Option<&str>) {
    world.send(RunFact::CancelRequested { task: task.map(id), reason: "cancelled by a person".into(), message: None });
}

// Requirement: 7.3
#[test]
fn a_cancelled_run_ends_once_all_has_stopped_and_never_goes_on() {
    let mut world = World::of("a; b=look; c; d: a");
    world.done("c").acknowledges = false;
    cancelled(&mut world, None);
    assert!(world.output.is_none() && world.machine.is_over(), "everything is waited for");
    world.done("a");
    world.acknowledge_all();
    assert_eq!((world.ended(), world.state().status), ("cancelled", RunStatus::Cancelled));
    assert_eq!(world.statuses(), "a:skipped b:skipped c:completed d:skipped", "a result that comes too late changes nothing");
    let answer = world.state().answer.clone().unwrap();
    assert!(answer.contains("cancelled by a person") && answer.contains("- Do c (completed)"), "{answer}");
    let next = world.output.as_ref().unwrap().error.as_ref().unwrap().next.clone();
    assert_eq!(next, Some(NextStep::Fork { run: RunId::new("run").unwrap(), version: 1 }));
}

// Requirement: 7.3
#[test]
fn a_run_is_cancelled_in_each_phase() {
    for phase in ["route", "plan", "a", "replan", "verify", "answer"] {
        for crash in [false, true] {
            let mut world = World::new();
            world.machine.input.settings.reflect = crate::Reflect::Always;
            world.input.settings.reflect = crate::Reflect::Always;
            for step in ["route", "plan", "a", "replan", "verify", "answer"] {
                if step == phase {
                    break;
                }
                match step {
                    "route" => world.routed(PlanMode::Complex),
                    "plan" => world.planned("a; b: a"),
                    "a" => world.fails_for_good("a"),
                    "replan" => world.patched(vec![add("a1", &["a"])]).done("a1").done("b"),
                    _ => world.verified(&[("good", Some(true))]),
                };
            }
            world.acknowledges = !crash;
            cancelled(&mut world, None);
            if crash {
                assert!(world.output.is_none());
                world.acknowledges = true;
                world.crashed();
            }
            assert_eq!(world.ended(), "cancelled", "{phase}");
            assert!(world.state().tasks.values().all(|task| !task.status.is_open()), "{}", world.statuses());
            assert!(world.state().answer.is_some());
        }
    }
}

#[test]
fn a_run_that_waits_or_was_stopped_is_cancelled_at_once() {
    let mut world = World::with("shell=shell; b: shell", |settings| settings.plan_approved = false);
    world.deferred("approval");
    assert_eq!(world.ended(), "waiting_for_human");
    let next = world.output.take().and_then(|output| output.error).and_then(|error| error.next);
    assert_eq!(next, Some(NextStep::Approve { run: RunId::new("run").unwrap() }));
    cancelled(&mut world, None);
    assert_eq!((world.ended(), world.statuses().as_str()), ("cancelled", "shell:skipped b:skipped"));
    assert!(world.state().questions.iter().all(|question| question.answer.is_some()), "nobody is asked any more");
    let mut world = World::of("a");
    world.acknowledges = false;
    world.stopped();
    cancelled(&mut world, None);
    world.acknowledge_all();
    assert_eq!(world.ended(), "cancelled", "also one that is being left");
}

#[test]
fn what_has_ended_cannot_be_cancelled() {
    let mut world = World::given(|input| {
        input.has_memory = true;
    });
    let recalled = world.effect("recall");
    world.send(RunFact::Recalled { id: recalled, known: crate::KnownContext::default() });
    world.routed(PlanMode::Direct).done("main");
    assert_eq!(world.open(), "remember");
    cancelled(&mut world, None);
    assert_eq!(world.open(), "remember");
    let id = world.effect("remember");
    world.send(RunFact::Remembered { id, fault: None });
    assert_eq!(world.ended(), "completed");
}

// Requirement: 12.5
#[test]
fn one_task_is_cancelled_and_what_waited_for_it_goes_on() {
    let mut world = World::of("a; b; c: a; d: b");
    world.acknowledges = false;
    cancelled(&mut world, Some("a"));
    assert_eq!((world.stopping().as_str(), world.status("a")), ("a", TaskStatus::Running), "it is stopped first");
    world.acknowledge_all();
    assert_eq!(world.statuses(), "a:skipped b:running c:running d:pending");
    assert_eq!(world.state().decisions[0].triggers[0].detail, "a person cancelled a");
    cancelled(&mut world, Some("d"));
    assert_eq!(world.status("d"), TaskStatus::Skipped, "what does not run is taken out at once");
    cancelled(&mut world, Some("nobody"));
    cancelled(&mut world, Some("d"));
    assert_eq!(world.state().version, 3);
    world.acknowledges = true;
    world.done("b").done("c").answers("done");
    assert_eq!(world.ended(), "completed");
}

#[test]
fn actors_at_work_are_told_what_was_cancelled_beside_them() {
    let mut world = World::of("a; b; c: a; d=look");
    cancelled(&mut world, Some("a"));
    let messages_to_b = |world: &World| -> Vec<String> {
        let lines = world.machine.person_messages().iter().map(|message| format!("{}: {}", message.task.as_ref().unwrap(), message.text));
        lines.filter(|text| text.starts_with("b:")).collect()
    };
    assert_eq!(
        messages_to_b(&world),
        ["b: The task `a` was cancelled (cancelled by a person). Do not wait for it, and do not build on it."]
    );
    assert!(
        world
            .machine
            .person_messages()
            .iter()
            .all(|message| message.task.as_ref().is_some_and(|task| !["a", "c"].contains(&task.as_str())))
    );
    // A host folds the same messages from facts and events.
    let mut context = crate::RunContext::new(&world.input);
    let recorded = |(at, what): &(i64, ProgressEvent)| aime_durable::Recorded { at: *at, fact: what.clone() };
    let events: Vec<_> = world.events.iter().map(recorded).collect();
    assert_eq!(context.observe(&[], &events).len(), world.machine.person_messages().len());
    assert_eq!(context.messages_to(&id("b"), false).len(), 1);
    world.replayed();
}

#[test]
fn only_dependents_learn_of_a_cancelled_task() {
    let mut world = World::of("a; b; c: a; d: b; e: c");
    cancelled(&mut world, Some("a"));
    world.done("b").done("c");
    let brief = |task: &str| crate::ActorBrief::new(world.state(), &world.state().graph(), &id(task), false).unwrap().results;
    assert!(brief("c").contains("There is no result: cancelled by a person."), "{}", brief("c"));
    for task in ["b", "d", "e"] {
        assert!(!brief(task).contains("There is no result"), "{task}: {}", brief(task));
    }
}

#[test]
fn tasks_are_cancelled_one_after_the_other() {
    let mut world = World::of("a; b; c");
    world.acknowledges = false;
    for task in ["a", "b"] {
        cancelled(&mut world, Some(task));
    }
    assert_eq!(world.stopping(), "a");
    world.acknowledge_one();
    assert_eq!((world.stopping().as_str(), world.status("a")), ("b", TaskStatus::Skipped));
    world.acknowledge_all();
    assert_eq!(world.statuses(), "a:skipped b:skipped c:running");
}

#[test]
fn a_task_is_cancelled_after_a_stop_and_after_a_crash_that_came_between() {
    let mut world = World::of("a; b; c: a");
    world.acknowledges = false;
    world.stopped();
    cancelled(&mut world, Some("a"));
    world.acknowledge_all();
    assert_eq!((world.ended(), world.status("a")), ("interrupted", TaskStatus::Pending), "it was being left");
    world.resumed();
    assert_eq!(world.statuses(), "a:skipped b:running c:running");
    let mut world = World::of("a; b; c: a");
    world.acknowledges = false;
    for task in ["a", "b"] {
        cancelled(&mut world, Some(task));
    }
    assert_eq!(world.stopping(), "a");
    world.crashed();
    world.acknowledge_all();
    assert_eq!(world.statuses(), "a:skipped b:skipped c:running");
    assert_eq!(world.state().version, 3);
}

#[test]
fn a_task_whose_result_another_needs_stays_and_that_is_told() {
    let mut refers = plan("a=look; b=append; c");
    Arc::make_mut(&mut refers.tasks[1]).parameters = parameters(json!({"text": "@{steps.a.result}"}));
    let mut world = World::given(|input| input.plan = Some(refers.clone()));
    world.acknowledges = false;
    cancelled(&mut world, Some("a"));
    assert_eq!((world.stopping().as_str(), world.statuses().as_str()), ("", "a:running b:pending c:running"));
    let [ProgressEvent::CancelRefused { task, faults }] = world.events_named("cancel_refused")[..] else { panic!("{:?}", world.events) };
    assert_eq!(task.as_str(), "a");
    assert!(faults.iter().any(|fault| fault.to_string().contains("needs the result of \"a\"")), "{faults:?}");
    for task in ["b", "a"] {
        cancelled(&mut world, Some(task));
        world.acknowledge_all();
    }
    assert_eq!(world.statuses(), "a:skipped b:skipped c:running", "what needed it was taken out first");
}

#[test]
fn tasks_are_cancelled_in_an_order_in_which_they_can_be() {
    let mut refers = plan("a=look; b=append; c");
    Arc::make_mut(&mut refers.tasks[1]).parameters = parameters(json!({"text": "@{steps.a.result}"}));
    let mut world = World::given(|input| input.plan = Some(refers.clone()));
    world.acknowledges = false;
    world.stopped();
    for task in ["a", "b"] {
        cancelled(&mut world, Some(task));
    }
    world.acknowledge_all();
    world.resumed();
    assert_eq!(world.statuses(), "a:skipped b:skipped c:running");
    assert!(world.events_named("cancel_refused").is_empty());
}

#[test]
fn what_was_to_be_cancelled_is_none_of_a_fork_before_it() {
    let mut world = World::of("a; b; c: a");
    world.acknowledges = false;
    for task in ["a", "b"] {
        cancelled(&mut world, Some(task));
    }
    world.send(RunFact::Forked {});
    world.resumed();
    assert_eq!(world.statuses(), "a:running b:running c:pending");
}

#[test]
fn the_only_task_of_a_direct_run_is_not_taken_out() {
    let mut world = World::new();
    world.routed(PlanMode::Direct);
    cancelled(&mut world, Some("main"));
    assert_eq!(world.open(), "main");
}
