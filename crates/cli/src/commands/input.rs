//! Files and standard input that commands read.

use std::{
    io::{self, Read},
    path::{Path, PathBuf},
};

use aime_llm::{Image, ImageError};
use aime_messages::{Describe as _, Message, message};
use aime_orchestrator::MAX_GOAL_IMAGES;

use crate::{failure::Failure, i18n::msg};

/// Reads a file, or standard input for `-`; `what` names the file in errors.
pub(super) fn read_text(path: &Path, what: &str) -> Result<String, Failure> {
    if path == Path::new("-") {
        let mut text = String::new();
        io::stdin().read_to_string(&mut text).map_err(|error| unreadable(&msg!("standard-input"), &error))?;
        return Ok(text);
    }
    std::fs::read_to_string(path).map_err(|error| unreadable(what, &error))
}

/// Reads the images of a goal. Each is named by its path as given.
pub(super) fn read_images(paths: &[PathBuf]) -> Result<Vec<Image>, Failure> {
    if paths.len() > MAX_GOAL_IMAGES {
        return Err(Failure::usage(message!("many-images", count = paths.len(), most = MAX_GOAL_IMAGES)));
    }
    let image = |path: &PathBuf| {
        let bytes = std::fs::read(path).map_err(|error| unreadable(&msg!("image-of-file", file = path.display()), &error))?;
        Image::new(path.display().to_string(), &bytes).map_err(|error| {
            let failure = Failure::usage(error.describe());
            if matches!(error, ImageError::Format { .. }) { failure.hint(message!("image-format-hint")) } else { failure }
        })
    };
    paths.iter().map(image).collect()
}

fn unreadable(what: &str, error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::InvalidData => Failure::usage(message!("not-text", what)).hint(message!("not-text-hint")),
        io::ErrorKind::NotFound => Failure::usage(message!("not-there", what)).hint(message!("not-there-hint")),
        _ => Failure::usage(message!("unreadable", what, reason = Message::text(error))),
    }
}

/// Returns the goal from the command line, or from standard input for `-`. An argument that is only the path of a file is refused, because
/// its writer means the content.
pub(super) fn read_goal(goal: &str) -> Result<String, Failure> {
    if goal == "-" {
        return read_goal_file(Path::new("-"));
    }
    let text = goal.trim();
    if aime_runs::is_path_of_file(text) {
        return Err(Failure::usage(message!("goal-is-file", file = text)).hint(message!("goal-is-file-hint", file = text)));
    }
    non_empty(text)
}

/// Reads a goal from a file, or from standard input for `-`.
pub(super) fn read_goal_file(file: &Path) -> Result<String, Failure> {
    non_empty(&read_text(file, &msg!("goal-of-file", file = file.display()))?)
}

fn non_empty(goal: &str) -> Result<String, Failure> {
    let text = goal.trim();
    if text.is_empty() { Err(Failure::usage(message!("empty-goal")).hint(message!("empty-goal-hint"))) } else { Ok(text.to_owned()) }
}

/// Returns the failure of a command that needs a goal and got none.
pub(super) fn no_goal(command: &str) -> Failure {
    Failure::usage(message!("no-goal")).hint(message!("no-goal-hint", command))
}
