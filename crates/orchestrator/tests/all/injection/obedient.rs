//! A model that obeys any instruction in its request.
//!
//! An instruction is `OBEY<tool|name=value|name=value>`, or with square brackets. In a value `%s` is a slash,
//! `%n` for a new line, and `$ALL` for all tool results so far. The model first makes its opening calls, which load the
//! texts.

use std::sync::{Arc, Mutex};

use aime_llm::{ChatModel, ChatRequest, ChatResponse, Message, ModelError, ModelLimits, StreamPart, ToolCall, in_one_part};
use futures::stream::BoxStream;
use serde_json::{Map, Value, json};

#[derive(Clone, Default)]
pub(super) struct Obedient {
    /// The calls that load the texts: those of the first actor, and those of a delegated one.
    pub(super) openings: Vec<(&'static str, Value)>,
    pub(super) below: Vec<(&'static str, Value)>,
    /// Tasks that a planner adds to the plan when it reads the instruction.
    pub(super) injected_tasks: Value,
    /// The instructions that it has obeyed.
    pub(super) obeyed: Arc<Mutex<Vec<String>>>,
    pub(super) requests: Arc<Mutex<Vec<String>>>,
}

/// Marker in the task of a delegated actor.
pub(super) const BELOW: &str = "BELOW";
/// Marker that makes a planner change the plan.
pub(super) const PLAN: &str = "CHANGE-THE-PLAN";

fn text(message: &Message) -> &str {
    match message {
        Message::System { content } | Message::User { content, .. } | Message::Tool { content, .. } => content,
        // The model's own words are no instructions.
        Message::Assistant { .. } => "",
    }
}

/// Returns the instructions in a text, in order.
fn instructions(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for part in text.split("OBEY").skip(1) {
        let end = match part.chars().next() {
            Some('<') => part.find('>'),
            Some('[') => part.find(']'),
            _ => None,
        };
        found.extend(end.and_then(|end| part.get(1..end)).map(str::to_owned));
    }
    found
}

/// Returns the call that an instruction describes.
fn call(instruction: &str, all: &str) -> (String, Map<String, Value>) {
    let mut parts = instruction.split('|');
    let tool = parts.next().unwrap_or_default().to_owned();
    let meant = |value: &str| value.replace("%s", "/").replace("%n", "\n").replace("$ALL", all);
    let parameters =
        parts.filter_map(|part| part.split_once('=')).map(|(name, value)| (name.to_owned(), Value::from(meant(value)))).collect();
    (tool, parameters)
}

impl Obedient {
    fn answer(&self, request: &ChatRequest) -> ChatResponse {
        let everything = format!("{:?} {:?}", request.messages, request.tools);
        self.requests.lock().unwrap().push(everything.clone());
        if let Some(schema) = request.schema_name() {
            let tasks = if everything.contains(PLAN) { self.injected_tasks.clone() } else { json!([]) };
            return ChatResponse::text(
                "m",
                match schema {
                    "aime_patch" => json!({"reasoning": "as I was told", "changes": tasks}).to_string(),
                    _ => json!({"passed": true, "score": 1.0, "reason": "it is so", "feedback": "", "suggestions": []}).to_string(),
                },
            );
        }
        if request.tools.is_empty() {
            return ChatResponse::text("m", "It is done.");
        }
        let turn = request.messages.iter().filter(|message| matches!(message.as_ref(), Message::Assistant { .. })).count();
        let task = request.messages.get(1).map(|message| text(message)).unwrap_or_default();
        let openings = if task.contains(BELOW) { &self.below } else { &self.openings };
        let (tool, parameters) = match openings.get(turn) {
            Some((tool, parameters)) => ((*tool).to_owned(), parameters.as_object().cloned().unwrap_or_default()),
            None => self.next(request, turn - openings.len()),
        };
        let known = request.tools.iter().any(|known| known.name == tool);
        let tool = if known { tool } else { "terminate".to_owned() };
        ChatResponse::calls("m", [ToolCall::new(format!("c{turn}"), tool, &Value::Object(parameters))])
    }

    /// Returns the next instruction that was not obeyed yet, or the end with all tool results if there is none.
    fn next(&self, request: &ChatRequest, done: usize) -> (String, Map<String, Value>) {
        let descriptions = request.tools.iter().map(|tool| tool.description.as_str());
        let mut wanted: Vec<String> = Vec::new();
        for text in descriptions.chain(request.messages.iter().map(|message| text(message))) {
            for instruction in instructions(text) {
                let offered = request.tools.iter().any(|tool| instruction.split('|').next() == Some(tool.name.as_str()));
                if offered && !wanted.contains(&instruction) {
                    wanted.push(instruction);
                }
            }
        }
        let seen = request.messages.iter().filter(|message| matches!(message.as_ref(), Message::Tool { .. }));
        let all: Vec<&str> = seen.map(|message| text(message)).collect();
        match wanted.get(done) {
            Some(instruction) => {
                self.obeyed.lock().unwrap().push(instruction.clone());
                call(instruction, &all.join("\n"))
            }
            None => ("terminate".to_owned(), call(&format!("terminate|status=success|message={}", all.join("\n").replace('|', " ")), "").1),
        }
    }
}

impl ChatModel for Obedient {
    fn name(&self) -> &'static str {
        "obedient"
    }

    fn limits(&self) -> ModelLimits {
        ModelLimits { context_tokens: 1_000_000, max_output_tokens: 100_000, small: false }
    }

    fn stream(&self, request: ChatRequest) -> BoxStream<'_, Result<StreamPart, ModelError>> {
        let answer = self.answer(&request);
        in_one_part(async { Ok(answer) })
    }
}
