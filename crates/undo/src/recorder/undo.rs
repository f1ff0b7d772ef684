//! Undo of recorded changes.

use aime_messages::Message;

use super::{LogState, Recorder, State, scanning::at};
use crate::{
    Change, Entry, UndoError,
    log::{Record, UnrecordedEntry},
    plan::{UndoPlan, plan},
    restore::{Failed, restore},
    scope::Scope,
};

/// Result of an undo.
#[derive(Debug)]
pub struct UndoResult {
    /// Number of the undo in the run, by which it can be undone; `None` if there was nothing to do.
    pub number: Option<u64>,
    /// Changes that were made.
    pub changes: Vec<Change>,
    /// Paths that could not be restored.
    pub failed: Vec<Failed>,
}

impl Recorder {
    /// Returns the bytes of a file; empty for other entries and for `None`.
    ///
    /// # Errors
    /// [`UndoError`].
    pub fn content(&self, entry: Option<&Entry>) -> Result<Vec<u8>, UndoError> {
        let mut state = self.state();
        let State { live, counts, .. } = &mut *state;
        match entry.and_then(Entry::hash) {
            Some(hash) => self.open_log(live, counts)?.0.objects.get(hash),
            None => Ok(Vec::new()),
        }
    }

    /// Plans an undo. With `force`, the plan also overrides conflicts where possible.
    ///
    /// # Errors
    /// [`UndoError`]; [`UndoError::AtWork`] while a task of the scope is running.
    pub fn plan(&self, scope: &Scope, force: bool) -> Result<UndoPlan, UndoError> {
        let mut state = self.state();
        let State { live, counts, .. } = &mut *state;
        let (live, _turn) = self.open_log(live, counts)?;
        self.nobody_at_work(live, scope)?;
        if live.known.is_some() {
            self.scan_folder(live, counts)?;
        }
        let of_undo = match scope {
            Scope::Undo { number } => live.history.changes_of(*number, &live.records),
            Scope::Run {} | Scope::Tasks { .. } | Scope::Effects { .. } => Vec::new(),
        };
        let LogState { objects, known, history, .. } = live;
        let mut scanner = self.scanner(objects, counts);
        plan(history, &of_undo, scope, force, |path| at(&mut scanner, known.as_ref(), path))
    }

    /// Makes the planned changes. The undo is recorded first: it can be undone itself, and after a crash, planning and executing it again
    /// completes it.
    ///
    /// # Errors
    /// [`UndoError`] if nothing was done.
    pub fn undo(&self, plan: &UndoPlan) -> Result<UndoResult, UndoError> {
        let mut state = self.state();
        let State { live, counts, .. } = &mut *state;
        let (live, _turn) = self.open_log(live, counts)?;
        if plan.changes.is_empty() {
            return Ok(UndoResult { number: None, changes: Vec::new(), failed: Vec::new() });
        }
        // A task may have begun since the plan was made.
        self.nobody_at_work(live, &plan.scope)?;
        let number = live.history.last + 1;
        live.add(Record::Undo { number, of: plan.scope.clone(), changes: plan.changes.clone() })?;
        let failed = {
            let LogState { objects, known, .. } = &*live;
            let mut scanner = self.scanner(objects, counts);
            restore(&self.folder, objects, &plan.changes, |path| at(&mut scanner, known.as_ref(), path))
        };
        live.add(Record::Undone { number, failed: failed.iter().map(|failed| failed.path.clone()).collect() })?;
        let done = |change: &&Change| failed.iter().all(|failed| failed.path != change.path);
        let changes: Vec<Change> = plan.changes.iter().filter(done).cloned().collect();
        for change in &changes {
            self.refresh(live, counts, &change.path)?;
        }
        Ok(UndoResult { number: Some(number), changes, failed })
    }

    fn nobody_at_work(&self, live: &mut LogState, scope: &Scope) -> Result<(), UndoError> {
        self.drop_dead_windows(live);
        let at_work = live.open.values().filter(|author| scope.contains(author)).find_map(|author| author.task.clone());
        at_work.map_or(Ok(()), |task| Err(UndoError::AtWork { task }))
    }

    /// Returns the last undo that has not been undone itself. One of effects, such as those of a check, counts if there is no other.
    ///
    /// # Errors
    /// [`UndoError`].
    pub fn last_undo(&self) -> Result<Option<u64>, UndoError> {
        let mut state = self.state();
        let State { live, counts, .. } = &mut *state;
        let history = &self.open_log(live, counts)?.0.history;
        Ok(history.undos.last().or(history.undone_effects.last()).copied())
    }

    /// Returns the reason why recording stopped, if it did.
    ///
    /// # Errors
    /// [`UndoError`].
    pub fn lost(&self) -> Result<Option<Message>, UndoError> {
        let mut state = self.state();
        let State { live, counts, .. } = &mut *state;
        Ok(self.open_log(live, counts)?.0.history.stop_reason.clone())
    }

    /// Returns the entries without recorded content at the first scan: the first of them, and their number.
    ///
    /// # Errors
    /// [`UndoError`].
    pub fn unrecorded(&self) -> Result<(Vec<UnrecordedEntry>, usize), UndoError> {
        let mut state = self.state();
        let State { live, counts, .. } = &mut *state;
        let records = &self.open_log(live, counts)?.0.records;
        let found = records.iter().rev().find_map(|record| match record {
            Record::NotKept { first, count } => Some((first.clone(), *count)),
            _ => None,
        });
        Ok(found.unwrap_or_default())
    }
}
