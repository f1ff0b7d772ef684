//! Own versions of the files in conflicts: the versions of the work that a merge does not put into the shared folder.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use aime_progress_management::ConflictKind;

use crate::{Blob, Commit, FileConflict, WorkTree, WorkTreeError};

/// Own versions by their names: the path of the file, with a number if a later conflict has another version of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct OwnVersions(BTreeMap<PathBuf, Blob>);

/// Changes of own versions, or of other paths in a tree; `None` removes a path.
pub(crate) type Entries = Vec<(PathBuf, Option<Blob>)>;

impl OwnVersions {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Keeps the work's version of a path. An earlier version with another content gets a number.
    fn keep(&mut self, path: &str, version: Blob) {
        let name = PathBuf::from(path);
        if let Some(older) = self.0.insert(name, version.clone()).filter(|older| *older != version) {
            let free = (1..).map(|number: u32| PathBuf::from(format!("{path}.{number}"))).find(|name| !self.0.contains_key(name));
            self.0.extend(free.map(|free| (free, older)));
        }
    }

    /// Removes what a resolved conflict no longer needs: the versions of a text file, where both versions were seen, and the version that was
    /// chosen. Returns whether the path has an own version still.
    fn settle(&mut self, path: &str, kind: ConflictKind, chosen: Option<&Blob>) -> bool {
        let name = Path::new(path);
        if kind == ConflictKind::Text {
            let older = format!("{path}.");
            let is_number = |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
            self.0.retain(|known, _| !known.to_str().and_then(|known| known.strip_prefix(&older)).is_some_and(is_number));
        }
        if kind == ConflictKind::Text || self.0.get(name) == chosen {
            self.0.remove(name);
        }
        self.0.contains_key(name)
    }

    /// Returns the changes from an earlier set of versions.
    pub(crate) fn since(&self, before: &Self) -> Entries {
        let removed = before.0.keys().filter(|name| !self.0.contains_key(*name)).map(|name| (name.clone(), None));
        removed.chain(self.0.iter().map(|(name, blob)| (name.clone(), Some(blob.clone())))).collect()
    }
}

impl FromIterator<(PathBuf, Blob)> for OwnVersions {
    fn from_iter<I: IntoIterator<Item = (PathBuf, Blob)>>(all: I) -> Self {
        Self(all.into_iter().collect())
    }
}

impl WorkTree {
    /// Keeps the versions that the work has of the files in conflicts. `place` is the folder of the own versions. Returns the conflicts with
    /// these versions; a path that the work has deleted has none.
    pub(crate) async fn keep_own(
        &self,
        own: &mut OwnVersions,
        work: &Commit,
        conflicts: Vec<FileConflict>,
        place: &Path,
    ) -> Result<Vec<FileConflict>, WorkTreeError> {
        let mut found = Vec::new();
        for conflict in conflicts {
            let version = self.blob(work.as_str(), Path::new(&conflict.path)).await?;
            let kept = version.is_some().then(|| place.join(&conflict.path));
            if let Some(version) = version {
                own.keep(&conflict.path, version);
            }
            found.push(FileConflict { own: kept, ..conflict });
        }
        Ok(found)
    }

    /// Settles conflicts that are resolved in the merged `tree`. Returns them; only those that were resolved in favour of another version have
    /// an own version still.
    pub(crate) async fn settle_own(
        &self,
        own: &mut OwnVersions,
        tree: &str,
        open: Vec<FileConflict>,
    ) -> Result<Vec<FileConflict>, WorkTreeError> {
        let mut resolved = Vec::new();
        for conflict in open {
            let chosen = self.blob(tree, Path::new(&conflict.path)).await?;
            let is_kept = own.settle(&conflict.path, conflict.kind, chosen.as_ref());
            resolved.push(FileConflict { own: conflict.own.filter(|_| is_kept), hunks: String::new(), ..conflict });
        }
        Ok(resolved)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blob(id: &str) -> Blob {
        Blob { mode: "100644".to_owned(), id: id.to_owned() }
    }

    fn versions(all: &[(&str, &str)]) -> OwnVersions {
        all.iter().map(|(name, id)| (PathBuf::from(name), blob(id))).collect()
    }

    #[test]
    fn an_older_version_of_another_content_gets_a_number() {
        let mut own = OwnVersions::default();
        for (id, expected) in [
            ("a", &[("x", "a")][..]),
            ("a", &[("x", "a")]),
            ("b", &[("x", "b"), ("x.1", "a")]),
            ("c", &[("x", "c"), ("x.1", "a"), ("x.2", "b")]),
        ] {
            own.keep("x", blob(id));
            assert_eq!(own, versions(expected));
        }
    }

    #[test]
    fn only_a_whole_file_that_lost_stays() {
        let all = [("x", "a"), ("x.1", "b"), ("x.md", "c")];
        for (kind, chosen, expected) in [
            (ConflictKind::Binary, Some("z"), &all[..]),
            (ConflictKind::DeleteEdit, None, &all[..]),
            (ConflictKind::Binary, Some("a"), &all[1..]),
            (ConflictKind::Text, Some("z"), &all[2..]),
        ] {
            let mut own = versions(&all);
            let is_kept = own.settle("x", kind, chosen.map(blob).as_ref());
            assert_eq!((is_kept, own.clone()), (expected.len() == 3, versions(expected)), "{kind:?}");
            let removed = own.since(&versions(&all)).iter().filter(|(_, blob)| blob.is_none()).count();
            assert_eq!(removed, 3 - expected.len());
        }
        assert!(!OwnVersions::default().settle("x", ConflictKind::Binary, None), "a path that the work deleted has no version");
    }
}
