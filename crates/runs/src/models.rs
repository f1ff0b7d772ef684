//! Selection of models: flags, then environment, then files.

mod found;
#[cfg(feature = "local-model")]
pub mod local;
#[cfg(not(feature = "local-model"))]
#[path = "models/no_local.rs"]
pub mod local;
mod providers;
#[cfg(test)]
mod tests;
mod trial;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use aime_llm::{FactsSource, ModelFacts, ModelLimits, ModelStack, OpenAiSettings, Prices, SettingsError, model_facts};
use aime_messages::{Message, message};
use aime_orchestrator::Models;
use secrecy::SecretString;

pub use found::{FoundServer, found_servers, other_keys, searched_places};
pub(crate) use providers::key_variables;
pub use providers::{EnvironmentProvider, ProviderDefaults, SERVED};
use providers::{is_loopback, is_near};
pub use trial::{TrialResult, TriedModel, as_asked, try_model};

use crate::{
    config::{Config, ModelConfig, Provider},
    environment::Environment,
    error::{ErrorKind, RunsError},
    hint::Hint,
    setup::Setup,
};

/// Roles that resolve to a model even if none of that name is configured.
pub const ROLES: [&str; 3] = ["default", "planner", "classifier"];
/// Roles that are done by another role's model unless one of that name is configured.
const OTHER_ROLES: [&str; 3] = ["lead", "auditor", "search"];
/// Environment variable that names the model.
const VARIABLE: &str = "AIME_MODEL";
/// Beginnings of the names of models whose weights are not published.
const HOSTED_ONLY: [&str; 3] = ["gpt-", "claude-", "gemini-"];
/// Beginning of the names of OpenAI's models that anybody may serve.
const OPEN_WEIGHTS: &str = "gpt-oss";
/// Assumed context window of a nearby server that does not report one, in tokens.
const NEAR_WINDOW: u32 = 32_768;
/// Longest answer of a small nearby model, in tokens. Other models may think first, so they get no such limit.
const NEAR_ANSWER: u32 = 4_096;

/// Returns the reason for the local model as the default.
#[must_use]
pub fn no_other() -> Message {
    message!("because-none")
}

/// Models that were selected before any is called.
#[derive(Debug, Clone)]
pub struct Choice {
    /// Every usable model by role or name; `default` is always among them.
    pub models: BTreeMap<String, ModelConfig>,
    /// Reason for this default, for people.
    pub because: Message,
}

/// Model that a person or a client names, and the place where it does so.
#[derive(Debug, Clone)]
pub struct NamedModel<'a> {
    /// Name of a configured model, or of one at a server.
    pub name: &'a str,
    /// Words for the place, such as a flag.
    pub source: Message,
}

impl<'a> NamedModel<'a> {
    /// Creates a model that a request of a client names.
    #[must_use]
    pub fn in_request(name: &'a str) -> Self {
        Self { name, source: message!("because-request") }
    }
}

