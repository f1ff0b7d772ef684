#![doc = include_str!("../README.md")]

mod arguments;
mod calls_in_text;
mod catalog;
#[cfg(test)]
mod corpus;
mod hint;
mod image;
mod json;
mod message;
mod model;
mod native;
#[cfg(feature = "openai")]
mod openai;
mod prices;
mod protocol;
mod schema;
mod script;
pub mod scripted;
mod stack;
mod structured;
mod usage;

pub use aime_redact::Redactor;
pub use arguments::{ArgumentsError, coerce_to_schema, read_arguments};
#[cfg(feature = "openai")]
pub(crate) use calls_in_text::clean_tool_name;
pub use calls_in_text::{CallsInText, calls_in_text};
pub use catalog::{FactsSource, ModelFacts, model_facts, provider_of_host};
pub use futures::{future::BoxFuture, stream::BoxStream};
pub use hint::ModelHint;
pub use image::{Image, ImageError, ImageFormat, MAX_IMAGE_BYTES};
pub(crate) use json::read_json_where;
pub use json::{ReadJson, UnreadableJson, read_json};
pub use message::{
    ChatRequest, ChatResponse, Citation, Effort, FinishReason, Message, ResponseFormat, StreamPart, ToolCall, ToolChoice, ToolDefinition,
    Usage,
};
pub use model::{ChatModel, ModelError, ModelLimits, in_one_part};
pub use native::{NativeTurn, TurnSource};
#[cfg(feature = "openai")]
pub use openai::{
    OpenAiSettings, Provider, SettingsError, Timeouts, Transport, TransportResponse, check_base_url, served_window, shown_address,
};
pub(crate) use prices::RequestTokens;
pub use prices::{Prices, estimate_request_tokens, native_tokens};
pub use protocol::Protocol;
pub use schema::{BadSchema, SchemaChecker, SchemaFault, check_schema, compile_schema, json_schema_of};
pub use script::{in_another_script, in_chinese};
pub use stack::{
    CostReservation, Meter, Model, ModelHook, ModelStack, OutOfBudget, Retry, RetryObserver, RetrySettings, TryCost, TryEstimate,
};
pub use structured::{InvalidAnswer, Structured, StructuredError, StructuredRequest, StructuredUsage, Tier, Tiers, ask};
pub use usage::estimate_tokens;
