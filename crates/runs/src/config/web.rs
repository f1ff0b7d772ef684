//! Settings of the web tools.

use aime_hosts::{UnreadableGrant, check_pattern, check_single};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::Error};

/// Web access of actors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WebConfig {
    /// Hosts that `web_fetch` may read without asking, such as `docs.rs`, `*.python.org`, or `*` for all.
    #[serde(deserialize_with = "patterns")]
    pub allowed_hosts: Vec<String>,
    /// Hosts that `web_fetch` never reads.
    #[serde(deserialize_with = "patterns")]
    pub blocked_hosts: Vec<String>,
    /// Hosts on this machine or a private network that it may read nevertheless, such as `wiki.intern` or `127.0.0.1:8080`.
    #[serde(deserialize_with = "singles")]
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

fn patterns<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    hosts(deserializer, check_pattern)
}

fn singles<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    hosts(deserializer, check_single)
}

/// Refuses an entry that can match no host. Ignoring it silently would be unsafe in a list of denied hosts.
fn hosts<'de, D: Deserializer<'de>>(deserializer: D, check: fn(&str) -> Result<(), UnreadableGrant>) -> Result<Vec<String>, D::Error> {
    let hosts = Vec::<String>::deserialize(deserializer)?;
    hosts.iter().try_for_each(|host| check(host)).map_err(Error::custom)?;
    Ok(hosts)
}

const fn usual_results() -> usize {
    8
}

impl WebConfig {
    /// Returns a message for every invalid value.
    pub(super) fn faults(&self) -> Vec<String> {
        let mut found = Vec::new();
        if !(1..=600).contains(&self.timeout_seconds) {
            found.push(format!("web.timeout_seconds is {}: write 1 to 600", self.timeout_seconds));
        }
        if !(1..=50).contains(&self.max_megabytes) {
            found.push(format!("web.max_megabytes is {}: write 1 to 50", self.max_megabytes));
        }
        let Some(search) = &self.search else { return found };
        if !(1..=20).contains(&search.results) {
            found.push(format!("web.search.results is {}: write 1 to 20", search.results));
        }
        if search.provider == SearchProviderConfig::Searxng && search.url.is_none() {
            found.push("web.search.url is missing: a SearXNG is one's own, so write its address".to_owned());
        }
        let has_key = matches!(search.provider, SearchProviderConfig::Brave | SearchProviderConfig::Tavily);
        if has_key && search.api_key_env.is_none() {
            found.push("web.search.api_key_env is missing: write the variable that holds the provider's key".to_owned());
        }
        if search.provider == SearchProviderConfig::Model && (search.url.is_some() || search.api_key_env.is_some()) {
            found.push("web.search takes no url and no api_key_env with the provider `model`: write them into [models.search]".to_owned());
        }
        if search.url.as_ref().is_some_and(|url| !url.starts_with("http://") && !url.starts_with("https://")) {
            found.push("web.search.url must begin with http:// or https://".to_owned());
        }
        found
    }
}
