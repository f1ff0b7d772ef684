//! `aime models`.

#[cfg(feature = "local-model")]
use aime_local_model::{CatalogModel, Presence, catalog};
#[cfg(feature = "local-model")]
use aime_messages::message;
#[cfg(feature = "local-model")]
use aime_runs::models::local;
#[cfg(feature = "local-model")]
use indicatif::DecimalBytes;

#[cfg(feature = "local-model")]
use crate::output::GREEN;
use crate::{
    args::ModelsCommand,
    failure::Failure,
    i18n::{msg, print},
    output::{self, BOLD, DIM, YELLOW},
    screen::column,
};
use aime_runs::{
    Setup,
    config::{ModelConfig, Provider},
    models::{self, Choice, ProviderDefaults},
};

pub(super) async fn models(command: Option<ModelsCommand>, setup: &Setup) -> Result<u8, Failure> {
    match command.unwrap_or(ModelsCommand::List) {
        ModelsCommand::List => {
            match models::choose(&setup.config, &setup.environment, None)? {
                Some(choice) => list_configured(&choice, setup),
                None => {
                    let Failure { message, hint, .. } = models::none_configured().into();
                    output::note(&format!("{}: {}", print(&message), hint.as_ref().map(print).unwrap_or_default()));
                }
            }
            #[cfg(feature = "local-model")]
            list_catalog(setup);
        }
        #[cfg(feature = "local-model")]
        ModelsCommand::Pull { name } => pull(&name, setup).await?,
        #[cfg(feature = "local-model")]
        ModelsCommand::Path { name } => path(&name, setup)?,
        #[cfg(not(feature = "local-model"))]
        ModelsCommand::Pull { .. } | ModelsCommand::Path { .. } => return Err(models::local::none().into()),
    }
    Ok(0)
}

/// Lists the models that a run would use.
fn list_configured(choice: &Choice, setup: &Setup) {
    let row = |(name, model): (&String, &ModelConfig)| {
        let because = if name == "default" { format!(" {DIM}({}){DIM:#}", print(&choice.because)) } else { String::new() };
        let place = models::place(model, &setup.environment);
        let local = model.provider == Provider::Local;
        let key = if local { String::new() } else { format!("{}{}", msg!("view-comma"), key(model, setup)) };
        let facts = if local { String::new() } else { facts(name, model, setup) };
        let provider = ProviderDefaults::of(model.provider).map_or("local", |served| served.catalog).to_owned();
        [name.clone(), models::model_name(model), provider, facts, format!("{}{key}{because}", print(&place))]
    };
    for [name, model, provider, facts, place] in aligned(choice.models.iter().map(row).collect()) {
        output::result(&format!("{BOLD}{name}{BOLD:#}{model}{provider}{DIM}{facts}{DIM:#}{place}"));
    }
}

/// Describes a model: protocol, window, prices, class, and prefix caching.
fn facts(name: &str, model: &ModelConfig, setup: &Setup) -> String {
    let environment = &setup.environment;
    let limits = models::limits(model, environment);
    let protocol = models::client(name, model, environment).ok().and_then(|stack| stack.protocol()).map(|protocol| protocol.as_str());
    let mut facts: Vec<String> = protocol.into_iter().map(str::to_owned).collect();
    facts.push(msg!("models-window", number = limits.context_tokens));
    if let Some(prices) = models::prices(model, environment) {
        facts.push(msg!("models-prices", input = format!("{:.2}", prices.input), output = format!("{:.2}", prices.output)));
    }
    if limits.small {
        facts.push(msg!("models-small"));
    }
    if models::facts(model, environment).prompt_caching {
        facts.push(msg!("models-caches"));
    }
    facts.join(&msg!("view-comma"))
}

/// Pads all columns but the last, with two spaces between them.
fn aligned<const N: usize>(mut rows: Vec<[String; N]>) -> Vec<[String; N]> {
    for at in 0..N.saturating_sub(1) {
        let width = rows.iter().filter_map(|row| row.get(at)).map(|cell| console::measure_text_width(cell)).max().unwrap_or(0);
        for cell in rows.iter_mut().filter_map(|row| row.get_mut(at)) {
            *cell = column(cell, width + 2);
        }
    }
    rows
}

