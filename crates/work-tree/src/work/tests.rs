use std::{ffi::OsString, fs, os::unix::fs::symlink, path::Path};

use super::{WorkMergeResult, WorkTree};
use crate::{Commit, Extras, FileConflict, FolderMerge, PrivateFolders};

const TEXT: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n";
const HOME: &str = ".aime/runs/r/private/b-1";

#[expect(clippy::disallowed_methods, reason = "git is found as the tests' own environment says")]
fn path() -> OsString {
    std::env::var_os("PATH").unwrap()
}

fn edit(folder: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(folder.join("text")).unwrap();
    assert!(text.contains(from), "{from} in {text}");
    fs::write(folder.join("text"), text.replacen(from, to, 1)).unwrap();
}

fn point(folder: &Path, target: &str) {
    let link = folder.join("pointer");
    drop(fs::remove_file(&link));
    symlink(target, link).unwrap();
}

/// Fills a folder.
fn begin(folder: &Path) {
    fs::create_dir_all(folder).unwrap();
    for name in ["text", "cut", "gone"] {
        fs::write(folder.join(name), TEXT).unwrap();
    }
    fs::write(folder.join("image"), [0, 1, 2]).unwrap();
    point(folder, "text");
}

/// Work of two tasks, each of which changes what the other does.
fn work_of_a(folder: &Path) {
    edit(folder, "one", "a's");
    fs::write(folder.join("image"), [0, 1, 3]).unwrap();
    fs::write(folder.join("cut"), "a's\n").unwrap();
    fs::remove_file(folder.join("gone")).unwrap();
    point(folder, "cut");
    fs::write(folder.join("place"), "a's file\n").unwrap();
}

fn work_of_b(folder: &Path) {
    edit(folder, "one", "b's");
    edit(folder, "seven", "7");
    fs::write(folder.join("image"), [0, 1, 4]).unwrap();
    fs::remove_file(folder.join("cut")).unwrap();
    fs::write(folder.join("gone"), "b's\n").unwrap();
    point(folder, "image");
    fs::create_dir(folder.join("place")).unwrap();
    fs::write(folder.join("place/inner"), "b's\n").unwrap();
    fs::write(folder.join("new"), "b's\n").unwrap();
}

/// A folder of a host, and the states of two tasks that began from the same one.
struct Host {
    root: tempfile::TempDir,
    tree: WorkTree,
}

impl Host {
    async fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("work");
        fs::create_dir(&folder).unwrap();
        let tree = WorkTree::open(&folder, &root.path().join("states.git"), path()).await.unwrap();
        Self { root, tree }
    }

    /// Work in a folder with a state.
    async fn work(&self, from: Option<&Commit>, work: impl FnOnce(&Path)) -> Commit {
        if let Some(from) = from {
            self.tree.check_out(from, "r").await.unwrap();
        }
        let folder = self.root.path().join("work");
        work(&folder);
        self.tree.record_for(from, &[HOME.into()], "by").await.unwrap()
    }

    async fn read(&self, commit: &Commit, path: &str) -> Option<Vec<u8>> {
        let blob = self.tree.blob(commit.as_str(), Path::new(path)).await.unwrap()?;
        Some(self.tree.content(&blob).await.unwrap())
    }

    async fn merge(&self, ours: &Commit, theirs: &Commit, open: &[FileConflict]) -> WorkMergeResult {
        self.tree.merge_work(ours, theirs, open, Path::new(HOME)).await.unwrap()
    }

    /// Returns the paths that a state keeps of the work.
    async fn home(&self, commit: &Commit) -> Vec<String> {
        let all: Vec<_> = self.tree.beneath(commit.as_str(), Path::new(HOME)).await.unwrap();
        all.into_iter().map(|(path, _)| path.to_str().unwrap().to_owned()).collect()
    }

    /// Returns the shared state after `a`, and the conflicts of `b` with it.
    async fn conflict(&self) -> (Commit, Commit, Vec<FileConflict>) {
        let first = self.work(None, begin).await;
        let a = self.work(Some(&first), work_of_a).await;
        let b = self.work(Some(&first), work_of_b).await;
        let WorkMergeResult::Conflict { shared, private, conflicts } = self.merge(&a, &b, &[]).await else {
            panic!("they do not conflict")
        };
        (shared, private, conflicts)
    }
}