/// Selects models without connecting. If nothing names a model, it selects the local one, in a build that has it.
///
/// A name in the local catalog means a local model, unless a server is configured: then it is the server's own name.
pub fn choose(config: &Config, environment: &Environment, named: Option<NamedModel<'_>>) -> Result<Option<Choice>, RunsError> {
    let of_variable = || Some(NamedModel { name: environment.text(VARIABLE)?, source: Message::text(VARIABLE) });
    let named = named.or_else(of_variable);
    let configured = config.models.get("default");
    let chosen = EnvironmentProvider::in_environment(environment);
    let is_served =
        chosen.as_ref().is_some_and(EnvironmentProvider::has_address) || configured.is_some_and(|model| model.provider != Provider::Local);
    let remote = |model: &str| ModelConfig {
        provider: chosen.as_ref().map_or_else(Provider::default, |chosen| chosen.served.provider),
        model: model.to_owned(),
        ..ModelConfig::default()
    };
    let local = |model: &str| ModelConfig { provider: Provider::Local, model: model.to_owned(), ..ModelConfig::default() };
    let (default, because) = match (named, configured) {
        (Some(NamedModel { name, source }), _) if config.models.contains_key(name) => {
            (config.models.get(name).cloned(), message!("because-named", source, name = name))
        }
        (Some(NamedModel { name, source }), None) if !is_served && local::is_local(name) => (Some(local(name)), source),
        (Some(NamedModel { name, source }), Some(base)) => {
            let place = address_setting(base, environment).filter(|place| *place != BASE_URL).unwrap_or("[models.default]");
            (Some(renamed(base, name)), message!("because-both", source, place))
        }
        (Some(NamedModel { name, source }), None) => {
            let because = chosen.as_ref().map_or_else(|| source.clone(), |chosen| chosen.because_named(source.clone()));
            (Some(remote(name)), because)
        }
        (None, Some(base)) => (Some(base.clone()), Message::text("[models.default]")),
        (None, None) => match &chosen {
            Some(chosen) => (Some(remote("")), chosen.because()),
            None if local::AVAILABLE => (Some(local("")), no_other()),
            None => (None, Message::text("")),
        },
    };
    let Some(default) = default else { return Ok(None) };
    let mut models = config.models.clone();
    models.insert("default".to_owned(), default);
    Ok(Some(Choice { models, because }))
}

/// Returns the settings of a model with another name. They keep what concerns the server and the role. What describes the configured model
/// is left out, unless the name means the same model.
fn renamed(base: &ModelConfig, name: &str) -> ModelConfig {
    let named = ModelConfig { model: name.to_owned(), path: None, ..base.clone() };
    if model_name(&named) == model_name(base) {
        return named;
    }
    ModelConfig { images: None, context_tokens: None, max_output_tokens: None, small: None, prices: None, ..named }
}

/// Returns the error for a missing model configuration.
pub fn none_configured() -> RunsError {
    let keys: Vec<&str> = key_variables().collect();
    RunsError::model(message!("none-configured")).hint(Hint::ConfigureModel(keys.join(", ")))
}

/// Creates the models of a choice, and downloads the local ones that are used and missing.
pub async fn ready(choice: &Choice, setup: &Setup) -> Result<Models, RunsError> {
    let used = used(choice, setup)?;
    local::prepare(choice, &used, setup).await?;
    let mut choice = choice.clone();
    let asked = choice.models.iter_mut().filter(|(name, _)| used.contains(*name));
    futures::future::join_all(asked.map(|(name, config)| ask_for_window(name, config, &setup.environment))).await;
    build(&choice, setup)
}

/// Asks a nearby server for the window of its model if no file sets one. In offline mode it asks only servers on this machine.
pub async fn ask_for_window(name: &str, config: &mut ModelConfig, environment: &Environment) {
    let url = server(config, environment).0;
    let may_ask = is_near(&url) && (is_loopback(&url) || !environment.is_set("AIME_OFFLINE"));
    if config.provider == Provider::Local || config.context_tokens.is_some() || !may_ask {
        return;
    }
    if let Ok(settings) = settings(name, config, environment) {
        config.context_tokens = aime_llm::served_window(&settings).await;
    }
}

/// Creates the models of a choice. Unused local models are left out, since their files may be missing.
pub fn build(choice: &Choice, setup: &Setup) -> Result<Models, RunsError> {
    let used = used(choice, setup)?;
    let mut opened = local::Opened::default();
    let mut single: BTreeMap<&str, ModelStack> = BTreeMap::new();
    for (name, model) in &choice.models {
        if model.provider != Provider::Local || used.contains(name) {
            single.insert(name, self::single(name, model, choice, &mut opened, setup)?);
        }
    }
    if let Some(fault) = fallback_faults(&choice.models).next() {
        return Err(fault);
    }
    let mut roles: BTreeMap<String, ModelStack> = BTreeMap::new();
    for (name, model) in &choice.models {
        let Some(first) = single.get(name.as_str()).cloned() else { continue };
        let others: Vec<_> = model.fallback.iter().filter_map(|other| single.get(other.as_str()).cloned()).collect();
        roles.insert(name.clone(), if others.is_empty() { first } else { first.or_else(others) });
    }
    Models::new(roles).ok_or_else(none_configured)
}

