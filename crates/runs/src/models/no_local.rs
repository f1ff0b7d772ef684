//! Replacement for local models in a build without them.

use std::collections::BTreeSet;

use aime_llm::ModelStack;
use aime_messages::message;

use super::Choice;
use crate::{
    config::{ModelConfig, Provider},
    error::RunsError,
    setup::Setup,
};

/// True if this build supports local models.
pub const AVAILABLE: bool = false;

/// Returns false: no name refers to a local model.
pub const fn is_local(_: &str) -> bool {
    false
}

/// Returns no names of local models.
pub const fn names() -> Option<String> {
    None
}

/// Returns the configured name.
pub fn shown_name(config: &ModelConfig) -> String {
    config.model.clone()
}

/// Returns the error that the build has no local models.
pub fn none() -> RunsError {
    RunsError::model(message!("no-local")).hint(message!("no-local-hint"))
}

/// Refuses a choice that needs a local model.
pub async fn prepare(choice: &Choice, used: &BTreeSet<String>, _: &Setup) -> Result<(), RunsError> {
    let local = choice.models.iter().any(|(name, config)| config.provider == Provider::Local && used.contains(name));
    if local { Err(none()) } else { Ok(()) }
}

/// Never holds a model.
#[derive(Default)]
pub struct Opened {}

impl Opened {
    /// Refuses.
    pub fn open(&mut self, _: &str, _: &ModelConfig, _: &Choice, _: &Setup) -> Result<ModelStack, RunsError> {
        Err(none())
    }
}
