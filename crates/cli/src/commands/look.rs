//! `aime profiles` and `aime models`.

use crate::{
    args::{ModelsCommand, ProfilesCommand},
    config::{ModelConfig, Provider},
    failure::Failure,
    models,
    output::{self, BOLD, DIM, YELLOW},
    wiring::Setup,
};

pub(super) fn profiles(command: Option<ProfilesCommand>, setup: &Setup) -> Result<u8, Failure> {
    let catalog = setup.profiles()?;
    match command.unwrap_or(ProfilesCommand::List) {
        ProfilesCommand::List => {
            let width = catalog.iter().map(|profile| profile.name.len()).max().unwrap_or(0);
            for profile in catalog.iter() {
                let kind = if profile.read_only() { "reads" } else { "works" };
                output::result(&format!("{BOLD}{:<width$}{BOLD:#}  {kind}  {}", profile.name, output::plain(&profile.description)));
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
            let Some(choice) = models::choose(&setup.config, &setup.environment, None)? else {
                let Failure { message, hint, .. } = models::none_configured();
                output::note(&format!("{message}: {}", hint.unwrap_or_default()));
                return Ok(0);
            };
            let rows: Vec<[String; 3]> = choice
                .models
                .iter()
                .map(|(name, model)| {
                    let because = if name == "default" { format!(" {DIM}({}){DIM:#}", choice.because) } else { String::new() };
                    let place = match model.provider {
                        Provider::Local => "in this process".to_owned(),
                        Provider::Openai => models::server(model, &setup.environment).0,
                    };
                    [name.clone(), models::model_name(model), format!("{place}, {}{because}", key(model, setup))]
                })
                .collect();
            let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(String::len).max().unwrap_or(0);
            let (name_width, model_width) = (width(0), width(1));
            for [name, model, place] in &rows {
                output::result(&format!("{BOLD}{name:<name_width$}{BOLD:#}  {model:<model_width$}  {place}"));
            }
            Ok(0)
        }
        ModelsCommand::Pull { name } | ModelsCommand::Path { name } => {
            Err(Failure::usage(format!("there is no local model {name:?}: this build has none"))
                .hint("use a server that speaks OpenAI's chat completions; `aime models list` shows what is configured"))
        }
    }
}

/// Which key is sent; never the key itself.
fn key(model: &ModelConfig, setup: &Setup) -> String {
    match models::key_variable(model, &setup.environment) {
        None => "no key".to_owned(),
        Some(variable) if setup.environment.text(&variable).is_some() => format!("key in {variable}"),
        // Servers of one's own mostly need none.
        Some(_) if model.api_key_env.is_none() && models::server(model, &setup.environment).0 != models::OPENAI => "no key".to_owned(),
        Some(variable) => format!("{YELLOW}no key: {variable} is not set{YELLOW:#}"),
    }
}
