//! The replans of a led run: which changes count.

use aime_dynamic_planner::WakeKind;
use aime_progress_management::{LeadCommand, PlanChange, PlanMode, TriggerKind};

use super::*;

impl World {
    /// Returns the number of replans by the frequency control and by the decisions.
    fn counted(&self) -> (u32, usize) {
        let decisions = self.state().decisions.iter().filter(|decision| decision.is_replan());
        (self.machine.replans.history().count, decisions.count())
    }
}

fn remove(name: &str) -> PlanChange {
    PlanChange::RemoveTask { id: task(name), reason: String::new() }
}

fn tell(name: &str) -> LeadCommand {
    LeadCommand::TellTask { task: task(name), text: "slowly".to_owned() }
}

/// A run with `a`, which failed for good, and `b` and `c`, which run.
fn in_trouble() -> World {
    let mut world = World::led();
    world.submits("a; b; c; d: b").fails_for_good("a");
    assert_eq!(world.woken().wake.kind, WakeKind::Trouble);
    world
}

// Requirement: 6.7
#[test]
fn only_changes_that_repair_the_plan_count_as_replans() {
    type Scenario = fn() -> World;
    let cases: [(&str, Scenario, usize, u32); 8] = [
        (
            "a trigger",
            || {
                let mut world = in_trouble();
                world.changes(vec![add("e", &["a"]), remove("d")]);
                world
            },
            1,
            1,
        ),
        (
            "a change that half fits, and its correction",
            || {
                let mut world = in_trouble();
                world.changes(vec![add("e", &["a"]), remove("b")]);
                assert_eq!(world.woken().wake.kind, WakeKind::Refused);
                world.changes(vec![add("f", &[])]);
                world
            },
            2,
            1,
        ),
        (
            "a change that does not fit, and its correction",
            || {
                let mut world = in_trouble();
                world.changes(vec![remove("b")]);
                assert_eq!((world.woken().wake.kind, world.counted()), (WakeKind::Refused, (0, 0)));
                world.changes(vec![add("e", &["a"])]);
                world
            },
            1,
            1,
        ),
        (
            "a message that was refused, and then a change",
            || {
                let mut world = in_trouble();
                world.wants(vec![tell("a")]);
                assert_eq!(world.woken().wake.kind, WakeKind::Refused);
                world.changes(vec![add("e", &["a"])]);
                world
            },
            1,
            1,
        ),
        (
            "nothing is ready",
            || {
                let mut world = World::led();
                world.submits("a; b: a").send(RunFact::PersonSaid { id: "p-1".parse().unwrap(), task: None, text: "wait".to_owned() });
                world.wants(vec![LeadCommand::HoldTask { task: task("a") }]);
                assert_eq!(world.woken().wake.kind, WakeKind::NothingReady);
                world.changes(vec![remove("b"), PlanChange::UnblockTask { id: task("a") }]);
                assert_eq!(world.state().decisions[0].triggers[0].kind, TriggerKind::Blocked);
                world
            },
            1,
            1,
        ),
        (
            "every task is settled",
            || {
                let mut world = World::led();
                world.submits("a").done("a");
                assert_eq!(world.woken().wake.kind, WakeKind::Done);
                world.changes(vec![add("b", &[])]);
                world
            },
            1,
            0,
        ),
        (
            "a person spoke",
            || {
                let mut world = World::led();
                world.submits("a; b: a");
                world.send(RunFact::PersonSaid { id: "p-1".parse().unwrap(), task: None, text: "no plates".to_owned() });
                assert_eq!(world.woken().wake.kind, WakeKind::Person);
                world.changes(vec![remove("b")]);
                world
            },
            1,
            0,
        ),
        (
            "the policy of the mode, and before it the lead's own work",
            || {
                let mut world = World::led();
                world.lead_reports(0, Some("main"));
                let command = LeadCommand::SubmitPlan { plan: Box::new(plan("a; b: a")), mode: PlanMode::Emergent, repairs: vec![] };
                world.wants(vec![command]).fails("a");
                assert_eq!((world.woken().wake.kind, world.counted()), (WakeKind::Update, (0, 0)));
                world.changes(vec![add("c", &["a"])]);
                world
            },
            2,
            0,
        ),
    ];
    for (what, course, decisions, replans) in cases {
        let world = course();
        assert_eq!(world.state().decisions.len(), decisions, "{what}");
        assert_eq!(world.counted(), (replans, usize::try_from(replans).unwrap()), "{what}");
        world.replayed();
    }
}

#[test]
fn tasks_that_a_direct_run_gets_make_it_a_plan() {
    let mut world = World::led();
    world.lead_reports(0, Some("main")).concludes(conclusion(Outcome::Success, None, None));
    world.output = None;
    world.send(RunFact::Continued { goal: "dry and paint them".to_owned(), bounds: None });
    assert_eq!(world.state().mode, Some(PlanMode::Direct));
    world.changes(vec![add("a", &[]), add("b", &[])]);
    assert_eq!((world.state().mode, world.open().as_str()), (Some(PlanMode::Complex), "a b"));
    let modes = world.under_way.values().filter_map(|under_way| match &under_way.effect {
        RunEffect::StartActor { brief, .. } => Some(brief.mode),
        _ => None,
    });
    assert_eq!(modes.collect::<Vec<_>>(), [Some(PlanMode::Complex); 2], "each writes in a folder of its own");
    world.replayed();
}
