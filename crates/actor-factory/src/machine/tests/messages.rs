//! Tests of messages from people to an actor at work.

use aime_durable::Reason;
use aime_llm::Message;
use aime_progress_management::{FailureCause, ProgressEvent};
use aime_tools::Trust;

use super::support::{Play, answer, input, person_message, read, terminate, with_step_notes, write};
use crate::{ActorFact, ActorInput, PersonMessage};

const SLOWLY: &str = "The person you work for says: slowly\nTake it into account and go on with your task.";

/// Returns the last message of the last request.
fn last_words(play: &Play) -> &Message {
    play.requests.last().unwrap().messages.last().unwrap()
}

/// Checks that the last message of the last request is a result that ends with these words.
#[track_caller]
fn assert_after_result(play: &Play, words: &str) {
    let Message::Tool { content, .. } = last_words(play) else { panic!("{:?}", last_words(play)) };
    assert!(content.ends_with(&format!("\n\n{words}")), "{content}");
}

fn user(text: &str) -> Message {
    Message::user(text)
}

/// Returns the ids of the messages that the actor has heard, in order.
fn heard(play: &Play) -> Vec<&str> {
    let ids = play.events.iter().filter_map(|event| match event {
        ProgressEvent::MessageDelivered { evidence, .. } => Some(evidence.as_str()),
        _ => None,
    });
    ids.collect()
}

// Requirement: 12.2
#[test]
fn what_is_said_stands_last_in_the_next_request_and_stays() {
    let mut play = Play::start(input());
    play.calls(vec![read("a", "1"), write("b", "2")]).fact(person_message(1, "slowly")).fact(person_message(1, "slowly"));
    play.tool("t/1/1/1", "one");
    assert_eq!((play.requests.len(), heard(&play).len()), (1, 0), "no call is parted from its result");
    play.tool("t/1/1/2", "two");
    assert_eq!(play.results()[1], format!("b: two\n\n{SLOWLY}"));
    assert_after_result(&play, SLOWLY);
    assert_eq!(heard(&play), ["person-1"]);
    play.calls(vec![read("c", "3")]).fact(person_message(1, "slowly")).tool("t/1/2/1", "three");
    assert_eq!(play.results()[2], "c: three", "what was heard is not said again");
    assert_eq!(play.results()[1], format!("b: two\n\n{SLOWLY}"));
}

#[test]
fn words_stand_outside_the_marks_of_a_result() {
    let mut play = Play::start(ActorInput { trust: Some(Trust::default()), marks: true, class: with_step_notes(), ..input() });
    play.calls(vec![read("a", "1")]).fact(person_message(1, "slowly")).tool("t/1/1/1", "one");
    let results = play.results();
    let (marked, after) = results[0].split_once("\n\n").unwrap();
    assert!(marked.starts_with("a: [data ") && marked.lines().last().unwrap().starts_with("[end "), "{marked}");
    assert_eq!(after, SLOWLY, "the words stand for the note on how to go on");
    play.calls(vec![read("b", "2")]).tool("t/1/2/1", "two");
    assert!(play.results()[1].contains("]\n\nIs the task done?"), "{:?}", play.results());
}

// Requirement: 12.3
#[test]
fn nobody_ends_on_a_word_that_was_not_heard() {
    let mut play = Play::start(input());
    play.fact(person_message(1, "slowly")).calls(vec![terminate("success", "done")]);
    assert_eq!(play.output, None);
    assert!(play.results()[0].contains("a person has said something meanwhile"), "{:?}", play.results());
    assert_after_result(&play, SLOWLY);
    play.calls(vec![terminate("success", "done slowly")]);
    assert_eq!(play.output.unwrap().summary, "done slowly");
}

#[test]
fn an_answer_from_before_is_not_the_result() {
    let mut play = Play::start(ActorInput { plain_answer_ends: true, ..input() });
    play.fact(person_message(1, "slowly")).model(answer("Paris.", vec![]));
    assert_eq!(last_words(&play), &user(SLOWLY));
    assert!(play.nudges().is_empty());
    play.model(answer("Pa-ris.", vec![]));
    assert_eq!(play.output.unwrap().summary, "Pa-ris.");
}

