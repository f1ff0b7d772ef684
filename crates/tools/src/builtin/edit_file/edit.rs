//! Applies edits to a text. Pure.

use std::ops::Range;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::builtin::{
    near_miss::{line_similarity, near_miss, near_miss_outside, word_similarity},
    tolerant::{self, BYTE_ORDER_MARK, Ignored, Places, has_windows_line_ends, with_windows_line_ends},
};

/// Maximum number of places that an error names if a text is not unique.
const MAX_PLACES: usize = 10;
/// Maximum characters shown of each place.
const MAX_SHOWN: usize = 120;
/// Minimum similarity of a place that an old text with slips may mean.
const MIN_MEANT: f32 = 0.6;
/// The same for an old text of one line: lines beside each other are often alike.
const MIN_MEANT_LINE: f32 = 0.8;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Edit {
    pub(super) old_text: String,
    pub(super) new_text: String,
    #[serde(default)]
    pub(super) replace_all: bool,
}

/// A text after all edits.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) text: String,
    /// One entry for each edit.
    pub(super) made: Vec<EditOutcome>,
}

/// Outcome of an edit.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum EditOutcome {
    /// The edit replaced its old text `count` times, first at this line.
    Replaced { count: usize, line: usize, ignored: Ignored, windows: bool },
    /// The edit appended its new text, from this line on.
    Added { line: usize, windows: bool },
    /// The new text already exists at this line, and nothing like the old text anywhere else.
    Already { line: usize },
}

/// Applies all edits in order, each to the result of the one before it.
///
/// # Errors
/// A message for a model with every fault of the edits. The file must stay unchanged then.
pub(super) fn make_all(text: &str, edits: &[Edit], path: &str) -> Result<Outcome, String> {
    let mut outcome = Outcome { text: text.to_owned(), made: Vec::new() };
    let mut faults = Vec::new();
    for (number, edit) in edits.iter().enumerate() {
        match make(&outcome.text, edit, path) {
            Ok((text, made)) => {
                outcome.text = text;
                outcome.made.push(made);
            }
            Err(fault) => faults.push(if edits.len() == 1 { fault } else { format!("edit {}: {fault}", number + 1) }),
        }
    }
    match faults.len() {
        0 => Ok(outcome),
        _ if edits.len() == 1 => Err(faults.concat()),
        _ => Err(format!("nothing was changed, since an edit does not fit:\n{}", faults.join("\n"))),
    }
}

fn make(text: &str, edit: &Edit, path: &str) -> Result<(String, EditOutcome), String> {
    if edit.old_text.is_empty() {
        let line = text.lines().count() + 1;
        let windows = text.contains("\r\n") && edit.new_text.replace("\r\n", "").contains('\n');
        return Ok((added(text, &edit.new_text), EditOutcome::Added { line, windows }));
    }
    let Places { ranges, ignored } = tolerant::find(text, &edit.old_text);
    let (Some(first), count) = (ranges.first(), ranges.len()) else { return missing(text, edit, path) };
    if count > 1 && !edit.replace_all {
        let lines: Vec<_> = ranges.iter().take(MAX_PLACES).map(|range| line_excerpt(text, line_of(text, range.start))).collect();
        let more = if count > MAX_PLACES { "\n…" } else { "" };
        return Err(format!(
            "old_text occurs {count} times in `{path}`:\n{}{more}\nAdd the lines around the one you mean, or set replace_all",
            lines.join("\n")
        ));
    }
    let line = line_of(text, first.start);
    // A byte order mark that the search left out is not part of the replaced text.
    let left_out =
        edit.old_text.starts_with(BYTE_ORDER_MARK) && !text.get(first.clone()).is_some_and(|old| old.starts_with(BYTE_ORDER_MARK));
    let new_text = edit.new_text.strip_prefix(BYTE_ORDER_MARK).filter(|_| left_out).unwrap_or(&edit.new_text);
    let (mut changed, mut done, mut windows) = (String::with_capacity(text.len()), 0, false);
    for range in ranges {
        let old = text.get(range.clone()).unwrap_or_default();
        let new = with_line_ends(text, old, (&edit.old_text, new_text), ignored);
        windows |= new != new_text && new.contains("\r\n");
        changed.push_str(text.get(done..range.start).unwrap_or_default());
        changed.push_str(&new);
        done = range.end;
    }
    changed.push_str(text.get(done..).unwrap_or_default());
    Ok((changed, EditOutcome::Replaced { count, line, ignored, windows }))
}

