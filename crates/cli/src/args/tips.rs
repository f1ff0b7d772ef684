//! Tips for invalid arguments whose intention can be guessed.

use clap::{
    Command, CommandFactory as _,
    error::{ContextKind, ContextValue, Error, ErrorKind},
};

use crate::i18n::msg;

/// Commands and options that only a build with the feature `temporal` has.
#[cfg(any(test, not(feature = "temporal")))]
pub(super) const OF_TEMPORAL: &str = "worker --engine --blobs --payload-key --tls-ca --tls-cert --tls-key --tls-name --workspace \
    --git-handoff --worker-timeout --queue-prefix";

/// Commands on runs that people try without `runs`.
const OF_RUNS: [&str; 10] = ["list", "show", "diff", "fork", "watch", "events", "report", "undo", "redo", "delete"];

fn usage(fault: &Error) -> String {
    fault.get(ContextKind::Usage).map(ToString::to_string).unwrap_or_default()
}

/// Returns whether a fault is about `aime run` or `aime plan`.
fn takes_goal(fault: &Error) -> bool {
    let usage = usage(fault);
    usage.contains("[GOAL]") || usage.contains("<GOAL>")
}

/// Returns whether a fault is about a command that takes a text.
fn takes_text(fault: &Error) -> bool {
    takes_goal(fault) || usage(fault).contains("<TEXT>...")
}

/// Returns whether an unknown option is a text that begins with a hyphen, because no option has a space in it. Of `-text` clap names the
/// first two characters alone.
fn is_text(name: &str, arguments: impl IntoIterator<Item = impl AsRef<str>>) -> bool {
    let is_short = name.starts_with('-') && !name.starts_with("--");
    let has_space = |text: &str| text.contains(char::is_whitespace);
    let mut options = arguments.into_iter().take_while(|argument| argument.as_ref() != "--");
    name.starts_with('-') && has_space(name)
        || is_short && options.any(|argument| argument.as_ref().starts_with(name) && has_space(argument.as_ref()))
}

/// Returns whether a fault is about `aime` itself and not about one of its commands.
fn is_of_program(fault: &Error) -> bool {
    usage(fault).split("aime ").nth(1).is_some_and(|rest| rest.starts_with(['[', '<']))
}

/// Adds a tip to the fault in the arguments, if there is one.
pub(super) fn with_tip(mut fault: Error, arguments: impl IntoIterator<Item = impl AsRef<str>>) -> Error {
    #[cfg(not(feature = "temporal"))]
    if let Some(ContextValue::String(name)) = fault.get(ContextKind::InvalidSubcommand).or_else(|| fault.get(ContextKind::InvalidArg))
        && OF_TEMPORAL.split_whitespace().any(|known| known == name)
    {
        [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand].into_iter().for_each(|near| drop(fault.remove(near)));
        let tip = msg!("typed-feature", name = "temporal");
        fault.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
        return fault;
    }
    let is_text = takes_text(&fault) && fault.get(ContextKind::InvalidArg).is_some_and(|name| is_text(&name.to_string(), arguments));
    let tip = match (fault.kind(), fault.get(ContextKind::InvalidArg), fault.get(ContextKind::InvalidSubcommand)) {
        (ErrorKind::MissingRequiredArgument, Some(ContextValue::Strings(missing)), _) if missing.iter().any(|name| name == "<RUN>") => {
            msg!("last-is-newest")
        }
        (ErrorKind::InvalidSubcommand, _, Some(ContextValue::String(words))) if words.contains(char::is_whitespace) => {
            fault.remove(ContextKind::SuggestedSubcommand);
            msg!("typed-goal")
        }
        (ErrorKind::InvalidSubcommand, _, Some(ContextValue::String(name)))
            if OF_RUNS.contains(&name.as_str()) && is_of_program(&fault) =>
        {
            let tip = msg!("typed-of-runs", name);
            fault.remove(ContextKind::SuggestedSubcommand);
            tip
        }
        (ErrorKind::InvalidSubcommand, ..) if !is_of_program(&fault) && fault.get(ContextKind::SuggestedSubcommand).is_none() => {
            let usage = usage(&fault);
            let mut command = super::Cli::command();
            command.build();
            let Some(parent) = usage.split_whitespace().find_map(|word| command.find_subcommand(word)) else { return fault };
            let names = parent.get_subcommands().map(Command::get_name).collect::<Vec<_>>().join(", ");
            msg!("typed-commands-here", names)
        }
        (ErrorKind::UnknownArgument, Some(ContextValue::String(name)), _) if takes_goal(&fault) && !name.starts_with('-') => {
            fault.remove(ContextKind::SuggestedArg);
            msg!("typed-quote")
        }
        (ErrorKind::UnknownArgument, ..) if is_text => {
            // The usage shows the option that clap proposes.
            if fault.remove(ContextKind::SuggestedArg).is_some() {
                drop(fault.remove(ContextKind::Usage));
            }
            msg!("typed-hyphen")
        }
        (ErrorKind::UnknownArgument, Some(ContextValue::String(name)), _) => {
            let near = fault.get(ContextKind::SuggestedArg).map(ToString::to_string);
            // Clap proposes options that have little in common with the given one, and puts them into the usage.
            if near.is_some_and(|near| aime_messages::nearest(name, [near.as_str()]).is_none()) {
                [ContextKind::SuggestedArg, ContextKind::Usage].into_iter().for_each(|kind| drop(fault.remove(kind)));
            }
            return fault;
        }
        _ => return fault,
    };
    fault.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    fault
}
