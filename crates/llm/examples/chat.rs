//! Asks a server one question and shows the parts of its answer as they arrive:
//! `cargo run -p aime-llm --example chat -- http://127.0.0.1:8080/v1 MODEL "What is the time?" [KEY]`.

use std::error::Error;
use std::io::Write;
use std::sync::Arc;

use aime_llm::{ChatModel, ChatRequest, Message, ModelError, ModelStack, OpenAiSettings, Redactor, StreamPart, ToolDefinition};
use futures::StreamExt;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [url, name, question, key @ ..] = arguments.as_slice() else { return Err("usage: chat URL MODEL QUESTION [KEY]".into()) };
    let mut settings = OpenAiSettings::new(name, url);
    settings.api_key = key.first().map(|key| key.as_str().into());
    let model = ModelStack::server(settings)?.build(&Redactor::default());

    let clock = ToolDefinition {
        name: "clock".to_owned(),
        description: "Tells the time.".to_owned(),
        parameters: serde_json::json!({"type": "object", "properties": {"zone": {"type": "string"}}}).into(),
    };
    let request = ChatRequest {
        messages: vec![Arc::new(Message::user(question.clone()))],
        tools: Arc::new([clock]),
        max_output_tokens: Some(200),
        ..ChatRequest::default()
    };
    let mut out = std::io::stdout();
    let mut parts = model.stream(request);
    while let Some(part) = parts.next().await {
        match part.map_err(with_hint)? {
            StreamPart::Text(text) | StreamPart::Reasoning(text) => write!(out, "{text}")?,
            StreamPart::ToolCallBegun { name } => writeln!(out, "[{name}]")?,
            StreamPart::Done(answer) => writeln!(out, "\n{answer:#?}")?,
        }
        out.flush()?;
    }
    Ok(())
}

fn with_hint(error: ModelError) -> String {
    match error.hint() {
        Some(hint) => format!("{error}\nhint: {hint}"),
        None => error.to_string(),
    }
}