/// Returns what people and actors see of conflicts, sorted by path. Generated names contain those of states.
fn seen(conflicts: Vec<FileConflict>, own: impl Fn(&Path) -> Vec<u8>) -> Vec<(String, &'static str, String, Option<Vec<u8>>)> {
    let path = |path: &str| path.split('~').next().unwrap_or_default().to_owned();
    let mut seen: Vec<_> = conflicts
        .into_iter()
        .map(|conflict| (path(&conflict.path), conflict.kind.name(), conflict.hunks, conflict.own.as_deref().map(&own)))
        .collect();
    seen.sort();
    seen
}

/// A run whose folder goes from host to host finds the same conflicts as one in a folder.
// Requirement: 9.2
#[tokio::test]
async fn states_conflict_as_private_folders_do() {
    let host = Host::new().await;
    let (shared, private, found) = host.conflict().await;
    let mut versions = std::collections::BTreeMap::new();
    for conflict in &found {
        if let Some(own) = &conflict.own {
            assert!(own.starts_with(Path::new(HOME).join("own")), "{own:?}");
            let kept = host.read(&shared, own.to_str().unwrap()).await;
            assert!(kept == host.read(&private, own.to_str().unwrap()).await, "the task can read it, too");
            versions.insert(own.clone(), kept.expect("the shared state keeps it"));
        }
    }
    let of_states = seen(found, |own| versions[own].clone());

    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("work");
    begin(&folder);
    let folders = PrivateFolders::open(&folder, &root.path().join("place"), path()).await.unwrap();
    let (a, b) = (folders.begin("a", &Extras::default()).await.unwrap(), folders.begin("b", &Extras::default()).await.unwrap());
    work_of_a(a.path());
    work_of_b(b.path());
    assert_eq!(folders.merge(&a, "a").await.unwrap(), FolderMerge::Clean);
    let FolderMerge::Conflict(found) = folders.merge(&b, "b").await.unwrap() else { panic!("they do not conflict") };
    let content = |own: &Path| match fs::read_link(own) {
        Ok(target) => target.into_os_string().into_encoded_bytes(),
        Err(_) => fs::read(own).unwrap(),
    };
    assert_eq!(of_states, seen(found, content));
    let kinds: Vec<_> = of_states.iter().map(|(path, kind, ..)| (path.as_str(), *kind)).collect();
    let expected = [("cut", "delete_edit"), ("gone", "delete_edit"), ("image", "binary"), ("place", "place"), ("pointer", "symlink")];
    assert_eq!(kinds, [&expected[..], &[("text", "text")]].concat());

    // The shared state is that of `a`, and the private one is that of the private folder.
    for (path, text) in [("text", TEXT.replace("one", "a's")), ("cut", "a's\n".to_owned()), ("place", "a's file\n".to_owned())] {
        assert_eq!(host.read(&shared, path).await, Some(text.clone().into_bytes()), "{path}");
        assert_eq!(fs::read_to_string(folder.join(path)).unwrap(), text);
    }
    assert_eq!((host.read(&shared, "new").await, host.read(&shared, "gone").await), (None, None));
    for path in ["image", "gone", "cut", "place/inner", "new"] {
        assert_eq!(host.read(&private, path).await, fs::read(b.path().join(path)).ok(), "{path}");
    }
}

