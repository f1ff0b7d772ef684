//! `web_search`, through a provider of the user's choice.

use std::{sync::Arc, time::Duration};

use futures::future::BoxFuture;
use reqwest::{Client, RequestBuilder, redirect::Policy};
use schemars::JsonSchema;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::timeout;
use url::Url;

use crate::{
    Tool, ToolContext, ToolError, ToolOutput, ToolScope, TypedTool,
    tls::{NoTls, secured},
};

/// Maximum bytes of a response.
const MAX_BYTES: usize = 2 * 1024 * 1024;
/// Maximum characters of a title or an excerpt.
const MAX_WORDS: usize = 400;
const CONNECT: Duration = Duration::from_secs(10);

/// One search result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchHit {
    /// Title of the page.
    pub title: String,
    /// URL of the page.
    pub url: String,
    /// Matching excerpt of a few sentences; may be empty.
    pub excerpt: String,
}

/// Results of a search.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchResults {
    /// Answer in sentences, from providers that write one; empty otherwise.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub answer: String,
    /// Matching pages, the best first.
    #[serde(rename = "results")]
    pub hits: Vec<SearchHit>,
}

impl From<Vec<SearchHit>> for SearchResults {
    fn from(hits: Vec<SearchHit>) -> Self {
        Self { answer: String::new(), hits }
    }
}

impl SearchResults {
    /// Formats the results for a model: the answer, if there is one, then a numbered list.
    fn results_text(&self) -> String {
        let list = self.hits.iter().enumerate().map(|(at, hit)| {
            let excerpt = if hit.excerpt.is_empty() && !self.answer.is_empty() { String::new() } else { format!("\n   {}", hit.excerpt) };
            format!("{}. {}\n   {}{excerpt}", at + 1, hit.title, hit.url)
        });
        let list = list.collect::<Vec<_>>().join("\n");
        match (self.answer.as_str(), list.as_str()) {
            ("", "") => "Nothing was found.".to_owned(),
            ("", _) => list,
            (answer, _) => format!("{answer}\n\nSources:\n{list}"),
        }
    }

    /// Returns the results for other tasks: the list, or an object if there is an answer, too.
    fn value(&self) -> Value {
        if self.answer.is_empty() { json!(self.hits) } else { json!(self) }
    }
}

/// Error of a search. The text is for a model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the search with {provider} failed: {reason}")]
pub struct SearchError {
    /// Name of the provider.
    pub provider: String,
    /// Cause of the error.
    pub reason: String,
}

/// A provider of web searches.
pub trait SearchProvider: Send + Sync {
    /// Returns the name of the provider.
    fn name(&self) -> &str;

    /// Returns the time limit of a search; `usual` is the limit of the settings.
    fn time_limit(&self, usual: Duration) -> Duration {
        usual
    }

    /// Searches, and returns at most `limit` results, the best first. The context is that of the call.
    fn search<'a>(&'a self, query: &'a str, limit: usize, context: &'a ToolContext) -> BoxFuture<'a, Result<SearchResults, SearchError>>;
}

/// Providers of this crate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    SearXng,
    Brave,
    Tavily,
}

/// Reason why a provider could not be created.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HttpSearchError {
    /// The URL is invalid.
    #[error("{url:?} is not a valid address: {source}")]
    Address {
        /// The URL.
        url: String,
        /// The fault.
        source: url::ParseError,
    },
    /// No TLS connection can be made.
    #[error(transparent)]
    NoTls(#[from] NoTls),
}

/// A provider with an HTTP API.
pub struct HttpSearch {
    kind: Kind,
    client: Client,
    url: Url,
    key: Option<SecretString>,
}

impl HttpSearch {
    /// Creates a provider for a [SearXNG](https://docs.searxng.org/dev/search_api.html) instance at this URL. Its settings must allow the
    /// format `json`.
    ///
    /// # Errors
    /// [`HttpSearchError`] if the URL is invalid or TLS does not work.
    pub fn searxng(url: &str) -> Result<Self, HttpSearchError> {
        Self::new(Kind::SearXng, url, None)
    }

