//! One reply, and its possible faults.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One reply. The default is an empty text.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Reply {
    /// Text of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Value whose JSON is the text of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub json: Option<Value>,
    /// Reasoning, sent in the form of the protocol and the [`Provider`](crate::Provider): `reasoning_content` in chat completions of the
    /// generic one. Anthropic's Messages and Gemini show it only if the request asks for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// Refusal of the model, sent as `refusal` instead of a text. Gemini blocks the prompt, and gives no text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
    /// Failure of the generation after HTTP 200, and after the other content of the reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<ScriptedFailure>,
    /// Tool calls of the answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ScriptedCall>,
    /// HTTP status, 200 if absent. With any other status, `body` is sent instead of an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Further response headers.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Body sent instead of an answer: a string unchanged, any other value as JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<Value>,
    /// Raw bytes sent instead of an answer.
    #[serde(skip)]
    pub raw: Option<Vec<u8>>,
    /// Finish reason, under its name in chat completions or in the protocol; `stop` or `tool_calls` if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finish: Option<String>,
    /// Reported tokens; 100 input and 20 output tokens if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<ScriptedUsage>,
    /// Deviations from the usual form of the protocol.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub quirks: BTreeSet<ServerQuirk>,
    /// Holds the reply until this many requests are held at once, then releases all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after_waiting: Option<usize>,
    /// Holds the reply until a request with this text in a message has arrived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after_request: Option<String>,
    /// Delay before the first byte in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<u64>,
    /// Drops the connection after this many bytes of the body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut_after: Option<usize>,
    /// Ends the body regularly after this many bytes, as a proxy does if its upstream dies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_after: Option<usize>,
    /// Sends nothing more after this many bytes of the body, and keeps the connection open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hang_after: Option<usize>,
    /// Holds this many last pieces of the body back until [`ScriptedServer::release`](crate::ScriptedServer::release).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_back: Option<usize>,
    /// Delay before each piece of the body in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub piece_delay_ms: Option<u64>,
    /// Never answers: not even the headers are sent.
    pub hang: bool,
    /// Size of the pieces of the body in bytes. Default for a stream: one event per piece.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub piece_bytes: Option<usize>,
}

/// A tool call of an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedCall {
    /// Name of the tool.
    pub name: String,
    /// Arguments: a string is sent unchanged (it may be broken JSON), any other value as its JSON text.
    #[serde(default)]
    pub arguments: Value,
    /// Id of the call. If absent, the generic provider uses `call_TURN_INDEX`, and the others an id of their own form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// Token usage of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedUsage {
    /// Number of input tokens.
    pub input: u64,
    /// Number of cached input tokens.
    #[serde(default)]
    pub cached: u64,
    /// Number of output tokens.
    pub output: u64,
    /// Number of reasoning tokens among the output tokens.
    #[serde(default)]
    pub reasoning: u64,
}

/// A failure of the generation after HTTP 200.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedFailure {
    /// Error code, such as `server_error` or `rate_limit_exceeded`.
    pub code: String,
    /// Error message.
    pub message: String,
}

/// A deviation from the usual form of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ServerQuirk {
    /// The arguments of a tool call are an object instead of a string.
    ObjectArguments,
    /// An empty content is `null`.
    NullContent,
    /// The content is an array of text parts.
    ContentParts,
    /// No ids, neither of the answer nor of its calls; also no `object`, `created` or `model`.
    NoIds,
    /// Unknown fields at every level.
    ExtraFields,
    /// No usage.
    NoUsage,
    /// No finish reason.
    NoFinish,
    /// A stream without `[DONE]`, or without `message_stop`.
    NoDone,
    /// Stream chunks of tool calls without an index.
    NoIndex,
    /// JSON although the request asks for a stream.
    IgnoreStream,
    /// Anthropic's thinking is followed by a block of encrypted thinking.
    RedactedThinking,
    /// Gemini's stream sends the signature of a text in a part after the finish reason.
    LateParts,
    /// Gemini's token counts are strings.
    TextCounts,
}

