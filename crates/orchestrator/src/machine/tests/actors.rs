//! Reports of an actor: each once, about its own task, and without a decision about the run.

use aime_progress_management::{CheckMethod, Owner, PlanMode, ProgressEvent, ProgressReport, RunStatus, Significance, TaskStatus};

use super::{
    build::{conclusion, id},
    replans::evidence,
    world::World,
};
use crate::{ActorReport, RunFact};

fn report(task: &str, message: &str) -> ProgressEvent {
    ProgressEvent::ProgressReported {
        task: Some(id(task)),
        report: ProgressReport { status: "busy".to_owned(), message: message.to_owned() },
    }
}

#[test]
fn an_event_is_passed_on_once_whatever_is_sent_again() {
    let mut world = World::of("a");
    for number in [0, 1, 0, 1, 2, 1] {
        world.reports("a", number, report("a", &format!("at {number}")));
    }
    let messages = world.events_named("progress_reported").into_iter().map(|event| match event {
        ProgressEvent::ProgressReported { report, .. } => report.message.as_str(),
        _ => unreachable!(),
    });
    assert_eq!(messages.collect::<Vec<_>>(), ["at 0", "at 1", "at 2"]);
    // A resumed actor reports everything again.
    world.crashed();
    for number in 0..4 {
        world.reports("a", number, report("a", "again"));
    }
    assert_eq!(world.events_named("progress_reported").len(), 4);
    // Another execution counts from 0.
    world.fails("a").reports("a", 0, report("a", "anew"));
    assert_eq!(world.events_named("progress_reported").len(), 5);
}

#[test]
fn each_actor_below_counts_its_own_events() {
    let mut world = World::of("a");
    world.reports("a", 0, report("a", "whole"));
    let below = |call: &str, number, message: &str| RunFact::ActorReported {
        task: id("a"),
        execution: 1,
        call: Some(call.to_owned()),
        number,
        event: report("a", message),
    };
    for call in ["a/1/1/1", "a/1/1/1/d/1/1"] {
        for number in [0, 1, 0] {
            world.send(below(call, number, call));
        }
    }
    world.reports("a", 0, report("a", "again")).reports("a", 1, report("a", "whole"));
    assert_eq!(world.events_named("progress_reported").len(), 6);
    assert_eq!(world.machine.actors(), 3, "one of the plan, and two below it");
    world.send(RunFact::ActorReported {
        task: id("a"),
        execution: 2,
        call: Some("a/2/1/1".to_owned()),
        number: 0,
        event: report("a", "x"),
    });
    assert_eq!(world.events_named("progress_reported").len(), 6, "no actor of another execution");
}

/// Reports received only after a crash decide nothing by themselves: if the actor is given up next, all of its calls
/// are still reported with their ends.
#[test]
fn what_is_heard_after_a_crash_is_told_before_anything_is_decided() {
    let mut world = World::of("a; b: a");
    let started = ProgressEvent::ToolCallStarted {
        task: Some(id("a")),
        call: "a/1/1/1".into(),
        tool: "write".into(),
        parameters: Default::default(),
    };
    let events = [evidence("e", "a", Significance::High), started];
    let reports = (0..).zip(events).map(|(number, event)| ActorReport { task: id("a"), execution: 1, call: None, number, event });
    world.send(RunFact::ActorReports { reports: reports.collect() });
    assert!(world.events_named("triggers_fired").is_empty(), "the evidence waits until the run goes on");
    assert_eq!(world.events_named("tool_call_started").len(), 1);
    world.send(RunFact::CancelRequested { task: None, reason: "enough".into(), message: None });
    assert_eq!(world.events_named("tool_call_finished").len(), 1);
}

