//! In the place of local models where the build has none.

use std::collections::BTreeSet;

use aime_llm::ModelStack;

use super::Choice;
use crate::{
    config::{ModelConfig, Provider},
    error::RunsError,
    setup::Setup,
};

/// Whether this build has local models.
pub const AVAILABLE: bool = false;

/// No name means a local model.
pub const fn is_local(_: &str) -> bool {
    false
}

/// The name as it was configured.
pub fn shown_name(config: &ModelConfig) -> String {
    config.model.clone()
}

/// Says that there are none.
pub fn none() -> RunsError {
    RunsError::model("this build has no local models")
        .hint("build aime with its feature local-model, or use a server: provider = \"openai\" with a base_url")
}

/// Refuses what needs one.
pub async fn prepare(choice: &Choice, used: &BTreeSet<String>, _: &Setup) -> Result<(), RunsError> {
    let local = choice.models.iter().any(|(name, config)| config.provider == Provider::Local && used.contains(name));
    if local { Err(none()) } else { Ok(()) }
}

/// Nothing can be opened.
#[derive(Default)]
pub struct Opened {}

impl Opened {
    /// Refuses.
    pub fn open(&mut self, _: &str, _: &ModelConfig, _: &Choice, _: &Setup) -> Result<ModelStack, RunsError> {
        Err(none())
    }
}