/// Names the variable of the key that is sent, and never the key itself.
fn key(model: &ModelConfig, setup: &Setup) -> String {
    match models::key_variable(model, &setup.environment) {
        None => msg!("models-no-key"),
        Some(variable) if setup.environment.text(&variable).is_some() => msg!("models-key", variable),
        // The user's own servers usually need no key.
        Some(_) if model.api_key_env.is_none() && !models::asks_for_a_key(model, &setup.environment) => msg!("models-no-key"),
        Some(variable) => format!("{YELLOW}{}{YELLOW:#}", msg!("models-key-missing", variable)),
    }
}

/// Lists the models that can be downloaded.
#[cfg(feature = "local-model")]
fn list_catalog(setup: &Setup) {
    output::note(&format!("\n{}", msg!("models-catalog")));
    let store = local::store(&setup.environment).ok();
    let rows = catalog().into_iter().enumerate().map(|(index, model)| {
        let here = match store.as_ref().map(|store| store.presence(&model)) {
            Some(Presence::Here { .. }) => format!("{GREEN}{}{GREEN:#}", msg!("models-here")),
            Some(Presence::Damaged { .. }) => msg!("models-damaged"),
            Some(Presence::Absent { kept }) if kept > 0 => msg!("models-part", size = DecimalBytes(kept)),
            _ => msg!("models-absent"),
        };
        let what = print(&model.description);
        let what = if index == 0 { msg!("models-default", what) } else { what };
        [
            model.name,
            model.alias,
            DecimalBytes(model.bytes).to_string(),
            model.licence,
            msg!("models-context", number = model.context_tokens),
            here,
            what,
        ]
    });
    for [name, alias, size, licence, context, here, description] in aligned(rows.collect()) {
        output::result(&format!("{BOLD}{name}{BOLD:#}{alias}{size}{licence}{context}{DIM}{here}{DIM:#}{DIM}{description}{DIM:#}"));
    }
}

/// Downloads a model. An existing file is verified instead.
#[cfg(feature = "local-model")]
async fn pull(name: &str, setup: &Setup) -> Result<(), Failure> {
    use crate::failure::code;

    let model = in_catalog(name, setup)?;
    let store = local::store(&setup.environment)?;
    if let Presence::Here { file } = store.presence(&model) {
        let failed = |error: std::io::Error| {
            Failure::new(code::MODEL, message!("models-unusable", file = file.display(), error)).hint(message!("models-unusable-hint"))
        };
        if store.verify(&model).await.map_err(failed)? {
            output::note(&msg!("models-right", model = model.name));
            output::result(&file.display().to_string());
            return Ok(());
        }
        output::note(&msg!("models-wrong", file = file.display()));
        store.remove(&model).map_err(failed)?;
    }
    let file = local::fetch(&model, setup).await?;
    output::result(&file.display().to_string());
    Ok(())
}

/// Prints the path of a model's file.
#[cfg(feature = "local-model")]
fn path(name: &str, setup: &Setup) -> Result<(), Failure> {
    use crate::failure::code;

    let file = match local::ConfiguredFile::from_name(name, setup)? {
        local::ConfiguredFile::Catalog(model) => {
            let store = local::store(&setup.environment)?;
            match store.presence(&model) {
                Presence::Here { file } => file,
                _ => return Err(local::absent(&model, &store.file(&model)).into()),
            }
        }
        local::ConfiguredFile::File(file) if file.is_file() => file,
        local::ConfiguredFile::File(file) => {
            return Err(Failure::new(code::MODEL, message!("not-there", what = file.display())).hint(message!("hint-path")));
        }
    };
    output::result(&file.display().to_string());
    Ok(())
}

#[cfg(feature = "local-model")]
fn in_catalog(name: &str, setup: &Setup) -> Result<CatalogModel, Failure> {
    match local::ConfiguredFile::from_name(name, setup)? {
        local::ConfiguredFile::Catalog(model) => Ok(*model),
        local::ConfiguredFile::File(file) => {
            Err(Failure::usage(message!("models-own", file = file.display())).hint(message!("models-list")))
        }
    }
}
