//! `aime config`.

mod find;

use aime_runs::{
    Environment,
    config::{Places, TEMPLATE, check_each, project_files, show},
    models::{self, Chosen},
    working_folder, write_whole,
};

use super::opening::setup_of;
use crate::{
    args::{ConfigCommand, Global},
    failure::{Failure, code},
    i18n::{msg, said},
    output::{self, GREEN, RED},
    screen::column,
};

pub(super) fn config(command: Option<ConfigCommand>, global: &Global, environment: Environment) -> Result<u8, Failure> {
    match command.unwrap_or(ConfigCommand::Show) {
        ConfigCommand::Show => {
            let setup = setup_of(global, environment)?;
            output::note(&msg!("config-from", places = setup.sources.join(" < ")));
            setup.notes.iter().for_each(|note| output::note(note));
            output::result(&show(&setup.config).map_err(Failure::internal)?);
        }
        ConfigCommand::Check => return check(global, environment),
        ConfigCommand::Init => {
            let folder = working_folder(global.directory.as_deref())?;
            if let Some(there) = project_files(&folder).into_iter().find(|path| path.symlink_metadata().is_ok()) {
                return Err(Failure::usage(format!("{} is there already", there.display()))
                    .hint("it is never overwritten: move it away first, or look at `aime config show`"));
            }
            let path = folder.join("aime.toml");
            let text = begun(global, environment)?;
            write_whole(&path, &text, false).map_err(|error| {
                Failure::usage(format!("{} cannot be written: {}", path.display(), error.kind()))
                    .hint("choose another folder with -C, fix its permissions, or free disk space")
            })?;
            output::note(&format!("wrote {}", path.display()));
        }
    }
    Ok(0)
}

/// Returns the initial settings: the commented template, with a model of this machine unless one is chosen already. Prints what it found.
fn begun(global: &Global, environment: Environment) -> Result<String, Failure> {
    let keys = find::keys(&environment);
    let chosen = Chosen::in_environment(&environment).and_then(|chosen| chosen.variables.first().copied());
    let chosen = chosen.or_else(|| environment.text("AIME_MODEL").map(|_| "AIME_MODEL"));
    // If the user's own file is broken, the other commands report it.
    let setup = setup_of(global, environment).ok();
    if let Some(name) = chosen {
        output::note(&format!("model: {name} is set, so the file names no model"));
        let own =
            setup.as_ref().and_then(|setup| setup.places.user_folder()).map(|folder| folder.join("config.toml").display().to_string());
        let own = own.unwrap_or_else(|| msg!("init-own-file"));
        for (variable, settings) in keys {
            output::note(&format!("{}\n{}", msg!("init-key", variable = variable, file = own), settings.trim_end()));
        }
        return Ok(TEMPLATE.to_owned());
    }
    if let Some(setup) = setup.as_ref().filter(|setup| setup.config.models.contains_key("default")) {
        output::note(&format!("model: [models.default] is in {}", setup.sources.join(" < ")));
        return Ok(TEMPLATE.to_owned());
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::internal)?;
    let running = runtime.block_on(find::running());
    for found in running.iter().skip(1) {
        output::note(&format!("also there: {} at 127.0.0.1:{} with {}", found.software, found.port, output::plain(&found.model)));
    }
    let Some(best) = running.first() else {
        output::note(&format!(
            "model: none is served on this machine (looked for {}); without one aime uses a small one in its process",
            find::looked_at()
        ));
        return Ok(TEMPLATE.to_owned());
    };
    let why = format!("{} listens on 127.0.0.1:{} and costs nothing", best.software, best.port);
    output::note(&format!("model: {}, since {why}", output::plain(&best.model)));
    let example = TEMPLATE.find("# [models.default]").unwrap_or(TEMPLATE.len());
    let (before, after) = TEMPLATE.split_at(example);
    Ok(format!("{before}# Found on this machine: {why}.\n{}\n{after}", best.settings()))
}

/// Checks every file and variable by itself, then what only the merged settings show: models and the user's own files.
fn check(global: &Global, environment: Environment) -> Result<u8, Failure> {
    let folder = working_folder(global.directory.as_deref())?;
    let places = Places::new(&environment, &folder, global.config.clone());
    let mut faults: Vec<(String, Option<String>)> =
        check_each(&places, &environment).into_iter().map(|fault| (fault.to_string(), fault.hint)).collect();
    let mut read = Vec::new();
    if faults.is_empty() {
        let setup = setup_of(global, environment)?;
        setup.notes.iter().for_each(|note| output::note(note));
        let checks = [setup.profiles().map(drop), setup.categories().map(drop), setup.prompts().map(drop), models::check(&setup.config)];
        let skills = setup.missing_skills().unwrap_or_default();
        faults.extend(checks.into_iter().filter_map(Result::err).chain(skills).map(|failure| (failure.message, failure.hint)));
        read = setup.sources;
    }
    for (fault, hint) in &faults {
        output::result(&format!("{}{}", column(&format!("{RED}{}{RED:#}", msg!("config-fault")), 7), said(fault)));
        if let Some(hint) = hint {
            output::result(&format!("       {}", said(hint)));
        }
    }
    if !faults.is_empty() {
        return Ok(code::USAGE);
    }
    output::result(&format!("{GREEN}{}{GREEN:#}  {}", msg!("config-valid"), read.join(" < ")));
    Ok(0)
}
