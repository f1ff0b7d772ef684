//! Keeps what a run changes in a folder, and puts it back.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use aime_sandbox::{ConfinedFolder, WatchChanges};

use crate::{
    Author, Change, Entry, UndoError, UndoSettings,
    chain::History,
    known::{self, KnownFolder},
    log::{LeftOut, Log, Record},
    objects::{Objects, private_folder},
    plan::{UndoPlan, plan},
    restore::{Failed, restore},
    scan::{Look, LookCounts},
    scope::Scope,
    store::{Store, prune},
};

/// How many paths are named in the log that are not kept.
const NAMED: usize = 50;

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

/// What an undo did.
#[derive(Debug)]
pub struct Undone {
    /// Its number in the run, by which it can be put back; none where nothing was to be done.
    pub number: Option<u64>,
    /// What was put back.
    pub changes: Vec<Change>,
    /// What could not be.
    pub failed: Vec<Failed>,
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

    /// What a file held: nothing for what is no file, or was none.
    ///
    /// # Errors
    /// [`UndoError`].
    pub fn content(&self, entry: Option<&Entry>) -> Result<Vec<u8>, UndoError> {
        let mut state = self.state();
        let State { live, counts, .. } = &mut *state;
        match entry.and_then(Entry::hash) {
            Some(hash) => self.live(live, counts)?.objects.get(hash),
            None => Ok(Vec::new()),
        }
    }

    /// How much work looking was.
    #[must_use]
    pub fn counts(&self) -> LookCounts {
        self.state().counts
    }

    /// What an undo would do. With `force` also what speaks against it, where that is possible.
    ///
    /// # Errors
    /// [`UndoError`]; [`UndoError::AtWork`] while a task of the scope is at work.
    pub fn plan(&self, scope: &Scope, force: bool) -> Result<UndoPlan, UndoError> {
        let mut state = self.state();
        let State { live, counts, .. } = &mut *state;
        let live = self.live(live, counts)?;
        if let Some(author) = live.open.values().find(|author| author.task.is_some() && scope.holds(author)) {
            return Err(UndoError::AtWork { task: author.task.clone().unwrap_or_default() });
        }
        if live.known.is_some() {
            self.look_around(live, counts)?;
        }
        let of_undo = match scope {
            Scope::Undo { number } => live.history.changes_of(*number, &live.records),
            Scope::Run {} | Scope::Tasks { .. } => Vec::new(),
        };
        let Live { objects, known, history, .. } = live;
        let mut look = self.look(objects, counts);
        plan(history, &of_undo, scope, force, |path| at(&mut look, known.as_ref(), path))
    }

    /// Puts back what was planned. It is recorded before: it can be undone itself, and after a crash in the midst of it, planning and doing it
    /// again finishes it.
    ///
    /// # Errors
    /// [`UndoError`] where nothing was done.
    pub fn undo(&self, plan: &UndoPlan) -> Result<Undone, UndoError> {
        let mut state = self.state();
        let State { live, counts, .. } = &mut *state;
        let live = self.live(live, counts)?;
        if plan.changes.is_empty() {
            return Ok(Undone { number: None, changes: Vec::new(), failed: Vec::new() });
        }
        let number = live.history.last + 1;
        live.add(Record::Undo { number, of: plan.of.clone(), changes: plan.changes.clone() })?;
        let failed = {
            let Live { objects, known, .. } = &*live;
            let mut look = self.look(objects, counts);
            restore(&self.folder, objects, &plan.changes, |path| at(&mut look, known.as_ref(), path))
        };
        live.add(Record::Undone { number, failed: failed.iter().map(|failed| failed.path.clone()).collect() })?;
        for change in &plan.changes {
            self.refresh(live, counts, &change.path)?;
        }
        let done = |change: &&Change| failed.iter().all(|failed| failed.path != change.path);
        let changes = plan.changes.iter().filter(done).cloned().collect();
        Ok(Undone { number: Some(number), changes, failed })
    }

    /// The last undo that has not been put back itself.
    ///
    /// # Errors
    /// [`UndoError`].
    pub fn last_undo(&self) -> Result<Option<u64>, UndoError> {
        let mut state = self.state();
        let State { live, counts, .. } = &mut *state;
        Ok(self.live(live, counts)?.history.undos.last().copied())
    }

    /// Why changes were not kept from some moment on, if they were not.
    ///
    /// # Errors
    /// [`UndoError`].
    pub fn lost(&self) -> Result<Option<String>, UndoError> {
        let mut state = self.state();
        let State { live, counts, .. } = &mut *state;
        Ok(self.live(live, counts)?.history.lost.clone())
    }

