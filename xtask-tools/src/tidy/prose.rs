//! Prose: comments open with a subject, so that a reader need not guess who does what.

use super::Fault;
use super::codebase::{Codebase, Package, TextFile};

/// Words that open a sentence without a subject ("What is left of it", "Who names no run").
const BARE_OPENERS: [&str; 14] =
    ["What", "Who", "Whose", "Where", "Whether", "How", "Why", "Which", "Those", "That", "Whoever", "Whatever", "Whichever", "Wherever"];

/// Comment lines of 1,000 in a package that may open bare.
const BOUND: usize = 8;

/// Lines shown for a package above its bound.
const SHOWN: usize = 5;

/// The packages with more bare openers in their comments than the bound.
pub(super) fn check(codebase: &Codebase) -> Vec<Fault> {
    codebase.packages.iter().filter_map(|package| check_package(codebase, package)).collect()
}

fn check_package(codebase: &Codebase, package: &Package) -> Option<Fault> {
    let folder = format!("{}/", package.folder);
    let files = codebase.files.iter().filter(|file| file.rust.is_some() && file.path.starts_with(&folder));
    let comments: Vec<_> = files.flat_map(comments).collect();
    let bare: Vec<_> = comments.iter().filter(|(_, _, comment)| opens_bare(comment)).collect();
    let bound = (comments.len() * BOUND).div_ceil(1000);
    let (file, line, _) = bare.first().filter(|_| bare.len() > bound)?;
    let places: Vec<_> = bare.iter().take(SHOWN).map(|(file, line, comment)| format!("{}:{line}: {comment}", file.path)).collect();
    let what = format!("{} of {} comment lines of {} open without a subject", bare.len(), comments.len(), package.folder);
    Some(Fault::new(&file.path, *line, what, format!("at most {bound}; begin with a noun or a verb:\n  {}", places.join("\n  "))))
}

/// The lines of a file that are comments, counted from 1, without their slashes.
fn comments(file: &TextFile) -> impl Iterator<Item = (&TextFile, usize, &str)> {
    file.text.lines().enumerate().filter_map(move |(index, line)| {
        let comment = line.trim_start().strip_prefix("//")?;
        Some((file, index + 1, comment.trim_start_matches(['/', '!']).trim()))
    })
}

/// Returns whether a comment's first word is a bare opener.
fn opens_bare(comment: &str) -> bool {
    comment.split_once(' ').is_some_and(|(first, _)| BARE_OPENERS.contains(&first))
}
