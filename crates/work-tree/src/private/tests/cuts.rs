//! Cuts at every step of making private folders, working in them and merging them, as when the process dies there.

use std::{
    fs,
    future::{Future, poll_fn},
    path::{Path, PathBuf},
    pin::pin,
    task::Poll,
};

use aime_sandbox::ConfinedFolder;
use tokio::{
    runtime::{Builder, Runtime},
    task::spawn_blocking,
};

use super::{Extras, FolderMerge, PrivateFolder, PrivateFolders, Shared, TEXT, keep_both};
use crate::private::copy;

/// Number of files that each merge changes; each takes steps of its own.
const FILES: usize = 40;
/// A cut after which the work is not only repaired, but also done again to its end.
const GOES_ON: u32 = 8;

fn file(number: usize) -> String {
    format!("folder-{}/file-{number}", number % 4)
}

impl Shared {
    fn private_b(&self) -> PathBuf {
        self.root.path().join("place/b/folder")
    }
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// A copy of a shared folder with the place of its private folders, beneath a root of its own.
fn copied(original: &Shared) -> Shared {
    let shared = Shared { root: tempfile::tempdir().unwrap() };
    for name in ["work", "place"] {
        if original.root.path().join(name).exists() {
            copy(original.root.path().join(name), shared.root.path().join(name)).unwrap();
        }
    }
    shared
}

/// Runs `work` for some steps. Returns its result if it ends before.
fn cut_off<T>(runtime: &Runtime, steps: u32, work: impl Future<Output = T>) -> Option<T> {
    let mut taken = 0;
    // A runtime waits for the operation under way when it is dropped, so nothing goes on in the background.
    runtime.block_on(async {
        let mut work = pin!(work);
        poll_fn(|context| {
            taken += 1;
            if taken > steps { Poll::Ready(None) } else { work.as_mut().poll(context).map(Some) }
        })
        .await
    })
}

fn edit_all(folder: &Path, from: &str, to: &str) {
    for path in (0..FILES).map(|number| folder.join(file(number))) {
        fs::write(&path, fs::read_to_string(&path).unwrap().replace(from, to)).unwrap();
    }
}

/// Asserts that every file of a folder is one of these texts, and returns the texts that there are.
fn texts(folder: &Path, known: &[&str], cut: &str) -> Vec<String> {
    let mut found: Vec<String> = (0..FILES).map(|number| fs::read_to_string(folder.join(file(number))).unwrap_or_default()).collect();
    for text in &found {
        assert!(known.contains(&text.as_str()), "{cut}: a file is not whole: {text:?}");
    }
    found.sort();
    found.dedup();
    found
}

async fn begin(folders: &PrivateFolders, name: &str) -> PrivateFolder {
    folders.begin(name, &Extras::default()).await.unwrap()
}

/// Edits all files as the file tools of an actor do.
async fn work(private: &PrivateFolder, from: &'static str, to: &'static str) {
    for number in 0..FILES {
        let folder = ConfinedFolder::open(private.path()).unwrap();
        let edit = move || {
            let text = String::from_utf8(folder.read(file(number)).unwrap()).unwrap();
            folder.write(file(number), text.replace(from, to).as_bytes()).unwrap();
        };
        spawn_blocking(edit).await.unwrap();
    }
}

/// Counts the files of a folder with a text.
fn count(folder: &Path, text: &str) -> usize {
    (0..FILES).filter(|number| fs::read_to_string(folder.join(file(*number))).is_ok_and(|found| found == text)).count()
}

/// Begins the private folder `b` in a runtime of its own.
fn begun_b(shared: &Shared) -> (Runtime, PrivateFolders, PrivateFolder) {
    let runtime = runtime();
    let (folders, b) = runtime.block_on(async {
        let folders = shared.opened().await;
        let b = begin(&folders, "b").await;
        (folders, b)
    });
    (runtime, folders, b)
}

/// A folder before anything was made, one where `b` has begun and `a` is merged, one where `b` has worked, too, and one where `b` has changed
/// what `a` has.
struct Templates {
    new: Shared,
    begun: Shared,
    worked: Shared,
    conflicting: Shared,
}

impl Templates {
    fn new() -> Self {
        let new = Shared::new();
        for number in 0..FILES {
            fs::create_dir_all(new.folder().join(file(number)).parent().unwrap()).unwrap();
            new.write(&file(number), TEXT);
        }
        let begun = copied(&new);
        runtime().block_on(async {
            let folders = begun.opened().await;
            let (a, _) = (begin(&folders, "a").await, begin(&folders, "b").await);
            edit_all(a.path(), "one", "1");
            assert_eq!(folders.merge(&a, "a").await.unwrap(), FolderMerge::Clean);
        });
        let worked = copied(&begun);
        edit_all(&worked.private_b(), "seven", "7");
        let conflicting = copied(&begun);
        edit_all(&conflicting.private_b(), "one", "b's");
        Self { new, begun, worked, conflicting }
    }

