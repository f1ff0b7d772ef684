//! Prices of an answer, and token estimates of a request.

use std::sync::{Arc, Weak};

use serde::{Deserialize, Serialize};

use crate::{ChatRequest, Image, Message, NativeTurn, ResponseFormat, ToolDefinition, Usage, estimate_tokens};

/// Prices in US dollars for a million tokens, and for a search.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prices {
    /// Tokens sent.
    pub input: f64,
    /// Tokens sent that the server had in its cache; as `input` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_input: Option<f64>,
    /// Tokens sent that the server wrote into its cache; as `input` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
    /// Tokens received.
    pub output: f64,
    /// One search of the web that the provider makes, in US dollars; nothing when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<f64>,
}

impl Prices {
    /// Returns the price of so many searches, in US dollars.
    #[must_use]
    pub fn searches(&self, count: u32) -> f64 {
        self.search.map_or(0.0, |price| price * f64::from(count))
    }

    /// Returns the price of the tokens of an answer, in US dollars.
    #[must_use]
    pub fn cost(&self, usage: &Usage) -> f64 {
        let cached = usage.cached_input_tokens.min(usage.input_tokens);
        let written = usage.cache_write_tokens.min(usage.input_tokens - cached);
        let fresh = usage.input_tokens - cached - written;
        let parts = [(fresh, self.input), (cached, self.cached()), (written, self.cache_write_price()), (usage.output_tokens, self.output)];
        #[expect(clippy::cast_precision_loss, reason = "counts of tokens stay far below 2^53")]
        let sum: f64 = parts.into_iter().map(|(tokens, price)| tokens as f64 * price).sum();
        sum / 1_000_000.0
    }

    /// Prices that neither of two models exceeds: for an estimate while it is not known which of them will answer.
    #[must_use]
    pub fn highest(self, other: Self) -> Self {
        Self {
            input: self.input.max(other.input),
            cached_input: Some(self.cached().max(other.cached())),
            cache_write: Some(self.cache_write_price().max(other.cache_write_price())),
            output: self.output.max(other.output),
            search: self.search.into_iter().chain(other.search).reduce(f64::max),
        }
    }

    fn cached(&self) -> f64 {
        self.cached_input.unwrap_or(self.input)
    }

    fn cache_write_price(&self) -> f64 {
        self.cache_write.unwrap_or(self.input)
    }
}

/// Returns an estimate of the tokens of a request, by [`estimate_tokens`](crate::estimate_tokens): its texts, tools
/// and schema.
#[must_use]
pub fn estimate_request_tokens(request: &ChatRequest) -> u64 {
    let messages: u64 = request.messages.iter().map(|message| of_message(message)).sum();
    messages + of_tools(&request.tools) + of_format(&request.format)
}

fn of_message(message: &Message) -> u64 {
    match message {
        Message::System { content } => estimate_tokens(content),
        Message::User { content, images } | Message::Tool { content, images, .. } => {
            estimate_tokens(content) + images.iter().map(Image::estimated_tokens).sum::<u64>()
        }
        Message::Assistant { content, tool_calls, native } => {
            let calls = tool_calls.iter().map(|call| estimate_tokens(&call.name) + estimate_tokens(&call.arguments));
            let readable = estimate_tokens(content) + calls.sum::<u64>();
            // Either form is sent, never both.
            native.as_ref().map_or(readable, |native| readable.max(native_tokens(native)))
        }
    }
}

/// Returns an estimate of the tokens of a turn in the provider's own form: one for four bytes of its JSON.
#[must_use]
pub fn native_tokens(native: &NativeTurn) -> u64 {
    (native.bytes() as u64).div_ceil(4)
}

fn of_tools(tools: &[ToolDefinition]) -> u64 {
    let tool = |tool: &ToolDefinition| {
        estimate_tokens(&tool.name) + estimate_tokens(&tool.description) + estimate_tokens(&tool.parameters.to_string())
    };
    tools.iter().map(tool).sum()
}

fn of_format(format: &ResponseFormat) -> u64 {
    match format {
        ResponseFormat::JsonSchema { schema, .. } => estimate_tokens(&schema.to_string()),
        ResponseFormat::Text | ResponseFormat::JsonObject => 0,
    }
}

/// Counts the tokens of a conversation that is asked again and again: only what is new in a request is looked at. Not for requests of many
/// conversations in turn, of which each would be counted whole.
#[derive(Debug, Default)]
pub(crate) struct RequestTokens {
    /// Messages that were counted and still exist, with the tokens up to the end of each.
    messages: Vec<(Weak<Message>, u64)>,
    tools: Option<(Weak<[ToolDefinition]>, u64)>,
}

