mod bringing;
mod conflicts;
mod crashes;
mod effects;
mod random;
mod scans;
mod several;
mod space;

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs,
    os::unix::{
        ffi::OsStrExt,
        fs::{PermissionsExt, symlink},
    },
    path::{Path, PathBuf},
    sync::Arc,
};

use aime_sandbox::ConfinedFolder;
use tempfile::TempDir;

use crate::{Author, Entry, Recorder, Scope, UndoData, UndoResult, UndoSettings};

/// A folder with an entry of each type.
struct Place {
    outer: TempDir,
    folder: ConfinedFolder,
}

/// Everything in a folder: modes and contents.
type Tree = BTreeMap<PathBuf, (u32, Vec<u8>)>;

fn odd_name() -> &'static Path {
    Path::new(OsStr::from_bytes(b"caf\xe9 50%"))
}

impl Place {
    fn new() -> Self {
        let place = Self::empty();
        for folder in ["empty", "sub/deep", "private"] {
            fs::create_dir_all(place.path(folder)).unwrap();
        }
        for (name, content) in [("a.txt", "a\n"), ("crlf.txt", "one\r\ntwo\r\n"), ("sub/b.txt", "b"), ("sub/deep/c.bin", "\0\u{1}")] {
            fs::write(place.path(name), content).unwrap();
        }
        fs::write(place.path("run.sh"), "#!/bin/sh\n").unwrap();
        fs::write(place.path(odd_name()), b"odd").unwrap();
        fs::write(place.path("none.txt"), "").unwrap();
        symlink("sub/b.txt", place.path("link")).unwrap();
        symlink("/nowhere/at all", place.path("sub/dangling")).unwrap();
        place.set_mode("run.sh", 0o750);
        place.set_mode("private", 0o700);
        place.set_mode("sub/b.txt", 0o444);
        place
    }

    fn empty() -> Self {
        let outer = tempfile::tempdir().unwrap();
        fs::create_dir(outer.path().join("w")).unwrap();
        fs::write(outer.path().join("secret"), "outside").unwrap();
        let folder = ConfinedFolder::open(outer.path().join("w")).unwrap();
        Self { outer, folder }
    }

    fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: impl AsRef<Path>, content: &str) {
        fs::write(self.path(name), content).unwrap();
    }

    fn read(&self, name: impl AsRef<Path>) -> String {
        String::from_utf8_lossy(&fs::read(self.path(name)).unwrap()).into_owned()
    }

    fn set_mode(&self, name: impl AsRef<Path>, mode: u32) {
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(mode)).unwrap();
    }

    fn recorder(&self) -> Arc<Recorder> {
        self.recorder_of("r", UndoSettings { reserve_bytes: 0, ..UndoSettings::default() })
    }

    fn recorder_of(&self, run: &str, settings: UndoSettings) -> Arc<Recorder> {
        Arc::new(Recorder::new(self.folder.clone(), &self.path(".aime"), run, settings))
    }

    /// Changes the folder as a command of a task does.
    fn by(&self, recorder: &Arc<Recorder>, task: &str, work: impl FnOnce(&Self)) {
        let window = recorder.open(author(task)).unwrap();
        work(self);
        recorder.close(window);
    }

    fn tree(&self) -> Tree {
        let mut tree = Tree::new();
        collect(self.folder.path(), Path::new(""), &mut tree);
        tree
    }
}

fn author(task: &str) -> Author {
    Author::new(Some(task), "bash")
}

fn collect(root: &Path, at: &Path, tree: &mut Tree) {
    for entry in fs::read_dir(root.join(at)).unwrap() {
        let entry = entry.unwrap();
        let path = at.join(entry.file_name());
        if path == Path::new(".aime") {
            continue;
        }
        let facts = entry.metadata().unwrap();
        let (mode, content) = if facts.is_symlink() {
            (0, fs::read_link(entry.path()).unwrap().as_os_str().as_bytes().to_vec())
        } else if facts.is_dir() {
            collect(root, &path, tree);
            (facts.permissions().mode(), b"folder".to_vec())
        } else {
            (facts.permissions().mode(), fs::read(entry.path()).unwrap())
        };
        tree.insert(path, (mode, content));
    }
}

