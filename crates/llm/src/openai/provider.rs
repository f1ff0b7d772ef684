//! Provider of a server, and its consequences for the form of requests.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::Effort;

const MINIMAX_HOSTS: [&str; 3] = ["minimax.io", "minimaxi.com", "minimax.chat"];

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
    /// Any other server, including local ones.
    Other,
}

impl Provider {
    /// Returns true if a host puts the reasoning into the text of chat completions unless a request asks to have it apart: MiniMax.
    pub(super) fn mixes_reasoning(host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        MINIMAX_HOSTS.iter().any(|name| is_within(&host, name))
    }

    /// Returns the provider of a host, or of the model's family if the host is not known.
    pub(super) fn of(host: &str, model: &str) -> Self {
        let host = host.to_ascii_lowercase();
        let ends = |names: &[&str]| names.iter().any(|name| is_within(&host, name));
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
        if ends(&["moonshot.ai", "moonshot.cn", "z.ai", "bigmodel.cn", "aliyuncs.com"]) || ends(&MINIMAX_HOSTS) {
            return Self::Thinking;
        }
        let model = model.to_ascii_lowercase();
        let family = model.rsplit('/').next().unwrap_or_default();
        let families = ["deepseek-v", "deepseek-flash", "deepseek-pro", "deepseek-reasoner", "deepseek-chat", "kimi-k"];
        if families.iter().any(|name| family.starts_with(name)) {
            return Self::Thinking;
        }
        Self::Other
    }

    /// Returns the name of the seed of sampling.
    pub(super) const fn seed_field(self) -> &'static str {
        match self {
            Self::Mistral => "random_seed",
            _ => "seed",
        }
    }

    /// Returns the chat-completions field for the amount of thinking.
    pub(super) fn effort_field(self, effort: Effort) -> (&'static str, Value) {
        match self {
            Self::OpenRouter => ("reasoning", json!({"effort": effort.as_str()})),
            _ => ("reasoning_effort", json!(effort.as_str())),
        }
    }
}

/// Returns true if a host is a domain or lies within it. Both are in lower case.
fn is_within(host: &str, domain: &str) -> bool {
    host.strip_suffix(domain).is_some_and(|before| before.is_empty() || before.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_tells_more_than_the_name_of_a_model() {
        for (host, model, provider) in [
            ("api.deepseek.com", "deepseek-flash", Provider::DeepSeek),
            ("gpu-box", "deepseek-ai/DeepSeek-V4", Provider::Thinking),
            ("gpu-box", "deepseek-flash", Provider::Thinking),
            ("gpu-box", "deepseek-pro-0901", Provider::Thinking),
            ("gpu-box", "deepseek-coder:6.7b", Provider::Other),
            ("x.openai.azure.com", "deepseek-pro", Provider::OpenAi),
            ("gpu-box", "qwen4", Provider::Other),
        ] {
            assert_eq!(Provider::of(host, model), provider, "{model} at {host}");
        }
    }

    #[test]
    fn minimax_mixes_reasoning_with_text() {
        for (host, expected) in
            [("api.minimax.io", true), ("API.MiniMaxi.com", true), ("notminimax.io", false), ("api.z.ai", false), ("", false)]
        {
            assert_eq!(Provider::mixes_reasoning(host), expected, "{host}");
        }
    }
}
