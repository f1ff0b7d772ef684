//! A branch in the repository of a folder, built from files that are given one commit after the other.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    io::{Read as _, Write as _},
    path::{Path, PathBuf},
};

use aime_messages::{Describe, Message, message};
use aime_sandbox::{ConfinedFolder, FileError};
use sha2::{Digest as _, Sha256};
use tokio::{fs, task::spawn_blocking};

use crate::{
    WorkTreeError,
    git::Git,
    tree::{as_path, create_folder, line, of, paths},
};

/// Name and address of who commits.
const WHO: &str = "aime <aime@localhost>";
/// Maximum size in bytes of a file that is not stored with Git LFS. Servers refuse larger ones.
const MAX_FILE_BYTES: u64 = 100 * 1024 * 1024;
/// Filter of Git LFS.
const LFS: &str = "lfs";
/// Beginning of a pointer of Git LFS.
const POINTER: &[u8] = b"version https://git-lfs.github.com/spec/v1\n";

/// Commits on top of the current one of a repository. The branch, the index and the files of its user stay unchanged.
#[derive(Debug)]
pub struct NewBranch {
    git: Git,
    /// Path of the folder in the repository; empty, or with a slash at its end.
    prefix: Vec<u8>,
    /// Last commit; `None` in a repository without one.
    tip: Option<String>,
    commits: usize,
    folder: ConfinedFolder,
    place: tempfile::TempDir,
}

/// Content of a path in a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// A file.
    File {
        /// Bytes as they are in the folder.
        bytes: Vec<u8>,
        /// True if it can be executed.
        is_executable: bool,
    },
    /// The file that is in the folder now.
    InFolder {
        /// True if it can be executed.
        is_executable: bool,
    },
    /// A symbolic link with its target.
    Link(PathBuf),
}

/// Reason why a path is not in a commit as it is in the folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OmissionReason {
    /// The repository ignores it.
    Ignored,
    /// It is in a submodule.
    Submodule,
    /// It is too large for a repository without Git LFS.
    TooLarge,
    /// The repository passes it through a filter, which is a program.
    Filter(String),
}

impl Describe for OmissionReason {
    fn describe(&self) -> Message {
        match self {
            Self::Ignored => message!("commits-ignored"),
            Self::Submodule => message!("commits-submodule"),
            Self::TooLarge => message!("commits-too-large"),
            Self::Filter(filter) => message!("commits-filter", filter),
        }
    }
}

impl NewBranch {
    /// Begins at the current commit of the repository that `folder` is in; `None` if it is in none. `place` is a folder for temporary files,
    /// `path` the `PATH` on which `git` is found.
    ///
    /// # Errors
    /// [`WorkTreeError`] if `git` cannot be run, or cannot read the commit.
    pub async fn begin(folder: &Path, place: &Path, path: OsString) -> Result<Option<Self>, WorkTreeError> {
        create_folder(place).await?;
        let place = tempfile::tempdir_in(place).map_err(of(place))?;
        let plain =
            Git { repository: place.path().to_owned(), folder: folder.to_owned(), path, index: None, user_settings: "/dev/null".into() };
        let ask = async |option: &str| plain.run_plain(["rev-parse".into(), option.into()].into(), Vec::new()).await;
        let (repository, outermost, prefix) =
            (ask("--absolute-git-dir").await?, ask("--show-toplevel").await?, ask("--show-prefix").await?);
        if [repository.code, outermost.code, prefix.code].iter().any(|code| *code != 0) {
            return Ok(None);
        }
        let cut = |bytes: &[u8]| bytes.strip_suffix(b"\n").unwrap_or(bytes).to_vec();
        let (repository, outermost) = (cut(&repository.stdout), cut(&outermost.stdout));
        let index = Some(place.path().join("index"));
        let git = Git { repository: as_path(&repository).to_owned(), folder: as_path(&outermost).to_owned(), index, ..plain };
        let head = git.run(&["rev-parse", "--quiet", "--verify", "HEAD^{commit}"], Vec::new()).await?;
        let tip = (head.code == 0).then(|| line(head.stdout));
        git.run_ok(&["read-tree", tip.as_deref().unwrap_or("--empty")]).await?;
        let folder = ConfinedFolder::open(folder)?;
        Ok(Some(Self { git, prefix: cut(&prefix.stdout), tip, commits: 0, folder, place }))
    }