/// The resume itself may take a task out of the plan, and that task's actor can no longer report its actions.
#[test]
fn what_an_actor_did_is_told_when_the_resume_takes_its_task_out() {
    let mut world = World::of("a; b");
    world.acknowledges = false;
    world.send(RunFact::CancelRequested { task: Some(id("a")), reason: "not needed".into(), message: None });
    let event = ProgressEvent::ToolCallStarted {
        task: Some(id("a")),
        call: "a/1/1/1".into(),
        tool: "write".into(),
        parameters: Default::default(),
    };
    world.send(RunFact::ActorReports { reports: vec![ActorReport { task: id("a"), execution: 1, call: None, number: 0, event }] });
    assert_eq!(world.status("a").word(), "running");
    world.crashed();
    assert_eq!((world.status("a").word(), world.events_named("tool_call_started").len()), ("skipped", 1));
    assert_eq!(world.events_named("tool_call_finished").len(), 1);
}

#[test]
fn an_event_of_another_task_or_execution_is_dropped() {
    let mut world = World::of("a; b");
    let before = world.events.len();
    world.reports("a", 0, report("b", "not mine"));
    world.reports("a", 0, evidence("e", "b", Significance::High));
    world.reports("nobody", 0, report("nobody", "who?"));
    world.send(RunFact::ActorReported { task: id("a"), execution: 2, call: None, number: 0, event: report("a", "from the future") });
    assert_eq!(world.events.len(), before);
    world.fails("a");
    world.send(RunFact::ActorReported { task: id("a"), execution: 1, call: None, number: 7, event: report("a", "from the past") });
    assert!(world.events_named("progress_reported").is_empty());
}

// Requirement: 4.13
#[test]
fn an_actor_decides_nothing_about_the_run() {
    let decides = [
        ProgressEvent::RunStarted { plan_id: "p".parse().unwrap(), goal: "another".into(), images: Vec::new() },
        ProgressEvent::Routed { mode: PlanMode::Direct, by: "me".into(), score: None, category: "x".into(), reasons: vec![] },
        ProgressEvent::TaskStatusChanged {
            task: id("a"),
            from: TaskStatus::Running,
            to: TaskStatus::Completed,
            attempt: 1,
            for_good: false,
            reason: None,
        },
        ProgressEvent::TaskConcluded { task: id("a"), conclusion: conclusion(aime_progress_management::Outcome::Success, None, None) },
        ProgressEvent::RunStatusChanged { from: RunStatus::Executing, to: RunStatus::Completed, reason: None },
        ProgressEvent::QuestionAsked { id: "q".parse().unwrap(), task: Some(id("a")), kind: "approval".into(), question: "May I?".into() },
        ProgressEvent::QuestionAnswered { id: "q".parse().unwrap(), answer: "yes".into() },
        ProgressEvent::CriterionChecked {
            task: Some(id("a")),
            criterion: "good".into(),
            owner: Owner::Lead,
            how: CheckMethod::Audited,
            passed: Some(true),
            reason: "I say so".into(),
            changes: None,
            duration_ms: 0,
        },
        ProgressEvent::EvidenceProcessed { evidence: vec![], reason: "no".into() },
        ProgressEvent::BoundReached { bound: "tokens".into(), detail: "".into() },
        ProgressEvent::RunInterrupted { reason: "no".into() },
        ProgressEvent::RunResumed {},
        ProgressEvent::Answered { text: "done".into() },
        ProgressEvent::ModelCalled {
            task: None,
            purpose: "plan".into(),
            model: "m".into(),
            effort: None,
            spent: Default::default(),
            duration_ms: 0,
            text: String::new(),
            finish: None,
        },
    ];
    let mut world = World::of("a");
    let (before, state) = (world.events.len(), world.state().clone());
    for (event, number) in decides.into_iter().zip(0..) {
        world.reports("a", number, event);
    }
    assert_eq!((world.events.len(), world.state()), (before, &state));
}

#[test]
fn what_does_not_fit_the_state_is_dropped_and_breaks_nothing() {
    let mut world = World::of("a; b");
    world.reports("a", 0, evidence("e", "a", Significance::Low));
    world.reports("b", 0, evidence("e", "b", Significance::Low));
    assert_eq!(world.state().evidence.len(), 1);
    world.reports("b", 1, report("b", "and on"));
    assert_eq!(world.events_named("progress_reported").len(), 1);
}
