//! Property: every sequence of changes to a folder can be undone.

use proptest::prelude::*;

use super::*;

/// One change. There are few paths, so that changes collide.
#[derive(Debug, Clone)]
enum Action {
    Write(usize, u8),
    Remove(usize),
    Folder(usize),
    Link(usize, usize),
    Mode(usize, u32),
    Rename(usize, usize),
}

/// Author of a change: through the handle, or as a command of a task.
#[derive(Debug, Clone)]
struct Turn {
    exact: bool,
    task: u8,
    actions: Vec<Action>,
    /// Index of the process, one of two.
    process: usize,
    then: Then,
}

/// Event after the change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    /// The process continues.
    Nothing,
    /// The process continues with the next change while this window is still open.
    Stays,
    /// The process leaves the run, and joins it again.
    Leaves,
    /// The process is killed, and another joins the run.
    Killed,
}

const PATHS: [&str; 9] = ["a", "b", "d", "d/a", "d/e", "d/e/f", "sub", "sub/b.txt", "crlf.txt"];

fn action() -> impl Strategy<Value = Action> {
    let path = 0..PATHS.len();
    prop_oneof![
        (path.clone(), any::<u8>()).prop_map(|(path, content)| Action::Write(path, content)),
        path.clone().prop_map(Action::Remove),
        path.clone().prop_map(Action::Folder),
        (path.clone(), path.clone()).prop_map(|(path, target)| Action::Link(path, target)),
        (path.clone(), prop_oneof![Just(0o600), Just(0o755), Just(0o440)]).prop_map(|(path, mode)| Action::Mode(path, mode)),
        (path.clone(), path).prop_map(|(from, to)| Action::Rename(from, to)),
    ]
}

fn turn() -> impl Strategy<Value = Turn> {
    let then = prop_oneof![7 => Just(Then::Nothing), 1 => Just(Then::Stays), 1 => Just(Then::Leaves), 1 => Just(Then::Killed)];
    let turn = (any::<bool>(), 0..3_u8, prop::collection::vec(action(), 1..6), 0..2_usize, then);
    turn.prop_map(|(exact, task, actions, process, then)| Turn { exact, task, actions, process, then })
}

impl Action {
    /// A change that is impossible in the current state has no effect.
    fn at(&self, folder: &ConfinedFolder, exact: bool) {
        let place = |path: &usize| folder.path().join(PATHS[*path]);
        match self {
            Self::Write(path, content) if exact => drop(folder.write(PATHS[*path], &[*content; 3])),
            Self::Remove(path) if exact => drop(folder.remove_file(PATHS[*path])),
            _ if exact => {}
            Self::Write(path, content) => drop(fs::write(place(path), [*content; 3])),
            Self::Remove(path) if place(path).is_symlink() || place(path).is_file() => drop(fs::remove_file(place(path))),
            Self::Remove(path) => drop(fs::remove_dir_all(place(path))),
            Self::Folder(path) => drop(fs::create_dir_all(place(path))),
            Self::Link(path, target) => drop(symlink(PATHS[*target], place(path))),
            Self::Mode(path, mode) => {
                // Keep folders readable for their owner: unreadable ones are a separate case.
                let mode = if place(path).is_dir() { mode | 0o500 } else { *mode };
                if !place(path).is_symlink() {
                    drop(fs::set_permissions(place(path), fs::Permissions::from_mode(mode)));
                }
            }
            Self::Rename(from, to) => drop(fs::rename(place(from), place(to))),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    // Requirement: 8.19
    #[test]
    fn whatever_is_done_to_a_folder_it_comes_back(turns in prop::collection::vec(turn(), 1..8)) {
        let place = Place::new();
        let before = place.tree();
        let mut processes = [place.recorder(), place.recorder()];
        let mut at_work = [None, None];
        for Turn { exact, task, actions, process, then } in turns {
            let (recorder, task) = (Arc::clone(&processes[process]), format!("t{task}"));
            if exact {
                let watched = place.folder.clone().watched_by(recorder.watcher(Author::new(Some(&task), "write_file")));
                actions.iter().for_each(|action| action.at(&watched, true));
            } else {
                let window = recorder.open(author(&task)).unwrap();
                actions.iter().for_each(|action| action.at(&place.folder, false));
                match then {
                    Then::Nothing | Then::Leaves => recorder.close(window),
                    Then::Stays | Then::Killed => if let Some(before) = at_work[process].replace(window) {
                        recorder.close(before);
                    }
                }
            }
            match then {
                Then::Nothing | Then::Stays => {}
                Then::Leaves => {
                    recorder.leave();
                    at_work[process] = None;
                }
                Then::Killed => {
                    recorder.killed();
                    at_work[process] = None;
                    processes[process] = place.recorder();
                }
            }
        }
        processes.iter().for_each(|recorder| recorder.leave());
        let recorder = place.recorder();
        let after = place.tree();
        let plan = recorder.plan(&Scope::Run {}, false).unwrap();
        prop_assert_eq!(&plan.conflicts, &[]);
        let undone = recorder.undo(&plan).unwrap();
        prop_assert!(undone.failed.is_empty(), "{:?}", undone.failed);
        prop_assert_eq!(place.tree(), before);
        if let Some(number) = recorder.last_undo().unwrap() {
            let undone = recorder.undo(&recorder.plan(&Scope::Undo { number }, false).unwrap()).unwrap();
            prop_assert!(undone.failed.is_empty(), "{:?}", undone.failed);
        }
        prop_assert_eq!(place.tree(), after);
        recorder.finish();
        let left = fs::read_dir(place.path(".aime/runs/r/undo")).into_iter().flatten().map(|entry| entry.unwrap().file_name());
        let left: Vec<_> = left.filter(|name| name != "log.jsonl" && name != "lock").collect();
        prop_assert!(left.is_empty(), "{:?}", left);
    }
}
