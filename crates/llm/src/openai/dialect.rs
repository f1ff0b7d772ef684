//! What a server turned out not to accept. Learned from its refusals, and remembered for the model.

use serde_json::{Map, Value};

/// The parameters that a request may do without, and the form in which the others go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Dialect {
    /// The name of the bound on the answer.
    pub(super) max_tokens: Option<MaxTokens>,
    /// The other name was refused too.
    both_refused: bool,
    pub(super) temperature: bool,
    pub(super) seed: bool,
    pub(super) tool_choice: bool,
    pub(super) stream: bool,
    pub(super) stream_options: bool,
    /// `strict` in `response_format.json_schema`.
    pub(super) strict: bool,
}

/// The name of the bound on the answer's tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MaxTokens {
    /// `max_tokens`: what everyone but OpenAI understands.
    Classic,
    /// `max_completion_tokens`: what OpenAI's newer models insist on.
    Completion,
}

impl MaxTokens {
    pub(super) fn field(self) -> &'static str {
        match self {
            Self::Classic => "max_tokens",
            Self::Completion => "max_completion_tokens",
        }
    }

    fn other(self) -> Self {
        match self {
            Self::Classic => Self::Completion,
            Self::Completion => Self::Classic,
        }
    }
}

/// A request that was refused for its form.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Refusal {
    /// The parameter that the server names apart, or nothing.
    pub(super) param: String,
    /// The server's words.
    pub(super) message: String,
}

impl Dialect {
    /// What to begin with at this host.
    pub(super) fn for_host(host: &str, streaming: bool) -> Self {
        let openai = host == "api.openai.com" || host.ends_with(".openai.azure.com");
        Self {
            max_tokens: Some(if openai { MaxTokens::Completion } else { MaxTokens::Classic }),
            both_refused: false,
            temperature: true,
            seed: true,
            tool_choice: true,
            stream: streaming,
            stream_options: true,
            strict: true,
        }
    }

    /// Learns from a refusal of a request in the form `used`. Returns whether another form is worth a try: also when a request
    /// made at the same time has learned it meanwhile.
    pub(super) fn learn_from(&mut self, used: &Self, refusal: &Refusal, sent: &Map<String, Value>) -> bool {
        self != used || self.learn(refusal, sent)
    }

    fn learn(&mut self, refusal: &Refusal, sent: &Map<String, Value>) -> bool {
        let names = |field: &str| refusal.param.split(['.', '[']).next() == Some(field) || has_word(&refusal.message, field);
        let was_sent = |field: &str| sent.contains_key(field) && names(field);
        if let Some(name) = self.max_tokens
            && was_sent(name.field())
        {
            // "max_tokens is too large" is not cured by another name.
            let too_large = refusal.message.contains("too large") || refusal.message.contains("at most");
            self.max_tokens = (!self.both_refused && !too_large).then(|| name.other());
            self.both_refused = true;
            return true;
        }
        let sent_strict = sent.get("response_format").is_some_and(|format| format.pointer("/json_schema/strict").is_some());
        // The longer names first: "stream_options" holds "stream".
        for (field, known) in [
            ("temperature", &mut self.temperature),
            ("seed", &mut self.seed),
            ("stream_options", &mut self.stream_options),
            ("tool_choice", &mut self.tool_choice),
        ] {
            if *known && was_sent(field) {
                *known = false;
                return true;
            }
        }
        if self.strict && sent_strict && names("strict") {
            self.strict = false;
            return true;
        }
        let streamed = sent.get("stream").and_then(Value::as_bool).unwrap_or(false);
        let about_streams = names("stream") || has_word(&refusal.message.to_lowercase(), "streaming");
        if self.stream && streamed && about_streams {
            self.stream = false;
            return true;
        }
        false
    }
}

/// Whether a name stands in a text by itself: `max_tokens`, but not within `max_tokens_total`.
fn has_word(text: &str, word: &str) -> bool {
    let part = |character: char| character.is_alphanumeric() || character == '_';
    text.match_indices(word).any(|(at, found)| {
        let before = text.get(..at).and_then(|head| head.chars().next_back());
        let after = text.get(at + found.len()..).and_then(|tail| tail.chars().next());
        !before.is_some_and(part) && !after.is_some_and(part)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn learned(message: &str, param: &str, sent: Value) -> (bool, Dialect) {
        let mut dialect = Dialect::for_host("127.0.0.1", true);
        let refusal = Refusal { param: param.to_owned(), message: message.to_owned() };
        (dialect.learn(&refusal, sent.as_object().unwrap()), dialect)
    }

    #[test]
    fn refusals_are_understood() {
        let usual = Dialect::for_host("127.0.0.1", true);
        let cases = [
            (
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
                "max_tokens",
                json!({"max_tokens": 5}),
                Some(Dialect { max_tokens: Some(MaxTokens::Completion), both_refused: true, ..usual.clone() }),
            ),
            (
                "max_tokens is too large: 100000. This model supports at most 16384 completion tokens",
                "max_tokens",
                json!({"max_tokens": 100_000}),
                Some(Dialect { max_tokens: None, both_refused: true, ..usual.clone() }),
            ),
            (
                "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported.",
                "temperature",
                json!({"temperature": 0.0}),
                Some(Dialect { temperature: false, ..usual.clone() }),
            ),
            ("property 'seed' is unsupported", "", json!({"seed": 1}), Some(Dialect { seed: false, ..usual.clone() })),
            (
                "Extra inputs are not permitted",
                "stream_options",
                json!({"stream": true, "stream_options": {}}),
                Some(Dialect { stream_options: false, ..usual.clone() }),
            ),
            (
                "deepseek-reasoner does not support this tool_choice",
                "",
                json!({"tool_choice": "required"}),
                Some(Dialect { tool_choice: false, ..usual.clone() }),
            ),
            ("Cannot use tools with stream", "", json!({"stream": true}), Some(Dialect { stream: false, ..usual.clone() })),
            ("Streaming is not supported", "", json!({"stream": true}), Some(Dialect { stream: false, ..usual.clone() })),
            (
                "Invalid schema for response_format 'aime_plan': with strict every property is required",
                "response_format",
                json!({"response_format": {"json_schema": {"strict": true}}}),
                Some(Dialect { strict: false, ..usual.clone() }),
            ),
            ("temperature must be between 0 and 2", "", json!({"seed": 1}), None),
            ("upstream streams are broken", "", json!({"stream": true}), None),
            ("messages must not be empty", "messages", json!({"temperature": 1, "stream": true}), None),
        ];
        for (message, param, sent, expected) in cases {
            let (again, dialect) = learned(message, param, sent);
            assert_eq!(again.then_some(dialect), expected, "{message}");
        }
    }

    #[test]
    fn learning_comes_to_an_end() {
        let mut dialect = Dialect::for_host("api.openai.com", true);
        let sent = json!({"max_tokens": 1, "max_completion_tokens": 1, "temperature": 1, "seed": 1, "tool_choice": "none", "stream": true,
            "stream_options": {}, "response_format": {"json_schema": {"strict": true}}});
        let message = "max_tokens max_completion_tokens temperature seed tool_choice stream stream_options strict".to_owned();
        let refusal = Refusal { param: String::new(), message };
        let steps = std::iter::repeat_with(|| dialect.learn(&refusal, sent.as_object().unwrap())).take_while(|again| *again).count();
        assert_eq!(steps, 8);
    }
}
