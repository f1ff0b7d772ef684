//! Output streams: standard output carries results, standard error everything else. A closed pipe is no error.

use std::{
    io::{self, ErrorKind, IsTerminal, Write},
    sync::{
        Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use aime_messages::Message;
use aime_orchestrator::FailureCode;
use aime_progress_management::CostByRole;
use aime_redact::Redactor;
use aime_runs::Environment;
pub(crate) use aime_terminal::plain;
use aime_terminal::{escaped_json, with_colors};
use anstyle::{AnsiColor, Style};
use serde::Serialize;
use tracing_subscriber::EnvFilter;

use crate::{
    args::ColorChoice,
    failure::Failure,
    i18n::{self, msg, print_question},
};

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const GREEN: Style = AnsiColor::Green.on_default();
pub(crate) const RED: Style = AnsiColor::Red.on_default();
pub(crate) const YELLOW: Style = AnsiColor::Yellow.on_default();
pub(crate) const CYAN: Style = AnsiColor::Cyan.on_default();

/// Chooses colours by the flag. Without one, `NO_COLOR` and a missing terminal turn them off.
pub(crate) fn choose_colors(choice: ColorChoice, environment: &Environment) {
    let choice = match choice {
        ColorChoice::Always => anstream::ColorChoice::Always,
        ColorChoice::Never => anstream::ColorChoice::Never,
        ColorChoice::Auto if environment.text("NO_COLOR").is_some() => anstream::ColorChoice::Never,
        ColorChoice::Auto => anstream::ColorChoice::Auto,
    };
    choice.write_global();
}

/// Starts the log on standard error, for `-v` and `-vv`.
pub(crate) fn start_log(verbose: u8) {
    let level = match verbose {
        0 => return,
        1 => "info",
        _ => "debug",
    };
    let filter = EnvFilter::new(format!("{level},hyper=warn,reqwest=warn,rustls=warn,rmcp::transport::auth=info"));
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(|| CleanLog).with_ansi(false).with_target(false);
    // The subscriber reports a failed write by `eprintln!`, which panics if standard error is closed or full.
    let log = log.log_internal_errors(false);
    // In tests a process may start a second log; the first one stays.
    drop(log.try_init());
}

/// Removes secrets from all output.
static REDACTOR: OnceLock<Redactor> = OnceLock::new();

/// Removes these secrets from all output from here on.
pub(crate) fn keep_secret(redactor: &Redactor) {
    // A second redactor has the same secrets, so the first one stays.
    drop(REDACTOR.set(redactor.clone()));
}

fn redactor() -> &'static Redactor {
    static NONE: OnceLock<Redactor> = OnceLock::new();
    REDACTOR.get().unwrap_or_else(|| NONE.get_or_init(Redactor::default))
}

/// Log without secrets. Each event is written at once, so that none is split.
struct CleanLog;

impl Write for CleanLog {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        io::stderr().write_all(redactor().text(&String::from_utf8_lossy(bytes)).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

/// Removes colours and secrets from a text.
pub(crate) fn bare(text: &str) -> String {
    redactor().text(&anstream::adapter::strip_str(text).to_string()).into_owned()
}

/// Returns true if standard error may have colours.
pub(crate) fn has_colors() -> bool {
    anstream::AutoStream::choice(&io::stderr()) != anstream::ColorChoice::Never
}

/// Returns true if a person watches standard error.
pub(crate) fn is_watched() -> bool {
    io::stderr().is_terminal()
}

/// Returns true if a person watches standard output.
pub(crate) fn is_seen() -> bool {
    io::stdout().is_terminal()
}

/// Returns true if a person can type.
pub(crate) fn can_type() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// First error that kept a part of the result from being written.
static LOST: OnceLock<String> = OnceLock::new();

/// Prints one line of the result.
pub(crate) fn result(text: &str) {
    // Only known secret values are removed here. Texts that look like keys are removed at their source, because the pattern could swallow
    // the end of a document.
    let text = redactor().values(text);
    write_result(&if is_seen() { with_colors(&text) } else { text });
}

fn write_result(text: &str) {
    match writeln!(anstream::stdout(), "{text}") {
        // A reader that closes the pipe wants no more output.
        Err(error) if error.kind() != ErrorKind::BrokenPipe => drop(LOST.set(error.to_string())),
        _ => {}
    }
}

/// Returns the reason why the result is incomplete, if it is. A closed pipe is no error.
pub(crate) fn lost() -> Option<&'static str> {
    LOST.get().map(String::as_str)
}

/// Prints a JSON document as the result. Secrets are removed from its texts before serialization, so that it stays valid JSON.
pub(crate) fn json<T: Serialize>(value: &T, pretty: bool) -> Result<(), Failure> {
    let mut document = serde_json::to_value(value).map_err(Failure::internal)?;
    redactor().own_document(&mut document);
    let text = if pretty { serde_json::to_string_pretty(&document) } else { serde_json::to_string(&document) };
    write_result(&escaped_json(&text.map_err(Failure::internal)?));
    Ok(())
}

/// True if only the result is printed.
static QUIET: AtomicBool = AtomicBool::new(false);

/// Returns true if notes are suppressed.
#[cfg(feature = "local-model")]
pub(crate) fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Suppresses notes from here on.
pub(crate) fn set_quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

/// Notes that are held back; none if notes are printed at once.
static HELD_NOTES: Mutex<Option<Vec<String>>> = Mutex::new(None);

fn held_notes() -> MutexGuard<'static, Option<Vec<String>>> {
    HELD_NOTES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Holds notes back until [`first_note`], [`release_notes`] or an alert, so that the first line on standard error is that of the model.
pub(crate) fn hold_notes() {
    *held_notes() = Some(Vec::new());
}

/// Prints a note, and then those that were held back.
pub(crate) fn first_note(text: &str) {
    if !QUIET.load(Ordering::Relaxed) {
        write_line(text);
    }
    release_notes();
}

/// Prints the notes that were held back. Later ones are printed at once.
pub(crate) fn release_notes() {
    let held = held_notes().take();
    held.iter().flatten().for_each(|text| write_line(text));
}

/// Prints a note of one line, unless notes are suppressed.
pub(crate) fn note(text: &str) {
    if QUIET.load(Ordering::Relaxed) {
        return;
    }
    match held_notes().as_mut() {
        Some(held) => held.push(text.to_owned()),
        None => write_line(text),
    }
}

/// Prints an important line that is never suppressed: a failure or a question.
pub(crate) fn alert(text: &str) {
    release_notes();
    write_line(text);
}

fn write_line(text: &str) {
    drop(writeln!(anstream::stderr(), "{}", with_colors(&redactor().text(text))));
}

/// Prints the answer of a run: unchanged for programs, with control characters spelt out for a terminal.
pub(crate) fn answer(text: &str) {
    if is_seen() { result(&plain(text)) } else { result(text) }
}

/// Returns a text with its colours, or without if standard error takes none.
pub(crate) fn painted(text: &str) -> String {
    let text = with_colors(text);
    if has_colors() { text.into_owned() } else { anstream::adapter::strip_str(&text).to_string() }
}

/// Prints a failure with its hint.
pub(crate) fn failure(message: &Message, hint: Option<&Message>) {
    labelled(&format!("{RED}{}{RED:#}", msg!("failure-label")), message, hint);
}

/// Prints why a run is unfinished although nothing has failed (it waits for an answer, or a person has stopped it), and how to continue.
pub(crate) fn open_end(code: FailureCode, message: &Message, hint: Option<&Message>) {
    let label = if code == FailureCode::WaitingForHuman { msg!("question-label") } else { msg!("stopped-label") };
    labelled(&format!("{YELLOW}{label}{YELLOW:#}"), message, hint);
}

fn labelled(label: &str, message: &Message, hint: Option<&Message>) {
    alert(&msg!("failure-error", label, message = print_question(message)));
    if let Some(hint) = hint {
        alert(&msg!("failure-hint", label = format!("{CYAN}{}{CYAN:#}", msg!("hint-label")), hint));
    }
}

/// Formats a count in the person's language: `1 task`, `2 tasks`.
pub(crate) fn count(number: usize, thing: &str) -> String {
    i18n::counted(number, thing)
}

/// Returns the usage by asker, if there are several: `lead 900 tokens in 3 requests, actors …`.
pub(crate) fn by_who(by: &CostByRole) -> Option<String> {
    let asked = by.parts().into_iter().filter(|(_, spent)| spent.requests > 0);
    let output = asked.map(|(who, spent)| {
        let requests = count(usize::try_from(spent.requests).unwrap_or(usize::MAX), "request");
        let cost = (spent.cost_usd > 0.0).then(|| format!("${:.4}", spent.cost_usd));
        let cached = (spent.cached_input_tokens > 0).then(|| msg!("run-cached", tokens = spent.cached_input_tokens));
        let notes: Vec<String> = cached.into_iter().chain(cost).collect();
        let notes = if notes.is_empty() { String::new() } else { format!(" ({})", notes.join(&msg!("view-comma"))) };
        let tokens = spent.input_tokens + spent.output_tokens;
        format!("{}{notes}", msg!("spent-by", who = i18n::word_name("spent", who), tokens, requests))
    });
    let output: Vec<String> = output.collect();
    (output.len() > 1).then(|| output.join(&msg!("view-comma")))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn spending_names_each_role() {
        let spent = |requests, input_tokens, cost_usd| json!({"requests": requests, "input_tokens": input_tokens, "cost_usd": cost_usd});
        let output = |by: Value| by_who(&serde_json::from_value(by).unwrap());
        assert_eq!(output(json!({})), None);
        assert_eq!(output(json!({"actors": spent(2, 90, 0.5)})), None, "the sum says it");
        let mut all = json!({"lead": spent(1, 40, 0.25), "actors": spent(2, 90, 0.0), "checks": spent(1, 7, 0.0)});
        let expected = "lead 40 tokens in 1 request ($0.2500), actors 90 tokens in 2 requests, checks 7 tokens in 1 request";
        assert_eq!(output(all.clone()).as_deref(), Some(expected));
        all["lead"]["cached_input_tokens"] = json!(30);
        all["actors"]["cached_input_tokens"] = json!(80);
        let expected = "lead 40 tokens in 1 request (30 from the cache, $0.2500), actors 90 tokens in 2 requests (80 from the cache), \
                        checks 7 tokens in 1 request";
        assert_eq!(output(all).as_deref(), Some(expected));
    }

    #[test]
    fn one_is_one() {
        assert_eq!([0, 1, 2].map(|number| count(number, "fault")), ["0 faults", "1 fault", "2 faults"]);
    }
}
