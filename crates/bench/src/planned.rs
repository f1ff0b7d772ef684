//! A plan that its model writes a word at a time: when the first call of a tool is made.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use aime_orchestrator::{
    EagerStart, Models, Parts, RunRequest, RunSettings,
    llm::{ChatModel, ChatRequest, ChatResponse, ModelError, StreamPart},
    progress::PlanMode,
    tools::{Approval, ToolContext, ToolError, ToolOutput, ToolRegistry, TypedTool},
};
use anyhow::{Context, Result};
use futures::{
    StreamExt as _,
    stream::{self, BoxStream},
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::time::sleep;

use crate::{
    actors::{BYTES_OF_TOKEN, PAGE, bytes},
    run::{Carried, carry_out, milliseconds},
};

/// Characters of a piece of an answer: about a token.
const PIECE: usize = 4;

/// What a call is given.
#[derive(Deserialize, JsonSchema)]
struct Look {
    /// At what.
    at: String,
}

/// A plan of so many calls that change nothing, none of which waits for another, written by a model that takes `pause` for each token. Answers
/// when the first call was made and when the run was over, in milliseconds since its beginning.
///
/// # Errors
/// A run that does not end well.
pub(crate) async fn first_call(tasks: usize, pause: Duration, eager: EagerStart) -> Result<serde_json::Value> {
    let folder = tempfile::tempdir()?;
    let first = Arc::<Mutex<Option<Instant>>>::default();
    let called = Arc::clone(&first);
    let tool = TypedTool::new("look", "Looks at something.", move |given: Look, _: ToolContext| {
        called.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(Instant::now);
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
    let tokens = plan.len().div_ceil(PIECE);
    let asked = Arc::<Mutex<(u64, usize)>>::default();
    let model = Writer { plan, pause, asked: Arc::clone(&asked) };
    let parts = Parts { tools: Arc::new(tools), undo: None, models: Some(Models::single(model)), ..Parts::in_folder(folder.path())? };
    let mut settings = RunSettings { approval: Approval::All, unattended: true, eager_start: eager, ..RunSettings::default() };
    settings.mode = Some(PlanMode::Complex);
    let request = RunRequest { settings, ..RunRequest::new("bench".parse()?, "Look at the house") };
    let Carried { started, took, .. } = carry_out(parts, request).await?;
    let first = first.lock().unwrap_or_else(PoisonError::into_inner).context("no call was made")?;
    let first = milliseconds(first.duration_since(started));
    let (requests, bytes) = *asked.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(json!({
        "eager": eager != EagerStart::Never, "tasks": tasks, "tokens": tokens, "first_call_ms": first, "ms": milliseconds(took),
        "requests": requests, "prompt_tokens": bytes / BYTES_OF_TOKEN,
    }))
}

/// Writes the plan to whoever asks for one.
struct Writer {
    plan: String,
    pause: Duration,
    /// How often it was asked, and the bytes of all that it was told.
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
        let letters: Vec<char> = text.chars().collect();
        let pieces: Vec<StreamPart> = letters.chunks(PIECE).map(|piece| StreamPart::Text(piece.iter().collect())).collect();
        let whole = StreamPart::Done(Box::new(ChatResponse::text("writer", text)));
        let written = stream::iter(pieces).then(|piece| async {
            sleep(self.pause).await;
            Ok(piece)
        });
        written.chain(stream::once(async { Ok(whole) })).boxed()
    }
}
