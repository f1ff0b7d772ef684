//! Whose server it is, and what that means for the form of requests.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::Effort;

/// The provider behind an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Provider {
    /// OpenAI, and Azure under OpenAI's own protocol.
    OpenAi,
    /// DeepSeek.
    DeepSeek,
    /// OpenRouter.
    OpenRouter,
    /// Mistral.
    Mistral,
    /// Anthropic.
    Anthropic,
    /// Google's Gemini.
    Gemini,
    /// Others that take the reasoning of a turn back under `reasoning_content`: Moonshot, Z.ai, DashScope, MiniMax.
    Thinking,
    /// Any other server, local ones included.
    Other,
}

impl Provider {
    /// The provider of a host, or of the family of a model where the host tells nothing.
    pub(super) fn of(host: &str, model: &str) -> Self {
        let host = host.to_ascii_lowercase();
        let ends = |names: &[&str]| names.iter().any(|name| host == *name || host.ends_with(&format!(".{name}")));
        if ends(&["openai.com", "openai.azure.com"]) {
            return Self::OpenAi;
        }
        if ends(&["anthropic.com"]) {
            return Self::Anthropic;
        }
        if ends(&["deepseek.com"]) {
            return Self::DeepSeek;
        }
        if ends(&["openrouter.ai"]) {
            return Self::OpenRouter;
        }
        if ends(&["mistral.ai"]) {
            return Self::Mistral;
        }
        if ends(&["googleapis.com"]) {
            return Self::Gemini;
        }
        if ends(&["moonshot.ai", "moonshot.cn", "z.ai", "bigmodel.cn", "aliyuncs.com", "minimax.io", "minimaxi.com", "minimax.chat"]) {
            return Self::Thinking;
        }
        let model = model.to_ascii_lowercase();
        let family = model.rsplit('/').next().unwrap_or_default();
        if ["deepseek-v", "deepseek-reasoner", "deepseek-chat", "kimi-k"].iter().any(|name| family.starts_with(name)) {
            return Self::Thinking;
        }
        Self::Other
    }

    /// The name of the seed of sampling.
    pub(super) const fn seed_field(self) -> &'static str {
        match self {
            Self::Mistral => "random_seed",
            _ => "seed",
        }
    }

    /// How long a model thinks, as a field of chat completions.
    pub(super) fn effort_field(self, effort: Effort) -> (&'static str, Value) {
        match self {
            Self::OpenRouter => ("reasoning", json!({"effort": effort.as_str()})),
            _ => ("reasoning_effort", json!(effort.as_str())),
        }
    }
}
