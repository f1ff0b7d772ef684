//! Recorder of the changes that a run makes in a folder.

mod effects;
mod import;
mod scanning;
mod turns;
mod undo;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use aime_durable::private_folder;
use aime_messages::{Describe as _, Message, message};
use aime_sandbox::{ConfinedFolder, WatchChanges};

pub use self::{
    effects::PathComparison,
    import::{Content, ImportedWork},
    scanning::PathChange,
    undo::UndoResult,
};
use self::{
    scanning::Watcher,
    turns::{AtWork, Turn, Turns, is_at_work},
};
use crate::{
    Author, Change, UndoError, UndoSettings,
    chain::History,
    error::store,
    known_path::{self, KnownFolder},
    log::{Log, Record},
    objects::Objects,
    scan::ScanCounts,
    store::{Store, prune},
};

/// Records the changes that a run makes in a folder, and undoes them. All calls block. Nothing is read or created before the first possible
/// change.
///
/// Several recorders, also in several processes, may record the changes of one run. They take turns at its log, and each first reads the
/// records of the others. A recorder with open windows holds a lock, so that the others notice if its process is gone.
///
/// An error while recording, such as a full disk, stops the recording and is [reported](Self::notes); it is never an error of the work
/// itself.
#[derive(Debug)]
pub struct Recorder {
    folder: ConfinedFolder,
    store: Store,
    run: String,
    settings: UndoSettings,
    /// Location of the undo data relative to the folder, if it is inside.
    own: Option<PathBuf>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    live: Option<LogState>,
    is_stopped: bool,
    notes: Vec<Message>,
    /// Changes through the folder's handle that the caller has not taken yet.
    exact: Vec<(Author, Change)>,
    /// Number of records after which the effects of an author that stay are not reported yet.
    reported: BTreeMap<Author, usize>,
    counts: ScanCounts,
}

/// State of an open log.
#[derive(Debug)]
struct LogState {
    objects: Objects,
    turns: Turns,
    log: Log,
    /// True if this recorder created the log.
    first: bool,
    records: Vec<Record>,
    history: History,
    /// State of the folder at the last scan; `None` before the first one.
    known: Option<KnownFolder>,
    /// Number of records when the baseline was written from which that state follows.
    baseline: Option<usize>,
    /// True if this recorder has scanned the folder.
    has_scanned: bool,
    /// State recorded by an earlier run; avoids reading files again.
    cache: KnownFolder,
    /// Authors of the open windows.
    open: BTreeMap<u64, Author>,
    /// Authors of all windows that were open at some time since the last scan.
    since: BTreeMap<u64, Author>,
    /// Locks of the open windows of this recorder, by which others notice them.
    open_locks: BTreeMap<u64, AtWork>,
    next: u64,
}

/// Period in which an author may change any file. End it with [`Recorder::close`]; dropping it ends it, too, and the next scan finds its
/// changes.
#[derive(Debug)]
pub struct RecordingGuard {
    recorder: Arc<Recorder>,
    number: u64,
}

impl Drop for RecordingGuard {
    fn drop(&mut self) {
        if let Some(live) = self.recorder.state().live.as_mut() {
            live.ended(self.number);
        }
    }
}

impl Recorder {
    /// Creates a recorder for a run that works in `folder`, with its data in `keep` (`.aime`).
    #[must_use]
    pub fn new(folder: ConfinedFolder, data_folder: &Path, run: &str, settings: UndoSettings) -> Self {
        let own =
            fs::canonicalize(data_folder).ok().and_then(|data_folder| Some(data_folder.strip_prefix(folder.path()).ok()?.to_path_buf()));
        Self { folder, store: Store::new(data_folder), run: run.to_owned(), settings, own, state: Mutex::default() }
    }

    /// Returns an observer that records exactly the author's changes through a folder's own handle.
    #[must_use]
    pub fn watcher(self: &Arc<Self>, author: Author) -> Arc<dyn WatchChanges> {
        Arc::new(Watcher { recorder: Arc::clone(self), author })
    }

    /// Opens a window for work that may change any file. The folder is scanned before and after it.
    #[must_use]
    pub fn open(self: &Arc<Self>, author: Author) -> Option<RecordingGuard> {
        let mut state = self.state();
        let number = self.record_step(&mut state, |live, counts| {
            self.scan_folder(live, counts)?;
            let window = live.next;
            let at_work = AtWork::begin(&self.store.of_run(&self.run), window)?;
            live.add(Record::Opened { window, author })?;
            live.open_locks.insert(window, at_work);
            Ok(window)
        })?;
        drop(state);
        Some(RecordingGuard { recorder: Arc::clone(self), number })
    }

    /// Closes the window.
    pub fn close(&self, window: RecordingGuard) {
        drop(self.close_with_changes(window));
    }

