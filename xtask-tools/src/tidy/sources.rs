//! Rules for Rust files: documented, small, finished, and free of prompts.

use toml::Value;

use super::Fault;
use super::codebase::{Codebase, TextFile};
use super::rust::Source;

/// Number of lines above which a file is refused.
const REFUSED: usize = 600;

/// Number of lines above which a file gets a note.
const LONG: usize = 400;

/// Length above which a text for a model counts as a prompt, which belongs in a file; in characters.
const PROMPT: usize = 400;

/// Phrases that are typical for prompts.
const ADDRESSES: [&str; 5] = ["You are ", "Your task", "You must", "Answer with", "Respond with"];

/// Beginnings of module documentation. A crate may include its README.
const DOCUMENTATION: [&str; 2] = ["//!", "#![doc = include_str!("];

/// Unfinished code: tokens, description, and correction.
const UNFINISHED: [(&[&str], &str, &str); 6] = [
    (&["#", "[", "allow", "("], "a silenced lint", "correct what it points at, or `#[expect(…, reason = \"…\")]`"),
    (&["#", "!", "[", "allow", "("], "a silenced lint", "correct what it points at, or `#![expect(…, reason = \"…\")]`"),
    (&["#", "[", "ignore"], "a test that does not run", "make it run, or remove it"),
    (&["todo", "!"], "unfinished code", "finish it"),
    (&["unimplemented", "!"], "unfinished code", "finish it"),
    (&["unsafe", "{"], "unsafe code", "find a safe way"),
];

/// Returns the faults in the Rust files.
pub(super) fn check(codebase: &Codebase) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (file, rust) in codebase.rust() {
        let mut fault = |line, what: String, hint: &str| faults.push(Fault::new(&file.path, line, what, hint));
        if !rust.is_test() && !DOCUMENTATION.iter().any(|start| file.text.trim_start().starts_with(start)) {
            fault(1, "no module documentation".into(), "begin with `//!`: what this file owns");
        }
        if rust.lines() > REFUSED {
            fault(REFUSED, format!("{} lines", rust.lines()), "split it by idea");
        }
        for (tokens, what, hint) in UNFINISHED {
            for line in rust.places(tokens) {
                fault(line, what.into(), hint);
            }
        }
        for (line, path) in included_from_outside(codebase, file, rust) {
            fault(line, format!("{path} is outside of the package, and not published with it"), "move it into the package");
        }
        for (line, literal) in rust.literals() {
            if literal.chars().count() > PROMPT && ADDRESSES.iter().any(|address| literal.contains(address)) {
                fault(line, "a prompt in the code".into(), "move it to `prompts/NAME.md` of the crate, rendered from a typed context");
            }
        }
    }
    faults
}

/// Returns the files outside of its package that the code includes, with their lines. `cargo publish` packs only files inside.
fn included_from_outside(codebase: &Codebase, file: &TextFile, rust: &Source) -> Vec<(usize, String)> {
    let inside = codebase.packages.iter().find_map(|package| {
        let published = package.manifest.get("package").and_then(|table| table.get("publish")).and_then(Value::as_bool) != Some(false);
        file.path.strip_prefix(&package.folder)?.strip_prefix('/').filter(|_| published)
    });
    let Some(inside) = inside.filter(|_| !file.is_test()) else { return Vec::new() };
    let depth = inside.matches('/').count();
    let lines = file.text.lines().enumerate().filter(|(index, _)| !rust.is_test_line(index + 1));
    let included = lines.flat_map(|(index, line)| line.split("include_").skip(1).map(move |rest| (index + 1, rest)));
    let paths = included.filter_map(|(line, rest)| Some((line, rest.split_once("!(\"")?.1.split_once('"')?.0)));
    paths.filter(|(_, path)| path.matches("../").count() > depth).map(|(line, path)| (line, path.to_owned())).collect()
}

/// Returns notes on files that are long but not refused.
pub(super) fn long_files(codebase: &Codebase) -> Vec<String> {
    let long = codebase.rust().filter(|(_, rust)| (LONG + 1..=REFUSED).contains(&rust.lines()));
    long.map(|(file, rust)| format!("{} has {} lines", file.path, rust.lines())).collect()
}
