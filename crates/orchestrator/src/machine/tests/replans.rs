//! Replans: triggers, patches, decisions.

use aime_durable::Reason;
use aime_progress_management::{
    Evidence, EvidenceId, EvidenceKind, Outcome, Owner, PlanChange, ProgressEvent, RunStatus, Significance, TriggerKind,
};

use super::{
    build::{add, conclusion, id, model_use},
    world::World,
};
use crate::{Replanning, RunFact, RunResult};

pub(super) fn evidence(name: &str, task: &str, significance: Significance) -> ProgressEvent {
    ProgressEvent::EvidenceAdded {
        evidence: Evidence {
            id: name.parse().unwrap(),
            at: aime_progress_management::Timestamp::from_millis(0),
            task: Some(id(task)),
            kind: EvidenceKind::Discovery,
            significance,
            content: format!("{name} was found"),
            processed: false,
            origins: Vec::new(),
        },
    }
}

fn triggers(world: &World) -> Vec<Vec<TriggerKind>> {
    let fired = world.events_named("triggers_fired").into_iter().map(|event| match event {
        ProgressEvent::TriggersFired { reasons } => reasons.iter().map(|reason| reason.kind).collect(),
        _ => unreachable!(),
    });
    fired.collect()
}

// Requirement: 1.8, 3.7, 6.14
#[test]
fn what_failed_is_replaced_and_the_rest_goes_on() {
    let mut world = World::of("a; b: a; c");
    world.done("c").fails_for_good("a");
    assert_eq!(triggers(&world), [[TriggerKind::TaskFailed, TriggerKind::Blocked]]);
    assert_eq!((world.statuses().as_str(), world.state().status), ("a:failed b:blocked c:completed", RunStatus::Replanning));
    let (reasons, state) = (&world.order("replan").wake.reasons, &world.order("replan").state);
    assert_eq!((reasons.len(), state.tasks.len()), (2, 3));
    world.patched(vec![add("a1", &["a"]), add("a2: a1", &["a"])]);
    assert_eq!(world.state().status, RunStatus::Executing);
    assert_eq!(world.statuses(), "a:skipped a2:pending a1:running b:pending c:completed");
    world.done("a1").done("a2").done("b").answers("done");
    assert_eq!(world.ended(), "completed");
    let [decision] = &world.state().decisions[..] else { panic!() };
    assert_eq!((decision.version, decision.triggers.len(), decision.patch.changes.len()), (2, 2, 2));
}

// Requirement: 1.9, 3.23
#[test]
fn a_refused_replan_skips_what_is_blocked_and_says_why() {
    let mut world = World::of("a; b: a; c: b; d");
    world.fails_for_good("a").no_patch();
    assert_eq!(world.statuses(), "a:failed b:blocked c:pending d:running", "d goes on");
    assert_eq!(world.events_named("plan_refused").len(), 1);
    world.done("d");
    assert_eq!(world.ended(), "goal_not_reached");
    assert_eq!(world.statuses(), "a:failed b:skipped c:skipped d:completed");
    for task in ["b", "c"] {
        let reason = world.state().tasks[&id(task)].reason.clone().unwrap();
        assert!(reason.to_string().starts_with("given up: waits for what cannot be had"), "{task}: {reason}");
    }
    let answer = world.state().answer.clone().unwrap();
    for expected in ["a failed: it broke", "Do a (failed)\n", "Do c (skipped)", "Do d (completed)"] {
        assert!(answer.contains(expected), "{expected}: {answer}");
    }
}

// Requirement: 3.25, 6.11
#[test]
fn a_patch_that_does_not_fit_changes_nothing_and_stops_nobody() {
    let mut world = World::of("a; b");
    world.reports("a", 0, evidence("e", "a", Significance::High));
    world.acknowledges = false;
    world.patched(vec![add("b", &[]), add("a", &[])]);
    assert_eq!(world.stopping(), "", "b goes on");
    assert_eq!((world.statuses().as_str(), world.state().version), ("a:running b:running", 1));
    assert!(!world.state().evidence[0].processed, "no decision has used it");
    assert!(world.events_named("evidence_processed").is_empty());
}

