//! States of a folder as commits of a repository outside of it.

use std::{
    collections::{BTreeSet, HashSet},
    ffi::{OsStr, OsString},
    fs::File,
    hash::{BuildHasher as _, Hasher as _, RandomState},
    path::{Component, Path, PathBuf},
    time::SystemTime,
};

use tokio::{fs, task::spawn_blocking};

use crate::{Commit, FileConflict, WorkTreeError, git::Git};
use aime_sandbox::{CACHE_FOLDERS, CACHE_TAG};

/// Maximum bytes of changes in one transfer.
pub const MAX_BUNDLE_BYTES: u64 = 1024 * 1024 * 1024;

/// The blob without content.
const EMPTY: &str = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";
/// Name of an entry that is in the index of a submodule's files for a moment.
const OPEN: &str = ".aime-submodule";
/// Folder of aime's own data. It belongs to one host, and is not transferred by itself.
pub(crate) const OWN: &str = ".aime";
/// Names of the new files by which [`ConfinedFolder`](aime_sandbox::ConfinedFolder) replaces others.
const TEMPORARY: &str = ".aime-[0-9]*-[0-9]*.tmp";
/// Attributes that keep bytes unchanged, whatever `.gitattributes` in the folder say.
/// Conflict markers have the length by which they are found.
const ATTRIBUTES: &str = "* -text -ident -filter -working-tree-encoding conflict-marker-size=7\n";
/// File in the repository, in the place of the user's settings.
const USER_SETTINGS: &str = "aime-settings";
/// Its content: the folder may belong to another user. `git` takes this setting from files only where it starts a second `git`.
const ANY_OWNER: &str = "[safe]\n\tdirectory = *\n";
/// Author of states that are no one's work: the beginning of a run, or a merge.
pub(crate) const NOBODY: &str = "aime";
/// The part of it that is transferred: data that tools keep for a run.
const KEPT: &str = ".aime/runs";
/// File in the repository with the holder that made the last check-out.
const HOLDER: &str = "aime-holder";
/// Token in the repository and in the folder, by which a claimed folder is recognized.
const CLAIM: &str = "aime-claim";
const CLAIMED: &str = ".aime/worker";

/// Result of merging two states.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MergeResult {
    /// The merged state.
    Clean(Commit),
    /// Both sides changed these paths in different ways.
    Conflict(Vec<FileConflict>),
}

/// A folder whose states are recorded as commits. Its repository is outside of the folder, where programs in the folder cannot write. A
/// `.git` of the folder itself is neither read nor changed, and is not transferred; neither are other repositories in it, empty folders,
/// caches such as `__pycache__`, and files that `.gitignore` excludes. Of a submodule that `.gitmodules` names, the files are recorded like those of a folder.
///
/// Make one call at a time: users within a process take turns, and [`lock`](Self::lock) locks out other processes.
#[derive(Debug, Clone)]
pub struct WorkTree {
    pub(crate) git: Git,
}

impl WorkTree {
    /// Opens a folder and its repository, which is created if needed. `path` is the `PATH` on which `git` is found.
    ///
    /// # Errors
    /// [`WorkTreeError`] if the repository cannot be created; [`WorkTreeError::GitVersion`] if there is no `git` that is new enough.
    pub async fn open(folder: &Path, repository: &Path, path: OsString) -> Result<Self, WorkTreeError> {
        let user_settings = repository.join(USER_SETTINGS);
        let git = Git { repository: repository.to_owned(), folder: folder.to_owned(), path, index: None, user_settings };
        git.checked_version().await?;
        create_folder(repository).await?;
        if !fs::read(&git.user_settings).await.is_ok_and(|found| found == ANY_OWNER.as_bytes()) {
            write(&git.user_settings, ANY_OWNER).await?;
        }
        // In an existing repository this completes an interrupted initialization.
        git.run_ok(&["init", "--quiet", "--template="]).await?;
        let info = repository.join("info");
        create_folder(&info).await?;
        write(&info.join("attributes"), ATTRIBUTES).await?;
        let tree = Self { git };
        if fs::symlink_metadata(tree.exclude()).await.is_err() {
            tree.leave_out(&[]).await?;
        }
        Ok(tree)
    }

