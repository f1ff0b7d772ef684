//! States of a folder as commits of a repository that stands elsewhere.

use std::{
    ffi::OsString,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use tokio::fs;

use crate::{Commit, WorkTreeError, git::Git};

/// How many bytes of changes are handed over at once, at most.
pub const MAX_BUNDLE_BYTES: u64 = 1024 * 1024 * 1024;

/// What aime keeps in a folder. It is of the host, and never travels by itself.
const OWN: &str = ".aime";
/// Bytes stay as they are, whatever `.gitattributes` of the folder say.
const ATTRIBUTES: &str = "* -text -ident -filter -working-tree-encoding\n";
/// Who has checked out into the folder last, in the repository.
const HOLDER: &str = "aime-holder";

/// What came of joining two states.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merged {
    /// Both, in one.
    Clean(Commit),
    /// Both changed these paths, each in its own way.
    Conflict(Vec<String>),
}

/// A folder whose states are kept as commits. Its repository stands outside of it, where nobody who works in the folder can write: a `.git` of
/// the folder itself is neither read nor changed, and does not travel; nor do other repositories in it, folders that are empty, and what
/// `.gitignore` names.
///
/// One call at a time: whoever shares it locks.
#[derive(Debug, Clone)]
pub struct WorkTree {
    git: Git,
}

impl WorkTree {
    /// A folder and its repository, which is made where it is not there. `path` is the `PATH` on which `git` is found.
    ///
    /// # Errors
    /// [`WorkTreeError`] where the repository cannot be made, or there is no `git`, which must be 2.38 or later.
    pub async fn open(folder: &Path, repository: &Path, path: OsString) -> Result<Self, WorkTreeError> {
        let git = Git { repository: repository.to_owned(), folder: folder.to_owned(), path };
        if !repository.join("HEAD").exists() {
            made(repository).await?;
            git.must("make a repository", &["init", "--quiet", "--template="]).await?;
        }
        let info = repository.join("info");
        made(&info).await?;
        write(&info.join("attributes"), ATTRIBUTES).await?;
        write(&info.join("exclude"), &format!("/{OWN}/\n")).await?;
        Ok(Self { git })
    }

    /// Where the states are kept.
    #[must_use]
    pub fn repository(&self) -> &Path {
        &self.git.repository
    }

    /// Takes the folder for check-outs, which delete what is in it.
    ///
    /// # Errors
    /// [`WorkTreeError::NotEmpty`] where it holds anything but `.aime` and was not taken before.
    pub async fn claim(&self) -> Result<(), WorkTreeError> {
        let holder = self.git.repository.join(HOLDER);
        if holder.exists() {
            return Ok(());
        }
        let folder = &self.git.folder;
        let mut entries = fs::read_dir(folder).await.map_err(of(folder))?;
        while let Some(entry) = entries.next_entry().await.map_err(of(folder))? {
            if entry.file_name() != OWN {
                return Err(WorkTreeError::NotEmpty { folder: folder.clone() });
            }
        }
        write(&holder, "").await
    }

    /// Makes a commit of what stands in the folder, after `onto`; `onto` itself where nothing has changed. Of what is ignored the folders
    /// `also` are taken, relative to the folder, where they are there, and with them what was taken so in states before.
    ///
    /// # Errors
    /// [`WorkTreeError`], as where a file cannot be read.
    pub async fn record(&self, onto: Option<&Commit>, also: &[PathBuf]) -> Result<Commit, WorkTreeError> {
        if onto.is_none() {
            let forget = ["rm", "--cached", "-r", "--force", "--quiet", "--ignore-unmatch", "--", OWN];
            self.git.must("forget what was kept", &forget).await?;
        }
        let others = self.git.must("list what is new", &["ls-files", "--others", "--exclude-standard", "-z"]).await?;
        let mut paths = b".\0".to_vec();
        // Only a repository in the folder is listed with a slash. To add one fails, or adds no more than its name.
        for repository in others.split(|byte| *byte == 0).filter(|path| path.ends_with(b"/")) {
            paths.extend_from_slice(b":(exclude,literal)");
            paths.extend_from_slice(repository.strip_suffix(b"/").unwrap_or(repository));
            paths.push(0);
        }
        let add = ["add", "--all", "--pathspec-from-file=-", "--pathspec-file-nul"];
        self.git.must_read("take in what has changed", &add, paths).await?;
        for path in also.iter().filter(|path| self.git.folder.join(path).exists()) {
            let add: [OsString; 5] = ["--literal-pathspecs".into(), "add".into(), "--force".into(), "--".into(), path.into()];
            self.git.must("take in what is kept", &add).await?;
        }
        let tree = line(self.git.must("write the tree", &["write-tree"]).await?);
        match onto {
            Some(onto) if self.tree_of(onto).await? == tree => Ok(onto.clone()),
            onto => self.commit(&tree, onto.as_slice()).await,
        }
    }

