//! Opens the working folder.

use std::{path::PathBuf, sync::Arc};

use aime_runs::{Environment, Setup, SetupBuilder};
use aime_sandbox::Launcher;

use crate::{
    args::Global,
    failure::Failure,
    i18n::{self, LanguageChoice},
    notices::NoticePrinter,
};

/// Opens the working folder with its configuration, and sets the language that they ask for.
pub(super) fn setup_of(global: &Global, environment: Environment) -> Result<Setup, Failure> {
    let setup = opener(environment, global.config.clone()).open(global.directory.as_deref())?;
    i18n::speak(LanguageChoice::language(global.lang, setup.config.messages.language.into(), &setup.environment));
    Ok(setup)
}

/// Returns a builder for folders whose notices go to the terminal.
pub(super) fn opener(environment: Environment, config: Option<PathBuf>) -> SetupBuilder {
    let printer = NoticePrinter::new(environment.text("TERM") == Some("dumb"));
    Setup::builder(environment).config_file(config).caller(Arc::new(printer)).launcher(launcher())
}

/// Returns the launcher that gives a confined command its own network: this program, started again.
pub(super) fn launcher() -> Launcher {
    Launcher::this_program([crate::LAUNCH])
}
