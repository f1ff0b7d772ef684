//! Keeps what a run changes in a folder, and puts it back.

mod looking;
mod undoing;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use aime_sandbox::{ConfinedFolder, WatchChanges};

use self::looking::Watcher;
pub use self::undoing::Undone;
use crate::{
    Author, Change, UndoError, UndoSettings,
    chain::History,
    known::{self, KnownFolder},
    log::{Log, Record},
    objects::{Objects, private_folder},
    scan::LookCounts,
    store::{Store, prune},
};

/// Keeps what a run changes in a folder, and puts it back. All calls block; nothing is read or made before something may change.
///
/// What cannot be kept, as on a full disk, ends the keeping and is [told](Self::notes); it is never an error of the work itself.
#[derive(Debug)]
pub struct Recorder {
    folder: ConfinedFolder,
    store: Store,
    run: String,
    settings: UndoSettings,
    /// Where what is kept stands, relative to the folder, if it stands in it.
    own: Option<PathBuf>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    live: Option<Live>,
    lost: bool,
    notes: Vec<String>,
    /// What was changed through the folder's handle and has not been asked for.
    exact: Vec<(Author, Change)>,
    counts: LookCounts,
}

/// What is open while a run is at work.
#[derive(Debug)]
struct Live {
    objects: Objects,
    log: Log,
    records: Vec<Record>,
    history: History,
    /// The folder as it was last looked at; none before the first look.
    known: Option<KnownFolder>,
    /// What another run knew; saves reading.
    cache: KnownFolder,
    /// Who is at work and may change anything.
    open: BTreeMap<u64, Author>,
    /// Who was at some time since the last look.
    since: BTreeMap<u64, Author>,
    next: u64,
}

/// Somebody is at work and may change any file. Ended by [`Recorder::close`]; dropping it ends it too, and what it changed is found at
/// the next look.
#[derive(Debug)]
pub struct Window {
    recorder: Arc<Recorder>,
    number: u64,
}

impl Drop for Window {
    fn drop(&mut self) {
        if let Some(live) = self.recorder.state().live.as_mut() {
            live.open.remove(&self.number);
        }
    }
}

impl Recorder {
    /// For a run that works in `folder`, and keeps what it keeps in `keep` (`.aime`).
    #[must_use]
    pub fn new(folder: ConfinedFolder, keep: &Path, run: &str, settings: UndoSettings) -> Self {
        let own = fs::canonicalize(keep).ok().and_then(|keep| Some(keep.strip_prefix(folder.path()).ok()?.to_path_buf()));
        Self { folder, store: Store::new(keep), run: run.to_owned(), settings, own, state: Mutex::default() }
    }

    /// Keeps exactly what somebody changes through a folder's own handle.
    #[must_use]
    pub fn watcher(self: &Arc<Self>, author: Author) -> Arc<dyn WatchChanges> {
        Arc::new(Watcher { recorder: Arc::clone(self), author })
    }

    /// Somebody begins something that may change any file. The folder is looked at before and after it.
    #[must_use]
    pub fn open(self: &Arc<Self>, author: Author) -> Option<Window> {
        let mut state = self.state();
        let number = self.keeping(&mut state, |live, counts| {
            self.look_around(live, counts)?;
            let window = live.next;
            live.add(Record::Opened { window, author: author.clone() })?;
            live.next += 1;
            live.open.insert(window, author.clone());
            live.since.insert(window, author);
            Ok(window)
        })?;
        drop(state);
        Some(Window { recorder: Arc::clone(self), number })
    }

    /// It has ended.
    pub fn close(&self, window: Window) {
        let mut state = self.state();
        if let Some(live) = state.live.as_mut() {
            live.open.remove(&window.number);
        }
        self.keeping(&mut state, |live, counts| self.look_around(live, counts));
        drop(state);
    }

    /// The run ends, or is left: what is still at work is taken to have ended.
    pub fn finish(&self) {
        let mut state = self.state();
        if state.live.is_some() {
            self.keeping(&mut state, |live, counts| {
                live.open.clear();
                if !live.since.is_empty() {
                    self.look_around(live, counts)?;
                }
                if let Some(known) = &live.known {
                    known::write(&self.store.index(), known, 0)?;
                }
                Ok(())
            });
            state.live = None;
            drop(fs::remove_file(self.store.baseline(&self.run)));
            if let Err(error) = prune(&self.store, &self.run, self.settings.max_store_bytes) {
                tracing::warn!(%error, "what is no longer needed for an undo could not be removed");
            }
        }
    }

