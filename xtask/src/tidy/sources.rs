//! Rust files: documented, small, finished, and free of prompts.

use super::Fault;
use super::codebase::Codebase;

/// Lines above which a file is refused.
const REFUSED: usize = 600;

/// Lines above which a file is worth a look.
const LONG: usize = 400;

/// Characters above which a text for a model is a prompt, and belongs in a file.
const PROMPT: usize = 400;

/// How prompts speak.
const ADDRESSES: [&str; 5] = ["You are ", "Your task", "You must", "Answer with", "Respond with"];

/// How module documentation begins: a crate's may be its README.
const DOCUMENTATION: [&str; 2] = ["//!", "#![doc = include_str!("];

/// What is not to be left behind: the tokens, what it is, and the mend.
const UNFINISHED: [(&[&str], &str, &str); 6] = [
    (&["#", "[", "allow", "("], "a silenced lint", "mend what it points at, or `#[expect(…, reason = \"…\")]`"),
    (&["#", "!", "[", "allow", "("], "a silenced lint", "mend what it points at, or `#![expect(…, reason = \"…\")]`"),
    (&["#", "[", "ignore"], "a test that does not run", "make it run, or remove it"),
    (&["todo", "!"], "unfinished code", "finish it"),
    (&["unimplemented", "!"], "unfinished code", "finish it"),
    (&["unsafe", "{"], "unsafe code", "find a safe way"),
];

/// The faults in the Rust files.
pub(super) fn check(codebase: &Codebase) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (file, rust) in codebase.rust() {
        let mut fault = |line, what: String, mend: &str| faults.push(Fault::new(&file.path, line, what, mend));
        if !rust.is_test() && !DOCUMENTATION.iter().any(|start| file.text.trim_start().starts_with(start)) {
            fault(1, "no module documentation".into(), "begin with `//!`: what this file owns");
        }
        if rust.lines() > REFUSED {
            fault(REFUSED, format!("{} lines", rust.lines()), "split it by idea");
        }
        for (tokens, what, mend) in UNFINISHED {
            for line in rust.places(tokens) {
                fault(line, what.into(), mend);
            }
        }
        for (line, literal) in rust.literals() {
            if literal.chars().count() > PROMPT && ADDRESSES.iter().any(|address| literal.contains(address)) {
                fault(line, "a prompt in the code".into(), "move it to `prompts/NAME.md` of the crate, rendered from a typed context");
            }
        }
    }
    faults
}

/// Files that are long but not refused, as notes.
pub(super) fn long_files(codebase: &Codebase) -> Vec<String> {
    let long = codebase.rust().filter(|(_, rust)| (LONG + 1..=REFUSED).contains(&rust.lines()));
    long.map(|(file, rust)| format!("{} has {} lines", file.path, rust.lines())).collect()
}