    /// Excludes paths from what is recorded, besides aime's own data and caches: two tasks that run the same tests would change them
    /// in different ways.
    pub(crate) async fn leave_out(&self, paths: &[PathBuf]) -> Result<(), WorkTreeError> {
        let all = [Path::new(OWN)].into_iter().chain(paths.iter().map(PathBuf::as_path));
        let caches: String = CACHE_FOLDERS.iter().map(|name| format!("{name}/\n")).collect();
        write_whole(&self.exclude(), &(caches + &excluded(all))).await
    }

    pub(crate) fn exclude(&self) -> PathBuf {
        self.git.repository.join("info/exclude")
    }

    /// Returns the path of the repository.
    #[must_use]
    pub fn repository(&self) -> &Path {
        &self.git.repository
    }

    /// Claims the folder for check-outs, which delete its content.
    ///
    /// # Errors
    /// [`WorkTreeError::NotEmpty`] if it contains anything but `.aime` and was not claimed before. A new folder
    /// at the same path counts as not claimed.
    pub async fn claim(&self) -> Result<(), WorkTreeError> {
        let folder = &self.git.folder;
        let (known, claimed) = (self.git.repository.join(CLAIM), folder.join(CLAIMED));
        if let (Ok(known), Ok(claimed)) = (fs::read(&known).await, fs::read(&claimed).await)
            && known == claimed
        {
            return Ok(());
        }
        let not_empty = || WorkTreeError::NotEmpty { folder: folder.clone() };
        let mut entries = fs::read_dir(folder).await.map_err(of(folder))?;
        while let Some(entry) = entries.next_entry().await.map_err(of(folder))? {
            let is_own = entry.file_name() == OWN && entry.file_type().await.map_err(of(folder))?.is_dir();
            if !is_own {
                return Err(not_empty());
            }
        }
        let word = format!("{:016x}", RandomState::new().build_hasher().finish());
        create_folder(&folder.join(OWN)).await?;
        write(&claimed, &word).await?;
        write(&known, &word).await
    }

    /// Creates a commit of the folder's content after `onto`; returns `onto` itself if nothing has changed. Of the ignored paths it
    /// includes the existing folders `also`, relative to the folder, and those that earlier states included.
    ///
    /// # Errors
    /// [`WorkTreeError`], for example if a file cannot be read.
    pub async fn record(&self, onto: Option<&Commit>, also: &[PathBuf]) -> Result<Commit, WorkTreeError> {
        self.record_for(onto, also, NOBODY).await
    }

    /// Records work of an author, which its [history](Self::history) names: a line of text, which is transferred with it.
    ///
    /// # Errors
    /// The errors of [`record`](Self::record).
    pub async fn record_for(&self, onto: Option<&Commit>, also: &[PathBuf], by: &str) -> Result<Commit, WorkTreeError> {
        if onto.is_none() {
            let forget = ["rm", "--cached", "-r", "--force", "--quiet", "--ignore-unmatch", "--", OWN];
            self.git.run_ok(&forget).await?;
        }
        let others = self.others().await?;
        let mut paths = b".\0".to_vec();
        for listed in others.split(|byte| *byte == 0) {
            // Only repositories in the folder are listed with a slash. Adding one would fail, or add only its name.
            let repository = listed.strip_suffix(b"/");
            let cache = listed.strip_suffix(CACHE_TAG.as_bytes()).and_then(|path| path.strip_suffix(b"/"));
            if let Some(excluded) = repository.or(cache) {
                paths.extend_from_slice(b":(exclude,literal)");
                paths.extend_from_slice(excluded);
                paths.push(0);
            }
        }
        let add = ["add", "--all", "--pathspec-from-file=-", "--pathspec-file-nul"];
        self.git.run_ok_with_input(&add, paths).await?;
        for path in also.iter().filter(|path| is_there(&self.git.folder, path)) {
            let add: [OsString; 5] = ["--literal-pathspecs".into(), "add".into(), "--force".into(), "--".into(), path.into()];
            self.git.run_ok(&add).await?;
        }
        let tree = line(self.git.run_ok(&["write-tree"]).await?);
        match onto {
            Some(onto) if self.tree_of(onto).await? == tree => Ok(onto.clone()),
            onto => self.commit(&tree, onto.as_slice(), by).await,
        }
    }

