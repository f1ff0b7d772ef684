//! Locates each hunk in a text and applies it there. Pure.

use std::borrow::Cow;

use super::parse::{Hunk, Sign};
use crate::builtin::{
    near_miss::near_miss,
    tolerant::{BYTE_ORDER_MARK, Ignored, even_line},
};

/// Maximum number of places that an error names if lines are not unique.
const MAX_PLACES: usize = 10;

/// A line of a text and its line break.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Line<'a> {
    text: &'a str,
    /// `\r\n`, `\n`, or empty at the end of a text.
    ending: &'a str,
}

/// The tolerated differences between a hunk and the file, strictest first.
const LADDER: [Ignored; 4] = [
    Ignored { line_ends: false, blanks: false, unicode: false, mark: false },
    Ignored { line_ends: false, blanks: true, unicode: false, mark: false },
    Ignored { line_ends: false, blanks: false, unicode: true, mark: false },
    Ignored { line_ends: false, blanks: true, unicode: true, mark: false },
];

/// A text after all hunks.
#[derive(Debug)]
pub(super) struct Applied {
    pub(super) text: String,
    pub(super) counts: Counts,
    /// Differences that were ignored to locate the hunks.
    pub(super) ignored: Ignored,
    /// True if added lines got the line end `\r\n` of the file, and the patch has another.
    pub(super) windows: bool,
}

/// Applies all hunks to a text. Keeps a byte order mark at its beginning.
///
/// # Errors
/// A message for a model on the first hunk that cannot be located.
pub(super) fn apply(text: &str, hunks: &[Hunk]) -> Result<Applied, String> {
    let (mark, text) = text.split_at(if text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len_utf8() } else { 0 });
    let lines = split(text);
    let mut made = String::with_capacity(text.len());
    let (mut counts, mut done, mut ignored, mut windows) = (Counts::default(), 0, Ignored::default(), false);
    let fallback = lines.iter().map(|line| line.ending).find(|ending| !ending.is_empty()).unwrap_or("\n");
    // Keep a missing line break at the end of the text.
    let mut open_end = !text.is_empty() && !text.ends_with('\n');
    for (number, hunk) in hunks.iter().enumerate() {
        // The lines of a hunk without a line break at the end of the file have no line end that could differ.
        let differs = |ending: &str| !ending.is_empty() && (ending == "\r\n") != hunk.windows;
        let (at, loosely) = place(&lines, done, hunk).map_err(|why| {
            let which = if hunks.len() == 1 { String::new() } else { format!("change {}: ", number + 1) };
            format!("{which}{}", why.words(text))
        })?;
        ignored = ignored.or(loosely);
        for line in lines.get(done..at).unwrap_or_default() {
            push(&mut made, line.text, line.ending, fallback);
        }
        done = at;
        for (sign, new) in &hunk.lines {
            let line = lines.get(done);
            // An added line gets the line break of the line before it.
            let near = done.checked_sub(1).and_then(|before| lines.get(before)).or(line).map_or(fallback, |line| line.ending);
            ignored.line_ends |= *sign != Sign::Add && line.is_some_and(|line| differs(line.ending));
            match (sign, line) {
                (Sign::Keep, Some(line)) => push(&mut made, line.text, line.ending, fallback),
                (Sign::Add, _) => {
                    let ending = if near.is_empty() { fallback } else { near };
                    windows |= ending == "\r\n" && !hunk.windows;
                    push(&mut made, new.strip_suffix('\r').unwrap_or(new), ending, fallback);
                    counts.added += 1;
                }
                (Sign::Remove, _) => counts.removed += 1,
                (Sign::Keep, None) => {}
            }
            done += usize::from(*sign != Sign::Add);
        }
        open_end = hunk.open_end.unwrap_or(open_end);
    }
    for line in lines.get(done..).unwrap_or_default() {
        push(&mut made, line.text, line.ending, fallback);
    }
    if open_end {
        let end = made.strip_suffix("\r\n").or_else(|| made.strip_suffix('\n')).map_or(made.len(), str::len);
        made.truncate(end);
    } else if !made.is_empty() && !made.ends_with('\n') {
        made.push_str(fallback);
    }
    Ok(Applied { text: format!("{mark}{made}"), counts, ignored, windows })
}

/// Numbers of added and removed lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) added: usize,
    pub(super) removed: usize,
}

