//! Runs the orchestrator with your own model and tool: a goal is planned, executed, written to a file and answered.
//! Needs no network and no key: `cargo run -p aime-orchestrator --example own_model_and_tools`
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;

use aime_orchestrator::{
    Orchestrator, RunControl, RunRequest,
    llm::{ChatModel, ChatRequest, ChatResponse, Message, ModelError, StreamPart, ToolCall, in_one_part},
    progress::{PlanMode, RunStatus},
    tools::{ToolContext, ToolError, ToolOutput, TypedTool},
};
use futures::stream::BoxStream;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

/// Your model: anything that answers chat requests. This one is a script; `ModelStack::server` of `aime-llm` calls real
/// ones.
struct Clerk;

impl ChatModel for Clerk {
    fn name(&self) -> &str {
        "clerk"
    }

    fn stream(&self, request: ChatRequest) -> BoxStream<'_, Result<StreamPart, ModelError>> {
        in_one_part(async move { Ok(answer(&request)) })
    }
}

fn answer(request: &ChatRequest) -> ChatResponse {
    let seen = request.messages.iter().find_map(|message| match message.as_ref() {
        Message::Tool { content, .. } => Some(content),
        _ => None,
    });
    // The lead plans, pauses while its workers do the tasks, and ends the run when it is woken.
    if request.tools.iter().any(|tool| tool.name == "submit_plan") {
        let plan = json!({"tasks": [
            {"id": "look", "kind": "actor", "description": "Find out the phase of the moon on the third"},
            {"id": "note", "kind": "tool", "tool": "write_file", "dependencies": ["look"],
             "parameters": {"path": "moon.txt", "content": "@{steps.look.result}"}},
        ]});
        let answer = json!({"status": "success", "message": "I looked at the moon and wrote it down in moon.txt."});
        let call = if seen.is_none() { ToolCall::new("1", "submit_plan", &plan) } else { ToolCall::new("2", "terminate", &answer) };
        return ChatResponse::calls("clerk", [call]);
    }
    // A worker calls a tool, reads the result, and ends.
    let call = match seen {
        None => ToolCall::new("1", "moon_phase", &json!({"day": 3})),
        Some(phase) => ToolCall::new("2", "terminate", &json!({"status": "success", "message": phase})),
    };
    ChatResponse::calls("clerk", [call])
}

/// The parameters of your tool; its doc comments are what the model reads.
#[derive(Deserialize, JsonSchema)]
struct Moon {
    /// The day of the month
    #[schemars(range(min = 1, max = 31))]
    day: u32,
}

async fn moon_phase(Moon { day }: Moon, _: ToolContext) -> Result<ToolOutput, ToolError> {
    Ok(ToolOutput::text(if day < 15 { "The moon is full." } else { "The moon is new." }))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let tool = TypedTool::new("moon_phase", "The phase of the moon on a day.", moon_phase).read_only();
    let orchestrator = Orchestrator::builder(Clerk).tool(tool).folder(folder.path()).build()?;

    let mut request = RunRequest::new("moon".parse()?, "Find out the phase of the moon on the third, and note it in moon.txt");
    request.settings.mode = Some(PlanMode::Simple);
    let (control, mut events) = RunControl::new();
    let watching = tokio::spawn(async move {
        while let Some(event) = events.recv().await {
            println!("{:>3} {}", event.seq, event.event.name());
        }
    });
    let result = orchestrator.run_with(request, control).await?;
    watching.await?;

    println!("\n{}: {}", result.status, result.answer);
    for task in &result.tasks {
        println!("  {} {}: {}", task.status, task.id, task.summary);
    }
    assert_eq!(result.status, RunStatus::Completed);
    assert_eq!(std::fs::read_to_string(folder.path().join("moon.txt"))?, "The moon is full.");
    Ok(())
}

#[test]
fn a_goal_is_planned_carried_out_and_answered() {
    main().unwrap();
}
