//! Tests of consecutive and concurrent requests: cached prefixes, cancelling, turns.

use std::sync::Arc;

use aime_llm::{ChatModel, ChatRequest, Message};
use futures::StreamExt;
use futures::future::join_all;

use super::tiny::{Tiny, ask, asking, folder, system, user};

#[tokio::test]
async fn a_kept_beginning_changes_nothing_but_the_count() {
    let folder = folder();
    let tiny = Tiny::default();
    let model = tiny.open(&folder);
    let rules = "Be short. ".repeat(20);
    let mut turn = asking("");
    turn.messages = vec![system(&rules), user("One")];
    let first = ask(&model, &turn).await.unwrap();
    assert_eq!(first.usage.cached_input_tokens, 0);

    // One is the next turn of the same conversation, the other a new conversation with the same system prompt.
    let mut next = turn.clone();
    next.messages.extend([Arc::new(Message::assistant("Fine.", vec![])), user("Two")]);
    let mut other = turn.clone();
    other.messages = vec![system(&rules), user("Else")];
    for request in [next, other, turn] {
        let kept = ask(&model, &request).await.unwrap();
        let anew = ask(&tiny.open(&folder), &request).await.unwrap();
        assert_eq!(kept.content, anew.content);
        assert!(kept.usage.cached_input_tokens > rules.len() as u64, "{:?}", kept.usage);
        assert_eq!((kept.usage.input_tokens, anew.usage.cached_input_tokens), (anew.usage.input_tokens, 0));
    }
}

#[tokio::test]
async fn requests_at_once_answer_as_each_alone() {
    let folder = folder();
    let model = Tiny::default().open(&folder);
    let requests: Vec<ChatRequest> = (0..7).map(|number| asking(&format!("{number}").repeat(5 + 60 * number))).collect();
    let together = join_all(requests.iter().map(|request| ask(&model, request))).await;
    for (request, answer) in requests.iter().zip(together) {
        let alone = ask(&Tiny::default().open(&folder), request).await.unwrap();
        assert_eq!(answer.unwrap().content, alone.content);
    }
}

#[tokio::test]
async fn requests_at_once_share_a_beginning() {
    let folder = folder();
    let model = Tiny::default().open(&folder);
    let rules = "Follow the rules. ".repeat(20);
    let requests = (0..3).map(|number| ChatRequest { messages: vec![system(&rules), user(&format!("{number}"))], ..asking("") });
    let answers = join_all(requests.map(|request| model.complete(request))).await;
    let cached: Vec<u64> = answers.into_iter().map(|answer| answer.unwrap().usage.cached_input_tokens).collect();
    assert_eq!(cached.iter().filter(|cached| **cached > rules.len() as u64).count(), 2, "all but the first: {cached:?}");
}

#[tokio::test]
async fn a_dropped_request_ends_and_others_go_on() {
    let folder = folder();
    let model = Tiny { context: 1 << 19, ..Tiny::default() }.open(&folder);
    // This request alone would take very long.
    let endless = ChatRequest { max_output_tokens: Some(1 << 18), ..asking("Never stop.") };
    let mut dropped = model.stream(endless);
    dropped.next().await.unwrap().unwrap();
    let beside = ask(&model, &asking("Hello")).await.unwrap();
    drop(dropped);
    let long_prompt = model.stream(asking(&"x".repeat(100_000)));
    drop(long_prompt);
    let after = ask(&model, &asking("Hello")).await.unwrap();
    assert_eq!(beside.content, after.content);
}

#[tokio::test]
async fn keys_and_values_are_kept_within_the_memory_granted() {
    let folder = folder();
    let tiny = Tiny::default();
    let file = tiny.write(&folder);
    let weights = std::fs::metadata(&file).unwrap().len();
    let mut settings = aime_local_model::LocalModelSettings::new("tiny", file);
    settings.context_tokens = 1024;
    settings.memory_bytes = Some(weights + 160 * 1024);
    let model = aime_local_model::LocalModel::open(settings).unwrap();
    let (one, two) = (asking(&"a".repeat(900)), asking(&"b".repeat(900)));
    ask(&model, &one).await.unwrap();
    assert!(ask(&model, &one).await.unwrap().usage.cached_input_tokens > 800);
    ask(&model, &two).await.unwrap();
    assert!(ask(&model, &one).await.unwrap().usage.cached_input_tokens < 100, "the other took its room");
}
