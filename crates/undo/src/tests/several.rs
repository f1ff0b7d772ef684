//! Several processes keep the changes of one run.

use super::*;
use crate::ConflictKind;

fn write(place: &Place, recorder: &Arc<Recorder>, task: &str, name: &str, content: &str) {
    let watched = place.folder.clone().watched_by(recorder.watcher(Author::new(Some(task), "write_file")));
    watched.write(name, content.as_bytes()).unwrap();
}

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
    // What stands for the others stays when one of them leaves.
    there.close(two);
    there.leave();
    place.write("crlf.txt", "of one");
    here.close(one);
    here.leave();
    let later = place.recorder();
    let plan = later.plan(&Scope::task("one"), false).unwrap();
    assert_eq!(
        plan.conflicts.iter().map(|conflict| conflict.why.clone()).collect::<Vec<_>>(),
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
    assert!(here.plan(&Scope::task("one"), false).unwrap_err().to_string().contains("is at work"));
    there.killed();
    drop(window);
    undo(&here, &Scope::task("one"));
    assert_eq!(place.read("a.txt"), "a\n");
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
    let kept = Kept::read(&place.path(".aime"), "r").unwrap().unwrap();
    assert_eq!(kept.changes().count(), PROCESSES * FILES);
    undo(&later, &Scope::Run {});
    assert_eq!(place.tree(), before);
}