#[test]
fn what_was_said_before_it_began_stands_in_the_task() {
    let mut input = input();
    input.messages = vec![PersonMessage { id: "person-1".parse().unwrap(), text: "slowly".into() }];
    let mut play = Play::start(input);
    assert_eq!(play.requests[0].messages.len(), 2, "two messages of the user in a row are refused by some templates");
    assert_eq!(last_words(&play), &user(&format!("Write a.txt.\n\n{SLOWLY}")));
    play.fact(person_message(1, "slowly")).calls(vec![terminate("success", "done slowly")]);
    assert_eq!(play.output.unwrap().summary, "done slowly", "it was heard");
}

#[test]
fn what_is_said_to_a_stopped_actor_is_heard_when_it_goes_on() {
    for stopped_first in [true, false] {
        let mut play = Play::start(input());
        if stopped_first {
            play.fact(ActorFact::Stopped { why: Reason::Stopped }).acknowledge();
            assert_eq!(play.output.take().unwrap().outcome, aime_progress_management::Outcome::Interrupted);
            play.fact(person_message(1, "slowly"));
            assert!(play.output.is_none(), "it waits for what comes after the words");
        } else {
            play.fact(person_message(1, "slowly")).fact(ActorFact::Stopped { why: Reason::Stopped }).acknowledge();
        }
        play.fact(ActorFact::Resumed {});
        assert_eq!(last_words(&play), &user(&format!("Write a.txt.\n\n{SLOWLY}")));
        assert_eq!(heard(&play), ["person-1"]);
    }
}

// Requirement: 12.3
#[test]
fn the_bound_on_steps_holds_whatever_is_said() {
    let mut input = input();
    input.spec.max_steps = 1;
    let mut play = Play::start(input.clone());
    play.fact(person_message(1, "slowly")).calls(vec![terminate("success", "done")]);
    assert_eq!(play.output.unwrap().summary, "done", "what cannot be heard any more holds up nothing");
    let mut play = Play::start(input);
    play.calls(vec![read("a", "1")]).fact(person_message(1, "slowly")).tool("t/1/1/1", "one");
    assert_eq!(play.output.unwrap().cause, Some(FailureCause::Steps));
}

#[test]
fn words_outlive_the_result_before_them() {
    let mut input = input();
    input.limits.context_tokens = 4_000;
    let mut play = Play::start(ActorInput { class: with_step_notes(), ..input });
    for step in 1..=9 {
        play.calls(vec![read(&format!("r{step}"), &step.to_string())]);
        if step == 1 {
            play.fact(person_message(1, "slowly"));
        }
        play.tool(&format!("t/1/{step}/1"), &format!("{step} {}", "x".repeat(1_200)));
    }
    let results = play.results();
    assert!(results[0].contains("[output of read_file removed") && results[0].ends_with(SLOWLY), "{}", results[0]);
    assert!(results[1].contains("[output of read_file removed") && !results[1].contains("Is the task done?"), "{}", results[1]);
    assert!(results[8].ends_with("do the next step of the work."), "{}", results[8]);
}

// Requirement: 12.4
#[test]
fn what_was_said_outlives_a_compaction() {
    let mut input = input();
    input.limits.context_tokens = 4_000;
    input.spec.max_steps = 100;
    let mut play = Play::start(input);
    play.calls(vec![read("a", "0")]).fact(person_message(1, "slowly")).tool("t/1/1/1", "zero");
    for step in 2..=14 {
        play.calls(vec![read("a", &step.to_string()), read("b", &"x".repeat(900))]);
        play.tool(&format!("t/1/{step}/1"), &"y".repeat(900)).tool(&format!("t/1/{step}/2"), &"z".repeat(900));
    }
    let messages = format!("{:?}", play.requests.last().unwrap().messages);
    assert!(messages.contains("Earlier messages were removed"), "{messages}");
    assert!(messages.contains("The person you work for has said:\\n- slowly"), "{messages}");
}

/// The actor of a fork hears once that the folder may lack what it did, since a fork takes no private folders along.
// Requirement: 9.1
#[test]
fn a_fork_tells_its_actor_of_missing_changes() {
    let notes = |play: &Play| {
        let request = serde_json::to_string(play.requests.last().unwrap()).unwrap();
        request.matches("Changes that you made before may be missing").count()
    };
    let mut play = Play::start(input());
    play.calls(vec![write("a", "1")]);
    play.fact(ActorFact::Forked {}).tool("t/1/1/1", "written");
    assert_eq!(notes(&play), 1);
    play.calls(vec![read("b", "1")]).tool("t/1/2/1", "x");
    assert_eq!(notes(&play), 1, "it is told once");
}
