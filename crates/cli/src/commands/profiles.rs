//! `aime profiles`.

use aime_messages::message;
use aime_runs::Setup;

use crate::{
    args::ProfilesCommand,
    failure::Failure,
    output::{self, BOLD},
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
                let near = catalog.nearest(&name).map(|near| message!("profiles-near", near));
                Failure::usage(message!("no-profile", name = format!("{name:?}"))).hint(near.unwrap_or_else(|| message!("profiles-list")))
            })?;
            output::result(toml::to_string_pretty(profile).map_err(Failure::internal)?.trim_end());
        }
    }
    Ok(0)
}
