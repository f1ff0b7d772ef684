//! Parses sentences that state a fact about a file, so that no model has to judge them.

use aime_progress_management::{FileCheck, FileFact};

/// Parses a sentence such as `report.md exists`, `` the file `out/a.txt` is created ``, `notes.md contains "done"`.
///
/// Returns `None` for a sentence that is not wholly understood. A model or a person then judges the criterion.
#[must_use]
pub(crate) fn read_criterion(text: &str) -> Option<FileCheck> {
    let text = text.trim().trim_end_matches('.');
    let words: Vec<&str> = text.split_whitespace().collect();
    let rest = match words.as_slice() {
        [first, second, rest @ ..] if is("the", first) && is_noun(second) => rest,
        [first, rest @ ..] if is_noun(first) || is("the", first) => rest,
        all => all,
    };
    let (path, rest) = rest.split_first()?;
    let path = path_of(path)?;
    let value = rest.join(" ").to_lowercase();
    match value.as_str() {
        "exists" | "exist" | "is created" | "was created" | "has been created" | "is present" | "is written" | "has been written"
        | "file exists" | "is saved" | "must exist" | "should exist" => Some(FileCheck { path, fact: FileFact::Exists }),
        "does not exist" | "is deleted" | "is removed" | "has been deleted" | "has been removed" => {
            Some(FileCheck { path, fact: FileFact::Absent })
        }
        "is unchanged"
        | "stays unchanged"
        | "is not changed"
        | "was not changed"
        | "has not been changed"
        | "has not changed"
        | "is not modified"
        | "was not modified"
        | "has not been modified" => Some(FileCheck { path, fact: FileFact::Unchanged }),
        _ => {
            let verb = rest.first()?;
            let quoted = text.split_once(verb)?.1.trim();
            let text = quoted_text(quoted)?;
            matches!(*verb, "contains" | "includes").then_some(FileCheck { path, fact: FileFact::Contains(text) })
        }
    }
}

/// Returns the words of a criterion that are clearly paths, each once.
pub(crate) fn paths_named(criterion: &str) -> Vec<String> {
    let mut paths: Vec<String> = Vec::new();
    for path in criterion.split_whitespace().filter_map(|word| path_of(word.trim_end_matches([',', '.', ':', ';']))) {
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    paths
}

fn is(word: &str, text: &str) -> bool {
    text.eq_ignore_ascii_case(word)
}

fn is_noun(word: &str) -> bool {
    ["file", "folder", "directory"].iter().any(|noun| is(noun, word))
}

/// Returns a word that is clearly a path: it is quoted or has a dot or slash inside, and is no pattern and no
/// placeholder.
fn path_of(word: &str) -> Option<String> {
    let bare = word.trim_matches(['`', '"', '\'', ',']);
    let inside = bare.trim_matches(['.', '/']);
    let clear = bare.len() < word.len() || inside.contains(['.', '/']);
    let plain = !bare.is_empty() && !bare.contains(['*', '?', '<', '>', '{', '}', '[', ']', '(', ')', '@', '$']);
    (clear && plain).then(|| bare.to_owned())
}

/// Returns the quoted text if the whole rest is one quoted string.
fn quoted_text(rest: &str) -> Option<String> {
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\'' | '`'))?;
    let inside = rest.strip_prefix(quote)?.strip_suffix(quote)?;
    (!inside.is_empty() && !inside.contains(quote)).then(|| inside.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_paths_of_a_sentence_are_found() {
        for (criterion, paths) in [
            ("sea.txt holds a short poem about the sea.", vec!["sea.txt"]),
            ("The totals of `a.csv` and data/b.csv, and of a.csv, are in out.md.", vec!["a.csv", "data/b.csv", "out.md"]),
            ("every *.rs file compiles, e.g. not this", vec!["e.g"]),
            ("the poem is good", vec![]),
        ] {
            assert_eq!(paths_named(criterion), paths, "{criterion}");
        }
    }

    #[test]
    fn sentences_about_files_are_understood() {
        let about = |path: &str, fact| Some(FileCheck { path: path.to_owned(), fact });
        let exists = |path: &str| about(path, FileFact::Exists);
        let cases = [
            ("report.md exists", exists("report.md")),
            ("The file `out/a.txt` is created.", exists("out/a.txt")),
            ("file hello.txt exists", exists("hello.txt")),
            ("`go.mod` has not been changed.", about("go.mod", FileFact::Unchanged)),
            ("old.log is removed", about("old.log", FileFact::Absent)),
            ("a.txt contains \"hello world\"", about("a.txt", FileFact::Contains("hello world".to_owned()))),
            ("the file notes.md includes 'done'", about("notes.md", FileFact::Contains("done".to_owned()))),
        ];
        for (text, expected) in cases {
            assert_eq!(read_criterion(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_not_wholly_understood_is_left_alone() {
        for text in [
            "report.md lists every match",
            "the haiku is beautiful",
            "*.md exists",
            "tests pass",
            "",
            "report exists",
            "a.txt contains the sum",
            "e.g. something exists",
            "a.txt contains \"x\" and 'y'",
        ] {
            assert_eq!(read_criterion(text), None, "{text}");
        }
    }
}