// Requirement: 9.2
#[tokio::test]
async fn a_state_is_merged_once_its_markers_are_gone() {
    let host = Host::new().await;
    let (shared, private, found) = host.conflict().await;
    let resolve = |folder: &Path| {
        let text = fs::read_to_string(folder.join("text")).unwrap();
        for side in ["<<<<<<< working-folder-0-g", ">>>>>>> this-task-0-g"] {
            assert_eq!(text.matches(side).count(), 1, "{text}");
        }
        let kept = text.lines().filter(|line| !["<<<", "===", ">>>"].iter().any(|mark| line.starts_with(mark)));
        fs::write(folder.join("text"), kept.collect::<Vec<_>>().join("\n") + "\n").unwrap();
        fs::write(folder.join("image"), [0, 1, 4]).unwrap();
        // A command of the task cannot take its own versions away.
        fs::remove_dir_all(folder.join(HOME)).unwrap();
    };
    let untouched = host.work(Some(&private), |folder| fs::write(folder.join("more"), "b's\n").unwrap()).await;
    let WorkMergeResult::Conflict { shared: same, private: same_private, conflicts } = host.merge(&shared, &untouched, &found).await else {
        panic!("the markers are still there")
    };
    assert_eq!((&same, &same_private, &conflicts), (&shared, &untouched, &found));
    let meanwhile = host.work(Some(&shared), |folder| edit(folder, "four", "4")).await;
    let resolved = host.work(Some(&untouched), resolve).await;
    let WorkMergeResult::Clean { shared: both, resolved } = host.merge(&meanwhile, &resolved, &found).await else {
        panic!("nothing is open")
    };
    let text = TEXT.replace("one", "a's\nb's").replace("four", "4").replace("seven", "7");
    assert_eq!(host.read(&both, "text").await, Some(text.into_bytes()));
    assert_eq!((host.read(&both, "image").await, host.read(&both, "more").await), (Some(vec![0, 1, 4]), Some(b"b's\n".to_vec())));
    // The actor chose its own image, and left the link and the deleted file as the others had them.
    let kept: Vec<_> = resolved.iter().filter_map(|conflict| Some((conflict.path.as_str(), conflict.own.as_ref()?))).collect();
    assert_eq!(kept.iter().map(|(path, _)| *path).collect::<Vec<_>>(), ["pointer"], "{resolved:?}");
    assert_eq!(host.read(&both, kept[0].1.to_str().unwrap()).await, Some(b"image".to_vec()));
    assert_eq!(host.home(&both).await, ["kept", "own/pointer"]);
}

#[tokio::test]
async fn nothing_is_kept_of_a_conflict_of_text_that_is_resolved() {
    let host = Host::new().await;
    let first = host.work(None, begin).await;
    let a = host.work(Some(&first), |folder| edit(folder, "one", "a's")).await;
    let b = host.work(Some(&first), |folder| edit(folder, "one", "b's")).await;
    let WorkMergeResult::Conflict { shared, private, conflicts } = host.merge(&a, &b, &[]).await else { panic!("they do not conflict") };
    let own = conflicts[0].own.clone().unwrap();
    assert_eq!(host.read(&shared, own.to_str().unwrap()).await, Some(TEXT.replace("one", "b's").into_bytes()));
    // Its second attempt conflicts with what was merged meanwhile: both of its versions are kept.
    let meanwhile = host.work(Some(&shared), |folder| edit(folder, "a's", "another's")).await;
    let mine = host.work(Some(&private), |folder| fs::write(folder.join("text"), TEXT.replace("one", "b's second")).unwrap()).await;
    let WorkMergeResult::Conflict { shared, private, conflicts } = host.merge(&meanwhile, &mine, &conflicts).await else {
        panic!("they do not conflict")
    };
    let older = format!("{}.1", own.display());
    assert_eq!(host.read(&shared, &older).await, Some(TEXT.replace("one", "b's").into_bytes()));
    let resolved = host.work(Some(&private), |folder| fs::write(folder.join("text"), "both\n").unwrap()).await;
    let WorkMergeResult::Clean { shared, resolved } = host.merge(&shared, &resolved, &conflicts).await else { panic!("nothing is open") };
    assert_eq!(resolved, [FileConflict { own: None, hunks: String::new(), ..conflicts[0].clone() }]);
    assert_eq!(host.read(&shared, "text").await, Some(b"both\n".to_vec()));
    assert_eq!(host.home(&shared).await, Vec::<String>::new());
}