    /// Puts a commit into the folder, in place of all that is there. What is ignored stays for as long as the `holder` is the same, such as a run.
    ///
    /// # Errors
    /// [`WorkTreeError`]; then the folder may hold anything, and the next check-out mends it.
    pub async fn check_out(&self, commit: &Commit, holder: &str) -> Result<(), WorkTreeError> {
        let known = self.git.repository.join(HOLDER);
        let same = fs::read(&known).await.is_ok_and(|before| before == holder.as_bytes());
        if !same {
            let own = self.git.folder.join(".git");
            match fs::remove_dir_all(&own).await {
                Err(error) if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Err(of(&own)(error)),
                _ => {}
            }
        }
        self.git.must("check out", &["read-tree", "--reset", "-u", commit.as_str()]).await?;
        let keep = format!("--exclude=/{OWN}/");
        let clean: &[&str] = if same { &["clean", "-ffdq"] } else { &["clean", "-ffdxq", &keep] };
        self.git.must("clear the folder", clean).await?;
        write(&known, holder).await
    }

    /// Brings a folder that stands at one commit to another, and overwrites nothing that neither of them knows.
    ///
    /// # Errors
    /// [`WorkTreeError::Git`] where it would have to: then nothing has changed.
    pub async fn update(&self, from: &Commit, to: &Commit) -> Result<(), WorkTreeError> {
        self.git.must("bring the folder up to date", &["read-tree", "-m", "-u", from.as_str(), to.as_str()]).await.map(drop)
    }

    /// Joins two commits; the folder is neither read nor changed.
    ///
    /// # Errors
    /// [`WorkTreeError`], as where one of them is not there.
    pub async fn merge(&self, ours: &Commit, theirs: &Commit) -> Result<Merged, WorkTreeError> {
        let what = "join two trees";
        let merge = ["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", ours.as_str(), theirs.as_str()];
        let said = self.git.run(what, &merge, Vec::new()).await?;
        if !matches!(said.code, 0 | 1) {
            return Err(said.refused(what));
        }
        let mut parts = said.stdout.split(|byte| *byte == 0).map(|part| String::from_utf8_lossy(part).into_owned());
        let tree = parts.next().unwrap_or_default();
        if said.code == 1 {
            return Ok(Merged::Conflict(parts.filter(|path| !path.is_empty()).collect()));
        }
        Ok(Merged::Clean(self.commit(&tree, &[ours, theirs]).await?))
    }

    /// Whether a commit is here.
    ///
    /// # Errors
    /// [`WorkTreeError`] where `git` cannot be run.
    pub async fn has(&self, commit: &Commit) -> Result<bool, WorkTreeError> {
        let name = reference(commit);
        Ok(self.git.run("look for a commit", &["rev-parse", "--quiet", "--verify", &name], Vec::new()).await?.code == 0)
    }

