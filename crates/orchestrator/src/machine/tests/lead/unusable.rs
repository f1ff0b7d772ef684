//! A lead that gives no usable answer: the run is suspended, and a resume wakes the lead for the same reasons.

use super::*;

fn unusable() -> Conclusion {
    conclusion(Outcome::Failure, Some("the content filter withheld the answer"), Some(FailureCause::Model))
}

#[test]
fn workers_and_the_lead_continue_after_a_resume() {
    let mut world = World::led();
    world.submits("a; b: a; c").fails_for_good("a");
    let reasons = world.woken().wake.reasons;
    world.concludes(unusable());
    assert_eq!((world.ended(), world.statuses().as_str()), ("model_unavailable", "a:failed b:blocked c:pending"));
    assert_eq!(world.message(), "the content filter withheld the answer");
    world.resumed();
    assert_eq!((world.open().as_str(), world.woken().wake.number, world.woken().wake.reasons), ("c lead trouble", 3, reasons));
    world.changes(vec![PlanChange::RemoveTask { id: task("b"), reason: String::new() }]).done("c");
    world.concludes(conclusion(Outcome::Success, None, None));
    assert_eq!(world.status("c"), TaskStatus::Completed);
    world.replayed();
}

#[test]
fn words_of_a_person_reach_the_lead_again() {
    let mut world = World::led();
    world.submits("a");
    world.send(RunFact::PersonSaid { id: "p-1".parse().unwrap(), task: None, text: "in blue".to_owned() });
    assert_eq!(world.open(), "a lead person");
    world.concludes(unusable());
    assert_eq!((world.ended(), world.statuses().as_str()), ("model_unavailable", "a:pending"));
    world.resumed();
    assert_eq!((world.open().as_str(), world.woken().wake.words[0].text.as_str()), ("a lead person", "in blue"));
    world.replayed();
}

#[test]
fn a_lead_before_its_plan_begins_again() {
    let mut world = World::led();
    world.concludes(unusable());
    assert_eq!(world.ended(), "model_unavailable");
    world.resumed().submits("a").done("a").concludes(conclusion(Outcome::Success, None, None));
    assert_eq!(world.ended(), "completed");
    world.replayed();
}
