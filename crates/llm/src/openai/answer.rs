//! Assembly of an answer for all protocols, and the response that is made of it.

use std::collections::VecDeque;

use serde_json::{Map, Value};

use super::finish::{self, Ending};
use super::{chat, gemini, messages, responses};
use crate::{
    ChatRequest, ChatResponse, Citation, Effort, FinishReason, Message, ModelError, NativeTurn, Prices, Protocol, ResponseFormat,
    StreamPart, ToolCall, TurnSource, Usage, calls_in_text, clean_tool_name, estimate_request_tokens, estimate_tokens,
};

/// An answer in the making.
#[derive(Debug)]
pub(super) enum Answer {
    Chat(chat::Answer),
    Responses(responses::Answer),
    Messages(messages::Answer),
    Gemini(gemini::Answer),
}

/// A call as the server wrote it.
#[derive(Debug, Default)]
pub(super) struct RawCall {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: String,
}

impl RawCall {
    pub(super) fn is_whole(&self) -> bool {
        serde_json::from_str::<Value>(&self.arguments).is_ok()
    }
}

/// Content of an answer after its last event.
#[derive(Debug, Default)]
pub(super) struct Turn {
    pub(super) content: String,
    pub(super) reasoning: String,
    pub(super) refusal: String,
    pub(super) calls: Vec<RawCall>,
    /// The server's word for why it ended.
    pub(super) finish: Option<String>,
    pub(super) usage: Option<Usage>,
    pub(super) model: String,
    /// The sources that it names.
    pub(super) citations: Vec<Citation>,
    /// The searches of the web that the provider made and bills.
    pub(super) searches: u32,
    /// The turn in the provider's own form; empty if the turn is rebuilt from its text and calls.
    pub(super) items: Vec<Value>,
}

/// Model that was asked, and the request.
#[derive(Debug, Clone, Copy)]
pub(super) struct AnswerContext<'a> {
    /// The model's configured name.
    pub(super) name: &'a str,
    pub(super) source: TurnSource<'a>,
    pub(super) request: &'a ChatRequest,
    pub(super) effort: Option<Effort>,
    pub(super) prices: Option<&'a Prices>,
    /// True if the request asked for calls as text.
    pub(super) calls_as_text: bool,
}

impl Answer {
    pub(super) fn new(protocol: Protocol) -> Self {
        match protocol {
            Protocol::Responses => Self::Responses(responses::Answer::default()),
            Protocol::Chat => Self::Chat(chat::Answer::default()),
            Protocol::Messages => Self::Messages(messages::Answer::default()),
            Protocol::Gemini => Self::Gemini(gemini::Answer::default()),
        }
    }

    /// Takes in an event or document and adds the parts that can be passed on at once to `out`.
    pub(super) fn absorb(&mut self, event: &Value, out: &mut VecDeque<StreamPart>) {
        match self {
            Self::Chat(answer) => answer.absorb(event, out),
            Self::Responses(answer) => answer.absorb(event, out),
            Self::Messages(answer) => answer.absorb(event, out),
            Self::Gemini(answer) => answer.absorb(event, out),
        }
    }

    /// Returns true if the server has ended the answer; token counts may still follow.
    pub(super) fn has_finish(&self) -> bool {
        match self {
            Self::Chat(answer) => answer.has_finish(),
            Self::Responses(answer) => answer.is_over(),
            Self::Messages(answer) => answer.has_finish(),
            Self::Gemini(answer) => answer.has_finish(),
        }
    }

    /// Returns true if nothing more can follow.
    pub(super) fn is_over(&self) -> bool {
        match self {
            Self::Chat(_) | Self::Gemini(_) => false,
            Self::Responses(answer) => answer.is_over(),
            Self::Messages(answer) => answer.is_over(),
        }
    }

    /// Returns true if any part of an answer has arrived.
    pub(super) fn has_begun(&self) -> bool {
        match self {
            Self::Chat(answer) => answer.has_begun(),
            Self::Responses(answer) => answer.has_begun(),
            Self::Messages(answer) => answer.has_begun(),
            Self::Gemini(answer) => answer.has_begun(),
        }
    }