/// Returns the models that a run may ask: the roles, those that profiles and categories name, their fallbacks, and all models on servers,
/// which tasks of a plan may name.
fn used(choice: &Choice, setup: &Setup) -> Result<BTreeSet<String>, RunsError> {
    let mut open: Vec<String> = ROLES.into_iter().chain(OTHER_ROLES).map(str::to_owned).collect();
    open.extend(setup.profiles()?.iter().filter_map(|profile| profile.model.clone()));
    open.extend(setup.categories()?.into_iter().filter_map(|category| category.model));
    open.extend(choice.models.iter().filter(|(_, model)| model.provider != Provider::Local).map(|(name, _)| name.clone()));
    let mut used = BTreeSet::new();
    while let Some(name) = open.pop() {
        if let Some(model) = choice.models.get(&name)
            && used.insert(name)
        {
            open.extend(model.fallback.iter().cloned());
        }
    }
    Ok(used)
}

/// Returns the names that a task of a plan may give as its model: the roles and the configured models. Local models that no role, profile
/// or category names are left out, since a run does not load them.
pub fn of_tasks(setup: &Setup) -> Result<Vec<String>, RunsError> {
    let choice = Choice { models: setup.config.models.clone(), because: Message::text("") };
    let configured = used(&choice, setup)?.into_iter().filter(|name| !ROLES.contains(&name.as_str()));
    Ok(ROLES.into_iter().map(str::to_owned).chain(configured).collect())
}

/// Returns the models that a run may ask and that have no price. Their answers count as 0. Models in this process cost nothing.
pub fn unpriced(choice: &Choice, setup: &Setup) -> Result<Vec<String>, RunsError> {
    let known = |model: &ModelConfig| model.provider == Provider::Local || prices(model, &setup.environment).is_some();
    let costs = |name: &String| choice.models.get(name).is_some_and(|model| !known(model));
    Ok(used(choice, setup)?.into_iter().filter(costs).collect())
}

/// Returns the address of a model's server, and whether a file sets it. An address on the provider's own server counts as unset.
pub fn server(config: &ModelConfig, environment: &Environment) -> (String, bool) {
    let served = ProviderDefaults::of(config.provider);
    let set = served.and_then(|served| environment.text(served.address_variable));
    match (&config.base_url, set) {
        (Some(url), _) => (url.clone(), !is_own_address(config, url)),
        (None, Some(url)) => (url.to_owned(), false),
        (None, None) => (served.map_or("", |served| served.address).to_owned(), false),
    }
}

/// The setting that holds the address of a model's server.
const BASE_URL: &str = "base_url";

/// Returns the setting or the variable that holds the address of a model's server. Returns `None` for the provider's own address.
fn address_setting(config: &ModelConfig, environment: &Environment) -> Option<&'static str> {
    if config.base_url.is_some() {
        return Some(BASE_URL);
    }
    let variable = ProviderDefaults::of(config.provider)?.address_variable;
    environment.text(variable).map(|_| variable)
}

/// Returns the variable that holds the key of a model; none if no key is sent.
pub fn key_variable(config: &ModelConfig, environment: &Environment) -> Option<String> {
    let named = server(config, environment).1;
    let own = || ProviderDefaults::of(config.provider).map(|served| served.key_variable(environment).to_owned());
    config.api_key_env.clone().or_else(|| own().filter(|_| !named))
}

