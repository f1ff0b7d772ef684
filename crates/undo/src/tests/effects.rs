use super::*;
use crate::{ConflictKind, PathComparison};

fn check() -> Author {
    Author::new(Some("t"), "check")
}

fn run_check(place: &Place, recorder: &Arc<Recorder>, work: impl FnOnce(&Place)) {
    let window = recorder.open(check()).unwrap();
    work(place);
    recorder.close(window);
}

fn discard_effects(recorder: &Recorder, keep: impl Fn(&Path) -> bool) -> Vec<String> {
    let (undone, left) = recorder.discard_effects(&check(), keep).unwrap();
    assert_eq!((left, undone.failed.len()), (Vec::new(), 0));
    undone.changes.iter().map(|change| change.path.display().to_string()).collect()
}

#[test]
fn effects_of_a_check_go_and_the_work_of_its_task_stays() {
    let place = Place::new();
    let recorder = place.recorder();
    place.by(&recorder, "t", |place| place.write("a.txt", "work"));
    let worked = place.tree();
    assert_eq!(discard_effects(&recorder, |_| false), Vec::<String>::new());
    for _ in 0..2 {
        run_check(&place, &recorder, ravage);
        assert!(discard_effects(&recorder, |_| false).contains(&"a.txt".to_owned()));
        assert_eq!(place.tree(), worked);
    }
    undo(&recorder, &Scope::task("t"));
    assert_eq!(place.tree(), Place::new().tree(), "the work alone is undone");
}

#[test]
fn a_person_brings_back_what_went_with_the_effects() {
    let place = Place::new();
    let recorder = place.recorder();
    // A person saves a file while the check runs, which nobody can tell from an effect of the check.
    run_check(&place, &recorder, |place| place.write("a.txt", "by a person"));
    assert_eq!(discard_effects(&recorder, |_| false), ["a.txt"]);
    assert_eq!(place.read("a.txt"), "a\n");
    let number = recorder.last_undo().unwrap().unwrap();
    undo(&recorder, &Scope::Undo { number });
    assert_eq!((place.read("a.txt").as_str(), recorder.last_undo().unwrap()), ("by a person", None));
    // It is the person's then: the next check does not put it back.
    run_check(&place, &recorder, |_| ());
    assert_eq!(discard_effects(&recorder, |_| false), Vec::<String>::new());
    assert_eq!(place.read("a.txt"), "by a person");
}

#[test]
fn effects_that_a_crash_left_go_with_those_of_the_next_check() {
    let place = Place::new();
    let recorder = place.recorder();
    place.by(&recorder, "t", |place| place.write("a.txt", "work"));
    let worked = place.tree();
    let window = recorder.open(check()).unwrap();
    ravage(&place);
    recorder.killed();
    drop(window);
    let recorder = place.recorder();
    run_check(&place, &recorder, |place| place.write("later.txt", "by the check"));
    discard_effects(&recorder, |_| false);
    assert_eq!(place.tree(), worked);
}

#[test]
fn effects_stay_where_they_are_ignored_or_perhaps_of_others() {
    let place = Place::new();
    let recorder = place.recorder();
    run_check(&place, &recorder, |place| {
        fs::create_dir_all(place.path("out/deep")).unwrap();
        place.write("out/deep/made.o", "made");
        place.write("out/report.txt", "made");
    });
    assert_eq!(discard_effects(&recorder, |path| path.extension().is_some_and(|ending| ending == "o")), ["out/report.txt"]);
    assert_eq!(place.read("out/deep/made.o"), "made");
    // Another command ran at the same time.
    let other = recorder.open(author("other")).unwrap();
    run_check(&place, &recorder, |place| place.write("both.txt", "whose?"));
    recorder.close(other);
    let back = || {
        let (undone, left) = recorder.discard_effects(&check(), |path| path.starts_with("out")).unwrap();
        (undone.changes, left.into_iter().map(|conflict| (conflict.path.display().to_string(), conflict.kind)).collect::<Vec<_>>())
    };
    let also = ConflictKind::AlsoBy(vec!["other".to_owned()]);
    assert_eq!(back(), (Vec::new(), vec![("both.txt".to_owned(), also)]));
    assert_eq!(back(), (Vec::new(), Vec::new()), "each is reported once");
    assert_eq!(place.read("both.txt"), "whose?");
    // A change that somebody made after the check is theirs.
    run_check(&place, &recorder, |place| place.write("a.txt", "by the check"));
    place.write("a.txt", "by me");
    assert_eq!(back(), (Vec::new(), vec![("a.txt".to_owned(), ConflictKind::ChangedSince)]));
    assert_eq!(place.read("a.txt"), "by me");
}

