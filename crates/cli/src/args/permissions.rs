//! Arguments of `aime permissions`.

use clap::{Subcommand, ValueEnum};

#[derive(Debug, Subcommand)]
pub(crate) enum PermissionsCommand {
    /// List the mode, the rules and what is remembered for this folder
    List,
    /// Forget what "always" has allowed here
    Forget {
        /// Its number in the list
        #[arg(required_unless_present = "all", conflicts_with = "all", value_parser = super::whole::<usize>(1, u64::MAX))]
        number: Option<usize>,
        /// Forget everything that is remembered for this folder
        #[arg(long)]
        all: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PermissionsFormat {
    Text,
    Json,
}
