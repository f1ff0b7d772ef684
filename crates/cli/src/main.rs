//! The `aime` command: arguments, configuration, screen, exit codes. It contains no logic of runs.

mod args;
mod commands;
mod failure;
#[cfg(feature = "local-model")]
mod fetching;
mod hints;
mod i18n;
mod notices;
mod output;
mod person;
mod screen;
mod signals;

use std::{panic::AssertUnwindSafe, process::ExitCode};

use aime_messages::{Message, message};
use aime_runs::Environment;
use clap::error::ErrorKind;

use crate::{failure::Failure, i18n::LanguageChoice};

/// Argument with which the sandbox starts this program again to give a command its own network.
pub(crate) const LAUNCH: &str = "sandbox-launch";

fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    if std::env::args_os().nth(1).is_some_and(|first| first == LAUNCH) {
        return launch();
    }
    let environment = Environment::of_process();
    let cli = match args::read() {
        Ok(cli) => cli,
        Err(error) => {
            let color = args::color_in(args::as_typed());
            output::choose_colors(color.unwrap_or(args::ColorChoice::Auto), &environment);
            // The version text is the same in every language, so no settings are read for it.
            if error.kind() != ErrorKind::DisplayVersion {
                i18n::speak(commands::language_of_nothing(&environment));
            }
            // Help and version were requested; anything else is a usage error.
            let code = if error.use_stderr() { failure::code::USAGE } else { 0 };
            args::print_usage_error(error);
            return ExitCode::from(code);
        }
    };
    output::choose_colors(cli.global.color, &environment);
    // The settings may change the language. Errors in the settings themselves appear in this one.
    i18n::speak(LanguageChoice::language(cli.global.lang, LanguageChoice::Auto, &environment));
    output::start_log(cli.global.verbose);
    let code = match guarded(|| commands::run(cli, environment)) {
        Ok(code) => code,
        Err(failure) => {
            let Failure { code, message, hint } = failure;
            output::failure(&message, hint.as_ref());
            code
        }
    };
    // A reader must learn that the result is incomplete, however the run itself ended.
    let Some(error) = output::lost() else { return ExitCode::from(code) };
    output::failure(&message!("not-whole", error = Message::text(error)), None);
    ExitCode::from(if code == 0 { failure::code::USAGE } else { code })
}

/// Treats a panic as a fault in aime itself. The panic handler has already printed its location.
fn guarded(command: impl FnOnce() -> Result<u8, Failure>) -> Result<u8, Failure> {
    std::panic::catch_unwind(AssertUnwindSafe(command))
        .unwrap_or_else(|_| Err(Failure::new(failure::code::INTERNAL, message!("own-fault")).hint(message!("own-fault-hint"))))
}

/// Turns this process into a confined command, before anything else is done. The sandbox starts this program anew for each command with its
/// own network.
#[cfg(target_os = "linux")]
fn launch() -> ExitCode {
    match aime_sandbox::launch() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output::failure(&Message::text(error), None);
            ExitCode::from(failure::code::USAGE)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_a_fault_in_aime_itself() {
        assert_eq!(guarded(|| Ok(4)), Ok(4));
        let failure = guarded(|| panic!("it went wrong")).unwrap_err();
        assert_eq!(failure.code, failure::code::INTERNAL);
        assert!(failure.hint.is_some_and(|hint| hint.to_string().contains("resume")));
    }
}
