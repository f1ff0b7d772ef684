//! Conflicts of a merge: paths that two sides changed in ways that cannot be merged.

use std::path::PathBuf;

use aime_progress_management::ConflictKind;

use crate::{Commit, WorkTree, WorkTreeError, tree::paths};

/// Names of the two sides in the lines around a conflict, before a commit's id. `git` reads such a name as `git describe` prints it, and only its
/// end counts.
const NAMES: [&str; 2] = ["working-folder-0-g", "this-task-0-g"];
/// Beginnings of these lines. Only markers with the names count: a file may show others, such as a guide to git.
const MARKS: [&str; 2] = ["<<<<<<< working-folder-0-g", ">>>>>>> this-task-0-g"];
/// Lines that replace them in hunks.
const SIDES: [&str; 2] = ["<<<<<<< in the working folder", ">>>>>>> by this task"];
/// Number of lines shown before and after a conflict.
const AROUND: usize = 3;
/// Maximum bytes of the hunks of a file.
const MAX_BYTES: usize = 64 * 1024;

/// A path that two sides changed in ways that cannot be merged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileConflict {
    /// Path relative to the folder.
    pub path: String,
    /// Kind of the conflict.
    pub kind: ConflictKind,
    /// Both versions of each conflict between markers, with the lines around them; empty if the file conflicts as a whole.
    pub hunks: String,
    /// Path of a copy of the private folder's version, if the folder has another one.
    pub own: Option<PathBuf>,
}

/// Versions of a path: the common one, ours and theirs. Each is a mode.
type Modes = [Option<String>; 3];

/// Returns the kind of a conflict by its versions, if they do not leave open whether it is one of text.
fn kind_of(modes: &Modes) -> Option<ConflictKind> {
    let [common, ours, theirs] = modes;
    let is_link = |mode: &Option<String>| mode.as_deref() == Some("120000");
    match (ours, theirs) {
        _ if is_link(ours) || is_link(theirs) => Some(ConflictKind::Symlink),
        (Some(_), Some(_)) => None,
        (None, None) => Some(ConflictKind::Place),
        _ if common.is_some() => Some(ConflictKind::DeleteEdit),
        _ => Some(ConflictKind::Place),
    }
}

impl WorkTree {
    /// Merges two commits. Returns the merged tree, which contains conflict markers if there are conflicts.
    pub(crate) async fn merge_trees(&self, ours: &Commit, theirs: &Commit) -> Result<(String, Vec<FileConflict>), WorkTreeError> {
        let [ours, theirs] = [(NAMES[0], ours), (NAMES[1], theirs)].map(|(name, commit)| format!("{name}{}", commit.as_str()));
        let merge = ["merge-tree", "--write-tree", "-z", "--no-messages", &ours, &theirs];
        let output = self.git.run(&merge, Vec::new()).await?;
        if !matches!(output.code, 0 | 1) {
            return Err(output.refused());
        }
        let (has_conflicts, mut parts) = (output.code == 1, paths(&output.stdout).map(|part| String::from_utf8_lossy(part).into_owned()));
        let tree = parts.next().unwrap_or_default();
        let found = listed(parts);
        if has_conflicts && found.is_empty() {
            return Err(output.refused());
        }
        let mut conflicts = Vec::new();
        for (path, modes) in found {
            let known = kind_of(&modes);
            let hunks = if known.is_none() { self.hunks_at(&tree, &path).await? } else { String::new() };
            let kind = known.unwrap_or(if hunks.is_empty() { ConflictKind::Binary } else { ConflictKind::Text });
            conflicts.push(FileConflict { path, kind, hunks, own: None });
        }
        Ok((tree, conflicts))
    }

    /// Returns the hunks of a path in a tree, or in a commit; empty if the path is not there. `git` puts markers only into text.
    async fn hunks_at(&self, tree: &str, path: &str) -> Result<String, WorkTreeError> {
        match self.git.run(&["cat-file", "blob", &format!("{tree}:{path}")], Vec::new()).await {
            Ok(text) if text.code == 0 => Ok(hunks(&String::from_utf8_lossy(&text.stdout))),
            Ok(_) | Err(WorkTreeError::TooMuch { .. }) => Ok(String::new()),
            Err(error) => Err(error),
        }
    }

    /// Returns conflicts with the hunks that a later commit still contains. Those whose markers were removed have none.
    pub(crate) async fn remaining_conflicts(
        &self,
        mut conflicts: Vec<FileConflict>,
        commit: &Commit,
    ) -> Result<Vec<FileConflict>, WorkTreeError> {
        for conflict in conflicts.iter_mut().filter(|conflict| conflict.kind == ConflictKind::Text) {
            conflict.hunks = self.hunks_at(commit.as_str(), &conflict.path).await?;
        }
        Ok(conflicts)
    }
}

