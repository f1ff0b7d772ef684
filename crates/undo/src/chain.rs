//! History of each path: its changes in order, without those that were undone. Pure.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use aime_messages::Message;

use crate::{Author, Change, Entry, log::Record, scope::Scope};

/// One effective change of a path; undone changes are removed from the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Link {
    /// Possible authors; empty if the author is not part of the run.
    pub(crate) authors: Vec<Author>,
    pub(crate) before: Option<Entry>,
    pub(crate) after: Option<Entry>,
}

/// Changes of each path, oldest first.
pub(crate) type Chains = BTreeMap<PathBuf, Vec<Link>>;

/// State that results from a log.
#[derive(Debug, Clone, Default)]
pub(crate) struct History {
    pub(crate) chains: Chains,
    /// Links that each undo has removed from the chains.
    undone_links: BTreeMap<(u64, PathBuf), Vec<Link>>,
    /// Undos that have not been undone themselves, oldest first.
    pub(crate) undos: Vec<u64>,
    /// Undos of effects, such as those of checks, that have not been undone, oldest first.
    pub(crate) undone_effects: Vec<u64>,
    /// Number of the last undo.
    pub(crate) last: u64,
    /// The undo that was begun and has not ended.
    pub(crate) unfinished: Option<(u64, Scope, Vec<Change>)>,
    /// Windows that were opened and not closed.
    pub(crate) open: BTreeMap<u64, Author>,
    /// Announced change of one file whose result is not recorded yet.
    pub(crate) about: Option<(Author, Vec<Change>)>,
    /// Reason why recording stopped, if it did.
    pub(crate) stop_reason: Option<Message>,
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
                    let chain = self.chains.entry(path.clone()).or_default();
                    if let Some(last) = chain.last().filter(|last| last.after != *before) {
                        // Somebody outside of the run changed the path while nobody looked.
                        chain.push(Link { authors: Vec::new(), before: last.after.clone(), after: before.clone() });
                    }
                    chain.push(Link { authors: by.clone(), before: before.clone(), after: after.clone() });
                }
            }
            Record::Undo { number, of, changes } => {
                self.last = *number;
                self.unfinished = Some((*number, of.clone(), changes.clone()));
            }
            Record::Undone { number, failed } => {
                if let Some((begun, of, changes)) = self.unfinished.take().filter(|(begun, ..)| begun == number) {
                    self.discard_effects(begun, &of, &changes, &failed.iter().map(PathBuf::as_path).collect());
                }
            }
            Record::Lost { reason } => self.stop_reason = Some(reason.clone()),
        }
    }

    fn discard_effects(&mut self, number: u64, of: &Scope, changes: &[Change], failed: &BTreeSet<&Path>) {
        for Change { path, before, after } in changes.iter().filter(|change| !failed.contains(change.path.as_path())) {
            let chain = self.chains.entry(path.clone()).or_default();
            let restored = match of {
                Scope::Undo { number: undone } => self.undone_links.remove(&(*undone, path.clone())),
                Scope::Run {} | Scope::Tasks { .. } | Scope::Effects { .. } => None,
            };
            if let Some(links) = restored {
                chain.extend(links);
                continue;
            }
            // The path has the state before that change again, so this change and all later ones are undone.
            let is_before = |link: &Link| link.before == *after;
            let at = match of {
                Scope::Effects { .. } => chain.iter().rposition(is_before),
                _ => chain.iter().position(is_before),
            };
            match at {
                Some(at) => {
                    let mut links = chain.split_off(at);
                    if matches!(of, Scope::Effects { .. }) {
                        // Only a person takes this undo back, and what they bring back is theirs.
                        links.iter_mut().for_each(|link| link.authors.clear());
                    }
                    self.undone_links.insert((number, path.clone()), links);
                }
                None => chain.push(Link { authors: Vec::new(), before: before.clone(), after: after.clone() }),
            }
        }
        match of {
            Scope::Undo { number } => {
                self.undos.retain(|undo| undo != number);
                self.undone_effects.retain(|undo| undo != number);
            }
            Scope::Run {} | Scope::Tasks { .. } => self.undos.push(number),
            Scope::Effects { .. } => self.undone_effects.push(number),
        }
    }

    /// Returns true if the path had this state before a change that is still effective.
    pub(crate) fn had_entry(&self, path: &Path, entry: Option<&Entry>) -> bool {
        self.chains.get(path).is_some_and(|chain| chain.iter().any(|link| link.before.as_ref() == entry))
    }

    /// Returns the changes that an undo made.
    pub(crate) fn changes_of(&self, number: u64, records: &[Record]) -> Vec<Change> {
        let done = |path: &Path| self.undone_links.contains_key(&(number, path.to_path_buf()));
        let found = records.iter().find_map(|record| match record {
            Record::Undo { number: found, changes, .. } if *found == number => Some(changes),
            _ => None,
        });
        found.into_iter().flatten().filter(|change| done(&change.path)).cloned().collect()
    }
}