    /// Cuts the making of a private folder off. Returns true if it came to its end.
    fn cut_making(&self, steps: u32) -> bool {
        let (shared, cut) = (copied(&self.new), format!("making, step {steps}"));
        let ended = cut_off(&runtime(), steps, async { drop(begin(&shared.opened().await, "a").await) }).is_some();
        assert_eq!(texts(&shared.folder(), &[TEXT], &cut).len(), 1);
        if ended || steps.is_multiple_of(GOES_ON) {
            runtime().block_on(async {
                let folders = shared.opened().await;
                assert_eq!(texts(begin(&folders, "a").await.path(), &[TEXT], &cut).len(), 1);
                assert_eq!(folders.remove().await.unwrap(), Vec::<PathBuf>::new(), "{cut}");
            });
        } else {
            // A folder is visible only once it is complete.
            let folder = shared.root.path().join("place/a/folder");
            assert!(!folder.exists() || texts(&folder, &[TEXT], &cut).len() == 1);
        }
        ended
    }

    /// Cuts the edits of an actor off. Returns true if they came to their end.
    fn cut_working(&self, steps: u32) -> bool {
        let (shared, cut) = (copied(&self.begun), format!("working, step {steps}"));
        let (one, both) = (TEXT.replace("one", "1"), TEXT.replace("one", "1").replace("seven", "7"));
        let mine = TEXT.replace("seven", "7");
        let ended = {
            let (runtime, _folders, b) = begun_b(&shared);
            cut_off(&runtime, steps, work(&b, "seven", "7")).is_some()
        };
        assert_eq!(texts(&shared.folder(), &[&one], &cut).len(), 1, "{cut}: nobody sees what is not merged");
        texts(&shared.private_b(), &[TEXT, &mine], &cut);
        let edited = count(&shared.private_b(), &mine);
        assert!(!ended || edited == FILES, "{cut}");
        // A kill within a write leaves a part of the new file beside the old one.
        fs::write(shared.private_b().join("folder-0/.aime-4711-0.tmp"), "a part").unwrap();
        runtime().block_on(async {
            let folders = shared.opened().await;
            let b = begin(&folders, "b").await;
            assert_eq!(count(b.path(), &mine), edited, "{cut}: an edit is lost");
            if ended || steps.is_multiple_of(GOES_ON) {
                work(&b, "seven", "7").await;
                assert_eq!(folders.merge(&b, "b").await.unwrap(), FolderMerge::Clean);
                assert_eq!(texts(&shared.folder(), &[&both], &cut).len(), 1);
                assert_eq!(fs::read_dir(shared.folder().join("folder-0")).unwrap().count(), FILES / 4, "{cut}: a part of a file is merged");
                assert_eq!(folders.remove().await.unwrap(), Vec::<PathBuf>::new(), "{cut}");
            }
        });
        ended
    }

    /// Cuts a merge off. Returns true if it came to its end.
    fn cut_merging(&self, steps: u32) -> bool {
        let (shared, cut) = (copied(&self.worked), format!("merging, step {steps}"));
        let (one, both) = (TEXT.replace("one", "1"), TEXT.replace("one", "1").replace("seven", "7"));
        let ended = {
            let (runtime, folders, b) = begun_b(&shared);
            let merged = cut_off(&runtime, steps, folders.merge(&b, "b"));
            assert!(merged.as_ref().is_none_or(|merged| matches!(merged, Ok(FolderMerge::Clean))), "{cut}");
            merged.is_some()
        };
        texts(&shared.folder(), &[&one, &both], &cut);
        runtime().block_on(async {
            let folders = shared.opened().await;
            let found = texts(&shared.folder(), &[&one, &both], &cut);
            assert_eq!(found.len(), 1, "{cut}: the folder is neither before nor after the merge");
            assert!(!ended || found == [both.clone()], "{cut}");
            assert_eq!(fs::read_dir(shared.folder()).unwrap().count(), 5, "{cut}: something is left in the folder");
            if steps.is_multiple_of(GOES_ON) {
                let b = begin(&folders, "b").await;
                folders.merge(&b, "b").await.unwrap();
                assert_eq!(texts(&shared.folder(), &[&both], &cut).len(), 1);
                assert_eq!(folders.remove().await.unwrap(), Vec::<PathBuf>::new(), "{cut}");
            }
        });
        ended
    }

