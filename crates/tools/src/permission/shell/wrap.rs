//! Commands that run other commands.

use super::{
    super::sign::{Sign, text_of},
    Word,
};

/// A command that another command runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum WrappedCommand {
    /// A simple command.
    Command {
        words: Vec<Word>,
        /// True if it gets variables that may change its behaviour.
        sets: bool,
    },
    /// A text for another shell.
    Text(String),
    /// An unknown command.
    Unknown,
}

/// A command that runs the one after its own options.
struct Wrapper {
    /// Options with a value.
    valued: &'static [&'static str],
    /// Options without a value. Any other option makes the inner command unknown.
    plain: &'static [&'static str],
    /// Number of its own words before the inner command.
    own_words: usize,
    /// True if it changes nothing itself, so that a rule for the inner command is enough.
    transparent: bool,
}

fn wrapper(program: &str) -> Option<Wrapper> {
    let (valued, plain, own_words, transparent): (&[&str], &[&str], usize, bool) = match program {
        "timeout" | "gtimeout" => {
            (&["-s", "--signal", "-k", "--kill-after"], &["--foreground", "--preserve-status", "-v", "--verbose"], 1, true)
        }
        "nice" => (&["-n", "--adjustment"], &[], 0, true),
        "ionice" => (&["-c", "--class", "-n", "--classdata"], &["-t", "--ignore"], 0, true),
        "nohup" => (&[], &[], 0, true),
        "setsid" => (&[], &["-c", "--ctty", "-f", "--fork", "-w", "--wait"], 0, true),
        "stdbuf" => (&["-i", "--input", "-o", "--output", "-e", "--error"], &[], 0, true),
        "time" => (&[], &["-p"], 0, true),
        "builtin" | "coproc" => (&[], &[], 0, true),
        "command" => (&[], &["-p"], 0, true),
        "exec" => (&["-a"], &["-c", "-l"], 0, true),
        "env" => (&["-u", "--unset"], &["-i", "--ignore-environment", "-0", "--null", "-v", "--debug", "-"], 0, true),
        "sudo" => (
            &["-u", "--user", "-g", "--group", "-h", "--host", "-p", "--prompt", "-C", "--close-from", "-T", "--command-timeout"],
            &[
                "-n",
                "--non-interactive",
                "-E",
                "--preserve-env",
                "-H",
                "--set-home",
                "-k",
                "--reset-timestamp",
                "-S",
                "--stdin",
                "-b",
                "--background",
            ],
            0,
            false,
        ),
        "doas" => (&["-u"], &["-n"], 0, false),
        "xargs" => (
            &[
                "-n",
                "--max-args",
                "-P",
                "--max-procs",
                "-L",
                "--max-lines",
                "-d",
                "--delimiter",
                "-a",
                "--arg-file",
                "-E",
                "-s",
                "--max-chars",
            ],
            &["-0", "--null", "-r", "--no-run-if-empty", "-t", "--verbose", "-p", "--interactive", "-x", "--exit"],
            0,
            true,
        ),
        _ => return None,
    };
    Some(Wrapper { valued, plain, own_words, transparent })
}

/// Programs that run their arguments in ways that this analysis does not cover.
const OPAQUE: [&str; 34] = [
    "alias",
    "at",
    "batch",
    "bind",
    "busybox",
    "chroot",
    "chrt",
    "complete",
    "doas-edit",
    "enable",
    "expect",
    "fakeroot",
    "flock",
    "gdb",
    "hash",
    "ltrace",
    "mapfile",
    "newgrp",
    "nsenter",
    "numactl",
    "parallel",
    "pkexec",
    "prlimit",
    "readarray",
    "rlwrap",
    "runuser",
    "script",
    "setpriv",
    "start-stop-daemon",
    "strace",
    "su",
    "systemd-run",
    "unshare",
    "watch",
];

const SHELLS: [&str; 7] = ["sh", "bash", "dash", "zsh", "ksh", "ash", "rbash"];

/// Programs that run a text as shell commands, or take it as names of files.
#[cfg(feature = "shell")]
const TEXT_RUNNERS: [&str; 5] = ["eval", "source", "ssh", "trap", "xargs"];

/// Returns true for a word that names a program which may run a text as shell commands, or a shell script.
#[cfg(feature = "shell")]
pub(super) fn is_run_as_shell(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or_default();
    name.ends_with(".sh") || SHELLS.contains(&name) || OPAQUE.contains(&name) || TEXT_RUNNERS.contains(&name)
}

