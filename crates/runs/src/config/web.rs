//! Settings of the web tools.

use aime_hosts::{check_pattern, check_single};
use aime_messages::message;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::check::{OtherKey, ValueFault, range};

/// Web access of actors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WebConfig {
    /// Hosts that `web_fetch` may read without asking, such as `docs.rs`, `*.python.org`, or `*` for all.
    pub allowed_hosts: Vec<String>,
    /// Hosts that `web_fetch` never reads.
    pub blocked_hosts: Vec<String>,
    /// Hosts on this machine or a private network that it may read nevertheless, such as `wiki.intern` or `127.0.0.1:8080`.
    pub private_hosts: Vec<String>,
    /// Time limit of a page or a search, in seconds.
    pub timeout_seconds: u64,
    /// Maximum size that is read of a page, in megabytes.
    pub max_megabytes: u64,
    /// Search provider; without it there is no `web_search`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search: Option<SearchConfig>,
}

impl Default for WebConfig {
    fn default() -> Self {
        Self {
            allowed_hosts: Vec::new(),
            blocked_hosts: Vec::new(),
            private_hosts: Vec::new(),
            timeout_seconds: 30,
            max_megabytes: 5,
            search: None,
        }
    }
}

/// Settings of the web search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchConfig {
    /// Search provider: `searxng`, `brave`, `tavily` or `model`.
    pub provider: SearchProviderConfig,
    /// Address of the server: required for `searxng`, the provider's own if absent for the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Environment variable that holds the key. The key itself must not be in a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key_env: Option<String>,
    /// Maximum number of results of one search.
    #[serde(default = "usual_results")]
    pub results: usize,
}

/// Provider of web searches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SearchProviderConfig {
    /// The user's own `SearXNG` server.
    Searxng,
    /// Brave's search.
    Brave,
    /// Tavily's search.
    Tavily,
    /// Provider of the model `search`, or of the default model, if it searches the web for its models.
    Model,
}

const fn usual_results() -> usize {
    8
}

impl WebConfig {
    /// Returns the faults of a search provider that lacks a setting, or has one that it does not use.
    pub(super) fn combination_faults(&self) -> Vec<ValueFault> {
        let Some(search) = &self.search else { return Vec::new() };
        let mut found = Vec::new();
        if search.provider == SearchProviderConfig::Searxng && search.url.is_none() {
            found.push(ValueFault::new("web.search", message!("search-no-url")));
        }
        let has_key = matches!(search.provider, SearchProviderConfig::Brave | SearchProviderConfig::Tavily);
        if has_key && search.api_key_env.is_none() {
            found.push(ValueFault::new("web.search", message!("search-no-key")));
        }
        for (key, is_set) in [("url", search.url.is_some()), ("api_key_env", search.api_key_env.is_some())] {
            if search.provider == SearchProviderConfig::Model && is_set {
                let fault = ValueFault::new(format!("web.search.{key}"), message!("search-of-model"));
                found.push(fault.against(OtherKey::Decides("web.search.provider".to_owned())));
            }
        }
        found
    }

    /// Returns a message for every invalid value.
    pub(super) fn faults(&self) -> Vec<ValueFault> {
        let mut found = Vec::new();
        for (key, hosts) in [("web.allowed_hosts", &self.allowed_hosts), ("web.blocked_hosts", &self.blocked_hosts)] {
            found.extend(hosts.iter().filter_map(|host| check_pattern(host).err()).map(|error| ValueFault::of(key, &error)));
        }
        let singles = self.private_hosts.iter().filter_map(|host| check_single(host).err());
        found.extend(singles.map(|error| ValueFault::of("web.private_hosts", &error)));
        if !(1..=600).contains(&self.timeout_seconds) {
            found.push(ValueFault::value("web.timeout_seconds", self.timeout_seconds, range(1, 600)));
        }
        if !(1..=50).contains(&self.max_megabytes) {
            found.push(ValueFault::value("web.max_megabytes", self.max_megabytes, range(1, 50)));
        }
        let Some(search) = &self.search else { return found };
        if !(1..=20).contains(&search.results) {
            found.push(ValueFault::value("web.search.results", search.results, range(1, 20)));
        }
        if search.url.as_ref().is_some_and(|url| !url.starts_with("http://") && !url.starts_with("https://")) {
            found.push(ValueFault::new("web.search.url", message!("url-scheme", key = "web.search.url")));
        }
        found
    }
}