    /// Adds a commit with these contents, of which `None` removes a path. Git LFS stores the files that the attributes of the repository give to
    /// it. Returns the paths that are left out. Adds no commit if nothing differs from the commit before. `seconds` is the time since the Unix
    /// epoch.
    ///
    /// # Errors
    /// [`WorkTreeError`].
    pub async fn commit(
        &mut self,
        message: &str,
        contents: &[(PathBuf, Option<Content>)],
        seconds: i64,
    ) -> Result<BTreeMap<PathBuf, OmissionReason>, WorkTreeError> {
        let mut left_out = self.unwanted(contents).await?;
        let wanted: Vec<_> = contents.iter().filter(|(path, _)| !left_out.contains_key(path)).collect();
        let filters = self.filters(&wanted).await?;
        let mut input = Vec::new();
        for ((path, content), filter) in wanted.into_iter().zip(filters) {
            match self.stored(path, content.as_ref(), filter).await? {
                Ok((mode, blob)) => {
                    input.extend_from_slice(format!("{mode} {blob}\t").as_bytes());
                    input.extend_from_slice(&self.full(path));
                    input.push(0);
                }
                Err(reason) => drop(left_out.insert(path.clone(), reason)),
            }
        }
        self.git.run_ok_with_input(&["update-index", "--add", "--replace", "-z", "--index-info"], input).await?;
        let tree = line(self.git.run_ok(&["write-tree"]).await?);
        if let Some(tip) = &self.tip {
            let before = line(self.git.run_ok(&["rev-parse", "--verify", &format!("{tip}^{{tree}}")]).await?);
            if before == tree {
                return Ok(left_out);
            }
        }
        let parent = self.tip.as_ref().map(|tip| format!("parent {tip}\n")).unwrap_or_default();
        let text = format!("tree {tree}\n{parent}author {WHO} {seconds} +0000\ncommitter {WHO} {seconds} +0000\n\n{}\n", message.trim());
        let commit = self.git.run_ok_with_input(&["hash-object", "-t", "commit", "-w", "--stdin"], text.into_bytes()).await?;
        self.tip = Some(line(commit));
        self.commits += 1;
        Ok(left_out)
    }

    /// Returns the number of commits.
    #[must_use]
    pub const fn commits(&self) -> usize {
        self.commits
    }

    /// Returns a path as the repository names it.
    fn full(&self, path: &Path) -> Vec<u8> {
        [self.prefix.as_slice(), path.as_os_str().as_encoded_bytes()].concat()
    }

    /// Returns the paths that the repository ignores, and those in submodules.
    async fn unwanted(&self, contents: &[(PathBuf, Option<Content>)]) -> Result<BTreeMap<PathBuf, OmissionReason>, WorkTreeError> {
        let all = contents.iter().flat_map(|(path, _)| [self.full(path), b"\0".to_vec()].concat()).collect();
        let ignored = self.git.run(&["check-ignore", "-z", "--stdin"], all).await?.stdout;
        let staged = self.git.run_ok(&["ls-files", "--stage", "-z"]).await?;
        let submodules: Vec<&[u8]> = paths(&staged)
            .filter(|entry| entry.starts_with(b"160000 "))
            .filter_map(|entry| entry.splitn(2, |byte| *byte == b'\t').nth(1))
            .collect();
        let reason = |path: &Path| {
            let path = self.full(path);
            let is_within = |submodule: &&[u8]| path.strip_prefix(*submodule).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"));
            if submodules.iter().any(is_within) {
                return Some(OmissionReason::Submodule);
            }
            paths(&ignored).any(|ignored| ignored == path).then_some(OmissionReason::Ignored)
        };
        Ok(contents.iter().filter_map(|(path, _)| Some((path.clone(), reason(path)?))).collect())
    }

    /// Returns the filter of each path by the attributes in the folder; `None` if it has none.
    async fn filters(&self, group: &[&(PathBuf, Option<Content>)]) -> Result<Vec<Option<String>>, WorkTreeError> {
        let all = group.iter().flat_map(|(path, _)| [self.full(path), b"\0".to_vec()].concat()).collect();
        let output = self.git.run_ok_with_input(&["check-attr", "--stdin", "-z", "filter"], all).await?;
        let values = output.split(|byte| *byte == 0).skip(2).step_by(3);
        let filter =
            |value: &[u8]| (![&b"unspecified"[..], b"unset", b"set"].contains(&value)).then(|| String::from_utf8_lossy(value).into_owned());
        let mut filters: Vec<_> = values.map(filter).collect();
        filters.resize(group.len(), None);
        Ok(filters)
    }

    /// Stores the content of a path. Returns its mode and the name of its blob, or the reason why it is left out.
    async fn stored(
        &self,
        path: &Path,
        content: Option<&Content>,
        filter: Option<String>,
    ) -> Result<Result<(&'static str, String), OmissionReason>, WorkTreeError> {
        let mode = |is_executable| if is_executable { "100755" } else { "100644" };
        let (mode, bytes) = match content {
            None => return Ok(Ok(("0", self.blob(None, Vec::new()).await?))),
            Some(Content::Link(target)) => {
                return Ok(Ok(("120000", self.blob(None, target.as_os_str().as_encoded_bytes().to_vec()).await?)));
            }
            Some(Content::File { bytes, is_executable }) => (mode(*is_executable), Some(bytes)),
            Some(Content::InFolder { is_executable }) => (mode(*is_executable), None),
        };
        let bytes = match (filter.as_deref(), bytes) {
            (Some(LFS), bytes) => {
                let pointer = self.pointer(path, bytes.cloned()).await?;
                return Ok(Ok((mode, self.blob(None, pointer).await?)));
            }
            (Some(filter), _) => return Ok(Err(OmissionReason::Filter(filter.to_owned()))),
            (None, Some(bytes)) => bytes.clone(),
            (None, None) => {
                let (folder, path) = (self.folder.clone(), path.to_owned());
                let read = spawn_blocking(move || folder.read_entry(&path, MAX_FILE_BYTES)).await;
                match read.map_err(std::io::Error::other).map_err(of(Path::new(".")))? {
                    Ok((bytes, _)) => bytes,
                    Err(FileError::TooLarge { .. }) => return Ok(Err(OmissionReason::TooLarge)),
                    Err(error) => return Err(error.into()),
                }
            }
        };
        Ok(Ok((mode, self.blob(Some(path), bytes).await?)))
    }

