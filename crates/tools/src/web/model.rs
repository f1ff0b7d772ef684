//! Web search through a model's provider.

use std::{sync::Arc, time::Duration};

use aime_llm::{ChatRequest, Citation, Message};
use futures::future::BoxFuture;

use super::search::{SearchError, SearchHit, SearchProvider, SearchResults, plain};
use crate::{AskModel, ToolContext};

/// System prompt.
const PROMPT: &str = include_str!("../../prompts/web_search.md");
/// Maximum characters of an answer.
const MAX_ANSWER: usize = 4_000;
/// Minimum time limit: a model searches several times and reads pages before it answers.
const MIN_TIME: Duration = Duration::from_secs(120);

/// Role of the model that searches, if one is configured; otherwise the default model.
const ROLE: &str = "search";

/// Search provider that asks a model of the run, whose provider searches the web. Returns the model's answer with the pages that it cites.
/// Each search is one request; the provider bills tokens and the search, and the cost counts toward the run. An answer that cites no page
/// is rejected, since it may be made up.
#[derive(Debug, Clone, Copy)]
pub struct ModelSearch;

impl ModelSearch {
    async fn ask(model: &AskModel, query: &str, limit: usize) -> Result<SearchResults, String> {
        let messages = vec![Arc::new(Message::system(PROMPT.trim_end())), Arc::new(Message::user(query))];
        let request = ChatRequest { messages, web_search: true, ..ChatRequest::default() };
        let response = model.ask(ROLE, request).await.map_err(|error| error.to_string())?;
        let hits: Vec<_> = response.citations.iter().filter_map(hit).take(limit).collect();
        if hits.is_empty() {
            return Err("it answered without citing a page: its provider may not search the web, or found nothing".to_owned());
        }
        let answer =
            response.content.trim().chars().filter(|character| !character.is_control() || *character == '\n').take(MAX_ANSWER).collect();
        Ok(SearchResults { answer, hits })
    }
}

/// Converts a cited web page to a search hit.
fn hit(citation: &Citation) -> Option<SearchHit> {
    let url = &citation.url;
    let is_web = url.starts_with("http://") || url.starts_with("https://");
    is_web.then(|| SearchHit { title: plain(&citation.title), url: url.clone(), excerpt: String::new() })
}

impl SearchProvider for ModelSearch {
    fn name(&self) -> &str {
        "a model"
    }

    fn time_limit(&self, usual: Duration) -> Duration {
        usual.max(MIN_TIME)
    }

    fn search<'a>(&'a self, query: &'a str, limit: usize, context: &'a ToolContext) -> BoxFuture<'a, Result<SearchResults, SearchError>> {
        Box::pin(async move {
            let asked = match &context.model {
                Some(model) => Self::ask(model, query, limit).await,
                None => Err("no model is set up".to_owned()),
            };
            asked.map_err(|reason| SearchError { provider: self.name().to_owned(), reason })
        })
    }
}
