//! File changes of tools, in colour.

use aime_progress_management::{FileChange, FileChangeKind};

use crate::{
    i18n::word_name,
    output::{CYAN, DIM, GREEN, RED, YELLOW, plain},
};

/// Describes a change of a file with its lines.
pub(crate) fn describe_file_change(change: &FileChange) -> String {
    let FileChange { task, path, did, added, removed, diff, .. } = change;
    let task = task.as_ref().map(|task| format!("{task}: ")).unwrap_or_default();
    let color = match did {
        FileChangeKind::Created => GREEN,
        FileChangeKind::Deleted => RED,
        _ => YELLOW,
    };
    let counts = if *did == FileChangeKind::NotWatched { String::new() } else { format!(" {DIM}+{added} -{removed}{DIM:#}") };
    let mut lines = vec![format!("{DIM}{task}{DIM:#}{color}{}{color:#} {}{counts}", word_name("did", did.name()), plain(path))];
    // The number of lines says enough of a file that is new or deleted.
    let shown = if *did == FileChangeKind::Changed { diff.as_str() } else { "" };
    lines.extend(shown.lines().map(|line| {
        let color = match line.chars().next() {
            Some('+') => GREEN,
            Some('-') => RED,
            Some('@') => CYAN,
            _ => DIM,
        };
        format!("    {color}{}{color:#}", plain(line))
    }));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(did: FileChangeKind, diff: &str) -> FileChange {
        FileChange {
            task: "edit".parse().ok(),
            tool: "edit_file".into(),
            path: "a\u{1b}[2J.txt".into(),
            did,
            added: 1,
            removed: 2,
            diff: diff.into(),
        }
    }

    // Requirement: 8.25
    #[test]
    fn each_line_has_its_colour_and_none_moves_the_cursor() {
        let text = describe_file_change(&change(FileChangeKind::Changed, "@@ -1,3 +1,2 @@\n a\n-b\u{7}\n-c\n+d"));
        insta::assert_snapshot!(text.replace('\u{1b}', "<"));
        assert!(!text.replace("\u{1b}[", "").contains('\u{1b}'), "nothing but colours: {text:?}");
        for did in [FileChangeKind::Created, FileChangeKind::Deleted] {
            assert_eq!(describe_file_change(&change(did, "-a")).lines().count(), 1, "{did:?}");
        }
        let text = describe_file_change(&change(FileChangeKind::NotWatched, ""));
        assert!(text.ends_with(".txt"), "nothing changed, so there are no counts: {text:?}");
    }
}
