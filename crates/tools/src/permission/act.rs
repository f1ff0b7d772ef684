//! What a call does, as rules see it.

use aime_hosts::host_of;
use serde_json::{Map, Value};

use super::{
    path::CallPath,
    protected::known_words,
    sets_up::{self, sets_up},
    shell::{Script, SimpleCommand, Word},
    sign::{Sign, text_of},
};
use crate::builtin::named_in_patch;

/// One thing that a call does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Act {
    /// It is a call of this tool. Of one that calls another, of both.
    Call { names: Vec<String> },
    /// It runs a simple command.
    Command(Box<SimpleCommand>),
    /// It runs something that nobody can read: it may do anything that a process may.
    Unknown,
    /// It reads a file; through this tool, where it is one. Not `certain`: what is named may be something else than a file to read.
    Reads { path: CallPath, certain: bool, tool: Option<&'static str> },
    /// It writes a file.
    Writes { path: CallPath, certain: bool, tool: Option<&'static str> },
    /// It looks into a folder.
    Looks { path: CallPath },
    /// It asks this host; none where it is not known.
    Host(Option<String>),
    /// It hands over a text.
    Text { tool: String, parameter: &'static str, text: String },
}

impl SimpleCommand {
    /// The texts that rules for commands are held against.
    pub(super) fn forms(&self, strictly: bool) -> Vec<Vec<Sign>> {
        if self.words.is_empty() {
            return Vec::new();
        }
        let mut forms = vec![self.text(false)];
        if strictly {
            forms.push(self.text(true));
            let slash = self.words.first().and_then(|name| name.iter().rposition(|sign| *sign == Sign::Char('/')));
            if let Some(slash) = slash {
                let mut command = self.clone();
                if let Some(name) = command.words.first_mut() {
                    name.drain(..=slash);
                }
                forms.extend([command.text(false), command.text(true)]);
            }
        }
        forms
    }
}

/// All that a call does. `folder` is the working folder, as an absolute path without links.
pub(super) fn acts(folder: &str, tool: &str, parameters: &Map<String, Value>) -> Vec<Act> {
    // A number where a text is wanted is taken for one, as it is when the call is made.
    let text = |name: &str| match parameters.get(name) {
        Some(Value::String(text)) => Some(text.clone()),
        Some(other @ (Value::Number(_) | Value::Bool(_))) => Some(other.to_string()),
        _ => None,
    };
    let path = || CallPath::new(folder, &text("path").unwrap_or_default());
    let handed = |parameter| Act::Text { tool: tool.to_owned(), parameter, text: text(parameter).unwrap_or_default() };
    let mut names = vec![tool.to_owned()];
    let mut more = Vec::new();
    match tool {
        "bash" => more = of_script(folder, &text("command").unwrap_or_default()),
        "read_file" => {
            let several = parameters.get("paths").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
            let paths: Vec<CallPath> = several.map(|path| CallPath::new(folder, path)).collect();
            // Without any it names the folder, which holds what a rule may deny.
            let one = (paths.is_empty() || parameters.contains_key("path")).then(path);
            more.extend(one.into_iter().chain(paths).map(|path| Act::Reads { path, certain: true, tool: Some("read_file") }));
        }
        "write_file" => more.push(Act::Writes { path: path(), certain: true, tool: Some("write_file") }),
        // It tells what the file holds where the text does not fit.
        "edit_file" => more.extend([
            Act::Reads { path: path(), certain: true, tool: Some("edit_file") },
            Act::Writes { path: path(), certain: true, tool: Some("edit_file") },
        ]),
        "apply_patch" => {
            for named in named_in_patch(&text("patch").unwrap_or_default()) {
                let path = CallPath::new(folder, &named.path);
                more.extend(named.reads.then(|| Act::Reads { path: path.clone(), certain: true, tool: Some("apply_patch") }));
                more.push(Act::Writes { path, certain: true, tool: Some("apply_patch") });
            }
        }
        "grep" | "glob" | "list_dir" => more.push(Act::Looks { path: path() }),
        "web_fetch" => more.push(Act::Host(text("url").as_deref().and_then(host_of))),
        "mcp_call_tool" => names.extend(text("name")),
        "mcp_list" | "mcp_read_resource" | "mcp_get_prompt" => more.push(handed("server")),
        "load_skill" => more.push(handed("name")),
        _ => {}
    }
    more.insert(0, Act::Call { names });
    more
}

fn of_script(folder: &str, text: &str) -> Vec<Act> {
    let script = Script::read(text);
    let from = script.folders(folder);
    let from = from.as_deref();
    let mut acts = Vec::new();
    for redirect in &script.redirects {
        for path in CallPath::of_word(folder, &redirect.path, from) {
            if redirect.reads {
                acts.push(Act::Reads { path: path.clone(), certain: true, tool: None });
            }
            if redirect.writes {
                acts.push(Act::Writes { path, certain: true, tool: Some("write_file") });
            }
        }
    }
    for command in &script.commands {
        acts.extend(of_arguments(folder, command, from));
    }
    acts.extend(script.commands.into_iter().map(|command| Act::Command(Box::new(command))));
    acts.extend(script.unknown.then_some(Act::Unknown));
    acts
}

/// Programs whose arguments are files that they read.
const READERS: [&str; 37] = [
    ".",
    "awk",
    "base32",
    "base64",
    "bat",
    "cat",
    "cmp",
    "comm",
    "cut",
    "diff",
    "egrep",
    "fgrep",
    "file",
    "fold",
    "gawk",
    "grep",
    "head",
    "hexdump",
    "jq",
    "less",
    "md5sum",
    "more",
    "nl",
    "od",
    "paste",
    "rev",
    "rg",
    "sed",
    "sha256sum",
    "sort",
    "source",
    "strings",
    "tac",
    "tail",
    "uniq",
    "wc",
    "xxd",
];
/// Programs whose arguments are files that they change.
const WRITERS: [&str; 11] = ["chgrp", "chmod", "chown", "mkdir", "rm", "rmdir", "sed", "shred", "tee", "touch", "truncate"];
/// Programs that read all arguments but the last, and write that one or into it.
const COPIERS: [&str; 5] = ["cp", "install", "ln", "mv", "rsync"];

/// A file that the shell empties before a program reads it, and that program: `sort a > a`.
pub(crate) fn emptied_before_read(text: &str) -> Option<(String, String)> {
    Script::read(text).emptied.iter().find_map(|emptied| {
        let path = text_of(&emptied.path)?;
        let reads = |words: &&Vec<Word>| words.iter().skip(1).any(|word| *word == emptied.path);
        let programs = emptied.commands.iter().filter(reads).filter_map(|words| text_of(words.first()?));
        let names = programs.map(|program| program.rsplit('/').next().unwrap_or_default().to_owned());
        names.filter(|name| READERS.contains(&name.as_str())).map(|name| (path.clone(), name)).next()
    })
}

/// Returns the first command of git in a text for the shell that changes the state of the repository in the working folder, as far as that can be
/// told: the branch, the index, the stash, or files that others may be at work on. What runs in another folder is left out.
#[must_use]
pub fn changes_repository(text: &str) -> Option<String> {
    let script = Script::read(text);
    let stays = |folder: &String| !folder.starts_with('/') && !folder.split('/').any(|part| part == "..");
    let here = script.folders(".").is_some_and(|folders| folders.iter().all(stays));
    let mut found = script.commands.iter().filter_map(|command| sets_up::changes_repository(&known_words(command)));
    found.next().filter(|_| here)
}

/// The files that the arguments of a command name, as far as that can be told. What a program does beside that only the sandbox can hold.
fn of_arguments(folder: &str, command: &SimpleCommand, from: Option<&[String]>) -> Vec<Act> {
    let set_up = sets_up(&known_words(command)).into_iter().flat_map(|place| CallPath::of_word(folder, &super::sign::known(&place), from));
    let set_up = set_up.map(|path| Act::Writes { path, certain: true, tool: None });
    set_up.chain(of_program(folder, command, from)).collect()
}

fn of_program(folder: &str, command: &SimpleCommand, from: Option<&[String]>) -> Vec<Act> {
    let Some(program) = command.program() else { return named_files(folder, command, from) };
    let program = program.as_str();
    let paths: Vec<CallPath> = command.words.iter().skip(1).flat_map(|word| argument(folder, word, from)).collect();
    let reads = |path: &CallPath| Act::Reads { path: path.clone(), certain: true, tool: None };
    let writes = |path: &CallPath| Act::Writes { path: path.clone(), certain: true, tool: None };
    let mut acts = Vec::new();
    if COPIERS.contains(&program) {
        let names: Vec<&Word> = command.words.iter().skip(1).collect();
        acts.extend(paths.iter().map(reads));
        // With options such as `-t FOLDER` any of them may be written.
        let target = paths.last();
        acts.extend(target.map(writes));
        acts.extend(paths.iter().rev().skip(1).map(|path| Act::Writes { path: path.clone(), certain: program == "mv", tool: None }));
        for (target, name) in target.into_iter().flat_map(|target| names.iter().map(move |name| (target, name))) {
            let slash = name.iter().rposition(|sign| *sign == Sign::Char('/')).map_or(0, |slash| slash + 1);
            // It is written there if the target is a folder.
            let path = target.child(name.get(slash..).unwrap_or_default());
            acts.push(Act::Writes { path, certain: false, tool: None });
        }
        return acts;
    }
    if READERS.contains(&program) {
        acts.extend(paths.iter().map(reads));
    }
    if WRITERS.contains(&program) {
        acts.extend(paths.iter().map(writes));
    }
    if program == "dd" {
        for word in command.words.iter().skip(1).filter_map(|word| text_of(word)) {
            let paths = |path: &str| CallPath::of_word(folder, &super::sign::known(path), from);
            acts.extend(word.strip_prefix("if=").map(paths).iter().flatten().map(reads));
            acts.extend(word.strip_prefix("of=").map(paths).iter().flatten().map(writes));
        }
        return acts;
    }
    if READERS.contains(&program) || WRITERS.contains(&program) { acts } else { named_files(folder, command, from) }
}

/// Of a program that nobody here knows: it may read and write what it is told by name.
fn named_files(folder: &str, command: &SimpleCommand, from: Option<&[String]>) -> Vec<Act> {
    let known = command.words.iter().skip(1).filter(|word| text_of(word).is_some());
    let paths = known.flat_map(|word| argument(folder, word, from));
    paths
        .flat_map(|path| [Act::Reads { path: path.clone(), certain: false, tool: None }, Act::Writes { path, certain: false, tool: None }])
        .collect()
}

/// The path that an argument names: itself, or what follows the `=` of an option.
fn argument(folder: &str, word: &[Sign], from: Option<&[String]>) -> Vec<CallPath> {
    let path = match word.first() {
        None => None,
        Some(Sign::Char('-')) => {
            let equals = word.iter().position(|sign| *sign == Sign::Char('='));
            equals.and_then(|equals| word.get(equals + 1..)).filter(|value| !value.is_empty())
        }
        Some(_) => Some(word),
    };
    path.map(|path| CallPath::of_word(folder, path, from)).unwrap_or_default()
}