// Requirement: 3.62
#[test]
fn a_change_that_does_not_fit_is_dropped_and_the_others_are_applied() {
    let mut world = World::of("a; b");
    world.reports("a", 0, evidence("e", "a", Significance::High));
    let cancel = PlanChange::CancelTask { id: id("b"), reason: String::new(), by: Owner::Lead };
    world.patched(vec![cancel, add("a", &[]), add("c", &[])]);
    assert_eq!((world.statuses().as_str(), world.state().version), ("a:running b:skipped c:running", 2));
    let [decision] = &world.state().decisions[..] else { panic!() };
    let dropped: Vec<_> = decision.dropped.iter().map(|dropped| (&dropped.change, dropped.faults.join("; "))).collect();
    assert_eq!(dropped, [(&add("a", &[]), "task.id: the id \"a\" is taken; choose another".to_owned())]);
    assert_eq!(decision.patch.changes.len(), 2);
}

#[test]
fn the_plan_may_move_on_before_the_patch_comes() {
    let mut world = World::of("a; b; c: a");
    world.reports("a", 0, evidence("e", "a", Significance::High));
    assert_eq!(world.open(), "a b replan");
    // While the model answers, c starts, which the patch would remove.
    world.done("a");
    let remove = PlanChange::RemoveTask { id: id("c"), reason: String::new() };
    world.patched(vec![remove]);
    assert_eq!((world.statuses().as_str(), world.state().version), ("a:completed b:running c:running", 1));
    world.done("b").done("c");
    assert_eq!(world.open(), "replan", "the evidence is still not used, and now nothing else is to be done");
    world.no_patch().answers("done");
    assert_eq!(world.ended(), "completed");
}

// Requirement: 3.31
#[test]
fn an_actor_is_stopped_before_the_plan_changes() {
    for task in ["b", "b=append"] {
        let mut world = World::of(&format!("a; {task}; c: b"));
        world.reports("a", 0, evidence("e", "a", Significance::High));
        world.acknowledges = false;
        let cancel = PlanChange::CancelTask { id: id("b"), reason: "not needed".to_owned(), by: Owner::Lead };
        world.patched(vec![cancel]);
        assert_eq!(world.under_way[&world.effect("b")].revoked, Some(Reason::Cancelled));
        assert_eq!((world.status("b").word(), world.state().version), ("running", 1), "not before it has stopped");
        world.done("a");
        assert_eq!(world.open(), "b", "nothing new begins meanwhile");
        // The task ends by itself at the same time, too late for its result to count.
        world.done("b");
        assert_eq!((world.status("b").word(), world.state().version), ("skipped", 2));
        assert_eq!(world.state().tasks[&id("b")].reason.as_ref().map(ToString::to_string).as_deref(), Some("cancelled: not needed"));
        assert_eq!(world.open(), "c");
        world.acknowledges = true;
        world.done("c").answers("done");
        assert_eq!(world.ended(), "completed");
    }
}

#[test]
fn a_group_that_is_cancelled_stops_its_running_tasks() {
    let mut world = World::with("g/; g/a; g/b; g/c: a; d", |settings| settings.max_parallel = 5);
    world.reports("d", 0, evidence("e", "d", Significance::Critical));
    world.patched(vec![PlanChange::CancelTask { id: id("g"), reason: String::new(), by: Owner::Lead }]);
    assert_eq!(world.statuses(), "g:skipped a:skipped b:skipped c:skipped d:running");
    assert_eq!(world.open(), "d");
    world.done("d");
    assert_eq!(world.ended(), "completed");
}

