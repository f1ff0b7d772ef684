//! Bounds on the number of lines of a crate, without tests.

use super::Fault;
use super::codebase::Codebase;

/// Folders with their bounds. The command is to print, and to leave decisions to `aime-runs`.
const BOUNDS: [(&str, usize); 1] = [("crates/cli/", 8_000)];

/// Returns the faults of crates that exceed their bounds.
pub(super) fn check(codebase: &Codebase) -> Vec<Fault> {
    let exceeded = BOUNDS.iter().map(|(folder, most)| (folder, most, lines_below(codebase, folder)));
    let exceeded = exceeded.filter(|(_, most, lines)| lines > most);
    let fault = |(folder, most, lines)| {
        let what = format!("{lines} lines without tests, and at most {most} are allowed");
        Fault::new(&format!("{folder}Cargo.toml"), 1, what, "move what decides to the library that it belongs to, or delete")
    };
    exceeded.map(fault).collect()
}

/// Counts the lines of the Rust files below a folder, without tests.
pub(super) fn lines_below(codebase: &Codebase, folder: &str) -> usize {
    codebase.rust().filter(|(file, _)| file.path.starts_with(folder) && !file.is_test()).map(|(_, rust)| rust.lines_without_tests()).sum()
}
