//! Tests of an actor without an orchestrator.

use aime_actor_factory::{ActorContext, ActorFactory, run};
use aime_llm::{
    ModelStack,
    scripted::{Reply, ScriptedModel, When},
};
use aime_progress_management::{Conclusion, Outcome, TaskId, TaskSpec};
use aime_redact::{REDACTED, Redactor};
use aime_tools::{Approval, AskPerson, ToolContext, builtin};
use serde_json::json;

/// Runs an actor that follows this model in a folder with the file `notes.txt`.
async fn run_with(model: &ScriptedModel, change: impl FnOnce(ToolContext) -> ToolContext) -> (Conclusion, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("notes.txt"), "the-known-value-4711").unwrap();
    let (tools, context) = (builtin(), change(ToolContext::in_folder(folder.path()).unwrap()));
    let task = TaskSpec::actor(TaskId::new("greet").unwrap(), "Write hello.txt");
    let actor = ActorContext::new("Say hello", &tools, &context.rules).with_approval(Approval::Edits);
    let input = ActorFactory::builtin().unwrap().compose(&task, &actor).unwrap().input;
    (run(input, &ModelStack::of(model.clone()), &tools, &context).await.unwrap(), folder)
}

fn done() -> Reply {
    Reply::call("terminate", json!({"status": "success", "message": "It is written."}))
}

#[tokio::test]
async fn an_actor_calls_tools_and_concludes() {
    let write = Reply::call("write_file", json!({"path": "hello.txt", "content": "hello"}));
    let model = ScriptedModel::new("m").on(When::tools().and_turn(0), [write]).on(When::tools(), [done()]);
    let (conclusion, folder) = run_with(&model, |context| context).await;
    assert_eq!((conclusion.outcome, conclusion.summary.as_str()), (Outcome::Success, "It is written."), "{conclusion:?}");
    assert_eq!(std::fs::read_to_string(folder.path().join("hello.txt")).unwrap(), "hello");
}

#[tokio::test]
async fn a_person_is_asked_and_no_secret_reaches_the_model() {
    let ask = Reply::call("ask_human", json!({"question": "Which colour?"}));
    let read = Reply::call("read_file", json!({"path": "notes.txt"}));
    let model =
        ScriptedModel::new("m").on(When::tools().and_turn(0), [ask]).on(When::tools().and_turn(1), [read]).on(When::tools(), [done()]);
    let person = AskPerson::new(|_| Box::pin(async { Some("the-known-value-4711, said blue".to_owned()) }));
    let redactor = Redactor::new(["the-known-value-4711"]);
    let (conclusion, _folder) = run_with(&model, |context| context.with_person(person).with_redactor(redactor)).await;
    assert_eq!(conclusion.outcome, Outcome::Success, "{conclusion:?}");
    let seen = format!("{:?}", model.requests());
    assert!(seen.contains("said blue") && seen.contains(REDACTED) && !seen.contains("the-known-value-4711"), "{seen}");
}

#[tokio::test]
async fn a_cancelled_actor_is_interrupted() {
    let model = ScriptedModel::new("m").on(When::tools(), [done()]);
    let (conclusion, _folder) = run_with(&model, |context| {
        context.cancel.cancel();
        context
    })
    .await;
    assert_eq!(conclusion.outcome, Outcome::Interrupted);
}
