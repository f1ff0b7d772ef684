//! A branch in the repository of a folder, built from files that are given one commit after the other.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use crate::{
    WorkTreeError,
    git::Git,
    tree::{as_path, line, made, of, paths},
};

/// Name and address of who commits.
const WHO: &str = "aime <aime@localhost>";

/// Commits on top of the current one of a repository. The branch, the index and the files of its user stay unchanged.
#[derive(Debug)]
pub struct NewBranch {
    git: Git,
    /// Path of the folder in the repository; empty, or with a slash at its end.
    prefix: Vec<u8>,
    /// Last commit; `None` in a repository without one.
    tip: Option<String>,
    commits: usize,
    _place: tempfile::TempDir,
}

/// Content of a path in a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// A file.
    File {
        /// Bytes, which no filter of the repository changes.
        bytes: Vec<u8>,
        /// True if it can be executed.
        is_executable: bool,
    },
    /// A symbolic link with its target.
    Link(PathBuf),
}

impl NewBranch {
    /// Begins at the current commit of the repository that `folder` is in; `None` if it is in none. `place` is a folder for a temporary index,
    /// `path` the `PATH` on which `git` is found.
    ///
    /// # Errors
    /// [`WorkTreeError`] if `git` cannot be run, or cannot read the commit.
    pub async fn begin(folder: &Path, place: &Path, path: OsString) -> Result<Option<Self>, WorkTreeError> {
        let what = "look for the repository";
        made(place).await?;
        let place = tempfile::tempdir_in(place).map_err(of(place))?;
        let plain = Git { repository: place.path().to_owned(), folder: folder.to_owned(), path, index: None };
        let ask = async |option: &str| plain.run_plain(what, ["rev-parse".into(), option.into()].into(), Vec::new()).await;
        let (repository, outermost, prefix) =
            (ask("--absolute-git-dir").await?, ask("--show-toplevel").await?, ask("--show-prefix").await?);
        if [repository.code, outermost.code, prefix.code].iter().any(|code| *code != 0) {
            return Ok(None);
        }
        let cut = |bytes: &[u8]| bytes.strip_suffix(b"\n").unwrap_or(bytes).to_vec();
        let (repository, outermost) = (cut(&repository.stdout), cut(&outermost.stdout));
        let index = Some(place.path().join("index"));
        let git = Git { repository: as_path(&repository).to_owned(), folder: as_path(&outermost).to_owned(), index, ..plain };
        let head = git.run(what, &["rev-parse", "--quiet", "--verify", "HEAD^{commit}"], Vec::new()).await?;
        let tip = (head.code == 0).then(|| line(head.stdout));
        git.must("read the current commit", &["read-tree", tip.as_deref().unwrap_or("--empty")]).await?;
        Ok(Some(Self { git, prefix: cut(&prefix.stdout), tip, commits: 0, _place: place }))
    }

    /// Adds a commit with these contents, of which `None` removes a path. Leaves out paths that the repository ignores, and those in submodules.
    /// Returns false if nothing differs from the commit before. `seconds` is the time since the Unix epoch.
    ///
    /// # Errors
    /// [`WorkTreeError`].
    pub async fn commit(&mut self, message: &str, contents: &[(PathBuf, Option<Content>)], seconds: i64) -> Result<bool, WorkTreeError> {
        let what = "commit the work of a task";
        let full = |path: &Path| [self.prefix.as_slice(), path.as_os_str().as_encoded_bytes()].concat();
        let all: Vec<(Vec<u8>, &Option<Content>)> = contents.iter().map(|(path, content)| (full(path), content)).collect();
        let ignored =
            self.git.run(what, &["check-ignore", "-z", "--stdin"], all.iter().flat_map(|(path, _)| [path, &b"\0"[..]].concat()).collect());
        let ignored = ignored.await?.stdout;
        let staged = self.git.must(what, &["ls-files", "--stage", "-z"]).await?;
        let submodules: Vec<&[u8]> = paths(&staged)
            .filter(|entry| entry.starts_with(b"160000 "))
            .filter_map(|entry| entry.splitn(2, |byte| *byte == b'\t').nth(1))
            .collect();
        let mut input = Vec::new();
        for (path, content) in &all {
            let in_submodule = submodules
                .iter()
                .any(|submodule| path.strip_prefix(*submodule).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/")));
            if in_submodule || paths(&ignored).any(|ignored| ignored == path) {
                continue;
            }
            let (mode, bytes) = match content {
                Some(Content::File { bytes, is_executable: true }) => ("100755", bytes.clone()),
                Some(Content::File { bytes, is_executable: false }) => ("100644", bytes.clone()),
                Some(Content::Link(target)) => ("120000", target.as_os_str().as_encoded_bytes().to_vec()),
                None => ("0", Vec::new()),
            };
            let blob = self.git.must_read(what, &["hash-object", "-w", "--stdin"], bytes).await?;
            input.extend_from_slice(format!("{mode} {}\t", line(blob)).as_bytes());
            input.extend_from_slice(path);
            input.push(0);
        }
        self.git.must_read(what, &["update-index", "--add", "--replace", "-z", "--index-info"], input).await?;
        let tree = line(self.git.must(what, &["write-tree"]).await?);
        if let Some(tip) = &self.tip {
            let before = line(self.git.must(what, &["rev-parse", "--verify", &format!("{tip}^{{tree}}")]).await?);
            if before == tree {
                return Ok(false);
            }
        }
        let parent = self.tip.as_ref().map(|tip| format!("parent {tip}\n")).unwrap_or_default();
        let text = format!("tree {tree}\n{parent}author {WHO} {seconds} +0000\ncommitter {WHO} {seconds} +0000\n\n{}\n", message.trim());
        let commit = self.git.must_read(what, &["hash-object", "-t", "commit", "-w", "--stdin"], text.into_bytes()).await?;
        self.tip = Some(line(commit));
        self.commits += 1;
        Ok(true)
    }

    /// Creates the branch, with a number behind its name if there is one of that name. Returns its name and the number of its commits; `None` if
    /// nothing was committed.
    ///
    /// # Errors
    /// [`WorkTreeError`].
    pub async fn create(self, name: &str) -> Result<Option<(String, usize)>, WorkTreeError> {
        let what = "create the branch";
        let Some(tip) = self.tip.filter(|_| self.commits > 0) else { return Ok(None) };
        let mut number = 1;
        loop {
            let name = if number == 1 { name.to_owned() } else { format!("{name}-{number}") };
            let reference = format!("refs/heads/{name}");
            if self.git.run(what, &["rev-parse", "--quiet", "--verify", &reference], Vec::new()).await?.code != 0 {
                self.git.must(what, &["update-ref", &reference, &tip, ""]).await?;
                return Ok(Some((name, self.commits)));
            }
            number += 1;
        }
    }
}