impl Reply {
    /// Returns an answer of plain text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), ..Self::default() }
    }

    /// Returns an answer whose text is the JSON of `value`.
    #[must_use]
    pub fn json(value: Value) -> Self {
        Self { json: Some(value), ..Self::default() }
    }

    /// Returns an answer that calls tools. Arguments that are a string are sent unchanged.
    #[must_use]
    pub fn tool_calls<N: Into<String>>(calls: impl IntoIterator<Item = (N, Value)>) -> Self {
        let tool_calls = calls.into_iter().map(|(name, arguments)| ScriptedCall { name: name.into(), arguments, id: None }).collect();
        Self { tool_calls, ..Self::default() }
    }

    /// Returns an answer that calls one tool.
    #[must_use]
    pub fn call(name: impl Into<String>, arguments: Value) -> Self {
        Self::tool_calls([(name.into(), arguments)])
    }

    /// Returns an HTTP status with a body (a string unchanged, any other value as JSON) and headers.
    #[must_use]
    pub fn status<'a>(status: u16, body: Value, headers: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let headers = headers.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        Self { status: Some(status), body: Some(body), headers, ..Self::default() }
    }

    /// Returns HTTP 200 with these bytes as the body. The content type is that of the requested format; set a header to change it.
    #[must_use]
    pub fn raw(bytes: impl Into<Vec<u8>>) -> Self {
        Self { raw: Some(bytes.into()), ..Self::default() }
    }

    /// Returns an answer that fails after HTTP 200: `response.failed` in the Responses API, an event `error` in Anthropic's Messages, and
    /// an `error` object in the other protocols.
    #[must_use]
    pub fn failed(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self { failed: Some(ScriptedFailure { code: code.into(), message: message.into() }), ..Self::default() }
    }

    /// Returns a reply that never comes.
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

    /// Adds a refusal instead of a text.
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

    /// Holds the reply until this many requests are held at once, then releases all of them. A request that waits in vain for 30 s is
    /// refused with HTTP 400, so that a test fails instead of hanging.
    #[must_use]
    pub fn after_waiting(mut self, requests: usize) -> Self {
        self.after_waiting = Some(requests);
        self
    }

    /// Holds the reply until a request with this text in a message has arrived, with the same time limit.
    #[must_use]
    pub fn after_request(mut self, text: impl Into<String>) -> Self {
        self.after_request = Some(text.into());
        self
    }

    /// Delays the reply by this many milliseconds.
    #[must_use]
    pub fn delay_ms(mut self, milliseconds: u64) -> Self {
        self.delay_ms = Some(milliseconds);
        self
    }

    /// Drops the connection after this many bytes of the body.
    #[must_use]
    pub fn cut_after(mut self, bytes: usize) -> Self {
        self.cut_after = Some(bytes);
        self
    }

    /// Ends the body regularly but too early, after this many bytes.
    #[must_use]
    pub fn end_after(mut self, bytes: usize) -> Self {
        self.end_after = Some(bytes);
        self
    }

    /// Sends nothing more after this many bytes of the body; the connection stays open.
    #[must_use]
    pub fn hang_after(mut self, bytes: usize) -> Self {
        self.hang_after = Some(bytes);
        self
    }

    /// Holds back this many last pieces of the body until [`ScriptedServer::release`](crate::ScriptedServer::release). After 60 s the
    /// connection is dropped instead.
    #[must_use]
    pub fn held_back(mut self, pieces: usize) -> Self {
        self.held_back = Some(pieces);
        self
    }

    /// Pauses for this many milliseconds before each piece, like a model that writes.
    #[must_use]
    pub fn dripping_ms(mut self, milliseconds: u64) -> Self {
        self.piece_delay_ms = Some(milliseconds);
        self
    }

    /// Writes the body in pieces of this many bytes.
    #[must_use]
    pub fn in_pieces_of(mut self, bytes: usize) -> Self {
        self.piece_bytes = Some(bytes);
        self
    }

    /// Sets the reported tokens.
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
    pub fn quirk(mut self, quirk: ServerQuirk) -> Self {
        self.quirks.insert(quirk);
        self
    }

    /// Omits the usage.
    #[must_use]
    pub fn without_usage(self) -> Self {
        self.quirk(ServerQuirk::NoUsage)
    }

    /// Sends arguments as objects.
    #[must_use]
    pub fn object_arguments(self) -> Self {
        self.quirk(ServerQuirk::ObjectArguments)
    }

    /// Sends `null` for an empty content.
    #[must_use]
    pub fn null_content(self) -> Self {
        self.quirk(ServerQuirk::NullContent)
    }

    /// Omits all ids.
    #[must_use]
    pub fn no_ids(self) -> Self {
        self.quirk(ServerQuirk::NoIds)
    }

    /// Adds unknown fields.
    #[must_use]
    pub fn extra_fields(self) -> Self {
        self.quirk(ServerQuirk::ExtraFields)
    }

    pub(crate) fn has_quirk(&self, quirk: ServerQuirk) -> bool {
        self.quirks.contains(&quirk)
    }
}