    /// Cuts a merge with a conflict in every file off. Returns true if it came to its end.
    fn cut_conflict(&self, steps: u32) -> bool {
        let (shared, cut) = (copied(&self.conflicting), format!("conflict, step {steps}"));
        let (one, both) = (TEXT.replace("one", "1"), TEXT.replace("one", "1\nb's"));
        let ended = {
            let (runtime, folders, b) = begun_b(&shared);
            let merged = cut_off(&runtime, steps, folders.merge(&b, "b"));
            assert!(merged.as_ref().is_none_or(|merged| matches!(merged, Ok(FolderMerge::Conflict(_)))), "{cut}");
            merged.is_some()
        };
        assert_eq!(texts(&shared.folder(), &[&one], &cut).len(), 1, "{cut}: a conflict changes nothing that others see");
        for number in 0..FILES {
            let text = fs::read_to_string(shared.private_b().join(file(number))).unwrap_or_default();
            assert!(text.contains("b's\n") && text.ends_with("seven\n"), "{cut}: an edit is lost or a file is not whole: {text:?}");
        }
        if ended || steps.is_multiple_of(GOES_ON) {
            runtime().block_on(async {
                let folders = shared.opened().await;
                let b = begin(&folders, "b").await;
                let mut rounds = 0;
                while let FolderMerge::Conflict(conflicts) = folders.merge(&b, "b").await.unwrap() {
                    rounds += 1;
                    assert!(rounds < 4, "{cut}: the conflict has no end");
                    keep_both(&b, &conflicts);
                }
                assert_eq!(texts(&shared.folder(), &[&both], &cut).len(), 1);
                assert_eq!(folders.remove().await.unwrap(), Vec::<PathBuf>::new(), "{cut}");
            });
        }
        ended
    }
}

/// Number of cuts; `cargo xtask reliability` sets more.
#[expect(clippy::disallowed_methods, reason = "a person sets how much is tried")]
fn cuts() -> u32 {
    std::env::var("AIME_CUTS").map_or(36, |cuts| cuts.parse().unwrap())
}

/// Makes so many cuts, spread over all steps of `work`. Returns the numbers of cuts and of steps.
fn spread(cuts: u32, work: impl Fn(u32) -> bool) -> (u32, u32) {
    // Finds the number of steps: doubles, and then halves the interval.
    let (mut fewer, mut enough) = (0, 64);
    let mut made = 1;
    while !work(enough) {
        (fewer, enough, made) = (enough, enough * 2, made + 1);
    }
    while enough - fewer > 8 {
        let middle = fewer.midpoint(enough);
        made += 1;
        if work(middle) { enough = middle } else { fewer = middle }
    }
    let left = cuts.saturating_sub(made).max(1);
    for number in 0..left {
        work(1 + number * fewer / left);
    }
    (made + left, fewer)
}

#[test]
fn a_cut_at_any_step_leaves_all_files_before_or_after() {
    let (templates, cuts) = (Templates::new(), cuts());
    let making = spread(cuts / 4, |steps| templates.cut_making(steps));
    let working = spread(cuts / 4, |steps| templates.cut_working(steps));
    let merging = spread(cuts / 4, |steps| templates.cut_merging(steps));
    let conflict = spread(cuts - 3 * (cuts / 4), |steps| templates.cut_conflict(steps));
    let all = [making, working, merging, conflict];
    println!("cuts and steps of making, working, merging and a conflict: {all:?}");
    let steps = making.1 > 20 && working.1 > 30 && merging.1 > 60 && conflict.1 > 30;
    assert!(all.iter().map(|(cuts, _)| cuts).sum::<u32>() >= cuts && steps, "{all:?}");
}
