//! The end of a led run: its tasks, its criteria and the lead decide about it.

use super::{super::build::check, *};
use crate::{CriterionResult, RunInput};

fn success() -> Conclusion {
    conclusion(Outcome::Success, None, None)
}

/// Returns a run whose task `a` failed for good and whose task `b` waits for it. The lead is awake.
fn all_failed() -> World {
    let mut world = World::led();
    world.submits("a; b: a").fails_for_good("a");
    assert_eq!(world.woken().wake.kind, WakeKind::Trouble);
    world
}

fn remove(names: &[&str]) -> LeadCommand {
    let changes = names.iter().map(|name| PlanChange::RemoveTask { id: task(name), reason: String::new() }).collect();
    LeadCommand::ChangePlan { patch: patch(changes), handled: vec![], repairs: vec![] }
}

impl World {
    /// Ends a wake with `terminate` in the same answer as these commands.
    fn ends_after(&mut self, commands: Vec<LeadCommand>, conclusion: Conclusion) -> &mut Self {
        self.rests(LeadRest { commands, conclusion: Some(conclusion), ..LeadRest::default() })
    }
}

fn set_lead(input: &mut RunInput) {
    input.lead = Some(LeadPolicy { must_plan: false, mode: None });
}

#[test]
fn a_lead_that_gives_up_at_the_end_hides_no_failure() {
    type Scenario = fn() -> World;
    let gave_up = || LeadRest { gave_up: true, ..LeadRest::default() };
    let cases: [(&str, Scenario, &str); 3] = [
        (
            "a task has failed",
            || {
                let mut world = World::led();
                world.submits("a; b").fails_for_good("b").lead_answers("a is enough").done("a");
                world
            },
            "goal_not_reached",
        ),
        (
            "a criterion does not hold",
            || {
                let mut world = World::given(|input| {
                    set_lead(input);
                    input.settings.checks = vec![Criterion::text("the cups are blue").owned_by(Owner::Person)];
                });
                world.submits("a").done("a").verified(&[("the cups are blue", Some(false))]).lead_answers("they are green");
                world
            },
            "goal_not_reached",
        ),
        (
            "all is done",
            || {
                let mut world = World::led();
                world.submits("a").done("a");
                world
            },
            "completed",
        ),
    ];
    for (what, course, expected) in cases {
        let mut world = course();
        assert_eq!(world.woken().wake.kind, WakeKind::Done, "{what}");
        world.rests(gave_up());
        assert_eq!((world.ended(), world.events_named("lead_gave_up").len()), (expected, 1), "{what}");
        world.replayed();
    }
    // As in every run that rules plan, a model puts several results together.
    let mut world = World::led();
    world.submits("a; b").done("a").done("b").rests(gave_up()).answers("both are done");
    assert_eq!((world.ended(), world.state().answer.as_deref()), ("completed", Some("both are done")));
    world.replayed();
}

#[test]
fn a_lead_without_a_model_hides_no_criterion_of_tool_tasks() {
    for (spoke, holds) in [(false, true), (true, true), (false, false), (true, false)] {
        let mut world = World::given(|input| {
            set_lead(input);
            let mut tools = plan("a=look");
            tools.strategic.success_criteria = vec![Criterion::text("it is done")];
            input.plan = Some(tools);
        });
        let no_model = || conclusion(Outcome::Failure, Some("nobody listens"), Some(FailureCause::Model));
        if spoke {
            world.send(RunFact::PersonSaid { id: "p-1".parse().unwrap(), task: None, text: "go on".to_owned() });
            world.done("a").concludes(no_model());
        } else {
            world.done("a");
        }
        assert_eq!(world.open(), "verify", "{spoke} {holds}");
        world.verified(&[("it is done", Some(holds))]);
        assert_eq!(world.open(), if holds { "lead done" } else { "lead trouble" }, "{spoke} {holds}");
        world.concludes(no_model());
        assert_eq!(world.ended(), if holds { "completed" } else { "model_unavailable" }, "{spoke} {holds}");
        world.replayed();
    }
}

#[test]
fn removed_tasks_do_not_count_at_the_end() {
    let failure = || conclusion(Outcome::Failure, Some("there is no water"), None);
    let gave_up = || LeadRest { gave_up: true, ..LeadRest::default() };
    let end = |conclusion| LeadRest { conclusion: Some(conclusion), ..LeadRest::default() };
    let says = || LeadRest { answer: "there is no water".to_owned(), ..LeadRest::default() };
    let cases: [(&str, &[&str], LeadRest, &str, &str); 5] = [
        ("the lead did the work itself", &["a", "b"], end(success()), "completed", "a:skipped b:skipped"),
        ("the lead failed, too", &["a", "b"], end(failure()), "goal_not_reached", "a:skipped b:skipped"),
        ("the lead gave up", &["a", "b"], gave_up(), "goal_not_reached", "a:skipped b:skipped"),
        ("the lead does not say that it worked", &["a", "b"], says(), "goal_not_reached", "a:skipped b:skipped"),
        ("a failed task is in the plan", &["b"], end(success()), "goal_not_reached", "a:failed b:skipped"),
    ];
    for (what, removed, rest, expected, statuses) in cases {
        let mut world = all_failed();
        world.wants(vec![remove(removed)]);
        let wake = world.woken().wake;
        assert_eq!((wake.kind, wake.may_write), (WakeKind::Done, true), "{what}");
        world.lead_reports(0, Some("main")).rests(rest);
        assert_eq!((world.ended(), world.statuses().as_str()), (expected, statuses), "{what}");
        world.replayed();
    }
}