/// Undoes a scope completely and without a conflict.
#[track_caller]
fn undo(recorder: &Recorder, scope: &Scope) -> UndoResult {
    let plan = recorder.plan(scope, false).unwrap();
    assert_eq!(plan.conflicts, []);
    let undone = recorder.undo(&plan).unwrap();
    assert!(undone.failed.is_empty(), "{:?}", undone.failed);
    undone
}

/// Removes, changes and adds entries, and replaces some by others of another type.
fn ravage(place: &Place) {
    fs::remove_dir_all(place.path("sub")).unwrap();
    fs::remove_dir(place.path("empty")).unwrap();
    fs::remove_file(place.path(odd_name())).unwrap();
    fs::remove_file(place.path("run.sh")).unwrap();
    fs::remove_file(place.path("link")).unwrap();
    place.write("a.txt", "changed");
    place.write("crlf.txt", "one\ntwo\n");
    fs::create_dir_all(place.path("new/within")).unwrap();
    place.write("new/within/file", "new");
    fs::create_dir(place.path("link")).unwrap();
    place.write("link/is-a-folder", "now");
    symlink("..", place.path("sub")).unwrap();
    place.set_mode("private", 0o755);
    place.set_mode("none.txt", 0o600);
}

#[test]
fn what_a_run_did_to_a_folder_is_undone_to_the_byte_and_the_mode() {
    let place = Place::new();
    let before = place.tree();
    let recorder = place.recorder();
    place.by(&recorder, "clean", ravage);
    recorder.finish();
    assert_ne!(place.tree(), before);
    // Simulates a later process.
    let recorder = place.recorder();
    undo(&recorder, &Scope::Run {});
    assert_eq!(place.tree(), before);
    assert_eq!(fs::read_to_string(place.outer.path().join("secret")).unwrap(), "outside");
    assert!(recorder.plan(&Scope::Run {}, false).unwrap().is_empty(), "nothing is left to be done");
}

#[test]
fn an_undo_can_be_undone_and_done_again() {
    let place = Place::new();
    let before = place.tree();
    let recorder = place.recorder();
    place.by(&recorder, "clean", ravage);
    let after = place.tree();
    for _ in 0..2 {
        undo(&recorder, &Scope::Run {});
        assert_eq!(place.tree(), before);
        let number = recorder.last_undo().unwrap().unwrap();
        undo(&recorder, &Scope::Undo { number });
        assert_eq!(place.tree(), after);
        assert_eq!(recorder.last_undo().unwrap(), None);
    }
}

#[test]
fn the_undo_of_a_task_leaves_the_others_alone() {
    let place = Place::new();
    let recorder = place.recorder();
    let watched = |task: &str| place.folder.clone().watched_by(recorder.watcher(Author::new(Some(task), "write_file")));
    watched("one").write("a.txt", b"by one").unwrap();
    watched("two").write("new/folder/b.txt", b"by two").unwrap();
    place.by(&recorder, "three", |place| fs::remove_file(place.path("run.sh")).unwrap());
    watched("one").write("one.txt", b"new").unwrap();
    watched("one").remove_file("none.txt").unwrap();
    recorder.finish();
    let recorder = place.recorder();
    undo(&recorder, &Scope::task("one"));
    assert_eq!(place.read("a.txt"), "a\n");
    assert!(!place.path("one.txt").exists() && place.path("none.txt").exists());
    assert_eq!(place.read("new/folder/b.txt"), "by two");
    undo(&recorder, &Scope::task("two"));
    assert!(!place.path("new").exists(), "the folders that came with it go with it");
    undo(&recorder, &Scope::Run {});
    assert_eq!(place.tree(), Place::new().tree());
}

#[test]
fn tasks_are_undone_one_after_the_other_from_the_last() {
    let place = Place::new();
    let before = place.tree();
    let recorder = place.recorder();
    place.by(&recorder, "one", |place| place.write("a.txt", "1"));
    place.by(&recorder, "two", |place| place.write("a.txt", "2"));
    undo(&recorder, &Scope::task("two"));
    assert_eq!(place.read("a.txt"), "1");
    undo(&recorder, &Scope::task("one"));
    assert_eq!(place.tree(), before);
}
