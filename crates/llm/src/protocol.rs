//! Protocols of model servers, and the choice of a server's protocol.

use serde::{Deserialize, Serialize};

/// Maximum number of searches of the web that a request over Messages allows.
pub(crate) const MAX_SEARCHES: u32 = 5;

/// Form of requests and answers on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Protocol {
    /// OpenAI's Responses: `POST /responses`.
    Responses,
    /// Chat completions, as OpenAI introduced them and most servers speak them: `POST /chat/completions`.
    Chat,
    /// Anthropic's Messages: `POST /v1/messages`.
    Messages,
    /// Gemini's generateContent: `POST /v1beta/models/MODEL:generateContent`.
    Gemini,
}

impl Protocol {
    /// Returns the name, as a configuration writes it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Responses => "responses",
            Self::Chat => "chat",
            Self::Messages => "messages",
            Self::Gemini => "gemini",
        }
    }

    /// Returns true if providers with this protocol search the web for an answer when a request allows it.
    #[must_use]
    pub const fn searches_the_web(self) -> bool {
        matches!(self, Self::Responses | Self::Messages | Self::Gemini)
    }

    /// Returns the number of searches that a request is expected to be billed for: the most where it bounds them, else one.
    pub(crate) const fn expected_searches(self) -> u32 {
        match self {
            Self::Messages => MAX_SEARCHES,
            Self::Responses | Self::Chat | Self::Gemini => 1,
        }
    }

    /// Returns the protocol of a full address that someone pasted, and the address without its last part.
    #[cfg(feature = "openai")]
    pub(crate) fn of_address(address: &str) -> Option<(Self, &str)> {
        let ends = [("/responses", Self::Responses), ("/chat/completions", Self::Chat), ("/messages", Self::Messages)];
        ends.into_iter().find_map(|(end, protocol)| Some((protocol, address.strip_suffix(end)?)))
    }

    /// Returns the protocol for a model at a host, where neither the configuration nor the address names one.
    ///
    /// OpenAI refuses function tools beside reasoning on chat completions from gpt-5.4 on, so its reasoning models
    /// are asked over Responses.
    #[must_use]
    pub fn for_model(host: &str, path: &str, model: &str) -> Self {
        let of_openai = host == "api.openai.com"
            || host.ends_with(".openai.com")
            || (host.ends_with(".azure.com") && path.contains("/openai/v1"))
            || host.starts_with("bedrock-mantle");
        if host == "anthropic.com" || host.ends_with(".anthropic.com") || path.split('/').any(|part| part == "anthropic") {
            return Self::Messages;
        }
        if host.ends_with("googleapis.com") && !is_compatible(path) {
            return Self::Gemini;
        }
        if host == "api.x.ai" || (of_openai && reasons(model)) { Self::Responses } else { Self::Chat }
    }
}

/// Returns true if a path at Google is that of its chat completions: `/v1beta/openai`, or `/endpoints/openapi` on Vertex AI.
pub(crate) fn is_compatible(path: &str) -> bool {
    path.split('/').any(|part| matches!(part, "openai" | "openapi"))
}

/// Returns true if the name is that of an OpenAI model that reasons before it answers: `o3`, `gpt-5.6-terra`,
/// `openai/gpt-6`, `codex-mini`, `o1-pro`.
pub(crate) fn reasons(model: &str) -> bool {
    let name = model.to_ascii_lowercase();
    let family = |word: &str| {
        let mut letters = word.chars();
        match word.strip_prefix("gpt-").map(|rest| rest.chars().next()) {
            Some(first) => first.is_some_and(|digit| matches!(digit, '5'..='9')),
            None => letters.next() == Some('o') && letters.next().is_some_and(|digit| digit.is_ascii_digit()),
        }
    };
    // A name begins at the start and after each separator.
    let begins = std::iter::once(0).chain(name.match_indices(['-', '/', '.']).map(|(at, _)| at + 1));
    name.contains("codex") || name.ends_with("-pro") || begins.filter_map(|at| name.get(at..)).any(family)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Requirement: 11.1
    #[test]
    fn protocols_are_chosen_by_host_and_model() {
        let cases = [
            ("api.openai.com", "/v1", "gpt-5.6-terra", Protocol::Responses),
            ("api.openai.com", "/v1", "o3-mini", Protocol::Responses),
            ("eu.api.openai.com", "/v1", "gpt-5", Protocol::Responses),
            ("api.openai.com", "/v1", "gpt-4.1", Protocol::Chat),
            ("api.openai.com", "/v1", "ft:gpt-4o:acme", Protocol::Chat),
            ("x.openai.azure.com", "/openai/v1", "gpt-5-mini", Protocol::Responses),
            ("x.openai.azure.com", "/openai/deployments/d", "gpt-5-mini", Protocol::Chat),
            ("bedrock-mantle.us-east-1.api.aws", "/v1", "openai.gpt-6", Protocol::Responses),
            ("api.x.ai", "/v1", "grok-5", Protocol::Responses),
            ("openrouter.ai", "/api/v1", "openai/gpt-5.6-sol", Protocol::Chat),
            ("api.deepseek.com", "/v1", "deepseek-v4", Protocol::Chat),
            ("127.0.0.1", "/v1", "gpt-5.6-terra", Protocol::Chat),
            ("api.anthropic.com", "", "claude-opus-5", Protocol::Messages),
            ("api.deepseek.com", "/anthropic", "deepseek-v4", Protocol::Messages),
            ("generativelanguage.googleapis.com", "/v1beta", "gemini-3-pro", Protocol::Gemini),
            ("generativelanguage.googleapis.com", "/v1beta/openai", "gemini-3-pro", Protocol::Chat),
            ("us-central1-aiplatform.googleapis.com", "/v1/projects/p/locations/l", "gemini-3-pro", Protocol::Gemini),
            ("aiplatform.googleapis.com", "/v1/projects/p/locations/l/endpoints/openapi", "google/gemini-3-pro", Protocol::Chat),
        ];
        for (host, path, model, expected) in cases {
            assert_eq!(Protocol::for_model(host, path, model), expected, "{host}{path} {model}");
        }
    }

    #[test]
    fn reasoning_models_are_told_by_name() {
        for name in
            ["o1", "o4-mini", "gpt-5", "gpt-5.6-luna", "openai/gpt-6", "us.openai.gpt-5", "codex-mini-latest", "gpt-5.2-codex", "o1-pro"]
        {
            assert!(reasons(name), "{name}");
        }
        for name in ["gpt-4o", "gpt-4.1", "gpt-oss-120b", "llama-3-8b", "qwen2.5-coder", "olmo-2", "scripted", ""] {
            assert!(!reasons(name), "{name}");
        }
    }
}
