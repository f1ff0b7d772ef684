//! Tests of actors that have ended and run again.

use aime_durable::Reason;
use aime_progress_management::{FailureCause, Outcome};

use super::support::{Play, answer, input, read, terminate, write};
use crate::{ActorFact, ActorInput, ActorStatus, ActorStep, ModelAnswer, ModelFault, PersonMessage};

fn again(number: u32, missing: &str) -> ActorFact {
    ActorFact::RunAgain { number, missing: missing.into(), answer: false }
}

// Requirement: 5.3
#[test]
fn a_returned_result_goes_on_in_the_same_conversation() {
    let mut play = Play::start(input());
    play.calls(vec![write("a", "1")]).tool("t/1/1/1", "written").calls(vec![terminate("success", "done")]);
    assert_eq!(play.output.as_ref().unwrap().outcome, Outcome::Success);
    let asked = play.requests.len();
    play.fact(again(1, "\"b.txt exists\" does not hold: b.txt does not exist"));
    assert_eq!((play.output.clone(), play.machine.status()), (None, ActorStatus::Thinking));
    assert_eq!(play.requests.len(), asked + 1, "the model is asked at once");
    let last = play.results().pop().unwrap();
    assert!(last.starts_with("end: Received.") && last.contains("b.txt does not exist") && last.contains("terminate"), "{last}");
    assert_eq!(play.results()[0], "a: written", "what was done before is known");
    assert_eq!(play.nudges(), ["returned"]);
    play.calls(vec![write("b", "2")]).tool("t/1/3/1", "written").calls(vec![terminate("success", "both are there")]);
    assert_eq!(play.output.as_ref().unwrap().summary, "both are there");
}

#[test]
fn after_a_plain_answer_the_user_says_what_is_missing() {
    let mut play = Play::start(ActorInput { plain_answer_ends: true, ..input() });
    play.model(answer("It is 4.", vec![])).fact(again(1, "say why"));
    assert_eq!(play.open_ids(), ["t/1/2"]);
    play.model(answer("2 and 2 make 4.", vec![]));
    assert_eq!(play.output.as_ref().unwrap().summary, "2 and 2 make 4.");
}

// Requirement: 4.12
#[test]
fn after_its_steps_an_actor_can_be_run_again() {
    let mut few = input();
    few.spec.max_steps = 2;
    let mut play = Play::start(few);
    for (call, path) in [("t/1/1/1", "1"), ("t/1/2/1", "2")] {
        play.calls(vec![read("a", path)]).tool(call, path);
    }
    assert_eq!((play.machine.status(), play.machine.can_run()), (ActorStatus::Idle, Ok(())));
    play.fact(again(1, ""));
    assert_eq!((play.machine.status(), play.machine.steps_left()), (ActorStatus::Thinking, 2));
    play.calls(vec![read("a", "3")]).tool("t/1/3/1", "3").calls(vec![terminate("success", "read")]);
    assert_eq!(play.output.as_ref().unwrap().outcome, Outcome::Success);
}

// Requirement: 4.11
#[test]
fn an_actor_runs_only_when_it_is_idle() {
    let mut play = Play::start(input());
    assert_eq!(play.machine.can_run().unwrap_err().to_string(), "an actor that is Thinking cannot take the step Run");
    let asked = play.requests.len();
    play.fact(again(1, "too early"));
    assert_eq!((play.requests.len(), play.machine.status()), (asked, ActorStatus::Thinking));
    assert_eq!(play.nudges(), ["run_refused"]);
    let refused = play.machine.run_again_fact(1, "too early".into(), false).unwrap_err();
    assert_eq!((refused.from, refused.step), (ActorStatus::Thinking, ActorStep::Run));
    play.calls(vec![read("a", "1")]);
    assert_eq!(play.machine.can_run().unwrap_err().from, ActorStatus::Executing);
    play.tool("t/1/1/1", "x").model_says(ModelAnswer::Error { kind: ModelFault::Other, text: "broken".into(), hint: None });
    assert_eq!(play.machine.can_run().unwrap_err().from, ActorStatus::Error);
    let failed = play.output.clone();
    play.fact(again(2, "go on"));
    assert_eq!((&play.output, play.requests.len()), (&failed, asked + 1), "it could not go on and ends as before");
    assert_eq!(play.nudges(), ["run_refused", "run_refused"]);
    assert_eq!(play.machine.run_again_fact(2, "go on".into(), false).unwrap_err().from, ActorStatus::Error);
    let mut play = Play::start(input());
    play.calls(vec![terminate("success", "done")]);
    assert_eq!(play.machine.run_again_fact(1, "more".into(), false), Ok(Some(again(1, "more"))));
    play.fact(again(1, "more"));
    assert_eq!(play.machine.run_again_fact(1, "more".into(), false), Ok(None), "it runs again with this number");
}

#[test]
fn a_number_counts_once_and_a_stop_loses_nothing() {
    let mut play = Play::start(input());
    play.calls(vec![write("a", "1")]).tool("t/1/1/1", "written").calls(vec![terminate("success", "done")]).fact(again(1, "b is missing"));
    play.fact(ActorFact::Stopped { why: Reason::Stopped }).acknowledge();
    assert_eq!(play.output.as_ref().unwrap().outcome, Outcome::Interrupted);
    play.fact(again(1, "b is missing")).fact(ActorFact::Resumed {});
    assert_eq!(play.nudges(), ["returned"]);
    play.calls(vec![terminate("success", "done now")]);
    play.fact(again(1, "b is missing"));
    assert_eq!(play.output.as_ref().unwrap().summary, "done now");
}

#[test]
fn a_blocked_actor_hears_the_person_and_goes_on() {
    for (words, note) in [("the key is in key.txt", "answers: the key is in key.txt"), ("", "lets you go on")] {
        let mut play = Play::start(input());
        play.calls(vec![terminate("blocked", "no key")]);
        assert_eq!(play.output.as_ref().unwrap().cause, Some(FailureCause::Blocked));
        // A message that came meanwhile is not lost.
        let message = PersonMessage { id: "p-1".parse().unwrap(), text: "and hurry".to_owned() };
        play.fact(ActorFact::PersonMessage { message });
        play.fact(ActorFact::RunAgain { number: 1, missing: words.into(), answer: true });
        let request = serde_json::to_string(play.requests.last().unwrap()).unwrap();
        assert!(request.contains("You ended as blocked.") && request.contains(note) && request.contains("and hurry"), "{request}");
        assert_eq!(play.nudges(), ["answered"]);
        play.calls(vec![terminate("success", "done")]);
        assert_eq!(play.output.as_ref().unwrap().outcome, Outcome::Success);
    }
}
