use std::{fs, os::unix::fs::symlink, path::Path};

use super::*;
use crate::{ConflictKind, UndoError, UnrecordedReason};

/// Returns the conflicts of a plan by path.
fn conflicts(recorder: &Recorder, scope: &Scope) -> Vec<(String, ConflictKind)> {
    let plan = recorder.plan(scope, false).unwrap();
    plan.conflicts.into_iter().map(|conflict| (conflict.path.display().to_string(), conflict.kind)).collect()
}

#[test]
fn what_was_changed_since_is_left_alone_and_kept_when_it_is_not() {
    let place = Place::new();
    let recorder = place.recorder();
    place.by(&recorder, "t", |place| {
        place.write("a.txt", "by the run");
        place.write("new.txt", "by the run");
        fs::remove_dir_all(place.path("sub")).unwrap();
    });
    recorder.finish();
    place.write("a.txt", "by me");
    place.set_mode("new.txt", 0o600);
    fs::create_dir(place.path("sub")).unwrap();
    place.write("sub/mine", "by me");
    let recorder = place.recorder();
    let since = |path: &str| (path.to_owned(), ConflictKind::ChangedSince);
    assert_eq!(conflicts(&recorder, &Scope::Run {}), [since("a.txt"), since("new.txt")]);
    recorder.undo(&recorder.plan(&Scope::Run {}, false).unwrap()).unwrap();
    assert_eq!((place.read("a.txt"), place.read("sub/mine"), place.read("sub/b.txt")), ("by me".into(), "by me".into(), "b".into()));
    // With `force` it is overwritten, and even that can be undone.
    recorder.undo(&recorder.plan(&Scope::Run {}, true).unwrap()).unwrap();
    assert_eq!(place.read("a.txt"), "a\n");
    assert!(!place.path("new.txt").exists());
    let number = recorder.last_undo().unwrap().unwrap();
    undo(&recorder, &Scope::Undo { number });
    assert_eq!(place.read("a.txt"), "by me");
}

#[test]
fn what_others_changed_later_or_perhaps_is_told() {
    let place = Place::new();
    let recorder = place.recorder();
    place.by(&recorder, "one", |place| place.write("later.txt", "1"));
    place.by(&recorder, "two", |place| place.write("later.txt", "2"));
    let (one, two) = (recorder.open(author("one")).unwrap(), recorder.open(author("two")).unwrap());
    place.write("both.txt", "whose?");
    recorder.close(two);
    place.write("alone.txt", "of one");
    recorder.close(one);
    // A change from outside of the run.
    place.by(&recorder, "one", |place| place.write("between.txt", "1"));
    place.write("between.txt", "mine");
    place.by(&recorder, "one", |place| place.write("between.txt", "2"));
    let also = |path: &str, who: &str| (path.to_owned(), ConflictKind::AlsoBy(vec![who.to_owned()]));
    let between = ("between.txt".to_owned(), ConflictKind::ChangedBetween);
    assert_eq!(conflicts(&recorder, &Scope::task("one")), [between.clone(), also("both.txt", "two"), also("later.txt", "two")]);
    assert_eq!(conflicts(&recorder, &Scope::task("two")), [also("both.txt", "one")]);
    assert_eq!(conflicts(&recorder, &Scope::Run {}), [between]);
}

#[test]
fn an_edit_between_two_calls_of_a_file_tool_is_told() {
    let between = ConflictKind::ChangedBetween;
    // A change by a person between the calls, and the conflict that it leaves.
    for (by_person, expected) in [(Some("by me"), vec![("a.txt".to_owned(), between)]), (None, Vec::new())] {
        let place = Place::new();
        let recorder = place.recorder();
        let watched = place.folder.clone().watched_by(recorder.watcher(Author::new(Some("t"), "write_file")));
        watched.write("a.txt", b"first").unwrap();
        if let Some(text) = by_person {
            place.write("a.txt", text);
        }
        watched.write("a.txt", b"second").unwrap();
        assert_eq!(conflicts(&recorder, &Scope::Run {}), expected);
        recorder.undo(&recorder.plan(&Scope::Run {}, false).unwrap()).unwrap();
        assert_eq!(place.read("a.txt"), if by_person.is_some() { "second" } else { "a\n" });
    }
}

