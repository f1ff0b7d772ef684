//! Measures the speed of a model file on this machine: `cargo run --release -p aime-local-model --example measure -- FILE.gguf [ROUNDS]
//! [SERVER]`.
//!
//! `SERVER` is the address of an OpenAI-compatible server with the same file, such as `http://127.0.0.1:8091/v1`. It gets the same requests
//! in turn, by the same code and clock, and the last column is the speed of the process relative to the server. Numbers are medians of the
//! rounds.

use std::error::Error;
use std::io::Write;
use std::sync::Arc;
use std::time::Instant;

use aime_llm::{ChatModel, ChatRequest, ChatResponse, Message, ModelStack, OpenAiSettings, Redactor, ResponseFormat, StreamPart};
use aime_local_model::{LocalModel, LocalModelSettings};
use futures::StreamExt;
use serde_json::json;

/// Measured values; higher is better.
const MEASURES: [&str; 6] = [
    "prompt, tokens/s",
    "answer, tokens/s",
    "answer held to a schema, tokens/s",
    "the same prompt again, tokens/s",
    "a prompt with the same head, tokens/s",
    "two answers at once, tokens/s",
];

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("give a GGUF file")?;
    let rounds: u32 = arguments.next().map_or(Ok(3), |number| number.parse())?;
    let mut settings = LocalModelSettings::new("in the process", file);
    settings.temperature = 0.0;
    let mut models: Vec<Box<dyn ChatModel>> = vec![Box::new(LocalModel::open(settings)?)];
    if let Some(address) = arguments.next() {
        models.push(Box::new(ModelStack::server(OpenAiSettings::new("local", address))?.build(&Redactor::default())));
    }
    for model in &models {
        ask(model.as_ref(), text("Hi", 1)).await?;
    }
    let mut measured = vec![vec![Vec::new(); MEASURES.len()]; models.len()];
    for round in 1..=rounds {
        for (model, measured) in models.iter().zip(&mut measured) {
            for (all, value) in measured.iter_mut().zip(measure(model.as_ref(), round).await?) {
                all.push(value);
            }
        }
    }
    let mut out = std::io::stdout();
    let heads: &[&str] = if models.len() > 1 { &["in the process", "server", "ratio"] } else { &["in the process"] };
    writeln!(out, "| | {} |\n|---|{}", heads.join(" | "), "---|".repeat(heads.len()))?;
    for (at, name) in MEASURES.iter().enumerate() {
        let values: Vec<f64> = measured.iter_mut().filter_map(|all| all.get_mut(at)).map(|all| median(all)).collect();
        let ratio = match values[..] {
            [own, server] => format!(" {:.2} |", own / server),
            _ => String::new(),
        };
        let values: String = values.iter().map(|value| format!(" {value:.1} |")).collect();
        writeln!(out, "| {name} |{values}{ratio}")?;
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    if let Some(line) = status.lines().find(|line| line.starts_with("VmHWM")) {
        writeln!(out, "\nMost memory of this process: {}", line.trim_start_matches("VmHWM:").trim())?;
    }
    Ok(())
}

/// Runs one round of all measures. The texts of each round differ from the first word on, so that no prefix of another round is reused.
async fn measure(model: &dyn ChatModel, round: u32) -> Result<[f64; MEASURES.len()], Box<dyn Error>> {
    let digits = |from: u32| (from..from + 480).map(|number| format!(" {}", number % 10)).collect::<String>();
    let head = format!("{round}, say what you see in these digits:{}", digits(round));
    let first = ask(model, text(&head, 1)).await?;
    let again = ask(model, text(&head, 1)).await?;
    let longer = ask(model, text(&format!("{head}. And in these: {}", digits(round + 5).get(..60).unwrap_or_default()), 1)).await?;
    let story = |about: &str| text(&format!("{round}. Write a long story about a {about}."), 48);
    let free = ask(model, story("lighthouse")).await?;
    let schema = json!({"type": "object", "properties": {
        "tasks": {"type": "array", "minItems": 3, "maxItems": 3, "items": {"type": "object", "properties": {
            "id": {"type": "string", "pattern": "^t[0-9]$"}, "title": {"type": "string", "maxLength": 80}}, "required": ["id", "title"], "additionalProperties": false}}},
        "required": ["tasks"], "additionalProperties": false});
    let mut request = text(&format!("{round}. Plan how to count the lines of every text file in a folder, in three tasks."), 200);
    request.format = ResponseFormat::JsonSchema { name: "plan".to_owned(), schema };
    let held = ask(model, request).await?;
    let begun = Instant::now();
    let (one, two) = futures::future::try_join(ask(model, story("bridge")), ask(model, story("tunnel"))).await?;
    let together = (one.response.usage.output_tokens + two.response.usage.output_tokens) as f64 / begun.elapsed().as_secs_f64();
    Ok([first.prompt(), free.answer(), held.answer(), again.prompt(), longer.prompt(), together])
}

/// Answer with its times.
struct Answered {
    response: ChatResponse,
    first: f64,
    whole: f64,
}

impl Answered {
    /// Returns the prompt tokens per second, including reused ones.
    fn prompt(&self) -> f64 {
        self.response.usage.input_tokens as f64 / self.whole
    }

    /// Returns the answer tokens per second, after the first one.
    fn answer(&self) -> f64 {
        self.response.usage.output_tokens.saturating_sub(1) as f64 / (self.whole - self.first)
    }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

fn text(content: &str, tokens: u32) -> ChatRequest {
    ChatRequest { messages: vec![Arc::new(Message::user(content.to_owned()))], max_output_tokens: Some(tokens), ..ChatRequest::default() }
}

async fn ask(model: &dyn ChatModel, request: ChatRequest) -> Result<Answered, Box<dyn Error>> {
    let started = Instant::now();
    let mut first = None;
    let mut parts = model.stream(request);
    while let Some(part) = parts.next().await {
        let at = started.elapsed().as_secs_f64();
        first = first.or(Some(at));
        if let StreamPart::Done(response) = part? {
            return Ok(Answered { response: *response, first: first.unwrap_or(at), whole: at });
        }
    }
    Err("no answer".into())
}
