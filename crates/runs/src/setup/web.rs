//! Web tools as configured.

use std::{sync::Arc, time::Duration};

use aime_llm::Protocol;
use aime_messages::{Message, message};
use aime_orchestrator::Models;
use aime_tools::{HttpSearch, ModelSearch, SearchProvider, Tool, WebPolicy, WebSettings, web_tools};
use secrecy::SecretString;

use super::Setup;
use crate::{
    config::{Provider, SearchProviderConfig},
    models,
};

/// Role of the model that searches, if it is not the default one.
const ROLE: &str = "search";

impl Setup {
    /// Returns `web_fetch` and, if a search provider exists, `web_search`. A notice names what is unavailable. Without the models of a run,
    /// the configured ones count.
    pub(super) fn web_tools(&self, models: Option<&Models>) -> Vec<Arc<dyn Tool>> {
        let web = &self.config.web;
        let search = self.search(models).unwrap_or_else(|why| {
            self.note(message!("no-web-search", reason = why));
            None
        });
        let settings = WebSettings {
            policy: WebPolicy {
                allowed: web.allowed_hosts.clone(),
                blocked: web.blocked_hosts.clone(),
                private: web.private_hosts.clone(),
            },
            time_limit: Duration::from_secs(web.timeout_seconds),
            most_bytes: usize::try_from(web.max_megabytes.saturating_mul(1_000_000)).unwrap_or(usize::MAX),
            search,
            results: web.search.as_ref().map_or(1, |search| search.results),
        };
        web_tools(&settings).unwrap_or_else(|why| {
            self.note(message!("no-web", why = why));
            Vec::new()
        })
    }

    /// Returns the search provider, if any.
    fn search(&self, of_run: Option<&Models>) -> Result<Option<Arc<dyn SearchProvider>>, Message> {
        let Some(search) = &self.config.web.search else { return Ok(None) };
        let url = search.url.as_deref();
        let key = || {
            let variable = search.api_key_env.as_deref().unwrap_or_default();
            self.environment.text(variable).map(SecretString::from).ok_or_else(|| message!("no-variable", variable))
        };
        let provider = match search.provider {
            SearchProviderConfig::Searxng => HttpSearch::searxng(url.unwrap_or_default()),
            SearchProviderConfig::Brave => HttpSearch::brave(url, key()?),
            SearchProviderConfig::Tavily => HttpSearch::tavily(url, key()?),
            SearchProviderConfig::Model => return self.model_search(of_run).map(|provider| Some(Arc::new(provider) as _)),
        };
        provider.map(|provider| Some(Arc::new(provider) as Arc<dyn SearchProvider>)).map_err(Message::text)
    }

    /// Returns a search by the run's model, or by the model of the role `search`, which must support search.
    fn model_search(&self, of_run: Option<&Models>) -> Result<ModelSearch, Message> {
        let own = self.config.models.get(ROLE);
        let protocol = match (of_run, own) {
            (Some(models), _) => models.role(ROLE).protocol(),
            (None, Some(config)) => models::client(ROLE, config, &self.environment).map_err(|failure| failure.with_causes())?.protocol(),
            (None, None) => self.default_protocol(),
        };
        match protocol.filter(|protocol| !protocol.searches_the_web()) {
            None => Ok(ModelSearch),
            Some(protocol) if own.is_some() => Err(message!("no-search", protocol = protocol.as_str())),
            Some(protocol) => Err(message!("no-search-default", protocol = protocol.as_str())),
        }
    }

    /// Returns the protocol of the default model, as far as it is known: no faulty setting of the model matters here.
    fn default_protocol(&self) -> Option<Protocol> {
        let choice = models::choose(&self.config, &self.environment, None).ok()??;
        let config = choice.models.get("default").filter(|config| config.provider != Provider::Local)?;
        models::client("default", config, &self.environment).ok()?.protocol()
    }
}
