//! Requests to a model and its answers.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Image, NativeTurn};

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// System prompt.
    System {
        /// The text.
        content: String,
    },
    /// Words of the user, or of the runtime in their place.
    User {
        /// The text.
        content: String,
        /// Images beside the text.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        images: Vec<Image>,
    },
    /// Turn of the model.
    Assistant {
        /// The text; may be empty beside tool calls.
        content: String,
        /// Calls that the model requested.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<ToolCall>,
        /// The turn in the provider's own form, which the same provider gets back.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        native: Option<Arc<NativeTurn>>,
    },
    /// The result of one tool call.
    Tool {
        /// The call's id.
        call_id: String,
        /// The tool's name.
        name: String,
        /// The result as text.
        content: String,
        /// True if the call failed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
        /// Images beside the text.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        images: Vec<Image>,
    },
}

impl Message {
    /// System prompt.
    #[must_use]
    pub fn system(content: impl Into<String>) -> Self {
        Self::System { content: content.into() }
    }

    /// Words of the user.
    #[must_use]
    pub fn user(content: impl Into<String>) -> Self {
        Self::User { content: content.into(), images: Vec::new() }
    }

    /// Words of the user with images beside them. The last line names the images.
    #[must_use]
    pub fn user_with_images(content: impl Into<String>, images: Vec<Image>) -> Self {
        let mut content = content.into();
        if !images.is_empty() {
            let names: Vec<&str> = images.iter().map(|image| image.name.as_str()).collect();
            content.push_str("\n\nImages of the goal: ");
            content.push_str(&names.join(", "));
        }
        Self::User { content, images }
    }

    /// Returns the images of the message.
    #[must_use]
    pub fn images(&self) -> &[Image] {
        match self {
            Self::User { images, .. } | Self::Tool { images, .. } => images,
            Self::System { .. } | Self::Assistant { .. } => &[],
        }
    }

    /// Returns a turn of the model without the provider's own form of it.
    #[must_use]
    pub fn assistant(content: impl Into<String>, tool_calls: Vec<ToolCall>) -> Self {
        Self::Assistant { content: content.into(), tool_calls, native: None }
    }

    /// Returns the result of a call that succeeded.
    #[must_use]
    pub fn tool(call_id: impl Into<String>, name: impl Into<String>, content: impl Into<String>) -> Self {
        Self::Tool { call_id: call_id.into(), name: name.into(), content: content.into(), is_error: false, images: Vec::new() }
    }
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
    /// Name of the tool: 1 to 64 of `A-Z a-z 0-9 _ -`.
    pub name: String,
    /// Description of the tool for the model.
    pub description: String,
    /// JSON Schema of its parameters.
    pub parameters: Arc<Value>,
}

/// Obligation of the model to call a tool.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// The model must call one of the offered tools.
    Required,
    /// The model must not call a tool.
    None,
    /// The model must call the tool of this name.
    Only(String),
}

/// Reasoning effort of a model before its answer, for models with a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    /// No reasoning.
    None,
    /// The least that the model can do.
    Minimal,
    /// Little reasoning.
    Low,
    /// The usual amount.
    Medium,
    /// Much reasoning.
    High,
    /// More than `high`.
    #[serde(rename = "xhigh")]
    XHigh,
    /// The most that the model may do.
    Max,
}

impl Effort {
    /// Returns the word, as requests and configurations write it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::XHigh => "xhigh",
            Self::Max => "max",
        }
    }
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
    /// Obligation of the model to call one of the tools.
    pub tool_choice: ToolChoice,
    /// The form of the answer.
    pub format: ResponseFormat,
    /// 0 to 2; the server's default when absent.
    pub temperature: Option<f32>,
    /// The most tokens of the answer.
    pub max_output_tokens: Option<u32>,
    /// Seed for repeatable sampling, if the server supports it.
    pub seed: Option<u64>,
    /// Amount of thinking; the model's own default when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// Permission for several calls in one answer; the server's default when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parallel_tool_calls: Option<bool>,
    /// Permission for the provider to search the web for the answer. Providers without search answer from the model
    /// alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub web_search: bool,
    /// Requests with the same key share a beginning that the server may keep in its cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_key: Option<Arc<str>>,
}

