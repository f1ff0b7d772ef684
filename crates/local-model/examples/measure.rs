//! Prints how fast a model file runs here: `cargo run --release -p aime-local-model --example measure -- FILE.gguf [PROMPT_TOKENS] [NEW_TOKENS]`.
//!
//! Loading, tokens of a prompt per second, tokens of an answer per second, the same prompt again (kept keys and values), a plan held to a schema,
//! and the most memory that was in use.

use std::error::Error;
use std::io::Write;
use std::sync::Arc;
use std::time::Instant;

use aime_llm::{ChatModel, ChatRequest, ChatResponse, Message, ResponseFormat, StreamPart, ToolChoice, ToolDefinition};
use aime_local_model::{LocalModel, LocalModelSettings};
use futures::StreamExt;
use serde_json::json;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("give a GGUF file")?;
    let prompt: usize = arguments.next().map_or(Ok(512), |number| number.parse())?;
    let new: u32 = arguments.next().map_or(Ok(64), |number| number.parse())?;
    let mut out = std::io::stdout();

    let started = Instant::now();
    let mut settings = LocalModelSettings::new("measured", file);
    settings.temperature = 0.0;
    let model = LocalModel::open(settings)?;
    writeln!(out, "open: {} ms", started.elapsed().as_millis())?;
    let (_, took) = ask(&model, text("Hi", 1)).await?;
    writeln!(out, "load and first token: {took:.1} s")?;

    let words: Vec<String> = (0..prompt).map(|number| format!(" {}", number % 10)).collect();
    let long = format!("Say what you see in these digits:{}", words.concat().get(..prompt).unwrap_or_default());
    let (answer, once) = ask(&model, text(&long, 1)).await?;
    let computed = answer.usage.input_tokens - answer.usage.cached_input_tokens;
    writeln!(out, "prompt: {computed} tokens, {:.1} tokens/s", computed as f64 / once)?;
    let (answer, again) = ask(&model, text(&long, 1)).await?;
    writeln!(out, "same prompt: {} of {} tokens kept, {again:.2} s", answer.usage.cached_input_tokens, answer.usage.input_tokens)?;
    let (answer, took) = ask(&model, text("Write a long story about a lighthouse.", new)).await?;
    let tokens = answer.usage.output_tokens;
    writeln!(out, "answer: {tokens} tokens, {:.1} tokens/s: {:?}", tokens as f64 / took, answer.content)?;

    let schema = json!({"type": "object", "properties": {
        "tasks": {"type": "array", "minItems": 2, "maxItems": 3, "items": {"type": "object", "properties": {
            "id": {"type": "string", "pattern": "^t[0-9]$"}, "title": {"type": "string", "maxLength": 80}}, "required": ["id", "title"], "additionalProperties": false}}},
        "required": ["tasks"], "additionalProperties": false});
    let mut request = text("Plan how to count the lines of every text file in a folder, in two or three tasks.", 200);
    request.format = ResponseFormat::JsonSchema { name: "plan".to_owned(), schema };
    let (answer, took) = ask(&model, request).await?;
    writeln!(out, "schema: {} tokens in {took:.1} s: {}", answer.usage.output_tokens, answer.content)?;

    let tool = ToolDefinition {
        name: "read_file".to_owned(),
        description: "Reads a file.".to_owned(),
        parameters:
            json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"], "additionalProperties": false})
                .into(),
    };
    for choice in [ToolChoice::Auto, ToolChoice::Required] {
        let mut request = text("What is in notes.txt?", 100);
        request.tools = Arc::from([tool.clone()]);
        request.tool_choice = choice;
        let (answer, took) = ask(&model, request).await?;
        writeln!(
            out,
            "tools {choice:?}: {} tokens in {took:.1} s: {:?} {:?}",
            answer.usage.output_tokens, answer.content, answer.tool_calls
        )?;
    }

    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    if let Some(line) = status.lines().find(|line| line.starts_with("VmHWM")) {
        writeln!(out, "most memory: {}", line.trim_start_matches("VmHWM:").trim())?;
    }
    Ok(())
}

fn text(content: &str, tokens: u32) -> ChatRequest {
    ChatRequest {
        messages: vec![Arc::new(Message::User { content: content.to_owned() })],
        max_output_tokens: Some(tokens),
        ..ChatRequest::default()
    }
}

async fn ask(model: &LocalModel, request: ChatRequest) -> Result<(ChatResponse, f64), Box<dyn Error>> {
    let started = Instant::now();
    let mut parts = model.stream(request);
    while let Some(part) = parts.next().await {
        if let StreamPart::Done(response) = part? {
            return Ok((*response, started.elapsed().as_secs_f64()));
        }
    }
    Err("no answer".into())
}
