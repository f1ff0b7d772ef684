//! Asking a model for an answer of a given form, until it has it or the tries are used up.

mod ask;
mod prompt;
mod tiers;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde_json::Value;

use crate::{BadSchema, ChatResponse, Message, ModelError, Usage};

pub use self::{
    ask::ask,
    tiers::{Tier, Tiers},
};

/// A question whose answer must be JSON of a given form.
#[derive(Debug, Clone, PartialEq)]
pub struct StructuredRequest {
    /// The schema's name, such as `aime_plan`: 1 to 64 of `A-Z a-z 0-9 _ -`.
    pub name: String,
    /// The JSON Schema of the answer.
    pub schema: Value,
    /// True to refuse answers that do not fit the schema. When false, the schema only guides the model and the judge
    /// alone decides; this is for callers that accept more forms than they request.
    pub must_fit: bool,
    /// The conversation that asks.
    pub messages: Vec<Arc<Message>>,
    /// 0 to 2; the server's default when absent.
    pub temperature: Option<f32>,
    /// The most tokens of an answer.
    pub max_output_tokens: Option<u32>,
    /// Maximum number of answers to request; at least one.
    pub tries: u32,
}

impl Default for StructuredRequest {
    fn default() -> Self {
        Self {
            name: "answer".to_owned(),
            schema: Value::Bool(true),
            must_fit: true,
            messages: Vec::new(),
            temperature: None,
            max_output_tokens: None,
            tries: 3,
        }
    }
}

impl StructuredRequest {
    /// Returns a question with three tries and the server's own settings.
    #[must_use]
    pub fn new(name: impl Into<String>, schema: Value, messages: Vec<Arc<Message>>) -> Self {
        Self { name: name.into(), schema, messages, ..Self::default() }
    }
}

/// An answer that was accepted.
#[derive(Debug, Clone, PartialEq)]
pub struct Structured<T> {
    /// Value that the judge made of the answer.
    pub value: T,
    /// Descriptions of the repairs.
    pub repairs: Vec<String>,
    /// The answers before it that were refused.
    pub refused: Vec<InvalidAnswer>,
    /// Usage of all attempts.
    pub spent: StructuredUsage,
}

/// An answer that was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidAnswer {
    /// Number of the attempt, counted from 1.
    pub attempt: u32,
    /// Everything that was wrong with it.
    pub faults: Vec<aime_messages::Message>,
    /// Answer of the model, cut to 4,000 characters.
    pub answer: String,
}

/// Usage of a series of requests.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct StructuredUsage {
    /// Requests that were answered.
    pub requests: u32,
    /// Their tokens.
    pub usage: Usage,
    /// US dollars, as far as prices are known.
    pub cost_usd: f64,
    /// True if a part of `usage` is an estimate.
    pub estimated: bool,
}

impl StructuredUsage {
    /// Adds one answer.
    pub fn add(&mut self, response: &ChatResponse) {
        self.requests = self.requests.saturating_add(1);
        self.usage += response.usage;
        self.cost_usd += response.cost_usd;
        self.estimated |= response.usage_estimated;
    }
}

/// Reason why there is no answer of the requested form.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum StructuredError {
    /// The model gave no answer.
    #[error("the model gave no answer for {name}")]
    Model {
        /// The schema's name.
        name: String,
        /// Error of the model.
        #[source]
        source: ModelError,
        /// The answers before that were refused.
        refused: Vec<InvalidAnswer>,
        /// Usage of the earlier attempts.
        spent: StructuredUsage,
    },
    /// Every answer was refused.
    #[error("every answer for {name} was refused ({} of them); the last because: {}", .refused.len(), last_faults(.refused))]
    Refused {
        /// The schema's name.
        name: String,
        /// Each answer with its faults.
        refused: Vec<InvalidAnswer>,
        /// Usage of the attempts.
        spent: StructuredUsage,
    },
    /// The caller's schema cannot be used.
    #[error("the schema {name} cannot be used")]
    Schema {
        /// The schema's name.
        name: String,
        /// Fault of the schema.
        #[source]
        source: BadSchema,
    },
}

impl StructuredError {
    /// Returns the usage before the failure.
    #[must_use]
    pub fn spent(&self) -> StructuredUsage {
        match self {
            Self::Model { spent, .. } | Self::Refused { spent, .. } => *spent,
            Self::Schema { .. } => StructuredUsage::default(),
        }
    }

    /// Returns the answers that were refused.
    #[must_use]
    pub fn refused(&self) -> &[InvalidAnswer] {
        match self {
            Self::Model { refused, .. } | Self::Refused { refused, .. } => refused,
            Self::Schema { .. } => &[],
        }
    }
}

fn last_faults(refused: &[InvalidAnswer]) -> String {
    refused.last().map(|last| last.faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")).unwrap_or_default()
}