    /// Lists the new files, and the repositories in the folder whose files are not recorded.
    async fn others(&self) -> Result<Vec<u8>, WorkTreeError> {
        let list = ["ls-files", "--others", "--exclude-standard", "-z"];
        let others = self.git.run_ok(&list).await?;
        let submodules = self.submodules().await?;
        let is_listed = |path: &PathBuf| paths(&others).filter_map(|path| path.strip_suffix(b"/")).any(|other| as_path(other) == path);
        // The files of nested submodules are not listed yet.
        let closed: Vec<&PathBuf> = submodules.iter().skip_while(|path| !is_listed(path)).collect();
        if closed.is_empty() {
            return Ok(others);
        }
        for submodule in closed {
            // `git` records the files of a repository in the folder if its index has one of them. `add` removes this one, which does not exist.
            let mut add = ["update-index", "--add", "--cacheinfo", "100644", EMPTY].map(OsString::from).to_vec();
            add.push(submodule.join(OPEN).into());
            self.git.run_ok(&add).await?;
        }
        self.git.run_ok(&list).await
    }

    /// Returns the submodules that have a repository, relative to the folder. Each one comes before those in it.
    pub(crate) async fn submodules(&self) -> Result<Vec<PathBuf>, WorkTreeError> {
        let (mut found, mut looked_into, mut outer) = (Vec::<PathBuf>::new(), 0, PathBuf::new());
        loop {
            let names = outer.join(".gitmodules");
            if is_there(&self.git.folder, &names) {
                let file = self.git.folder.join(&names).into();
                let config: [OsString; 6] =
                    ["config".into(), "--file".into(), file, "--null".into(), "--get-regexp".into(), r"^submodule\..*\.path$".into()];
                // A file that cannot be read names no submodule.
                let output = self.git.run(&config, Vec::new()).await?;
                for named in paths(&output.stdout).filter_map(|entry| entry.splitn(2, |byte| *byte == b'\n').nth(1)) {
                    let path = outer.join(as_path(named));
                    let is_new = !found.contains(&path);
                    if is_new && is_within(&path) && is_there(&self.git.folder, &path) && is_there(&self.git.folder, &path.join(".git")) {
                        found.push(path);
                    }
                }
            }
            let Some(next) = found.get(looked_into) else { return Ok(found) };
            outer.clone_from(next);
            looked_into += 1;
        }
    }

    /// Replaces the folder's content by a commit. Ignored files stay as long as the `holder` is the same, such as a run.
    ///
    /// # Errors
    /// [`WorkTreeError`]; the content of the folder is then undefined, and the next check-out repairs it.
    pub async fn check_out(&self, commit: &Commit, holder: &str) -> Result<(), WorkTreeError> {
        let known = self.git.repository.join(HOLDER);
        let same = fs::read(&known).await.is_ok_and(|before| before == holder.as_bytes());
        if !same {
            self.remove_repositories().await?;
        }
        self.git.run_ok(&["read-tree", "--reset", "-u", commit.as_str()]).await?;
        let keep = format!("--exclude=/{OWN}");
        let clean: &[&str] = if same { &["clean", "-ffdq"] } else { &["clean", "-ffdxq", &keep] };
        self.git.run_ok(clean).await?;
        self.used(&reference(commit)).await;
        write(&known, holder).await
    }

    /// Checks out a commit into a folder that has the state of the last record or check-out. Keeps ignored files.
    ///
    /// # Errors
    /// [`WorkTreeError`]; the content of the folder is then undefined, and the next check-out repairs it.
    pub async fn reset(&self, commit: &Commit) -> Result<(), WorkTreeError> {
        self.git.run_ok(&["read-tree", "--reset", "-u", commit.as_str()]).await.map(drop)
    }

