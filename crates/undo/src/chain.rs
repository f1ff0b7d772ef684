//! What became of each path, one change after the other. Pure.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use crate::{Author, Change, Entry, log::Record, scope::Scope};

/// One change of a path that still holds: what was put back is no longer in the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Link {
    /// Who may have made it; nobody of the run where it is empty.
    pub(crate) by: Vec<Author>,
    pub(crate) before: Option<Entry>,
    pub(crate) after: Option<Entry>,
}

/// The changes of each path, oldest first.
pub(crate) type Chains = BTreeMap<PathBuf, Vec<Link>>;

/// What a log comes to.
#[derive(Debug, Clone, Default)]
pub(crate) struct History {
    pub(crate) chains: Chains,
    /// What each undo took out of the chains.
    taken: BTreeMap<(u64, PathBuf), Vec<Link>>,
    /// The undos that have not been put back themselves, oldest first.
    pub(crate) undos: Vec<u64>,
    /// The number of the last one.
    pub(crate) last: u64,
    /// The one that was begun and has not ended.
    pub(crate) unfinished: Option<(u64, Scope, Vec<Change>)>,
    /// Windows that were opened and not closed.
    pub(crate) open: BTreeMap<u64, Author>,
    /// One file that was about to be changed, and has not been looked at since.
    pub(crate) about: Option<(Author, Vec<Change>)>,
    /// Why changes were not kept from some moment on.
    pub(crate) lost: Option<String>,
}

impl History {
    pub(crate) fn of(records: &[Record]) -> Self {
        let mut history = Self::default();
        records.iter().for_each(|record| history.add(record));
        history
    }

    pub(crate) fn add(&mut self, record: &Record) {
        match record {
            Record::Log { .. } | Record::NotKept { .. } => {}
            Record::Opened { window, author } => drop(self.open.insert(*window, author.clone())),
            Record::Closed { window } => drop(self.open.remove(window)),
            Record::About { author, changes } => self.about = Some((author.clone(), changes.clone())),
            Record::Changed { by, changes } => {
                self.about = None;
                for Change { path, before, after } in changes {
                    let link = Link { by: by.clone(), before: before.clone(), after: after.clone() };
                    self.chains.entry(path.clone()).or_default().push(link);
                }
            }
            Record::Undo { number, of, changes } => {
                self.last = *number;
                self.unfinished = Some((*number, of.clone(), changes.clone()));
            }
            Record::Undone { number, failed } => {
                if let Some((begun, of, changes)) = self.unfinished.take().filter(|(begun, ..)| begun == number) {
                    self.put_back(begun, &of, &changes, &failed.iter().map(PathBuf::as_path).collect());
                }
            }
            Record::Lost { reason } => self.lost = Some(reason.clone()),
        }
    }

    fn put_back(&mut self, number: u64, of: &Scope, changes: &[Change], failed: &BTreeSet<&Path>) {
        for Change { path, before, after } in changes.iter().filter(|change| !failed.contains(change.path.as_path())) {
            let chain = self.chains.entry(path.clone()).or_default();
            let restored = match of {
                Scope::Undo { number: undone } => self.taken.remove(&(*undone, path.clone())),
                Scope::Run {} | Scope::Tasks { .. } => None,
            };
            if let Some(links) = restored {
                chain.extend(links);
                continue;
            }
            // The path stands as it did before that change: this one and what came after it are undone.
            match chain.iter().position(|link| link.before == *after) {
                Some(at) => drop(self.taken.insert((number, path.clone()), chain.split_off(at))),
                None => chain.push(Link { by: Vec::new(), before: before.clone(), after: after.clone() }),
            }
        }
        match of {
            Scope::Undo { number } => self.undos.retain(|undo| undo != number),
            Scope::Run {} | Scope::Tasks { .. } => self.undos.push(number),
        }
    }

    /// Whether a path stood so once, before a change that still holds.
    pub(crate) fn stood(&self, path: &Path, entry: Option<&Entry>) -> bool {
        self.chains.get(path).is_some_and(|chain| chain.iter().any(|link| link.before.as_ref() == entry))
    }

    /// What an undo changed.
    pub(crate) fn changes_of(&self, number: u64, records: &[Record]) -> Vec<Change> {
        let done = |path: &Path| self.taken.contains_key(&(number, path.to_path_buf()));
        let found = records.iter().find_map(|record| match record {
            Record::Undo { number: found, changes, .. } if *found == number => Some(changes),
            _ => None,
        });
        found.into_iter().flatten().filter(|change| done(&change.path)).cloned().collect()
    }
}