    /// Creates a provider for [Brave's search](https://api-dashboard.search.brave.com/app/documentation/web-search/get-started), at its own
    /// URL or another.
    ///
    /// # Errors
    /// [`HttpSearchError`] if the URL is invalid or TLS does not work.
    pub fn brave(url: Option<&str>, key: SecretString) -> Result<Self, HttpSearchError> {
        Self::new(Kind::Brave, url.unwrap_or("https://api.search.brave.com"), Some(key))
    }

    /// Creates a provider for [Tavily's search](https://docs.tavily.com/documentation/api-reference/endpoint/search), at its own URL or
    /// another.
    ///
    /// # Errors
    /// [`HttpSearchError`] if the URL is invalid or TLS does not work.
    pub fn tavily(url: Option<&str>, key: SecretString) -> Result<Self, HttpSearchError> {
        Self::new(Kind::Tavily, url.unwrap_or("https://api.tavily.com"), Some(key))
    }

    fn new(kind: Kind, url: &str, key: Option<SecretString>) -> Result<Self, HttpSearchError> {
        let client = secured(|builder| builder.connect_timeout(CONNECT).redirect(Policy::none()))?;
        let url = Url::parse(&format!("{}/", url.trim_end_matches('/')))
            .map_err(|source| HttpSearchError::Address { url: url.to_owned(), source })?;
        Ok(Self { kind, client, url, key })
    }

    fn request(&self, query: &str, limit: usize) -> Result<RequestBuilder, String> {
        let place = |path: &str| self.url.join(path).map_err(|error| error.to_string());
        let key = self.key.as_ref().map(ExposeSecret::expose_secret).unwrap_or_default();
        Ok(match self.kind {
            Kind::SearXng => {
                let mut url = place("search")?;
                url.query_pairs_mut().append_pair("q", query).append_pair("format", "json");
                self.client.get(url)
            }
            Kind::Brave => {
                let mut url = place("res/v1/web/search")?;
                url.query_pairs_mut().append_pair("q", query).append_pair("count", &limit.to_string());
                self.client.get(url).header("Accept", "application/json").header("X-Subscription-Token", key)
            }
            Kind::Tavily => self.client.post(place("search")?).bearer_auth(key).json(&json!({"query": query, "max_results": limit})),
        })
    }

    async fn ask(&self, query: &str, limit: usize) -> Result<Vec<SearchHit>, String> {
        let sent = self.request(query, limit)?.send().await;
        let mut response = sent.map_err(|error| error.without_url().to_string())?;
        let status = response.status();
        if !status.is_success() {
            let hint = match (self.kind, status.as_u16()) {
                (_, 401) => "; is the key right?",
                (Kind::SearXng, 403) => "; does its settings.yml allow the format json?",
                (_, 403) => "; is the key right?",
                (_, 429) => "; too many searches for now",
                _ => "",
            };
            return Err(format!("it answered {status}{hint}"));
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| error.without_url().to_string())? {
            if body.len() + chunk.len() > MAX_BYTES {
                return Err("it answered more than is read".to_owned());
            }
            body.extend_from_slice(&chunk);
        }
        let answer: Value = serde_json::from_slice(&body).map_err(|error| format!("its answer is no JSON: {error}"))?;
        Ok(hits(self.kind, &answer).into_iter().take(limit).collect())
    }
}

/// Returns the results in a response. Skips those without a web URL.
fn hits(kind: Kind, answer: &Value) -> Vec<SearchHit> {
    let (list, excerpt) = match kind {
        Kind::SearXng | Kind::Tavily => ("/results", "content"),
        Kind::Brave => ("/web/results", "description"),
    };
    let found = answer.pointer(list).and_then(Value::as_array).into_iter().flatten();
    let hit = |result: &Value| {
        let text = |key: &str| result.get(key).and_then(Value::as_str).unwrap_or_default();
        let url = text("url");
        (url.starts_with("http://") || url.starts_with("https://")).then(|| SearchHit {
            title: plain(text("title")),
            url: url.to_owned(),
            excerpt: plain(text(excerpt)),
        })
    };
    found.filter_map(hit).collect()
}

