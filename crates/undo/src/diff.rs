//! Line diffs of texts, for people.

use std::time::Duration;

use similar::{Algorithm, TextDiff};

/// Maximum characters of a line.
const MAX_CHARS: usize = 300;
/// Number of context lines around a change.
const AROUND: usize = 3;
/// Time limit of the exact comparison; after that the diff is approximate.
const DIFF_TIMEOUT: Duration = Duration::from_millis(200);

/// Changes to the lines of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineDiff {
    /// Number of added lines.
    pub added: usize,
    /// Number of removed lines.
    pub removed: usize,
    /// Unified diff without file names; if it was cut, a last line gives the number of omitted lines.
    pub text: String,
}

/// Compares two contents and returns at most `most_lines` lines of the diff; `None` if one content is not text.
#[must_use]
pub fn line_diff(before: &[u8], after: &[u8], most_lines: usize) -> Option<LineDiff> {
    let text = |bytes| std::str::from_utf8(bytes).ok().filter(|text: &&str| !text.contains('\0'));
    let (before, after) = (text(before)?, text(after)?);
    let diff = TextDiff::configure().algorithm(Algorithm::Myers).timeout(DIFF_TIMEOUT).diff_lines(before, after);
    let count = |tag| diff.iter_all_changes().filter(|change| change.tag() == tag).count();
    let (added, removed) = (count(similar::ChangeTag::Insert), count(similar::ChangeTag::Delete));
    let unified = diff.unified_diff().context_radius(AROUND).missing_newline_hint(false).to_string();
    let all = unified.lines().count();
    let mut lines: Vec<String> = unified.lines().take(most_lines).map(|line| line.chars().take(MAX_CHARS).collect()).collect();
    if all > most_lines {
        lines.push(format!("… {} more lines", all - most_lines));
    }
    Some(LineDiff { added, removed, text: lines.join("\n") })
}

#[cfg(test)]
mod tests {
    use super::*;

    // Requirement: 8.25
    #[test]
    fn shows_what_came_and_went() {
        let diff = line_diff(b"a\nb\nc\n", b"a\nB\nc\nd", 30).unwrap();
        assert_eq!((diff.added, diff.removed, diff.text.as_str()), (2, 1, "@@ -1,3 +1,4 @@\n a\n-b\n+B\n c\n+d"));
        assert_eq!(line_diff(b"", b"new\n", 30).unwrap().text, "@@ -0,0 +1 @@\n+new");
        assert_eq!(line_diff(b"\0", b"a", 30), None);
        assert_eq!(line_diff(b"caf\xe9", b"a", 30), None);
        let long = line_diff(b"", "x\n".repeat(100).as_bytes(), 30).unwrap();
        assert_eq!((long.added, long.text.lines().count()), (100, 31));
        assert!(long.text.ends_with("+x\n… 71 more lines"));
    }
}