/// Returns the new text with the line breaks of the text that it replaces. Models write `\n` for any file.
fn with_line_ends(text: &str, old: &str, (wanted, new): (&str, &str), ignored: Ignored) -> String {
    if old.contains("\r\n") || (!old.contains('\n') && has_windows_line_ends(text)) {
        with_windows_line_ends(new)
    } else if ignored.line_ends && wanted.contains("\r\n") {
        new.replace("\r\n", "\n")
    } else {
        new.to_owned()
    }
}

/// Handles an edit whose old text does not exist. Small models repeat a change, and revert it if the second attempt is an error. The change
/// therefore counts as made if the new text makes up whole lines of the file, the old text lacks one of them, and no other place of the file
/// resembles the old text more: an old text with a slip may mean that place.
fn missing(text: &str, edit: &Edit, path: &str) -> Result<(String, EditOutcome), String> {
    let new: Vec<&str> = edit.new_text.trim().lines().map(str::trim).collect();
    let old: Vec<&str> = edit.old_text.lines().map(str::trim).collect();
    let adds_a_line = new.iter().any(|line| !line.is_empty() && !old.contains(line));
    let lines: Vec<&str> = text.lines().collect();
    let is_new = |window: &[&str]| window.iter().zip(&new).all(|(line, new)| line.trim() == *new);
    let made = lines.windows(new.len().max(1)).position(is_new).filter(|_| adds_a_line);
    let Some(at) = made else { return Err(format!("old_text is not in `{path}`. {}", near_miss(text, &edit.old_text))) };
    let window = lines.get(at..at + new.len()).unwrap_or_default();
    let windows: Vec<usize> = lines.windows(new.len()).enumerate().filter(|(_, window)| is_new(window)).map(|(at, _)| at).collect();
    let in_new = |line: usize| windows.get(windows.partition_point(|at| at + new.len() <= line)).is_some_and(|at| *at <= line);
    let is_one_line = old.iter().filter(|line| !line.is_empty()).count() == 1;
    let least = if is_one_line { MIN_MEANT_LINE } else { MIN_MEANT };
    // A line of the same form as the old text, but with other names, is not meant: a slip leaves the words as they are, or nearly so.
    let has_its_words = |range: Range<usize>| {
        let found = word_similarity(lines.get(range).unwrap_or_default(), &edit.old_text);
        found >= 1.0 || found > word_similarity(window, &edit.old_text)
    };
    match near_miss_outside(&lines, &edit.old_text, in_new) {
        Some((other, range, place))
            if other >= least && other > line_similarity(window, &old) && (!is_one_line || has_its_words(range.clone())) =>
        {
            Err(format!(
                "old_text is not in `{path}`; new_text is there already, at line {}, but another place is like old_text, too. {place}",
                at + 1
            ))
        }
        _ => Ok((text.to_owned(), EditOutcome::Already { line: at + 1 })),
    }
}

/// Appends a text on lines of its own, with the line breaks of the existing text.
fn added(text: &str, new: &str) -> String {
    let ending = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let open = if text.is_empty() || text.ends_with('\n') { "" } else { ending };
    let new = new.replace("\r\n", "\n");
    let end = if new.ends_with('\n') { "" } else { "\n" };
    format!("{text}{open}{}", (new + end).replace('\n', ending))
}

/// Returns the line number of a byte offset, from 1.
fn line_of(text: &str, at: usize) -> usize {
    1 + text.get(..at).unwrap_or_default().matches('\n').count()
}

fn line_excerpt(text: &str, line: usize) -> String {
    format!("{line}: {}", text.lines().nth(line - 1).unwrap_or_default().chars().take(MAX_SHOWN).collect::<String>())
}
