//! A program that imports this crate alone: one actor works on one task.

use aime_actor_factory::{
    ActorContext, ActorFactory,
    llm::ModelStack,
    llm::scripted::{Reply, ScriptedModel, When},
    progress::{Outcome, TaskSpec},
    run,
    tools::{Approval, ToolContext, builtin},
};
use serde_json::json;

#[tokio::test]
async fn one_actor_works_on_one_task() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let write = Reply::call("write_file", json!({"path": "hello.txt", "content": "hello"}));
    let done = Reply::call("terminate", json!({"status": "success", "message": "It is written."}));
    let model = ScriptedModel::new("m").on(When::tools().and_turn(0), [write]).on(When::tools(), [done]);
    let (tools, context) = (builtin(), ToolContext::in_folder(folder.path())?);
    let task = TaskSpec::actor("greet".parse()?, "Write hello.txt");
    let actor = ActorContext::new("Say hello", &tools, &context.rules).with_approval(Approval::Edits);
    let input = ActorFactory::builtin()?.compose(&task, &actor)?.input;
    let conclusion = run(input, &ModelStack::of(model), &tools, &context).await?;
    assert_eq!((conclusion.outcome, conclusion.summary.as_str()), (Outcome::Success, "It is written."));
    assert_eq!(std::fs::read_to_string(folder.path().join("hello.txt"))?, "hello");
    Ok(())
}