    /// Removes every `.git` in the folder, so that settings of one holder do not affect the next.
    async fn remove_repositories(&self) -> Result<(), WorkTreeError> {
        let own = self.git.folder.join(OWN);
        let mut folders = vec![self.git.folder.clone()];
        while let Some(folder) = folders.pop() {
            let mut entries = fs::read_dir(&folder).await.map_err(of(&folder))?;
            while let Some(entry) = entries.next_entry().await.map_err(of(&folder))? {
                let (path, is_folder) = (entry.path(), entry.file_type().await.map_err(of(&folder))?.is_dir());
                if entry.file_name() == ".git" {
                    let removed = if is_folder { fs::remove_dir_all(&path).await } else { fs::remove_file(&path).await };
                    removed.map_err(of(&path))?;
                } else if is_folder && path != own {
                    folders.push(path);
                }
            }
        }
        Ok(())
    }

    /// Updates a folder from one commit to another, and overwrites no file that is part of neither, not even an ignored one.
    ///
    /// # Errors
    /// [`WorkTreeError::InTheWay`] if it would have to; then nothing has changed.
    pub async fn update(&self, from: &Commit, to: &Commit) -> Result<(), WorkTreeError> {
        self.may_update(from, to).await?;
        self.put(from, to).await
    }

    /// Fails if [`update`](Self::update) would overwrite what is part of neither commit.
    pub(crate) async fn may_update(&self, from: &Commit, to: &Commit) -> Result<(), WorkTreeError> {
        let paths = self.in_the_way(from, to).await?;
        if !paths.is_empty() {
            return Err(WorkTreeError::InTheWay { paths });
        }
        let look = ["read-tree", "--dry-run", "-m", "-u", from.as_str(), to.as_str()];
        self.git.run_ok(&look).await.map(drop)
    }

    /// Returns the existing paths that are not part of `from`, but conflict with files of `to`. `git` itself overwrites ignored files.
    async fn in_the_way(&self, from: &Commit, to: &Commit) -> Result<Vec<String>, WorkTreeError> {
        let added = ["diff-tree", "-r", "-z", "--name-only", "--no-renames", "--diff-filter=A", from.as_str(), to.as_str()];
        let added = self.git.run_ok(&added).await?;
        let known = self.git.run_ok(&["ls-tree", "-r", "-z", "--name-only", from.as_str()]).await?;
        let known: HashSet<&[u8]> = paths(&known).collect();
        let mut found = BTreeSet::new();
        for path in paths(&added) {
            let above = (0..path.len()).filter(|at| path.get(*at) == Some(&b'/')).filter_map(|at| path.get(..at));
            for part in above.chain([path]) {
                let Ok(there) = fs::symlink_metadata(self.git.folder.join(as_path(part))).await else { break };
                if !there.is_dir() {
                    found.extend((!known.contains(part)).then(|| part.to_vec()));
                    break;
                }
                if part == path {
                    // A folder is replaced if all its files are known.
                    let within: [OsString; 5] =
                        ["--literal-pathspecs".into(), "ls-files".into(), "--others".into(), "-z".into(), as_path(part).into()];
                    found.extend(paths(&self.git.run_ok(&within).await?).map(<[u8]>::to_vec));
                }
            }
        }
        Ok(found.into_iter().map(|path| String::from_utf8_lossy(&path).into_owned()).collect())
    }

    /// Merges two commits; the folder is neither read nor changed.
    ///
    /// # Errors
    /// [`WorkTreeError`], for example if one of them is missing.
    pub async fn merge(&self, ours: &Commit, theirs: &Commit) -> Result<MergeResult, WorkTreeError> {
        let (tree, conflicts) = self.merge_trees(ours, theirs).await?;
        if !conflicts.is_empty() {
            return Ok(MergeResult::Conflict(conflicts));
        }
        Ok(MergeResult::Clean(self.joined(&tree, ours, theirs).await?))
    }

    /// Returns true if the repository contains a commit.
    ///
    /// # Errors
    /// [`WorkTreeError`] if `git` cannot be run.
    pub async fn has(&self, commit: &Commit) -> Result<bool, WorkTreeError> {
        let name = reference(commit);
        Ok(self.git.run(&["rev-parse", "--quiet", "--verify", &name], Vec::new()).await?.code == 0)
    }

