//! `aime config`.

use aime_messages::{Message, message};
use aime_runs::{
    Environment,
    config::{Places, TEMPLATE, check_each, project_files, show},
    models::{self, EnvironmentProvider},
    working_folder, write_whole,
};

use super::opening::setup_of;
use crate::{
    args::{ConfigCommand, Global},
    failure::{Failure, code},
    hints,
    i18n::{msg, print},
    output::{self, GREEN, RED},
    screen::column,
};

pub(super) fn config(command: Option<ConfigCommand>, global: &Global, environment: Environment) -> Result<u8, Failure> {
    match command.unwrap_or(ConfigCommand::Show) {
        ConfigCommand::Show => {
            let setup = setup_of(global, environment)?;
            output::keep_secret(setup.redactor());
            output::note(&msg!("config-from", places = setup.sources.join(" < ")));
            setup.notes.iter().for_each(|note| output::note(&print(note)));
            output::result(&show(&setup.config, setup.redactor()).map_err(Failure::internal)?);
        }
        ConfigCommand::Check => return check(global, environment),
        ConfigCommand::Init => {
            let folder = working_folder(global.directory.as_deref())?;
            if let Some(there) = project_files(&folder).into_iter().find(|path| path.symlink_metadata().is_ok()) {
                return Err(Failure::usage(message!("is-there", file = there.display())).hint(message!("never-overwritten")));
            }
            let path = folder.join("aime.toml");
            let text = create_config(global, environment)?;
            write_whole(&path, &text, false).map_err(|error| {
                Failure::usage(message!("not-written", file = path.display(), reason = Message::text(error.kind())))
                    .hint(message!("not-written-hint"))
            })?;
            output::note(&msg!("wrote", file = path.display()));
        }
    }
    Ok(0)
}

/// Returns the initial settings: the commented template, with a model of this machine unless one is chosen already. Prints what it found.
fn create_config(global: &Global, environment: Environment) -> Result<String, Failure> {
    let keys = models::other_keys(&environment);
    let chosen = EnvironmentProvider::in_environment(&environment).and_then(|chosen| chosen.variables.first().copied());
    let chosen = chosen.or_else(|| environment.text("AIME_MODEL").map(|_| "AIME_MODEL"));
    // If the user's own file is broken, the other commands report it.
    let setup = setup_of(global, environment).ok();
    if let Some(name) = chosen {
        output::note(&msg!("init-set", variable = name));
        let own =
            setup.as_ref().and_then(|setup| setup.places.user_folder()).map(|folder| folder.join("config.toml").display().to_string());
        let own = own.unwrap_or_else(|| msg!("init-own-file"));
        for (variable, settings) in keys {
            output::note(&format!("{}\n{}", msg!("init-key", variable, file = own), settings.trim_end()));
        }
        return Ok(TEMPLATE.to_owned());
    }
    if let Some(setup) = setup.as_ref().filter(|setup| setup.config.models.contains_key("default")) {
        output::note(&msg!("init-model-place", places = setup.sources.join(" < ")));
        return Ok(TEMPLATE.to_owned());
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::internal)?;
    let running = runtime.block_on(models::found_servers());
    for found in running.iter().skip(1) {
        output::note(&msg!("init-also", software = found.software, number = found.port, model = output::plain(&found.model)));
    }
    let Some(best) = running.first() else {
        output::note(&msg!("init-none", places = models::searched_places()));
        return Ok(TEMPLATE.to_owned());
    };
    output::note(&msg!("init-best", model = output::plain(&best.model), software = best.software, number = best.port));
    let example = TEMPLATE.find("# [models.default]").unwrap_or(TEMPLATE.len());
    let (before, after) = TEMPLATE.split_at(example);
    Ok(format!(
        "{before}# Found on this machine: {} listens on 127.0.0.1:{} and costs nothing.\n{}\n{after}",
        best.software,
        best.port,
        best.settings()
    ))
}

/// Checks every file and variable by itself, then what only the merged settings show: models and the user's own files.
fn check(global: &Global, environment: Environment) -> Result<u8, Failure> {
    let folder = working_folder(global.directory.as_deref())?;
    let places = Places::new(&environment, &folder, global.config.clone());
    let mut faults: Vec<(Message, Option<Message>)> =
        check_each(&places, &environment).into_iter().map(|fault| (Message::from(&fault), fault.hint.as_ref().map(hints::hint))).collect();
    let mut read = Vec::new();
    if faults.is_empty() {
        let setup = setup_of(global, environment)?;
        setup.notes.iter().for_each(|note| output::note(&print(note)));
        let own = setup.faults_of_own_files().into_iter().chain(models::fallback_faults(&setup.config.models));
        let all = own.chain(setup.missing_skills().unwrap_or_default());
        faults.extend(all.map(|failure| (failure.message, failure.hint.as_ref().map(hints::hint))));
        read = setup.sources;
    }
    for (fault, hint) in &faults {
        output::result(&format!("{}{}", column(&format!("{RED}{}{RED:#}", msg!("config-fault")), 7), print(fault)));
        if let Some(hint) = hint {
            output::result(&format!("       {}", print(hint)));
        }
    }
    if !faults.is_empty() {
        return Ok(code::USAGE);
    }
    output::result(&format!("{GREEN}{}{GREEN:#}  {}", msg!("config-valid"), read.join(" < ")));
    if read.len() < 2 {
        let places: Vec<_> = places.user.iter().chain([&places.project]).map(|path| path.display().to_string()).collect();
        output::note(&msg!("config-no-file", places = places.join(", ")));
    }
    Ok(0)
}
