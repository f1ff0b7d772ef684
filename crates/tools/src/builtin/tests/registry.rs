use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, json};

use super::Place;
use crate::{ToolContext, ToolError, ToolOutput, ToolRegistry, TypedTool, builtin};

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

fn output(text: &str) -> ToolOutput {
    ToolOutput { text: text.into(), value: json!(null), ..ToolOutput::default() }
}

#[tokio::test]
async fn unknown_tools_are_told_with_those_that_exist() {
    let place = Place::new(&[]);
    let error = place.call("ReadFile", json!({})).await.unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("Unknown tool: ReadFile. The tools are: `read_file`, "), "{text}");
    assert!(builtin().names().all(|name| text.contains(&format!("`{name}`"))), "{text}");
    assert_eq!(builtin().specs(["grep", "nope"]).unwrap_err().name, "nope");
}

#[tokio::test]
async fn tools_of_the_actor_are_not_run() {
    let place = Place::new(&[]);
    for tool in ["todo", "update_progress", "report_evidence", "ask_human", "terminate"] {
        assert!(matches!(place.call(tool, json!({})).await, Err(ToolError::Failed(_))), "{tool}");
    }
}

// Requirement: 8.12
#[test]
fn a_tool_of_the_same_name_takes_the_place() {
    let mut registry: ToolRegistry = builtin();
    let names: Vec<_> = registry.names().map(str::to_owned).collect();
    let other = TypedTool::new("grep", "Mine.", |_: Nothing, _: ToolContext| async { Ok(output("mine")) });
    assert!(registry.register(Arc::new(other)).is_some());
    assert_eq!(registry.names().collect::<Vec<_>>(), names);
    assert_eq!(registry.get("grep").unwrap().spec().definition.description, "Mine.");
    assert!(registry.get("nope").is_none());
}

// Requirement: 8.14
#[tokio::test]
async fn a_tool_out_of_time_is_told_to_stop() {
    let place = Place::new(&[]);
    let is_stopped = Arc::new(AtomicBool::new(false));
    let slow = TypedTool::new("slow", "Wait.", {
        let is_stopped = Arc::clone(&is_stopped);
        move |_: Nothing, context: ToolContext| {
            let is_stopped = Arc::clone(&is_stopped);
            async move {
                context.cancel.cancelled().await;
                is_stopped.store(true, Ordering::SeqCst);
                Err(ToolError::Cancelled)
            }
        }
    });
    let mut registry = ToolRegistry::new();
    registry.register(Arc::new(slow.time_limit(Duration::from_millis(50))));
    let error = registry.call_with_consent("slow", Map::new(), &place.context).await.unwrap_err();
    assert_eq!(error, ToolError::TimedOut("`slow` took longer than 0 s and was stopped".into()));
    assert!(is_stopped.load(Ordering::SeqCst));
    assert!(!place.context.cancel.is_cancelled(), "only that call was");
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_does_not_stop_is_left_behind() {
    let place = Place::new(&[]);
    let deaf = TypedTool::new("deaf", "Wait.", |_: Nothing, _: ToolContext| async { std::future::pending().await });
    let registry: ToolRegistry = [Arc::new(deaf) as Arc<dyn crate::Tool>].into_iter().collect();
    let error = registry.call_with_consent("deaf", Map::new(), &place.context).await.unwrap_err();
    assert_eq!(error, ToolError::TimedOut("`deaf` took longer than 30 s and was stopped".into()));
}

// Requirement: 4.40
#[tokio::test]
async fn errors_are_cut_as_results_are() {
    let place = Place::new(&[]);
    let loud = TypedTool::new("loud", "Fail.", |_: Nothing, _: ToolContext| async { Err(ToolError::Failed("x".repeat(50_000))) });
    let registry: ToolRegistry = [Arc::new(loud) as Arc<dyn crate::Tool>].into_iter().collect();
    let text = registry.call_with_consent("loud", Map::new(), &place.context).await.unwrap_err().to_string();
    assert!(text.chars().count() < 10_100 && text.contains("[40000 of 50000 characters left out; ask for less at once]"), "{}", text.len());
}

#[test]
fn parameters_can_be_checked_without_a_call() {
    let tools = builtin();
    let check = |value: serde_json::Value| tools.spec("read_file").unwrap().check(value.as_object().unwrap().clone());
    assert_eq!(check(json!({"path": "a", "limit": "3"})).unwrap().parameters()["limit"], 3);
    assert!(matches!(check(json!({})), Err(ToolError::InvalidParameters(_))));
    assert!(tools.spec("nope").is_err());
}