    /// Returns a commit with its history, as bytes for another host; without the history of `known`, if the other host has that.
    ///
    /// # Errors
    /// [`WorkTreeError::TooLarge`] over [`MAX_BUNDLE_BYTES`].
    pub async fn bundle(&self, commit: &Commit, known: Option<&Commit>) -> Result<Vec<u8>, WorkTreeError> {
        let file = self.passing()?;
        let mut create: Vec<OsString> = ["bundle", "create", "--quiet"].map(OsString::from).into();
        create.extend([file.path().into(), reference(commit).into()]);
        create.extend(known.map(|known| format!("^{known}").into()));
        self.git.run_ok(&create).await?;
        let bytes = fs::metadata(file.path()).await.map_err(of(file.path()))?.len();
        if bytes > MAX_BUNDLE_BYTES {
            return Err(WorkTreeError::TooLarge { bytes, most: MAX_BUNDLE_BYTES });
        }
        fs::read(file.path()).await.map_err(of(file.path()))
    }

    /// Imports a bundle, which must contain a commit.
    ///
    /// # Errors
    /// [`WorkTreeError`] if it contains something else, or if its base is missing here.
    pub async fn import(&self, bundle: &[u8], commit: &Commit) -> Result<(), WorkTreeError> {
        let file = self.passing()?;
        fs::write(file.path(), bundle).await.map_err(of(file.path()))?;
        let unbundle: [OsString; 3] = ["bundle".into(), "unbundle".into(), file.path().into()];
        self.git.run_ok(&unbundle).await?;
        let object = format!("{commit}^{{commit}}");
        if self.git.run(&["cat-file", "-e", &object], Vec::new()).await?.code != 0 {
            return Err(WorkTreeError::Missing { commit: commit.to_string() });
        }
        self.holds_no_own(commit).await?;
        self.keep(commit).await
    }

    /// Checks that a commit of another host contains none of aime's own data, except for data that tools keep for runs.
    async fn holds_no_own(&self, commit: &Commit) -> Result<(), WorkTreeError> {
        let below = format!("{OWN}/");
        let listed = self.git.run_ok(&["ls-tree", "-z", commit.as_str(), OWN, &below]).await?;
        for entry in paths(&listed) {
            let entry = String::from_utf8_lossy(entry);
            let (about, path) = entry.split_once('\t').unwrap_or_default();
            if !(about.split(' ').nth(1) == Some("tree") && matches!(path, OWN | KEPT)) {
                return Err(WorkTreeError::NotTaken { commit: commit.to_string(), path: path.to_owned() });
            }
        }
        Ok(())
    }

    /// Stores a commit under a name.
    ///
    /// # Errors
    /// [`WorkTreeError`] if `git` does not accept the name.
    pub async fn remember(&self, name: &str, commit: &Commit) -> Result<(), WorkTreeError> {
        let name = format!("refs/aime/{name}");
        self.git.run_ok(&["update-ref", &name, commit.as_str()]).await?;
        self.used(&name).await;
        Ok(())
    }

    /// Returns the commit with a name.
    ///
    /// # Errors
    /// [`WorkTreeError`] if `git` cannot be run.
    pub async fn remembered(&self, name: &str) -> Result<Option<Commit>, WorkTreeError> {
        let name = format!("refs/aime/{name}");
        let output = self.git.run(&["rev-parse", "--quiet", "--verify", &name], Vec::new()).await?;
        if output.code == 0 { Ok(Some(line(output.stdout).try_into()?)) } else { Ok(None) }
    }

    pub(crate) async fn joined(&self, tree: &str, ours: &Commit, theirs: &Commit) -> Result<Commit, WorkTreeError> {
        self.commit(tree, &[ours, theirs], NOBODY).await
    }

    pub(crate) async fn commit(&self, tree: &str, parents: &[&Commit], by: &str) -> Result<Commit, WorkTreeError> {
        let mut arguments = vec!["commit-tree", tree];
        for parent in parents {
            arguments.extend(["-p", parent.as_str()]);
        }
        let commit: Commit = line(self.git.run_ok_with_input(&arguments, format!("{by}\n").into_bytes()).await?).try_into()?;
        self.keep(&commit).await?;
        Ok(commit)
    }

