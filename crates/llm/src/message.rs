//! What is said to a model and what it answers.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// Standing instructions.
    System {
        /// The text.
        content: String,
    },
    /// What the user, or the runtime in their place, says.
    User {
        /// The text.
        content: String,
    },
    /// What the model said.
    Assistant {
        /// The text; may be empty beside tool calls.
        content: String,
        /// The calls it asked for.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<ToolCall>,
    },
    /// The result of one tool call.
    Tool {
        /// The call's id.
        call_id: String,
        /// The tool's name.
        name: String,
        /// The result as text.
        content: String,
    },
}

/// A call that a model asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Unique in the conversation; made up by the client where the server gives none.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments as the model wrote them: JSON text, or nearly. See [`read_arguments`](crate::read_arguments).
    pub arguments: String,
}

/// A tool as a model sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolDefinition {
    /// Its name: 1 to 64 of `A-Z a-z 0-9 _ -`.
    pub name: String,
    /// What it does.
    pub description: String,
    /// JSON Schema of its parameters.
    pub parameters: Arc<Value>,
}

/// Whether the model must call a tool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// As it likes.
    #[default]
    Auto,
    /// It must call one of those offered.
    Required,
    /// It must not.
    None,
}

/// The form of the answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ResponseFormat {
    /// Any text.
    #[default]
    Text,
    /// A JSON object.
    JsonObject,
    /// JSON that fits a schema.
    JsonSchema {
        /// The schema's name, such as `aime_plan`.
        name: String,
        /// The JSON Schema.
        schema: Value,
    },
}

/// A request to a model. Messages and tools are shared, so that a long history is not copied at each turn.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ChatRequest {
    /// The conversation.
    pub messages: Vec<Arc<Message>>,
    /// The tools offered.
    pub tools: Arc<[ToolDefinition]>,
    /// Whether one must be called.
    pub tool_choice: ToolChoice,
    /// The form of the answer.
    pub format: ResponseFormat,
    /// 0 to 2; the server's default when absent.
    pub temperature: Option<f32>,
    /// The most tokens of the answer.
    pub max_output_tokens: Option<u32>,
    /// For repeatable sampling, where the server can.
    pub seed: Option<u64>,
}

/// Why the model stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// It was done.
    Stop,
    /// It wants tools called.
    ToolCalls,
    /// It ran into the limit of tokens: the answer is cut.
    Length,
    /// The provider withheld the answer.
    ContentFilter,
    /// Something else, in the server's word; empty when it gave none.
    Other(String),
}

impl FinishReason {
    /// The word for it, of at most 40 characters; none where the server gave none.
    #[must_use]
    pub fn word(&self) -> Option<String> {
        let word = match self {
            Self::Stop => "stop",
            Self::ToolCalls => "tool_calls",
            Self::Length => "length",
            Self::ContentFilter => "content_filter",
            Self::Other(word) => word,
        };
        Some(word.chars().take(40).collect()).filter(|word: &String| !word.is_empty())
    }
}

/// Tokens of one answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens sent, cached ones included.
    pub input_tokens: u64,
    /// Tokens sent that the server had in its cache.
    pub cached_input_tokens: u64,
    /// Tokens received.
    pub output_tokens: u64,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChatResponse {
    /// The text.
    pub content: String,
    /// The reasoning, where the server gives it apart. Not sent back.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reasoning: String,
    /// The calls it asks for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// Why it stopped.
    pub finish: FinishReason,
    /// Tokens, counted by the server, or estimated where it gave none.
    pub usage: Usage,
    /// Whether `usage` is an estimate.
    #[serde(default)]
    pub usage_estimated: bool,
    /// The model that answered, in the server's word.
    pub model: String,
    /// US dollars, where the model has a price.
    #[serde(default)]
    pub cost_usd: f64,
}

/// A part of an answer, as it arrives.
#[derive(Debug, Clone, PartialEq)]
pub enum StreamPart {
    /// More text.
    Text(String),
    /// More reasoning.
    Reasoning(String),
    /// A tool call has begun; its arguments follow in the whole answer.
    ToolCallBegun {
        /// The tool's name.
        name: String,
    },
    /// The whole answer; always the last part.
    Done(Box<ChatResponse>),
}

impl ToolCall {
    /// A call with arguments as JSON.
    #[must_use]
    pub fn new(id: impl Into<String>, name: impl Into<String>, arguments: &Value) -> Self {
        Self { id: id.into(), name: name.into(), arguments: arguments.to_string() }
    }
}

impl ChatRequest {
    /// The name of the schema that the answer is to fit, such as `aime_plan`; nothing where any text will do.
    #[must_use]
    pub fn schema_name(&self) -> Option<&str> {
        match &self.format {
            ResponseFormat::JsonSchema { name, .. } => Some(name),
            ResponseFormat::Text | ResponseFormat::JsonObject => None,
        }
    }
}

impl ChatResponse {
    /// An answer of plain text, for models of one's own. No tokens are counted: set `usage` where they are known.
    #[must_use]
    pub fn text(model: impl Into<String>, content: impl Into<String>) -> Self {
        Self {
            content: content.into(),
            reasoning: String::new(),
            tool_calls: Vec::new(),
            finish: FinishReason::Stop,
            usage: Usage::default(),
            usage_estimated: true,
            model: model.into(),
            cost_usd: 0.0,
        }
    }

    /// An answer that calls tools, for models of one's own.
    #[must_use]
    pub fn calls(model: impl Into<String>, calls: impl IntoIterator<Item = ToolCall>) -> Self {
        Self { tool_calls: calls.into_iter().collect(), finish: FinishReason::ToolCalls, ..Self::text(model, "") }
    }
}
