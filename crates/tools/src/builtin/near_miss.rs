//! Finds the part of a file that is most similar to a missing text.

use std::ops::Range;

use similar::{Algorithm, ChangeTag, TextDiff};

/// Maximum number of lines that are compared.
const MAX_LINES: usize = 20_000;
/// Maximum characters of a line that are compared.
const MAX_LINE_CHARS: usize = 300;
/// Maximum number of lines that are shown.
const MAX_SHOWN: usize = 30;
/// Minimum similarity; anything less similar does not help.
const MIN_SIMILARITY: f32 = 0.4;

/// Returns a message for a model with the lines of `text` that are most similar to `wanted`.
pub(super) fn near_miss(text: &str, wanted: &str) -> String {
    let wanted: Vec<&str> = wanted.trim_matches(['\n', '\r']).lines().collect();
    let lines: Vec<&str> = text.lines().take(MAX_LINES).collect();
    let Some((start, likeness)) = closest(&lines, &wanted) else {
        return "Read the file and copy the text exactly.".to_owned();
    };
    if likeness < MIN_SIMILARITY {
        return "Nothing in it is like that. Read the file and copy the text exactly.".to_owned();
    }
    described(&lines, start..start + wanted.len(), &wanted)
}

/// Returns a message for a model with these lines of a file, as those that are most similar to `wanted`.
fn described(lines: &[&str], range: Range<usize>, wanted: &[&str]) -> String {
    let start = range.start;
    let found: Vec<&str> = lines.iter().skip(start).take(range.len().min(MAX_SHOWN)).copied().collect();
    let place = if found.len() == 1 { format!("line {}", start + 1) } else { format!("lines {} to {}", start + 1, start + found.len()) };
    if found.len() == wanted.len() && found.iter().zip(wanted).all(|(found, wanted)| same_but_space(found, wanted)) {
        return format!("Only the white space differs from {place}, which read:\n{}", found.join("\n"));
    }
    let (wanted, found) = (joined(wanted.get(..wanted.len().min(MAX_SHOWN)).unwrap_or(wanted)), joined(&found));
    format!("The closest is {place} (- yours, + the file):\n{}", marked(&wanted, &found))
}

/// Returns the similarity from 0 to 1 of `wanted` and the range of `lines` that is most similar to it, that range, and a message for a model
/// with it. Compares no blank lines, and no lines that `leaves_out` holds for.
pub(super) fn near_miss_outside(lines: &[&str], wanted: &str, leaves_out: impl Fn(usize) -> bool) -> Option<(f32, Range<usize>, String)> {
    let wanted: Vec<&str> = wanted.trim_matches(['\n', '\r']).lines().collect();
    let is_compared = |at: usize, line: &str| !line.trim().is_empty() && !leaves_out(at);
    let compared = lines.iter().copied().enumerate().take(MAX_LINES).filter(|(at, line)| is_compared(*at, line));
    let (numbers, texts): (Vec<usize>, Vec<&str>) = compared.unzip();
    let of_wanted = filled(&wanted);
    let (start, likeness) = closest(&texts, &of_wanted)?;
    let range = numbers.get(start..numbers.len().min(start + of_wanted.len()))?;
    let (first, last) = range.first().zip(range.last())?;
    let range = *first..last + 1;
    Some((likeness, range.clone(), described(lines, range, &wanted)))
}

/// Returns the mean similarity from 0 to 1 of the lines of `wanted` and the most similar line of `lines` for each. Leaves out blank lines.
pub(super) fn line_similarity(lines: &[&str], wanted: &[&str]) -> f32 {
    let wanted = filled(wanted);
    let best = |line: &&str| {
        // Most lines are equal, and the comparison is expensive.
        let is_there = lines.iter().any(|found| found.trim() == line.trim());
        if is_there { 1.0 } else { lines.iter().map(|found| likeness(found, line)).fold(0.0, f32::max) }
    };
    mean(wanted.iter().map(best).sum(), wanted.len())
}

/// Returns the mean similarity from 0 to 1 of the words of `wanted` and the most similar word of a line for each, for the line of `lines`
/// where it is highest. It is 1 if `wanted` has no words.
pub(super) fn word_similarity(lines: &[&str], wanted: &str) -> f32 {
    let wanted = words(wanted);
    if wanted.is_empty() { 1.0 } else { lines.iter().map(|line| line_similarity(&words(line), &wanted)).fold(0.0, f32::max) }
}

fn words(line: &str) -> Vec<&str> {
    beginning(line.trim()).split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty()).collect()
}

fn filled<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    lines.iter().filter(|line| !line.trim().is_empty()).take(MAX_LINES).copied().collect()
}

fn mean(sum: f32, count: usize) -> f32 {
    // Lossless: the numbers of lines are small.
    #[expect(clippy::cast_precision_loss, reason = "the number of lines of an edit is far below 2^24")]
    let count = count.max(1) as f32;
    sum / count
}