/// Appends a line. First completes a last line that lacks its line break.
fn push(made: &mut String, text: &str, ending: &str, fallback: &str) {
    if !made.is_empty() && !made.ends_with('\n') {
        made.push_str(fallback);
    }
    made.push_str(text);
    made.push_str(ending);
}

fn split(text: &str) -> Vec<Line<'_>> {
    text.split_inclusive('\n')
        .map(|line| {
            let bare = line.strip_suffix("\r\n").or_else(|| line.strip_suffix('\n')).unwrap_or(line);
            Line { text: bare, ending: line.get(bare.len()..).unwrap_or_default() }
        })
        .collect()
}

/// Reason why a hunk cannot be located.
enum NoPlace {
    /// The line that should precede it is missing.
    NoHead(String),
    /// Its lines are missing.
    Nowhere(Vec<String>),
    /// Its lines exist only before an earlier change.
    Before(usize),
    /// Its lines exist more than once.
    Several(Vec<usize>),
}

impl NoPlace {
    fn words(&self, text: &str) -> String {
        match self {
            Self::NoHead(line) => format!("there is no line `{line}` to stand behind @@. {}", near_miss(text, line)),
            Self::Nowhere(lines) => format!("its lines are not in the file. {}", near_miss(text, &lines.join("\n"))),
            Self::Before(line) => {
                format!("its lines are at line {line}, before those of the change that comes first; put changes in the order of the file")
            }
            Self::Several(places) => {
                let shown = places.iter().take(MAX_PLACES).map(|at| (at + 1).to_string()).collect::<Vec<_>>().join(", ");
                let more = if places.len() > MAX_PLACES { " …" } else { "" };
                format!(
                    "its lines are there {} times, at lines {shown}{more}; add the lines around the ones you mean, or the line above them behind @@",
                    places.len()
                )
            }
        }
    }
}

/// Returns the index of the line where a hunk begins, at `from` or later, and the differences that were ignored to find it.
fn place(lines: &[Line<'_>], from: usize, hunk: &Hunk) -> Result<(usize, Ignored), NoPlace> {
    let mut from = from;
    for head in &hunk.below {
        let same = |line: &Line<'_>| line.text.trim() == head.trim();
        let found = lines.iter().skip(from).position(same).ok_or_else(|| NoPlace::NoHead(head.clone()))?;
        from += found + 1;
    }
    let old = hunk.old();
    if old.is_empty() {
        // A hunk without old lines goes below its head, after the line number of a unified diff, or to the end.
        let at =
            if hunk.at_end || (hunk.below.is_empty() && hunk.near.is_none()) { lines.len() } else { hunk.near.unwrap_or(from).max(from) };
        return Ok((at.min(lines.len()), Ignored::default()));
    }
    for ignored in LADDER {
        let texts: Vec<Cow<'_, str>> = lines.iter().map(|line| even(line.text, ignored)).collect();
        let old: Vec<Cow<'_, str>> = old.iter().map(|line| even(line, ignored)).collect();
        let fits = |at: &usize| texts.get(*at..*at + old.len()).is_some_and(|window| window == old);
        let mut places: Vec<usize> = (0..lines.len()).filter(fits).collect();
        if hunk.at_end {
            places.retain(|at| at + old.len() == lines.len());
        }
        let earlier = places.iter().position(|at| *at >= from).unwrap_or(places.len());
        let later = places.split_off(earlier);
        match (later.as_slice(), hunk.near) {
            ([], _) => match places.last() {
                Some(at) => return Err(NoPlace::Before(at + 1)),
                None => continue,
            },
            ([one], _) => return Ok((*one, ignored)),
            // A head narrows the choice, and line numbers are at least close.
            ([first, ..], None) if !hunk.below.is_empty() => return Ok((*first, ignored)),
            (several, Some(near)) => {
                let nearest = several.iter().copied().min_by_key(|at| (at + 1).abs_diff(near));
                return nearest.map(|at| (at, ignored)).ok_or_else(|| NoPlace::Several(several.to_vec()));
            }
            (several, None) => return Err(NoPlace::Several(several.to_vec())),
        }
    }
    Err(NoPlace::Nowhere(old.into_iter().map(str::to_owned).collect()))
}

fn even(line: &str, ignored: Ignored) -> Cow<'_, str> {
    if ignored == Ignored::default() { Cow::Borrowed(line) } else { Cow::Owned(even_line(line, ignored)) }
}