impl RequestTokens {
    /// Estimates the same count as [`estimate_request_tokens`].
    pub(crate) fn count(&mut self, request: &ChatRequest) -> u64 {
        let known = request.messages.iter().zip(&self.messages).take_while(|(message, (known, _))| Arc::as_ptr(message) == known.as_ptr());
        let known = known.count();
        self.messages.truncate(known);
        let mut tokens = self.messages.last().map_or(0, |(_, tokens)| *tokens);
        for message in request.messages.iter().skip(known) {
            tokens += of_message(message);
            self.messages.push((Arc::downgrade(message), tokens));
        }
        let offered = Arc::downgrade(&request.tools);
        let tools = match &self.tools {
            Some((known, tools)) if known.ptr_eq(&offered) => *tools,
            _ => {
                let tools = of_tools(&request.tools);
                self.tools = Some((offered, tools));
                tools
            }
        };
        tokens + tools + of_format(&request.format)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_is_counted_as_each_of_its_requests_would_be() {
        let user = |text: &str| Arc::new(Message::user(text.to_owned()));
        let tool =
            |name: &str| ToolDefinition { name: name.into(), description: "d".into(), parameters: serde_json::json!({"a": name}).into() };
        let (one, other): (Arc<[_]>, Arc<[_]>) = ([tool("one")].into(), [tool("other"), tool("more")].into());
        let [a, b, c, d] = ["a", "bb bb", "ccc ccc ccc", "d"].map(user);
        let mut counted = RequestTokens::default();
        for (messages, tools) in [
            (vec![&a], &one),
            (vec![&a, &b, &c], &one),
            (vec![&a, &b, &d], &other),
            (vec![&a], &other),
            (vec![&d, &b, &c, &a], &one),
            (vec![], &one),
        ] {
            let messages = messages.into_iter().cloned().collect();
            let request = ChatRequest { messages, tools: Arc::clone(tools), ..ChatRequest::default() };
            assert_eq!(counted.count(&request), estimate_request_tokens(&request), "{request:?}");
        }
    }

    // Requirement: 11.4
    #[test]
    fn cached_and_written_tokens_have_their_own_prices() {
        let prices = |cached_input, cache_write| Prices { input: 1.0, cached_input, cache_write, output: 8.0, search: None };
        let cached = Usage { cached_input_tokens: 400_000, ..Usage::new(1_000_000, 100_000) };
        let both = Usage { cache_write_tokens: 200_000, ..cached };
        let cases = [
            (prices(Some(0.1), Some(1.25)), cached, 0.6 + 0.04 + 0.8),
            (prices(Some(0.1), Some(1.25)), both, 0.4 + 0.04 + 0.25 + 0.8),
            (prices(Some(0.1), None), both, 0.6 + 0.04 + 0.8),
            (prices(None, Some(1.25)), both, 0.8 + 0.25 + 0.8),
            (prices(None, None), both, 1.0 + 0.8),
            (Prices::default(), both, 0.0),
        ];
        for (prices, usage, expected) in cases {
            assert!((prices.cost(&usage) - expected).abs() < 1e-9, "{prices:?} {usage:?}");
        }
        let searching = Prices { search: Some(0.01), ..prices(None, None) };
        assert_eq!((searching.searches(3), prices(None, None).searches(3)), (0.03, 0.0));
        // More cached or written than sent is a server's slip, not a discount and not a charge.
        let free = Prices { input: 1.0, cached_input: Some(0.0), cache_write: Some(9.0), ..Prices::default() };
        let inconsistent = Usage { cached_input_tokens: 20, cache_write_tokens: 20, ..Usage::new(10, 0) };
        assert!(free.cost(&inconsistent).abs() < f64::EPSILON);
    }

    #[test]
    fn highest_prices_bound_both_models() {
        let one = Prices { input: 1.0, cache_write: Some(1.25), output: 8.0, ..Prices::default() };
        let other = Prices { input: 2.0, cached_input: Some(0.2), output: 4.0, search: Some(0.01), ..Prices::default() };
        let highest = Prices { input: 2.0, cached_input: Some(1.0), cache_write: Some(2.0), output: 8.0, search: Some(0.01) };
        assert_eq!(one.highest(other), highest);
        assert_eq!(other.highest(one), highest);
    }
}
