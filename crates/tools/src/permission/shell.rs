//! Static analysis of a shell command: its simple commands, and the files of its redirections.
//!
//! The grammar is tree-sitter-bash. Text that the grammar cannot parse, text beyond the bounds below, and text that depends on run time
//! counts as unknown; nothing is guessed.

#[cfg(feature = "shell")]
mod code;
#[cfg(feature = "shell")]
mod inert;
#[cfg(feature = "shell")]
mod tree;
#[cfg(feature = "shell")]
mod word;
mod wrap;

/// Without the grammar every command is unknown.
#[cfg(not(feature = "shell"))]
mod tree {
    pub(super) const fn read(_: &str) -> Option<super::Parsed> {
        None
    }
}

#[cfg(not(feature = "shell"))]
mod inert {
    pub(super) const fn inert(_: &str) -> Vec<std::ops::Range<usize>> {
        Vec::new()
    }
}

#[cfg(not(feature = "shell"))]
mod code {
    pub(super) const fn code(_: &str) -> Vec<std::ops::Range<usize>> {
        Vec::new()
    }
}

#[cfg(all(test, feature = "shell"))]
mod tests;

use std::borrow::Cow;

use self::wrap::WrappedCommand;
use super::sign::{Sign, text_of};

/// Maximum length of an analysed text in bytes. A longer one needs a person's consent.
const MAX_BYTES: usize = 16 * 1024;
/// Maximum nesting of commands in commands, as in `sh -c "sh -c …"`.
const MAX_DEPTH: u32 = 4;
/// Maximum number of simple commands in a text.
const MAX_COMMANDS: usize = 500;
/// Maximum number of possible current folders.
const MAX_FOLDERS: usize = 8;

/// A word of a command.
pub(super) type Word = Vec<Sign>;

/// A simple command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SimpleCommand {
    /// Words without their quotes; empty if the command only sets variables.
    pub(super) words: Vec<Word>,
    /// True if it sets a variable that may change the behaviour of programs.
    pub(super) sets: bool,
    /// True if it only runs another command, which is listed separately, and changes nothing itself.
    pub(super) transparent: bool,
}

impl SimpleCommand {
    /// Joins the words to one text. A completely unknown word may be no word at all: if `loosely`, it absorbs the gaps beside it.
    pub(super) fn text(&self, loosely: bool) -> Vec<Sign> {
        let mut text: Vec<Sign> = Vec::new();
        let mut open = true;
        for word in &self.words {
            let may_vanish = loosely && word.iter().all(|sign| matches!(sign, Sign::Any | Sign::Glob));
            if !may_vanish && !open {
                text.push(Sign::Gap);
            }
            text.extend_from_slice(word);
            open = may_vanish;
        }
        text
    }

    /// Returns the name of the program without its folder, if known.
    pub(super) fn program(&self) -> Option<String> {
        let name = text_of(self.words.first()?)?;
        Some(name.rsplit('/').next().unwrap_or_default().to_owned())
    }
}

/// A file of a redirection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Redirect {
    pub(super) path: Word,
    pub(super) writes: bool,
    pub(super) reads: bool,
    /// True if only standard error goes to the file.
    pub(super) errors: bool,
}

/// A file that the shell empties before a pipeline begins, and the commands of that pipeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EmptiedFile {
    pub(super) path: Word,
    pub(super) commands: Vec<Vec<Word>>,
}

/// Returns the files that the output of a command goes to, without duplicates. Skips names that the shell computes. Empty if the text
/// cannot be parsed.
pub(crate) fn written_files(text: &str) -> Vec<String> {
    let mut files = Vec::new();
    for redirect in Script::read(text).redirects.iter().filter(|redirect| redirect.writes && !redirect.errors) {
        files.extend(text_of(&redirect.path).filter(|file| !files.contains(file)));
    }
    files
}

/// A shell command, split by who reads its parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CommandText<'a> {
    /// The command with blanks in the place of code, and of parts that are only text, such as comments and patterns of searches.
    pub(crate) shell: Cow<'a, str>,
    /// Parts that are code in another language or prose.
    pub(crate) code: Vec<&'a str>,
}

