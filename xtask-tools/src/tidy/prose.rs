//! Prose: comments open with a subject, so that a reader need not guess who does what, and documents wrap.

use super::Fault;
use super::codebase::{Codebase, Package, TextFile};

/// Words that open a sentence without a subject ("What is left of it", "Who names no run").
const BARE_OPENERS: [&str; 14] =
    ["What", "Who", "Whose", "Where", "Whether", "How", "Why", "Which", "Those", "That", "Whoever", "Whatever", "Whichever", "Wherever"];

/// Comment lines of 1,000 in a package that may open bare.
const BOUND: usize = 8;

/// Lines shown for a package above its bound.
const SHOWN: usize = 5;

/// Phrases without an actor or in private words, which documents and messages avoid.
const RETIRED: [&str; 11] = [
    "is told",
    "are told",
    "was told",
    "were told",
    "of before",
    "is said to be",
    "whatever stands",
    "as it stands",
    "run was left",
    "a left run",
    "says nothing of",
];

/// First words of names of constants for which the field says `MAX` or `MIN`.
const RETIRED_LIMITS: [&str; 7] = ["MOST", "LEAST", "LONGEST", "LARGEST", "DEEPEST", "SHORTEST", "FEWEST"];

/// Retired phrases that documents and messages may have together.
const RETIRED_BOUND: usize = 8;

/// Maximum number of characters of a line of a document.
const COLUMNS: usize = 120;

/// Returns the packages with more bare openers in their comments than the bound, retired phrases above their bound, and long lines of
/// documents.
pub(super) fn check(codebase: &Codebase) -> Vec<Fault> {
    let packages = codebase.packages.iter().filter_map(|package| check_package(codebase, package));
    let limits = codebase.files.iter().filter(|file| file.rust.is_some()).flat_map(check_limits);
    packages.chain(check_phrases(codebase)).chain(limits).chain(codebase.files.iter().flat_map(check_columns)).collect()
}

/// Returns a fault for each constant that names a limit by a superlative.
fn check_limits(file: &TextFile) -> Vec<Fault> {
    let named = |line: &str| {
        let name = line.trim_start().split_once("const ").filter(|(before, _)| before.is_empty() || before.starts_with("pub"))?.1;
        let name = name.split(|letter: char| !letter.is_ascii_uppercase() && letter != '_').next()?;
        name.split('_').next().filter(|first| RETIRED_LIMITS.contains(first)).map(|_| name.to_owned())
    };
    let lines = file.text.lines().enumerate().filter_map(|(index, line)| Some((index, named(line)?)));
    lines
        .map(|(index, name)| {
            Fault::new(&file.path, index + 1, format!("the limit `{name}`"), "name it `MAX_…` or `MIN_…`, with what it bounds")
        })
        .collect()
}

/// Returns a fault for each line of a document that is too long and can be wrapped. Tables, code and a single long word, such as a link,
/// cannot. Texts for models are no documents.
fn check_columns(file: &TextFile) -> Vec<Fault> {
    let is_document = file.path.ends_with(".md") && (!file.path.starts_with("crates/") || file.path.ends_with("README.md"));
    if !is_document {
        return Vec::new();
    }
    let mut fence: Option<&str> = None;
    let mut faults = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        let text = line.trim_start();
        if let Some(mark) = ["```", "~~~"].into_iter().find(|mark| text.starts_with(mark)) {
            fence = if fence.is_none() { Some(mark) } else { fence.filter(|open| *open != mark) };
        } else if fence.is_none() && !text.starts_with('|') && line.chars().count() > COLUMNS && text.contains(' ') {
            let hint = format!("wrap it at {COLUMNS} columns");
            faults.push(Fault::new(&file.path, index + 1, "the line is too long", hint));
        }
    }
    faults
}

/// Returns a fault if documents and English messages have too many retired phrases.
fn check_phrases(codebase: &Codebase) -> Option<Fault> {
    let is_read = |file: &&TextFile| file.path.ends_with(".md") || file.path.contains("/messages/en/");
    let lines = codebase.files.iter().filter(is_read).flat_map(|file| file.text.lines().enumerate().map(move |line| (file, line)));
    let found: Vec<_> = lines.filter(|(_, (_, line))| RETIRED.iter().any(|phrase| line.contains(phrase))).collect();
    let (file, (index, _)) = found.first().filter(|_| found.len() > RETIRED_BOUND)?;
    let places: Vec<_> = found.iter().map(|(file, (index, line))| format!("{}:{}: {}", file.path, index + 1, line.trim())).collect();
    let what = format!("{} lines of documents and messages have retired phrases", found.len());
    Some(Fault::new(&file.path, index + 1, what, format!("at most {RETIRED_BOUND}; name who acts:\n  {}", places.join("\n  "))))
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
