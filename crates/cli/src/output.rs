//! Standard output carries results, standard error everything else. A closed pipe is no error.

use std::{
    io::{ErrorKind, IsTerminal, Write},
    sync::OnceLock,
};

use anstyle::{AnsiColor, Style};
use serde::Serialize;
use tracing_subscriber::EnvFilter;

use crate::{args::ColorChoice, config::Environment, failure::Failure};

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const GREEN: Style = AnsiColor::Green.on_default();
pub(crate) const RED: Style = AnsiColor::Red.on_default();
pub(crate) const YELLOW: Style = AnsiColor::Yellow.on_default();
pub(crate) const CYAN: Style = AnsiColor::Cyan.on_default();

/// Colours by the flag; `NO_COLOR` and a missing terminal turn them off where the flag leaves it open.
pub(crate) fn choose_colors(choice: ColorChoice, environment: &Environment) {
    let choice = match choice {
        ColorChoice::Always => anstream::ColorChoice::Always,
        ColorChoice::Never => anstream::ColorChoice::Never,
        ColorChoice::Auto if environment.text("NO_COLOR").is_some() => anstream::ColorChoice::Never,
        ColorChoice::Auto => anstream::ColorChoice::Auto,
    };
    choice.write_global();
}

/// The log, on standard error, for `-v` and `-vv`.
pub(crate) fn start_log(verbose: u8) {
    let level = match verbose {
        0 => return,
        1 => "info",
        _ => "debug",
    };
    let filter = EnvFilter::new(format!("{level},hyper=warn,reqwest=warn,rustls=warn"));
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(false).with_target(false);
    // A second log in one process (tests) keeps the first.
    drop(log.try_init());
}

/// Whether a person watches standard error.
pub(crate) fn is_watched() -> bool {
    std::io::stderr().is_terminal()
}

/// Whether a person can type.
pub(crate) fn can_type() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Why a part of the result could not be written; the first reason stays.
static LOST: OnceLock<String> = OnceLock::new();

/// One line of the result.
pub(crate) fn result(text: &str) {
    match writeln!(anstream::stdout(), "{text}") {
        // Whoever closes the pipe has seen enough.
        Err(error) if error.kind() != ErrorKind::BrokenPipe => drop(LOST.set(error.to_string())),
        _ => {}
    }
}

/// Why the result is not whole, if a part of it could not be written. A closed pipe is no error.
pub(crate) fn lost() -> Option<&'static str> {
    LOST.get().map(String::as_str)
}

/// A JSON document as the result.
pub(crate) fn json<T: Serialize>(value: &T, pretty: bool) -> Result<(), Failure> {
    let text = if pretty { serde_json::to_string_pretty(value) } else { serde_json::to_string(value) };
    result(&text.map_err(Failure::internal)?);
    Ok(())
}

/// One line beside the result.
pub(crate) fn note(text: &str) {
    drop(writeln!(anstream::stderr(), "{text}"));
}

/// A text with its colours, or without where standard error wants none.
pub(crate) fn painted(text: &str) -> String {
    match anstream::AutoStream::choice(&std::io::stderr()) {
        anstream::ColorChoice::Never => anstream::adapter::strip_str(text).to_string(),
        _ => text.to_owned(),
    }
}

/// What failed, and the mend.
pub(crate) fn failure(message: &str, hint: Option<&str>) {
    note(&format!("{RED}error{RED:#}: {message}"));
    if let Some(hint) = hint {
        note(&format!("{CYAN}hint{CYAN:#}: {hint}"));
    }
}
