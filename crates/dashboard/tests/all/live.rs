use std::sync::atomic::Ordering;

use axum::{http::StatusCode, response::Response};
use http_body_util::BodyExt;
use serde_json::Value;

use crate::harness::{BEARER, HOST, World};

/// Reads a stream up to the event with this id, and returns the ids.
async fn ids_until(answer: &mut Response, last: u64) -> Vec<u64> {
    let (mut text, end) = (String::new(), format!("id: {last}\n"));
    while !text.contains(&end) {
        let frame = answer.body_mut().frame().await.expect("the stream goes on").unwrap();
        text.push_str(std::str::from_utf8(frame.data_ref().unwrap()).unwrap());
    }
    text.lines().filter_map(|line| line.strip_prefix("id: ")?.parse().ok()).collect()
}

// Requirement: 12.10
#[tokio::test]
async fn events_come_in_order_and_go_on_after_the_last_that_was_seen() {
    let world = World::new("Cross the river");
    world.runs.events.lock().unwrap().extend(1..=1_200);
    let mut all = world.raw("GET", "/api/v1/runs/river/events", &[HOST, BEARER], "").await;
    assert_eq!((all.status(), all.headers()["content-type"].to_str().unwrap()), (StatusCode::OK, "text/event-stream"));
    assert_eq!(ids_until(&mut all, 1_200).await, (1..=1_200).collect::<Vec<_>>());
    // Later events arrive on the same stream.
    world.runs.events.lock().unwrap().extend(1_201..=1_203);
    assert_eq!(ids_until(&mut all, 1_203).await, [1_201, 1_202, 1_203]);
    let mut again = world.raw("GET", "/api/v1/runs/river/events?after=3", &[HOST, BEARER, ("last-event-id", "1200")], "").await;
    assert_eq!(ids_until(&mut again, 1_203).await, [1_201, 1_202, 1_203], "the browser knows better than the address");
    let mut after = world.raw("GET", "/api/v1/runs/river/events?after=1202", &[HOST, BEARER], "").await;
    assert_eq!(ids_until(&mut after, 1_203).await, [1_203]);
}

// Requirement: 12.10
#[tokio::test]
async fn no_gap_is_passed_over() {
    let world = World::new("Cross the river");
    world.runs.events.lock().unwrap().extend([1, 2, 4]);
    let mut stream = world.raw("GET", "/api/v1/runs/river/events", &[HOST, BEARER], "").await;
    assert_eq!(ids_until(&mut stream, 2).await, [1, 2]);
    world.runs.events.lock().unwrap().splice(.., 1..=5);
    assert_eq!(ids_until(&mut stream, 5).await, [3, 4, 5]);
}

/// Reads the next changes of a page from a stream.
async fn changes(answer: &mut Response, text: &mut String) -> Value {
    loop {
        if let Some((event, rest)) = text.split_once("\n\n") {
            let (event, rest) = (event.to_owned(), rest.to_owned());
            *text = rest;
            if let Some(document) = event.lines().find_map(|line| line.strip_prefix("data: ")) {
                assert!(event.contains("event: changes"), "{event}");
                return serde_json::from_str(document).unwrap();
            }
            continue;
        }
        let frame = answer.body_mut().frame().await.expect("the stream goes on").unwrap();
        text.push_str(std::str::from_utf8(frame.data_ref().unwrap()).unwrap());
    }
}

fn ids(changes: &Value) -> Vec<&str> {
    changes["changes"].as_array().unwrap().iter().map(|change| change["id"].as_str().unwrap()).collect()
}

// Requirement: 12.20
#[tokio::test]
async fn a_page_is_sent_what_changed_and_nothing_else() {
    let world = World::new("Cross the river");
    world.runs.events.lock().unwrap().extend(1..=40);
    let page = world.page("/runs/river").await.text;
    assert!(page.contains("data-state=\"40\"") && page.contains("id=\"moment-41\""));
    let path = format!("{}/runs/river/live?after=40", world.base());
    let mut stream = world.raw("GET", &path, &[HOST, BEARER], "").await;
    let mut text = String::new();
    // State that no event reports may have changed since the page was made.
    let first = changes(&mut stream, &mut text).await;
    assert_eq!((ids(&first), &first["whole"]), (vec!["asks"], &false.into()));
    let looks = world.runs.looks.load(Ordering::SeqCst);
    world.runs.events.lock().unwrap().push(41);
    let next = changes(&mut stream, &mut text).await;
    assert_eq!(ids(&next), ["contents", "moment-42"], "the number of moments, and the new one");
    assert_eq!((&next["changes"][1]["list"], &next["changes"][1]["after"]), (&"moments".into(), &"moment-41".into()));
    assert_eq!(world.runs.looks.load(Ordering::SeqCst), looks + 1, "nobody looks while nothing happens");
    // A client with another event number gets the whole page.
    let mut late = world.raw("GET", &path, &[HOST, BEARER, ("last-event-id", "7")], "").await;
    let whole = changes(&mut late, &mut String::new()).await;
    assert_eq!(whole["whole"], true);
    assert!(ids(&whole).contains(&"outcome") && ids(&whole).contains(&"moment-1"));
}

/// No event tells that the process that drove the run was killed.
// Requirement: 12.20
#[tokio::test]
async fn a_page_that_was_made_while_the_run_was_driven_is_made_anew() {
    let world = World::new("Cross the river");
    world.runs.events.lock().unwrap().extend(1..=40);
    world.runs.left.store(true, Ordering::SeqCst);
    let path = |after: &str| format!("{}/runs/river/live?after={after}", world.base());
    let mut stream = world.raw("GET", &path("40"), &[HOST, BEARER], "").await;
    let anew = changes(&mut stream, &mut String::new()).await;
    assert_eq!(anew["whole"], true);
    assert!(["asks", "head", "outcome"].iter().all(|id| ids(&anew).contains(id)), "{anew}");
    assert!(world.page("/runs/river").await.text.contains("data-state=\"40-left\""));
    let mut stream = world.raw("GET", &path("40-left"), &[HOST, BEARER], "").await;
    let same = changes(&mut stream, &mut String::new()).await;
    assert_eq!((ids(&same), &same["whole"]), (vec!["asks"], &false.into()));
}

#[tokio::test]
async fn a_run_that_is_not_there_has_no_events() {
    let world = World::new("Cross the river");
    let answer = world.program("GET", "/api/v1/runs/other/events", "").await;
    assert_eq!(answer.status, StatusCode::NOT_FOUND);
    assert!(answer.text.contains("there is no such run") && answer.text.contains("look again"), "{}", answer.text);
}
