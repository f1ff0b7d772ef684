//! Tests of importing work that was done elsewhere.

use super::*;
use crate::{Change, ConflictKind, Content, ImportedWork, UnrecordedReason};

fn file(text: &str) -> Option<Content> {
    Some(Content::File { bytes: text.as_bytes().to_vec(), is_executable: false })
}

/// Returns a piece of a task's work.
fn piece(task: &str, changes: &[(&str, Option<Content>)]) -> ImportedWork {
    let changes = changes.iter().map(|(path, content)| (PathBuf::from(path), content.clone())).collect();
    ImportedWork { authors: vec![author(task)], undoes: None, changes }
}

fn undone(task: &str, changes: &[(&str, Option<Content>)]) -> ImportedWork {
    ImportedWork { undoes: Some(Scope::task(task)), ..piece("back", changes) }
}

/// Content for a path whose last piece it is; the import does not read it.
fn comes() -> Option<Content> {
    Some(Content::TooLarge { size: 0 })
}

impl Place {
    /// Imports the pieces; `come` changes the folder.
    fn import(&self, recorder: &Recorder, work: &[ImportedWork], come: impl FnOnce(&Self)) {
        let came: Result<(), ()> = recorder.import(&Author::new(None, "trees"), work, || {
            come(self);
            Ok(())
        });
        came.unwrap();
        recorder.finish();
    }
}

/// Returns the recorded changes of a run by path, with their authors.
fn kept(place: &Place) -> Vec<(PathBuf, Vec<String>)> {
    let kept = UndoData::read(&place.path(".aime"), "r").unwrap().unwrap();
    let names = |by: Vec<&Author>| by.iter().map(|author| author.task.clone().unwrap_or_else(|| author.tool.clone())).collect();
    kept.changes().map(|(Change { path, .. }, by)| (path, names(by))).collect()
}

#[test]
fn each_piece_is_undone_by_itself() {
    let place = Place::new();
    let before = place.tree();
    let work = [
        piece("one", &[("a.txt", file("1")), ("new/within/x", comes())]),
        piece("two", &[("new/y", comes()), ("sub/deep/c.bin", None), (".aime/runs/r/output.txt", comes())]),
        piece("three", &[("a.txt", comes()), ("run.sh", comes())]),
    ];
    place.import(&place.recorder(), &work, |place| {
        fs::create_dir_all(place.path("new/within")).unwrap();
        place.write("new/within/x", "x");
        place.write("new/y", "y");
        fs::remove_dir_all(place.path("sub/deep")).unwrap();
        place.write("a.txt", "3");
        place.write("run.sh", "3");
    });
    let by = |path: &str, tasks: &[&str]| (PathBuf::from(path), tasks.iter().map(|task| (*task).to_owned()).collect());
    let expected = [
        by("a.txt", &["one", "three"]),
        by("new", &["one"]),
        by("new/within", &["one"]),
        by("new/within/x", &["one"]),
        by("new/y", &["two"]),
        by("run.sh", &["three"]),
        by("sub/deep", &["two"]),
        by("sub/deep/c.bin", &["two"]),
    ];
    assert_eq!(kept(&place), expected);
    let recorder = place.recorder();
    let plan = recorder.plan(&Scope::task("one"), false).unwrap();
    let left: Vec<_> = plan.conflicts.iter().map(|conflict| (conflict.path.to_str().unwrap(), conflict.kind.clone())).collect();
    assert_eq!(left, [("a.txt", ConflictKind::AlsoBy(vec!["three".to_owned()]))]);
    undo(&recorder, &Scope::task("three"));
    assert_eq!((place.read("a.txt"), place.read("run.sh")), ("1".into(), "#!/bin/sh\n".into()));
    undo(&recorder, &Scope::task("two"));
    assert_eq!(place.read("sub/deep/c.bin"), "\0\u{1}");
    undo(&recorder, &Scope::task("one"));
    assert_eq!(place.tree(), before);
}

#[test]
fn what_was_undone_elsewhere_is_undone_here_and_can_be_put_back() {
    let place = Place::new();
    place.set_mode("a.txt", 0o600);
    let before = place.tree();
    let work = [
        piece("one", &[("a.txt", file("1")), ("x", file("x"))]),
        undone("one", &[("a.txt", file("a\n")), ("x", None)]),
        piece("two", &[("run.sh", comes())]),
    ];
    place.import(&place.recorder(), &work, |place| place.write("run.sh", "2"));
    assert_eq!(kept(&place), [(PathBuf::from("run.sh"), vec!["two".to_owned()])]);
    let recorder = place.recorder();
    assert!(recorder.plan(&Scope::task("one"), false).unwrap().is_empty(), "it is undone already");
    let number = recorder.last_undo().unwrap().unwrap();
    undo(&recorder, &Scope::Undo { number });
    assert_eq!((place.read("a.txt"), place.read("x"), place.read("run.sh")), ("1".into(), "x".into(), "2".into()));
    undo(&recorder, &Scope::Run {});
    assert_eq!(place.tree(), before);
}

#[test]
fn more_work_comes_after_what_came_and_what_was_done_here() {
    let place = Place::new();
    place.import(&place.recorder(), &[piece("one", &[("a.txt", comes())])], |place| place.write("a.txt", "1"));
    place.write("none.txt", "by me");
    place.import(&place.recorder(), &[piece("two", &[("a.txt", comes()), ("run.sh", comes())])], |place| {
        place.write("a.txt", "2");
        place.write("run.sh", "2");
    });
    let recorder = place.recorder();
    undo(&recorder, &Scope::task("two"));
    assert_eq!((place.read("a.txt"), place.read("none.txt")), ("1".into(), "by me".into()));
    undo(&recorder, &Scope::Run {});
    assert_eq!((place.read("a.txt"), place.read("none.txt")), ("a\n".into(), "by me".into()));
}