    /// What of the folder was not kept when it was first looked at: the first of them, and how many there are.
    ///
    /// # Errors
    /// [`UndoError`].
    pub fn left_out(&self) -> Result<(Vec<LeftOut>, usize), UndoError> {
        let mut state = self.state();
        let State { live, counts, .. } = &mut *state;
        let records = &self.live(live, counts)?.records;
        let found = records.iter().rev().find_map(|record| match record {
            Record::NotKept { first, count } => Some((first.clone(), *count)),
            _ => None,
        });
        Ok(found.unwrap_or_default())
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

    fn look<'a>(&'a self, objects: &'a Objects, counts: &'a mut LookCounts) -> Look<'a> {
        Look { folder: &self.folder, objects, settings: &self.settings, own: self.own.as_deref(), counts }
    }

    fn now(&self, live: &Live, counts: &mut LookCounts, path: &Path) -> Result<Option<Entry>, UndoError> {
        at(&mut self.look(&live.objects, counts), live.known.as_ref(), path)
    }

    /// Looks at the whole folder and notes what has changed since the last look, on behalf of those who were at work.
    fn look_around(&self, live: &mut Live, counts: &mut LookCounts) -> Result<(), UndoError> {
        let found = self.look(&live.objects, counts).all(live.known.as_ref(), &live.cache)?;
        match &live.known {
            None => {
                let left_out = found.iter().filter_map(|(path, known)| Some(LeftOut { path: path.clone(), why: known.entry.not_kept()? }));
                let left_out: Vec<LeftOut> = left_out.collect();
                if !left_out.is_empty() {
                    live.add(Record::NotKept { count: left_out.len(), first: left_out.into_iter().take(NAMED).collect() })?;
                }
                known::write(&self.store.baseline(&self.run), &found, live.records.len())?;
            }
            Some(known) => {
                let changes = difference(known, &found);
                if !changes.is_empty() {
                    live.add(Record::Changed { by: live.authors(), changes })?;
                }
            }
        }
        live.known = Some(found);
        let ended: Vec<u64> = live.since.keys().filter(|window| !live.open.contains_key(window)).copied().collect();
        for window in ended {
            live.add(Record::Closed { window })?;
        }
        live.since = live.open.clone();
        Ok(())
    }

    /// What stands at a path now. What those who are or were at work since the last look have made of it is noted, because it is about to be changed
    /// again.
    fn settled(&self, live: &mut Live, counts: &mut LookCounts, path: &Path) -> Result<Option<Entry>, UndoError> {
        let now = self.now(live, counts, path)?;
        let Some(known) = live.known.as_ref().filter(|_| !live.since.is_empty()) else { return Ok(now) };
        let before = known.get(path).map(|known| known.entry.clone());
        if before != now {
            let change = Change { path: path.to_path_buf(), before, after: now.clone() };
            live.add(Record::Changed { by: live.authors(), changes: vec![change] })?;
            self.refresh(live, counts, path)?;
        }
        Ok(now)
    }

    /// One file is changed, and nothing else.
    fn exactly(&self, author: &Author, path: &Path, make: &mut dyn FnMut()) {
        let mut state = self.state();
        let begun = self.keeping(&mut state, |live, counts| {
            let mut changes = Vec::new();
            let above: Vec<&Path> = path.ancestors().skip(1).filter(|path| !path.as_os_str().is_empty()).collect();
            for path in above.into_iter().rev().chain([path]) {
                let before = self.settled(live, counts, path)?;
                // Of the folders above it only those that are not there can come to be.
                if before.as_ref().is_none_or(|before| !before.is_folder()) {
                    changes.push(Change { path: path.to_path_buf(), before, after: None });
                }
            }
            live.add(Record::About { author: author.clone(), changes: changes.clone() })?;
            Ok(changes)
        });
        make();
        let Some(about) = begun else { return };
        let made = self.keeping(&mut state, |live, counts| {
            let changes = self.after(live, counts, about)?;
            for change in &changes {
                self.refresh(live, counts, &change.path)?;
            }
            live.add(Record::Changed { by: vec![author.clone()], changes: changes.clone() })?;
            Ok(changes)
        });
        state.exact.extend(made.into_iter().flatten().map(|change| (author.clone(), change)));
    }

    /// The changes with what stands there now; those that are none are left out.
    fn after(&self, live: &Live, counts: &mut LookCounts, changes: Vec<Change>) -> Result<Vec<Change>, UndoError> {
        let mut made = Vec::new();
        for change in changes {
            let after = self.now(live, counts, &change.path)?;
            if after != change.before {
                made.push(Change { after, ..change });
            }
        }
        Ok(made)
    }

    /// What was changed by ourselves is known.
    fn refresh(&self, live: &mut Live, counts: &mut LookCounts, path: &Path) -> Result<(), UndoError> {
        let Live { objects, known: Some(known), .. } = live else { return Ok(()) };
        match self.look(objects, counts).at(path, None)? {
            Some(now) => drop(known.insert(path.to_path_buf(), now)),
            None => drop(known.remove(path)),
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

/// What stands at a path now.
fn at(look: &mut Look<'_>, known: Option<&KnownFolder>, path: &Path) -> Result<Option<Entry>, UndoError> {
    Ok(look.at(path, known.and_then(|known| known.get(path)))?.map(|known| known.entry))
}

/// What has changed from one look to the next.
fn difference(before: &KnownFolder, after: &KnownFolder) -> Vec<Change> {
    let gone = before.iter().filter(|(path, _)| !after.contains_key(*path));
    let gone = gone.map(|(path, known)| Change { path: path.clone(), before: Some(known.entry.clone()), after: None });
    let other = after.iter().filter_map(|(path, now)| {
        let before = before.get(path).map(|known| &known.entry);
        (before != Some(&now.entry)).then(|| Change { path: path.clone(), before: before.cloned(), after: Some(now.entry.clone()) })
    });
    let mut changes: Vec<Change> = gone.chain(other).collect();
    changes.sort_by(|one, other| one.path.cmp(&other.path));
    changes
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

/// Sees what is changed through a folder's handle.
#[derive(Debug)]
struct Watcher {
    recorder: Arc<Recorder>,
    author: Author,
}

impl WatchChanges for Watcher {
    fn change(&self, path: &Path, make: &mut dyn FnMut()) {
        self.recorder.exactly(&self.author, path, make);
    }
}
