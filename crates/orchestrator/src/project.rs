//! A project's description of itself: its `AGENTS.md`.

use aime_sandbox::{ConfinedFolder, FileError};

/// Name of the file.
const FILE: &str = "AGENTS.md";
/// Default maximum number of its characters in a prompt: some 5,000 tokens.
pub(crate) const MAX_CHARS: usize = 20_000;

/// The part of an `AGENTS.md` that prompts contain.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProjectInstructions {
    /// The first lines of the file. If lines are left out, the last line says so.
    pub text: String,
    /// Number of lines that are left out.
    pub left_out: usize,
}

impl ProjectInstructions {
    /// Reads the `AGENTS.md` of a folder; returns an empty text if there is none. Keeps as many whole lines as fit into
    /// `most` characters. Replaces bytes that are not UTF-8.
    ///
    /// # Errors
    ///
    /// [`FileError`], for example for a link that leads out of the folder. Such a link is not followed, because the
    /// text becomes part of every prompt.
    pub fn read(folder: &ConfinedFolder, most: usize) -> Result<Self, FileError> {
        match folder.read(FILE) {
            Ok(bytes) => Ok(Self::of(&String::from_utf8_lossy(&bytes), most)),
            Err(FileError::NotFound { .. }) => Ok(Self::default()),
            Err(error) => Err(error),
        }
    }

    fn of(text: &str, most: usize) -> Self {
        let text = text.trim_end();
        let (mut chars, mut bytes, mut lines) = (0, 0, 0);
        for line in text.split_inclusive('\n') {
            chars += line.chars().count();
            if chars > most {
                let left_out = text.lines().count() - lines;
                let kept = text.get(..bytes).unwrap_or_default();
                return Self {
                    text: format!("{kept}({left_out} more lines of {FILE} are left out here: read the file where they matter)"),
                    left_out,
                };
            }
            (bytes, lines) = (bytes + line.len(), lines + 1);
        }
        Self { text: text.to_owned(), left_out: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::ProjectInstructions;

    #[test]
    fn whole_lines_are_kept_and_the_rest_is_told() {
        let note = |left_out| format!("({left_out} more lines of AGENTS.md are left out here: read the file where they matter)");
        let cases = [
            ("", 0, String::new(), 0),
            ("one\ntwo\n", 7, "one\ntwo".to_owned(), 0),
            ("one\ntwo\nthree", 12, format!("one\ntwo\n{}", note(1)), 1),
            ("一二三\n四五\n\n六", 7, format!("一二三\n四五\n{}", note(2)), 2),
            ("a line that is longer than all that may stand here", 10, note(1), 1),
        ];
        for (text, most, kept, left_out) in cases {
            assert_eq!(ProjectInstructions::of(text, most), ProjectInstructions { text: kept, left_out }, "{text:?}");
        }
    }
}
