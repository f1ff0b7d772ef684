//! Tries each model of a setup once.

use std::{sync::Arc, time::Duration};

use aime_llm::{ChatModel, ChatRequest, Message, Model};
use aime_messages::message;
use aime_runs::{
    Setup,
    config::{ModelConfig, Provider},
    models::{self, Choice},
};

use super::{
    absent, broken, good,
    trial::{Trial, Verdict},
};
use crate::{
    failure::{Failure, code},
    i18n::{msg, print},
};

/// Time limit of a model for one part of its trial.
pub(super) const PATIENCE: Duration = Duration::from_secs(120);

/// Tries each model and prints one line for it. Returns the exit code of the first model that cannot be used.
pub(super) async fn check(setup: &Setup) -> Option<u8> {
    let choice = models::choose(&setup.config, &setup.environment, None).and_then(|choice| choice.ok_or_else(models::none_configured));
    let choice = match choice {
        Ok(choice) => choice,
        Err(error) => {
            let failure = Failure::from(error);
            broken("model", &failure, Some(message!("see-models")));
            return Some(failure.code);
        }
    };
    let mut worst = None;
    let mut asked: Vec<ModelConfig> = Vec::new();
    let mut opened = models::local::Opened::default();
    for (name, config) in &choice.models {
        let what = format!("model {name}");
        #[cfg(feature = "local-model")]
        if config.provider == Provider::Local {
            match check_file(name, config, setup).await {
                Ok(true) => {}
                Ok(false) => continue,
                Err(code) => {
                    worst = worst.or(Some(code));
                    continue;
                }
            }
        }
        // Roles with the same model are tried once.
        let same = as_asked(config, setup);
        if asked.contains(&same) {
            let place = models::place(config, &setup.environment);
            good(&what, msg!("doctor-as-above", model = models::model_name(config), place));
            continue;
        }
        asked.push(same);
        match verdict(name, config, &choice, &mut opened, setup).await {
            Verdict::Works(detail) => good(&what, detail),
            Verdict::Limited { detail, hint } => absent(&what, detail, Some(hint.into())),
            Verdict::Unusable(failure) => {
                broken(&what, &failure, Some(message!("see-models")));
                worst = worst.or(Some(failure.code));
            }
        }
    }
    worst
}

async fn verdict(name: &str, config: &ModelConfig, choice: &Choice, opened: &mut models::local::Opened, setup: &Setup) -> Verdict {
    let place = models::place(config, &setup.environment);
    let because = if name == "default" { format!(" ({})", print(&choice.because)) } else { String::new() };
    if config.provider == Provider::Local {
        let answer = match models::single(name, config, choice, opened, setup) {
            Ok(model) => ask_for_a_word(&model.build(setup.redactor())).await,
            Err(failure) => Err(failure.into()),
        };
        return match answer {
            Ok(detail) => Verdict::Works(format!("{} {}{because}", print(&detail), print(&place))),
            Err(failure) => Verdict::Unusable(failure),
        };
    }
    let mut config = config.clone();
    models::ask_for_window(name, &mut config, &setup.environment).await;
    match models::client(name, &config, &setup.environment) {
        Ok(client) => {
            let trial = Trial::of(&client.build(setup.redactor())).await;
            let window = client.limits().context_tokens;
            trial.verdict(name, |model, protocol| format!("{}{because}", msg!("doctor-model", model, place, protocol, number = window)))
        }
        Err(failure) => Verdict::Unusable(failure.into()),
    }
}

/// Returns the settings of a model as far as they change what its server is asked, with the defaults filled in.
fn as_asked(config: &ModelConfig, setup: &Setup) -> ModelConfig {
    let environment = &setup.environment;
    let served = config.provider != Provider::Local;
    ModelConfig {
        model: models::model_name(config),
        base_url: served.then(|| models::server(config, environment).0),
        api_key_env: if served { models::key_variable(config, environment) } else { None },
        fallback: Vec::new(),
        prices: None,
        ..config.clone()
    }
}

/// Reports whether the file of a local model is present, and if not, whether it can be downloaded. Returns an exit code if it cannot.
#[cfg(feature = "local-model")]
async fn check_file(name: &str, config: &ModelConfig, setup: &Setup) -> Result<bool, u8> {
    use models::local::{Health, health};

    let what = format!("file of {name}");
    match health(config, setup).await {
        Ok(Health::Here(detail)) => {
            good(&what, detail);
            Ok(true)
        }
        Ok(Health::CanBeFetched(detail)) => {
            absent(&what, detail, Some(message!("file-fetched-later", model = models::model_name(config))));
            Ok(false)
        }
        Ok(Health::Missing(error)) | Err(error) => {
            let failure = Failure::from(error);
            broken(&what, &failure, Some(message!("see-models")));
            Err(failure.code)
        }
    }
}

/// Asks a model in this process for one word.
async fn ask_for_a_word(model: &Model) -> Result<aime_messages::Message, Failure> {
    let request = ChatRequest {
        messages: vec![Arc::new(Message::user("Answer with the one word: ready"))],
        max_output_tokens: Some(16),
        ..ChatRequest::default()
    };
    let answer = tokio::time::timeout(PATIENCE, model.complete(request)).await.map_err(|_| silent(model.name()))?;
    match answer {
        Ok(response) if response.model == model.name() || response.model.is_empty() => Ok(message!("model-answers", model = model.name())),
        Ok(response) => Ok(message!("model-answers-as", model = model.name(), name = response.model)),
        Err(error) => Err(Failure { hint: error.hint().map(aime_messages::Message::text), ..Failure::caused(code::MODEL, &error) }),
    }
}

/// Returns the failure of a model that did not answer within [`PATIENCE`].
pub(super) fn silent(model: &str) -> Failure {
    Failure::new(code::MODEL, message!("model-silent", model, seconds = PATIENCE.as_secs())).hint(message!("model-busy"))
}
