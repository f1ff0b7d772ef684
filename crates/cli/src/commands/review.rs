//! `aime run --review`: opens the plan in the person's editor before anything of it runs.

use std::{
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};

use aime_messages::{Message, message};
use aime_progress_management::{Owner, Plan, RunId};
use aime_runs::{Review, Setup, write_whole};
use aime_sandbox::run_at_terminal;

use crate::{
    failure::{Failure, code},
    i18n::{msg, print},
    output,
    person::confirms,
    signals::{Interruption, Interruptions, terminated},
};

/// Outcome of a review.
pub(super) enum ReviewOutcome {
    /// It is run, with the person's edits.
    Accepted(Box<Plan>),
    /// It is made again with the person's comments.
    Commented(Box<Review>),
}

/// Largest number of files of reviews with the same run.
const MAX_FILES: u32 = 100;

/// Opens the plan of a run until it is valid when the editor closes. `forecast` is shown above it. Edits are never lost: they stay in the
/// named file. TERM ends the review, also while the editor is open; Ctrl-C ends it at the question whether to open the editor again.
pub(super) async fn review(
    plan: &Plan,
    run: &RunId,
    forecast: Option<&str>,
    setup: &Setup,
    interruptions: &mut Interruptions,
) -> Result<ReviewOutcome, Failure> {
    let editor = editor(setup)?;
    let text = serde_json::to_string_pretty(plan).map_err(Failure::internal)?;
    let not_written = |path: &Path, error: io::Error| Failure::usage(message!("plan-not-written", file = path.display(), error));
    let (how, comment) = (msg!("review-how"), msg!("review-comment"));
    let head: String = forecast.into_iter().chain([how.as_str(), comment.as_str()]).map(|line| format!("# {line}\n")).collect();
    let folder = setup.create_data_folder()?;
    let file = create_file(&folder, run, &format!("{head}{text}\n")).map_err(|error| not_written(&folder, error))?;
    loop {
        let ended = run_at_terminal(&editor, file.as_os_str(), terminated(interruptions)).await;
        let ended = ended.map_err(|error| Failure::usage(message!("no-editor-start", error)))?;
        let written = std::fs::read_to_string(&file)
            .map_err(|error| Failure::usage(message!("unreadable", what = file.display(), reason = Message::text(error))))?;
        let ReviewFile { body, comments } = ReviewFile::read(&written);
        // `aime run --plan` reads what is left there.
        let stopped = |why: Message| match write_whole(&file, &body, true) {
            Ok(()) => stopped(why, &file),
            Err(error) => not_written(&file, error),
        };
        let interrupted = || Failure { code: code::INTERRUPTED, ..stopped(message!("stopped-by-person")) };
        let Some(ended) = ended else { return Err(interrupted()) };
        // Ctrl-C in the editor was for the editor. TERM may have come as the editor was closed.
        while let Ok(interruption) = interruptions.try_recv() {
            if interruption == Interruption::Termination {
                return Err(interrupted());
            }
        }
        if !ended.success() {
            return Err(stopped(message!("editor-ended", editor, how = ended)));
        }
        if body.trim().is_empty() {
            drop(std::fs::remove_file(&file));
            return match comments.is_empty() {
                true => Err(Failure { code: code::NOT_REACHED, ..Failure::usage(message!("plan-emptied")) }),
                false => Ok(ReviewOutcome::Commented(Box::new(Review { plan: plan.clone(), comments }))),
            };
        }
        match setup.checked_plan(&body, &message!("plan-of-person")) {
            Ok(edited) => {
                // The journal of the run contains the plan, so the file is no longer needed.
                drop(std::fs::remove_file(&file));
                let edited = edited.revised(plan, Owner::Person);
                return Ok(match comments.is_empty() {
                    true => ReviewOutcome::Accepted(Box::new(edited)),
                    false => ReviewOutcome::Commented(Box::new(Review { plan: edited, comments })),
                });
            }
            Err(fault) => {
                output::alert(&print(&fault.message));
                if !output::can_type() {
                    return Err(stopped(fault.message));
                }
                let again = msg!("review-again");
                let is_confirmed = tokio::select! {
                    biased;
                    Some(_) = interruptions.recv() => return Err(interrupted()),
                    is_confirmed = confirms(&again) => is_confirmed,
                };
                if !is_confirmed {
                    return Err(stopped(fault.message));
                }
            }
        }
    }
}

