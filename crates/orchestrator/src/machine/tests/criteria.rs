//! A claim is not enough: completion criteria of tasks, success criteria of the goal.

use aime_progress_management::{Conclusion, FailureCause, Outcome, PlanChange, ProgressEvent, Strategic, StrategicChange, TaskChange};

use super::{
    build::{add, check, conclusion, id, plan},
    world::World,
};
use crate::{Reflect, RunEffect, RunFact, RunInput};

fn must_exist(input: &mut RunInput) {
    let mut plan = plan("a");
    plan.strategic = Strategic { success_criteria: vec!["a.md exists".into()], ..Strategic::default() };
    input.plan = Some(plan);
}

/// A criterion and its result.
type Seen<'a> = (&'a str, Option<bool>);

fn claims(world: &mut World, checks: &[Seen<'_>]) {
    let fact = RunFact::TaskEnded {
        id: world.effect("a"),
        conclusion: conclusion(Outcome::Success, None, None),
        checks: checks.iter().map(|(criterion, passed)| check(criterion, *passed)).collect(),
        calls: Vec::new(),
        conflicts: Vec::new(),
        duration_ms: 1,
    };
    world.send(fact);
}

// Requirement: 5.3
#[test]
fn a_task_is_completed_by_its_claim_and_its_criteria() {
    let table: [(&[Seen<'_>], bool); 5] = [
        (&[], true),
        (&[("x exists", Some(true))], true),
        (&[("it is beautiful", None)], true),
        (&[("x exists", Some(true)), ("y exists", Some(false))], false),
        (&[("x exists", Some(false)), ("it is beautiful", None)], false),
    ];
    for (checks, completed) in table {
        let mut world = World::of("a");
        claims(&mut world, checks);
        assert_eq!(
            world.events_named("criterion_checked").len(),
            checks.len(),
            "a criterion that nobody could check is reported, too: {checks:?}"
        );
        if completed {
            assert_eq!(world.ended(), "completed", "{checks:?}");
            continue;
        }
        assert_eq!(world.statuses(), "a:running");
        assert_eq!(world.effect("a").as_str(), "a/1/1+1", "its actor goes on: {checks:?}");
    }
}

/// Returns the text on missing parts that the actor of a task gets, and its execution.
fn returned(world: &World) -> Option<(u32, u32, String)> {
    let RunEffect::StartActor { brief, execution, .. } = &world.under_way[&world.effect("a")].effect else { panic!() };
    brief.returned.clone().map(|returned| (*execution, returned.number, returned.missing))
}

// Requirement: 5.4
#[test]
fn a_refused_result_goes_back_before_there_is_a_new_attempt() {
    for max_retries in [0, 1, 2] {
        let mut world = World::with("a", |settings| settings.triggers.max_retries = max_retries);
        assert_eq!(returned(&world), None);
        for number in 1..=max_retries {
            claims(&mut world, &[("y exists", Some(false))]);
            assert_eq!(returned(&world), Some((1, number, "\"y exists\" does not hold: looked".to_owned())));
        }
        claims(&mut world, &[("y exists", Some(false))]);
        let task = &world.state().tasks[&id("a")];
        assert_eq!((task.attempts, task.failures, task.failed_for_good), (1, 1, true), "{max_retries}");
        let concluded = task.conclusion.clone().unwrap();
        assert_eq!((concluded.outcome, concluded.cause), (Outcome::Failure, Some(FailureCause::Criteria)));
        assert_eq!(
            concluded.error.as_ref().map(ToString::to_string).as_deref(),
            Some("reported as done, but \"y exists\" does not hold: looked")
        );
        assert_eq!(world.open(), "replan");
    }
}

// Requirement: 5.4
#[test]
fn a_new_attempt_after_refused_results_knows_the_last_one() {
    let rewritten = TaskChange { description: Some("do it in another way".to_owned()), ..TaskChange::default() };
    let table = [
        ("a", PlanChange::ModifyTask { id: id("a"), change: Box::new(rewritten) }, "### An earlier attempt at this task failed"),
        ("b", add("b", &["a"]), "### The task `a`, which this one replaces, failed"),
    ];
    for (next, change, head) in table {
        let mut world = World::with("a", |settings| settings.triggers.max_retries = 1);
        for _ in 0..=1 {
            claims(&mut world, &[("y exists", Some(false))]);
        }
        assert_eq!(world.open(), "replan");
        world.patched(vec![change]);
        let RunEffect::StartActor { brief, .. } = &world.under_way[&world.effect(next)].effect else { panic!() };
        let expected = format!(
            "{head}\nreported as done, but \"y exists\" does not hold: looked\nIt had reported:\nwhat was done\n\
             Look at what is there, keep what holds, and do the rest another way."
        );
        assert_eq!((brief.results.as_str(), &brief.returned), (expected.as_str(), &None));
    }
}

// Requirement: 9.1
#[test]
fn a_new_attempt_knows_where_unmerged_work_is() {
    let mut world = World::with("a", |settings| settings.triggers.max_retries = 0);
    let (unmerged, references) = (Some(".aime/private/a-1/folder".to_owned()), vec!["x.md".to_owned()]);
    let fact = RunFact::TaskEnded {
        id: world.effect("a"),
        conclusion: Conclusion { unmerged, references, ..conclusion(Outcome::Success, None, None) },
        checks: vec![check("y exists", Some(false))],
        calls: Vec::new(),
        conflicts: Vec::new(),
        duration_ms: 1,
    };
    world.send(fact).patched(vec![add("b", &["a"])]);
    let RunEffect::StartActor { brief, .. } = &world.under_way[&world.effect("b")].effect else { panic!() };
    let expected = "### The task `a`, which this one replaces, failed\n\
                    reported as done, but \"y exists\" does not hold: looked; its changes are not in the working folder, but kept in \
                    .aime/private/a-1/folder\n\
                    It had reported:\nwhat was done\nIt made or changed there: x.md\n\
                    Nothing of it is in your folder. It is kept in `.aime/private/a-1/folder` of the working folder, where commands can \
                    read it: copy what holds, and do the rest another way.";
    assert_eq!(brief.results, expected);
}

#[test]
fn a_returned_result_survives_a_stop_and_a_crash() {
    let mut world = World::of("a");
    claims(&mut world, &[("y exists", Some(false))]);
    world.stopped().resumed();
    assert_eq!(returned(&world).map(|(execution, number, _)| (execution, number)), Some((1, 1)));
    world.crashed();
    assert_eq!(returned(&world).map(|(execution, number, _)| (execution, number)), Some((1, 1)));
    claims(&mut world, &[("y exists", Some(true))]);
    assert_eq!(world.ended(), "completed");
}

// Requirement: 6.4
#[test]
fn a_check_under_way_is_no_stall() {
    let mut world = World::with("a", |settings| settings.triggers.stall_timeout = 300);
    world.later(290).send(RunFact::CheckStarted { task: id("a") });
    world.later(20).later(600);
    assert_eq!(world.open(), "a");
    claims(&mut world, &[("y exists", Some(false))]);
    world.later(299);
    assert_eq!((world.open().as_str(), world.effect("a").as_str()), ("a", "a/1/1+1"), "the end of a check is progress");
    world.later(1);
    assert_eq!(world.open(), "a replan");
    world.replayed();
}

#[test]
fn a_failure_does_not_become_a_success_by_its_criteria() {
    let mut world = World::with("a", |settings| settings.triggers.max_retries = 0);
    let fact = RunFact::TaskEnded {
        id: world.effect("a"),
        conclusion: conclusion(Outcome::Failure, Some("it broke"), None),
        checks: vec![check("a.md exists", Some(true))],
        calls: Vec::new(),
        conflicts: Vec::new(),
        duration_ms: 1,
    };
    world.send(fact);
    assert_eq!(world.statuses(), "a:failed");
}

// Requirement: 1.9
#[test]
fn the_goal_is_reached_when_its_criteria_hold_or_nobody_can_tell() {
    for passed in [Some(true), None] {
        let mut world = World::given(must_exist);
        world.done("a");
        assert_eq!(world.open(), "verify");
        world.verified(&[("a.md exists", passed)]);
        assert_eq!(world.ended(), "completed");
    }
}

#[test]
fn criteria_that_do_not_hold_change_the_plan_and_are_looked_at_again() {
    let mut world = World::given(must_exist);
    world.done("a").verified(&[("a.md exists", Some(false))]);
    assert_eq!(world.open(), "replan");
    let [ProgressEvent::TriggersFired { reasons }] = world.events_named("triggers_fired")[..] else { panic!() };
    assert!(reasons[0].detail.to_string().contains("a.md exists: looked"), "{reasons:?}");
    world.patched(vec![add("b: a", &[])]);
    assert_eq!(world.open(), "b");
    world.done("b");
    assert_eq!(world.open(), "verify", "the plan has changed since");
    world.verified(&[("a.md exists", Some(true))]).answers("done");
    assert_eq!(world.ended(), "completed");
}

#[test]
fn criteria_that_no_replan_makes_hold_end_the_run() {
    let mut world = World::given(must_exist);
    world.done("a").verified(&[("a.md exists", Some(false))]).no_patch();
    assert_eq!(world.ended(), "goal_not_reached");
    assert!(world.message().contains("success criteria do not hold: a.md exists"), "{}", world.message());
}

#[test]
fn criteria_that_never_hold_do_not_replan_for_ever() {
    let mut world = World::given(|input| {
        must_exist(input);
        input.settings.unattended = true;
    });
    world.done("a");
    for round in 0.. {
        assert!(round < 10, "it never ends");
        world.verified(&[("a.md exists", Some(false))]);
        if world.open() == "ask-escalation" {
            break;
        }
        let task = format!("n{round}");
        world.patched(vec![add(&task, &[])]).done(&task);
    }
    world.deferred("escalation");
    assert_eq!(world.ended(), "waiting_for_human");
    assert_eq!(world.state().decisions.len(), 3);
}

#[test]
fn a_patch_that_changes_nothing_does_not_loop() {
    let mut world = World::given(must_exist);
    world.done("a");
    for _ in 0..3 {
        world.verified(&[("a.md exists", Some(false))]).patched(vec![]);
    }
    world.verified(&[("a.md exists", Some(false))]);
    assert_eq!(world.open(), "ask-escalation");
}

// Requirement: 3.28
#[test]
fn a_patch_does_not_make_the_goal_reached_by_another_strategy() {
    let change = |strategic: StrategicChange| vec![PlanChange::SetStrategic { strategic }];
    let another = StrategicChange { approach: Some("Another way.".to_owned()), ..StrategicChange::default() };
    let none = StrategicChange { success_criteria: Some(Vec::new()), ..StrategicChange::default() };
    for strategic in [another, none] {
        let mut world = World::given(must_exist);
        world.done("a").verified(&[("a.md exists", Some(false))]).patched(change(strategic.clone()));
        assert_eq!(world.open(), "verify", "it is looked at again: {strategic:?}");
        world.verified(&[("a.md exists", Some(false))]).no_patch();
        assert_eq!(world.ended(), "goal_not_reached", "{strategic:?}");
    }
}

#[test]
fn the_settings_say_what_is_looked_at_in_the_end() {
    let table = [
        (Reflect::Never, true, false),
        (Reflect::Never, false, false),
        (Reflect::Criteria, true, true),
        (Reflect::Criteria, false, false),
        (Reflect::Always, true, true),
        (Reflect::Always, false, true),
    ];
    for (reflect, criteria, looked_at) in table {
        let mut world = World::given(|input| {
            if criteria {
                must_exist(input)
            } else {
                input.plan = Some(plan("a"))
            }
            input.settings.reflect = reflect;
        });
        world.done("a");
        assert_eq!(world.open() == "verify", looked_at, "{reflect:?} {criteria}");
    }
}

#[test]
fn a_refusal_in_the_end_is_a_replan_within_the_frequency_control() {
    let mut world = World::given(|input| {
        input.plan = Some(plan("a"));
        input.settings.reflect = Reflect::Always;
        input.settings.frequency.max_replans_per_plan = 1;
        input.settings.unattended = true;
    });
    world.done("a").verified(&[("the goal", Some(false))]);
    assert_eq!(world.open(), "replan");
    world.patched(vec![add("b", &[])]).done("b").verified(&[("the goal", Some(false))]);
    world.deferred("escalation");
    assert_eq!(world.ended(), "waiting_for_human", "no second one is allowed");
}
