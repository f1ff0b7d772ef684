use axum::{http::StatusCode, response::Response};
use http_body_util::BodyExt;

use crate::harness::{BEARER, HOST, World};

/// Reads a stream until it has given an event with this id, and gives the ids.
async fn ids_until(answer: &mut Response, last: u64) -> Vec<u64> {
    let (mut text, end) = (String::new(), format!("id: {last}\n"));
    while !text.contains(&end) {
        let frame = answer.body_mut().frame().await.expect("the stream goes on").unwrap();
        text.push_str(std::str::from_utf8(frame.data_ref().unwrap()).unwrap());
    }
    text.lines().filter_map(|line| line.strip_prefix("id: ")?.parse().ok()).collect()
}

#[tokio::test]
async fn events_come_in_order_and_go_on_after_the_last_that_was_seen() {
    let world = World::new("Cross the river");
    world.runs.events.lock().unwrap().extend(1..=1_200);
    let mut all = world.raw("GET", "/api/v1/runs/river/events", &[HOST, BEARER], "").await;
    assert_eq!((all.status(), all.headers()["content-type"].to_str().unwrap()), (StatusCode::OK, "text/event-stream"));
    assert_eq!(ids_until(&mut all, 1_200).await, (1..=1_200).collect::<Vec<_>>());
    // What comes later comes on the same stream.
    world.runs.events.lock().unwrap().extend(1_201..=1_203);
    assert_eq!(ids_until(&mut all, 1_203).await, [1_201, 1_202, 1_203]);
    let mut again = world.raw("GET", "/api/v1/runs/river/events?after=3", &[HOST, BEARER, ("last-event-id", "1200")], "").await;
    assert_eq!(ids_until(&mut again, 1_203).await, [1_201, 1_202, 1_203], "the browser knows better than the address");
    let mut after = world.raw("GET", "/api/v1/runs/river/events?after=1202", &[HOST, BEARER], "").await;
    assert_eq!(ids_until(&mut after, 1_203).await, [1_203]);
}

#[tokio::test]
async fn no_gap_is_passed_over() {
    let world = World::new("Cross the river");
    world.runs.events.lock().unwrap().extend([1, 2, 4]);
    let mut stream = world.raw("GET", "/api/v1/runs/river/events", &[HOST, BEARER], "").await;
    assert_eq!(ids_until(&mut stream, 2).await, [1, 2]);
    world.runs.events.lock().unwrap().splice(.., 1..=5);
    assert_eq!(ids_until(&mut stream, 5).await, [3, 4, 5]);
}

#[tokio::test]
async fn a_run_that_is_not_there_has_no_events() {
    let world = World::new("Cross the river");
    let answer = world.program("GET", "/api/v1/runs/other/events", "").await;
    assert_eq!(answer.status, StatusCode::NOT_FOUND);
    assert!(answer.text.contains("there is no such run") && answer.text.contains("look again"), "{}", answer.text);
}
