//! Puts an answer together from what servers send: one document, or the events of a stream. Reads every form met so far.

use std::collections::{HashSet, VecDeque};

use serde_json::{Map, Value};

use super::finish::{self, Ending};
use crate::{
    ChatRequest, ChatResponse, FinishReason, Message, ModelError, Prices, StreamPart, ToolCall, Usage, estimate_request_tokens,
    estimate_tokens,
};

/// An answer in the making.
#[derive(Debug, Default)]
pub(super) struct Answer {
    content: String,
    reasoning: String,
    refusal: String,
    calls: Vec<Call>,
    finish: Option<String>,
    usage: Option<Usage>,
    model: String,
    /// Something that belongs to an answer was seen.
    any: bool,
    /// A delta was seen, so a whole message at the end of the stream repeats it.
    deltas: bool,
}

#[derive(Debug, Default)]
struct Call {
    /// The server's place for it, where it gives one.
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

impl Call {
    fn is_whole(&self) -> bool {
        serde_json::from_str::<Value>(&self.arguments).is_ok()
    }
}

impl Answer {
    /// Takes in an event or document; what can be handed on at once goes to `out`.
    pub(super) fn absorb(&mut self, event: &Value, out: &mut VecDeque<StreamPart>) {
        if let Some(model) = event.get("model").and_then(Value::as_str) {
            model.clone_into(&mut self.model);
        }
        let choice = choice(event);
        let usages = [event.get("usage"), choice.and_then(|choice| choice.get("usage")), event.pointer("/x_groq/usage")];
        if let Some(usage) = usages.into_iter().flatten().find_map(read_usage) {
            self.usage = Some(usage);
        }
        let Some(choice) = choice else {
            // Ollama's own form, and servers that leave the choices out.
            if let Some(message) = event.get("message").filter(|message| message.is_object()) {
                self.any = true;
                self.absorb_message(message, true, out);
            }
            return;
        };
        self.any = true;
        if let Some(word) = ["finish_reason", "stop_reason", "finishReason"].iter().find_map(|key| choice.get(*key)?.as_str())
            && !word.is_empty()
        {
            self.finish = Some(word.to_owned());
        }
        match (choice.get("delta"), choice.get("message")) {
            (Some(delta), _) if is_filled(delta) => {
                self.deltas = true;
                self.absorb_message(delta, false, out);
            }
            (_, Some(message)) if !self.deltas => self.absorb_message(message, true, out),
            _ => {
                if let Some(text) = choice.get("text").and_then(Value::as_str) {
                    self.say(text, out);
                }
            }
        }
    }

    /// Whether the server said that the answer ends here.
    pub(super) fn has_finish(&self) -> bool {
        self.finish.is_some()
    }

    /// Whether anything of an answer came.
    pub(super) fn has_begun(&self) -> bool {
        self.any
    }

    fn say(&mut self, text: &str, out: &mut VecDeque<StreamPart>) {
        if !text.is_empty() {
            self.content.push_str(text);
            out.push_back(StreamPart::Text(text.to_owned()));
        }
    }

    fn think(&mut self, text: &str, out: &mut VecDeque<StreamPart>) {
        if !text.is_empty() {
            self.reasoning.push_str(text);
            out.push_back(StreamPart::Reasoning(text.to_owned()));
        }
    }

    /// Takes in a message, or a piece of one. The calls of a `whole` message are whole, each by itself.
    fn absorb_message(&mut self, message: &Value, whole: bool, out: &mut VecDeque<StreamPart>) {
        // Some servers send the same reasoning under two names.
        let thought = ["reasoning_content", "reasoning", "thinking"].iter().find_map(|key| {
            let text = plain_text(message.get(*key)?);
            (!text.is_empty()).then_some(text)
        });
        if let Some(thought) = thought {
            self.think(&thought, out);
        }
        match message.get("content") {
            Some(Value::Array(parts)) => {
                for part in parts {
                    self.absorb_part(part, out);
                }
            }
            Some(content) => self.say(&plain_text(content), out),
            None => {}
        }
        if let Some(refusal) = message.get("refusal").and_then(Value::as_str) {
            self.refusal.push_str(refusal);
        }
        match message.get("tool_calls") {
            Some(Value::Array(calls)) => calls.iter().for_each(|call| self.absorb_call(call, whole, out)),
            Some(call @ Value::Object(_)) => self.absorb_call(call, whole, out),
            _ => {}
        }
        if let Some(call) = message.get("function_call").filter(|call| call.is_object()) {
            self.absorb_call(call, whole, out);
        }
    }

