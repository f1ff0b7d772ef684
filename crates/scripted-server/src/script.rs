//! The script: which request gets which replies.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Reply;

/// What the server answers: the first rule that fits a request and has a reply left gives it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// The rules, the first that fits wins.
    pub rules: Vec<Rule>,
    /// The names that `GET /v1/models` lists.
    #[serde(default = "Script::default_models")]
    pub models: Vec<String>,
    /// Refuse, as OpenAI does, requests in which a tool call and its result do not stand together (HTTP 400).
    #[serde(default = "Script::default_strict")]
    pub strict: bool,
}

impl Default for Script {
    fn default() -> Self {
        Self { rules: Vec::new(), models: Self::default_models(), strict: Self::default_strict() }
    }
}

/// Why a script cannot be used.
#[derive(Debug)]
pub struct ScriptError {
    reason: String,
}

impl std::fmt::Display for ScriptError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the script cannot be used: {}", self.reason)
    }
}

impl std::error::Error for ScriptError {}

impl Script {
    /// An empty script: every request gets HTTP 404.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a rule whose replies are used in turn, the last one again and again.
    #[must_use]
    pub fn on(mut self, when: When, replies: impl IntoIterator<Item = Reply>) -> Self {
        self.rules.push(Rule { when, replies: replies.into_iter().collect(), once: false });
        self
    }

    /// Adds a rule that no longer fits when each of its replies was used once.
    #[must_use]
    pub fn once(mut self, when: When, replies: impl IntoIterator<Item = Reply>) -> Self {
        self.rules.push(Rule { when, replies: replies.into_iter().collect(), once: true });
        self
    }

    /// Answers requests that a strict server would refuse.
    #[must_use]
    pub fn lenient(mut self) -> Self {
        self.strict = false;
        self
    }

    /// Reads a script from JSON text.
    ///
    /// # Errors
    /// The text is no script, or a rule has no reply.
    pub fn from_json(text: &str) -> Result<Self, ScriptError> {
        let script: Self = serde_json::from_str(text).map_err(|e| ScriptError { reason: e.to_string() })?;
        match script.rules.iter().position(|rule| rule.replies.is_empty()) {
            Some(empty) => Err(ScriptError { reason: format!("rules[{empty}] has no reply") }),
            None => Ok(script),
        }
    }

    fn default_models() -> Vec<String> {
        vec!["scripted".to_owned()]
    }

    fn default_strict() -> bool {
        true
    }
}

/// Replies for the requests that fit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Which requests.
    #[serde(default)]
    pub when: When,
    /// The replies, used in turn.
    pub replies: Vec<Reply>,
    /// Whether the rule ends with its last reply; otherwise the last reply is repeated.
    #[serde(default)]
    pub once: bool,
}

/// Conditions on a request; all that are given must hold, so the default fits every request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct When {
    /// The name in `response_format.json_schema.name`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// Whether tools are offered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<bool>,
    /// A tool of this name is offered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Neither tools nor a response format (`true`), or at least one of them (`false`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plain: Option<bool>,
    /// Each of these texts stands in some message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contains: Vec<String>,
    /// This text stands in the last message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_contains: Option<String>,
    /// This many assistant messages stand in the request: 0 for the first turn of a conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<usize>,
    /// Whether a stream is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<bool>,
    /// The model asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// A JSON pointer such as `/stream_options` that the request has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
}

impl When {
    /// Every request.
    #[must_use]
    pub fn any() -> Self {
        Self::default()
    }

    /// Requests for a structured answer with the schema of this name, such as `aime_plan`.
    #[must_use]
    pub fn schema(name: impl Into<String>) -> Self {
        Self { schema: Some(name.into()), ..Self::default() }
    }

    /// Requests that offer tools.
    #[must_use]
    pub fn tools() -> Self {
        Self { tools: Some(true), ..Self::default() }
    }

    /// Requests that offer the tool of this name.
    #[must_use]
    pub fn tool(name: impl Into<String>) -> Self {
        Self { tool: Some(name.into()), ..Self::default() }
    }

    /// Requests for plain text: no tools, no response format.
    #[must_use]
    pub fn plain() -> Self {
        Self { plain: Some(true), ..Self::default() }
    }

    /// Requests with this text in any message.
    #[must_use]
    pub fn contains(text: impl Into<String>) -> Self {
        Self::default().and_contains(text)
    }

