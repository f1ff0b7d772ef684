//! Tests of the history against the context window.

use aime_llm::Usage;
use aime_progress_management::{Outcome, ProgressEvent};
use serde_json::json;

use super::support::{Play, answer, call, class, input, read, terminate};
use crate::{ActorFact, ActorInput, ModelAnswer, ModelFault};

fn compactions(play: &Play) -> Vec<(u64, u64)> {
    let compacted = play.events.iter().filter_map(|e| match e {
        ProgressEvent::HistoryCompacted { tokens_before, tokens_after, .. } => Some((*tokens_before, *tokens_after)),
        _ => None,
    });
    compacted.collect()
}

fn small(context_tokens: u32) -> ActorInput {
    let mut input = input();
    input.limits.context_tokens = context_tokens;
    input.spec.max_steps = 100;
    input
}

fn work(play: &mut Play, steps: std::ops::RangeInclusive<u32>, characters: usize) {
    for step in steps {
        play.calls(vec![read("a", &step.to_string())]).tool(&format!("t/1/{step}/1"), &format!("{step} {}", "x".repeat(characters)));
    }
}

// Requirement: 4.37
#[test]
fn a_full_window_is_made_room_in() {
    let mut play = Play::start(small(4_000));
    play.calls(vec![call("t", "todo", &json!({"items": [{"text": "read all"}]}))]);
    work(&mut play, 2..=12, 1_200);
    let compactions = compactions(&play);
    assert!(!compactions.is_empty());
    assert!(compactions.iter().all(|(before, after)| after < before && *after <= 4_000 * 8 / 10), "{compactions:?}");
    assert!(compactions.len() < 6, "room for several turns is made at once: {compactions:?}");
    let first = format!("{:?}", play.requests.last().unwrap().messages);
    assert!(first.contains("You work.") && first.contains("Write a.txt."));
    assert!(first.contains("#1: read all") || first.contains("Earlier messages") || !first.contains("todo"));
    assert!(play.results().last().unwrap().contains("12 xxx"), "the newest result is whole");
}

// Requirement: 4.37
#[test]
fn a_goal_of_a_hundred_steps_keeps_goal_plan_and_todos() {
    let mut long = small(8_000);
    long.spec.max_steps = 120;
    long.task = "Background: port the parser.\nThe plan:\n- [>] port it (yours)\n- [ ] test it\nYour task: write a.txt.".into();
    let task = long.task.clone();
    let mut play = Play::start(long);
    let todos = |done: usize| {
        let items: Vec<_> = (1..=4)
            .map(|n| json!({"id": n.to_string(), "text": format!("part {n}"), "status": if n <= done { "completed" } else { "pending" }}))
            .collect();
        vec![call("t", "todo", &json!({"items": items}))]
    };
    for part in 0..4_u32 {
        let first = part * 25 + 1;
        play.calls(todos(usize::try_from(part).unwrap()));
        work(&mut play, first + 1..=first + 24, 1_000);
    }
    // `Play` has checked in each of the hundred requests that calls and results stay together.
    assert!(compactions(&play).len() > 2 && play.requests.len() == 101, "{:?}", compactions(&play));
    let last = format!("{:?}", play.requests.last().unwrap().messages);
    assert!(last.contains(&task.replace('\n', "\\n")), "the goal and the plan are whole");
    assert!(last.contains("[x] #3: part 3") && last.contains("[ ] #4: part 4"), "the TODO list is the last one: {last}");
    play.calls(vec![call("e", "terminate", &json!({"status": "success", "message": "ported"}))]);
    assert_eq!(play.output.as_ref().unwrap().outcome, Outcome::Success);
}

// Requirement: 4.37
#[test]
fn decisions_of_people_outlive_a_compaction() {
    let long = |end: &str| format!("{}{end}", "for the firewall ".repeat(30));
    let holds = |play: &Play, step: u32, words: &[&str]| {
        let request = format!("{:?}", play.requests.last().unwrap().messages);
        words.iter().for_each(|text| assert!(request.contains(text), "{step}: {text} in {request}"));
    };
    let mut play = Play::start(small(4_000));
    play.calls(vec![call("q", "ask_human", &json!({"question": "Which port?"}))]).person("t/1/1/1/ask1", &long("port 8080"));
    for step in 2..=40 {
        work(&mut play, step..=step, 1_200);
        holds(&play, step, &["Which port?", "firewall port 8080"]);
    }
    holds(&play, 40, &["Earlier messages were removed", "- Which port?\\n  Answer: for the firewall"]);
    let again = |number: u32, text: &str, answer: bool| ActorFact::RunAgain { number, missing: long(text), answer };
    play.calls(vec![terminate("blocked", "no key")]).fact(again(1, "the key is in key.txt", true));
    play.calls(vec![terminate("success", "done")]).fact(again(2, "b.txt is missing", false));
    for step in 43..=80 {
        work(&mut play, step..=step, 1_200);
        holds(&play, step, &["firewall port 8080", "firewall the key is in key.txt", "firewall b.txt is missing"]);
    }
    holds(&play, 80, &["- no key\\n  Answer: for the firewall", "Your last result was not accepted:\\nfor the firewall"]);
}