    /// What is to be told of the keeping since this was asked last.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        std::mem::take(&mut self.state().notes)
    }

    /// What was changed through the folder's handle since this was asked last.
    #[must_use]
    pub fn exact_changes(&self) -> Vec<(Author, Change)> {
        std::mem::take(&mut self.state().exact)
    }

    /// How much work looking was.
    #[must_use]
    pub fn counts(&self) -> LookCounts {
        self.state().counts
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does a part of the keeping. Its failure ends the keeping and is told, once.
    fn keeping<T>(&self, state: &mut State, work: impl FnOnce(&mut Live, &mut LookCounts) -> Result<T, UndoError>) -> Option<T> {
        if state.lost {
            return None;
        }
        let State { live, counts, .. } = state;
        match self.live(live, counts).and_then(|live| work(live, counts)) {
            Ok(done) => Some(done),
            Err(error) => {
                self.lose(state, &error);
                None
            }
        }
    }

    fn lose(&self, state: &mut State, error: &UndoError) {
        let reason = error.to_string();
        tracing::warn!(%error, "changes are no longer kept");
        if let Some(live) = &mut state.live {
            // On a full disk there may be no room for this either.
            drop(live.add(Record::Lost { reason: reason.clone() }));
        }
        state.lost = true;
        state.notes.push(format!("what this run changes from here on cannot be undone: {reason}"));
    }

    /// What is kept, opened if it is not yet.
    fn live<'a>(&self, live: &'a mut Option<Live>, counts: &mut LookCounts) -> Result<&'a mut Live, UndoError> {
        if live.is_none() {
            let opened = self.start(counts)?;
            *live = Some(opened);
        }
        live.as_mut().ok_or_else(|| UndoError::Lost { reason: "changes are not kept".to_owned() })
    }

    /// Opens what is kept, and takes up what a crash has left.
    fn start(&self, counts: &mut LookCounts) -> Result<Live, UndoError> {
        let objects = Objects::open(self.store.root(), self.settings.reserve_bytes)?;
        private_folder(&self.store.of_run(&self.run))?;
        let (log, records) = Log::open(&self.store.log(&self.run))?;
        let history = History::of(&records);
        // What another run knew only saves work: damaged, it does not.
        let cache = known::read(&self.store.index()).ok().flatten().map(|(known, _)| known).unwrap_or_default();
        let known = known::read(&self.store.baseline(&self.run))?.map(|(mut known, count)| {
            records.iter().skip(count).for_each(|record| follow(&mut known, record));
            known
        });
        let next = records.iter().filter(|record| matches!(record, Record::Opened { .. })).count() as u64;
        let (open, since) = (BTreeMap::new(), history.open.clone());
        let mut live = Live { objects, log, records, history, known, cache, open, since, next };
        self.take_up(&mut live, counts)?;
        Ok(live)
    }

    fn take_up(&self, live: &mut Live, counts: &mut LookCounts) -> Result<(), UndoError> {
        if let Some((number, _, changes)) = live.history.unfinished.clone() {
            let mut failed = Vec::new();
            for change in changes {
                if self.now(live, counts, &change.path)? != change.after {
                    failed.push(change.path);
                }
            }
            live.add(Record::Undone { number, failed })?;
        }
        if let Some((author, about)) = live.history.about.clone() {
            let changes = self.after(live, counts, about)?;
            live.add(Record::Changed { by: vec![author], changes })?;
        }
        Ok(())
    }
}

impl Live {
    /// Who was at work since the last look.
    fn authors(&self) -> Vec<Author> {
        let mut authors: Vec<Author> = self.since.values().cloned().collect();
        authors.sort();
        authors.dedup();
        authors
    }

    fn add(&mut self, record: Record) -> Result<(), UndoError> {
        self.log.add(&record)?;
        self.history.add(&record);
        self.records.push(record);
        Ok(())
    }
}

/// Brings what was known up to a record.
fn follow(known: &mut KnownFolder, record: &Record) {
    let changes = match record {
        Record::Changed { changes, .. } | Record::Undo { changes, .. } => changes.as_slice(),
        _ => &[],
    };
    for Change { path, after, .. } in changes {
        match after {
            Some(entry) => drop(known.insert(path.clone(), known::Known { entry: entry.clone(), stamp: None, read_at: 0 })),
            None => drop(known.remove(path)),
        }
    }
}
