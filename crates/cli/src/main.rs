//! The `aime` command: arguments, configuration, screen, exit codes. It decides nothing about a run.

mod args;
mod commands;
mod config;
mod consents;
mod failure;
mod models;
mod output;
mod person;
mod plan_formats;
mod screen;
mod wiring;
mod words;

use std::process::ExitCode;

use clap::error::ErrorKind;

use crate::{
    config::Environment,
    failure::Failure,
    words::{Language, LanguageChoice},
};

fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    if std::env::args_os().nth(1).is_some_and(|first| first == wiring::LAUNCH) {
        return launch();
    }
    let environment = Environment::of_process();
    let cli = match args::read() {
        Ok(cli) => cli,
        Err(error) => {
            // A version is the same in every language: nothing is read for it.
            if error.kind() != ErrorKind::DisplayVersion {
                words::speak(commands::language_of_nothing(&environment));
            }
            args::tell(&error);
            // Help and version are what was asked for; anything else is wrong use.
            return ExitCode::from(if error.use_stderr() { failure::code::USAGE } else { 0 });
        }
    };
    output::choose_colors(cli.global.color, &environment);
    // The settings may say otherwise; what they themselves have wrong is told in this one.
    words::speak(Language::of(cli.global.lang, LanguageChoice::Auto, &environment));
    output::start_log(cli.global.verbose);
    let outcome = commands::run(cli, environment).and_then(|code| match output::lost() {
        Some(error) if code == 0 => Err(Failure::usage(format!("standard output could not be written: {error}"))),
        _ => Ok(code),
    });
    match outcome {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            let Failure { code, message, hint } = failure;
            output::failure(&message, hint.as_deref());
            ExitCode::from(code)
        }
    }
}

/// Becomes a confined command, before anything else is done: this program is started anew for each that is to have a network of its own.
#[cfg(target_os = "linux")]
fn launch() -> ExitCode {
    match aime_sandbox::launch() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output::failure(&error.to_string(), None);
            ExitCode::from(failure::code::USAGE)
        }
    }
}
