//! Ways to request JSON from a server, and the record of those that worked.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::{ChatModel, Model, ModelError};

/// Way to request JSON from a model, the most reliable first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tier {
    /// The server holds the answer to a JSON Schema.
    #[default]
    Schema,
    /// The server forces JSON; the prompt describes the schema.
    Json,
    /// The server forces nothing; the prompt describes everything.
    Text,
}

impl Tier {
    /// Returns the next less demanding one.
    #[must_use]
    pub fn lower(self) -> Option<Self> {
        match self {
            Self::Schema => Some(Self::Json),
            Self::Json => Some(Self::Text),
            Self::Text => None,
        }
    }
}

/// Abilities of models that were found out, by [key](Self::key). Shared by all callers, so that each server is probed once.
#[derive(Debug, Default)]
pub struct Tiers {
    known: Mutex<HashMap<String, Tier>>,
}

impl Tiers {
    /// Creates an empty record: every model is first asked with a schema.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the key of a model: its name, with the address of its server if it has one, since two servers of a model may differ.
    #[must_use]
    pub fn key(model: &Model) -> String {
        match model.address() {
            Some(address) => format!("{} at {address}", model.name()),
            None => model.name().to_owned(),
        }
    }

    /// Returns the current tier of the model with this key.
    #[must_use]
    pub fn of(&self, key: &str) -> Tier {
        self.lock().get(key).copied().unwrap_or_default()
    }

    /// Sets how the model with this key is asked, as from a configuration.
    pub fn set(&self, key: &str, tier: Tier) {
        self.lock().insert(key.to_owned(), tier);
    }

    /// Records that the server refused a request at `tier`, so that the model with this key is asked at a lower one from now on.
    /// Returns `None` if there is no lower one.
    pub(super) fn refused(&self, key: &str, tier: Tier) -> Option<Tier> {
        let lower = tier.lower()?;
        let mut known = self.lock();
        let entry = known.entry(key.to_owned()).or_default();
        // Another request may have lowered it further meanwhile.
        *entry = lower.max(*entry);
        Some(*entry)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Tier>> {
        // The record is consistent after every change, so a panic elsewhere does no harm.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns true if a fallback of the model refused a request, so that the refusal tells nothing of the model itself.
pub(super) fn is_of_fallback(error: &ModelError, model: &Model) -> bool {
    let refusing = match error.root() {
        ModelError::Refused { model, .. } | ModelError::Server { model, .. } => Some(model.as_str()),
        _ => None,
    };
    matches!(error, ModelError::AllFailed { .. }) || refusing.is_some_and(|name| name != model.name())
}

/// Returns true if a server refuses the requested response format, and not the request as such.
pub(super) fn refuses_format(error: &ModelError) -> bool {
    const WORDS: [&str; 12] = [
        "response_format",
        "response format",
        "responseformat",
        "json_schema",
        "jsonschema",
        "json_object",
        "json mode",
        "json schema",
        "schema",
        "grammar",
        "structured output",
        "guided",
    ];
    let speaks_of_it = |message: &str| {
        let message = message.to_ascii_lowercase();
        WORDS.iter().any(|word| message.contains(word))
    };
    // A model that tries again wraps its last failure.
    match error.root() {
        ModelError::Refused { status: 400 | 404 | 415 | 422 | 500 | 501, message, .. } => speaks_of_it(message),
        // llama.cpp answers 500 to a schema from which it can make no grammar.
        ModelError::Server { status: 500 | 501, message, .. } => speaks_of_it(message),
        _ => false,
    }
}