/// Removes HTML tags, joins lines, and cuts to the maximum length.
pub(super) fn plain(text: &str) -> String {
    let mut shown = String::new();
    let mut inside = false;
    for character in text.chars() {
        match character {
            '<' => inside = true,
            '>' if inside => inside = false,
            _ if inside => {}
            _ if character.is_whitespace() => shown.push(' '),
            _ if character.is_control() => {}
            _ => shown.push(character),
        }
    }
    let shown = shown
        .replace("&amp;", "&")
        .replace("&quot;", "\"")
        .replace("&#39;", "'")
        .replace("&#x27;", "'")
        .replace("&lt;", "<")
        .replace("&gt;", ">");
    shown.trim().chars().take(MAX_WORDS).collect()
}

impl SearchProvider for HttpSearch {
    fn name(&self) -> &str {
        match self.kind {
            Kind::SearXng => "SearXNG",
            Kind::Brave => "Brave",
            Kind::Tavily => "Tavily",
        }
    }

    fn search<'a>(&'a self, query: &'a str, limit: usize, _: &'a ToolContext) -> BoxFuture<'a, Result<SearchResults, SearchError>> {
        Box::pin(async move {
            let asked = self.ask(query, limit).await;
            asked.map(SearchResults::from).map_err(|reason| SearchError { provider: self.name().to_owned(), reason })
        })
    }
}

impl std::fmt::Debug for HttpSearch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpSearch").field("kind", &self.kind).field("url", &self.url.as_str()).finish_non_exhaustive()
    }
}

#[derive(Deserialize, JsonSchema)]
struct Parameters {
    /// Words to search for
    #[schemars(length(min = 1))]
    query: String,
}

/// Creates `web_search`. The user has configured the provider, and thereby consented to requests to it.
pub(super) fn tool(provider: Arc<dyn SearchProvider>, limit: usize, time: Duration) -> Arc<dyn Tool> {
    let time = provider.time_limit(time);
    let call = move |parameters: Parameters, context: ToolContext| {
        let provider = Arc::clone(&provider);
        async move {
            let asked = timeout(time, provider.search(&parameters.query, limit, &context));
            let results = match context.cancel.run_until_cancelled(asked).await {
                None => return Err(ToolError::Cancelled),
                Some(Ok(Ok(results))) => results,
                Some(Ok(Err(error))) => return Err(ToolError::Failed(error.to_string())),
                Some(Err(_)) => return Err(ToolError::TimedOut(format!("{} took longer than {} s", provider.name(), time.as_secs_f32()))),
            };
            Ok(ToolOutput { text: results.results_text(), value: results.value(), ..ToolOutput::default() })
        }
    };
    let description = "Search the web; tells titles, addresses and excerpts. Read a page with web_fetch.";
    Arc::new(TypedTool::new("web_search", description, call).read_only().touches(ToolScope::Network).time_limit(time + CONNECT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_each_provider_are_read() {
        let hit = |title: &str, excerpt: &str| SearchHit {
            title: title.to_owned(),
            url: "https://a.example/".to_owned(),
            excerpt: excerpt.to_owned(),
        };
        let table = [
            (
                Kind::SearXng,
                json!({"results": [{"title": "A", "url": "https://a.example/", "content": "b\nc"}, {"title": "no address"}]}),
                vec![hit("A", "b c")],
            ),
            (
                Kind::Brave,
                json!({"web": {"results": [{"title": "A &amp; B", "url": "https://a.example/", "description": "<strong>b</strong> c"}, {"title": "x", "url": "javascript:x"}]}}),
                vec![hit("A & B", "b c")],
            ),
            (
                Kind::Tavily,
                json!({"results": [{"title": "A", "url": "https://a.example/", "content": "x".repeat(900), "score": 0.9}]}),
                vec![hit("A", &"x".repeat(400))],
            ),
            (Kind::Brave, json!({"type": "search"}), vec![]),
        ];
        for (kind, answer, expected) in table {
            assert_eq!(hits(kind, &answer), expected, "{kind:?}");
        }
    }
}
