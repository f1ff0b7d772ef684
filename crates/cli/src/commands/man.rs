//! `aime man`.

use std::path::Path;

use clap::CommandFactory;
use clap_mangen::{Man, generate_to};

use aime_messages::message;

use crate::{
    args::Cli,
    failure::Failure,
    i18n::msg,
    output::{self, count},
};

/// Prints the page of `aime`, or writes the pages of all commands into a folder.
pub(super) fn man(folder: Option<&Path>) -> Result<u8, Failure> {
    let command = Cli::command();
    let Some(folder) = folder else {
        let mut page = Vec::new();
        Man::new(command).render(&mut page).map_err(Failure::internal)?;
        output::result(String::from_utf8_lossy(&page).trim_end());
        return Ok(0);
    };
    let failed = |error: std::io::Error| {
        Failure::usage(message!("pages-not-written", folder = folder.display(), error)).hint(message!("pages-hint"))
    };
    std::fs::create_dir_all(folder).map_err(failed)?;
    generate_to(command, folder).map_err(failed)?;
    let pages = std::fs::read_dir(folder).map_err(failed)?.flatten().filter(|entry| entry.file_name().to_string_lossy().ends_with(".1"));
    output::note(&msg!("wrote-pages", pages = count(pages.count(), "page"), folder = folder.display()));
    Ok(0)
}