    /// Gives a complete commit a name, so that it is kept.
    async fn keep(&self, commit: &Commit) -> Result<(), WorkTreeError> {
        self.git.run_ok(&["update-ref", &reference(commit), commit.as_str()]).await?;
        self.used(&reference(commit)).await;
        Ok(())
    }

    /// Updates the time of a name's last use, which keeps it alive. A failure only means that it must be transferred again one day.
    async fn used(&self, name: &str) {
        let file = self.git.repository.join(name);
        drop(spawn_blocking(move || File::options().append(true).open(file)?.set_modified(SystemTime::now())).await);
    }

    pub(crate) async fn tree_of(&self, commit: &Commit) -> Result<String, WorkTreeError> {
        Ok(line(self.git.run_ok(&["rev-parse", "--verify", &format!("{commit}^{{tree}}")]).await?))
    }

    /// Creates a temporary file for a bundle.
    fn passing(&self) -> Result<tempfile::NamedTempFile, WorkTreeError> {
        tempfile::NamedTempFile::new_in(&self.git.repository).map_err(of(&self.git.repository))
    }
}

fn reference(commit: &Commit) -> String {
    format!("refs/aime/commits/{commit}")
}

/// Returns true if a relative path cannot lead out of a folder, nor into a repository or aime's own data, except by a link.
pub(crate) fn is_within(path: &Path) -> bool {
    let is_plain = |part| matches!(part, Component::Normal(name) if name != OWN && name != ".git");
    path.components().next().is_some() && path.components().all(is_plain)
}

/// Returns true if a path exists and no part of it is a link.
pub(crate) fn is_there(folder: &Path, path: &Path) -> bool {
    let mut whole = folder.to_owned();
    path.components().all(|part| {
        whole.push(part);
        whole.symlink_metadata().is_ok_and(|there| !there.is_symlink())
    })
}

/// Returns the lines of a file of exclusions: these paths, and what a kill within a write leaves beside the file. Without a final slash, so that
/// they also match a link in the place of a folder.
pub(crate) fn excluded<'a>(paths: impl Iterator<Item = &'a Path>) -> String {
    let mut lines = format!("{TEMPORARY}\n");
    for path in paths {
        lines.push_str(&exclusion(path));
        lines.push('\n');
    }
    lines
}

/// Returns the pattern that excludes a path.
pub(crate) fn exclusion(path: &Path) -> String {
    let mut pattern = String::from("/");
    for letter in path.to_string_lossy().chars() {
        pattern.extend((r"*?[\ ".contains(letter)).then_some('\\'));
        pattern.push(letter);
    }
    pattern
}

/// Returns the paths in a list of `git` with `-z`.
pub(crate) fn paths(listed: &[u8]) -> impl Iterator<Item = &[u8]> {
    listed.split(|byte| *byte == 0).filter(|path| !path.is_empty())
}

#[cfg(unix)]
pub(crate) fn as_path(path: &[u8]) -> &Path {
    Path::new(<OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(path))
}

#[cfg(not(unix))]
pub(crate) fn as_path(path: &[u8]) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(path).into_owned())
}

pub(crate) fn line(bytes: Vec<u8>) -> String {
    String::from_utf8_lossy(&bytes).trim().to_owned()
}

pub(crate) fn of(path: &Path) -> impl FnOnce(std::io::Error) -> WorkTreeError {
    let path = path.to_owned();
    move |source| WorkTreeError::File { path, source }
}

pub(crate) async fn create_folder(folder: &Path) -> Result<(), WorkTreeError> {
    fs::create_dir_all(folder).await.map_err(of(folder))
}

/// Writes a file atomically.
pub(crate) async fn write_whole(path: &Path, text: &str) -> Result<(), WorkTreeError> {
    let new = path.with_extension("new");
    write(&new, text).await?;
    fs::rename(&new, path).await.map_err(of(path))
}

pub(crate) async fn write(path: &Path, text: &str) -> Result<(), WorkTreeError> {
    fs::write(path, text).await.map_err(of(path))
}
