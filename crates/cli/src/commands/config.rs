//! `aime config`.

use super::{setup_of, write_whole};
use crate::{
    args::{ConfigCommand, Global},
    config::{Environment, Places, TEMPLATE, check_files},
    failure::{Failure, code},
    output::{self, GREEN, RED},
};

pub(super) fn config(command: Option<ConfigCommand>, global: &Global, environment: Environment) -> Result<u8, Failure> {
    match command.unwrap_or(ConfigCommand::Show) {
        ConfigCommand::Show => {
            let setup = setup_of(global, environment)?;
            if !global.quiet {
                output::note(&format!("from: {}", setup.sources.join(" < ")));
                setup.notes.iter().for_each(|note| output::note(note));
            }
            output::result(toml::to_string(&setup.config).map_err(Failure::internal)?.trim_end());
        }
        ConfigCommand::Check => {
            let folder = global.directory.clone().unwrap_or_else(|| ".".into());
            let places = Places::new(&environment, &folder, global.config.clone());
            let faults = check_files(&places);
            for fault in &faults {
                output::result(&format!("{RED}fault{RED:#} {fault}"));
                if let Some(hint) = &fault.hint {
                    output::result(&format!("      {hint}"));
                }
            }
            if !faults.is_empty() {
                return Ok(code::USAGE);
            }
            // The variables, and what only the whole shows.
            let setup = setup_of(global, environment)?;
            output::result(&format!("{GREEN}valid{GREEN:#}: {}", setup.sources.join(" < ")));
        }
        ConfigCommand::Init => {
            let folder = global.directory.clone().unwrap_or_else(|| ".".into());
            let path = folder.join("aime.toml");
            write_whole(&path, TEMPLATE, false).map_err(|error| {
                Failure::usage(format!("{} cannot be written: {error}", path.display()))
                    .hint("an existing file is never overwritten: move it away first")
            })?;
            output::note(&format!("wrote {}", path.display()));
        }
    }
    Ok(0)
}