    /// Stores a blob. With a path, line ends are converted as the attributes of the path say.
    async fn blob(&self, path: Option<&Path>, bytes: Vec<u8>) -> Result<String, WorkTreeError> {
        let mut hash: Vec<OsString> = ["hash-object", "-w", "--stdin"].map(OsString::from).into();
        if let Some(path) = path {
            let mut option = OsString::from("--path=");
            option.push(as_path(&self.full(path)));
            hash.push(option);
        }
        Ok(line(self.git.run_ok_with_input(&hash, bytes).await?))
    }

    /// Stores the content of a file where Git LFS keeps it, and returns the pointer to it, as `git lfs clean` does. Without bytes, the file is that
    /// in the folder.
    async fn pointer(&self, path: &Path, bytes: Option<Vec<u8>>) -> Result<Vec<u8>, WorkTreeError> {
        let common =
            as_path(line(self.git.run_ok(&["rev-parse", "--path-format=absolute", "--git-common-dir"]).await?).as_bytes()).to_owned();
        let storage = self.git.run(&["config", "--get", "lfs.storage"], Vec::new()).await?;
        let storage = if storage.code == 0 { line(storage.stdout) } else { LFS.to_owned() };
        let objects = common.join(storage).join("objects");
        let (folder, name, place) = (self.folder.clone(), path.to_owned(), self.place.path().to_owned());
        let (object, pointer) = spawn_blocking(move || {
            let mut source: Box<dyn std::io::Read> = match bytes {
                Some(bytes) => Box::new(std::io::Cursor::new(bytes)),
                None => Box::new(folder.open_file(&name).map_err(std::io::Error::other)?),
            };
            let mut object = tempfile::NamedTempFile::new_in(place)?;
            let (mut hash, mut size, mut head) = (Sha256::new(), 0_u64, Vec::new());
            let mut part = vec![0; 1 << 16];
            loop {
                let read = source.read(&mut part)?;
                let Some(part) = part.get(..read).filter(|part| !part.is_empty()) else { break };
                head.extend_from_slice(part.get(..part.len().min(1024_usize.saturating_sub(head.len()))).unwrap_or_default());
                hash.update(part);
                size += part.len() as u64;
                object.write_all(part)?;
            }
            // A file that was not fetched is a pointer already, and that of an empty file is empty.
            if size == 0 || size < 1024 && head.starts_with(POINTER) {
                return Ok((None, head));
            }
            let oid: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
            let pointer = [POINTER, format!("oid sha256:{oid}\nsize {size}\n").as_bytes()].concat();
            Ok((Some((oid, object)), pointer))
        })
        .await
        .map_err(std::io::Error::other)
        .flatten()
        .map_err(of(path))?;
        if let Some((oid, object)) = object {
            let folder = objects.join(oid.get(..2).unwrap_or_default()).join(oid.get(2..4).unwrap_or_default());
            create_folder(&folder).await?;
            let kept = folder.join(&oid);
            if fs::symlink_metadata(&kept).await.is_err() {
                let new = object.into_temp_path();
                // The storage may be on another file system.
                if fs::rename(&new, &kept).await.is_err() {
                    let copied = kept.with_extension("aime");
                    fs::copy(&new, &copied).await.map_err(of(&copied))?;
                    fs::rename(&copied, &kept).await.map_err(of(&kept))?;
                }
            }
        }
        Ok(pointer)
    }

    /// Creates the branch, with a number behind its name if there is one of that name. Returns its name and the number of its commits; `None` if
    /// nothing was committed.
    ///
    /// # Errors
    /// [`WorkTreeError`].
    pub async fn create(self, name: &str) -> Result<Option<(String, usize)>, WorkTreeError> {
        let Some(tip) = self.tip.filter(|_| self.commits > 0) else { return Ok(None) };
        let mut number = 1;
        loop {
            let name = if number == 1 { name.to_owned() } else { format!("{name}-{number}") };
            let reference = format!("refs/heads/{name}");
            if self.git.run(&["rev-parse", "--quiet", "--verify", &reference], Vec::new()).await?.code != 0 {
                self.git.run_ok(&["update-ref", &reference, &tip, ""]).await?;
                return Ok(Some((name, self.commits)));
            }
            number += 1;
        }
    }
}