/// Returns a fault for each fallback of a model that does not exist.
pub fn fallback_faults(models: &BTreeMap<String, ModelConfig>) -> impl Iterator<Item = RunsError> {
    models.iter().flat_map(|(name, model)| {
        model.fallback.iter().filter(|other| !models.contains_key(*other)).map(move |other| {
            RunsError::usage(message!("fallback", name, other = format!("{other:?}"))).hint(message!("fallback-hint", other))
        })
    })
}

/// Creates one model without its fallbacks.
pub fn single(
    name: &str,
    config: &ModelConfig,
    choice: &Choice,
    opened: &mut local::Opened,
    setup: &Setup,
) -> Result<ModelStack, RunsError> {
    match config.provider {
        Provider::Local => opened.open(name, config, choice, setup),
        _ => client(name, config, &setup.environment),
    }
}

/// Describes the location of a model, for people.
pub fn place(config: &ModelConfig, environment: &Environment) -> Message {
    match config.provider {
        Provider::Local => message!("place-process"),
        _ => message!("place-server", url = aime_llm::shown_address(&server(config, environment).0)),
    }
}

/// Creates the client of a model on a server.
pub fn client(name: &str, config: &ModelConfig, environment: &Environment) -> Result<ModelStack, RunsError> {
    ModelStack::server(settings(name, config, environment)?).map_err(|error| {
        let from_environment = config.base_url.is_none() && matches!(error, SettingsError::BaseUrl { .. });
        let variable = address_setting(config, environment).filter(|_| from_environment);
        let hint = variable.map_or_else(|| message!("model-section", name = name), |variable| message!("base-url-hint", variable));
        RunsError::caused(ErrorKind::Usage, error).hint(hint)
    })
}

fn settings(name: &str, config: &ModelConfig, environment: &Environment) -> Result<OpenAiSettings, RunsError> {
    let base_url = server(config, environment).0;
    let mut settings = OpenAiSettings::new(model_name(config), base_url.clone());
    settings.address_setting = address_setting(config, environment).map(str::to_owned);
    settings.api_key = key(name, config, environment, &base_url)?;
    settings.provider = ProviderDefaults::of(config.provider).and_then(|served| served.client);
    settings.protocol = providers::protocol(config.protocol);
    settings.effort = config.effort;
    settings.images = config.images.or_else(|| known_images(&facts(config, environment)));
    settings.headers = config.headers.iter().map(|(name, value)| (name.clone(), SecretString::from(value.clone()))).collect();
    settings.extra_body = config.extra_body.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    settings.limits = limits(config, environment);
    settings.prices = prices(config, environment);
    if let Some(seconds) = config.timeout_seconds {
        settings.timeouts.idle = Duration::from_secs(seconds);
        settings.retry.deadline = settings.retry.deadline.max(Duration::from_secs(seconds));
    }
    if let Some(retries) = config.max_retries {
        settings.retry.max_retries = retries;
    }
    Ok(settings)
}

/// Returns the catalog's data on a model.
pub fn facts(config: &ModelConfig, environment: &Environment) -> ModelFacts {
    let provider = match ProviderDefaults::of(config.provider) {
        Some(served) if served.client.is_some() => Some(served.catalog),
        _ => {
            let url = server(config, environment).0;
            let host = url.split_once("://").map_or("", |(_, rest)| rest).split(['/', ':']).next().unwrap_or_default().to_owned();
            aime_llm::provider_of_host(&host)
        }
    };
    model_facts(provider, &model_name(config))
}

/// Returns the catalog's statement on image input if it lists exactly this model. For others the server's answer decides.
fn known_images(facts: &ModelFacts) -> Option<bool> {
    (facts.source == FactsSource::Exact).then_some(facts.images)
}

/// Returns true if a model is on the user's own server, so that only the server can describe it.
fn is_own_server(config: &ModelConfig, environment: &Environment) -> bool {
    config.provider == Provider::Openai && is_near(&server(config, environment).0)
}

/// Returns true if only its provider serves a model of this name.
fn is_hosted_only(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model).to_lowercase();
    HOSTED_ONLY.iter().any(|start| name.starts_with(start)) && !name.starts_with(OPEN_WEIGHTS)
}

