//! Tests of work that an actor delegates to another one.

use aime_durable::{EffectId, Reason};
use aime_progress_management::{CallOutcome, Outcome, ProgressEvent};
use serde_json::{Value, json};

use super::support::{Play, call, delegate, delegating, read, terminate};
use crate::{ActorEffect, ActorFact};

fn ended(id: &str, outcome: CallOutcome, text: &str) -> ActorFact {
    let references = vec!["part.md".to_owned()];
    ActorFact::ToolEnded {
        id: EffectId::new(id),
        outcome,
        text: text.to_owned(),
        value: Value::Null,
        references,
        images: vec![],
        seen: vec![],
        duration_ms: 5,
        origins: vec![],
    }
}

fn calls(play: &Play) -> (usize, usize) {
    let started = play.events.iter().filter(|event| matches!(event, ProgressEvent::ToolCallStarted { .. })).count();
    (started, play.events.iter().filter(|event| matches!(event, ProgressEvent::ToolCallFinished { .. })).count())
}

#[test]
fn the_others_result_is_the_result_of_the_call() {
    let mut play = Play::start(delegating());
    play.calls(vec![delegate("a", "write part.md"), read("b", "part.md")]);
    assert_eq!(play.open_ids(), ["t/1/1/1/delegate1"], "what comes after it waits for it");
    let (_, ActorEffect::Delegate { call, request, .. }) = &play.open[0] else { panic!("{:?}", play.open) };
    assert_eq!((call.as_str(), request.description.as_str()), ("t/1/1/1", "write part.md"));
    play.fact(ended("t/1/1/1/delegate1", CallOutcome::Ok, "success"));
    assert_eq!(play.open_ids(), ["t/1/1/2"]);
    play.tool("t/1/1/2", "x").calls(vec![terminate("success", "done")]);
    assert_eq!(play.output.unwrap().references, ["part.md"], "what the other has made is made");
}

#[test]
fn a_failure_of_the_other_is_an_error_to_go_on_from() {
    let mut play = Play::start(delegating());
    play.calls(vec![delegate("a", "write part.md")]).fact(ended("t/1/1/1/delegate1", CallOutcome::Error, "it gave up"));
    assert_eq!(play.results(), ["a: Error: it gave up"]);
    assert_eq!(play.open_ids(), ["t/1/2"]);
    play.calls(vec![terminate("failure", "nothing goes")]);
    assert_eq!(play.output.unwrap().references, ["part.md"], "half done is made all the same");
}

#[test]
fn a_stop_does_not_end_the_call_and_it_is_taken_up_again() {
    let mut play = Play::start(delegating());
    play.calls(vec![delegate("a", "write part.md"), delegate("b", "write another")]);
    for again in 2..4 {
        play.fact(ActorFact::Stopped { why: Reason::Stopped }).acknowledge();
        assert_eq!(play.output.as_ref().unwrap().outcome, Outcome::Interrupted);
        play.fact(ActorFact::Resumed {});
        assert_eq!(play.open_ids(), [format!("t/1/1/1/delegate{again}")]);
        let (_, ActorEffect::Delegate { call, .. }) = &play.open[0] else { panic!("{:?}", play.open) };
        assert_eq!(call, "t/1/1/1", "the other actor is the same");
    }
    assert_eq!(calls(&play), (1, 0), "it is one call");
    play.fact(ended("t/1/1/1/delegate3", CallOutcome::Ok, "one"));
    assert_eq!(play.open_ids(), ["t/1/1/2/delegate1"], "nothing was broken off");
    play.fact(ended("t/1/1/2/delegate1", CallOutcome::Ok, "two"));
    assert_eq!((play.results(), calls(&play)), (vec!["a: one".to_owned(), "b: two".to_owned()], (2, 2)));
}

#[test]
fn a_call_that_cannot_be_read_hands_nothing_on() {
    let mut play = Play::start(delegating());
    play.calls(vec![call("a", "delegate_task", &json!({"description": " "}))]);
    assert_eq!(play.results(), ["a: Error: `description` is missing: what is to be done, with all that one must know for it"]);
    assert_eq!(play.open_ids(), ["t/1/2"]);
}

#[test]
fn a_delegated_actors_names_are_its_own() {
    let mut input = delegating();
    input.call = Some("t/1/2/1".to_owned());
    let mut play = Play::start(input);
    assert_eq!(play.open_ids(), ["t/1/2/1/d/1"]);
    let question = call("q", "ask_human", &json!({"question": "?"}));
    let evidence = call("e", "report_evidence", &json!({"type": "error", "significance": "low", "content": "c"}));
    play.calls(vec![evidence, question]);
    assert_eq!(play.open_ids(), ["t/1/2/1/d/1/2/ask1"]);
    let named = play.events.iter().filter_map(|event| match event {
        ProgressEvent::EvidenceAdded { evidence } => Some(evidence.id.as_str()),
        ProgressEvent::QuestionAsked { id, .. } => Some(id.as_str()),
        _ => None,
    });
    assert_eq!(named.collect::<Vec<_>>(), ["t-1-2-1-d-1-1", "t-1-2-1-d-1-2"]);
}
