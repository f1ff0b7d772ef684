//! Tests of several processes that record the changes of one run.

use super::*;
use crate::ConflictKind;

fn write(place: &Place, recorder: &Arc<Recorder>, task: &str, name: &str, content: &str) {
    let watched = place.folder.clone().watched_by(recorder.watcher(Author::new(Some(task), "write_file")));
    watched.write(name, content.as_bytes()).unwrap();
}

// Requirement: 8.19, 18.13
#[test]
fn what_several_processes_did_by_turns_is_undone_by_another() {
    let place = Place::new();
    let before = place.tree();
    let (here, there) = (place.recorder(), place.recorder());
    write(&place, &here, "one", "a.txt", "by one");
    place.by(&there, "two", |place| place.write("run.sh", "by two"));
    here.leave();
    write(&place, &there, "one", "none.txt", "by one there");
    place.by(&here, "three", |place| fs::remove_file(place.path("crlf.txt")).unwrap());
    here.leave();
    there.leave();
    let later = place.recorder();
    undo(&later, &Scope::task("one"));
    assert_eq!((place.read("a.txt"), place.read("none.txt"), place.read("run.sh")), ("a\n".into(), String::new(), "by two".into()));
    undo(&later, &Scope::Run {});
    assert_eq!(place.tree(), before);
}

#[test]
fn whoever_is_at_work_elsewhere_may_have_done_it() {
    let place = Place::new();
    let (here, there) = (place.recorder(), place.recorder());
    let (one, two) = (here.open(author("one")).unwrap(), there.open(author("two")).unwrap());
    place.write("a.txt", "whose?");
    // Data for the others stays when one recorder leaves.
    there.close(two);
    there.leave();
    place.write("crlf.txt", "of one");
    here.close(one);
    here.leave();
    let later = place.recorder();
    let plan = later.plan(&Scope::task("one"), false).unwrap();
    assert_eq!(
        plan.conflicts.iter().map(|conflict| conflict.kind.clone()).collect::<Vec<_>>(),
        [ConflictKind::AlsoBy(vec!["two".to_owned()])]
    );
    assert_eq!(plan.changes.iter().map(|change| change.path.clone()).collect::<Vec<_>>(), [Path::new("crlf.txt")]);
}

#[test]
fn a_task_that_is_at_work_elsewhere_is_not_undone_until_its_process_is_gone() {
    let place = Place::new();
    let (here, there) = (place.recorder(), place.recorder());
    let window = there.open(author("one")).unwrap();
    place.write("a.txt", "changed");
    assert!(here.plan(&Scope::task("one"), false).unwrap_err().to_string().contains("is running"));
    there.killed();
    drop(window);
    undo(&here, &Scope::task("one"));
    assert_eq!(place.read("a.txt"), "a\n");
}

#[test]
fn whoever_gives_up_is_at_work_no_more() {
    let place = Place::new();
    let recorder = place.recorder();
    let window = recorder.open(author("one")).unwrap();
    place.write("a.txt", "by one");
    drop(window);
    drop(recorder);
    place.write("crlf.txt", "by me");
    let later = place.recorder();
    undo(&later, &Scope::Run {});
    assert_eq!((place.read("a.txt"), place.read("crlf.txt")), ("a\n".into(), "by me".into()));
}

#[test]
fn what_was_seen_first_holds_no_longer_than_somebody_is_at_work() {
    let place = Place::new();
    let before = place.tree();
    let (here, there) = (place.recorder(), place.recorder());
    let one = here.open(author("one")).unwrap();
    place.by(&there, "two", |_| {});
    here.close(one);
    here.leave();
    // No window was open, and the baseline is gone; the other recorder still has it in memory.
    let two = there.open(author("two")).unwrap();
    place.write("a.txt", "by a command of two");
    write(&place, &place.recorder(), "three", "a.txt", "by three");
    there.close(two);
    there.leave();
    let later = place.recorder();
    undo(&later, &Scope::task("three"));
    assert_eq!(place.read("a.txt"), "by a command of two");
    undo(&later, &Scope::Run {});
    assert_eq!(place.tree(), before);
}

