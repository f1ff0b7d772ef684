//! Web tools: pages as Markdown, and searches.

mod client;
mod fetch;
mod model;
mod page;
mod policy;
mod search;

use std::{fmt, sync::Arc, time::Duration};

pub use self::{
    model::ModelSearch,
    policy::WebPolicy,
    search::{HttpSearch, HttpSearchError, SearchError, SearchHit, SearchProvider, SearchResults},
};
use crate::{NoTls, Tool};

/// Settings of the web tools.
#[derive(Clone)]
pub struct WebSettings {
    /// Hosts that may be read.
    pub policy: WebPolicy,
    /// Time limit of a page or a search. Default: 30 s.
    pub time_limit: Duration,
    /// Maximum bytes of a page that are read. Default: 5 MB.
    pub most_bytes: usize,
    /// Search provider; without one there is no `web_search`.
    pub search: Option<Arc<dyn SearchProvider>>,
    /// Number of results of one search. Default: 8.
    pub results: usize,
}

impl Default for WebSettings {
    fn default() -> Self {
        let time_limit = Duration::from_secs(30);
        Self { policy: WebPolicy::default(), time_limit, most_bytes: 5_000_000, search: None, results: 8 }
    }
}

impl fmt::Debug for WebSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebSettings")
            .field("policy", &self.policy)
            .field("time_limit", &self.time_limit)
            .field("most_bytes", &self.most_bytes)
            .field("search", &self.search.as_ref().map(|search| search.name().to_owned()))
            .field("results", &self.results)
            .finish()
    }
}

/// Returns `web_fetch`, and `web_search` if a search provider is set.
///
/// # Errors
/// [`NoTls`] if no TLS connection can be made on this system.
pub fn web_tools(settings: &WebSettings) -> Result<Vec<Arc<dyn Tool>>, NoTls> {
    let mut tools = vec![fetch::tool(settings)?];
    if let Some(provider) = &settings.search {
        tools.push(search::tool(Arc::clone(provider), settings.results, settings.time_limit));
    }
    Ok(tools)
}