    fn absorb_part(&mut self, part: &Value, out: &mut VecDeque<StreamPart>) {
        let kind = part.get("type").and_then(Value::as_str).unwrap_or("text");
        match kind {
            "thinking" | "reasoning" => {
                let thought = ["thinking", "reasoning", "text"].iter().find_map(|key| part.get(*key)).map(plain_text);
                self.think(&thought.unwrap_or_default(), out);
            }
            "refusal" => self.refusal.push_str(part.get("refusal").and_then(Value::as_str).unwrap_or_default()),
            _ => self.say(&plain_text(part), out),
        }
    }

    fn absorb_call(&mut self, chunk: &Value, whole: bool, out: &mut VecDeque<StreamPart>) {
        let function = chunk.get("function").filter(|function| function.is_object()).unwrap_or(chunk);
        let text = |value: Option<&Value>| match value {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Number(number)) => number.to_string(),
            _ => String::new(),
        };
        let (id, name) = (text(chunk.get("id")), text(function.get("name")));
        let index = match chunk.get("index") {
            Some(Value::String(index)) => index.parse().ok(),
            Some(index) => index.as_u64(),
            None => None,
        };
        let arguments = match function.get("arguments").or_else(|| function.get("parameters")) {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Null) | None => String::new(),
            Some(value) => value.to_string(),
        };
        let place = match self.place_of(index, &id, &name).filter(|_| !whole) {
            Some(place) => place,
            None => {
                self.calls.push(Call { index, ..Call::default() });
                self.calls.len() - 1
            }
        };
        let Some(call) = self.calls.get_mut(place) else { return };
        if call.id.is_empty() {
            call.id = id;
        }
        if call.name.is_empty() && !name.is_empty() {
            call.name.clone_from(&name);
            out.push_back(StreamPart::ToolCallBegun { name });
        }
        call.arguments.push_str(&arguments);
    }

    /// The call that a chunk goes on with; `None` where it begins a new one. Servers leave the index out, give all calls the
    /// same, or repeat id and name in every chunk.
    fn place_of(&self, index: Option<u64>, id: &str, name: &str) -> Option<usize> {
        let found = match index {
            Some(_) => self.calls.iter().rposition(|call| call.index == index),
            None if !id.is_empty() && self.calls.iter().any(|call| call.id == id) => self.calls.iter().rposition(|call| call.id == id),
            None => self.calls.len().checked_sub(1),
        }?;
        let call = self.calls.get(found)?;
        let another_id = !id.is_empty() && !call.id.is_empty() && call.id != id;
        let another_name = !name.is_empty() && !call.name.is_empty() && (call.name != name || (id.is_empty() && call.is_whole()));
        let same_id = !id.is_empty() && call.id == id;
        (!another_id && (same_id || !another_name)).then_some(found)
    }

    /// The whole answer. Missing ids and tokens are made up; a broken-off answer is an error.
    pub(super) fn finish(mut self, model: &str, request: &ChatRequest, prices: Option<&Prices>) -> Result<ChatResponse, ModelError> {
        self.calls.retain(|call| !call.name.is_empty());
        let mut finish = match finish::read(self.finish.as_deref(), !self.calls.is_empty()) {
            Ending::Finished(reason) => reason,
            Ending::BrokenOff => return Err(ModelError::Cut { model: model.to_owned() }),
        };
        if self.content.is_empty() && !self.refusal.is_empty() {
            self.content = std::mem::take(&mut self.refusal);
            finish = FinishReason::ContentFilter;
        }
        let at_bound = match (&self.usage, request.max_output_tokens) {
            (Some(usage), Some(bound)) => usage.output_tokens >= u64::from(bound),
            _ => false,
        };
        // Some servers say "tool_calls" though the bound cut the last call: it must not be run.
        if at_bound && self.calls.last().is_some_and(|call| !call.arguments.is_empty() && !call.is_whole()) {
            finish = FinishReason::Length;
        }
        let mut response = ChatResponse {
            content: self.content,
            reasoning: self.reasoning,
            tool_calls: with_ids(request, self.calls),
            native: None,
            finish,
            usage: self.usage.unwrap_or_default(),
            usage_estimated: self.usage.is_none(),
            model: if self.model.is_empty() { model.to_owned() } else { self.model },
            cost_usd: 0.0,
        };
        if response.usage_estimated {
            let calls = response.tool_calls.iter().map(|call| estimate_tokens(&call.name) + estimate_tokens(&call.arguments));
            let said = estimate_tokens(&response.content) + estimate_tokens(&response.reasoning);
            response.usage.output_tokens = calls.sum::<u64>() + said;
            response.usage.input_tokens = estimate_request_tokens(request);
        }
        response.cost_usd = prices.map_or(0.0, |prices| prices.cost(&response.usage));
        Ok(response)
    }
}