// Requirement: 4.37
#[test]
fn small_models_are_told_the_size_of_what_was_removed_and_others_how_to_have_it_again() {
    for (is_small, left) in [
        (true, "read-2: [output of read_file removed, 1202 characters]".to_owned()),
        (false, format!("read-2: 2 {}…\n[output of read_file removed, 1202 characters; make the call again to see it]", "x".repeat(98))),
    ] {
        let mut input = small(4_000);
        input.class = class(is_small);
        let mut play = Play::start(input);
        for step in 1..=9 {
            let result = format!("{step} {}", "x".repeat(1_200));
            play.calls(vec![read(&format!("read-{step}"), &step.to_string())]).tool(&format!("t/1/{step}/1"), &result);
        }
        assert_eq!(compactions(&play).len(), 1);
        assert!(play.results().contains(&left), "{:#?}", play.results());
    }
}

#[test]
fn a_compacted_conversation_lists_the_reads_that_it_lost() {
    let mut input = super::lead::lead(false);
    input.limits.context_tokens = 4_000;
    input.spec.max_steps = 100;
    let mut play = Play::start(input);
    for step in 1..=40 {
        let lines = call(&format!("r{step}"), "read_file", &json!({"path": format!("src/{}.rs", step % 30), "offset": 1, "limit": 200}));
        play.calls(vec![lines]).tool(&format!("lead/chat/{step}/1"), &"x".repeat(1_200));
    }
    let Some(aime_llm::Message::User { content, .. }) = play.requests.last().unwrap().messages.get(1).map(AsRef::as_ref) else { panic!() };
    insta::assert_snapshot!(content);
}

#[test]
fn when_room_is_made_can_be_set() {
    let used = |compact_at| {
        let mut input = small(4_000);
        input.settings.compact_at = compact_at;
        let mut play = Play::start(input);
        work(&mut play, 1..=12, 1_200);
        compactions(&play).first().map_or(0, |(before, _)| *before)
    };
    let (early, late) = (used(0.4), used(1.0));
    assert!(early > 1_600 && early < 2_400, "{early}");
    assert!(late > 4_000, "{late}");
}

// Requirement: 4.36
#[test]
fn the_servers_count_corrects_the_estimate() {
    let mut play = Play::start(small(4_000));
    let mut response = answer("", vec![read("a", "1")]);
    response.usage_estimated = false;
    response.usage = Usage::new(1_000, 1);
    play.model(response).tool("t/1/1/1", &"x".repeat(6_000));
    assert_eq!(compactions(&play).len(), 1, "four times as many tokens as estimated");
    let mut play = Play::start(small(4_000));
    play.calls(vec![read("a", "1")]).tool("t/1/1/1", &"x".repeat(6_000));
    assert_eq!(compactions(&play).len(), 0);
}

#[test]
fn a_request_that_is_too_long_is_shortened_until_it_fits() {
    let overflow = || ModelAnswer::Error { kind: ModelFault::ContextOverflow, text: "too long".into(), hint: None };
    let mut play = Play::start(small(100_000));
    work(&mut play, 1..=6, 4_000);
    play.model_says(overflow());
    assert_eq!(compactions(&play).len(), 1);
    assert_eq!(play.open_ids(), ["t/1/8"]);
    play.calls(vec![read("a", "8")]).tool("t/1/8/1", "x");
    // The window of a fallback model may be a tenth of the first one's.
    let before = compactions(&play).len();
    play.model_says(overflow()).model_says(overflow());
    let shortened = compactions(&play);
    assert!(shortened.len() - before >= 2 && play.output.is_none(), "{shortened:?}");
    while play.output.is_none() && compactions(&play).len() < 30 {
        play.model_says(overflow());
    }
    assert!(compactions(&play).iter().all(|(before, after)| after < before), "{:?}", compactions(&play));
    let conclusion = play.output.unwrap();
    assert_eq!((conclusion.outcome, conclusion.error.as_ref().map(ToString::to_string).as_deref()), (Outcome::Failure, Some("too long")));
}
