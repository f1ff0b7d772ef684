//! Which model: flags, then environment, then files.

#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use aime_llm::{ChatModel, FallbackModel, ModelLimits, OpenAiModel, OpenAiSettings, Prices};
use aime_orchestrator::Models;
use secrecy::SecretString;

use crate::{
    config::{Config, Environment, ModelConfig, Provider},
    failure::{Failure, code},
};

pub(crate) const OPENAI: &str = "https://api.openai.com/v1";
const OPENAI_KEY: &str = "OPENAI_API_KEY";
const DEFAULT_MODEL: &str = "gpt-5-mini";
/// What OpenAI's current models hold at least; their reasoning counts as output. Other servers are taken to hold less until a file says more.
const OPENAI_LIMITS: ModelLimits = ModelLimits { context_tokens: 128_000, max_output_tokens: 16_384 };

/// What was found out about models before any is called.
#[derive(Debug, Clone)]
pub(crate) struct Choice {
    /// Every model that can be used, by role or name; `default` is always among them.
    pub(crate) models: BTreeMap<String, ModelConfig>,
    /// Why this default, for people.
    pub(crate) because: String,
}

/// Chooses without connecting. `None` when nothing says which model to use.
pub(crate) fn choose(config: &Config, environment: &Environment, flag: Option<&str>) -> Result<Option<Choice>, Failure> {
    let named = flag.map(|name| (name, "--model")).or_else(|| environment.text("AIME_MODEL").map(|name| (name, "AIME_MODEL")));
    let configured = config.models.get("default");
    let from_environment = environment.text("OPENAI_BASE_URL").is_some() || environment.text("OPENAI_API_KEY").is_some();
    let (default, because) = match (named, configured) {
        (Some((name, source)), _) if config.models.contains_key(name) => {
            (config.models.get(name).cloned(), format!("{source} names [models.{name}]"))
        }
        (Some((name, source)), Some(base)) => {
            (Some(ModelConfig { model: name.to_owned(), ..base.clone() }), format!("{source} names it, [models.default] says where"))
        }
        (Some((name, source)), None) => (Some(ModelConfig { model: name.to_owned(), ..ModelConfig::default() }), source.to_owned()),
        (None, Some(base)) => (Some(base.clone()), "[models.default]".to_owned()),
        (None, None) if from_environment => (Some(ModelConfig::default()), "OPENAI_BASE_URL or OPENAI_API_KEY".to_owned()),
        (None, None) => (None, String::new()),
    };
    let Some(default) = default else { return Ok(None) };
    let mut models = config.models.clone();
    models.insert("default".to_owned(), default);
    Ok(Some(Choice { models, because }))
}

/// What to say when no model is configured.
pub(crate) fn none_configured() -> Failure {
    Failure::new(code::MODEL, "no model is configured").hint(
        "set OPENAI_BASE_URL to a server that speaks OpenAI's chat completions (llama.cpp, Ollama, vLLM, …), or OPENAI_API_KEY; or write \
         [models.default] into aime.toml (`aime config init`)",
    )
}

/// Makes the models of a choice.
pub(crate) fn build(choice: &Choice, environment: &Environment) -> Result<Models, Failure> {
    let mut single: BTreeMap<&str, Arc<dyn ChatModel>> = BTreeMap::new();
    for (name, model) in &choice.models {
        single.insert(name, Arc::new(client(name, model, environment)?));
    }
    let mut roles: BTreeMap<String, Arc<dyn ChatModel>> = BTreeMap::new();
    for (name, model) in &choice.models {
        let Some(first) = single.get(name.as_str()).cloned() else { continue };
        let others = model.fallback.iter().map(|other| single.get(other.as_str()).cloned().ok_or_else(|| no_fallback(name, other)));
        let others = others.collect::<Result<Vec<_>, _>>()?;
        roles.insert(name.clone(), if others.is_empty() { first } else { Arc::new(FallbackModel::new(first, others)) });
    }
    Models::new(roles).ok_or_else(none_configured)
}

