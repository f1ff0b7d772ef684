//! `cargo xtask tidy`: the rules of the codebase that no compiler checks.
//!
//! Each rule is a function from the [`Codebase`] to [`Fault`]s. All faults are reported at once.

mod alone;
mod bounds;
mod codebase;
mod commands;
mod cycles;
mod dependencies;
mod duplicates;
mod imports;
mod layers;
mod one_path;
mod prose;
mod requirements;
mod rust;
mod sources;
#[cfg(test)]
mod tests;
mod texts;

use std::fmt;

use anyhow::{Result, bail};

use codebase::Codebase;
pub(crate) use requirements::requirements;
use xtask::workspace;

/// Violation of a rule, with a hint on how to correct it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Fault {
    file: String,
    line: usize,
    what: String,
    hint: String,
}

impl Fault {
    fn new(file: &str, line: usize, what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line, what: what.into(), hint: hint.into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {} → {}", self.file, self.line, self.what, self.hint)
    }
}

/// Checks this workspace, prints all faults, and fails if there are any.
pub(crate) fn tidy() -> Result<()> {
    let codebase = Codebase::read(&workspace::root())?;
    for note in sources::long_files(&codebase) {
        eprintln!("note: {note}");
    }
    let faults = faults(&codebase)?;
    for fault in &faults {
        eprintln!("{fault}");
    }
    if !faults.is_empty() {
        bail!("tidy: {} faults", faults.len());
    }
    let (lines, in_command) = (bounds::lines_below(&codebase, "crates/"), bounds::lines_below(&codebase, "crates/cli/"));
    eprintln!("tidy: the crates have {lines} lines without tests, {in_command} of them the command");
    eprintln!("tidy: {} packages and {} files are in order", codebase.packages.len(), codebase.files.len());
    Ok(())
}

/// Returns all faults of the codebase in a folder, sorted by place.
#[cfg(test)]
fn check(root: &std::path::Path) -> Result<Vec<Fault>> {
    faults(&Codebase::read(root)?)
}

fn faults(codebase: &Codebase) -> Result<Vec<Fault>> {
    let mut faults = Vec::new();
    faults.extend(layers::check(codebase));
    faults.extend(dependencies::check(codebase));
    faults.extend(duplicates::check(codebase));
    faults.extend(sources::check(codebase));
    faults.extend(imports::check(codebase));
    faults.extend(cycles::check(codebase));
    faults.extend(one_path::check(codebase));
    faults.extend(alone::check(codebase));
    faults.extend(bounds::check(codebase));
    faults.extend(commands::check(codebase));
    faults.extend(texts::check(codebase));
    faults.extend(prose::check(codebase));
    faults.extend(requirements::check(codebase));
    faults.sort();
    faults.dedup();
    Ok(faults)
}
