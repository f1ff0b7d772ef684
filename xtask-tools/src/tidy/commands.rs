//! Rule that only user interfaces name commands and options of `aime`: a library gives a typed hint, which they word.

use std::collections::BTreeMap;

use super::Fault;
use super::codebase::Codebase;

/// Folders of the user interfaces, of the programs that start `aime`, and of the messages themselves.
const INTERFACES: [&str; 9] = [
    "crates/acp/",
    "crates/bench/",
    "crates/cli/",
    "crates/dashboard/",
    "crates/mcp-server/",
    "crates/messages/",
    "crates/terminal/",
    "xtask/",
    "xtask-tools/",
];

/// Returns the faults in the libraries: texts that name a command, and messages that do.
pub(super) fn check(codebase: &Codebase) -> Vec<Fault> {
    let messages = messages(codebase);
    let mut faults = Vec::new();
    for (file, rust) in codebase.rust() {
        if file.is_test() || !file.path.starts_with("crates/") || INTERFACES.iter().any(|folder| file.path.starts_with(folder)) {
            continue;
        }
        for (line, literal) in rust.literals() {
            let text = literal.trim_matches('"');
            let named = match messages.get(text) {
                _ if text.contains("`aime ") => Some(text),
                Some(message) if file.text.contains(&format!("message!(\"{text}\"")) => Some(*message),
                _ => None,
            };
            if let Some(named) = named {
                let what = format!("a library names a command or option: {named}");
                faults.push(Fault::new(&file.path, line, what, "give a typed hint, and word it in `crates/cli/src/hints.rs`"));
            }
        }
    }
    faults
}

/// Returns the English messages that name a command or an option, by id.
fn messages(codebase: &Codebase) -> BTreeMap<&str, &str> {
    let files = codebase.files.iter().filter(|file| file.path.starts_with("crates/messages/en/"));
    let messages = files.flat_map(|file| file.text.lines()).filter_map(|line| line.split_once(" = "));
    messages.filter(|(_, text)| text.contains("`aime ") || text.contains(" --")).collect()
}
