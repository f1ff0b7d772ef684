//! The git repository of a working folder whose git folder lies outside of it: in a linked worktree, a submodule or a subfolder.
//!
//! A `.git` file is untrusted, because a command or a downloaded project may have written it. So the folder that it names counts only if it
//! is a git folder that names the work tree back. Nothing inside the working folder can forge that.

use std::{
    fs::File,
    io::Read,
    path::{Path, PathBuf},
};

/// Files that git reads in the folders of a work tree.
const FILES: [&str; 5] = [".git", ".gitattributes", ".gitignore", ".gitmodules", ".mailmap"];
/// Maximum size of a file that names a folder.
const MAX_BYTES: u64 = 64 * 1024;

/// Places outside of a working folder that git reads.
pub(super) struct OuterRepository {
    /// Top folder of the work tree.
    pub(super) root: PathBuf,
    /// Git folder. For a linked worktree, that of its repository.
    pub(super) git_folder: PathBuf,
    /// Files in the folders of the work tree above the working folder.
    pub(super) files: Vec<PathBuf>,
}

impl OuterRepository {
    /// Finds the repository of a working folder; `None` if there is none, or if its git folder lies in the working folder.
    pub(super) fn of(working_folder: &Path) -> Option<Self> {
        let folder = working_folder.canonicalize().ok()?;
        let (root, git_folder) = folder.ancestors().find_map(|root| Some((root, git_folder(root)?)))?;
        if git_folder.starts_with(&folder) {
            return None;
        }
        let above = folder.ancestors().skip(1).take_while(|above| above.starts_with(root));
        let files = above.flat_map(|above| FILES.map(|name| above.join(name))).filter(|file| is_file(file)).collect();
        Some(Self { root: root.to_owned(), git_folder, files })
    }
}

/// Returns the git folder of the work tree with this top folder, which is a path without links.
fn git_folder(root: &Path) -> Option<PathBuf> {
    let entry = root.join(".git");
    if entry.symlink_metadata().ok()?.is_dir() {
        return is_git_folder(&entry).then_some(entry);
    }
    let folder = path_in(&entry, "gitdir:")?;
    if let Some(common) = path_in(&folder.join("commondir"), "") {
        let is_own = folder.parent() == Some(common.join("worktrees").as_path()) && folder.join("HEAD").is_file();
        let names_back = path_in(&folder.join("gitdir"), "").is_some_and(|file| file == entry);
        return (is_own && names_back && is_git_folder(&common)).then_some(common);
    }
    let settings = text(&folder.join("config"))?;
    let mut lines = settings.lines();
    let work_tree = lines.find_map(|line| line.trim().strip_prefix("worktree")?.trim_start().strip_prefix('='))?;
    let names_back = folder.join(work_tree.trim()).canonicalize().is_ok_and(|folder| folder == root);
    (names_back && is_git_folder(&folder)).then_some(folder)
}

fn is_git_folder(folder: &Path) -> bool {
    folder.join("HEAD").is_file() && folder.join("objects").is_dir()
}

/// Returns the path in a file after a prefix, without links. It is relative to the folder of the file.
fn path_in(file: &Path, prefix: &str) -> Option<PathBuf> {
    let text = text(file)?;
    file.parent()?.join(text.strip_prefix(prefix)?.trim()).canonicalize().ok()
}

fn text(file: &Path) -> Option<String> {
    if !is_file(file) {
        return None;
    }
    let mut text = String::new();
    File::open(file).ok()?.take(MAX_BYTES).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Returns true if this is a regular file. The target of a link is elsewhere, perhaps a secret.
fn is_file(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|metadata| metadata.is_file())
}