/// Returns the index of the most similar range of lines, and its similarity from 0 to 1.
fn closest(lines: &[&str], wanted: &[&str]) -> Option<(usize, f32)> {
    // The longest line represents all lines in a first pass: comparing every range of lines would take too long.
    let (anchor_at, anchor) = wanted.iter().enumerate().max_by_key(|(at, line)| (line.trim().chars().count(), usize::MAX - at))?;
    let mut candidates: Vec<_> = lines.iter().enumerate().map(|(at, line)| (likeness(line, anchor), at)).collect();
    candidates.sort_by(|(one, one_at), (other, other_at)| other.total_cmp(one).then(one_at.cmp(other_at)));
    let starts = candidates.into_iter().take(5).map(|(_, at)| at.saturating_sub(anchor_at));
    let scored = starts.map(|start| {
        let alike: f32 = wanted.iter().enumerate().map(|(at, line)| lines.get(start + at).map_or(0.0, |found| likeness(found, line))).sum();
        (start, mean(alike, wanted.len()))
    });
    scored.reduce(|best, next| if next.1 > best.1 { next } else { best })
}

/// Returns the similarity of two lines from 0 to 1, without white space at their ends.
fn likeness(one: &str, other: &str) -> f32 {
    let (one, other) = (beginning(one.trim()), beginning(other.trim()));
    if one == other {
        return 1.0;
    }
    let (short, long) = if one.len() < other.len() { (one.len(), other.len()) } else { (other.len(), one.len()) };
    // Lines of very different length cannot be similar, and the comparison is expensive.
    if short * 4 < long {
        return 0.0;
    }
    TextDiff::configure().algorithm(Algorithm::Myers).diff_chars(one, other).ratio()
}

fn beginning(line: &str) -> &str {
    line.char_indices().nth(MAX_LINE_CHARS).and_then(|(end, _)| line.get(..end)).unwrap_or(line)
}

fn same_but_space(one: &str, other: &str) -> bool {
    one.split_whitespace().eq(other.split_whitespace())
}

/// Returns the first 30 lines that differ between two texts: removed lines with `-`, added lines with `+`.
pub(super) fn difference(before: &str, after: &str) -> String {
    let marked = marked(before, after);
    let changed: Vec<&str> = marked.lines().filter(|line| !line.starts_with(' ')).collect();
    let shown = changed.get(..changed.len().min(MAX_SHOWN)).unwrap_or(&changed).join("\n");
    match changed.len().saturating_sub(MAX_SHOWN) {
        0 => shown,
        more => format!("{shown}\n… {more} more lines"),
    }
}

/// Returns all lines of both texts with a sign: `-` only in the first, `+` only in the second, ` ` in both.
fn marked(first: &str, second: &str) -> String {
    let diff = TextDiff::from_lines(first, second);
    let marked = diff.iter_all_changes().map(|change| {
        let sign = match change.tag() {
            ChangeTag::Delete => '-',
            ChangeTag::Insert => '+',
            ChangeTag::Equal => ' ',
        };
        format!("{sign}{}", change.value().trim_end_matches(['\r', '\n']))
    });
    marked.collect::<Vec<_>>().join("\n")
}

fn joined(lines: &[&str]) -> String {
    lines.iter().flat_map(|line| [*line, "\n"]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "fn main() {\n    let count = 1;\n    println!(\"{count}\");\n}\n\nfn other() {\n    work();\n}\n";

    #[test]
    fn shows_what_was_meant() {
        let table = [
            ("  let count = 1;", "Only the white space differs from line 2, which read:\n    let count = 1;"),
            ("let count = 2;", "The closest is line 2 (- yours, + the file):\n-let count = 2;\n+    let count = 1;"),
            (
                "fn other() {\n    wokr();\n}",
                "The closest is lines 6 to 8 (- yours, + the file):\n fn other() {\n-    wokr();\n+    work();\n }",
            ),
            ("\nfn other() {\n  work();\n}\n", "Only the white space differs from lines 6 to 8, which read:\nfn other() {\n    work();\n}"),
            ("SELECT * FROM users WHERE id = 7", "Nothing in it is like that. Read the file and copy the text exactly."),
            ("\n\n", "Read the file and copy the text exactly."),
        ];
        for (wanted, expected) in table {
            assert_eq!(near_miss(FILE, wanted), expected, "{wanted:?}");
        }
        assert_eq!(near_miss("", "x"), "Read the file and copy the text exactly.");
    }

    #[test]
    fn long_files_and_lines_are_no_trouble() {
        let file = format!("{}\nneedle in it\n", "some other line of text\n".repeat(15_000));
        assert!(near_miss(&file, "needle in at").contains("line 15002"));
        let long = "x".repeat(2_000_000);
        assert!(!near_miss(&long, &"y".repeat(2_000_000)).is_empty());
    }
}