/// Returns the limits of a model. Files override the catalog. The limit on an answer includes the model's thinking.
pub fn limits(config: &ModelConfig, environment: &Environment) -> ModelLimits {
    let facts = facts(config, environment).limits;
    let small = config.small.unwrap_or(facts.small);
    // Behind another address of such a model is a gateway, and not a server with a window of its own.
    let near = is_own_server(config, environment) && !is_hosted_only(&model_name(config));
    let context_tokens = config.context_tokens.unwrap_or(if near { NEAR_WINDOW } else { facts.context_tokens });
    let answer = match near {
        true if small => NEAR_ANSWER,
        true => (context_tokens / 4).clamp(NEAR_ANSWER, 16_384),
        false => facts.max_output_tokens.min(context_tokens),
    };
    ModelLimits { context_tokens, max_output_tokens: config.max_output_tokens.unwrap_or(answer), small }
}

/// Returns the prices from a file, else from the catalog. Models on the user's own server have no catalog price.
pub fn prices(config: &ModelConfig, environment: &Environment) -> Option<Prices> {
    let named = config.prices.map(|prices| Prices {
        input: prices.input,
        cached_input: prices.cached_input,
        cache_write: prices.cache_write,
        output: prices.output,
        search: prices.search,
    });
    named.or_else(|| facts(config, environment).prices.filter(|_| !is_own_server(config, environment)))
}

/// Returns the name of a model at its server.
pub fn model_name(config: &ModelConfig) -> String {
    if config.provider == Provider::Local {
        return local::shown_name(config);
    }
    let usual = || ProviderDefaults::of(config.provider).map_or("", |served| served.model).to_owned();
    if config.model.is_empty() { usual() } else { config.model.clone() }
}

/// Returns true if a model is on its provider's own server.
pub fn asks_for_a_key(config: &ModelConfig, environment: &Environment) -> bool {
    is_own_address(config, &server(config, environment).0)
}

/// Returns true if an address is on the provider's own server, which requires a key.
fn is_own_address(config: &ModelConfig, url: &str) -> bool {
    ProviderDefaults::of(config.provider).is_some_and(|served| served.is_own_address(url))
}

/// Returns the key for a server. A provider's key never goes to a server that a file names, unless the file says so.
fn key(name: &str, config: &ModelConfig, environment: &Environment, url: &str) -> Result<Option<SecretString>, RunsError> {
    let Some(variable) = key_variable(config, environment) else { return Ok(None) };
    match environment.text(&variable) {
        Some(key) => Ok(Some(SecretString::from(key.to_owned()))),
        None if config.api_key_env.is_some() || is_own_address(config, url) => Err(missing_key(name, config, environment, &variable)),
        None => Ok(None),
    }
}

/// Returns the error for a missing key. It mentions another provider whose key is set.
fn missing_key(name: &str, config: &ModelConfig, environment: &Environment, variable: &str) -> RunsError {
    let failure = RunsError::model(message!("no-key", name = name, variable = variable));
    let other = SERVED.iter().find_map(|served| Some((served, served.set_key(environment)?)));
    match other.filter(|(served, _)| config.api_key_env.is_none() && served.provider != config.provider) {
        Some((served, key)) => {
            failure.hint(message!("no-key-other", key = key, provider = served.catalog, name = name, variable = variable))
        }
        None => {
            let address = ProviderDefaults::of(config.provider).map_or("OPENAI_BASE_URL", |served| served.address_variable);
            let hint = message!("no-key-hint", variable = variable, address = address);
            let is_hosted = config.model.is_empty() || is_hosted_only(&config.model) || config.provider != Provider::Openai;
            match local::names() {
                Some(names) if !is_hosted => failure.hint(message!("no-key-or-local", hint = hint, model = config.model, names = names)),
                _ => failure.hint(hint),
            }
        }
    }
}
