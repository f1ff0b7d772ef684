//! The command lines that need nothing of `xtask-tools`.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::run::GoalRun;

/// Task that a command line asks for.
#[derive(Debug, PartialEq, Eq)]
pub enum CommandLine {
    /// `run GOAL [--folder DIR] [--model NAME] [-- ARGUMENTS]`.
    Run {
        /// The goal and its folder.
        goal_run: GoalRun,
        /// Local model to use whatever the environment names.
        model: Option<String>,
    },
    /// `test` without a part.
    Test,
    /// Anything else, help and mistakes included.
    Tools,
}

impl CommandLine {
    /// Reads the words behind `cargo xtask`.
    #[must_use]
    pub fn read(words: &[OsString]) -> Self {
        let words: Option<Vec<&str>> = words.iter().map(|word| word.to_str()).collect();
        match words.as_deref() {
            Some(["test"]) => Self::Test,
            Some(["run", rest @ ..]) => run(rest).unwrap_or(Self::Tools),
            _ => Self::Tools,
        }
    }
}

fn run(words: &[&str]) -> Option<CommandLine> {
    let (mut goal, mut folder, mut model, mut rest) = (None, None, None, Vec::new());
    let mut words = words.iter().copied();
    while let Some(word) = words.next() {
        match word {
            "--" => rest.extend(words.by_ref().map(str::to_owned)),
            "--folder" if folder.is_none() => folder = Some(PathBuf::from(words.next()?)),
            "--model" if model.is_none() => model = Some(words.next()?.to_owned()),
            _ if word.starts_with('-') || goal.is_some() => return None,
            _ => goal = Some(word.to_owned()),
        }
    }
    Some(CommandLine::Run { goal_run: GoalRun { goal: goal?, folder, rest }, model })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> CommandLine {
        CommandLine::read(&line.split_whitespace().map(OsString::from).collect::<Vec<_>>())
    }

    fn run(folder: Option<&str>, model: Option<&str>, rest: &[&str]) -> CommandLine {
        let rest = rest.iter().map(|word| (*word).to_owned()).collect();
        let goal_run = GoalRun { goal: "goal".into(), folder: folder.map(PathBuf::from), rest };
        CommandLine::Run { goal_run, model: model.map(str::to_owned) }
    }

    #[test]
    fn first_commands_need_no_tools() {
        for (line, expected) in [
            ("run goal", run(None, None, &[])),
            ("run --folder here goal", run(Some("here"), None, &[])),
            ("run goal --model 135m -- --mode direct", run(None, Some("135m"), &["--mode", "direct"])),
            ("test", CommandLine::Test),
            ("run goal --server", CommandLine::Tools),
            ("run goal two", CommandLine::Tools),
            ("run goal --folder", CommandLine::Tools),
            ("run --help", CommandLine::Tools),
            ("run", CommandLine::Tools),
            ("test random", CommandLine::Tools),
            ("tidy", CommandLine::Tools),
            ("", CommandLine::Tools),
        ] {
            assert_eq!(read(line), expected, "{line}");
        }
    }
}
