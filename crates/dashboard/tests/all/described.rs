//! Tests of the interface against its description.

use std::collections::BTreeSet;

use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::harness::World;

/// Request of each operation, and the required status.
const ASKED: [(&str, &str, &str, u16); 31] = [
    ("describe", "/openapi.json", "", 200),
    ("list", "/runs", "", 200),
    ("start", "/runs", r#"{"goal": "Cross the river", "mode": "complex", "approve": "ask"}"#, 201),
    ("start", "/runs", r#"{"goal": " "}"#, 409),
    ("start", "/runs", r#"{"goal": "x", "approve": "all"}"#, 400),
    ("start", "/runs", r#"{"goal": "x", "unattended": true}"#, 400),
    ("start", "/runs", r#"{"goal": "x", "folder": "elsewhere"}"#, 404),
    ("look", "/runs/river", "", 200),
    ("look", "/runs/other", "", 404),
    ("events", "/runs/other/events", "", 404),
    ("act", "/runs/river/answer", r#"{"text": "yes", "question": "q1", "resume": true}"#, 200),
    ("act", "/runs/river/resume", "", 200),
    ("act", "/runs/river/tell", r#"{"text": ""}"#, 409),
    ("act", "/runs/river/tell", r#"{"text": 1}"#, 400),
    ("act", "/runs/other/pause", "", 404),
    ("plan", "/plans", r#"{"goal": "Cross the river"}"#, 201),
    ("plan", "/plans", r#"{"goal": ""}"#, 409),
    ("plan", "/plans", r#"{"goal": "Cross"#, 400),
    ("drafts", "/plans", "", 200),
    ("draft", "/plans/bridge", "", 200),
    ("draft", "/plans/other", "", 404),
    ("review", "/plans/bridge/run", r#"{"plan": {"tasks": []}}"#, 200),
    ("review", "/plans/bridge/comment", r#"{"text": "by boat"}"#, 200),
    ("review", "/plans/bridge/comment", r#"{"text": " "}"#, 409),
    ("review", "/plans/bridge/comment", "by boat", 400),
    ("review", "/plans/other/drop", "", 404),
    ("search", "/search?q=river", "", 200),
    ("search", "/search?q=+", "", 409),
    ("compare", "/compare?run=river&run=river", "", 200),
    ("compare", "/compare?run=river", "", 409),
    ("compare", "/compare?run=river&run=other", "", 404),
];

/// Returns each method and path in the description, with the operation.
fn operations(description: &Value) -> Vec<(String, String, Value)> {
    let paths = description["paths"].as_object().unwrap();
    let all = paths
        .iter()
        .flat_map(|(path, methods)| methods.as_object().unwrap().iter().map(move |(method, operation)| (path, method, operation)));
    all.filter(|(_, method, _)| *method != "parameters")
        .map(|(path, method, operation)| (method.to_uppercase(), path.clone(), operation.clone()))
        .collect()
}

/// Returns the schema of an answer, with the schemas that it refers to.
fn schema(description: &Value, response: &Value) -> Option<Value> {
    let response = match response["$ref"].as_str() {
        Some(place) => description.pointer(place.trim_start_matches('#')).unwrap(),
        None => response,
    };
    let mut schema = response.pointer("/content/application~1json/schema")?.clone();
    schema["components"] = description["components"].clone();
    Some(schema)
}

// Requirement: 12.10
#[tokio::test]
async fn every_operation_answers_as_it_is_described() {
    let world = World::new("Cross the river");
    let description: Value = serde_json::from_str(&world.program("GET", "/api/v1/openapi.json", "").await.text).unwrap();
    assert_eq!((&description["openapi"], &description["info"]["version"]), (&json!("3.1.0"), &json!("1.1.0")));
    let operations = operations(&description);
    let mut tried = BTreeSet::new();
    for (name, path, body, status) in ASKED {
        let (method, described, operation) = operations.iter().find(|(_, _, operation)| operation["operationId"] == name).unwrap();
        let answer = world.program(method, &format!("/api/v1{path}"), body).await;
        let place = format!("{method} {path} {body}: {}", answer.text);
        assert_eq!(answer.status.as_u16(), status, "{place}");
        let response = &operation["responses"][status.to_string()];
        assert!(response.is_object(), "{place} is not described");
        if let Some(schema) = schema(&description, response) {
            let document: Value = serde_json::from_str(&answer.text).unwrap();
            let validator = jsonschema::validator_for(&schema).unwrap();
            let faults: Vec<String> = validator.iter_errors(&document).map(|fault| fault.to_string()).collect();
            assert!(faults.is_empty(), "{place}: {faults:?}");
        }
        if let Some(sent) = operation.pointer("/requestBody/content/application~1json/schema").filter(|_| status < 300 && !body.is_empty())
        {
            let mut sent = sent.clone();
            sent["components"] = description["components"].clone();
            assert!(jsonschema::is_valid(&sent, &serde_json::from_str(body).unwrap()), "{place}: what was sent is not described");
        }
        tried.insert((method.clone(), described.clone()));
    }
    assert_eq!(tried.len(), operations.len(), "each operation is tried");
    // Methods that are not described do not exist.
    for (_, path, _) in &operations {
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
            let described = operations.iter().any(|(known, at, _)| known == method && at == path);
            let path = path.replace("{run}", "river").replace("{act}", "pause").replace("{draft}", "bridge");
            if !described {
                let answer = world.program(method, &format!("/api/v1{path}"), "").await;
                // The paths of acts and of events overlap.
                assert!(
                    [StatusCode::METHOD_NOT_ALLOWED, StatusCode::NOT_FOUND].contains(&answer.status),
                    "{method} {path}: {}",
                    answer.status
                );
            }
        }
    }
}
