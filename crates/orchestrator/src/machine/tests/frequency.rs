//! Frequency control of replans, and the question to a person when it blocks one.

use aime_progress_management::{PlanChange, ProgressEvent, RunStatus, Significance};

use super::{
    build::{add, id},
    replans::evidence,
    world::World,
};

/// Returns a run that has just been replanned while `a` continues.
fn replanned() -> World {
    let mut world = World::of("a; b: a");
    world.reports("a", 0, evidence("first", "a", Significance::High)).patched(vec![]);
    assert_eq!(world.open(), "a");
    world
}

// Requirement: 1.8, 6.9, 6.10
#[test]
fn beside_running_work_a_cooldown_is_kept_and_nothing_is_lost() {
    for significance in [Significance::High, Significance::Critical] {
        let mut world = replanned();
        world.later(10);
        world.reports("a", 1, evidence("second", "a", significance));
        assert_eq!(world.open(), "a");
        let [ProgressEvent::ReplanSuppressed { reason, triggers }] = world.events_named("replan_suppressed")[..] else { panic!() };
        assert!(reason.to_string().contains("the last replan was 10 s ago; the next is allowed in 50 s"), "{reason}");
        assert_eq!(triggers[0].evidence[0].as_str(), "second");
        world.later(49);
        assert_eq!((world.open().as_str(), world.events_named("replan_suppressed").len()), ("a", 1), "told once");
        world.later(1);
        assert_eq!(world.open(), "a replan");
        world.patched(vec![]);
        assert!(world.state().evidence.iter().all(|evidence| evidence.processed));
    }
}

#[test]
fn in_an_idle_run_a_cooldown_would_only_lose_time() {
    let mut world = replanned();
    world.later(1);
    world.fails_for_good("a");
    assert_eq!(world.open(), "replan");
    assert!(world.events_named("replan_suppressed").is_empty());
}

#[test]
fn a_cooldown_that_holds_when_idle_is_waited_for() {
    let mut world = World::with("a; b: a", |settings| settings.frequency.cooldown_when_idle = true);
    world.reports("a", 0, evidence("first", "a", Significance::High)).patched(vec![]);
    world.fails_for_good("a");
    assert_eq!((world.open().as_str(), world.events_named("replan_suppressed").len()), ("", 1));
    assert!(world.output.is_none(), "the timer will wake it");
    world.later(60);
    assert_eq!(world.open(), "replan");
}

/// Returns a run that has used up its replans and fails again.
fn capped(change: impl FnOnce(&mut crate::RunSettings)) -> World {
    let mut world = World::with("t0; after: t0", |settings| {
        settings.triggers.max_retries = 0;
        change(settings);
    });
    for round in 0..3 {
        let (old, new) = (format!("t{round}"), format!("t{}", round + 1));
        world.fails(&old).patched(vec![add(&new, &[&old])]);
    }
    world.fails("t3");
    world
}

// Requirement: 1.8
#[test]
fn a_cap_on_replans_asks_a_person() {
    let mut world = capped(|_| {});
    assert_eq!(world.open(), "ask-escalation");
    let [question] = &world.state().questions[..] else { panic!() };
    assert!(question.question.to_string().contains("the plan was changed 3 times, 3 allowed"), "{}", question.question);
    assert!(question.question.to_string().contains("task t3 failed once: it broke"), "{}", question.question);
    assert_eq!(world.events_named("replan_suppressed").len(), 1);
    world.later(100_000);
    assert_eq!(world.open(), "ask-escalation", "whoever is there has time");
    world.deferred("escalation");
    assert_eq!((world.ended(), world.state().status), ("waiting_for_human", RunStatus::WaitingForHuman));
    world.resumed().deferred("escalation");
    assert_eq!(world.ended(), "waiting_for_human");
    world.resumed();
    assert_eq!(world.open(), "ask-escalation");
}

#[test]
fn a_person_who_says_continue_allows_more() {
    for answer in ["continue", " Yes ", "go on", "继续", "好的。", ""] {
        let mut world = capped(|_| {});
        world.person(answer);
        assert_eq!(world.open(), "replan", "{answer}");
        assert!(world.state().evidence.is_empty());
        world.patched(vec![add("t4", &["t3"])]).done("t4").done("after").answers("done");
        assert_eq!(world.ended(), "completed");
    }
}

#[test]
fn a_person_who_says_what_to_do_is_heard() {
    let mut world = capped(|_| {});
    world.person("take the tunnel");
    assert_eq!(world.open(), "replan");
    let [evidence] = &world.state().evidence[..] else { panic!() };
    assert_eq!((evidence.content.as_str(), evidence.processed), ("take the tunnel", false));
    world.patched(vec![add("t4", &["t3"])]);
    assert!(world.state().evidence[0].processed);
}

#[test]
fn a_person_who_says_stop_ends_the_run() {
    for answer in ["Stop", "no.", "停止", "不要"] {
        let mut world = capped(|_| {});
        world.person(answer);
        assert_eq!(world.ended(), "goal_not_reached", "{answer}");
        assert!(world.message().contains("a person ended the run"), "{}", world.message());
        assert!(world.message().contains("t3 failed: it broke"), "{}", world.message());
        assert_eq!((world.status("after").word(), world.machine.is_over()), ("skipped", true));
    }
}

#[test]
fn a_stop_of_a_person_ends_what_still_runs() {
    let mut world = World::with("a; b=append; c: a; d; e: d", |settings| {
        settings.frequency.max_replans_per_plan = 0;
        settings.max_parallel = 3;
    });
    world.done("d");
    world.reports("a", 0, evidence("e", "a", Significance::High));
    assert_eq!(world.open(), "a b e ask-escalation");
    world.person("stop");
    assert_eq!(world.ended(), "goal_not_reached");
    assert_eq!(world.statuses(), "a:skipped b:skipped c:skipped d:completed e:skipped");
    assert_eq!(world.state().tasks[&id("c")].reason.as_ref().map(ToString::to_string).as_deref(), Some("a person ended the run"));
}

// Requirement: 6.8
#[test]
fn unattended_the_cap_stops_with_a_report() {
    let mut world = capped(|settings| settings.unattended = true);
    world.deferred("escalation");
    assert_eq!((world.ended(), world.machine.is_over()), ("waiting_for_human", false));
    for part in ["3 allowed", "Open problems:\n- task t3 failed", "The run so far:\n- Do t0 (skipped)", "- Do t3 (failed): it broke"] {
        assert!(world.message().contains(part), "{part}: {}", world.message());
    }
    assert_eq!(world.status("after").word(), "blocked", "it is not given up");
    world.resumed().person("continue");
    assert_eq!(world.open(), "replan");
}

#[test]
fn unattended_work_that_does_not_need_the_plan_changed_goes_on() {
    let mut world = World::with("a; b: a", |settings| {
        settings.unattended = true;
        settings.frequency.max_replans_per_plan = 0;
    });
    world.reports("a", 0, evidence("e", "a", Significance::High));
    assert_eq!(world.open(), "a ask-escalation");
    world.deferred("escalation").done("a").done("b").answers("done");
    assert_eq!(world.ended(), "completed");
}

#[test]
fn every_replan_counts_even_one_without_a_patch() {
    let mut world = World::with("a; b; c", |settings| settings.triggers.max_retries = 0);
    for task in ["a", "b", "c"] {
        world.later(61).fails(task);
        if task == "c" {
            break;
        }
        world.no_patch();
    }
    world.patched(vec![PlanChange::UnblockTask { id: id("c") }]).fails("c");
    assert_eq!(world.open(), "ask-escalation");
}