/// Returns the commands that a command runs, and true if rules for those are enough.
pub(super) fn inner(words: &[Word]) -> (Vec<WrappedCommand>, bool) {
    let Some((name, arguments)) = words.split_first() else { return (Vec::new(), false) };
    // The program is unknown, which rules see in the words themselves.
    let Some(name) = text_of(name) else { return (Vec::new(), false) };
    let program = name.rsplit('/').next().unwrap_or_default();
    let (inner, transparent) = of_program(program, arguments);
    // A path may name any program of that name.
    (inner, transparent && program == name)
}

fn of_program(program: &str, arguments: &[Word]) -> (Vec<WrappedCommand>, bool) {
    match program {
        "eval" => {
            let own = arguments.first().and_then(|word| text_of(word)).is_some_and(|word| word == "--");
            (vec![text(arguments.get(usize::from(own)..).unwrap_or_default())], true)
        }
        "trap" => (trap(arguments), false),
        "find" | "gfind" => (find(arguments), false),
        "fd" | "fdfind" => {
            let runs = |word: &Word| {
                text_of(word).is_none_or(|word| word.starts_with("-x") || word.starts_with("-X") || word.starts_with("--exec"))
            };
            (arguments.iter().any(runs).then_some(WrappedCommand::Unknown).into_iter().collect(), false)
        }
        _ if SHELLS.contains(&program) => shell(arguments),
        _ if OPAQUE.contains(&program) => (vec![WrappedCommand::Unknown], false),
        // `command -v` only prints.
        "command" if arguments.first().and_then(|word| text_of(word)).is_some_and(|word| word == "-v" || word == "-V") => {
            (Vec::new(), false)
        }
        _ => wrapper(program).map_or_else(|| (Vec::new(), false), |wrapper| wrapped(program, &wrapper, arguments)),
    }
}

fn wrapped(program: &str, wrapper: &Wrapper, arguments: &[Word]) -> (Vec<WrappedCommand>, bool) {
    let unknown = (vec![WrappedCommand::Unknown], false);
    let (mut at, mut sets, mut replaced) = (0, false, None);
    while let Some(argument) = arguments.get(at) {
        let assigns = |name: &str| !name.is_empty() && name.chars().all(|character| character.is_ascii_alphanumeric() || character == '_');
        let shown: String = argument.iter().map(|sign| if let Sign::Char(character) = sign { *character } else { '$' }).collect();
        if program == "env" && shown.split_once('=').is_some_and(|(name, _)| assigns(name)) {
            sets |= !is_harmless(&shown, false);
            at += 1;
            continue;
        }
        let Some(option) = text_of(argument) else { break };
        if option == "--" {
            at += 1;
            break;
        }
        if !option.starts_with('-') || (option == "-" && program != "env") {
            break;
        }
        let long = option.split_once('=').map(|(name, _)| name);
        let attached = wrapper.valued.iter().any(|valued| valued.len() == 2 && option.len() > 2 && option.starts_with(valued));
        let number = program == "nice" && option.get(1..).is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
        if program == "xargs" && (option == "-I" || option.starts_with("-I") || option == "-i" || option.starts_with("--replace")) {
            let Some((mark, step)) = replacement(&option, arguments.get(at + 1)) else { return unknown };
            replaced = Some(mark);
            at += step;
        } else if wrapper.valued.contains(&option.as_str()) {
            at += 2;
        } else if wrapper.plain.contains(&option.as_str()) || long.is_some_and(|long| wrapper.valued.contains(&long)) || attached || number
        {
            at += 1;
        } else {
            return unknown;
        }
    }
    let mut words: Vec<Word> = arguments.get(at + wrapper.own_words..).unwrap_or_default().to_vec();
    if words.is_empty() {
        return (Vec::new(), false);
    }
    if program == "xargs" {
        match replaced {
            Some(mark) => words
                .iter_mut()
                .filter(|word| text_of(word).is_none_or(|word| word.contains(&mark)))
                .for_each(|word| *word = anything().to_vec()),
            None => words.push(anything().to_vec()),
        }
    }
    (vec![WrappedCommand::Command { words, sets }], wrapper.transparent)
}

/// Returns the text that xargs replaces, and the number of words of the option.
fn replacement(option: &str, next: Option<&Word>) -> Option<(String, usize)> {
    match option {
        "-I" => text_of(next?).filter(|mark| !mark.is_empty()).map(|mark| (mark, 2)),
        "-i" | "--replace" => Some(("{}".to_owned(), 1)),
        _ => {
            let mark = option.strip_prefix("--replace=").or_else(|| option.strip_prefix("-I"))?;
            Some((mark.to_owned(), 1)).filter(|(mark, _)| !mark.is_empty())
        }
    }
}

