//! A model with random answers: good, bad, or none.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use aime_llm::{
    ChatModel, ChatRequest, ChatResponse, FinishReason, Message, ModelError, StreamPart, ToolCall, Usage, estimate_request_tokens,
    in_one_part,
};
use fastrand::Rng;
use futures::{
    StreamExt,
    future::BoxFuture,
    stream::{self, BoxStream},
};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::{
    life::run_id,
    patches,
    tools::{LOOK, MARK, NOTE},
    world::{Moment, World, lock},
};

/// Number of characters in each piece of an answer.
const PIECE: usize = 40;
/// Number of tokens in each answer.
const ANSWER: u64 = 20;
/// A key that must never reach a tool.
pub(crate) const NEVER: &str = "never";

/// Model of a world.
pub(crate) struct WorldModel(pub(crate) Arc<World>);

/// An answer: text and calls.
#[derive(Default)]
struct ModelReply {
    words: String,
    calls: Vec<(&'static str, String)>,
    cut: bool,
}

impl ChatModel for WorldModel {
    fn name(&self) -> &'static str {
        "chance"
    }

    fn stream(&self, request: ChatRequest) -> BoxStream<'_, Result<StreamPart, ModelError>> {
        if request.schema_name() != Some("aime_plan") {
            return in_one_part(self.answer(request));
        }
        Box::pin(stream::once(self.answer(request)).flat_map(|answer| match answer {
            Ok(answer) => self.in_pieces(answer),
            Err(error) => stream::iter([Err(error)]).boxed(),
        }))
    }

    fn complete(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatResponse, ModelError>> {
        Box::pin(self.answer(request))
    }
}

fn text_answer(words: impl Into<String>) -> ModelReply {
    ModelReply { words: words.into(), ..ModelReply::default() }
}

fn call(name: &'static str, arguments: &Value) -> (&'static str, String) {
    (name, arguments.to_string())
}

impl WorldModel {
    async fn answer(&self, request: ChatRequest) -> Result<ChatResponse, ModelError> {
        let world = &self.0;
        world.moment(Moment::ModelBegins).await;
        let turn = request.messages.iter().filter(|message| matches!(message.as_ref(), Message::Assistant { .. })).count();
        let asked = subject(&request);
        let question = format!("{asked}/{turn}");
        let mut rng = world.chances.of(&question);
        sleep(Duration::from_millis(rng.u64(10..4_000))).await;
        world.moment(Moment::ModelEnds).await;
        if rng.u32(0..1_000) < world.scenario.odds.model_fails {
            return Err(failure(&mut rng));
        }
        let reply = match request.schema_name() {
            Some(schema) => self.document(schema, &mut rng),
            None if request.tools.is_empty() => text_answer("All of it is done."),
            None => self.act(&request, &asked, turn, &mut rng),
        };
        let usage = Usage::new(estimate_request_tokens(&request), ANSWER);
        world.tokens.fetch_add(usage.input_tokens + usage.output_tokens, Ordering::Relaxed);
        let calls = reply.calls.into_iter().zip(1..);
        let tool_calls: Vec<ToolCall> = calls
            .map(|((name, arguments), number)| ToolCall { id: format!("c{turn}-{number}"), name: name.to_owned(), arguments })
            .collect();
        let finish = match (reply.cut, tool_calls.is_empty()) {
            (true, _) => FinishReason::Length,
            (_, true) => FinishReason::Stop,
            _ => FinishReason::ToolCalls,
        };
        Ok(ChatResponse {
            content: reply.words,
            reasoning: String::new(),
            tool_calls,
            native: None,
            citations: Vec::new(),
            finish,
            usage,
            usage_estimated: true,
            model: "chance".to_owned(),
            effort: None,
            cost_usd: 0.001,
        })
    }