    /// Closes the window, and returns the changes since the last scan that only its author can have made.
    #[must_use]
    pub fn close_with_changes(&self, window: RecordingGuard) -> Vec<Change> {
        let mut state = self.state();
        let author = state.live.as_mut().and_then(|live| {
            let author = live.open.get(&window.number).cloned();
            live.ended(window.number);
            author
        });
        let changes = self.record_step(&mut state, |live, counts| {
            let before = live.records.len();
            self.scan_folder(live, counts)?;
            let new = live.records.get(before..).unwrap_or_default().iter();
            let own = new.filter_map(|record| match record {
                Record::Changed { by, changes } if author.iter().eq(by) => Some(changes.clone()),
                _ => None,
            });
            Ok(own.flatten().collect())
        });
        drop(state);
        changes.unwrap_or_default()
    }

    /// Ends the recording at the end of the run, and closes the open windows of this recorder. Prunes the data of older runs if there is
    /// too much.
    pub fn finish(&self) {
        let mut state = self.state();
        if self.end(&mut state).is_some() {
            self.prune();
        }
    }

    /// Ends this recorder's part of the run, which others may continue, and closes its open windows.
    pub fn leave(&self) {
        let mut state = self.state();
        if self.end(&mut state) == Some(true) {
            self.prune();
        }
    }