    /// Requests that have this JSON pointer, such as `/max_tokens`.
    #[must_use]
    pub fn field(pointer: impl Into<String>) -> Self {
        Self { field: Some(pointer.into()), ..Self::default() }
    }

    /// And with this text in any message.
    #[must_use]
    pub fn and_contains(mut self, text: impl Into<String>) -> Self {
        self.contains.push(text.into());
        self
    }

    /// And with this text in the last message.
    #[must_use]
    pub fn and_last_contains(mut self, text: impl Into<String>) -> Self {
        self.last_contains = Some(text.into());
        self
    }

    /// And with this many assistant messages before.
    #[must_use]
    pub fn and_turn(mut self, turn: usize) -> Self {
        self.turn = Some(turn);
        self
    }

    /// And for this model.
    #[must_use]
    pub fn and_model(mut self, model: impl Into<String>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// And with, or without, a stream asked for.
    #[must_use]
    pub fn and_stream(mut self, stream: bool) -> Self {
        self.stream = Some(stream);
        self
    }

    /// Whether a request fits.
    #[must_use]
    pub fn fits(&self, request: &Value) -> bool {
        let offered: Vec<&str> = offered_tools(request);
        let format = request.pointer("/response_format/type").and_then(Value::as_str).unwrap_or("text");
        let texts: Vec<String> = messages(request).iter().map(message_text).collect();
        self.schema.as_deref().is_none_or(|name| schema_name(request) == Some(name))
            && self.tools.is_none_or(|wanted| wanted != offered.is_empty())
            && self.tool.as_deref().is_none_or(|name| offered.contains(&name))
            && self.plain.is_none_or(|wanted| wanted == (offered.is_empty() && format == "text"))
            && self.contains.iter().all(|needle| texts.iter().any(|text| text.contains(needle)))
            && self.last_contains.as_deref().is_none_or(|needle| texts.last().is_some_and(|text| text.contains(needle)))
            && self.turn.is_none_or(|turn| turn == turns(request))
            && self.stream.is_none_or(|wanted| wanted == wants_stream(request))
            && self.model.as_deref().is_none_or(|name| request.get("model").and_then(Value::as_str) == Some(name))
            && self.field.as_deref().is_none_or(|pointer| request.pointer(pointer).is_some())
    }
}

pub(crate) fn messages(request: &Value) -> &[Value] {
    request.get("messages").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

pub(crate) fn turns(request: &Value) -> usize {
    messages(request).iter().filter(|message| message.get("role").and_then(Value::as_str) == Some("assistant")).count()
}

pub(crate) fn wants_stream(request: &Value) -> bool {
    request.get("stream").and_then(Value::as_bool).unwrap_or(false)
}

pub(crate) fn schema_name(request: &Value) -> Option<&str> {
    request.pointer("/response_format/json_schema/name").and_then(Value::as_str)
}

pub(crate) fn offered_tools(request: &Value) -> Vec<&str> {
    let tools = request.get("tools").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    tools.iter().filter_map(|tool| tool.pointer("/function/name").and_then(Value::as_str)).collect()
}

/// The text of a message, its tool calls included.
pub(crate) fn message_text(message: &Value) -> String {
    let mut text = match message.get("content") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str)).collect::<Vec<_>>().join(""),
        _ => String::new(),
    };
    if let Some(calls) = message.get("tool_calls").and_then(Value::as_array) {
        for call in calls {
            for pointer in ["/function/name", "/function/arguments"] {
                if let Some(part) = call.pointer(pointer).and_then(Value::as_str) {
                    text.push('\n');
                    text.push_str(part);
                }
            }
        }
    }
    text
}

/// A request in one line, for the error of a request that no rule fits.
pub(crate) fn in_short(request: &Value) -> String {
    let last = messages(request).last();
    let role = last.and_then(|message| message.get("role")).and_then(Value::as_str).unwrap_or("no message");
    let text: String = last.map(message_text).unwrap_or_default().chars().take(160).collect();
    format!(
        "schema {}, tools [{}], turn {}, stream {}, last message ({role}): {text:?}",
        schema_name(request).unwrap_or("none"),
        offered_tools(request).join(", "),
        turns(request),
        wants_stream(request),
    )
}
