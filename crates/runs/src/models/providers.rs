//! Providers for which a key in the environment suffices. A new provider is a new row here.

#[cfg(test)]
mod tests;

use std::net::IpAddr;

use aime_llm::Protocol;
use aime_messages::{Message, message};

use crate::{config::Provider, environment::Environment};

/// Built-in data on a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProviderDefaults {
    /// Provider as named in settings.
    pub provider: Provider,
    /// Variables that may hold its key; the first one that is set is used.
    pub keys: &'static [&'static str],
    /// Variable that may hold another address.
    pub address_variable: &'static str,
    /// Default address.
    pub address: &'static str,
    /// Default model.
    pub model: &'static str,
    /// Provider as named in the client; none if the address implies it.
    pub client: Option<aime_llm::Provider>,
    /// Name in settings and in the model catalog.
    pub catalog: &'static str,
}

/// Providers, in the order of preference if several have keys.
pub const SERVED: [ProviderDefaults; 6] = [
    ProviderDefaults {
        provider: Provider::Openai,
        keys: &["OPENAI_API_KEY"],
        address_variable: "OPENAI_BASE_URL",
        address: "https://api.openai.com/v1",
        model: "gpt-5.6-terra",
        client: None,
        catalog: "openai",
    },
    ProviderDefaults {
        provider: Provider::Anthropic,
        keys: &["ANTHROPIC_API_KEY"],
        address_variable: "ANTHROPIC_BASE_URL",
        address: "https://api.anthropic.com",
        model: "claude-sonnet-5-5",
        client: Some(aime_llm::Provider::Anthropic),
        catalog: "anthropic",
    },
    ProviderDefaults {
        provider: Provider::Gemini,
        keys: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        address_variable: "GEMINI_BASE_URL",
        address: "https://generativelanguage.googleapis.com/v1beta",
        model: "gemini-3.8-flash",
        client: Some(aime_llm::Provider::Gemini),
        catalog: "gemini",
    },
    ProviderDefaults {
        provider: Provider::Deepseek,
        keys: &["DEEPSEEK_API_KEY"],
        address_variable: "DEEPSEEK_BASE_URL",
        address: "https://api.deepseek.com/v1",
        // DeepSeek's alias for its current model, V4.1 Flash. The server answers requests to `deepseek-v4-pro` too.
        model: "deepseek-flash",
        client: Some(aime_llm::Provider::DeepSeek),
        catalog: "deepseek",
    },
    ProviderDefaults {
        provider: Provider::Openrouter,
        keys: &["OPENROUTER_API_KEY"],
        address_variable: "OPENROUTER_BASE_URL",
        address: "https://openrouter.ai/api/v1",
        model: "openai/gpt-5.6-terra",
        client: Some(aime_llm::Provider::OpenRouter),
        catalog: "openrouter",
    },
    ProviderDefaults {
        provider: Provider::Mistral,
        keys: &["MISTRAL_API_KEY"],
        address_variable: "MISTRAL_BASE_URL",
        address: "https://api.mistral.ai/v1",
        model: "mistral-medium-latest",
        client: Some(aime_llm::Provider::Mistral),
        catalog: "mistral",
    },
];

impl ProviderDefaults {
    /// Returns the row of a provider; none for models in this process.
    pub fn of(provider: Provider) -> Option<&'static Self> {
        SERVED.iter().find(|served| served.provider == provider)
    }

    /// Returns the variable that holds its key in this environment.
    pub fn set_key(&self, environment: &Environment) -> Option<&'static str> {
        self.keys.iter().copied().find(|name| environment.text(name).is_some())
    }

    /// Returns the variables by which the environment chooses this provider: its key, with its address. For OpenAI an address alone
    /// suffices, since compatible servers need no key.
    fn chosen_by(&self, environment: &Environment) -> Vec<&'static str> {
        let address = Some(self.address_variable).filter(|name| environment.text(name).is_some());
        let key = self.set_key(environment);
        if key.is_none() && self.provider != Provider::Openai {
            return Vec::new();
        }
        address.into_iter().chain(key).collect()
    }

    /// Returns the variable whose key is sent: the first one that is set, or else the first of the list.
    pub fn key_variable(&self, environment: &Environment) -> &'static str {
        self.set_key(environment).or(self.keys.first().copied()).unwrap_or_default()
    }

    /// Returns true if an address is on the provider's own server, whatever its path, so that the provider's key may go there.
    pub fn is_own_address(&self, url: &str) -> bool {
        secure_authority(url).zip(secure_authority(self.address)).is_some_and(|(other, own)| other.eq_ignore_ascii_case(own))
    }
}