#[test]
fn what_changes_while_others_write_through_the_handle_is_told_apart() {
    let place = Place::new();
    let recorder = place.recorder();
    let command = recorder.open(author("command")).unwrap();
    let watched = place.folder.clone().watched_by(recorder.watcher(Author::new(Some("writer"), "write_file")));
    watched.write("a.txt", b"written").unwrap();
    place.write("crlf.txt", "commanded");
    recorder.close(command);
    undo(&recorder, &Scope::task("writer"));
    assert_eq!((place.read("a.txt"), place.read("crlf.txt")), ("a\n".into(), "commanded".into()));
    undo(&recorder, &Scope::task("command"));
    assert_eq!(place.tree(), Place::new().tree());
}

#[test]
fn a_task_at_work_is_not_undone() {
    let place = Place::new();
    let recorder = place.recorder();
    let window = recorder.open(author("t")).unwrap();
    assert!(matches!(recorder.plan(&Scope::task("t"), false), Err(UndoError::AtWork { .. })));
    assert!(recorder.plan(&Scope::task("other"), false).unwrap().is_empty());
    recorder.close(window);
    assert!(recorder.plan(&Scope::task("t"), false).unwrap().is_empty());
}

#[test]
fn what_is_not_kept_is_told_and_never_removed() {
    let place = Place::new();
    fs::create_dir_all(place.path("target/debug")).unwrap();
    place.write("target/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55");
    fs::create_dir(place.path(".git")).unwrap();
    place.write("big.bin", &"x".repeat(2000));
    let settings = UndoSettings { max_file_bytes: 1000, reserve_bytes: 0, ..UndoSettings::default() };
    let recorder = place.recorder_of("r", settings);
    place.by(&recorder, "t", |place| {
        fs::remove_dir_all(place.path("target")).unwrap();
        fs::remove_file(place.path("big.bin")).unwrap();
        fs::create_dir_all(place.path("node_modules/x")).unwrap();
        place.write(".git/hooks", "not looked at");
    });
    let not_kept = |path: &str, why| (path.to_owned(), ConflictKind::NotKept(why));
    assert_eq!(
        conflicts(&recorder, &Scope::Run {}),
        [
            not_kept("big.bin", UnrecordedReason::TooLarge),
            ("node_modules".to_owned(), ConflictKind::Stays(UnrecordedReason::Cache)),
            not_kept("target", UnrecordedReason::Cache)
        ]
    );
    assert!(recorder.plan(&Scope::Run {}, true).unwrap().changes.is_empty(), "no force helps");
    let (left_out, count) = recorder.unrecorded().unwrap();
    let names: Vec<_> = left_out.iter().map(|left| left.path.display().to_string()).collect();
    assert_eq!((names, count), ([".git", "big.bin", "target"].map(str::to_owned).to_vec(), 3));
}

/// A recorded file stays recorded even if a command puts a cache marker beside it.
#[test]
fn a_folder_that_calls_itself_a_cache_later_is_still_kept() {
    let place = Place::new();
    let before = place.tree();
    let recorder = place.recorder();
    place.by(&recorder, "t", |place| place.write("sub/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55"));
    place.by(&recorder, "t", |place| fs::remove_file(place.path("sub/b.txt")).unwrap());
    undo(&recorder, &Scope::Run {});
    assert_eq!(place.tree(), before);
}

// Requirement: 8.19
#[test]
fn links_that_are_swapped_in_lead_nowhere() {
    let place = Place::new();
    let recorder = place.recorder();
    place.by(&recorder, "t", |place| {
        fs::remove_dir_all(place.path("sub")).unwrap();
        place.write("a.txt", "changed");
    });
    let plan = recorder.plan(&Scope::Run {}, false).unwrap();
    // A change between the plan and the undo.
    let outside = place.outer.path().join("outside");
    fs::create_dir_all(outside.join("deep")).unwrap();
    symlink(&outside, place.path("sub")).unwrap();
    fs::remove_file(place.path("a.txt")).unwrap();
    symlink(place.outer.path().join("secret"), place.path("a.txt")).unwrap();
    let undone = recorder.undo(&plan).unwrap();
    assert_eq!(undone.changes, [], "all of it was changed at this moment, or lies in what was");
    assert_eq!(fs::read_to_string(place.outer.path().join("secret")).unwrap(), "outside");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1, "nothing was written there");
    assert!(fs::read_dir(outside.join("deep")).unwrap().next().is_none());
    assert!(fs::symlink_metadata(place.path("a.txt")).unwrap().is_symlink());
    assert!(recorder.plan(&Scope::Run {}, true).unwrap().changes.iter().any(|change| change.path == Path::new("sub/b.txt")));
}
