//! Help texts and argument errors in the person's language.
//!
//! Clap writes both in English. As with the sentences of libraries, aime recognises the English text and translates it. So the English
//! texts stay with the commands and options, and manual pages and completions use them.

use std::error::Error as _;

use aime_messages::Message;
use clap::{Arg, Command, CommandFactory, Parser, ValueEnum, builder::PossibleValue, error::ErrorKind};

use super::{ArgumentFault, Cli, ColorChoice, tips::with_tip};
use crate::{
    i18n::{self, LanguageChoice, msg, print, typed},
    output,
};

/// Prints the reason why no command runs: the requested help or version, or the fault in the arguments.
pub(crate) fn print_usage_error(fault: clap::Error) {
    let fault = &with_tip(fault, as_typed());
    if i18n::is_english() {
        // A closed pipe is no error.
        return drop(fault.print());
    }
    match fault.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let localized = command().try_get_matches_from(std::env::args_os()).err();
            drop(localized.as_ref().unwrap_or(fault).print());
        }
        ErrorKind::DisplayVersion | ErrorKind::Io | ErrorKind::Format => drop(fault.print()),
        _ => {
            let explanation = explained(fault);
            let (first, rest) = explanation.split_once('\n').unwrap_or((&explanation, ""));
            output::failure(&Message::text(first), None);
            rest.lines().for_each(output::alert);
        }
    }
}

/// Describes the fault in the arguments in the person's language.
pub(super) fn explained(fault: &clap::Error) -> String {
    let mut text = fault.render().to_string();
    if let Some(ArgumentFault(reason)) = fault.source().and_then(|source| source.downcast_ref()) {
        text = text.replacen(&reason.to_string(), &print(reason), 1);
    }
    typed(text.strip_prefix("error: ").unwrap_or(&text).trim_end())
}

/// Returns the raw arguments, for finding one option in arguments that do not parse.
pub(crate) fn as_typed() -> impl Iterator<Item = String> {
    std::env::args_os().map(|argument| argument.to_string_lossy().into_owned())
}

/// Returns the value of `--lang` at any position, even in arguments that do not parse.
pub(crate) fn language_in(arguments: impl IntoIterator<Item = String>) -> Option<LanguageChoice> {
    option_in(arguments, "--lang")
}

/// Returns the value of `--color`, in the same way.
pub(crate) fn color_in(arguments: impl IntoIterator<Item = String>) -> Option<ColorChoice> {
    option_in(arguments, "--color")
}

fn option_in<T: ValueEnum>(arguments: impl IntoIterator<Item = String>, name: &str) -> Option<T> {
    let mut arguments = arguments.into_iter().take_while(|argument| argument != "--");
    while let Some(argument) = arguments.next() {
        let rest = argument.strip_prefix(name);
        let value = if rest == Some("") { arguments.next() } else { rest.and_then(|rest| rest.strip_prefix('=')).map(str::to_owned) };
        if let Some(value) = value {
            return T::from_str(&value, true).ok();
        }
    }
    None
}

/// Returns the command with its texts in the person's language. It parses the same arguments.
pub(super) fn command() -> Command {
    let mut command = Cli::command();
    // From here on the arguments that clap adds (`--help`, `help`) exist.
    command.build();
    translated_command(command)
}

fn translated_command(command: Command) -> Command {
    let about = command.get_about().map(|text| typed(&text.to_string()));
    let after = command.get_after_help().map(|text| typed(&text.to_string()));
    let style = *command.get_styles().get_usage();
    let command = command
        .mut_args(argument)
        .mut_subcommands(translated_command)
        .subcommand_help_heading(heading(msg!("shown-commands")))
        .help_template(format!("{{about-with-newline}}\n{style}{}{style:#} {{usage}}\n\n{{all-args}}{{after-help}}", msg!("shown-usage")));
    let command = if let Some(about) = about { command.about(about) } else { command };
    if let Some(after) = after { command.after_help(after) } else { command }
}

/// Turns a heading into a static string. The leak lasts until the process ends, just after it has printed the help.
fn heading(text: String) -> &'static str {
    text.leak()
}

/// Translates the texts of an argument, including the defaults and values that clap would append in English.
fn argument(argument: Arg) -> Arg {
    let over = match argument.get_help_heading() {
        Some(heading) => typed(heading),
        None if argument.is_positional() => msg!("shown-arguments"),
        None => msg!("shown-options"),
    };
    let mut help = argument.get_help().map(|text| typed(&text.to_string())).unwrap_or_default();
    let long = argument.get_long_help().map(|text| typed(&text.to_string()));
    let order = argument.get_index();
    let defaults: Vec<_> = argument.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    if argument.get_action().takes_values() && !defaults.is_empty() && !argument.is_hide_default_value_set() {
        help = format!("{help} {}", msg!("shown-default", values = defaults.join(", ")));
    }
    let values: Vec<_> = argument.get_possible_values().into_iter().filter(|value| !value.is_hide_set()).collect();
    let names: Vec<&str> = values.iter().map(PossibleValue::get_name).collect();
    let each = values.iter().filter_map(|value| Some((value.get_name(), typed(&value.get_help()?.to_string()))));
    let each: String = each.map(|(name, help)| format!("\n- {name}: {help}")).collect();
    let long = long.or_else(|| (!each.is_empty()).then(|| format!("{help}\n\n{}{each}", msg!("shown-values"))));
    if !names.is_empty() && argument.get_action().takes_values() && !argument.is_hide_possible_values_set() {
        help = format!("{help} {}", msg!("shown-possible", values = names.join(", ")));
    }
    let argument = argument.help_heading(heading(over)).help(help).hide_default_value(true).hide_possible_values(true);
    // Under a custom heading clap would sort positional arguments by name.
    let argument = if let Some(order) = order { argument.display_order(order) } else { argument };
    if let Some(long) = long { argument.long_help(long) } else { argument }
}

/// Parses the arguments.
pub(crate) fn read() -> Result<Cli, clap::Error> {
    Cli::try_parse()
}
