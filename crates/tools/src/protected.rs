//! Protected places: files that later cause code to run outside of any sandbox.

mod changes;
mod git_config;
mod guard;
mod scan;

#[cfg(test)]
#[cfg(unix)]
mod tests;

pub(crate) use git_config::is_harmless_setting;
pub(crate) use guard::{WatchedCall, end_watch};
pub use {
    changes::{PlaceChange, PlaceOutcome},
    guard::{ProtectedPlaces, WatchedProgram},
};