/// Reads the list of conflicts of `git merge-tree`: `MODE OBJECT STAGE<tab>PATH`, where stages 1, 2 and 3 are the common version, ours and
/// theirs.
fn listed(entries: impl Iterator<Item = String>) -> Vec<(String, Modes)> {
    let mut found: Vec<(String, Modes)> = Vec::new();
    for entry in entries {
        let Some((about, path)) = entry.split_once('\t') else { continue };
        let mut words = about.split(' ');
        let (mode, stage) = (words.next(), words.nth(1).and_then(|stage| stage.parse::<usize>().ok()));
        if found.last().is_none_or(|(last, _)| last != path) {
            found.push((path.to_owned(), Modes::default()));
        }
        if let (Some((_, modes)), Some(stage)) = (found.last_mut(), stage)
            && let Some(place) = stage.checked_sub(1).and_then(|stage| modes.get_mut(stage))
        {
            *place = mode.map(str::to_owned);
        }
    }
    found
}

/// Returns the conflicts in a text with markers, each with its line number and the lines around it; empty if there are none.
pub(crate) fn hunks(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let (mut out, mut at, mut left_out) = (String::new(), 0, 0_usize);
    let [open, close] = MARKS;
    let find = |from: usize, mark: &str| lines.iter().skip(from).position(|line| line.starts_with(mark)).map(|found| from + found);
    while let Some(begin) = find(at, open) {
        let Some(end) = find(begin, close) else { break };
        at = end + 1;
        if out.len() > MAX_BYTES {
            left_out += 1;
            continue;
        }
        out.push_str(&format!("@@ line {} @@\n", begin + 1));
        let shown = begin.saturating_sub(AROUND)..(end + 1 + AROUND).min(lines.len());
        for (number, line) in lines.iter().enumerate().take(shown.end).skip(shown.start) {
            out.push_str(if number == begin {
                SIDES[0]
            } else if number == end {
                SIDES[1]
            } else {
                line
            });
            out.push('\n');
        }
    }
    if out.len() > MAX_BYTES {
        out.truncate(out.floor_char_boundary(MAX_BYTES));
        out.push_str("\n[the rest of this conflict is left out]\n");
    }
    if left_out > 0 {
        out.push_str(&format!("[{left_out} more conflicts in this file are left out]\n"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_follow_from_the_versions() {
        use ConflictKind::{DeleteEdit, Place, Symlink};
        let (file, link) = (Some("100644"), Some("120000"));
        for (modes, expected) in [
            ([file, file, file], None),
            ([None, file, file], None),
            ([file, link, file], Some(Symlink)),
            ([file, file, link], Some(Symlink)),
            ([link, None, link], Some(Symlink)),
            ([file, None, file], Some(DeleteEdit)),
            ([file, file, None], Some(DeleteEdit)),
            ([None, file, None], Some(Place)),
            ([file, None, None], Some(Place)),
        ] {
            assert_eq!(kind_of(&modes.map(|mode| mode.map(str::to_owned))), expected, "{modes:?}");
        }
    }

    #[test]
    fn hunks_show_both_versions_and_the_lines_around() {
        let text = "1\n2\n3\n4\n<<<<<<< working-folder-0-gabc\nours\n=======\ntheirs\n>>>>>>> this-task-0-gdef\n5\n6\n7\n8\n";
        let expected = "@@ line 5 @@\n2\n3\n4\n<<<<<<< in the working folder\nours\n=======\ntheirs\n>>>>>>> by this task\n5\n6\n7\n";
        assert_eq!(hunks(text), expected);
        for no_conflict in [
            "",
            "one\ntwo\n",
            "<<<<<<< working-folder-0-gabc\nonly an opening\n",
            ">>>>>>> this-task-0-gdef\nonly a closing\n",
            "<<<<<<< HEAD\nan example\n=======\nof a guide\n>>>>>>> feature\n",
        ] {
            assert_eq!(hunks(no_conflict), "");
        }
    }

    #[test]
    fn hunks_are_bounded() {
        let one = format!("<<<<<<< working-folder-0-ga\n{}\n=======\nx\n>>>>>>> this-task-0-gb\n", "é".repeat(20_000));
        let found = hunks(&one.repeat(4));
        assert!(found.len() < MAX_BYTES + 200, "{}", found.len());
        assert!(found.ends_with("[3 more conflicts in this file are left out]\n"), "{}", found.len());
    }

    #[test]
    fn versions_are_read_by_path() {
        let entries = ["100644 aa 1\tx y", "100644 bb 2\tx y", "120000 cc 3\tx y", "100755 dd 3\tz"].map(str::to_owned);
        let (file, link, script) = (Some("100644".to_owned()), Some("120000".to_owned()), Some("100755".to_owned()));
        let expected = [("x y".to_owned(), [file.clone(), file, link]), ("z".to_owned(), [None, None, script])];
        assert_eq!(listed(entries.into_iter()), expected);
    }
}
