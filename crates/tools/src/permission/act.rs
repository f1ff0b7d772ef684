//! Acts: the effects of a call that permission rules judge.

use aime_hosts::host_of;
use serde_json::{Map, Value};

use super::{
    operands::read_words,
    path::CallPath,
    protected::known_words,
    sets_up::{self, GIT_TAKES, sets_up},
    shell::{Script, SimpleCommand, Word},
    sign::{Sign, text_of},
};
use crate::builtin::named_in_patch;

/// One effect of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Act {
    /// A call of this tool. For a tool that calls another, the names of both.
    Call { names: Vec<String> },
    /// A simple command of the shell.
    Command(Box<SimpleCommand>),
    /// Unreadable code, which may do anything that a process may.
    Unknown,
    /// Reads a file, through `tool` if that is set. If not `certain`, the path may name something else than a file to read.
    Reads { path: CallPath, certain: bool, tool: Option<&'static str> },
    /// Writes a file. Fields as in `Reads`.
    Writes { path: CallPath, certain: bool, tool: Option<&'static str> },
    /// Lists a folder.
    Looks { path: CallPath },
    /// Contacts this host; `None` if it is unknown.
    Host(Option<String>),
    /// Passes a text.
    Text { tool: String, parameter: &'static str, text: String },
}

impl SimpleCommand {
    /// Returns the texts that rules for commands match.
    pub(super) fn forms(&self, strictly: bool) -> Vec<Vec<Sign>> {
        if self.words.is_empty() {
            return Vec::new();
        }
        let mut forms = vec![self.text(false)];
        if strictly {
            forms.push(self.text(true));
            let mut command = self.clone();
            let slash = self.words.first().and_then(|name| name.iter().rposition(|sign| *sign == Sign::Char('/')));
            if let (Some(slash), Some(name)) = (slash, command.words.first_mut()) {
                name.drain(..=slash);
                forms.extend([command.text(false), command.text(true)]);
            }
            let options = command.git_options();
            if options > 0 {
                command.words.drain(1..=options);
                forms.extend([command.text(false), command.text(true)]);
            }
        }
        forms
    }

    /// Returns the number of words between `git` and its subcommand.
    fn git_options(&self) -> usize {
        let Some((name, rest)) = self.words.split_first() else { return 0 };
        if text_of(name).as_deref() != Some("git") {
            return 0;
        }
        let mut at = 0;
        while let Some(word) = rest.get(at).filter(|word| word.first() == Some(&Sign::Char('-'))) {
            at += 1 + usize::from(text_of(word).is_some_and(|word| GIT_TAKES.contains(&word.as_str())));
        }
        at.min(rest.len())
    }
}

/// Returns all effects of a call. `folder` is the absolute path of the working folder without symbolic links.
pub(super) fn acts(folder: &str, tool: &str, parameters: &Map<String, Value>) -> Vec<Act> {
    // A number counts as a text, because the call itself accepts it as one.
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
            // Without any path the call reads the folder, which may contain files under a deny rule.
            let one = (paths.is_empty() || parameters.contains_key("path")).then(path);
            more.extend(one.into_iter().chain(paths).map(|path| Act::Reads { path, certain: true, tool: Some("read_file") }));
        }
        "write_file" => more.push(Act::Writes { path: path(), certain: true, tool: Some("write_file") }),
        // Its error shows the file's content if the text does not match.
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
/// Programs that read all arguments but the last, and write the last or a file in it.
const COPIERS: [&str; 5] = ["cp", "install", "ln", "mv", "rsync"];

/// Returns a file that the shell empties before a program reads it, and that program, as in `sort a > a`.
pub(crate) fn emptied_before_read(text: &str) -> Option<(String, String)> {
    Script::read(text).emptied.iter().find_map(|emptied| {
        let path = text_of(&emptied.path)?;
        let reads = |words: &&Vec<Word>| read_words(words).contains(&&emptied.path);
        let programs = emptied.commands.iter().filter(reads).filter_map(|words| text_of(words.first()?));
        let names = programs.map(|program| program.rsplit('/').next().unwrap_or_default().to_owned());
        names.filter(|name| READERS.contains(&name.as_str())).map(|name| (path.clone(), name)).next()
    })
}

/// Returns the first git command in a shell command that changes the state of the repository in the working folder, as far as this can be
/// determined: the branch, the index, the stash, or files that other actors may be editing. Ignores commands that run in another folder.
#[must_use]
pub fn changes_repository(text: &str) -> Option<String> {
    let script = Script::read(text);
    let is_inside = |folder: &String| !folder.starts_with('/') && !folder.split('/').any(|part| part == "..");
    let here = script.folders(".").is_some_and(|folders| folders.iter().all(is_inside));
    let mut found = script.commands.iter().filter_map(|command| sets_up::changes_repository(&known_words(command)));
    found.next().filter(|_| here)
}

/// Returns the files that the arguments of a command name, as far as this can be determined. Only the sandbox can restrict other effects of
/// a program.
fn of_arguments(folder: &str, command: &SimpleCommand, from: Option<&[String]>) -> Vec<Act> {
    let set_up =
        sets_up(&known_words(command)).into_iter().flat_map(|place| CallPath::of_word(folder, &super::sign::known_signs(&place), from));
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
        // Options such as `-t FOLDER` may make any of the paths the target.
        let target = paths.last();
        acts.extend(target.map(writes));
        acts.extend(paths.iter().rev().skip(1).map(|path| Act::Writes { path: path.clone(), certain: program == "mv", tool: None }));
        for (target, name) in target.into_iter().flat_map(|target| names.iter().map(move |name| (target, name))) {
            let slash = name.iter().rposition(|sign| *sign == Sign::Char('/')).map_or(0, |slash| slash + 1);
            // If the target is a folder, the file is written inside it.
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
            let paths = |path: &str| CallPath::of_word(folder, &super::sign::known_signs(path), from);
            acts.extend(word.strip_prefix("if=").map(paths).iter().flatten().map(reads));
            acts.extend(word.strip_prefix("of=").map(paths).iter().flatten().map(writes));
        }
        return acts;
    }
    if READERS.contains(&program) || WRITERS.contains(&program) { acts } else { named_files(folder, command, from) }
}

/// Returns the effects of an unknown program: it may read and write every file that an argument names.
fn named_files(folder: &str, command: &SimpleCommand, from: Option<&[String]>) -> Vec<Act> {
    let known = command.words.iter().skip(1).filter(|word| text_of(word).is_some());
    let paths = known.flat_map(|word| argument(folder, word, from));
    paths
        .flat_map(|path| [Act::Reads { path: path.clone(), certain: false, tool: None }, Act::Writes { path, certain: false, tool: None }])
        .collect()
}

/// Returns the path that an argument names: the argument itself, or the part after the `=` of an option.
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
