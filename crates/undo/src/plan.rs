//! Plan of an undo. Pure.

use std::{
    collections::BTreeSet,
    fmt,
    path::{Path, PathBuf},
};

use aime_messages::{Describe, Message, message};

use crate::{Author, Change, Entry, UndoError, UnrecordedReason, chain::History, scope::Scope};

/// Plan of an undo, by path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoPlan {
    /// Scope of the undo.
    pub scope: Scope,
    /// Changes to make, from the current state to the former one, by path.
    pub changes: Vec<Change>,
    /// Paths that stay unchanged, with the reasons.
    pub conflicts: Vec<Conflict>,
}

impl UndoPlan {
    /// Returns true if there are neither changes nor conflicts.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.conflicts.is_empty()
    }
}

/// A path that stays unchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// Path relative to the folder.
    pub path: PathBuf,
    /// Reason of the conflict.
    pub kind: ConflictKind,
}

/// Reason why a path stays unchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConflictKind {
    /// The path was changed after the run's last change.
    ChangedSince,
    /// Another author changed the path between two changes that are to be undone.
    ChangedBetween,
    /// Other tasks changed the path later, or ran at the same time and may have changed it: their names.
    AlsoBy(Vec<String>),
    /// An entry in the folder stays.
    NotEmpty,
    /// The former content was not recorded.
    NotKept(UnrecordedReason),
    /// The current content cannot be recorded, so it is not removed.
    Stays(UnrecordedReason),
}

impl Describe for ConflictKind {
    fn describe(&self) -> Message {
        match self {
            Self::ChangedSince => message!("left-since"),
            Self::ChangedBetween => message!("left-between"),
            Self::AlsoBy(names) => message!("left-also", tasks = names.join(", ")),
            Self::NotEmpty => message!("left-not-empty"),
            Self::NotKept(why) => message!("left-not-kept", reason = why.describe()),
            Self::Stays(why) => message!("left-stays", reason = why.describe()),
        }
    }
}

impl fmt::Display for ConflictKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.describe().fmt(f)
    }
}

impl ConflictKind {
    /// Returns true if `force` overrides the conflict.
    #[must_use]
    pub const fn can_be_forced(&self) -> bool {
        !matches!(self, Self::NotEmpty | Self::NotKept(_) | Self::Stays(_))
    }
}

/// Plans an undo. `now` returns the state of a path, with its content stored.
pub(crate) fn plan(
    history: &History,
    changes_of_undo: &[Change],
    scope: &Scope,
    force: bool,
    mut now: impl FnMut(&Path) -> Result<Option<Entry>, UndoError>,
) -> Result<UndoPlan, UndoError> {
    let mut plan = UndoPlan { scope: scope.clone(), changes: Vec::new(), conflicts: Vec::new() };
    let wanted: Vec<PathRestore> = match scope {
        Scope::Undo { .. } => changes_of_undo.iter().map(PathRestore::back).collect(),
        Scope::Run {} | Scope::Tasks { .. } | Scope::Effects { .. } => {
            history.chains.iter().filter_map(|(path, links)| PathRestore::of(path, links, scope)).collect()
        }
    };
    for PathRestore { path, target, expected: left, against } in wanted {
        let current = now(&path)?;
        if current == target {
            continue;
        }
        let why = match (&target, &current) {
            (Some(Entry::NotKept { why, .. }), _) => Some(ConflictKind::NotKept(*why)),
            (_, Some(Entry::NotKept { why, .. })) => Some(ConflictKind::Stays(*why)),
            _ if current != left => Some(ConflictKind::ChangedSince),
            _ => against,
        };
        match why.filter(|why| !(force && why.can_be_forced())) {
            Some(why) => plan.conflicts.push(Conflict { path, kind: why }),
            None => plan.changes.push(Change { path, before: current, after: target }),
        }
    }
    keep_needed_folders(&mut plan);
    add_parents(&mut plan.changes, &mut now)?;
    Ok(plan)
}

/// Keeps a folder if an entry in it stays.
fn keep_needed_folders(plan: &mut UndoPlan) {
    let left: Vec<PathBuf> = plan.conflicts.iter().map(|conflict| conflict.path.clone()).collect();
    let is_removed =
        |change: &Change| change.before.as_ref().is_some_and(Entry::is_folder) && !change.after.as_ref().is_some_and(Entry::is_folder);
    let needed = |change: &Change| is_removed(change) && left.iter().any(|path| path != &change.path && path.starts_with(&change.path));
    let stay = plan.changes.extract_if(.., |change| needed(change));
    plan.conflicts.extend(stay.map(|change| Conflict { path: change.path, kind: ConflictKind::NotEmpty }));
    plan.conflicts.sort_by(|one, other| one.path.cmp(&other.path));
}

/// A path to restore.
struct PathRestore {
    path: PathBuf,
    target: Option<Entry>,
    /// Expected current state, if no one has changed it since.
    expected: Option<Entry>,
    /// Conflict that exists even if the current state is as expected.
    against: Option<ConflictKind>,
}

impl PathRestore {
    fn back(change: &Change) -> Self {
        let Change { path, before, after } = change.clone();
        Self { path, target: before, expected: after, against: None }
    }

    fn of(path: &Path, links: &[crate::chain::Link], scope: &Scope) -> Option<Self> {
        let first = match scope {
            // Earlier changes of the author were left on purpose.
            Scope::Effects { author } => {
                let alone = |link: &crate::chain::Link| !link.authors.is_empty() && link.authors.iter().all(|by| by == author);
                links.iter().rposition(|link| !alone(link)).map_or(0, |last| last + 1)
            }
            _ => links.iter().position(|link| link.authors.iter().any(|author| scope.contains(author)))?,
        };
        let links = links.get(first..)?;
        let others: BTreeSet<&Author> = links.iter().flat_map(|link| &link.authors).filter(|author| !scope.contains(author)).collect();
        let against = if links.iter().any(|link| link.authors.is_empty()) {
            Some(ConflictKind::ChangedBetween)
        } else {
            let names: BTreeSet<String> =
                others.into_iter().map(|author| author.task.clone().unwrap_or_else(|| author.tool.clone())).collect();
            (!names.is_empty()).then(|| ConflictKind::AlsoBy(names.into_iter().collect()))
        };
        let target = links.first()?.before.clone();
        Some(Self { path: path.to_path_buf(), target, expected: links.last()?.after.clone(), against })
    }
}

/// Adds missing parent folders of restored paths: someone else removed them.
fn add_parents(changes: &mut Vec<Change>, now: &mut impl FnMut(&Path) -> Result<Option<Entry>, UndoError>) -> Result<(), UndoError> {
    /// Mode of a restored folder without a record.
    const MODE: u32 = 0o755;
    let planned: BTreeSet<PathBuf> = changes.iter().map(|change| change.path.clone()).collect();
    let mut missing = BTreeSet::new();
    for change in changes.iter().filter(|change| change.after.is_some()) {
        for parent in change.path.ancestors().skip(1).filter(|parent| !parent.as_os_str().is_empty()) {
            if !planned.contains(parent) && now(parent)?.is_none() {
                missing.insert(parent.to_path_buf());
            }
        }
    }
    let after = || Some(Entry::Folder { mode: MODE });
    changes.extend(missing.into_iter().map(|path| Change { path, before: None, after: after() }));
    changes.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(())
}
