//! Files that work changed, in messages to models.

use crate::draft::{Draft, Share, one_line};

/// The call that shows the omitted part of a cut diff.
const READ_FILE: &str = "`read_file`";

/// A file that work changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangedFile {
    /// The path, relative to the folder.
    pub path: String,
    /// `created`, `changed` or `deleted`.
    pub did: String,
    /// Number of added lines.
    pub added: usize,
    /// Number of removed lines.
    pub removed: usize,
    /// The unified diff; empty if it cannot be shown.
    pub diff: String,
}

impl ChangedFile {
    /// Writes the file and its diff, if that has at most `most_lines` lines.
    pub(crate) fn write(&self, most_lines: usize, draft: &mut Draft) {
        let Self { path, did, added, removed, diff } = self;
        let test = if looks_like_a_test(path) { ", a test" } else { "" };
        draft.fixed(format!("- {} ({did}{test}): +{added} -{removed}\n", one_line(path)));
        if !diff.is_empty() && diff.lines().count() <= most_lines {
            draft.quoted(diff, Some(READ_FILE.to_owned()), Share::Results);
        }
    }
}

/// Returns true if the name of a path looks like that of a test.
fn looks_like_a_test(path: &str) -> bool {
    path.split(['/', '.', '_', '-']).any(|part| ["test", "tests", "spec", "specs", "__tests__"].contains(&part.to_lowercase().as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_known_by_their_names() {
        for (path, expected) in
            [("tests/a.py", true), ("src/a_test.go", true), ("a.spec.ts", true), ("src/latest.py", false), ("contest/a.py", false)]
        {
            assert_eq!(looks_like_a_test(path), expected, "{path}");
        }
    }

    #[test]
    fn only_a_short_diff_is_shown() {
        let file = ChangedFile { path: "a".to_owned(), did: "created".to_owned(), added: 2, removed: 0, diff: "+x\n+y\n".to_owned() };
        for (most_lines, expected) in [(1, "- a (created): +2 -0\n"), (2, "- a (created): +2 -0\n> +x\n> +y\n")] {
            let mut draft = Draft::default();
            file.write(most_lines, &mut draft);
            assert_eq!(draft.into_text(1_000), expected);
        }
    }
}