#[test]
fn work_that_does_not_come_leaves_what_it_did_to_nobody_of_its_own() {
    let place = Place::new();
    let recorder = place.recorder();
    let work = [piece("one", &[("a.txt", file("1"))]), piece("two", &[("a.txt", comes()), ("run.sh", comes())])];
    let came: Result<(), &str> = recorder.import(&Author::new(None, "trees"), &work, || {
        place.write("run.sh", "half");
        Err("cut off")
    });
    assert_eq!(came, Err("cut off"));
    recorder.finish();
    assert_eq!(kept(&place), [(PathBuf::from("run.sh"), vec!["trees".to_owned()])]);
}

#[test]
fn what_a_process_that_died_had_brought_is_kept_as_one() {
    let place = Place::new();
    let before = place.tree();
    let recorder = place.recorder();
    let work = [piece("one", &[("a.txt", comes())])];
    let died = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _came: Result<(), ()> = recorder.import(&Author::new(None, "trees"), &work, || {
            place.write("a.txt", "1");
            panic!("killed");
        });
    }));
    assert!(died.is_err());
    recorder.killed();
    let recorder = place.recorder();
    undo(&recorder, &Scope::Run {});
    assert_eq!(place.tree(), before);
}

#[test]
fn what_is_too_large_between_two_pieces_is_not_put_back() {
    let place = Place::new();
    let work = [piece("one", &[("a.txt", Some(Content::TooLarge { size: 1 << 30 }))]), piece("two", &[("a.txt", comes())])];
    place.import(&place.recorder(), &work, |place| place.write("a.txt", "2"));
    let recorder = place.recorder();
    let plan = recorder.plan(&Scope::task("two"), false).unwrap();
    assert_eq!(
        plan.conflicts.iter().map(|conflict| conflict.kind.clone()).collect::<Vec<_>>(),
        [ConflictKind::NotKept(UnrecordedReason::TooLarge)]
    );
    undo(&recorder, &Scope::Run {});
    assert_eq!(place.read("a.txt"), "a\n");
}

#[test]
fn what_an_undo_left_that_stood_there_never_is_work_of_its_own() {
    let place = Place::new();
    let before = place.tree();
    let work = [
        piece("one", &[("a.txt", file("1"))]),
        // The undo was merged with other work, and a hook made changes.
        undone("one", &[("a.txt", comes()), ("run.sh", comes())]),
    ];
    place.import(&place.recorder(), &work, |place| {
        place.write("a.txt", "joined");
        place.write("run.sh", "by a hook");
    });
    let recorder = place.recorder();
    let plan = recorder.plan(&Scope::task("one"), false).unwrap();
    assert_eq!(
        plan.conflicts.iter().map(|conflict| conflict.kind.clone()).collect::<Vec<_>>(),
        [ConflictKind::AlsoBy(vec!["back".to_owned()])]
    );
    undo(&recorder, &Scope::Run {});
    assert_eq!(place.tree(), before);
}

#[test]
fn modes_that_do_not_travel_stand_in_the_way_of_nothing() {
    let place = Place::new();
    place.set_mode("a.txt", 0o600);
    let before = place.tree();
    let work = [piece("one", &[("a.txt", file("1"))]), piece("three", &[("a.txt", file("3"))]), undone("three", &[("a.txt", comes())])];
    place.import(&place.recorder(), &work, |place| {
        place.write("a.txt", "1");
        place.set_mode("a.txt", 0o644);
    });
    let recorder = place.recorder();
    let number = recorder.last_undo().unwrap().unwrap();
    undo(&recorder, &Scope::Undo { number });
    assert_eq!(place.read("a.txt"), "3");
    undo(&recorder, &Scope::Run {});
    assert_eq!(place.tree(), before);
}

#[test]
fn folders_come_and_go_with_what_is_in_them() {
    let place = Place::new();
    let before = place.tree();
    let work = [
        piece("one", &[("drafts/deep/one.txt", file("1"))]),
        undone("one", &[("drafts/deep/one.txt", None)]),
        piece("two", &[("new/two.txt", comes()), ("sub/deep/c.bin", None)]),
        piece("three", &[("new/three.txt", comes()), ("sub/deep/c.bin", comes())]),
    ];
    place.import(&place.recorder(), &work, |place| {
        fs::create_dir(place.path("new")).unwrap();
        place.write("new/two.txt", "2");
        place.write("new/three.txt", "3");
    });
    let recorder = place.recorder();
    let number = recorder.last_undo().unwrap().unwrap();
    undo(&recorder, &Scope::Undo { number });
    assert_eq!(place.read("drafts/deep/one.txt"), "1");
    undo(&recorder, &Scope::Run {});
    assert_eq!(place.tree(), before, "no folder is left behind");
}

#[test]
fn work_comes_also_where_nothing_can_be_kept() {
    let place = Place::new();
    let recorder = place.recorder_of("r", UndoSettings { reserve_bytes: u64::MAX, ..UndoSettings::default() });
    assert!(recorder.is_recording());
    place.import(&recorder, &[piece("one", &[("a.txt", comes())])], |place| place.write("a.txt", "1"));
    assert_eq!((place.read("a.txt").as_str(), recorder.is_recording()), ("1", false));
    assert_eq!(recorder.notes().len(), 1);
}
