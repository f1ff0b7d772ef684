//! Messages of people to a led run that is about to end, and ends that come too early.

use super::*;
use crate::CriterionResult;

fn success() -> Conclusion {
    conclusion(Outcome::Success, None, None)
}

fn said(id: &str, text: &str) -> RunFact {
    RunFact::PersonSaid { id: id.parse().unwrap(), task: None, text: text.to_owned() }
}

fn follow_up(goal: &str) -> RunFact {
    RunFact::Continued { goal: goal.to_owned(), bounds: None }
}

impl World {
    /// Returns a run with a lead and a criterion, which is checked at the end.
    fn led_with_criterion() -> Self {
        Self::given(|input| {
            input.lead = Some(LeadPolicy { must_plan: false, mode: None });
            input.settings.checks = vec![Criterion::text("the cups are blue").owned_by(Owner::Person)];
        })
    }

    fn unprocessed(&self) -> Vec<&str> {
        self.state().evidence.iter().filter(|evidence| !evidence.processed).map(|evidence| evidence.content.as_str()).collect()
    }
}

// Requirement: 12.4
#[test]
fn words_during_the_last_checks_reach_the_lead() {
    let holds = [("the cups are blue", Some(true))];
    for planned in [false, true] {
        let mut world = World::led_with_criterion();
        if planned {
            world.submits("a").fails_for_good("a").changes(vec![PlanChange::RemoveTask { id: task("a"), reason: String::new() }]);
        } else {
            world.lead_reports(0, Some("main"));
        }
        world.concludes(success());
        assert_eq!(world.open(), "verify", "planned: {planned}");
        world.send(said("p-1", "dry them, too")).verified(&holds);
        let wake = world.woken().wake;
        assert_eq!((wake.kind, wake.words.len(), world.unprocessed()), (WakeKind::Person, 1, vec!["dry them, too"]), "planned: {planned}");
        world.concludes(success());
        if world.open() == "verify" {
            world.verified(&holds);
        }
        assert_eq!((world.ended(), world.unprocessed()), ("completed", vec![]), "planned: {planned}");
        world.replayed();
    }
}

#[test]
fn words_that_the_lead_was_told_are_dealt_with_at_the_end() {
    let mut world = World::led();
    world.lead_reports(0, Some("main")).concludes(success());
    for goal in ["dry them", "put them away"] {
        assert_eq!((world.ended(), world.unprocessed()), ("completed", vec![]));
        world.output = None;
        world.send(follow_up(goal));
        assert_eq!(world.unprocessed(), [goal]);
        world.concludes(success());
    }
    assert_eq!((world.ended(), world.unprocessed()), ("completed", vec![]));
    world.replayed();
}

#[test]
fn a_success_is_refused_while_tasks_run() {
    let mut world = World::led();
    world.submits("a; b; c: b").done("a");
    world.send(said("p-1", "how far are you?")).concludes(success());
    let wake = world.woken().wake;
    assert_eq!((wake.kind, world.statuses().as_str()), (WakeKind::Refused, "a:completed b:running c:pending"));
    assert!(wake.refused[0].contains("(running: `b`; waiting: `c`)"), "{:?}", wake.refused);
    assert_eq!(wake.evidence, [], "words of people are no findings");
    world.lead_answers("I wait").done("b").lead_answers("c follows").done("c");
    world.concludes(success());
    assert_eq!(world.ended(), "completed");
    world.replayed();
}

#[test]
fn each_follow_up_may_be_refused_as_often_as_the_run() {
    let failed = |world: &mut World| {
        let most = world.machine.input.settings.triggers.max_retries;
        for _ in 0..most {
            world.concludes(success());
            if world.open() == "verify" {
                world.verified(&[("the cups are blue", Some(false))]);
            }
            assert_eq!(world.open(), "lead refused");
        }
    };
    let mut world = World::led_with_criterion();
    world.lead_reports(0, Some("main"));
    world.concludes(success()).verified(&[("the cups are blue", Some(true))]);
    for goal in ["dry them", "put them away"] {
        assert_eq!(world.ended(), "completed");
        world.output = None;
        world.send(follow_up(goal));
        world.lead_reports(world.events.len() as u64, Some("main"));
        failed(&mut world);
        world.lead_reports(world.events.len() as u64, Some("main"));
        world.concludes(success());
        world.verified(&[("the cups are blue", Some(true))]);
    }
    assert_eq!(world.ended(), "completed");
    world.replayed();
}

#[test]
fn a_criterion_that_nobody_could_judge_is_judged_again() {
    let mut world = World::led_with_criterion();
    world.submits("a").done("a");
    let open = CriterionResult::open(&Criterion::text("the cups are blue").owned_by(Owner::Person));
    let id = world.effect("verify");
    world.send(RunFact::Verified { id, checks: vec![open], again: Default::default(), calls: Vec::new() });
    while world.open().starts_with("lead") {
        world.concludes(success());
    }
    assert_eq!(world.open(), "verify", "without any change");
    world.verified(&[("the cups are blue", Some(true))]);
    while world.open().starts_with("lead") {
        world.concludes(success());
    }
    assert_eq!(world.ended(), "completed");
    world.replayed();
}

#[test]
fn messages_of_the_lead_are_no_findings_for_it() {
    let mut world = World::led();
    world.submits("a; b").fails_for_good("b");
    world.wants(vec![LeadCommand::TellTask { task: task("a"), text: "in blue".to_owned() }]);
    if !world.open().contains("lead") {
        world.fails_for_good("a");
    }
    assert_eq!((world.woken().wake.evidence, world.unprocessed()), (vec![], vec!["the lead says: in blue"]));
    world.replayed();
}
