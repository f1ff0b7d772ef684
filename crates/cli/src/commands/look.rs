//! `aime profiles` and `aime models`.

use crate::{
    args::{ModelsCommand, ProfilesCommand},
    config::Provider,
    failure::Failure,
    models,
    output::{self, BOLD, DIM},
    wiring::Setup,
};

pub(super) fn profiles(command: Option<ProfilesCommand>, setup: &Setup) -> Result<u8, Failure> {
    let catalog = setup.profiles()?;
    match command.unwrap_or(ProfilesCommand::List) {
        ProfilesCommand::List => {
            for profile in catalog.iter() {
                output::result(&format!("{BOLD}{:<12}{BOLD:#} {}", profile.name, profile.description));
            }
        }
        ProfilesCommand::Show { name } => {
            let profile = catalog.get(&name).ok_or_else(|| {
                let near = catalog.nearest(&name).map(|near| format!("did you mean {near:?}? ")).unwrap_or_default();
                Failure::usage(format!("there is no profile {name:?}")).hint(format!("{near}`aime profiles` lists them"))
            })?;
            output::result(toml::to_string_pretty(profile).map_err(Failure::internal)?.trim_end());
        }
    }
    Ok(0)
}

pub(super) fn models(command: Option<ModelsCommand>, setup: &Setup) -> Result<u8, Failure> {
    match command.unwrap_or(ModelsCommand::List) {
        ModelsCommand::List => {
            let Some(choice) = models::choose(&setup.config, &setup.environment, None)? else { return Err(models::none_configured()) };
            for (name, model) in &choice.models {
                let place = match model.provider {
                    Provider::Local => "in this process".to_owned(),
                    Provider::Openai => model
                        .base_url
                        .clone()
                        .or_else(|| setup.environment.text("OPENAI_BASE_URL").map(ToOwned::to_owned))
                        .unwrap_or_else(|| models::OPENAI.to_owned()),
                };
                let why = if name == "default" { format!(" {DIM}({}){DIM:#}", choice.because) } else { String::new() };
                output::result(&format!("{BOLD}{name:<12}{BOLD:#} {} at {place}{why}", models::model_name(model)));
            }
            Ok(0)
        }
        ModelsCommand::Pull { name } | ModelsCommand::Path { name } => {
            Err(Failure::usage(format!("there is no local model {name:?}: this build has none"))
                .hint("use a server that speaks OpenAI's chat completions; `aime models list` shows what is configured"))
        }
    }
}
