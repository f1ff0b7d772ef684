//! `aime config`.

use super::{setup_of, write_whole};
use crate::{
    args::{ConfigCommand, Global},
    config::{Environment, Places, TEMPLATE, check_files, show},
    failure::{Failure, code},
    models,
    output::{self, GREEN, RED},
    wiring::working_folder,
};

pub(super) fn config(command: Option<ConfigCommand>, global: &Global, environment: Environment) -> Result<u8, Failure> {
    match command.unwrap_or(ConfigCommand::Show) {
        ConfigCommand::Show => {
            let setup = setup_of(global, environment)?;
            output::note(&format!("from: {}", setup.sources.join(" < ")));
            setup.notes.iter().for_each(|note| output::note(note));
            output::result(&show(&setup.config).map_err(Failure::internal)?);
        }
        ConfigCommand::Check => return check(global, environment),
        ConfigCommand::Init => {
            let path = working_folder(global.directory.as_deref())?.join("aime.toml");
            if path.symlink_metadata().is_ok() {
                return Err(Failure::usage(format!("{} is there already", path.display()))
                    .hint("it is never overwritten: move it away first, or look at `aime config show`"));
            }
            write_whole(&path, TEMPLATE, false).map_err(|error| {
                Failure::usage(format!("{} cannot be written: {}", path.display(), error.kind()))
                    .hint("choose another folder with -C, or mend its rights or the disk's space")
            })?;
            output::note(&format!("wrote {}", path.display()));
        }
    }
    Ok(0)
}

/// Checks every file by itself, then what only the whole shows: variables, models, files of one's own.
fn check(global: &Global, environment: Environment) -> Result<u8, Failure> {
    let folder = working_folder(global.directory.as_deref())?;
    let mut faults: Vec<(String, Option<String>)> = check_files(&Places::new(&environment, &folder, global.config.clone()))
        .into_iter()
        .map(|fault| (fault.to_string(), fault.hint))
        .collect();
    let mut read = Vec::new();
    if faults.is_empty() {
        let setup = setup_of(global, environment)?;
        setup.notes.iter().for_each(|note| output::note(note));
        let checks = [setup.profiles().map(drop), setup.categories().map(drop), setup.prompts().map(drop), models::check(&setup.config)];
        faults.extend(checks.into_iter().filter_map(Result::err).map(|failure| (failure.message, failure.hint)));
        read = setup.sources;
    }
    for (fault, hint) in &faults {
        output::result(&format!("{RED}fault{RED:#}  {fault}"));
        if let Some(hint) = hint {
            output::result(&format!("       {hint}"));
        }
    }
    if !faults.is_empty() {
        return Ok(code::USAGE);
    }
    output::result(&format!("{GREEN}valid{GREEN:#}  {}", read.join(" < ")));
    Ok(0)
}