/// Where a model is served, and whether a file says so. OpenAI's own address is no news.
pub(crate) fn server(config: &ModelConfig, environment: &Environment) -> (String, bool) {
    match (&config.base_url, environment.text("OPENAI_BASE_URL")) {
        (Some(url), _) => (url.clone(), url.trim_end_matches('/') != OPENAI),
        (None, Some(url)) => (url.to_owned(), false),
        (None, None) => (OPENAI.to_owned(), false),
    }
}

/// The variable in which the key of a model is looked for; none where no key is sent.
pub(crate) fn key_variable(config: &ModelConfig, environment: &Environment) -> Option<String> {
    let named = server(config, environment).1;
    config.api_key_env.clone().or_else(|| (!named).then(|| OPENAI_KEY.to_owned()))
}

/// What only all models together show: fallbacks that are not there.
pub(crate) fn check(config: &Config) -> Result<(), Failure> {
    for (name, model) in &config.models {
        if let Some(other) = model.fallback.iter().find(|other| !config.models.contains_key(*other)) {
            return Err(no_fallback(name, other));
        }
    }
    Ok(())
}

fn no_fallback(name: &str, other: &str) -> Failure {
    Failure::usage(format!("models.{name}.fallback names {other:?}, which is not configured"))
        .hint(format!("add [models.{other}], or take the name out"))
}

/// One model alone, without those that would be asked in its place.
pub(crate) fn single(name: &str, config: &ModelConfig, environment: &Environment) -> Result<Arc<dyn ChatModel>, Failure> {
    Ok(Arc::new(client(name, config, environment)?))
}

fn client(name: &str, config: &ModelConfig, environment: &Environment) -> Result<OpenAiModel, Failure> {
    if config.provider == Provider::Local {
        return Err(Failure::new(code::MODEL, format!("models.{name}: this build has no local model"))
            .hint("use a server: provider = \"openai\" with a base_url"));
    }
    let base_url = server(config, environment).0;
    let mut settings = OpenAiSettings::new(model_name(config), base_url.clone());
    settings.api_key = key(name, config, environment, &base_url)?;
    let default = if base_url == OPENAI { OPENAI_LIMITS } else { ModelLimits::default() };
    settings.limits = ModelLimits {
        context_tokens: config.context_tokens.unwrap_or(default.context_tokens),
        max_output_tokens: config.max_output_tokens.unwrap_or(default.max_output_tokens),
    };
    settings.prices = config.prices.map(|prices| Prices { input: prices.input, cached_input: prices.cached_input, output: prices.output });
    if let Some(seconds) = config.timeout_seconds {
        settings.timeouts.idle = Duration::from_secs(seconds);
        settings.retry.deadline = settings.retry.deadline.max(Duration::from_secs(seconds));
    }
    if let Some(retries) = config.max_retries {
        settings.retry.max_retries = retries;
    }
    OpenAiModel::new(settings).map_err(|error| Failure::caused(code::USAGE, &error).hint(format!("mend [models.{name}]")))
}

pub(crate) fn model_name(config: &ModelConfig) -> String {
    if config.model.is_empty() { DEFAULT_MODEL.to_owned() } else { config.model.clone() }
}

/// The key for a server. OpenAI's key never goes to a server that a file names, unless the file says so.
fn key(name: &str, config: &ModelConfig, environment: &Environment, url: &str) -> Result<Option<SecretString>, Failure> {
    let missing = |variable: &str| {
        Failure::new(code::MODEL, format!("no key for models.{name}: {variable} is not set"))
            .hint(format!("export {variable}=…, or set OPENAI_BASE_URL to a server that needs no key"))
    };
    let Some(variable) = key_variable(config, environment) else { return Ok(None) };
    match environment.text(&variable) {
        Some(key) => Ok(Some(SecretString::from(key.to_owned()))),
        None if config.api_key_env.is_some() || url == OPENAI => Err(missing(&variable)),
        None => Ok(None),
    }
}