    /// Returns the whole answer. Missing ids and tokens are made up; a broken-off answer is an error.
    pub(super) fn finish(self, asking: AnswerContext<'_>) -> Result<ChatResponse, ModelError> {
        match self {
            Self::Chat(answer) => answer.into_turn().into_response(asking),
            Self::Responses(answer) => answer.into_turn().into_response(asking),
            Self::Messages(answer) => answer.into_turn().into_response(asking),
            Self::Gemini(answer) => answer.into_turn().into_response(asking),
        }
    }
}

impl Turn {
    /// Adds a source, unless it was named before.
    pub(super) fn cite(&mut self, url: Option<&Value>, title: Option<&Value>) {
        let Some(url) = url.and_then(Value::as_str).filter(|url| !url.is_empty()) else { return };
        if self.citations.iter().all(|known| known.url != url) {
            let title = title.and_then(Value::as_str).unwrap_or_default().to_owned();
            self.citations.push(Citation { url: url.to_owned(), title });
        }
    }

    fn into_response(mut self, asking: AnswerContext<'_>) -> Result<ChatResponse, ModelError> {
        let AnswerContext { request, .. } = asking;
        self.take_form(request, asking.source.protocol);
        self.read_calls(asking);
        let mut finish = match finish::read(self.finish.as_deref(), !self.calls.is_empty()) {
            Ending::Finished(reason) => reason,
            Ending::BrokenOff => return Err(ModelError::Cut { model: asking.name.to_owned() }),
        };
        if !self.refusal.is_empty() {
            self.content.push_str(&self.refusal);
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
        let tool_calls = with_ids(request, self.calls);
        let native = NativeTurn::new(asking.source, self.items, &self.content, &tool_calls);
        let mut response = ChatResponse {
            content: self.content,
            reasoning: self.reasoning,
            tool_calls,
            native,
            citations: self.citations,
            finish,
            usage: self.usage.unwrap_or_default(),
            usage_estimated: self.usage.is_none(),
            model: if self.model.is_empty() { asking.name.to_owned() } else { self.model },
            effort: asking.effort,
            cost_usd: 0.0,
        };
        if response.usage_estimated {
            let calls = response.tool_calls.iter().map(|call| estimate_tokens(&call.name) + estimate_tokens(&call.arguments));
            let text = estimate_tokens(&response.content) + estimate_tokens(&response.reasoning);
            response.usage.output_tokens = calls.sum::<u64>() + text;
            response.usage.input_tokens = estimate_request_tokens(request);
        }
        response.cost_usd = asking.prices.map_or(0.0, |prices| prices.cost(&response.usage) + prices.searches(self.searches));
        Ok(response)
    }

    /// Takes the arguments of the call as the answer if the form was requested as the parameters of a tool. Reads
    /// other answers as their schema requires if another schema was sent.
    fn take_form(&mut self, request: &ChatRequest, protocol: Protocol) {
        let ResponseFormat::JsonSchema { name, schema } = &request.format else { return };
        let form = self.calls.iter_mut().find(|call| call.name == *name && request.tools.is_empty());
        if let Some(call) = form {
            self.content = std::mem::take(&mut call.arguments);
            self.calls.clear();
            self.items.clear();
        } else if let (Protocol::Messages, Some(read)) = (protocol, messages::read(schema, &self.content)) {
            self.content = read;
        }
    }

    /// Gives calls the names of offered tools, and finds those in the text of a server that has no calls of its own.
    fn read_calls(&mut self, asking: AnswerContext<'_>) {
        let offered: Vec<&str> = asking.request.tools.iter().map(|tool| tool.name.as_str()).collect();
        self.calls.retain(|call| !call.name.is_empty());
        for call in &mut self.calls {
            if let Some(name) = clean_tool_name(&call.name, &offered) {
                name.clone_into(&mut call.name);
            }
        }
        if asking.calls_as_text && self.calls.is_empty() {
            let found = calls_in_text(&self.content, &offered);
            self.calls = found.calls.into_iter().map(|call| RawCall { id: call.id, name: call.name, arguments: call.arguments }).collect();
            self.content = found.text;
        }
    }
}

/// Keeps the server's ids where they are there and new in the conversation; makes up `call_N` else, counting on from the
/// ids of that form in the conversation.
fn with_ids(request: &ChatRequest, calls: Vec<RawCall>) -> Vec<ToolCall> {
    let mut named: Vec<ToolCall> = Vec::with_capacity(calls.len());
    let mut next = None;
    for call in calls {
        let mut id = call.id;
        while id.is_empty() || earlier_ids(request).any(|earlier| earlier == id) || named.iter().any(|call| call.id == id) {
            let number = next.unwrap_or_else(|| next_number(request));
            id = format!("call_{number}");
            next = Some(number.saturating_add(1));
        }
        named.push(ToolCall { id, name: call.name, arguments: call.arguments });
    }
    named
}

fn earlier_ids(request: &ChatRequest) -> impl Iterator<Item = &str> {
    let calls = request.messages.iter().flat_map(|message| match message.as_ref() {
        Message::Assistant { tool_calls, .. } => tool_calls.as_slice(),
        _ => &[],
    });
    calls.map(|call| call.id.as_str())
}

/// Returns the number after the highest one of ids `call_N` in the conversation.
fn next_number(request: &ChatRequest) -> u64 {
    let numbers = earlier_ids(request).filter_map(|id| id.strip_prefix("call_")?.parse::<u64>().ok());
    numbers.max().map_or(0, |number| number.saturating_add(1))
}

/// Tokens in the forms of all servers; `None` where none are given.
pub(super) fn read_usage(value: &Value) -> Option<Usage> {
    let usage = value.as_object()?;
    let input = count(usage, &["prompt_tokens", "input_tokens", "promptTokens"]);
    let output = count(usage, &["completion_tokens", "output_tokens", "completionTokens"]);
    let total = count(usage, &["total_tokens", "totalTokens"]);
    let details = |keys: [&str; 2]| keys.iter().find_map(|key| usage.get(*key)?.as_object());
    let of_input = details(["prompt_tokens_details", "input_tokens_details"]);
    let of_output = details(["completion_tokens_details", "output_tokens_details"]);
    let cached = of_input
        .and_then(|details| count(details, &["cached_tokens"]))
        .or_else(|| count(usage, &["prompt_cache_hit_tokens", "cached_tokens", "cache_read_input_tokens"]))
        .unwrap_or(0);
    let cache_write_tokens = of_input
        .and_then(|details| count(details, &["cache_write_tokens", "cache_creation_tokens"]))
        .or_else(|| count(usage, &["cache_creation_input_tokens"]))
        .unwrap_or(0);
    let (input, output) = match (input, output, total) {
        (Some(input), Some(output), _) => (input, output),
        (Some(input), None, total) => (input, total.unwrap_or(0).saturating_sub(input)),
        (None, Some(output), total) => (total.unwrap_or(0).saturating_sub(output), output),
        (None, None, _) => return None,
    };
    let reasoning = of_output.and_then(|details| count(details, &["reasoning_tokens"])).unwrap_or(0);
    let output = if is_reasoning_apart(input, output, reasoning, total) { output.saturating_add(reasoning) } else { output };
    let reasoning_tokens = reasoning.min(output);
    let usage = Usage { cached_input_tokens: cached.min(input), cache_write_tokens, reasoning_tokens, ..Usage::new(input, output) };
    // Streams of some servers carry zeros until the end.
    (input > 0 || output > 0).then_some(usage)
}

/// Returns true if a server counts reasoning beside the output and not as a part of it, as xAI does in chat completions: the total is the
/// sum of all three, or, without a total, more was reasoned than put out.
fn is_reasoning_apart(input: u64, output: u64, reasoning: u64, total: Option<u64>) -> bool {
    let sum = input.saturating_add(output).saturating_add(reasoning);
    reasoning > 0 && total.map_or(reasoning > output, |total| total == sum)
}

/// The largest count of tokens that is believed; a larger one would eat a run's whole budget.
const MAX_COUNT: u64 = 1_000_000_000;

/// Reads a count that is an integer, a float or a text. Returns `None` for an impossible value.
pub(super) fn count(object: &Map<String, Value>, names: &[&str]) -> Option<u64> {
    let found = names.iter().find_map(|name| match object.get(*name)? {
        Value::Number(number) => number.as_u64().or_else(|| {
            let float = number.as_f64().filter(|float| *float >= 0.0)?;
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not negative, and saturating is right")]
            Some(float as u64)
        }),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    });
    found.filter(|count| *count <= MAX_COUNT)
}
