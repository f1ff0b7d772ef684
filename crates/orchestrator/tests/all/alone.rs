//! A program that imports this crate alone: a goal is worked on in a folder.

use aime_orchestrator::{
    Orchestrator,
    llm::scripted::{Reply, ScriptedModel, When},
    progress::RunStatus,
};
use serde_json::json;

#[tokio::test]
async fn a_goal_is_worked_on_in_a_folder() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let write = Reply::call("write_file", json!({"path": "hello.txt", "content": "hello"}));
    let done = Reply::call("terminate", json!({"status": "success", "message": "It is written."}));
    let model = ScriptedModel::new("m").on(When::tools().and_turn(0), [write]).on(When::tools(), [done]);
    let result = Orchestrator::builder(model).folder(folder.path()).build()?.run("Write hello.txt").await?;
    assert_eq!((result.status, result.answer.as_str()), (RunStatus::Completed, "It is written."), "{result:?}");
    assert_eq!(std::fs::read_to_string(folder.path().join("hello.txt"))?, "hello");
    Ok(())
}
