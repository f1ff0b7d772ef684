use super::*;
use crate::{UndoError, clean};

fn kept(place: &Place) -> usize {
    let Ok(folders) = fs::read_dir(place.path(".aime/undo/objects")) else { return 0 };
    folders.map(|folder| fs::read_dir(folder.unwrap().path()).unwrap().count()).sum()
}

#[test]
fn a_disk_that_is_nearly_full_ends_the_keeping_and_not_the_work() {
    let place = Place::new();
    let recorder = place.recorder_of("r", UndoSettings { reserve_bytes: u64::MAX / 2, ..UndoSettings::default() });
    let watched = place.folder.clone().watched_by(recorder.watcher(Author::new(Some("t"), "write_file")));
    watched.write("a.txt", b"written").unwrap();
    assert_eq!(place.read("a.txt"), "written");
    let notes = recorder.notes();
    assert!(notes[0].to_string().starts_with("only "), "{notes:?}");
    assert!(recorder.open(author("t")).is_none());
    watched.write("b.txt", b"written").unwrap();
    assert_eq!((recorder.notes(), kept(&place)), (Vec::new(), 0));
    recorder.finish();
    let later = place.recorder();
    assert!(later.lost().unwrap().is_some_and(|reason| reason.to_string().starts_with("only ")));
    assert!(later.plan(&Scope::Run {}, false).unwrap().is_empty());
}

#[test]
fn a_folder_that_is_too_large_is_kept_in_part() {
    let place = Place::empty();
    for name in ["a", "b", "c", "d"] {
        place.write(name, &name.repeat(100));
    }
    let recorder = place.recorder_of("r", UndoSettings { max_folder_bytes: 200, reserve_bytes: 0, ..UndoSettings::default() });
    place.by(&recorder, "t", |place| {
        for name in ["a", "b", "c", "d"] {
            fs::remove_file(place.path(name)).unwrap();
        }
    });
    let plan = recorder.plan(&Scope::Run {}, false).unwrap();
    let named = |paths: Vec<&PathBuf>| paths.into_iter().map(|path| path.display().to_string()).collect::<Vec<_>>();
    assert_eq!(named(plan.changes.iter().map(|change| &change.path).collect()), ["a", "b"]);
    assert_eq!(named(plan.conflicts.iter().map(|conflict| &conflict.path).collect()), ["c", "d"]);
}

#[test]
fn what_no_run_needs_is_removed() {
    let place = Place::empty();
    place.write("a", "1");
    place.write("b", "stays");
    for (run, content) in [("one", "2"), ("two", "3")] {
        let recorder = place.recorder_of(run, UndoSettings { reserve_bytes: 0, ..UndoSettings::default() });
        place.by(&recorder, "t", |place| place.write("a", content));
        recorder.finish();
    }
    assert_eq!(kept(&place), 4);
    clean(&place.path(".aime")).unwrap();
    assert_eq!(kept(&place), 4, "each is needed");
    fs::remove_dir_all(place.path(".aime/runs/one")).unwrap();
    clean(&place.path(".aime")).unwrap();
    assert_eq!(kept(&place), 3, "the first content of a file was the first run's alone");
    let recorder = place.recorder_of("two", UndoSettings { reserve_bytes: 0, ..UndoSettings::default() });
    undo(&recorder, &Scope::Run {});
    assert_eq!(place.read("a"), "2");
    // While a run records changes nothing is removed.
    fs::remove_dir_all(place.path(".aime/runs")).unwrap();
    clean(&place.path(".aime")).unwrap();
    assert_eq!(kept(&place), 3);
    drop(recorder);
    clean(&place.path(".aime")).unwrap();
    assert_eq!(kept(&place), 2);
}

#[test]
fn the_oldest_runs_give_way() {
    let place = Place::empty();
    place.write("a", &"x".repeat(1000));
    for (run, content) in [("one", "y"), ("two", "z")] {
        let recorder = place.recorder_of(run, UndoSettings { max_store_bytes: 2500, reserve_bytes: 0, ..UndoSettings::default() });
        place.by(&recorder, "t", |place| place.write("a", &content.repeat(1000)));
        recorder.finish();
    }
    let first = place.recorder_of("one", UndoSettings::default());
    assert!(first.lost().unwrap().is_some_and(|reason| reason.to_string().contains("undo.store_mb")));
    drop(first);
    let second = place.recorder_of("two", UndoSettings { reserve_bytes: 0, ..UndoSettings::default() });
    undo(&second, &Scope::Run {});
    assert_eq!(place.read("a"), "y".repeat(1000));
}

#[test]
fn content_that_was_damaged_is_not_put_back() {
    let place = Place::new();
    let recorder = place.recorder();
    place.by(&recorder, "t", |place| place.write("a.txt", "changed"));
    let hash = aime_durable::content_name(b"a\n");
    let (start, rest) = hash.split_at(2);
    let object = place.path(format!(".aime/undo/objects/{start}/{rest}"));
    fs::write(&object, "x\n").unwrap();
    let undone = recorder.undo(&recorder.plan(&Scope::Run {}, false).unwrap()).unwrap();
    assert!(matches!(undone.failed[0].error, UndoError::Content(aime_durable::ContentError::Damaged { .. })), "{:?}", undone.failed);
    assert_eq!(place.read("a.txt"), "changed");
}
