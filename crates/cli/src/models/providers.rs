//! The providers that a key in the environment is enough for. A new one is a row here.

use aime_llm::Protocol;

use crate::config::{Environment, Provider};

/// What is known of a provider without any settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Served {
    pub(crate) provider: Provider,
    /// The variables that may hold its key; the first that is set is used.
    pub(crate) keys: &'static [&'static str],
    /// The variable that may hold another address for it.
    pub(crate) address_variable: &'static str,
    /// Its own address.
    pub(crate) address: &'static str,
    /// The model that is used where none is named.
    pub(crate) model: &'static str,
    /// The client's word for it; none where the address tells.
    pub(crate) client: Option<aime_llm::Provider>,
    /// Its name in the catalog of models.
    pub(crate) catalog: &'static str,
}

/// In the order in which one is chosen where several have keys.
pub(crate) const SERVED: [Served; 6] = [
    Served {
        provider: Provider::Openai,
        keys: &["OPENAI_API_KEY"],
        address_variable: "OPENAI_BASE_URL",
        address: "https://api.openai.com/v1",
        model: "gpt-5.6-terra",
        client: None,
        catalog: "openai",
    },
    Served {
        provider: Provider::Anthropic,
        keys: &["ANTHROPIC_API_KEY"],
        address_variable: "ANTHROPIC_BASE_URL",
        address: "https://api.anthropic.com",
        model: "claude-sonnet-5-5",
        client: Some(aime_llm::Provider::Anthropic),
        catalog: "anthropic",
    },
    Served {
        provider: Provider::Gemini,
        keys: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        address_variable: "GEMINI_BASE_URL",
        address: "https://generativelanguage.googleapis.com/v1beta",
        model: "gemini-3.8-flash",
        client: Some(aime_llm::Provider::Gemini),
        catalog: "gemini",
    },
    Served {
        provider: Provider::Deepseek,
        keys: &["DEEPSEEK_API_KEY"],
        address_variable: "DEEPSEEK_BASE_URL",
        address: "https://api.deepseek.com/v1",
        model: "deepseek-v4-pro",
        client: Some(aime_llm::Provider::DeepSeek),
        catalog: "deepseek",
    },
    Served {
        provider: Provider::Openrouter,
        keys: &["OPENROUTER_API_KEY"],
        address_variable: "OPENROUTER_BASE_URL",
        address: "https://openrouter.ai/api/v1",
        model: "openai/gpt-5.6-terra",
        client: Some(aime_llm::Provider::OpenRouter),
        catalog: "openrouter",
    },
    Served {
        provider: Provider::Mistral,
        keys: &["MISTRAL_API_KEY"],
        address_variable: "MISTRAL_BASE_URL",
        address: "https://api.mistral.ai/v1",
        model: "mistral-medium-latest",
        client: Some(aime_llm::Provider::Mistral),
        catalog: "mistral",
    },
];

impl Served {
    /// The row of a provider; none for models in this process.
    pub(crate) fn of(provider: Provider) -> Option<&'static Self> {
        SERVED.iter().find(|served| served.provider == provider)
    }

    /// The first provider for which the environment holds an address or a key.
    pub(crate) fn in_environment(environment: &Environment) -> Option<&'static Self> {
        SERVED.iter().find(|served| served.variables().any(|name| environment.text(name).is_some()))
    }

    /// The variables that choose this provider.
    pub(crate) fn variables(&self) -> impl Iterator<Item = &'static str> + use<> {
        std::iter::once(self.address_variable).chain(self.keys.iter().copied())
    }

    /// The variable whose key is sent: the first that is set, else the first there is.
    pub(crate) fn key_variable(&self, environment: &Environment) -> &'static str {
        let set = self.keys.iter().copied().find(|name| environment.text(name).is_some());
        set.or(self.keys.first().copied()).unwrap_or_default()
    }

    /// What chose it, for people: for OpenAI an address alone is enough, since servers of one's own ask for no key.
    pub(crate) fn because(&self, environment: &Environment) -> String {
        match self.provider {
            Provider::Openai => format!("{} or {}", self.address_variable, self.keys.join(" or ")),
            _ => self
                .variables()
                .find(|name| environment.text(name).is_some() && *name != self.address_variable)
                .unwrap_or(self.address_variable)
                .to_owned(),
        }
    }
}

/// All variables that hold keys of providers.
pub(crate) fn key_variables() -> impl Iterator<Item = &'static str> + use<> {
    SERVED.iter().flat_map(|served| served.keys.iter().copied())
}

/// Whether a server is on this machine or in its own network: its models cost nothing, and no catalog knows its window.
pub(crate) fn is_near(url: &str) -> bool {
    let host = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = host.split(['/', '?']).next().unwrap_or_default().rsplit('@').next().unwrap_or_default();
    let host = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    match host.parse::<std::net::IpAddr>() {
        Ok(std::net::IpAddr::V4(address)) => {
            address.is_loopback() || address.is_private() || address.is_link_local() || address.is_unspecified()
        }
        Ok(std::net::IpAddr::V6(address)) => address.is_loopback() || address.is_unique_local() || address.is_unicast_link_local(),
        Err(_) => !host.contains('.') || [".local", ".lan", ".internal", ".localhost"].iter().any(|end| host.ends_with(end)),
    }
}

/// The protocol that the configuration names.
pub(crate) const fn protocol(configured: crate::config::ProtocolConfig) -> Option<Protocol> {
    match configured {
        crate::config::ProtocolConfig::Auto => None,
        crate::config::ProtocolConfig::Responses => Some(Protocol::Responses),
        crate::config::ProtocolConfig::Chat => Some(Protocol::Chat),
        crate::config::ProtocolConfig::Messages => Some(Protocol::Messages),
        crate::config::ProtocolConfig::Gemini => Some(Protocol::Gemini),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_servers_are_told_by_their_address() {
        for near in [
            "http://127.0.0.1:8080/v1",
            "http://localhost/v1",
            "http://[::1]:1/v1",
            "http://10.0.0.7/v1",
            "http://gpu-box:8000/v1",
            "http://nas.local/v1",
        ] {
            assert!(is_near(near), "{near}");
        }
        for far in ["https://api.openai.com/v1", "http://8.8.8.8/v1", "https://u:p@host.example:8443/v1"] {
            assert!(!is_near(far), "{far}");
        }
    }
}
