//! Keeps what a run changes in a folder, and puts it back.

mod bringing;
mod looking;
mod turns;
mod undoing;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use aime_sandbox::{ConfinedFolder, WatchChanges};

pub use self::{
    bringing::{Brought, Content},
    looking::PathChange,
    undoing::Undone,
};
use self::{
    looking::Watcher,
    turns::{AtWork, Turn, Turns, is_at_work},
};
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
/// Several may keep the changes of one run, also in several processes: they take turns at its log, and each takes in first what the others have
/// written. Whoever is at work holds a lock, so that one whose process is gone is known to be at work no more.
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
    turns: Turns,
    log: Log,
    /// Whether this one began the log.
    first: bool,
    records: Vec<Record>,
    history: History,
    /// The folder as it was last looked at; none before the first look.
    known: Option<KnownFolder>,
    /// How many records stood when the first look was kept from which that follows.
    baseline: Option<usize>,
    /// Whether it was looked at here.
    looked: bool,
    /// What another run knew; saves reading.
    cache: KnownFolder,
    /// Who is at work and may change anything.
    open: BTreeMap<u64, Author>,
    /// Who was at some time since the last look.
    since: BTreeMap<u64, Author>,
    /// Those of them that work here, by what tells others so.
    here: BTreeMap<u64, AtWork>,
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
            live.ended(self.number);
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
            let at_work = AtWork::begin(&self.store.of_run(&self.run), window)?;
            live.add(Record::Opened { window, author })?;
            live.here.insert(window, at_work);
            Ok(window)
        })?;
        drop(state);
        Some(Window { recorder: Arc::clone(self), number })
    }

    /// It has ended.
    pub fn close(&self, window: Window) {
        let mut state = self.state();
        if let Some(live) = state.live.as_mut() {
            live.ended(window.number);
        }
        self.keeping(&mut state, |live, counts| self.look_around(live, counts));
        drop(state);
    }

    /// The run ends, or is left: what is still at work here is taken to have ended. What older runs keep gives way where it is too much.
    pub fn finish(&self) {
        let mut state = self.state();
        if self.end(&mut state).is_some() {
            self.prune();
        }
    }

    /// A part of the run ends, and others may go on with it: what is still at work here is taken to have ended.
    pub fn leave(&self) {
        let mut state = self.state();
        if self.end(&mut state) == Some(true) {
            self.prune();
        }
    }

    /// Nothing is open any more. Whether the log was begun here; nothing where none was open.
    fn end(&self, state: &mut State) -> Option<bool> {
        let first = state.live.as_mut().map(|live| {
            let here: Vec<u64> = live.here.keys().copied().collect();
            here.into_iter().for_each(|window| live.ended(window));
            live.first
        })?;
        self.keeping(state, |live, counts| {
            self.without_the_gone(live);
            if live.since.keys().any(|window| !live.open.contains_key(window)) {
                self.look_around(live, counts)?;
            }
            if let Some(known) = live.known.as_ref().filter(|_| live.looked) {
                known::write(&self.store.index(), known, 0)?;
            }
            // Who is still at work elsewhere needs it.
            if live.open.is_empty() {
                drop(fs::remove_file(self.store.baseline(&self.run)));
            }
            Ok(())
        });
        state.live = None;
        Some(first)
    }

    fn prune(&self) {
        if let Err(error) = prune(&self.store, &self.run, self.settings.max_store_bytes) {
            tracing::warn!(%error, "what is no longer needed for an undo could not be removed");
        }
    }

    /// What is to be told of the keeping since this was asked last.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        std::mem::take(&mut self.state().notes)
    }

    /// Whether what changes is kept, as far as is known by now.
    #[must_use]
    pub fn keeps(&self) -> bool {
        !self.state().lost
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

    /// As when the process is killed.
    #[cfg(test)]
    pub(crate) fn killed(&self) {
        if let Some(live) = self.state().live.take() {
            live.here.into_values().for_each(AtWork::killed);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does a part of the keeping. Its failure ends the keeping and is told, once.
    fn keeping<T>(&self, state: &mut State, work: impl FnOnce(&mut Live, &mut LookCounts) -> Result<T, UndoError>) -> Option<T> {
        self.keeping_on(state, work).map(|(done, _turn)| done)
    }

    /// The same, and the turn goes on until it is dropped.
    fn keeping_on<T>(&self, state: &mut State, work: impl FnOnce(&mut Live, &mut LookCounts) -> Result<T, UndoError>) -> Option<(T, Turn)> {
        if state.lost {
            return None;
        }
        let State { live, counts, .. } = state;
        let (done, turn) = match self.live(live, counts) {
            Ok((live, turn)) => (work(live, counts), Some(turn)),
            Err(error) => (Err(error), None),
        };
        let done = done.inspect_err(|error| lose(state, error, turn.as_ref())).ok()?;
        turn.map(|turn| (done, turn))
    }

    /// Goes on with it in the same turn.
    fn keeping_within<T>(
        &self,
        state: &mut State,
        turn: &Turn,
        work: impl FnOnce(&mut Live, &mut LookCounts) -> Result<T, UndoError>,
    ) -> Option<T> {
        let State { live, counts, .. } = state;
        let done = work(live.as_mut()?, counts);
        done.inspect_err(|error| lose(state, error, Some(turn))).ok()
    }

    /// What is kept, opened if it is not yet, with all that others have written until now. Nobody else writes before the turn is dropped.
    fn live<'a>(&self, live: &'a mut Option<Live>, counts: &mut LookCounts) -> Result<(&'a mut Live, Turn), UndoError> {
        if live.is_none() {
            let opened = self.start()?;
            *live = Some(opened);
        }
        let live = live.as_mut().ok_or_else(|| UndoError::Lost { reason: "changes are not kept".to_owned() })?;
        let turn = live.turns.take()?;
        self.catch_up(live)?;
        self.take_up(live, counts)?;
        Ok((live, turn))
    }

    /// Opens what is kept.
    fn start(&self) -> Result<Live, UndoError> {
        let objects = Objects::open(self.store.root(), self.settings.reserve_bytes)?;
        let folder = self.store.of_run(&self.run);
        private_folder(&folder)?;
        let turns = Turns::open(&folder)?;
        let turn = turns.take()?;
        let (log, records) = Log::open(&self.store.log(&self.run))?;
        drop(turn);
        let history = History::of(&records);
        // What another run knew only saves work: damaged, it does not.
        let cache = known::read(&self.store.index()).ok().flatten().map(|(known, _)| known).unwrap_or_default();
        let next = records.iter().filter(|record| matches!(record, Record::Opened { .. })).count() as u64;
        let (open, here) = (history.open.clone(), BTreeMap::new());
        let (first, since) = (records.len() == 1, open.clone());
        Ok(Live {
            objects,
            turns,
            log,
            first,
            records,
            history,
            known: None,
            baseline: None,
            looked: false,
            cache,
            open,
            since,
            here,
            next,
        })
    }

    /// Takes in what others have written since.
    fn catch_up(&self, live: &mut Live) -> Result<(), UndoError> {
        for record in live.log.news()? {
            if let Some(known) = &mut live.known {
                let undo = live.history.unfinished.as_ref().map(|(_, _, changes)| changes.as_slice());
                follow(known, &record, undo.unwrap_or_default());
            }
            live.take_in(record);
        }
        // Where nobody was at work, the first look was thrown away: what has changed since then is nobody's.
        let path = self.store.baseline(&self.run);
        let baseline = known::records(&path)?;
        if baseline != live.baseline {
            live.baseline = baseline;
            live.known = known::read(&path)?.map(|(mut known, count)| {
                let mut undo: &[Change] = &[];
                for record in live.records.iter().skip(count) {
                    follow(&mut known, record, undo);
                    if let Record::Undo { changes, .. } = record {
                        undo = changes;
                    }
                }
                known
            });
        }
        Ok(())
    }

    /// Ends what somebody has begun who is gone: it is our turn, and it is not done.
    fn take_up(&self, live: &mut Live, counts: &mut LookCounts) -> Result<(), UndoError> {
        if let Some((number, _, changes)) = live.history.unfinished.clone() {
            let mut failed = Vec::new();
            for change in changes {
                if self.now(live, counts, &change.path)? == change.after {
                    self.refresh(live, counts, &change.path)?;
                } else {
                    failed.push(change.path);
                }
            }
            live.add(Record::Undone { number, failed })?;
        }
        if let Some((author, about)) = live.history.about.clone() {
            let changes = self.after(live, counts, about)?;
            for change in &changes {
                self.refresh(live, counts, &change.path)?;
            }
            live.add(Record::Changed { by: vec![author], changes })?;
        }
        Ok(())
    }

    /// Leaves those at work who still are.
    fn without_the_gone(&self, live: &mut Live) {
        let folder = self.store.of_run(&self.run);
        let Live { open, here, .. } = live;
        open.retain(|window, _| here.contains_key(window) || is_at_work(&folder, *window));
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
        self.take_in(record);
        Ok(())
    }

    fn add_all(&mut self, records: Vec<Record>) -> Result<(), UndoError> {
        self.log.add_all(&records)?;
        records.into_iter().for_each(|record| self.take_in(record));
        Ok(())
    }

    /// A record that stands in the log now.
    fn take_in(&mut self, record: Record) {
        match &record {
            Record::Opened { window, author } => {
                self.next = window + 1;
                self.open.insert(*window, author.clone());
                self.since.insert(*window, author.clone());
            }
            // It is written after a look, so all that it did is known.
            Record::Closed { window } if !self.here.contains_key(window) => {
                self.open.remove(window);
                self.since.remove(window);
            }
            _ => {}
        }
        self.history.add(&record);
        self.records.push(record);
    }

    /// One that worked here has ended.
    fn ended(&mut self, window: u64) {
        self.open.remove(&window);
        self.here.remove(&window);
    }
}

/// From here on nothing is kept, which is noted in the log where it is our turn.
fn lose(state: &mut State, error: &UndoError, turn: Option<&Turn>) {
    let reason = error.to_string();
    tracing::warn!(%error, "changes are no longer kept");
    state.lost = true;
    if let (Some(live), Some(_)) = (&mut state.live, turn) {
        // Another has said so, and nothing was kept since.
        if matches!(live.records.last(), Some(Record::Lost { .. })) {
            return;
        }
        // On a full disk there may be no room for this either.
        drop(live.add(Record::Lost { reason: reason.clone() }));
    }
    state.notes.push(format!("what this run changes from here on cannot be undone: {reason}"));
}

/// Brings what was known up to a record: what was put back is so when that has ended, save for what failed.
fn follow(known: &mut KnownFolder, record: &Record, undo: &[Change]) {
    let (changes, failed) = match record {
        Record::Changed { changes, .. } => (changes.as_slice(), [].as_slice()),
        Record::Undone { failed, .. } => (undo, failed.as_slice()),
        _ => return,
    };
    for Change { path, after, .. } in changes.iter().filter(|change| !failed.contains(&change.path)) {
        match after {
            Some(entry) => drop(known.insert(path.clone(), known::Known { entry: entry.clone(), stamp: None, read_at: 0 })),
            None => drop(known.remove(path)),
        }
    }
}

impl Drop for Recorder {
    /// Work that was given up leaves nobody at work.
    fn drop(&mut self) {
        self.leave();
    }
}