#[test]
fn a_patch_is_rebased_once_the_actors_that_it_stops_have_stopped() {
    for (task, status) in [("b", "running"), ("b=look", "running"), ("b=append", "failed")] {
        let stopping = || {
            let mut world = World::of(&format!("g/; g/a; {task}"));
            world.reports("a", 0, evidence("e", "a", Significance::High));
            world.acknowledges = false;
            world.patched(vec![PlanChange::CancelTask { id: id("b"), reason: String::new(), by: Owner::Lead }, add("g/n", &[])]);
            assert_eq!(world.under_way[&world.effect("b")].revoked, Some(Reason::Cancelled));
            world
        };
        // Meanwhile the group to which the patch adds a task ends.
        let mut world = stopping();
        world.done("a").acknowledge_all();
        assert_eq!((world.status("g").word(), world.status("b").word(), world.state().version), ("completed", "skipped", 2), "{task}");
        let [decision] = &world.state().decisions[..] else { panic!() };
        assert_eq!(decision.dropped.iter().map(|dropped| &dropped.change).collect::<Vec<_>>(), [&add("g/n", &[])]);

        // Meanwhile the whole run is stopped. The decision is taken nevertheless.
        let mut world = stopping();
        world.stopped().acknowledge_all();
        assert_eq!((world.ended(), world.state().version), ("interrupted", 2));
        assert_eq!(world.statuses(), "g:running a:pending b:skipped n:pending");

        // Meanwhile the process dies.
        let mut world = stopping();
        world.acknowledges = true;
        world.crashed();
        assert_eq!((world.status("b").word(), world.state().version), (status, 1), "{task}");
    }
}

// Requirement: 6.2
#[test]
fn evidence_changes_the_plan_while_others_run_and_is_then_processed() {
    let mut world = World::of("a; b: a");
    world.reports("a", 0, evidence("low", "a", Significance::Medium));
    assert_eq!(world.open(), "a", "not significant enough");
    world.reports("a", 1, evidence("high", "a", Significance::High));
    assert_eq!(world.open(), "a replan");
    world.patched(vec![add("c: a", &[])]);
    assert_eq!(world.state().evidence.iter().map(|evidence| evidence.processed).collect::<Vec<_>>(), [false, true]);
    assert_eq!(world.open(), "a");
    world.done("a").done("b").done("c").answers("done");
    assert_eq!(world.ended(), "completed");
}

// Requirement: 6.11
#[test]
fn evidence_that_no_decision_used_stays_open_for_the_next_one() {
    let mut world = World::with("a; b: a", |settings| settings.frequency.cooldown_seconds = 0);
    world.reports("a", 0, evidence("first", "a", Significance::Critical));
    world.no_patch();
    assert_eq!((world.open().as_str(), world.state().evidence[0].processed), ("a", false), "it asks for nothing more by itself");
    world.reports("a", 1, evidence("second", "a", Significance::High));
    assert_eq!(world.open(), "a replan");
    world.patched(vec![add("c: a", &[])]);
    assert!(world.state().evidence.iter().all(|evidence| evidence.processed), "the next decision used both");
    let decision = world.state().decisions.last().unwrap();
    assert_eq!(decision.evidence.iter().map(EvidenceId::as_str).collect::<Vec<_>>(), ["first", "second"]);
    world.done("a").done("b").done("c").answers("done");
    assert_eq!(world.ended(), "completed");
}

// Requirement: 6.11
#[test]
fn evidence_that_is_left_open_is_no_new_trouble_when_its_task_is_tried_again() {
    let mut world = World::of("a; b: a; c: b");
    world.reports("a", 0, evidence("e", "a", Significance::High));
    world.no_patch().fails("a");
    assert_eq!(world.open(), "a", "the same evidence, whatever became of its task");
    world.done("a");
    assert_eq!(world.open(), "b", "nor is the plan looked at for it after each task");
    world.fails_for_good("b");
    assert_eq!(world.open(), "replan");
    world.patched(vec![add("other", &["b"])]);
    let decision = world.state().decisions.last().unwrap();
    assert_eq!(decision.evidence.iter().map(EvidenceId::as_str).collect::<Vec<_>>(), ["e"], "the planner saw it with the rest");
    assert!(world.state().evidence[0].processed);
}

#[test]
fn evidence_stays_open_when_no_patch_came_of_it() {
    let mut world = World::of("a");
    world.reports("a", 0, evidence("e", "a", Significance::High));
    world.no_patch();
    assert!(!world.state().evidence[0].processed);
}

