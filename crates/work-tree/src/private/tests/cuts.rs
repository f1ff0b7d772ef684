//! Cuts at every step of making and merging private folders, as when the process dies there.

use std::{
    fs,
    future::{Future, poll_fn},
    path::{Path, PathBuf},
    pin::pin,
    task::Poll,
};

use tokio::runtime::{Builder, Runtime};

use super::{Extras, Joined, PrivateFolder, PrivateFolders, Shared, TEXT};
use crate::private::copy;

/// Number of files that each merge changes; each takes steps of its own.
const FILES: usize = 40;
/// A cut after which the work is not only repaired, but also done again to its end.
const GOES_ON: u32 = 8;

fn file(number: usize) -> String {
    format!("folder-{}/file-{number}", number % 4)
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

/// A folder before anything was made, and one where `a` is merged and `b` has worked.
struct Templates {
    new: Shared,
    worked: Shared,
}

impl Templates {
    fn new() -> Self {
        let new = Shared::new();
        for number in 0..FILES {
            fs::create_dir_all(new.folder().join(file(number)).parent().unwrap()).unwrap();
            new.write(&file(number), TEXT);
        }
        let worked = copied(&new);
        runtime().block_on(async {
            let folders = worked.opened().await;
            let (a, b) = (begin(&folders, "a").await, begin(&folders, "b").await);
            edit_all(a.path(), "one", "1");
            edit_all(b.path(), "seven", "7");
            assert_eq!(folders.join(&a, "a").await.unwrap(), Joined::Clean);
        });
        Self { new, worked }
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

    /// Cuts a merge off. Returns true if it came to its end.
    fn cut_merging(&self, steps: u32) -> bool {
        let (shared, cut) = (copied(&self.worked), format!("merging, step {steps}"));
        let (one, both) = (TEXT.replace("one", "1"), TEXT.replace("one", "1").replace("seven", "7"));
        let ended = {
            let runtime = runtime();
            let (folders, b) = runtime.block_on(async {
                let folders = shared.opened().await;
                let b = begin(&folders, "b").await;
                (folders, b)
            });
            let joined = cut_off(&runtime, steps, folders.join(&b, "b"));
            assert!(joined.as_ref().is_none_or(|joined| matches!(joined, Ok(Joined::Clean))), "{cut}");
            joined.is_some()
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
                folders.join(&b, "b").await.unwrap();
                assert_eq!(texts(&shared.folder(), &[&both], &cut).len(), 1);
                assert_eq!(folders.remove().await.unwrap(), Vec::<PathBuf>::new(), "{cut}");
            }
        });
        ended
    }
}

/// Number of cuts; `cargo xtask reliability --private-folders` sets more.
#[expect(clippy::disallowed_methods, reason = "a person sets how much is tried")]
fn cuts() -> u32 {
    std::env::var("AIME_CUTS").map_or(24, |cuts| cuts.parse().unwrap())
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
    let making = spread(cuts / 3, |steps| templates.cut_making(steps));
    let merging = spread(cuts - cuts / 3, |steps| templates.cut_merging(steps));
    println!("{} cuts over {} steps of making, {} cuts over {} steps of merging", making.0, making.1, merging.0, merging.1);
    assert!(making.0 + merging.0 >= cuts && making.1 > 20 && merging.1 > 60, "{making:?} {merging:?}");
}
