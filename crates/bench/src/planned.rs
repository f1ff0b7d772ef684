//! A goal that is carried out by a plan of tool tasks. Measures the number of model requests, and the tokens of all prompts.

use std::sync::{Arc, Mutex, PoisonError};

use aime_orchestrator::{
    OrchestratorBuilder, PlanRoute, RunRequest, RunSettings,
    llm::{ChatModel, ChatRequest, ChatResponse, ModelError, StreamPart},
    progress::PlanMode,
    tools::{Approval, ToolContext, ToolError, ToolOutput, ToolRegistry, TypedTool},
};
use anyhow::Result;
use futures::{
    StreamExt as _,
    stream::{self, BoxStream},
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    actors::{BYTES_OF_TOKEN, PAGE, bytes},
    run::carry_out,
};

/// Parameters of the tool.
#[derive(Deserialize, JsonSchema)]
struct Look {
    /// Part to look at.
    at: String,
}

/// Runs a plan of `tasks` independent read-only calls and counts the requests to its model.
///
/// # Errors
/// A run that fails.
pub(crate) async fn goal(tasks: usize) -> Result<serde_json::Value> {
    let folder = tempfile::tempdir()?;
    let tool = TypedTool::new("look", "Looks at something.", |given: Look, _: ToolContext| {
        let words = format!("{} is there ", given.at);
        async move { Ok::<_, ToolError>(ToolOutput::text(words.repeat(PAGE / words.len()))) }
    });
    let mut tools = ToolRegistry::new();
    tools.register(Arc::new(tool.read_only()));
    let list: Vec<_> = (0..tasks)
        .map(|at| {
            json!({"id": format!("look-{at}"), "name": format!("Look at part {at}"), "kind": "tool", "tool": "look",
                   "parameters": {"at": format!("part {at} of the house")}, "dependencies": []})
        })
        .collect();
    let plan = json!({"tasks": list, "strategic": {"approach": "Look at every part of it.", "success_criteria": []}}).to_string();
    let asked = Arc::<Mutex<(u64, usize)>>::default();
    let model = Writer { plan, asked: Arc::clone(&asked) };
    let builder = OrchestratorBuilder::new().model(model).tools(tools).undo(None).folder(folder.path());
    let settings = RunSettings {
        route: PlanRoute::Rules,
        approval: Approval::All,
        unattended: true,
        mode: Some(PlanMode::Complex),
        ..RunSettings::default()
    };
    let request = RunRequest { settings, ..RunRequest::new("bench".parse()?, "Look at the house") };
    carry_out(builder, request).await?;
    let (requests, bytes) = *asked.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(json!({"tasks": tasks, "requests": requests, "prompt_tokens": bytes / BYTES_OF_TOKEN}))
}

/// A model that answers every request with the same plan.
struct Writer {
    plan: String,
    /// Number of requests, and the total bytes of their prompts.
    asked: Arc<Mutex<(u64, usize)>>,
}

impl ChatModel for Writer {
    fn name(&self) -> &str {
        "writer"
    }

    fn stream(&self, request: ChatRequest) -> BoxStream<'_, Result<StreamPart, ModelError>> {
        {
            let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
            *asked = (asked.0 + 1, asked.1 + bytes(&request));
        }
        let text = match request.schema_name() {
            Some("aime_plan") => self.plan.clone(),
            Some(_) => json!({"reason": "so it is", "complexity": "complex"}).to_string(),
            None => "All of it was looked at.".to_owned(),
        };
        let whole = StreamPart::Done(Box::new(ChatResponse::text("writer", text)));
        stream::once(async { Ok(whole) }).boxed()
    }
}