#[test]
fn what_a_person_said_and_no_decision_used_is_told_at_the_end() {
    let mut world = World::of("a");
    world.send(RunFact::PersonSaid { id: "person-1".parse().unwrap(), task: None, text: "not by train".to_owned() });
    assert_eq!(world.open(), "a replan");
    world.no_patch().done("a");
    assert_eq!(world.ended(), "completed");
    let result = RunResult::new("r1".parse().unwrap(), world.state(), world.output.as_ref().unwrap());
    assert_eq!(result.notes, ["changed nothing in the plan: not by train"]);
}

// Requirement: 6.4
#[test]
fn a_stall_is_noticed_by_the_timer_alone() {
    let mut world = World::with("a", |settings| settings.triggers.stall_timeout = 300);
    world.later(299);
    assert_eq!(world.open(), "a");
    world.later(1);
    assert_eq!((world.open().as_str(), triggers(&world)), ("a replan", vec![vec![TriggerKind::Stalled]]));
    world.no_patch().done("a");
    assert_eq!(world.ended(), "completed");
}

#[test]
fn progress_is_no_stall() {
    let mut world = World::of("a");
    for number in 0..10 {
        world.later(200);
        let called = ProgressEvent::ModelCalled {
            task: Some(id("a")),
            purpose: "act".into(),
            model: "m".into(),
            effort: None,
            spent: Default::default(),
            duration_ms: 1,
            text: String::new(),
            finish: None,
        };
        world.reports("a", number, called);
    }
    assert!(triggers(&world).is_empty());
}

// Requirement: 6.5
#[test]
fn few_tokens_left_ask_for_a_replan_once() {
    let mut world = World::given(|input| {
        input.settings.bounds.max_tokens = Some(1_000);
        input.plan = Some(super::build::plan("a; b: a"));
    });
    let spent = model_use("act", 850).spent;
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
    world.reports("a", 0, called.clone());
    assert_eq!(triggers(&world), [[TriggerKind::TokenBudget]]);
    world.no_patch();
    world.reports("a", 1, called).done("a");
    assert_eq!(triggers(&world).len(), 1);
    world.done("b");
    assert_eq!(world.open(), "answer");
}

#[test]
fn a_model_that_cannot_be_used_for_a_patch_leaves_a_run_that_resumes() {
    let mut world = World::of("a; b: a");
    world.fails_for_good("a");
    for _ in 0..5 {
        world.replans(Replanning::ModelFailed { message: "nobody listens".into(), hint: None });
        assert_eq!(world.ended(), "model_unavailable");
        world.resumed();
        assert_eq!(world.open(), "replan", "it does not count as a replan");
    }
    world.patched(vec![add("a1", &["a"])]).done("a1").done("b").answers("done");
    assert_eq!(world.ended(), "completed");
}

#[test]
fn what_the_plan_holds_back_and_never_releases_is_not_reached() {
    let mut world = World::with("a; b", |settings| settings.max_parallel = 1);
    world.reports("a", 0, evidence("e", "a", Significance::High));
    world.patched(vec![PlanChange::BlockTask { id: id("b"), reason: "needs a key".to_owned() }]);
    world.done("a");
    assert_eq!(world.ended(), "goal_not_reached");
    assert!(world.message().contains("b was given up: needs a key"), "{}", world.message());
}

#[test]
fn a_failure_after_the_last_replan_is_new_trouble() {
    let mut world = World::with("a", |settings| settings.triggers.max_retries = 0);
    world.fails("a").patched(vec![PlanChange::UnblockTask { id: id("a") }]);
    assert_eq!(world.open(), "a");
    world.ends("a", conclusion(Outcome::Failure, Some("again"), None));
    assert_eq!(world.open(), "replan");
    let fact = RunFact::EffectFailed { id: world.effect("replan"), message: "it panicked".into() };
    world.send(fact);
    assert_eq!(world.ended(), "internal");
    world.resumed();
    assert_eq!(world.open(), "replan");
}
