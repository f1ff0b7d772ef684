//! The path of a private folder in the texts that work in it wrote.

use std::{ffi::OsString, path::Path};

use super::PrivateFolder;
use crate::{
    Commit, WorkTreeError,
    tree::{as_path, line, paths},
};

/// Maximum bytes of a text in which the path is replaced.
const MAX_BYTES: u64 = 1024 * 1024;

impl PrivateFolder {
    /// Returns the state `now`, based on `base` and made by the author `by`, with the path of the shared folder in the place of this folder's
    /// path in the UTF-8 texts that differ from the state `ours` of the shared folder: after its merge, this folder goes, and its path with it.
    pub(super) async fn with_shared_path(
        &self,
        (shared, ours): (&Path, &Commit),
        base: Option<&Commit>,
        now: &Commit,
        by: &str,
    ) -> Result<Commit, WorkTreeError> {
        let (Some(own), Some(shared), Some(base)) = (self.path().to_str(), shared.to_str(), base) else { return Ok(now.clone()) };
        let git = &self.tree.git;
        let list = ["diff-tree", "-r", "-z", "--no-renames", "--name-only", "-S", own, ours.as_str(), now.as_str()];
        let named = git.run_ok(&list).await?;
        if named.is_empty() {
            return Ok(now.clone());
        }
        let mut entries = Vec::new();
        for changed in self.tree.changed(ours, now).await? {
            let is_named = paths(&named).any(|path| as_path(path) == changed.path);
            let Some(blob) = changed.after.filter(|after| is_named && !after.is_link()) else { continue };
            if self.tree.sizes(&[&blob]).await?.iter().any(|size| *size > MAX_BYTES) {
                continue;
            }
            let Ok(text) = String::from_utf8(self.tree.content(&blob).await?) else { continue };
            if let Some(replaced) = replaced(&text, own, shared) {
                let id = line(git.run_ok_with_input(&["hash-object", "-w", "--stdin"], replaced.into_bytes()).await?);
                entries.extend_from_slice(format!("{} {id}\t", blob.mode).as_bytes());
                entries.extend_from_slice(OsString::from(changed.path).as_encoded_bytes());
                entries.push(0);
            }
        }
        if entries.is_empty() {
            return Ok(now.clone());
        }
        // The files themselves stay as they are: the merge replaces them.
        git.run_ok_with_input(&["update-index", "-z", "--index-info"], entries).await?;
        let tree = line(git.run_ok(&["write-tree"]).await?);
        if self.tree.tree_of(base).await? == tree { Ok(base.clone()) } else { self.tree.commit(&tree, &[base], by).await }
    }
}

/// Replaces a path in a text wherever no longer name begins with it. Returns `None` if it is not there.
fn replaced(text: &str, own: &str, shared: &str) -> Option<String> {
    let (mut out, mut rest, mut is_found) = (String::new(), text, false);
    while let Some((before, after)) = rest.split_once(own) {
        let is_longer = after.starts_with(|next: char| next.is_alphanumeric() || matches!(next, '_' | '-' | '.'));
        // A sentence may end behind a path.
        let is_end = after.strip_prefix('.').is_some_and(|after| !after.starts_with(char::is_alphanumeric));
        let is_whole = !is_longer || is_end;
        out.push_str(before);
        out.push_str(if is_whole { shared } else { own });
        (rest, is_found) = (after, is_found || is_whole);
    }
    is_found.then(|| out + rest)
}

#[cfg(test)]
mod tests {
    use super::replaced;

    #[test]
    fn a_path_is_replaced_as_a_whole_name() {
        let cases = [
            ("cd /w/p/t/folder && ls\n", Some("cd /w && ls\n")),
            ("a=/w/p/t/folder/a.txt:/w/p/t/folder", Some("a=/w/a.txt:/w")),
            ("It lies in /w/p/t/folder.", Some("It lies in /w.")),
            ("/w/p/t/folder.old /w/p/t/folder2 /w/p/t/folder-x", None),
            ("/w/p/t/folder2 \"/w/p/t/folder\"", Some("/w/p/t/folder2 \"/w\"")),
            ("nothing of it", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(replaced(text, "/w/p/t/folder", "/w").as_deref(), expected, "{text}");
        }
    }
}
