use super::*;
use crate::{UndoError, log};

fn log_of(place: &Place) -> PathBuf {
    place.path(".aime/runs/r/undo/log.jsonl")
}

#[test]
fn a_crash_in_a_command_loses_nothing() {
    let place = Place::new();
    let before = place.tree();
    let recorder = place.recorder();
    place.by(&recorder, "one", |place| place.write("a.txt", "1"));
    let window = recorder.open(author("two")).unwrap();
    ravage(&place);
    recorder.killed();
    drop(window);
    let recorder = place.recorder();
    assert_eq!(recorder.plan(&Scope::task("one"), false).unwrap().conflicts.len(), 1, "the second has changed it later");
    undo(&recorder, &Scope::task("two"));
    assert_eq!(place.read("a.txt"), "1");
    undo(&recorder, &Scope::Run {});
    assert_eq!(place.tree(), before);
}

#[test]
fn a_file_that_is_written_after_a_crash_in_a_command_loses_nothing() {
    let place = Place::new();
    let before = place.tree();
    let recorder = place.recorder();
    let window = recorder.open(author("one")).unwrap();
    place.set_mode("crlf.txt", 0o600);
    recorder.killed();
    drop(window);
    let recorder = place.recorder();
    let watched = place.folder.clone().watched_by(recorder.watcher(Author::new(Some("two"), "write_file")));
    watched.write("crlf.txt", b"written").unwrap();
    undo(&recorder, &Scope::Run {});
    assert_eq!(place.tree(), before);
}

#[test]
fn a_file_that_is_written_while_a_command_changes_it_loses_nothing() {
    let place = Place::new();
    let before = place.tree();
    let recorder = place.recorder();
    let window = recorder.open(author("one")).unwrap();
    place.write("a.txt", "of the command");
    let watched = place.folder.clone().watched_by(recorder.watcher(Author::new(Some("two"), "write_file")));
    watched.write("a.txt", b"of the tool").unwrap();
    recorder.close(window);
    undo(&recorder, &Scope::task("two"));
    assert_eq!(place.read("a.txt"), "of the command");
    undo(&recorder, &Scope::Run {});
    assert_eq!(place.tree(), before);
}

#[test]
fn a_crash_in_a_write_loses_nothing() {
    let place = Place::new();
    let recorder = place.recorder();
    let watched = place.folder.clone().watched_by(recorder.watcher(Author::new(Some("t"), "write_file")));
    watched.write("a.txt", b"written").unwrap();
    recorder.finish();
    // The last record contains the result.
    let text = fs::read_to_string(log_of(&place)).unwrap();
    let end = text.trim_end().rfind('\n').unwrap();
    for cut in [end + 1, end + 20] {
        fs::write(log_of(&place), &text[..cut]).unwrap();
        place.write("a.txt", "written");
        undo(&place.recorder(), &Scope::task("t"));
        assert_eq!(place.read("a.txt"), "a\n");
    }
}

#[test]
fn an_undo_that_was_cut_off_is_finished_by_another() {
    let place = Place::new();
    let before = place.tree();
    let recorder = place.recorder();
    place.by(&recorder, "t", ravage);
    let ravaged = place.tree();
    undo(&recorder, &Scope::Run {});
    recorder.finish();
    // The log contains only the intent, and half of it is done.
    let text = fs::read_to_string(log_of(&place)).unwrap();
    let end = text.trim_end().rfind('\n').unwrap();
    fs::write(log_of(&place), &text[..=end]).unwrap();
    place.write("a.txt", "changed");
    place.set_mode("private", 0o755);
    let recorder = place.recorder();
    let undone = undo(&recorder, &Scope::Run {});
    assert_eq!(undone.changes.len(), 2);
    assert_eq!(place.tree(), before);
    for _ in 0..2 {
        let number = recorder.last_undo().unwrap().unwrap();
        undo(&recorder, &Scope::Undo { number });
    }
    assert_eq!(place.tree(), ravaged);
}

#[test]
fn what_a_person_does_while_a_run_rests_is_theirs() {
    let place = Place::new();
    let recorder = place.recorder();
    place.by(&recorder, "t", |place| place.write("a.txt", "1"));
    recorder.finish();
    place.write("mine.txt", "mine");
    let recorder = place.recorder();
    place.by(&recorder, "t", |place| place.write("b.txt", "2"));
    undo(&recorder, &Scope::Run {});
    assert_eq!(place.read("mine.txt"), "mine");
    assert!(!place.path("b.txt").exists());
}

/// Keeps the first log format readable.
#[test]
fn a_log_of_the_first_version_is_read() {
    let place = Place::empty();
    place.write("a.txt", "changed");
    fs::create_dir_all(place.path(".aime/runs/r/undo")).unwrap();
    fs::write(log_of(&place), include_str!("fixtures/log-v1.jsonl")).unwrap();
    let recorder = place.recorder();
    let plan = recorder.plan(&Scope::task("t"), false).unwrap();
    assert_eq!(plan.changes.len(), 1, "{plan:?}");
    assert_eq!(recorder.lost().unwrap().map(|reason| reason.to_string()).as_deref(), Some("the disk is full"));
}

#[test]
fn damage_and_newer_forms_are_told() {
    let place = Place::empty();
    fs::create_dir_all(place.path(".aime/runs/r/undo")).unwrap();
    for (text, newer) in [("{\"record\":\"log\",\"schema\":\"aime.undo_log/v9\"}\n", true), ("nonsense\n", false), ("{}\n", false)] {
        fs::write(log_of(&place), text).unwrap();
        let error = log::read(&log_of(&place)).unwrap_err();
        assert_eq!(matches!(error, UndoError::Newer { .. }), newer, "{error}");
        // The work continues without recording.
        let recorder = place.recorder();
        assert!(recorder.open(author("t")).is_none());
        assert_eq!(recorder.notes().len(), 1);
    }
}
