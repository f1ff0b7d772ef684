//! One reply, with the ways in which it may go wrong.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One reply. The default is an empty text.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Reply {
    /// The text of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// A value whose JSON is the text of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub json: Option<Value>,
    /// The reasoning, sent in the form of the protocol and the [`Provider`](crate::Provider): `reasoning_content` in chat
    /// completions of the generic one. Anthropic's Messages and Gemini show it only if the request asks for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// Why the model refuses, sent as `refusal` instead of a text. Gemini blocks the prompt, and gives no text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
    /// The generation fails after HTTP 200 and whatever else the reply has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<ScriptedFailure>,
    /// The tool calls of the answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ScriptedCall>,
    /// The HTTP status, 200 when absent. With any other, `body` is sent instead of an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Further response headers.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// The body sent instead of an answer: a string as it is, any other value as JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<Value>,
    /// Bytes sent instead of an answer, as they are.
    #[serde(skip)]
    pub raw: Option<Vec<u8>>,
    /// The finish reason, in the words of chat completions or of the protocol; `stop` or `tool_calls` when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finish: Option<String>,
    /// The tokens reported; 100 in and 20 out when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<ScriptedUsage>,
    /// Deviations from the usual form of the protocol.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub odd: BTreeSet<Odd>,
    /// Hold the reply until this many requests are held at once, then let all of them go.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after_waiting: Option<usize>,
    /// Hold the reply until a request with this text in a message has arrived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after_request: Option<String>,
    /// Wait this long before the first byte.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<u64>,
    /// Drop the connection after this many bytes of the body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut_after: Option<usize>,
    /// End the body in good order after this many bytes, as a proxy does whose upstream died.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_after: Option<usize>,
    /// Send nothing more after this many bytes of the body, and keep the connection open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hang_after: Option<usize>,
    /// Hold the last so many pieces of the body back until [`ScriptedServer::release`](crate::ScriptedServer::release).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_back: Option<usize>,
    /// Wait this long before each piece of the body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub piece_delay_ms: Option<u64>,
    /// Never answer: not even the headers are sent.
    pub hang: bool,
    /// The size of the pieces in which the body is written, in bytes. A stream's default is one event a piece.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub piece_bytes: Option<usize>,
}

/// A tool call of an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedCall {
    /// The tool's name.
    pub name: String,
    /// The arguments: a string is sent as it is (it may be broken JSON), any other value as its JSON text.
    #[serde(default)]
    pub arguments: Value,
    /// The call's id. When absent, the generic provider takes `call_TURN_INDEX`, and the others an id of their own form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// Tokens that an answer reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedUsage {
    /// Tokens sent.
    pub input: u64,
    /// Tokens sent that were cached.
    #[serde(default)]
    pub cached: u64,
    /// Tokens received.
    pub output: u64,
    /// Tokens received that were reasoning.
    #[serde(default)]
    pub reasoning: u64,
}

/// A failure of the generation after HTTP 200.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedFailure {
    /// The code, such as `server_error` or `rate_limit_exceeded`.
    pub code: String,
    /// The message.
    pub message: String,
}

/// A deviation from the usual form of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Odd {
    /// Arguments of a tool call are an object, not a text.
    ObjectArguments,
    /// An empty content is `null`.
    NullContent,
    /// The content is an array of text parts.
    ContentParts,
    /// No ids: neither of the answer nor of its calls; no `object`, `created` or `model` either.
    NoIds,
    /// Fields nobody asked for, at every level.
    ExtraFields,
    /// No usage.
    NoUsage,
    /// No finish reason.
    NoFinish,
    /// A stream without `[DONE]`, or without `message_stop`.
    NoDone,
    /// Stream chunks of tool calls without an index.
    NoIndex,
    /// JSON instead of a stream although a stream was asked for.
    IgnoreStream,
    /// Anthropic's thinking is followed by a block of encrypted thinking.
    RedactedThinking,
    /// Gemini's stream has the signature of a text in a part after the finish reason.
    LateParts,
    /// Gemini's counts of tokens are texts.
    TextCounts,
}

