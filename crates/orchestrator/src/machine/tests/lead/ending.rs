//! The end of a run whose lead cannot go on: the tasks and criteria decide about it.

use super::*;
use crate::RunInput;

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
