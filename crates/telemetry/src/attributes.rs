//! Attributes, by the conventions for generative AI (all of status Development) and of aime's own.

use opentelemetry_proto::tonic::common::v1::{AnyValue, ArrayValue, KeyValue, any_value::Value};
use serde::Serialize;

/// Version of the conventions (open-telemetry/semantic-conventions-genai) that names and meanings follow.
pub(crate) const CONVENTIONS: &str = "0.1.0";

pub(crate) const OPERATION: &str = "gen_ai.operation.name";
pub(crate) const PROVIDER: &str = "gen_ai.provider.name";
pub(crate) const REQUEST_MODEL: &str = "gen_ai.request.model";
pub(crate) const RESPONSE_MODEL: &str = "gen_ai.response.model";
pub(crate) const CONVERSATION: &str = "gen_ai.conversation.id";
pub(crate) const AGENT_NAME: &str = "gen_ai.agent.name";
pub(crate) const TOOL_NAME: &str = "gen_ai.tool.name";
pub(crate) const TOOL_TYPE: &str = "gen_ai.tool.type";
pub(crate) const TOOL_CALL: &str = "gen_ai.tool.call.id";
pub(crate) const TOOL_ARGUMENTS: &str = "gen_ai.tool.call.arguments";
pub(crate) const TOOL_RESULT: &str = "gen_ai.tool.call.result";
pub(crate) const FINISH_REASONS: &str = "gen_ai.response.finish_reasons";
pub(crate) const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
pub(crate) const CACHED_TOKENS: &str = "gen_ai.usage.cache_read.input_tokens";
pub(crate) const CACHE_WRITE_TOKENS: &str = "gen_ai.usage.cache_write.input_tokens";
pub(crate) const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
pub(crate) const EFFORT: &str = "gen_ai.request.reasoning.level";
pub(crate) const INPUT_MESSAGES: &str = "gen_ai.input.messages";
pub(crate) const OUTPUT_MESSAGES: &str = "gen_ai.output.messages";
pub(crate) const ERROR_TYPE: &str = "error.type";

/// Returns a text attribute.
pub(crate) fn text(key: &str, value: impl Into<String>) -> KeyValue {
    of(key, Value::StringValue(value.into()))
}

/// Several words.
pub(crate) fn texts(key: &str, values: impl IntoIterator<Item = impl Into<String>>) -> KeyValue {
    let value = |value: String| AnyValue { value: Some(Value::StringValue(value)) };
    of(key, Value::ArrayValue(ArrayValue { values: values.into_iter().map(|text| value(text.into())).collect() }))
}

/// Returns the word of a value that serializes as one.
pub(crate) fn word(value: &impl Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

/// Returns a count attribute.
pub(crate) fn count(key: &str, value: u64) -> KeyValue {
    of(key, Value::IntValue(i64::try_from(value).unwrap_or(i64::MAX)))
}

/// Returns a floating-point attribute.
pub(crate) fn amount(key: &str, value: f64) -> KeyValue {
    of(key, Value::DoubleValue(value))
}

fn of(key: &str, value: Value) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(AnyValue { value: Some(value) }), ..KeyValue::default() }
}