/// Reason why the model stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// The answer is complete.
    Stop,
    /// The model called tools.
    ToolCalls,
    /// The answer reached the token limit and is cut.
    Length,
    /// The provider withheld the answer.
    ContentFilter,
    /// Something else, in the server's word; empty when it gave none.
    Other(String),
}

impl FinishReason {
    /// Returns the word for it, of at most 40 characters; none where the server gave none.
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
    /// Tokens sent that the server wrote into its cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cache_write_tokens: u64,
    /// Tokens received, reasoning included.
    pub output_tokens: u64,
    /// Tokens of reasoning among those received.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reasoning_tokens: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Usage {
    /// Tokens sent and received, nothing of them cached.
    #[must_use]
    pub fn new(input_tokens: u64, output_tokens: u64) -> Self {
        Self { input_tokens, output_tokens, ..Self::default() }
    }
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChatResponse {
    /// The text.
    pub content: String,
    /// The reasoning, as far as it can be read.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reasoning: String,
    /// The calls it asks for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// The turn in the provider's own form; belongs into the conversation with the text and the calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<Arc<NativeTurn>>,
    /// The pages that the answer names as its sources, in the order in which they are named; each once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub citations: Vec<Citation>,
    /// Reason why the model stopped.
    pub finish: FinishReason,
    /// Tokens, counted by the server, or estimated where it gave none.
    pub usage: Usage,
    /// True if `usage` is an estimate.
    #[serde(default)]
    pub usage_estimated: bool,
    /// The model that answered, in the server's word.
    pub model: String,
    /// Reasoning effort that the request asked for; none if it left that to the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// US dollars, where the model has a price.
    #[serde(default)]
    pub cost_usd: f64,
}

/// A page that an answer names as a source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Citation {
    /// The address.
    pub url: String,
    /// The title; empty where the provider gives none.
    #[serde(default)]
    pub title: String,
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
    /// Returns a call with arguments as JSON.
    #[must_use]
    pub fn new(id: impl Into<String>, name: impl Into<String>, arguments: &Value) -> Self {
        Self { id: id.into(), name: name.into(), arguments: arguments.to_string() }
    }
}

impl ToolChoice {
    /// Returns true if the model must call a tool.
    #[must_use]
    pub const fn demands_a_call(&self) -> bool {
        matches!(self, Self::Required | Self::Only(_))
    }

    /// Returns the tools that the model may call, of those offered.
    #[must_use]
    pub fn of(&self, offered: &Arc<[ToolDefinition]>) -> Arc<[ToolDefinition]> {
        match self {
            Self::Auto | Self::Required => Arc::clone(offered),
            Self::None => Arc::from([]),
            Self::Only(name) => offered.iter().filter(|tool| tool.name == *name).cloned().collect(),
        }
    }
}

impl ChatRequest {
    /// Returns the name of the schema that the answer is to fit, such as `aime_plan`; nothing where any text will do.
    #[must_use]
    pub fn schema_name(&self) -> Option<&str> {
        match &self.format {
            ResponseFormat::JsonSchema { name, .. } => Some(name),
            ResponseFormat::Text | ResponseFormat::JsonObject => None,
        }
    }
}

impl ChatResponse {
    /// Returns an answer of plain text, for custom implementations of `ChatModel`. No tokens are counted: set `usage` if they
    /// are known.
    #[must_use]
    pub fn text(model: impl Into<String>, content: impl Into<String>) -> Self {
        Self {
            content: content.into(),
            reasoning: String::new(),
            tool_calls: Vec::new(),
            native: None,
            citations: Vec::new(),
            finish: FinishReason::Stop,
            usage: Usage::default(),
            usage_estimated: true,
            model: model.into(),
            effort: None,
            cost_usd: 0.0,
        }
    }

    /// Returns an answer that calls tools, for custom implementations of `ChatModel`.
    #[must_use]
    pub fn calls(model: impl Into<String>, calls: impl IntoIterator<Item = ToolCall>) -> Self {
        Self { tool_calls: calls.into_iter().collect(), finish: FinishReason::ToolCalls, ..Self::text(model, "") }
    }
}
