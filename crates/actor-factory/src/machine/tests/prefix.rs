//! Tests that each request extends the one before, so that prefix caches hit.

use aime_durable::Reason;
use aime_llm::Message;
use aime_tools::ModelClass;
use serde_json::json;

use super::support::{Play, answer, call, input, person_message, read, terminate, with_step_notes};
use crate::{ActorFact, ActorInput};

/// Returns the messages of each request as JSON, without the closing bracket.
fn serialized(play: &Play) -> Vec<String> {
    let messages = |request: &aime_llm::ChatRequest| serde_json::to_string(&request.messages).unwrap().trim_end_matches(']').to_owned();
    play.requests.iter().map(messages).collect()
}

#[track_caller]
fn assert_requests_extend_each_other(play: &Play) {
    let serialized = serialized(play);
    for (at, pair) in serialized.windows(2).enumerate() {
        assert!(pair[1].starts_with(&pair[0]), "request {} changes what request {at} said:\n{}\n{}", at + 1, pair[0], pair[1]);
    }
}

// Requirement: 4.16
#[test]
fn requests_grow_only_at_their_end() {
    let mut input = input();
    input.spec.max_steps = 14;
    let class = ModelClass { failures_before_conclusion: 6, ..with_step_notes() };
    let mut play = Play::start(ActorInput { class, ..input });
    play.model(answer("I begin.", vec![]));
    play.calls(vec![call("todo", "todo", &json!({"items": [{"text": "one"}]}))]);
    for step in 3..=5 {
        play.calls(vec![read("a", "1")]).tool_error(&format!("t/1/{step}/1"), "no such file");
    }
    play.calls(vec![read("b", "2")]).fact(person_message(1, "slowly")).tool("t/1/6/1", "two");
    play.model(answer("", vec![]));
    for step in 8..=13 {
        play.calls(vec![read("c", "3")]).tool(&format!("t/1/{step}/1"), "three");
    }
    let last = serialized(&play).pop().unwrap();
    let notes = [
        "If the task is done, call",
        "Is the task done?",
        "The last call failed.",
        "`read_file` failed 2 times in a row",
        "You made the same call `read_file` 3 times",
        "Update your todos.",
        "The person you work for says: slowly",
        "`read_file` has succeeded 3 times",
        "You go in circles.",
    ];
    for note in notes {
        assert!(last.contains(note), "{note}\n{last}");
    }
    play.calls(vec![terminate("success", "done")]);
    assert!(play.output.is_some());
    assert_requests_extend_each_other(&play);
}

#[test]
fn a_request_that_is_made_again_has_its_note_once() {
    let mut play = Play::start(ActorInput { class: with_step_notes(), ..input() });
    play.calls(vec![read("a", "1")]).tool("t/1/1/1", "one");
    play.fact(ActorFact::Stopped { why: Reason::Stopped }).acknowledge().fact(ActorFact::Resumed {});
    assert_eq!(play.requests[1], play.requests[2]);
    let Some(Message::Tool { content, .. }) = play.requests[2].messages.last().map(AsRef::as_ref) else { panic!() };
    assert_eq!(content.matches("Is the task done?").count(), 1, "{content}");
    // A stop between the results and the request defers the note to the next request.
    play.calls(vec![read("b", "2")]).fact(ActorFact::Stopped { why: Reason::Stopped }).tool("t/1/3/1", "two").acknowledge();
    play.fact(ActorFact::Resumed {});
    assert!(play.step_note().is_some_and(|note| note.starts_with("Is the task done?")), "{:?}", play.step_note());
    assert_requests_extend_each_other(&play);
}
