//! A search that a model's provider makes.

use std::{sync::Arc, time::Duration};

use aime_llm::{ChatModel, ChatRequest, Citation, Message, Model};
use futures::future::BoxFuture;

use super::search::{SearchError, SearchHit, SearchProvider, SearchResults, plain};

/// The system prompt.
const PROMPT: &str = include_str!("../../prompts/web_search.md");
/// The longest answer that is passed on, in characters.
const MAX_ANSWER: usize = 4_000;
/// A model searches several times and reads pages before it answers.
const MIN_TIME: Duration = Duration::from_secs(120);

/// Asks a model whose provider searches the web, and returns its answer with the pages that it cites. Each search is one request, which the
/// provider bills for tokens and for the search. An answer that cites no page is refused: it may be made up.
pub struct ModelSearch {
    model: Option<Model>,
}

impl ModelSearch {
    /// Asks this model. Without one every search fails: for lists of tools.
    #[must_use]
    pub const fn new(model: Option<Model>) -> Self {
        Self { model }
    }

    async fn ask(&self, query: &str, limit: usize) -> Result<SearchResults, String> {
        let model = self.model.as_ref().ok_or("no model is set up")?;
        let messages = vec![Arc::new(Message::system(PROMPT.trim_end())), Arc::new(Message::user(query))];
        let request = ChatRequest { messages, web_search: true, ..ChatRequest::default() };
        let response = model.complete(request).await.map_err(|error| error.to_string())?;
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
        self.model.as_ref().map_or("a model", |model| model.name())
    }

    fn time_limit(&self, usual: Duration) -> Duration {
        usual.max(MIN_TIME)
    }

    fn search<'a>(&'a self, query: &'a str, limit: usize) -> BoxFuture<'a, Result<SearchResults, SearchError>> {
        Box::pin(async move {
            let asked = self.ask(query, limit).await;
            asked.map_err(|reason| SearchError { provider: self.name().to_owned(), reason })
        })
    }
}

impl std::fmt::Debug for ModelSearch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ModelSearch").field("model", &self.name()).finish()
    }
}
