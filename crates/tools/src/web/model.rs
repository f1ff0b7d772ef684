//! A search that a model's provider makes.

use std::{sync::Arc, time::Duration};

use aime_llm::{ChatRequest, Citation, Message};
use futures::future::BoxFuture;

use super::search::{SearchError, SearchHit, SearchProvider, SearchResults, plain};
use crate::{AskModel, ToolContext};

/// The system prompt.
const PROMPT: &str = include_str!("../../prompts/web_search.md");
/// The longest answer that is passed on, in characters.
const MAX_ANSWER: usize = 4_000;
/// A model searches several times and reads pages before it answers.
const MIN_TIME: Duration = Duration::from_secs(120);

/// The role of the model that searches, if it is not the default one.
const ROLE: &str = "search";

/// Asks a model of the run, whose provider searches the web, and returns its answer with the pages that it cites. Each search is one request, which
/// the provider bills for tokens and for the search, and which counts for the run. An answer that cites no page is refused: it may be made up.
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

/// A cited page of the web.
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