impl<'a> CommandText<'a> {
    /// Splits a shell command. A text that cannot be parsed is all `shell`.
    pub(crate) fn split(text: &'a str) -> Self {
        if is_odd(text) {
            return Self { shell: text.into(), code: Vec::new() };
        }
        let inert = inert::inert(text);
        let mut code = code::code(text);
        code.retain(|part| !inert.iter().any(|range| range.start <= part.start && part.end <= range.end));
        if inert.is_empty() && code.is_empty() {
            return Self { shell: text.into(), code: Vec::new() };
        }
        let kept = |at: usize| !inert.iter().chain(&code).any(|range| range.contains(&at));
        let shell = text.char_indices().map(|(at, character)| if kept(at) { character } else { ' ' }).collect::<String>().into();
        Self { shell, code: code.into_iter().filter_map(|part| text.get(part)).collect() }
    }
}

/// Returns true for a text that is too long, or that the grammar may read in another way than the shell.
fn is_odd(text: &str) -> bool {
    let is_unusual = |character: char| {
        (character.is_control() && !matches!(character, '\n' | '\t')) || (character.is_whitespace() && !character.is_ascii())
    };
    text.len() > MAX_BYTES || text.contains(is_unusual) || joins_lines(text)
}

/// Effects of a shell command.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Script {
    /// All simple commands, at any level of nesting.
    pub(super) commands: Vec<SimpleCommand>,
    /// All files of redirections.
    pub(super) redirects: Vec<Redirect>,
    /// Files of redirections that are emptied first.
    pub(super) emptied: Vec<EmptiedFile>,
    /// True if a part of the text is unknown, so that it may do anything.
    pub(super) unknown: bool,
    /// True if parts of the text may run more than once.
    repeats: bool,
}

impl Script {
    /// Parses a text as `bash -c` does.
    pub(super) fn read(text: &str) -> Self {
        let mut script = Self::default();
        script.add(text, MAX_DEPTH);
        script
    }

    /// Returns the possible current folders if the text begins in `folder`; `None` if they are unknown.
    pub(super) fn folders(&self, folder: &str) -> Option<Vec<String>> {
        let mut folders = vec![folder.to_owned()];
        for command in self.commands.iter().filter(|command| !command.words.is_empty()) {
            let target = match command.program().as_deref() {
                Some("cd") => command.words.get(1).filter(|_| command.words.len() == 2).and_then(|target| text_of(target)),
                Some("pushd" | "popd") | None => None,
                Some(_) => continue,
            };
            let target = target.filter(|target| !target.starts_with('-') && !self.repeats && folders.len() <= MAX_FOLDERS)?;
            // It is unknown if the `cd` runs, and for which of the following commands.
            let moved: Vec<String> =
                folders.iter().map(|folder| if target.starts_with('/') { target.clone() } else { format!("{folder}/{target}") }).collect();
            folders.extend(moved);
        }
        (!self.unknown).then_some(folders)
    }

    fn add(&mut self, text: &str, deepest: u32) {
        if deepest == 0 || is_odd(text) {
            self.unknown = true;
            return;
        }
        let Some(read) = tree::read(text) else {
            self.unknown = true;
            return;
        };
        self.unknown |= read.unknown;
        self.repeats |= read.repeats;
        self.redirects.extend(read.redirects);
        self.emptied.extend(read.emptied);
        for command in read.commands {
            self.add_command(command, deepest);
        }
    }

    fn add_command(&mut self, command: SimpleCommand, deepest: u32) {
        if self.commands.len() >= MAX_COMMANDS || deepest == 0 {
            self.unknown = true;
            return;
        }
        let (inner, transparent) = wrap::inner(&command.words);
        self.commands.push(SimpleCommand { transparent, ..command });
        for inner in inner {
            match inner {
                WrappedCommand::Command { words, sets } => self.add_command(SimpleCommand { words, sets, transparent: false }, deepest - 1),
                WrappedCommand::Text(text) => self.add(&text, deepest - 1),
                WrappedCommand::Unknown => self.unknown = true,
            }
        }
    }
}

/// Commands of a text, at its own level and in its substitutions.
#[derive(Default)]
struct Parsed {
    commands: Vec<SimpleCommand>,
    redirects: Vec<Redirect>,
    emptied: Vec<EmptiedFile>,
    unknown: bool,
    /// True if the text contains a loop or a function.
    repeats: bool,
}

/// Returns true if a backslash at the end of a line joins two words: the grammar treats it as a gap, the shell as nothing.
fn joins_lines(text: &str) -> bool {
    let gap = |byte: Option<&u8>| matches!(byte, None | Some(b' ' | b'\t' | b'\n'));
    let bytes = text.as_bytes();
    text.match_indices("\\\n").any(|(at, _)| !gap(at.checked_sub(1).and_then(|before| bytes.get(before))) && !gap(bytes.get(at + 2)))
        || text.contains("\\\\\n")
}
