//! Whatever is done to a folder, it comes back.

use proptest::prelude::*;

use super::*;

/// One deed. Paths are few, so that deeds meet.
#[derive(Debug, Clone)]
enum Deed {
    Write(usize, u8),
    Remove(usize),
    Folder(usize),
    Link(usize, usize),
    Mode(usize, u32),
    Rename(usize, usize),
}

/// Who does it: through the handle, or as a command of a task.
#[derive(Debug, Clone)]
struct Turn {
    exact: bool,
    task: u8,
    deeds: Vec<Deed>,
    /// The process ends and another takes up the run.
    crash: bool,
}

const PATHS: [&str; 9] = ["a", "b", "d", "d/a", "d/e", "d/e/f", "sub", "sub/b.txt", "crlf.txt"];

fn deed() -> impl Strategy<Value = Deed> {
    let path = 0..PATHS.len();
    prop_oneof![
        (path.clone(), any::<u8>()).prop_map(|(path, content)| Deed::Write(path, content)),
        path.clone().prop_map(Deed::Remove),
        path.clone().prop_map(Deed::Folder),
        (path.clone(), path.clone()).prop_map(|(path, target)| Deed::Link(path, target)),
        (path.clone(), prop_oneof![Just(0o600), Just(0o755), Just(0o440)]).prop_map(|(path, mode)| Deed::Mode(path, mode)),
        (path.clone(), path).prop_map(|(from, to)| Deed::Rename(from, to)),
    ]
}

fn turn() -> impl Strategy<Value = Turn> {
    (any::<bool>(), 0..3_u8, prop::collection::vec(deed(), 1..6), prop::bool::weighted(0.1)).prop_map(|(exact, task, deeds, crash)| Turn {
        exact,
        task,
        deeds,
        crash,
    })
}

impl Deed {
    /// What does not fit is no deed.
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
                // A folder that its owner cannot look into is another matter.
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

    #[test]
    fn whatever_is_done_to_a_folder_it_comes_back(turns in prop::collection::vec(turn(), 1..8)) {
        let place = Place::new();
        let before = place.tree();
        let mut recorder = place.recorder();
        for Turn { exact, task, deeds, crash } in turns {
            let task = format!("t{task}");
            if exact {
                let watched = place.folder.clone().watched_by(recorder.watcher(Author::new(Some(&task), "write_file")));
                deeds.iter().for_each(|deed| deed.at(&watched, true));
            } else {
                let window = recorder.open(author(&task)).unwrap();
                deeds.iter().for_each(|deed| deed.at(&place.folder, false));
                if crash { std::mem::forget(window) } else { recorder.close(window) }
            }
            if crash {
                recorder = place.recorder();
            }
        }
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
    }
}
