//! Messages, chat models, structured output and an OpenAI-compatible client.

mod message;
mod model;

pub use message::{
    ChatRequest, ChatResponse, FinishReason, Message, ResponseFormat, StreamPart, ToolCall, ToolChoice, ToolDefinition, Usage,
};
pub use model::{ChatModel, ModelError, ModelLimits};

/// Placeholder until the reader stands.
#[must_use]
pub fn read_arguments() {}