#[test]
fn a_task_that_the_lead_leaves_open_is_not_removed() {
    let mut world = World::led();
    world.submits("a; b: a").send(RunFact::PersonSaid { id: "p-1".parse().unwrap(), task: None, text: "hurry".to_owned() });
    world.concludes(success());
    assert_eq!((world.open().as_str(), world.statuses().as_str()), ("a lead refused", "a:running b:pending"), "a task runs");
    world.lead_answers("I wait").fails_for_good("a").concludes(success());
    assert_eq!((world.ended(), world.statuses().as_str()), ("goal_not_reached", "a:failed b:skipped"));
    world.replayed();
}

#[test]
fn criteria_decide_about_a_run_without_tasks() {
    for holds in [true, false] {
        let mut world = World::given(|input| {
            set_lead(input);
            input.settings.checks = vec![Criterion::text("the cups are blue").owned_by(Owner::Person)];
        });
        world.submits("a").fails_for_good("a").wants(vec![remove(&["a"])]);
        world.concludes(success()).verified(&[("the cups are blue", Some(holds))]);
        if !holds {
            // The lead may correct its work as often as an actor.
            for _ in 0..world.machine.input.settings.triggers.max_retries {
                assert_eq!(world.open(), "lead refused");
                world.concludes(success());
            }
        }
        assert_eq!(world.ended(), if holds { "completed" } else { "goal_not_reached" });
        world.replayed();
    }
}

#[test]
fn an_end_follows_the_changes_of_its_answer() {
    let mut world = all_failed();
    world.ends_after(vec![remove(&["b"]), remove(&["a"])], success());
    assert_eq!((world.ended(), world.statuses()), ("completed", "a:skipped b:skipped".to_owned()));
    assert_eq!((world.wakes.len(), world.state().version, world.state().decisions.len()), (2, 2, 1), "no wake for the end alone");
    assert_eq!(world.state().answer.as_deref(), Some("what was done"));
    world.replayed();
}

#[test]
fn an_end_that_comes_too_early_wakes_the_lead() {
    let failure = conclusion(Outcome::Failure, Some("there is no water"), None);
    let cases = [
        ("a task stays failed", vec![remove(&["b"])], success(), WakeKind::Done, 2),
        ("a change does not fit", vec![remove(&["nobody"])], success(), WakeKind::Refused, 1),
        ("a change half fits", vec![remove(&["a", "b", "nobody"])], success(), WakeKind::Refused, 2),
        ("the end is a failure", vec![remove(&["a", "b"])], failure, WakeKind::Done, 2),
    ];
    for (what, commands, conclusion, kind, version) in cases {
        let mut world = all_failed();
        world.ends_after(commands, conclusion);
        assert_eq!((world.woken().wake.kind, world.state().version), (kind, version), "{what}");
        world.replayed();
    }
    let mut world = World::led();
    world.submits("a; b").fails_for_good("a").ends_after(vec![remove(&["a"])], success());
    assert_eq!((world.open(), world.statuses()), ("b".to_owned(), "a:skipped b:running".to_owned()), "a task runs");
    world.done("b");
    assert_eq!(world.woken().wake.kind, WakeKind::Done);
    world.replayed();
}

#[test]
fn checks_decide_about_an_end_that_follows_changes() {
    let ends = |world: &mut World, commands: Vec<LeadCommand>, checks: Vec<CriterionResult>| {
        let order = world.woken();
        let id = world.effect(&format!("lead {:?}", order.wake.kind).to_lowercase());
        let rest = Box::new(LeadRest { wake: order.wake.number, commands, conclusion: Some(success()), ..LeadRest::default() });
        world.send(RunFact::LeadRested { id, rest, category: "general".to_owned(), checks, calls: Vec::new() });
    };
    let mut world = all_failed();
    ends(&mut world, vec![remove(&["a", "b"])], vec![check("the cups are clean", Some(false))]);
    assert_eq!((world.open(), world.statuses()), ("lead refused".to_owned(), "a:skipped b:skipped".to_owned()));
    assert!(world.woken().wake.refused[0].contains("the cups are clean"), "{:?}", world.woken().wake.refused);
    ends(&mut world, vec![], vec![check("the cups are clean", Some(true))]);
    assert_eq!(world.ended(), "completed");
    world.replayed();
}
