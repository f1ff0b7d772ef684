//! How a server can be asked for JSON, and what is remembered of it.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::ModelError;

/// How a model is asked for JSON, the surest first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tier {
    /// The server holds the answer to a JSON Schema.
    #[default]
    Schema,
    /// The server holds the answer to JSON; the schema is told in words.
    Json,
    /// The server does nothing; all is told in words.
    Text,
}

impl Tier {
    /// The next less demanding one.
    #[must_use]
    pub fn lower(self) -> Option<Self> {
        match self {
            Self::Schema => Some(Self::Json),
            Self::Json => Some(Self::Text),
            Self::Text => None,
        }
    }
}

/// What models were found able to do, by name. Shared by all who ask, so that a server is found out once.
#[derive(Debug, Default)]
pub struct Tiers {
    known: Mutex<HashMap<String, Tier>>,
}

impl Tiers {
    /// Knows nothing yet: every model is first asked with a schema.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How the model is asked now.
    #[must_use]
    pub fn of(&self, model: &str) -> Tier {
        self.lock().get(model).copied().unwrap_or_default()
    }

    /// Sets how the model is asked, as from a configuration.
    pub fn set(&self, model: &str, tier: Tier) {
        self.lock().insert(model.to_owned(), tier);
    }

    /// The server refused a request made at `tier`: the model is asked at a lower one from now on. None if there is no lower one.
    pub(super) fn refused(&self, model: &str, tier: Tier) -> Option<Tier> {
        let lower = tier.lower()?;
        let mut known = self.lock();
        let entry = known.entry(model.to_owned()).or_default();
        // Another request may have lowered it further meanwhile.
        *entry = lower.max(*entry);
        Some(*entry)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Tier>> {
        // What is remembered is whole after every change, so a panic elsewhere does no harm.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a server refuses the way in which JSON was asked for, and not the request as such.
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
