//! In the place of local models where the build has none.

use std::collections::BTreeSet;

use aime_llm::ModelStack;

use super::Choice;
use crate::{
    config::{ModelConfig, Provider},
    failure::{Failure, code},
    wiring::Setup,
};

/// Whether this build has local models.
pub(crate) const AVAILABLE: bool = false;

/// No name means a local model.
pub(crate) const fn is_local(_: &str) -> bool {
    false
}

/// The name as it was configured.
pub(crate) fn shown_name(config: &ModelConfig) -> String {
    config.model.clone()
}

/// Says that there are none.
pub(crate) fn none() -> Failure {
    Failure::new(code::MODEL, "this build has no local models")
        .hint("build aime with its feature local-model, or use a server: provider = \"openai\" with a base_url")
}

/// Refuses what needs one.
pub(crate) async fn prepare(choice: &Choice, used: &BTreeSet<String>, _: &Setup) -> Result<(), Failure> {
    let local = choice.models.iter().any(|(name, config)| config.provider == Provider::Local && used.contains(name));
    if local { Err(none()) } else { Ok(()) }
}

/// Nothing can be opened.
#[derive(Default)]
pub(crate) struct Opened {}

impl Opened {
    /// Refuses.
    pub(crate) fn open(&mut self, _: &str, _: &ModelConfig, _: &Choice, _: &Setup) -> Result<ModelStack, Failure> {
        Err(none())
    }
}