impl Reply {
    /// An answer of plain text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), ..Self::default() }
    }

    /// An answer whose text is the JSON of `value`.
    #[must_use]
    pub fn json(value: Value) -> Self {
        Self { json: Some(value), ..Self::default() }
    }

    /// An answer that calls tools. Arguments that are a string are sent as they are.
    #[must_use]
    pub fn tool_calls<N: Into<String>>(calls: impl IntoIterator<Item = (N, Value)>) -> Self {
        let tool_calls = calls.into_iter().map(|(name, arguments)| ScriptedCall { name: name.into(), arguments, id: None }).collect();
        Self { tool_calls, ..Self::default() }
    }

    /// An answer that calls one tool.
    #[must_use]
    pub fn call(name: impl Into<String>, arguments: Value) -> Self {
        Self::tool_calls([(name.into(), arguments)])
    }

    /// An HTTP status with a body (a string as it is, any other value as JSON) and headers.
    #[must_use]
    pub fn status<'a>(status: u16, body: Value, headers: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let headers = headers.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        Self { status: Some(status), body: Some(body), headers, ..Self::default() }
    }

    /// HTTP 200 with these bytes as the body. The content type fits what was asked for; set a header to change it.
    #[must_use]
    pub fn raw(bytes: impl Into<Vec<u8>>) -> Self {
        Self { raw: Some(bytes.into()), ..Self::default() }
    }

    /// An answer that fails after HTTP 200: `response.failed` in the Responses API, an event `error` in Anthropic's Messages, and an
    /// `error` object in the others.
    #[must_use]
    pub fn failed(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self { failed: Some(ScriptedFailure { code: code.into(), message: message.into() }), ..Self::default() }
    }

    /// Never answers.
    #[must_use]
    pub fn hang() -> Self {
        Self { hang: true, ..Self::default() }
    }

    /// Adds a text beside the tool calls.
    #[must_use]
    pub fn with_text(mut self, text: impl Into<String>) -> Self {
        self.text = Some(text.into());
        self
    }

    /// Adds reasoning.
    #[must_use]
    pub fn with_reasoning(mut self, text: impl Into<String>) -> Self {
        self.reasoning = Some(text.into());
        self
    }

    /// Adds a refusal in place of a text.
    #[must_use]
    pub fn with_refusal(mut self, text: impl Into<String>) -> Self {
        self.refusal = Some(text.into());
        self
    }

    /// Adds a response header.
    #[must_use]
    pub fn with_header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.insert(name.into(), value.into());
        self
    }

    /// Held until this many requests are held at once; then all of them go on. A request that waits 30 s in vain is
    /// refused with HTTP 400, so that a test fails instead of hanging.
    #[must_use]
    pub fn after_waiting(mut self, requests: usize) -> Self {
        self.after_waiting = Some(requests);
        self
    }

    /// Held until a request with this text in a message has arrived, with the same time limit.
    #[must_use]
    pub fn after_request(mut self, text: impl Into<String>) -> Self {
        self.after_request = Some(text.into());
        self
    }

    /// Sent after this many milliseconds.
    #[must_use]
    pub fn delay_ms(mut self, milliseconds: u64) -> Self {
        self.delay_ms = Some(milliseconds);
        self
    }

    /// The connection is dropped after this many bytes of the body.
    #[must_use]
    pub fn cut_after(mut self, bytes: usize) -> Self {
        self.cut_after = Some(bytes);
        self
    }

    /// The body ends, in good order but too early, after this many bytes.
    #[must_use]
    pub fn end_after(mut self, bytes: usize) -> Self {
        self.end_after = Some(bytes);
        self
    }

    /// Nothing more comes after this many bytes of the body; the connection stays open.
    #[must_use]
    pub fn hang_after(mut self, bytes: usize) -> Self {
        self.hang_after = Some(bytes);
        self
    }

    /// Holds back the last so many pieces of the body until [`ScriptedServer::release`](crate::ScriptedServer::release). After 60 s the
    /// connection is dropped instead.
    #[must_use]
    pub fn held_back(mut self, pieces: usize) -> Self {
        self.held_back = Some(pieces);
        self
    }

    /// Written with a pause of so many milliseconds before each piece, as a model writes.
    #[must_use]
    pub fn dripping_ms(mut self, milliseconds: u64) -> Self {
        self.piece_delay_ms = Some(milliseconds);
        self
    }

    /// Written in pieces of this many bytes.
    #[must_use]
    pub fn in_pieces_of(mut self, bytes: usize) -> Self {
        self.piece_bytes = Some(bytes);
        self
    }

    /// Reports these tokens.
    #[must_use]
    pub fn usage(mut self, input: u64, output: u64) -> Self {
        self.usage = Some(ScriptedUsage { input, cached: 0, output, reasoning: 0 });
        self
    }

    /// Sets the finish reason.
    #[must_use]
    pub fn finish(mut self, reason: impl Into<String>) -> Self {
        self.finish = Some(reason.into());
        self
    }

    /// Adds a deviation.
    #[must_use]
    pub fn odd(mut self, odd: Odd) -> Self {
        self.odd.insert(odd);
        self
    }

    /// Sends no usage.
    #[must_use]
    pub fn without_usage(self) -> Self {
        self.odd(Odd::NoUsage)
    }

    /// Sends arguments as objects.
    #[must_use]
    pub fn object_arguments(self) -> Self {
        self.odd(Odd::ObjectArguments)
    }

    /// Sends `null` for an empty content.
    #[must_use]
    pub fn null_content(self) -> Self {
        self.odd(Odd::NullContent)
    }

    /// Sends no ids.
    #[must_use]
    pub fn no_ids(self) -> Self {
        self.odd(Odd::NoIds)
    }

    /// Adds unknown fields.
    #[must_use]
    pub fn extra_fields(self) -> Self {
        self.odd(Odd::ExtraFields)
    }

    pub(crate) fn is_odd(&self, odd: Odd) -> bool {
        self.odd.contains(&odd)
    }
}
