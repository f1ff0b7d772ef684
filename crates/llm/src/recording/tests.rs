//! What is recorded is answered again, and nothing else.

use std::sync::Arc;

use secrecy::SecretString;
use serde_json::json;

use super::{RecordingModel, ReplayError, ReplayModel};
use crate::{
    ChatModel, ChatRequest, Message, ModelError, ToolDefinition,
    scripted::{Reply, ScriptedModel, When},
};

fn request(text: &str) -> ChatRequest {
    let tool = ToolDefinition { name: "t".into(), description: "d".into(), parameters: json!({"type": "object", "properties": {}}).into() };
    ChatRequest {
        messages: vec![Arc::new(Message::User { content: text.to_owned() })],
        tools: Arc::from([tool]),
        temperature: Some(0.5),
        ..ChatRequest::default()
    }
}

#[tokio::test]
async fn a_recording_answers_in_the_order_of_each_request() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("record.jsonl");
    let model = ScriptedModel::new("m")
        .on(When::contains("a"), [Reply::text("a1"), Reply::text("a2").with_reasoning("hm")])
        .on(When::contains("b"), [Reply::call("t", json!({"x": 1}))])
        .on(When::any(), [Reply::status(500, "broken")]);
    let recording = RecordingModel::to_file(Arc::new(model), &path).unwrap();
    let mut answers = Vec::new();
    for text in ["a", "b", "a"] {
        answers.push(recording.complete(request(text)).await.unwrap());
    }
    assert!(recording.complete(request("x")).await.is_err());
    assert_eq!(recording.name(), "m");
    drop(recording);

    let replay = ReplayModel::from_file("again", &path).unwrap();
    let mut again = Vec::new();
    for text in ["b", "a", "a", "a"] {
        again.push(replay.complete(request(text)).await.unwrap());
    }
    assert_eq!(again, [answers[1].clone(), answers[0].clone(), answers[2].clone(), answers[2].clone()]);
    for other in [request("x"), ChatRequest { temperature: None, ..request("a") }] {
        assert!(matches!(replay.complete(other).await, Err(ModelError::NotRecorded { .. })));
    }
}

#[tokio::test]
async fn named_secrets_are_not_in_the_record() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("record.jsonl");
    let model = ScriptedModel::new("m").on(When::any(), [Reply::text("you said hunter2\" to me")]);
    let recording =
        RecordingModel::to_file(Arc::new(model), &path).unwrap().without([SecretString::from("hunter2\""), SecretString::from("")]);
    recording.complete(request("my word is hunter2\"")).await.unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(!text.contains("hunter2") && text.contains("you said *** to me"), "{text}");
}

#[tokio::test]
async fn the_form_of_a_line_stays() {
    // A record of version 1, kept to show that it is still read.
    let line = include_str!("v1.jsonl");
    let replay = ReplayModel::from_text("m", line).unwrap();
    let answer = replay.complete(request("a")).await.unwrap();
    assert_eq!(answer.content, "a1");
}

#[test]
fn damage_is_named_and_a_torn_end_is_passed_over() {
    let line = include_str!("v1.jsonl").trim_end();
    assert!(ReplayModel::from_text("m", &format!("{line}\n{}", &line[..50])).is_ok());
    assert!(ReplayModel::from_text("m", "").is_ok());
    let torn = ReplayModel::from_text("m", &format!("{}\n{line}\n", &line[..50])).unwrap_err();
    assert!(matches!(torn, ReplayError::Line { line: 1, .. }));
    let newer = line.replace("recording/v1", "recording/v9");
    assert!(ReplayModel::from_text("m", &newer).unwrap_err().to_string().contains("v9"));
}

#[test]
fn the_hash_does_not_depend_on_the_order_of_keys() {
    let with = |parameters: serde_json::Value| ChatRequest {
        tools: Arc::from([ToolDefinition { name: "t".into(), description: "d".into(), parameters: parameters.into() }]),
        ..ChatRequest::default()
    };
    let one = super::record::hash(&with(json!({"a": {"x": 1, "y": 2}, "b": 3})));
    let other = super::record::hash(&with(json!({"b": 3, "a": {"y": 2, "x": 1}})));
    assert_eq!(one, other);
    assert_ne!(one, super::record::hash(&with(json!({"a": {"x": 1, "y": 2}, "b": 4}))));
}
