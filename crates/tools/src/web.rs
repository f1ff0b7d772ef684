//! The web: pages as Markdown, and searches.

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
    search::{HttpSearch, SearchError, SearchHit, SearchProvider, SearchResults},
};
use crate::Tool;

/// What of the web may be read, and who searches.
#[derive(Clone)]
pub struct WebSettings {
    /// Which hosts may be read.
    pub policy: WebPolicy,
    /// How long a page or a search may take. 30 s unless set.
    pub time_limit: Duration,
    /// Bytes of a page that are read. 5 MB unless set.
    pub most_bytes: usize,
    /// Who searches; without one there is no `web_search`.
    pub search: Option<Arc<dyn SearchProvider>>,
    /// Results of one search. 8 unless set.
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

/// `web_fetch`, and `web_search` where somebody searches.
///
/// # Errors
/// Why no secure connection can be made on this system, in words.
pub fn web_tools(settings: &WebSettings) -> Result<Vec<Arc<dyn Tool>>, String> {
    let mut tools = vec![fetch::tool(settings)?];
    if let Some(provider) = &settings.search {
        tools.push(search::tool(Arc::clone(provider), settings.results, settings.time_limit));
    }
    Ok(tools)
}
