//! Files and standard input that commands read.

use std::{
    io::{self, Read},
    path::{Path, PathBuf},
};

use aime_llm::Image;
use aime_orchestrator::MAX_GOAL_IMAGES;

use crate::{
    failure::Failure,
    i18n::{self, msg},
};

/// Reads a file, or standard input for `-`; `what` names the file in errors.
pub(super) fn read_text(path: &Path, what: &str) -> Result<String, Failure> {
    if path == Path::new("-") {
        let mut text = String::new();
        io::stdin().read_to_string(&mut text).map_err(|error| unreadable(&i18n::said("standard input"), &error))?;
        return Ok(text);
    }
    std::fs::read_to_string(path).map_err(|error| unreadable(what, &error))
}

/// Reads the images of a goal. Each is named by its path as given.
pub(super) fn read_images(paths: &[PathBuf]) -> Result<Vec<Image>, Failure> {
    if paths.len() > MAX_GOAL_IMAGES {
        return Err(Failure::usage(format!("{} images were given; a goal takes at most {MAX_GOAL_IMAGES}", paths.len())));
    }
    let image = |path: &PathBuf| {
        let bytes = std::fs::read(path).map_err(|error| unreadable(&msg!("image-of-file", file = path.display()), &error))?;
        Image::new(path.display().to_string(), &bytes).map_err(Failure::usage)
    };
    paths.iter().map(image).collect()
}

fn unreadable(what: &str, error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::InvalidData => Failure::usage(format!("{what} is not text in UTF-8")).hint("is it the right file?"),
        io::ErrorKind::NotFound => {
            Failure::usage(format!("{what} was not found")).hint("check the path: it is relative to the current folder, not to -C")
        }
        _ => Failure::usage(format!("{what} cannot be read: {error}")),
    }
}

/// Returns the goal from the command line, or from standard input for `-`.
pub(super) fn read_goal(goal: &str) -> Result<String, Failure> {
    let text = if goal == "-" { read_text(Path::new("-"), "goal")? } else { goal.to_owned() };
    let text = text.trim();
    if text.is_empty() { Err(Failure::usage("the goal is empty").hint("write the goal: aime run \"…\"")) } else { Ok(text.to_owned()) }
}