/// Joins words to a text for a shell.
fn text(words: &[Word]) -> WrappedCommand {
    let words: Option<Vec<String>> = words.iter().map(|word| text_of(word)).collect();
    words.map_or(WrappedCommand::Unknown, |words| WrappedCommand::Text(words.join(" ")))
}

/// Handles `sh -c TEXT`. A shell that reads its commands from elsewhere is unknown; one that runs a file is a program like others.
fn shell(arguments: &[Word]) -> (Vec<WrappedCommand>, bool) {
    let unknown = (vec![WrappedCommand::Unknown], false);
    let mut rest = arguments.iter();
    let mut runs_text = false;
    while let Some(argument) = rest.next() {
        let Some(option) = text_of(argument) else { return unknown };
        match option.as_str() {
            "--norc" | "--noprofile" | "--posix" | "--login" | "--" => {}
            "--version" | "--help" => return (Vec::new(), false),
            _ if runs_text && !option.starts_with(['-', '+']) => return (vec![WrappedCommand::Text(option)], true),
            _ if option.starts_with("--") => return unknown,
            _ if option.starts_with(['-', '+']) && option.len() > 1 => {
                runs_text |= option.starts_with('-') && option.contains('c');
                if option.contains('s') || option.contains('i') {
                    return unknown;
                }
                if option.ends_with('o') || option.ends_with('O') {
                    rest.next();
                }
            }
            "-" => return unknown,
            // The argument is a file.
            _ => return (Vec::new(), false),
        }
    }
    unknown
}

fn trap(arguments: &[Word]) -> Vec<WrappedCommand> {
    let Some(first) = arguments.first() else { return Vec::new() };
    match text_of(first).as_deref() {
        Some("-" | "" | "-p" | "-l") => Vec::new(),
        Some("--") | None => vec![WrappedCommand::Unknown],
        Some(code) => vec![WrappedCommand::Text(code.to_owned())],
    }
}

/// Returns the commands of `-exec` and similar options. `{}` is an unknown path.
fn find(arguments: &[Word]) -> Vec<WrappedCommand> {
    let mut found = Vec::new();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match text_of(argument).as_deref() {
            Some("-exec" | "-execdir" | "-ok" | "-okdir") => {
                let ends = |word: &&Word| !matches!(text_of(word).as_deref(), Some(";" | "+"));
                let words: Vec<Word> = rest.by_ref().take_while(ends).cloned().collect();
                let filled = words
                    .into_iter()
                    .map(|word| if text_of(&word).is_none_or(|word| word.contains("{}")) { anything().to_vec() } else { word });
                found.push(WrappedCommand::Command { words: filled.collect(), sets: false });
                // These options run the command in the folder of each file.
                found.extend(argument.ends_with(&super::super::sign::known_signs("dir")).then_some(WrappedCommand::Unknown));
            }
            // An unknown word may be one of these options.
            None => found.push(WrappedCommand::Unknown),
            Some(_) => {}
        }
    }
    found
}

/// Returns true if setting a variable, given as `NAME=VALUE` or `NAME`, cannot change the behaviour of programs. A lower-case variable that
/// is not exported (`alone`) belongs to the shell itself.
pub(super) fn is_harmless(assignment: &str, alone: bool) -> bool {
    let name = assignment.split(['=', '+', '[']).next().unwrap_or_default();
    let own = alone && !name.is_empty() && name.chars().all(|character| character.is_ascii_lowercase() || character.is_ascii_digit());
    let value = assignment.split_once('=').map_or("", |(_, value)| value);
    own || (!value.contains('$')
        && matches!(
            name,
            "CI" | "COLUMNS"
                | "FORCE_COLOR"
                | "LANG"
                | "LANGUAGE"
                | "LC_ALL"
                | "LC_COLLATE"
                | "LC_CTYPE"
                | "LINES"
                | "NO_COLOR"
                | "NODE_ENV"
                | "PYTHONDONTWRITEBYTECODE"
                | "PYTHONHASHSEED"
                | "PYTHONUNBUFFERED"
                | "RUST_BACKTRACE"
                | "RUST_LOG"
                | "TERM"
                | "TZ"
                | "_"
        ))
}

/// Returns a text that only an unrestricted rule matches.
const fn anything() -> [Sign; 1] {
    [Sign::Any]
}