/// Keeps the server's ids where they are there and new in the conversation; makes up `call_N` else, counting on from the
/// ids of that form in the conversation.
fn with_ids(request: &ChatRequest, calls: Vec<Call>) -> Vec<ToolCall> {
    let mut taken: HashSet<String> = HashSet::new();
    let mut next = 0_u64;
    for message in &request.messages {
        if let Message::Assistant { tool_calls, .. } = message.as_ref() {
            for call in tool_calls {
                if let Some(number) = call.id.strip_prefix("call_").and_then(|number| number.parse::<u64>().ok()) {
                    next = next.max(number.saturating_add(1));
                }
                taken.insert(call.id.clone());
            }
        }
    }
    let mut named = Vec::with_capacity(calls.len());
    for call in calls {
        let mut id = call.id;
        while id.is_empty() || taken.contains(&id) {
            id = format!("call_{next}");
            next = next.saturating_add(1);
        }
        taken.insert(id.clone());
        named.push(ToolCall { id, name: call.name, arguments: call.arguments });
    }
    named
}

/// The first choice: a list as a rule, an object with some.
fn choice(event: &Value) -> Option<&Value> {
    match event.get("choices")? {
        Value::Array(choices) => choices.first().filter(|choice| choice.is_object()),
        choice @ Value::Object(_) => Some(choice),
        _ => None,
    }
}

fn is_filled(value: &Value) -> bool {
    value.as_object().is_some_and(|object| object.values().any(|field| !field.is_null()))
}

/// The text of a string, of a part `{text}`, or of a list of them.
fn plain_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(plain_text).collect(),
        Value::Object(part) => match part.get("text") {
            Some(text) => plain_text(text),
            None => String::new(),
        },
        _ => String::new(),
    }
}

/// Tokens in the forms of all servers; `None` where none are given.
fn read_usage(value: &Value) -> Option<Usage> {
    let usage = value.as_object()?;
    let input = count(usage, &["prompt_tokens", "input_tokens", "promptTokens"]);
    let output = count(usage, &["completion_tokens", "output_tokens", "completionTokens"]);
    let total = count(usage, &["total_tokens", "totalTokens"]);
    let details = ["prompt_tokens_details", "input_tokens_details"].iter().find_map(|key| usage.get(*key)?.as_object());
    let cached = details
        .and_then(|details| count(details, &["cached_tokens"]))
        .or_else(|| count(usage, &["prompt_cache_hit_tokens", "cached_tokens", "cache_read_input_tokens"]))
        .unwrap_or(0);
    let (input, output) = match (input, output, total) {
        (Some(input), Some(output), _) => (input, output),
        (Some(input), None, total) => (input, total.unwrap_or(0).saturating_sub(input)),
        (None, Some(output), total) => (total.unwrap_or(0).saturating_sub(output), output),
        (None, None, _) => return None,
    };
    // Streams of some servers carry zeros until the end.
    (input > 0 || output > 0).then(|| Usage { cached_input_tokens: cached.min(input), ..Usage::new(input, output) })
}

/// The largest count of tokens that is believed; a larger one would eat a run's whole budget.
const LARGEST_COUNT: u64 = 1_000_000_000;

/// A count as an integer, a float or a text; one that cannot be true counts as none.
fn count(object: &Map<String, Value>, names: &[&str]) -> Option<u64> {
    let found = names.iter().find_map(|name| match object.get(*name)? {
        Value::Number(number) => number.as_u64().or_else(|| {
            let float = number.as_f64().filter(|float| *float >= 0.0)?;
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not negative, and saturating is right")]
            Some(float as u64)
        }),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    });
    found.filter(|count| *count <= LARGEST_COUNT)
}