/// Returns the host of an `https` address, with its port unless that is the usual one. A user name stays part of it, so that no address
/// with one equals a provider's own.
fn secure_authority(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://").filter(|(scheme, _)| scheme.eq_ignore_ascii_case("https"))?;
    let authority = rest.split(['/', '\\', '?', '#']).next().unwrap_or_default();
    Some(authority.strip_suffix(":443").unwrap_or(authority))
}

/// Provider that the environment chooses if no file names a model.
#[derive(Debug)]
pub struct EnvironmentProvider {
    /// Row of the provider.
    pub served: &'static ProviderDefaults,
    /// Variables that chose it.
    pub variables: Vec<&'static str>,
    /// Variables that would have chosen later providers.
    pub later: Vec<&'static str>,
}

impl EnvironmentProvider {
    /// Returns the first provider of the table whose variables are set.
    pub fn in_environment(environment: &Environment) -> Option<Self> {
        let by_variables = |served: &'static ProviderDefaults| (served, served.chosen_by(environment));
        let mut set = SERVED.iter().map(by_variables).filter(|(_, variables)| !variables.is_empty());
        let (served, variables) = set.next()?;
        Some(Self { served, variables, later: set.filter_map(|(_, variables)| variables.last().copied()).collect() })
    }

    /// Returns true if the environment sets its address, so that a model name is the server's own.
    pub fn has_address(&self) -> bool {
        self.variables.contains(&self.served.address_variable)
    }

    /// Returns the reason for this provider, for people.
    pub fn because(&self) -> Message {
        let later = self.later.join(", ");
        let set = match self.variables[..] {
            [first, second] => message!("two-variables", first = first, second = second),
            _ => Message::text(self.variables.join(", ")),
        };
        match (self.variables.len(), later.is_empty()) {
            (1, true) => message!("because-set", variable = set),
            (1, false) => message!("because-set-first", variable = set, variables = later),
            (_, true) => message!("because-sets", variables = set),
            (_, false) => message!("because-sets-first", variables = set, later),
        }
    }

    /// Returns the reason for this provider if `source` names the model. An address says where, else the key does.
    pub fn because_named(&self, source: Message) -> Message {
        let (variable, later) = (self.variables.first().copied().unwrap_or_default(), self.later.join(", "));
        match later.is_empty() {
            true => message!("because-both", source, place = variable),
            false => message!("because-both-first", source, variable = variable, variables = later),
        }
    }
}

/// Returns all variables that hold keys of providers.
pub(crate) fn key_variables() -> impl Iterator<Item = &'static str> + use<> {
    SERVED.iter().flat_map(|served| served.keys.iter().copied())
}

/// Returns true if a server is on this machine or in its local network. Its models cost nothing, and no catalog lists their windows.
pub(crate) fn is_near(url: &str) -> bool {
    let host = host(url);
    match host.parse::<IpAddr>() {
        Ok(IpAddr::V4(address)) => address.is_loopback() || address.is_private() || address.is_link_local() || address.is_unspecified(),
        Ok(IpAddr::V6(address)) => address.is_loopback() || address.is_unique_local() || address.is_unicast_link_local(),
        Err(_) => !host.contains('.') || [".local", ".lan", ".internal", ".localhost"].iter().any(|end| host.ends_with(end)),
    }
}

/// Returns true if a server is on this machine.
pub(crate) fn is_loopback(url: &str) -> bool {
    let host = host(url);
    host == "localhost" || host.ends_with(".localhost") || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn host(url: &str) -> &str {
    let host = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = host.split(['/', '?']).next().unwrap_or_default().rsplit('@').next().unwrap_or_default();
    match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    }
}

/// Converts the configured protocol.
pub(crate) const fn protocol(configured: crate::config::ProtocolConfig) -> Option<Protocol> {
    match configured {
        crate::config::ProtocolConfig::Auto => None,
        crate::config::ProtocolConfig::Responses => Some(Protocol::Responses),
        crate::config::ProtocolConfig::Chat => Some(Protocol::Chat),
        crate::config::ProtocolConfig::Messages => Some(Protocol::Messages),
        crate::config::ProtocolConfig::Gemini => Some(Protocol::Gemini),
    }
}
