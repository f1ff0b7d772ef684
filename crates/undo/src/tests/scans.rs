use std::{os::unix::net::UnixListener, thread::sleep, time::Duration};

use super::*;

/// Waits longer than a clock tick, so that earlier and later writes are distinguished.
fn let_the_clock_tick() {
    sleep(Duration::from_millis(150));
}

// Requirement: 8.19
#[test]
fn what_has_not_changed_is_read_once_for_all_runs() {
    let place = Place::empty();
    for number in 0..300 {
        fs::create_dir_all(place.path(format!("d{}", number % 7))).unwrap();
        place.write(format!("d{}/{number}", number % 7), &number.to_string());
    }
    let_the_clock_tick();
    let recorder = place.recorder();
    place.by(&recorder, "t", |place| place.write("d0/0", "changed"));
    let first = recorder.counts();
    assert_eq!((first.scans, first.files_read, first.paths), (2, 301, 2 * 307));
    let_the_clock_tick();
    place.by(&recorder, "t", |_| {});
    recorder.finish();
    // The file that had just been written is read again, because its clock may not have advanced.
    assert_eq!((recorder.counts().scans, recorder.counts().files_read), (4, 302));
    let later = place.recorder_of("later", UndoSettings { reserve_bytes: 0, ..UndoSettings::default() });
    place.by(&later, "t", |_| {});
    assert_eq!((later.counts().scans, later.counts().files_read), (2, 0));
}

#[test]
fn nothing_is_read_before_something_may_change_it() {
    let place = Place::new();
    let recorder = place.recorder();
    recorder.finish();
    assert!(!place.path(".aime").exists());
    let watched = place.folder.clone().watched_by(recorder.watcher(Author::new(Some("t"), "write_file")));
    watched.write("sub/deep/c.bin", b"changed").unwrap();
    let counts = recorder.counts();
    assert_eq!((counts.scans, counts.files_read), (0, 2), "the one file, before and after");
}

#[test]
fn a_change_within_a_tick_of_the_clock_is_seen() {
    let place = Place::new();
    let before = place.tree();
    let recorder = place.recorder();
    for round in 0..20 {
        place.by(&recorder, "t", |place| place.write("a.txt", &format!("{}\n", round % 10)));
        let changes = recorder.plan(&Scope::Run {}, false).unwrap().changes;
        assert_eq!(changes.len(), 1, "round {round}");
    }
    undo(&recorder, &Scope::Run {});
    assert_eq!(place.tree(), before);
}

#[test]
fn what_is_no_file_is_stepped_over() {
    let place = Place::new();
    let _socket = UnixListener::bind(place.path("socket")).unwrap();
    let recorder = place.recorder();
    place.by(&recorder, "t", |place| place.write("a.txt", "changed"));
    undo(&recorder, &Scope::Run {});
    assert_eq!(place.read("a.txt"), "a\n");
    assert_eq!(recorder.unrecorded().unwrap().0[0].path, Path::new("socket"));
}

#[test]
fn what_is_kept_is_private_and_never_part_of_the_folder() {
    let place = Place::new();
    let recorder = place.recorder();
    place.by(&recorder, "t", ravage);
    recorder.finish();
    for path in [".aime/undo", ".aime/undo/objects", ".aime/runs/r/undo"] {
        assert_eq!(fs::metadata(place.path(path)).unwrap().permissions().mode() & 0o077, 0, "{path}");
    }
    let named = place.recorder().plan(&Scope::Run {}, false).unwrap();
    assert!(named.changes.iter().all(|change| !change.path.starts_with(".aime")));
    // The data is skipped under another name, too.
    fs::create_dir(place.path("kept")).unwrap();
    let settings = UndoSettings { reserve_bytes: 0, ..UndoSettings::default() };
    let other = Arc::new(Recorder::new(place.folder.clone(), &place.path("kept"), "r", settings));
    place.by(&other, "t", |place| place.write("a.txt", "x"));
    let named: Vec<_> = other.plan(&Scope::Run {}, false).unwrap().changes.into_iter().map(|change| change.path).collect();
    assert_eq!(named, [PathBuf::from("a.txt")]);
}

// Requirement: 7.21
#[test]
fn what_a_run_changed_can_be_looked_at_while_it_works() {
    let place = Place::new();
    let keep = place.path(".aime");
    let looked = || UndoData::read(&keep, "r").unwrap();
    assert!(looked().is_none() && !keep.exists(), "looking makes nothing");
    let recorder = place.recorder();
    place.by(&recorder, "first", |place| {
        place.write("a.txt", "b\n");
        place.write("new.txt", "new");
    });
    place.by(&recorder, "second", |place| {
        place.write("a.txt", "c\n");
        fs::remove_file(place.path("new.txt")).unwrap();
    });
    let kept = looked().unwrap();
    let changes: Vec<_> = kept.changes().collect();
    let [(change, by)] = changes.as_slice() else { panic!("{changes:?}") };
    assert_eq!(by.iter().map(|author| author.task.as_deref().unwrap()).collect::<Vec<_>>(), ["first", "second"]);
    let content = |entry: &Option<Entry>| kept.content(entry.as_ref().unwrap()).unwrap().unwrap();
    assert_eq!((content(&change.before), content(&change.after)), (b"a\n".to_vec(), b"c\n".to_vec()));
    undo(&recorder, &Scope::Run {});
    assert_eq!(looked().unwrap().changes().count(), 0, "what was put back is no change");
}