#[test]
fn what_an_undo_could_not_put_back_is_not_taken_for_put_back() {
    let place = Place::new();
    let (here, there) = (place.recorder(), place.recorder());
    place.by(&here, "one", |place| place.write("a.txt", "by one"));
    let two = there.open(author("two")).unwrap();
    let plan = here.plan(&Scope::task("one"), false).unwrap();
    place.write("a.txt", "by two");
    let undone = here.undo(&plan).unwrap();
    assert_eq!((undone.changes.len(), undone.failed.len()), (0, 1));
    there.close(two);
    undo(&there, &Scope::task("two"));
    assert_eq!(place.read("a.txt"), "by one");
}

#[test]
fn nothing_is_put_back_under_a_task_that_has_begun_again() {
    let place = Place::new();
    let (here, there) = (place.recorder(), place.recorder());
    place.by(&there, "one", |place| place.write("a.txt", "by one"));
    let plan = here.plan(&Scope::task("one"), false).unwrap();
    let again = there.open(author("one")).unwrap();
    assert!(here.undo(&plan).unwrap_err().to_string().contains("is running"));
    there.close(again);
    assert_eq!(here.undo(&plan).unwrap().changes.len(), 1);
}

#[test]
fn another_run_of_the_same_name_begins_with_nothing() {
    let place = Place::new();
    let recorder = place.recorder();
    place.by(&recorder, "one", |place| place.write("a.txt", "by one"));
    recorder.finish();
    crate::forget(&place.path(".aime"), "r").unwrap();
    crate::forget(&place.path(".aime"), "r").unwrap();
    assert!(place.recorder().plan(&Scope::Run {}, false).unwrap().is_empty());
}

#[test]
fn many_at_once_lose_nothing() {
    const PROCESSES: usize = 4;
    const FILES: usize = 12;
    let place = Place::new();
    let before = place.tree();
    std::thread::scope(|scope| {
        for process in 0..PROCESSES {
            let place = &place;
            scope.spawn(move || {
                for number in 0..FILES {
                    let recorder = place.recorder();
                    let name = format!("{process}-{number}");
                    if number % 3 == 0 {
                        place.by(&recorder, &name, |place| place.write(&name, "by a command"));
                    } else {
                        write(place, &recorder, &name, &name, "exactly");
                    }
                    recorder.leave();
                }
            });
        }
    });
    let later = place.recorder();
    let kept = UndoData::read(&place.path(".aime"), "r").unwrap().unwrap();
    assert_eq!(kept.changes().count(), PROCESSES * FILES);
    undo(&later, &Scope::Run {});
    assert_eq!(place.tree(), before);
}

#[test]
fn the_changes_of_a_task_leave_out_those_that_others_made_to_the_same_file() {
    let place = Place::new();
    let recorder = place.recorder();
    for (task, content) in [("one", "1\n"), ("one", "1\n2\n"), ("two", "1\n2\n3\n"), ("one", "1\n2\n3\n4\n")] {
        write(&place, &recorder, task, "new.txt", content);
    }
    write(&place, &recorder, "two", "a.txt", "by two");
    recorder.leave();
    let kept = UndoData::read(&place.path(".aime"), "r").unwrap().unwrap();
    let texts = |task: &str| -> Vec<(PathBuf, Vec<[String; 2]>)> {
        let text = |entry: &Option<Entry>| {
            let bytes = entry.as_ref().and_then(|entry| kept.content(entry).unwrap()).unwrap_or_default();
            String::from_utf8(bytes).unwrap()
        };
        let changes = kept.changes_by(|author| author.task.as_deref() == Some(task));
        changes
            .map(|(path, changes)| (path.to_owned(), changes.iter().map(|change| [&change.before, &change.after].map(text)).collect()))
            .collect()
    };
    let change = |before: &str, after: &str| [before.to_owned(), after.to_owned()];
    let new = PathBuf::from("new.txt");
    assert_eq!(texts("one"), [(new.clone(), vec![change("", "1\n2\n"), change("1\n2\n3\n", "1\n2\n3\n4\n")])]);
    assert_eq!(texts("two"), [("a.txt".into(), vec![change("a\n", "by two")]), (new, vec![change("1\n2\n", "1\n2\n3\n")])]);
    assert_eq!(texts("three"), []);
}