/// Creates the file of a review, named after the run. It replaces no file: another review may be using it, or a person's edits are in it.
fn create_file(folder: &Path, run: &RunId, text: &str) -> io::Result<PathBuf> {
    let mut number = 1;
    loop {
        let suffix = if number == 1 { String::new() } else { format!("-{number}") };
        let file = folder.join(format!("review-{run}{suffix}.json"));
        match write_whole(&file, text, false) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists && number < MAX_FILES => number += 1,
            written => return written.map(|()| file),
        }
    }
}

/// Content of the file of a review.
#[derive(Debug, PartialEq, Eq)]
struct ReviewFile {
    /// The plan.
    body: String,
    /// The comments, without their marks.
    comments: String,
}

impl ReviewFile {
    /// Takes the lines that begin with `#` out, and those that begin with `>` as comments. No line of a plan in JSON begins so.
    fn read(text: &str) -> Self {
        let (mut body, mut comments) = (String::new(), Vec::new());
        for line in text.lines() {
            match line.strip_prefix('>') {
                Some(comment) => comments.push(comment.trim()),
                None if line.starts_with('#') => {}
                None => body.extend([line, "\n"]),
            }
        }
        Self { body, comments: comments.join("\n").trim().to_owned() }
    }
}

fn stopped(why: Message, file: &Path) -> Failure {
    Failure::usage(why).hint(message!("what-you-wrote", file = file.display(), again = file.display()))
}

/// Returns the person's editor, from the usual variables.
pub(super) fn editor(setup: &Setup) -> Result<String, Failure> {
    let set = ["VISUAL", "EDITOR"].into_iter().find_map(|name| setup.environment.text(name).filter(|value| !value.trim().is_empty()));
    match set {
        Some(editor) if is_missing(editor, setup.environment.text("PATH").unwrap_or_default()) => {
            Err(Failure::usage(message!("no-editor-program", editor)).hint(message!("no-editor-program-hint")))
        }
        Some(editor) => Ok(editor.to_owned()),
        None if output::can_type() => Ok(if cfg!(windows) { "notepad" } else { "vi" }.to_owned()),
        None => Err(Failure::usage(message!("no-editor")).hint(message!("no-editor-hint"))),
    }
}

/// Returns true if the program that a shell would start is in no folder of `path`. Anything but a plain name is left to the shell.
fn is_missing(editor: &str, path: &str) -> bool {
    let program = editor.split_whitespace().next().unwrap_or_default();
    let plain = program.chars().all(|character| character.is_alphanumeric() || "._-+".contains(character));
    cfg!(unix) && plain && !std::env::split_paths(path).any(|folder| folder.join(program).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_the_plan_are_told_apart() {
        let read = |text: &str| {
            let ReviewFile { body, comments } = ReviewFile::read(text);
            (body, comments)
        };
        assert_eq!(
            read("# how\n> less\n>\n>  and cheaper\n{\n  \"goal\": \"> #\"\n}\n"),
            ("{\n  \"goal\": \"> #\"\n}\n".to_owned(), "less\n\nand cheaper".to_owned())
        );
        assert_eq!(read("# how\n>\n"), (String::new(), String::new()), "an empty comment is none");
    }

    #[test]
    fn a_review_replaces_no_file() {
        let (folder, run): (_, RunId) = (tempfile::tempdir().unwrap(), "r".parse().unwrap());
        for (text, name) in [("one", "review-r.json"), ("two", "review-r-2.json"), ("three", "review-r-3.json")] {
            assert_eq!(create_file(folder.path(), &run, text).unwrap(), folder.path().join(name));
        }
        assert_eq!(std::fs::read_to_string(folder.path().join("review-r.json")).unwrap(), "one");
    }
}