    /// A commit with all that came before it, as bytes for another host: without what comes with `known`, where the other host has that.
    ///
    /// # Errors
    /// [`WorkTreeError::TooLarge`] over [`MAX_BUNDLE_BYTES`].
    pub async fn bundle(&self, commit: &Commit, known: Option<&Commit>) -> Result<Vec<u8>, WorkTreeError> {
        let file = self.passing()?;
        let mut create: Vec<OsString> = ["bundle", "create", "--quiet"].map(OsString::from).into();
        create.extend([file.path().into(), reference(commit).into()]);
        create.extend(known.map(|known| format!("^{known}").into()));
        self.git.must("make a bundle", &create).await?;
        let bytes = fs::metadata(file.path()).await.map_err(of(file.path()))?.len();
        if bytes > MAX_BUNDLE_BYTES {
            return Err(WorkTreeError::TooLarge { bytes, most: MAX_BUNDLE_BYTES });
        }
        fs::read(file.path()).await.map_err(of(file.path()))
    }

    /// Takes in a bundle, which must hold a commit.
    ///
    /// # Errors
    /// [`WorkTreeError`] where it holds something else, or what it builds on is not here.
    pub async fn take(&self, bundle: &[u8], commit: &Commit) -> Result<(), WorkTreeError> {
        let file = self.passing()?;
        fs::write(file.path(), bundle).await.map_err(of(file.path()))?;
        let unbundle: [OsString; 3] = ["bundle".into(), "unbundle".into(), file.path().into()];
        self.git.must("take in a bundle", &unbundle).await?;
        let object = format!("{commit}^{{commit}}");
        if self.git.run("look for a commit", &["cat-file", "-e", &object], Vec::new()).await?.code != 0 {
            return Err(WorkTreeError::Missing { commit: commit.to_string() });
        }
        self.keep(commit).await
    }

    /// Remembers a commit under a name.
    ///
    /// # Errors
    /// [`WorkTreeError`] where the name is none that `git` takes.
    pub async fn remember(&self, name: &str, commit: &Commit) -> Result<(), WorkTreeError> {
        self.git.must("remember a commit", &["update-ref", &format!("refs/aime/{name}"), commit.as_str()]).await.map(drop)
    }

    /// The commit that is remembered under a name.
    ///
    /// # Errors
    /// [`WorkTreeError`] where `git` cannot be run.
    pub async fn remembered(&self, name: &str) -> Result<Option<Commit>, WorkTreeError> {
        let name = format!("refs/aime/{name}");
        let said = self.git.run("look for a commit", &["rev-parse", "--quiet", "--verify", &name], Vec::new()).await?;
        if said.code == 0 { Ok(Some(line(said.stdout).try_into()?)) } else { Ok(None) }
    }

    async fn commit(&self, tree: &str, parents: &[&Commit]) -> Result<Commit, WorkTreeError> {
        let mut arguments = vec!["commit-tree", tree, "-m", "aime"];
        for parent in parents {
            arguments.extend(["-p", parent.as_str()]);
        }
        let commit: Commit = line(self.git.must("commit", &arguments).await?).try_into()?;
        self.keep(&commit).await?;
        Ok(commit)
    }

    /// What has a name is whole, and stays.
    async fn keep(&self, commit: &Commit) -> Result<(), WorkTreeError> {
        self.git.must("keep a commit", &["update-ref", &reference(commit), commit.as_str()]).await.map(drop)
    }

    async fn tree_of(&self, commit: &Commit) -> Result<String, WorkTreeError> {
        Ok(line(self.git.must("look at a commit", &["rev-parse", "--verify", &format!("{commit}^{{tree}}")]).await?))
    }

    /// A file for a bundle on its way.
    fn passing(&self) -> Result<tempfile::NamedTempFile, WorkTreeError> {
        tempfile::NamedTempFile::new_in(&self.git.repository).map_err(of(&self.git.repository))
    }
}

fn reference(commit: &Commit) -> String {
    format!("refs/aime/commits/{commit}")
}

fn line(bytes: Vec<u8>) -> String {
    String::from_utf8_lossy(&bytes).trim().to_owned()
}

fn of(path: &Path) -> impl FnOnce(std::io::Error) -> WorkTreeError {
    let path = path.to_owned();
    move |source| WorkTreeError::File { path, source }
}

async fn made(folder: &Path) -> Result<(), WorkTreeError> {
    fs::create_dir_all(folder).await.map_err(of(folder))
}

async fn write(path: &Path, text: &str) -> Result<(), WorkTreeError> {
    fs::write(path, text).await.map_err(of(path))
}