#[test]
fn a_path_is_compared_with_the_beginning_of_the_run() {
    let place = Place::new();
    let recorder = place.recorder();
    let since = |path: &str| recorder.since_begin(Path::new(path)).unwrap();
    assert_eq!((since("a.txt"), since("no.txt")), (PathComparison::Same, PathComparison::Same));
    place.by(&recorder, "one", |place| {
        place.write("a.txt", "1");
        place.write("sub/deep/c.bin", "1");
        fs::create_dir(place.path("node_modules")).unwrap();
        place.write("node_modules/x", "1");
    });
    assert_eq!((since("a.txt"), since("sub"), since("crlf.txt")), (PathComparison::Changed, PathComparison::Changed, PathComparison::Same));
    assert!(matches!(since("node_modules/x"), PathComparison::NotKept(_)));
    place.by(&recorder, "two", |place| place.write("a.txt", "a\n"));
    recorder.undo(&recorder.plan(&Scope::Run {}, false).unwrap()).unwrap();
    assert_eq!((since("a.txt"), since("sub")), (PathComparison::Same, PathComparison::Same));
    recorder.finish();
    place.set_mode("a.txt", 0o600);
    place.set_mode("crlf.txt", 0o600);
    let recorder = place.recorder();
    assert_eq!(recorder.since_begin(Path::new("a.txt")), Some(PathComparison::Changed), "its state at the beginning is recorded");
    assert_eq!(recorder.since_begin(Path::new("crlf.txt")), Some(PathComparison::Same), "the run has no record of a change");
}

#[test]
fn changes_are_counted_without_the_effects_of_checks() {
    let place = Place::new();
    let recorder = place.recorder();
    let count = |expected: u64| assert_eq!(recorder.count_changes("check"), Some(expected));
    count(0);
    run_check(&place, &recorder, |place| place.write("by-check.txt", "made"));
    count(0);
    discard_effects(&recorder, |_| false);
    count(0);
    place.by(&recorder, "one", |place| place.write("a.txt", "1"));
    count(1);
    place.write("b.txt", "by a person");
    count(2);
    recorder.undo(&recorder.plan(&Scope::Run {}, false).unwrap()).unwrap();
    count(3);
    let recorder = place.recorder();
    assert_eq!(recorder.count_changes("check"), Some(3), "another process reads the same record");
    let after = |count: u64| {
        let changes = recorder.changes_after(count, "check").unwrap();
        let name = |(_, by, change): (u64, Vec<Author>, crate::Change)| {
            (by.into_iter().filter_map(|author| author.task).collect::<Vec<_>>(), change.path.display().to_string())
        };
        changes.into_iter().map(name).collect::<Vec<_>>()
    };
    let (nobody, one) = (Vec::<String>::new, vec!["one".to_owned()]);
    assert_eq!(after(0)[..2], [(one, "a.txt".to_owned()), (nobody(), "b.txt".to_owned())]);
    assert_eq!(after(1)[0], (nobody(), "b.txt".to_owned()));
    assert_eq!(after(2), [(nobody(), "a.txt".to_owned())], "the undo");
    assert_eq!(after(3), []);
}