    /// Closes the log. Returns true if this recorder created it; `None` if no log was open.
    fn end(&self, state: &mut State) -> Option<bool> {
        let first = state.live.as_mut().map(|live| {
            let here: Vec<u64> = live.open_locks.keys().copied().collect();
            here.into_iter().for_each(|window| live.ended(window));
            live.first
        })?;
        self.record_step(state, |live, counts| {
            self.drop_dead_windows(live);
            if live.since.keys().any(|window| !live.open.contains_key(window)) {
                self.scan_folder(live, counts)?;
            }
            if let Some(known) = live.known.as_ref().filter(|_| live.has_scanned) {
                known_path::write(&self.store.index(), known, 0)?;
            }
            // A window that is open elsewhere needs the baseline.
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
            tracing::warn!(%error, "cannot remove undo data that is no longer needed");
        }
    }

    /// Returns notices about the recording since the last call of this function.
    #[must_use]
    pub fn notes(&self) -> Vec<Message> {
        std::mem::take(&mut self.state().notes)
    }

    /// Returns true if changes are recorded, as far as is known.
    #[must_use]
    pub fn is_recording(&self) -> bool {
        !self.state().is_stopped
    }

    /// Returns the changes through the folder's handle since the last call of this function.
    #[must_use]
    pub fn exact_changes(&self) -> Vec<(Author, Change)> {
        std::mem::take(&mut self.state().exact)
    }

    /// Returns counts of the scanning work.
    #[must_use]
    pub fn counts(&self) -> ScanCounts {
        self.state().counts
    }

    /// Simulates a kill of the process.
    #[cfg(test)]
    pub(crate) fn killed(&self) {
        if let Some(live) = self.state().live.take() {
            live.open_locks.into_values().for_each(AtWork::killed);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a step of the recording. Its failure stops the recording and is reported once.
    fn record_step<T>(&self, state: &mut State, work: impl FnOnce(&mut LogState, &mut ScanCounts) -> Result<T, UndoError>) -> Option<T> {
        self.record_step_with_turn(state, work).map(|(done, _turn)| done)
    }

    /// Runs a step of the recording, and keeps the turn until the result is dropped.
    fn record_step_with_turn<T>(
        &self,
        state: &mut State,
        work: impl FnOnce(&mut LogState, &mut ScanCounts) -> Result<T, UndoError>,
    ) -> Option<(T, Turn)> {
        if state.is_stopped {
            return None;
        }
        let State { live, counts, .. } = state;
        let (done, turn) = match self.open_log(live, counts) {
            Ok((live, turn)) => (work(live, counts), Some(turn)),
            Err(error) => (Err(error), None),
        };
        let done = done.inspect_err(|error| stop_recording(state, error, turn.as_ref())).ok()?;
        turn.map(|turn| (done, turn))
    }

    /// Runs a step of the recording within the current turn.
    fn record_step_within<T>(
        &self,
        state: &mut State,
        turn: &Turn,
        work: impl FnOnce(&mut LogState, &mut ScanCounts) -> Result<T, UndoError>,
    ) -> Option<T> {
        let State { live, counts, .. } = state;
        let done = work(live.as_mut()?, counts);
        done.inspect_err(|error| stop_recording(state, error, Some(turn))).ok()
    }

    /// Opens the log if needed, and reads all records of the others. No one else writes before the turn is dropped.
    fn open_log<'a>(&self, live: &'a mut Option<LogState>, counts: &mut ScanCounts) -> Result<(&'a mut LogState, Turn), UndoError> {
        if live.is_none() {
            let opened = self.start()?;
            *live = Some(opened);
        }
        let live = live.as_mut().ok_or_else(|| UndoError::Lost { reason: message!("undo-not-recorded") })?;
        let turn = live.turns.take()?;
        self.catch_up(live)?;
        self.finish_interrupted(live, counts)?;
        Ok((live, turn))
    }

    /// Opens the log and the store.
    fn start(&self) -> Result<LogState, UndoError> {
        let objects = Objects::open(self.store.root(), self.settings.reserve_bytes)?;
        let folder = self.store.of_run(&self.run);
        private_folder(&folder).map_err(store(&folder, "made"))?;
        let turns = Turns::open(&folder)?;
        let turn = turns.take()?;
        let (log, records) = Log::open(&self.store.log(&self.run))?;
        drop(turn);
        let history = History::of(&records);
        // The state of another run only saves work, so a damaged one is ignored.
        let cache = known_path::read(&self.store.index()).ok().flatten().map(|(known, _)| known).unwrap_or_default();
        let next = records.iter().filter(|record| matches!(record, Record::Opened { .. })).count() as u64;
        let (open, here) = (history.open.clone(), BTreeMap::new());
        let (first, since) = (records.len() == 1, open.clone());
        Ok(LogState {
            objects,
            turns,
            log,
            first,
            records,
            history,
            known: None,
            baseline: None,
            has_scanned: false,
            cache,
            open,
            since,
            open_locks: here,
            next,
        })
    }

    /// Applies the records that others have written since.
    fn catch_up(&self, live: &mut LogState) -> Result<(), UndoError> {
        for record in live.log.new_records()? {
            if let Some(known) = &mut live.known {
                let undo = live.history.unfinished.as_ref().map(|(_, _, changes)| changes.as_slice());
                apply_to_known(known, &record, undo.unwrap_or_default());
            }
            live.apply(record);
        }
        // While no window was open, the baseline was removed: changes since then have no author in the run.
        let path = self.store.baseline(&self.run);
        let baseline = known_path::records(&path)?;
        if baseline != live.baseline {
            live.baseline = baseline;
            live.known = known_path::read(&path)?.map(|(mut known, count)| {
                let mut undo: &[Change] = &[];
                for record in live.records.iter().skip(count) {
                    apply_to_known(&mut known, record, undo);
                    if let Record::Undo { changes, .. } = record {
                        undo = changes;
                    }
                }
                known
            });
        }
        Ok(())
    }

    /// Completes an undo or a file change that another process left unfinished.
    fn finish_interrupted(&self, live: &mut LogState, counts: &mut ScanCounts) -> Result<(), UndoError> {
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

    /// Removes the windows of processes that are gone.
    fn drop_dead_windows(&self, live: &mut LogState) {
        let folder = self.store.of_run(&self.run);
        let LogState { open, open_locks: here, .. } = live;
        open.retain(|window, _| here.contains_key(window) || is_at_work(&folder, *window));
    }
}

impl LogState {
    /// Returns the authors of windows that were open since the last scan.
    fn authors(&self) -> Vec<Author> {
        let mut authors: Vec<Author> = self.since.values().cloned().collect();
        authors.sort();
        authors.dedup();
        authors
    }

    fn add(&mut self, record: Record) -> Result<(), UndoError> {
        self.log.add(&record)?;
        self.apply(record);
        Ok(())
    }

    fn add_all(&mut self, records: Vec<Record>) -> Result<(), UndoError> {
        self.log.add_all(&records)?;
        records.into_iter().for_each(|record| self.apply(record));
        Ok(())
    }

    /// Applies a record that is in the log now.
    fn apply(&mut self, record: Record) {
        match &record {
            Record::Opened { window, author } => {
                self.next = window + 1;
                self.open.insert(*window, author.clone());
                self.since.insert(*window, author.clone());
            }
            // The record is written after a scan, so all changes of the window are known.
            Record::Closed { window } if !self.open_locks.contains_key(window) => {
                self.open.remove(window);
                self.since.remove(window);
            }
            _ => {}
        }
        self.history.add(&record);
        self.records.push(record);
    }

    /// Removes a window of this recorder.
    fn ended(&mut self, window: u64) {
        self.open.remove(&window);
        self.open_locks.remove(&window);
    }
}

/// Stops the recording, and notes it in the log if this recorder has the turn.
fn stop_recording(state: &mut State, error: &UndoError, turn: Option<&Turn>) {
    let reason = error.describe();
    tracing::warn!(%error, "the recording of file changes has stopped");
    state.is_stopped = true;
    if let (Some(live), Some(_)) = (&mut state.live, turn) {
        // The log already says so, and nothing was recorded since.
        if matches!(live.records.last(), Some(Record::Lost { .. })) {
            return;
        }
        // A full disk may have no room for this record either.
        drop(live.add(Record::Lost { reason: reason.clone() }));
    }
    state.notes.push(reason);
}

/// Applies a record to the known state. An undo takes effect with its end record, except for the failed paths.
fn apply_to_known(known: &mut KnownFolder, record: &Record, undo: &[Change]) {
    let (changes, failed) = match record {
        Record::Changed { changes, .. } => (changes.as_slice(), [].as_slice()),
        Record::Undone { failed, .. } => (undo, failed.as_slice()),
        _ => return,
    };
    for Change { path, after, .. } in changes.iter().filter(|change| !failed.contains(&change.path)) {
        match after {
            Some(entry) => drop(known.insert(path.clone(), known_path::KnownPath { entry: entry.clone(), stamp: None, read_at: 0 })),
            None => drop(known.remove(path)),
        }
    }
}

impl Drop for Recorder {
    /// Abandoned work leaves no window open.
    fn drop(&mut self) {
        self.leave();
    }
}
