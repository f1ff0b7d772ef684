//! What an answer costs, and how many tokens a request takes.

use serde::{Deserialize, Serialize};

use crate::{ChatRequest, Message, ResponseFormat, Usage, estimate_tokens};

/// Prices in US dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prices {
    /// Tokens sent.
    pub input: f64,
    /// Tokens sent that the server had in its cache; as `input` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_input: Option<f64>,
    /// Tokens received.
    pub output: f64,
}

impl Prices {
    /// The price of an answer, in US dollars.
    #[must_use]
    pub fn cost(&self, usage: &Usage) -> f64 {
        let cached = usage.cached_input_tokens.min(usage.input_tokens);
        let fresh = usage.input_tokens.saturating_sub(cached);
        #[expect(clippy::cast_precision_loss, reason = "counts of tokens stay far below 2^53")]
        let sum =
            fresh as f64 * self.input + cached as f64 * self.cached_input.unwrap_or(self.input) + usage.output_tokens as f64 * self.output;
        sum / 1_000_000.0
    }

    /// Prices that neither of two models exceeds: for an estimate while it is not known which of them will answer.
    #[must_use]
    pub fn highest(self, other: Self) -> Self {
        let cached = |prices: &Self| prices.cached_input.unwrap_or(prices.input);
        Self {
            input: self.input.max(other.input),
            cached_input: Some(cached(&self).max(cached(&other))),
            output: self.output.max(other.output),
        }
    }
}

/// An estimate of the tokens of a request, by [`estimate_tokens`](crate::estimate_tokens): its texts, tools and schema.
#[must_use]
pub fn estimate_request_tokens(request: &ChatRequest) -> u64 {
    let messages = request.messages.iter().map(|message| match message.as_ref() {
        Message::System { content } | Message::User { content } | Message::Tool { content, .. } => estimate_tokens(content),
        Message::Assistant { content, tool_calls } => {
            let calls = tool_calls.iter().map(|call| estimate_tokens(&call.name) + estimate_tokens(&call.arguments));
            estimate_tokens(content) + calls.sum::<u64>()
        }
    });
    let tools = request
        .tools
        .iter()
        .map(|tool| estimate_tokens(&tool.name) + estimate_tokens(&tool.description) + estimate_tokens(&tool.parameters.to_string()));
    let schema = match &request.format {
        ResponseFormat::JsonSchema { schema, .. } => estimate_tokens(&schema.to_string()),
        ResponseFormat::Text | ResponseFormat::JsonObject => 0,
    };
    messages.chain(tools).sum::<u64>() + schema
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cached_tokens_have_their_own_price() {
        let usage = Usage { input_tokens: 1_000_000, cached_input_tokens: 400_000, output_tokens: 100_000 };
        let cases = [
            (Prices { input: 1.0, cached_input: Some(0.1), output: 8.0 }, 0.6 + 0.04 + 0.8),
            (Prices { input: 1.0, cached_input: None, output: 8.0 }, 1.0 + 0.8),
            (Prices { input: 0.0, cached_input: None, output: 0.0 }, 0.0),
        ];
        for (prices, expected) in cases {
            assert!((prices.cost(&usage) - expected).abs() < 1e-9, "{prices:?}");
        }
        // More cached than sent is a server's slip, not a discount.
        let odd = Usage { input_tokens: 10, cached_input_tokens: 20, output_tokens: 0 };
        assert!(Prices { input: 1.0, cached_input: Some(0.0), output: 0.0 }.cost(&odd).abs() < f64::EPSILON);
    }
}
