//! A program that imports this crate alone: its own loop calls tools, one of them its own.

use std::sync::Arc;

use aime_tools::{Approval, ToolContext, ToolOutput, ToolSession, TypedTool, builtin};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Roll {
    sides: u32,
}

#[tokio::test]
async fn an_own_loop_calls_tools() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let roll = |roll: Roll, _: ToolContext| async move { Ok(ToolOutput::text(format!("4 of {}", roll.sides))) };
    let mut tools = builtin();
    tools.register(Arc::new(TypedTool::new("roll", "Rolls a die.", roll).read_only()));
    let mut session = ToolSession::new(tools, ToolContext::in_folder(folder.path())?, Approval::Edits);
    assert_eq!(session.call("roll", r#"{"sides": "6"}"#).await?.text, "4 of 6", "a text for a number is repaired");
    session.call("write_file", r#"{"path": "roll.txt", "content": "four"}"#).await?;
    assert_eq!(std::fs::read_to_string(folder.path().join("roll.txt"))?, "four");
    assert!(session.call("bash", r#"{"command": "rm roll.txt"}"#).await.is_err(), "nobody is there to allow it");
    Ok(())
}
