//! Arguments of subcommands that clap learns when they are used.

use clap::{ArgMatches, Args, Command, Error, FromArgMatches, Id, Subcommand};

/// Arguments or subcommands of one subcommand. Clap learns them when this subcommand is parsed or shown, because a start does not need
/// those of all the others.
#[derive(Debug)]
pub(crate) struct LazyArgs<T>(pub(crate) T);

impl<T> LazyArgs<T> {
    /// Returns the arguments.
    pub(crate) fn into_inner(self) -> T {
        self.0
    }
}

impl<T: FromArgMatches> FromArgMatches for LazyArgs<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        T::from_arg_matches(matches).map(Self)
    }

    fn from_arg_matches_mut(matches: &mut ArgMatches) -> Result<Self, Error> {
        T::from_arg_matches_mut(matches).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }

    fn update_from_arg_matches_mut(&mut self, matches: &mut ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches_mut(matches)
    }
}

impl<T: Args> Args for LazyArgs<T> {
    fn group_id() -> Option<Id> {
        T::group_id()
    }

    fn augment_args(command: Command) -> Command {
        command.defer(|command| globals_last(command, T::augment_args))
    }

    fn augment_args_for_update(command: Command) -> Command {
        command.defer(|command| globals_last(command, T::augment_args_for_update))
    }
}

impl<T: Subcommand> Subcommand for LazyArgs<T> {
    fn augment_subcommands(command: Command) -> Command {
        command.defer(T::augment_subcommands)
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        command.defer(T::augment_subcommands_for_update)
    }

    fn has_subcommand(name: &str) -> bool {
        T::has_subcommand(name)
    }
}

/// Adds arguments in front of the global ones, which clap adds first here. Help shows the headings in the order of the arguments.
fn globals_last(command: Command, add: fn(Command) -> Command) -> Command {
    let globals: Vec<Id> = command.get_arguments().map(|argument| argument.get_id().clone()).collect();
    globals.into_iter().fold(add(command), |command, id| command.mut_arg(id, |argument| argument))
}
