//! Tries each model of a setup once.

use aime_messages::{Message, message};
use aime_runs::{
    RunsError, Setup,
    config::ModelConfig,
    models::{self, TrialResult, TriedModel},
};

use super::{State, absent, broken, good, line};
use crate::{
    failure::Failure,
    i18n::{msg, print},
};

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
    let mut asked: Vec<(ModelConfig, State)> = Vec::new();
    let mut opened = models::local::Opened::default();
    for (name, config) in &choice.models {
        let what = format!("model {name}");
        #[cfg(feature = "local-model")]
        if config.provider == aime_runs::config::Provider::Local {
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
        let same = models::as_asked(config, &setup.environment);
        if let Some((_, state)) = asked.iter().find(|(known, _)| *known == same) {
            let place = models::place(config, &setup.environment);
            let detail = Message::from(msg!("doctor-as-above", model = models::model_name(config), place));
            line(*state, &what, &detail, None);
            continue;
        }
        let because = if name == "default" { format!(" ({})", print(&choice.because)) } else { String::new() };
        let tried = models::try_model(name, config, &choice, &mut opened, setup).await;
        let state = tried.and_then(|tried| report(&what, tried, &because)).unwrap_or_else(|error| {
            let failure = Failure::from(error);
            broken(&what, &failure, Some(message!("see-models")));
            worst = worst.or(Some(failure.code));
            State::Broken
        });
        asked.push((same, state));
    }
    worst
}

/// Prints what a model can do, and returns its state. Fails for a model that cannot be used.
fn report(what: &str, tried: TriedModel, because: &str) -> Result<State, RunsError> {
    let model = format!("{}{because}", print(&tried.model));
    match tried.result {
        TrialResult::Answers => good(what, model),
        TrialResult::Works => good(what, msg!("doctor-model-works", model)),
        TrialResult::Limited { faults, hints } => {
            let detail: Vec<String> = std::iter::once(model).chain(faults.iter().map(print)).collect();
            let hints: Vec<String> = hints.iter().map(print).collect();
            absent(what, detail.join("\n"), Some(hints.join(&msg!("row-separator")).into()));
            return Ok(State::Absent);
        }
        TrialResult::Unusable(failure) => return Err(failure),
    }
    Ok(State::Works)
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