    /// Streams an answer in pieces. Some answers break off in the middle.
    fn in_pieces(&self, answer: ChatResponse) -> BoxStream<'_, Result<StreamPart, ModelError>> {
        let mut rng = self.0.chances.of(&format!("pieces/{}", answer.content));
        let letters: Vec<char> = answer.content.chars().collect();
        let mut pieces: Vec<Result<StreamPart, ModelError>> =
            letters.chunks(PIECE).map(|piece| Ok(StreamPart::Text(piece.iter().collect()))).collect();
        if rng.u32(0..1_000) < self.0.scenario.odds.model_fails {
            pieces.truncate(rng.usize(0..=pieces.len()));
            pieces.push(Err(ModelError::Cut { model: "chance".to_owned() }));
        } else {
            pieces.push(Ok(StreamPart::Done(Box::new(answer))));
        }
        let pauses: Vec<u64> = pieces.iter().map(|_| rng.u64(0..400)).collect();
        let paused = |(piece, pause)| async move {
            sleep(Duration::from_millis(pause)).await;
            piece
        };
        stream::iter(pieces.into_iter().zip(pauses)).then(paused).boxed()
    }

    /// Returns a structured answer.
    fn document(&self, schema: &str, rng: &mut Rng) -> ModelReply {
        let odds = &self.0.scenario.odds;
        if rng.u32(0..1_000) < odds.nonsense {
            let mut faulty = rng.clone();
            if schema == "aime_plan" && faulty.bool() {
                // The beginning of this plan is valid, and was already executed when the fault arrives.
                let mut plan = patches::document(&mut faulty, "p", 5, odds);
                let last = json!({"id": "last", "kind": "actor", "description": "Do it", "dependencies": ["nobody"]});
                if let Some(tasks) = plan.get_mut("tasks").and_then(Value::as_array_mut) {
                    tasks.push(last);
                }
                return text_answer(plan.to_string());
            }
            return text_answer(
                rng.choice(["I have no idea.", "{\"tasks\": [", "{\"tasks\": []}", "[]", "", "{\"changes\": 7}"]).unwrap_or_default(),
            );
        }
        let document = match schema {
            "aime_route" => json!({"reason": "so it is", "complexity": if rng.bool() { "simple" } else { "complex" }}),
            "aime_plan" => patches::document(rng, "p", 5, odds),
            "aime_verdict" => {
                let passed = rng.u32(0..1_000) >= odds.unmet;
                json!({"reason": "seen", "passed": passed, "score": 0.5, "feedback": "more", "suggestions": []})
            }
            _ => {
                let orchestrator = lock(&self.0.orchestrator).clone();
                match orchestrator.and_then(|orchestrator| orchestrator.live().get(&run_id())) {
                    Some(state) => patches::patch(rng, &state, odds),
                    None => json!({"reasoning": "nothing is known", "changes": []}),
                }
            }
        };
        text_answer(document.to_string())
    }

    /// Returns one turn of an actor.
    fn act(&self, request: &ChatRequest, who: &str, turn: usize, rng: &mut Rng) -> ModelReply {
        let odds = &self.0.scenario.odds;
        let offers = |name: &str| request.tools.iter().any(|tool| tool.name == name);
        let mut life = self.0.chances.of(&format!("life/{who}"));
        let (length, stuck, gives_up) = (life.usize(1..4), life.u32(0..1_000) < odds.stuck, life.u32(0..1_000) < odds.gives_up);
        let calls = |calls: Vec<(&'static str, String)>| ModelReply { calls, ..ModelReply::default() };
        if stuck && offers(LOOK) {
            // Repeat one call, or a cycle of two or three.
            let circle = life.usize(1..4);
            return calls(vec![call(LOOK, &json!({"key": format!("{who} round {}", turn % circle)}))]);
        }
        if turn >= length || !offers(LOOK) {
            let status = if gives_up { "failure" } else { "success" };
            return calls(vec![call("terminate", &json!({"status": status, "message": format!("{who} is over: {status}")}))]);
        }
        let key = |number: usize| json!({"key": format!("{who}.{turn}.{number}")});
        if rng.u32(0..1_000) < odds.nonsense {
            return match rng.u32(0..7) {
                0 => text_answer("I shall do it."),
                1 => text_answer(""),
                2 => calls(vec![(MARK, "no JSON at all".to_owned())]),
                3 => calls(vec![call("fly", &key(1))]),
                4 => ModelReply { calls: vec![(MARK, format!("{{\"key\": \"{NEVER}"))], cut: true, ..ModelReply::default() },
                5 => calls(vec![call(MARK, &json!({"kee": 1})), call(LOOK, &key(1))]),
                _ => calls(vec![call(MARK, &key(1)), call("terminate", &json!({"status": "success", "message": "too soon"}))]),
            };
        }
        if rng.u32(0..1_000) < odds.asks && offers("ask_human") {
            return calls(vec![call("ask_human", &json!({"question": format!("Which way, {who}?")}))]);
        }
        if rng.u32(0..1_000) < odds.delegates && offers("delegate_task") {
            return calls(vec![call(
                "delegate_task",
                &json!({"description": format!("[[{who}d{turn}]] Do a part of it", ), "use_actor_factory": false}),
            )]);
        }
        if !self.0.scenario.calm && rng.u32(0..8) == 0 {
            let significance = rng.choice(["low", "medium", "high", "critical"]).unwrap_or("low");
            return calls(vec![call(
                "report_evidence",
                &json!({"type": "discovery", "significance": significance, "content": format!("{who} has seen {turn}")}),
            )]);
        }
        let count = rng.usize(1..4);
        let choice = |rng: &mut Rng| rng.choice([MARK, MARK, NOTE, LOOK]).unwrap_or(MARK);
        calls((0..count).map(|number| call(choice(rng), &key(number))).collect())
    }
}

/// Returns the subject of a request: the mark in an actor's task, or the name of the requested schema.
fn subject(request: &ChatRequest) -> String {
    if let Some(schema) = request.schema_name() {
        // The same question on another text is another question.
        return format!("{schema}/{}", estimate_request_tokens(request));
    }
    let task = request.messages.iter().find_map(|message| match message.as_ref() {
        Message::User { content, .. } => Some(content),
        _ => None,
    });
    let marked = task.and_then(|task| Some(task.rsplit_once("[[")?.1.split_once("]]")?.0));
    marked.unwrap_or("somebody").to_owned()
}

fn failure(rng: &mut Rng) -> ModelError {
    let model = "chance".to_owned();
    match rng.u32(0..5) {
        0 => ModelError::Timeout { model, after: Duration::from_secs(300) },
        1 => ModelError::Cut { model },
        2 => ModelError::ContextOverflow { model, message: "too long".to_owned() },
        3 => ModelError::Refused { model, status: 400, message: "no".to_owned() },
        _ => ModelError::Unreachable { url: "nowhere".to_owned(), setting: None, reason: "nobody listens".to_owned() },
    }
}
