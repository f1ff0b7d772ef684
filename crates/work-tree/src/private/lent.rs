//! The repository that a private folder shows: its own, with the references, settings and logs of that of the shared folder.

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

use tokio::{fs, task::spawn_blocking};

use super::copy;
use crate::{
    WorkTree, WorkTreeError,
    git::Git,
    tree::{as_path, create_folder, excluded, line, of, paths, write},
};

/// Settings of a repository that its private copies have, too: sections, and single ones.
const SHOWN: [&str; 13] = [
    "alias",
    "branch",
    "color",
    "core.sparsecheckout",
    "core.sparsecheckoutcone",
    "diff",
    "filter",
    "lfs",
    "merge",
    "pull",
    "push",
    "remote",
    "user",
];

impl WorkTree {
    /// Gives the folder a repository of its own for `inside` it, if `original` has one there. It shows the same branches, remotes, stashes and
    /// logs, and nothing that is done in it reaches the original. Returns the path of its objects, which are those of the original.
    pub(super) async fn lend_repository(
        &self,
        original: &Path,
        inside: &Path,
        excludes: &[PathBuf],
    ) -> Result<Option<String>, WorkTreeError> {
        let (original, folder) = (original.join(inside), self.git.folder.join(inside));
        if fs::symlink_metadata(original.join(".git")).await.is_err() {
            return Ok(None);
        }
        let place = tempfile::tempdir_in(&self.git.repository).map_err(of(&self.git.repository))?;
        let copy = place.path().join("copy");
        let mut clone: Vec<OsString> = ["clone", "--quiet", "--shared", "--no-checkout", "--template=", "--"].map(OsString::from).into();
        clone.extend([original.clone().into(), copy.clone().into()]);
        let plain = Git { index: None, ..self.git.clone() };
        let output = plain.run_plain(clone, Vec::new()).await?;
        if output.code != 0 {
            return Err(output.refused());
        }
        let own = folder.join(".git");
        create_folder(&folder).await?;
        fs::rename(copy.join(".git"), &own).await.map_err(of(&own))?;
        create_folder(&own.join("info")).await?;
        write(&own.join("info/exclude"), &excluded(excludes.iter().filter_map(|path| path.strip_prefix(inside).ok()))).await?;
        let objects = fs::read(own.join("objects/info/alternates")).await.ok().map(line);
        let ask = async |arguments: &[&str]| {
            let place = [OsString::from("-C"), original.clone().into()];
            let output = plain.run_plain(place.into_iter().chain(arguments.iter().map(OsString::from)).collect(), Vec::new()).await?;
            if output.code == 0 { Ok(output.stdout) } else { Err(output.refused()) }
        };
        let (index, skipped) = read_index(&ask(&["ls-files", "-t", "--stage", "-z"]).await?);
        let sparse = original.join(as_path(line(ask(&["rev-parse", "--git-path", "info/sparse-checkout"]).await?).as_bytes()));
        match fs::copy(&sparse, own.join("info/sparse-checkout")).await {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(of(&sparse)(error)),
            _ => {}
        }
        let lent = Git { repository: own.clone(), folder, ..plain.clone() };
        lent.run_ok_with_input(&["update-index", "-z", "--index-info"], index).await?;
        lent.run_ok_with_input(&["update-index", "-z", "--skip-worktree", "--stdin"], skipped).await?;
        // It fails if files were changed.
        lent.run(&["update-index", "-q", "--refresh"], Vec::new()).await?;
        // The settings may name programs, which only confined commands start. So they come last.
        show_as(&plain, &original, &own).await?;
        Ok(objects)
    }
}

/// Reads the output of `git ls-files -t --stage -z`. Returns the lines of the index, and the paths whose files are not in the folder.
fn read_index(listed: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let (mut index, mut skipped) = (Vec::new(), Vec::new());
    // `S MODE OBJECT STAGE<tab>PATH`, where `S` is the tag of files that are left out.
    for (tag, entry) in paths(listed).filter_map(|line| line.split_at_checked(2)) {
        index.extend_from_slice(entry);
        index.push(0);
        if let (b"S ", Some(path)) = (tag, entry.splitn(2, |byte| *byte == b'\t').nth(1)) {
            skipped.extend_from_slice(path);
            skipped.push(0);
        }
    }
    (index, skipped)
}

/// Makes a clone show what its original shows: references, settings and logs.
async fn show_as(git: &Git, original: &Path, clone: &Path) -> Result<(), WorkTreeError> {
    let run = async |place: OsString, arguments: &[&OsStr]| {
        let arguments = std::iter::once(place).chain(arguments.iter().map(|argument| (*argument).to_owned())).collect();
        let output = git.run_plain(arguments, Vec::new()).await?;
        if output.code == 0 { Ok(output.stdout) } else { Err(output.refused()) }
    };
    let of_clone = || {
        let mut place = OsString::from("--git-dir=");
        place.push(clone);
        place
    };
    run(of_clone(), &["remote", "remove", "origin"].map(OsStr::new)).await?;
    let fetch = ["fetch", "--quiet", "--no-tags", "--update-head-ok", "--update-shallow", "--no-write-fetch-head", "--"].map(OsStr::new);
    let references = [original.as_os_str(), OsStr::new("+refs/*:refs/*")];
    run(of_clone(), &[fetch.as_slice(), &references].concat()).await?;
    // With the settings of a worktree.
    let listing = ["config", "--no-includes", "--list", "-z"].map(OsStr::new);
    let listing = [[original.as_os_str()].as_slice(), &listing].concat();
    let listed = run("-C".into(), &listing).await?;
    let settings = fs::read_to_string(clone.join("config")).await.map_err(of(clone))?;
    let shown = shown_settings(&String::from_utf8_lossy(&listed));
    write(&clone.join("config"), &format!("{settings}{shown}")).await?;
    match fs::remove_dir_all(clone.join("logs")).await {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(of(clone)(error)),
        _ => {}
    }
    let (logs, own) = (original.join(".git/logs"), clone.join("logs"));
    if fs::symlink_metadata(&logs).await.is_ok_and(|logs| logs.is_dir()) {
        spawn_blocking(move || copy(logs, own)).await.map_err(std::io::Error::other).flatten().map_err(of(clone))?;
    }
    Ok(())
}

/// Returns the [`SHOWN`] settings in the form of a file; `listed` is the output of `git config --list -z`.
fn shown_settings(listed: &str) -> String {
    let escaped = |text: &str| text.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n");
    let entry = |entry: &str| {
        // Without a value it is true.
        let (key, value) = entry.split_once('\n').unwrap_or((entry, "true"));
        let ((path, name), section) = (key.rsplit_once('.')?, key.split('.').next()?);
        let inner = path.strip_prefix(section)?.strip_prefix('.').map(|inner| format!(" \"{}\"", escaped(inner))).unwrap_or_default();
        (SHOWN.contains(&section) || SHOWN.contains(&key)).then(|| format!("[{section}{inner}]\n\t{name} = \"{}\"\n", escaped(value)))
    };
    listed.split('\0').filter_map(entry).collect()
}
