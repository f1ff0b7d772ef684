//! Rule for the programs that show a crate alone: they stay short and import no other crate of the workspace.

use super::Fault;
use super::codebase::Codebase;

/// Largest number of lines of such a program.
const MAX_LINES: usize = 30;

/// Returns the faults in files named `alone.rs` among the tests of a crate.
pub(super) fn check(codebase: &Codebase) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (file, rust) in codebase.rust().filter(|(file, _)| file.path.ends_with("/alone.rs") && file.path.contains("/tests/")) {
        if rust.lines() > MAX_LINES {
            faults.push(Fault::new(&file.path, MAX_LINES, format!("{} lines", rust.lines()), "a first program has at most 30 lines"));
        }
        let Some(package) = codebase.packages.iter().find(|package| file.path.starts_with(&format!("{}/", package.folder))) else {
            continue;
        };
        let own = package.name.replace('-', "_");
        for (index, line) in file.text.lines().enumerate() {
            let words = line.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
            if let Some(other) = words.into_iter().find(|word| word.starts_with("aime_") && *word != own && line.starts_with("use ")) {
                faults.push(Fault::new(&file.path, index + 1, format!("imports {other}"), format!("import it through {own}")));
            }
        }
    }
    faults
}
