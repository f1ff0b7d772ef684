//! What a command for the shell does, as far as that can be read: its simple commands, and the files that redirections name.
//!
//! The grammar is that of tree-sitter-bash. What it cannot read, what is longer or deeper than the bounds here, and what the shell would
//! only know when it runs, is said to be unknown, never guessed.

#[cfg(feature = "shell")]
mod tree;
#[cfg(feature = "shell")]
mod word;
mod wrap;

/// Without the grammar nothing is known of any command.
#[cfg(not(feature = "shell"))]
mod tree {
    pub(super) const fn read(_: &str) -> Option<super::Parsed> {
        None
    }
}

#[cfg(all(test, feature = "shell"))]
mod tests;

use self::wrap::Inner;
use super::sign::{Sign, text_of};

/// The longest text that is read, in bytes. One that is longer needs a person's eyes.
const LONGEST: usize = 16 * 1024;
/// How deep a text may stand in another: `sh -c "sh -c …"`.
const DEEPEST: u32 = 4;
/// The most simple commands of a text.
const MOST_COMMANDS: usize = 500;
/// The most folders that are held to be possible.
const MOST_FOLDERS: usize = 8;

/// A word of a command.
pub(super) type Word = Vec<Sign>;

/// A simple command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SimpleCommand {
    /// Its words without their quotes; none where it only sets variables.
    pub(super) words: Vec<Word>,
    /// Whether it sets a variable that may change what programs do.
    pub(super) sets: bool,
    /// Whether it only runs another, which stands beside it, and changes nothing itself.
    pub(super) transparent: bool,
}

impl SimpleCommand {
    /// The words as one text. A word of which nothing is known may be none at all: `loosely` it takes the gaps beside it along.
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

    /// The program without its folder, if it is known.
    pub(super) fn program(&self) -> Option<String> {
        let name = text_of(self.words.first()?)?;
        Some(name.rsplit('/').next().unwrap_or_default().to_owned())
    }
}

/// A file that a redirection names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Redirect {
    pub(super) path: Word,
    pub(super) writes: bool,
    pub(super) reads: bool,
    /// Whether what goes there is messages of errors alone.
    pub(super) errors: bool,
}

/// A file that is emptied before a pipeline begins, and the commands of that pipeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Emptied {
    pub(super) path: Word,
    pub(super) commands: Vec<Vec<Word>>,
}

/// The files that the output of a command goes to, each once. Names that the shell makes out of others are left out; of a text that cannot be
/// read there is none.
pub(crate) fn written_files(text: &str) -> Vec<String> {
    let mut files = Vec::new();
    for redirect in Script::read(text).redirects.iter().filter(|redirect| redirect.writes && !redirect.errors) {
        files.extend(text_of(&redirect.path).filter(|file| !files.contains(file)));
    }
    files
}

/// What a text for the shell does.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Script {
    /// All simple commands, wherever in it they stand.
    pub(super) commands: Vec<SimpleCommand>,
    /// All files of redirections.
    pub(super) redirects: Vec<Redirect>,
    /// Those of them that are emptied first.
    pub(super) emptied: Vec<Emptied>,
    /// Whether something in it is not known: it may then do anything.
    pub(super) unknown: bool,
    /// Whether parts of it may run more than once.
    repeats: bool,
}

impl Script {
    /// Reads a text as `bash -c` does.
    pub(super) fn read(text: &str) -> Self {
        let mut script = Self::default();
        script.add(text, DEEPEST);
        script
    }

    /// The folders from which relative paths may go, when it begins in `folder`; none where nobody can tell.
    pub(super) fn folders(&self, folder: &str) -> Option<Vec<String>> {
        let mut folders = vec![folder.to_owned()];
        for command in self.commands.iter().filter(|command| !command.words.is_empty()) {
            let target = match command.program().as_deref() {
                Some("cd") => command.words.get(1).filter(|_| command.words.len() == 2).and_then(|target| text_of(target)),
                Some("pushd" | "popd") | None => None,
                Some(_) => continue,
            };
            let target = target.filter(|target| !target.starts_with('-') && !self.repeats && folders.len() <= MOST_FOLDERS)?;
            // Whether it is run, and for which of the commands that follow, is not known here.
            let moved: Vec<String> =
                folders.iter().map(|folder| if target.starts_with('/') { target.clone() } else { format!("{folder}/{target}") }).collect();
            folders.extend(moved);
        }
        (!self.unknown).then_some(folders)
    }

    fn add(&mut self, text: &str, deepest: u32) {
        let odd = |character: char| {
            (character.is_control() && !matches!(character, '\n' | '\t')) || (character.is_whitespace() && !character.is_ascii())
        };
        if deepest == 0 || text.len() > LONGEST || text.contains(odd) || joins_lines(text) {
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
        if self.commands.len() >= MOST_COMMANDS || deepest == 0 {
            self.unknown = true;
            return;
        }
        let (inner, transparent) = wrap::inner(&command.words);
        self.commands.push(SimpleCommand { transparent, ..command });
        for inner in inner {
            match inner {
                Inner::Command { words, sets } => self.add_command(SimpleCommand { words, sets, transparent: false }, deepest - 1),
                Inner::Text(text) => self.add(&text, deepest - 1),
                Inner::Unknown => self.unknown = true,
            }
        }
    }
}

/// The commands of a text, at its own level and in its substitutions.
#[derive(Default)]
struct Parsed {
    commands: Vec<SimpleCommand>,
    redirects: Vec<Redirect>,
    emptied: Vec<Emptied>,
    unknown: bool,
    /// True if it holds a loop or a function.
    repeats: bool,
}

/// Whether a backslash at the end of a line joins two words: the grammar takes it for a gap, the shell for nothing.
fn joins_lines(text: &str) -> bool {
    let gap = |byte: Option<&u8>| matches!(byte, None | Some(b' ' | b'\t' | b'\n'));
    let bytes = text.as_bytes();
    text.match_indices("\\\n").any(|(at, _)| !gap(at.checked_sub(1).and_then(|before| bytes.get(before))) && !gap(bytes.get(at + 2)))
        || text.contains("\\\\\n")
}
