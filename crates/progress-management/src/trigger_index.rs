//! An index of the tasks and evidence that triggers need, updated with each event. An update visits only the affected
//! tasks, not the whole plan.

use std::collections::{BTreeMap, BTreeSet, btree_map::Entry};

use crate::{Evidence, Origin, ProgressEvent, ProgressState, Significance, Task, TaskKind, TaskStatus, origin::MAX_ORIGINS};

/// Index of the tasks that run, are blocked or have failed, of the evidence that is not used yet, and of the origins of
/// conclusions.
///
/// It belongs to one state and must receive every event that the state has applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TriggerIndex {
    version: u32,
    /// Positions of tasks in the plan.
    running: BTreeSet<usize>,
    blocked: BTreeSet<usize>,
    failed: BTreeSet<usize>,
    /// Number of tasks without groups that are pending, ready or blocked.
    waiting: usize,
    /// Number of tasks that are not settled.
    unsettled: usize,
    /// Positions of unprocessed evidence, with its significance.
    unused: BTreeSet<(Significance, usize)>,
    /// Origins of each task's conclusion by the task's position, if there are any.
    origins: BTreeMap<usize, Vec<Origin>>,
    /// Number of conclusions that have each origin.
    read: BTreeMap<Origin, usize>,
}

impl TriggerIndex {
    /// Builds the index of any state.
    #[must_use]
    pub fn new(state: &ProgressState) -> Self {
        let mut trigger_index = Self {
            version: state.version,
            running: BTreeSet::new(),
            blocked: BTreeSet::new(),
            failed: BTreeSet::new(),
            waiting: 0,
            unsettled: 0,
            unused: BTreeSet::new(),
            origins: BTreeMap::new(),
            read: BTreeMap::new(),
        };
        for (at, task) in state.tasks.values().enumerate() {
            trigger_index.place(at, task);
            trigger_index.count(task, task.status, 1);
            trigger_index.count_origins(at, task);
        }
        trigger_index.count_evidence(state);
        trigger_index
    }

    /// Updates the index with an event that `state` has just applied.
    pub fn follow(&mut self, state: &ProgressState, event: &ProgressEvent) {
        if self.version != state.version {
            *self = Self::new(state);
            return;
        }
        match event {
            ProgressEvent::TaskStatusChanged { task, from, to, .. } => {
                if let Some((at, _, task)) = state.tasks.get_full(task) {
                    self.place(at, task);
                    self.count(task, *from, -1);
                    self.count(task, *to, 1);
                }
            }
            ProgressEvent::TaskConcluded { task, .. } => {
                if let Some((at, _, task)) = state.tasks.get_full(task) {
                    self.count_origins(at, task);
                }
            }
            ProgressEvent::EvidenceAdded { evidence } if !evidence.processed => {
                self.unused.insert((evidence.significance, state.evidence.len().saturating_sub(1)));
            }
            ProgressEvent::EvidenceProcessed { .. } | ProgressEvent::MessageDelivered { .. } => {
                let is_used = |at: usize| state.evidence.get(at).is_none_or(|evidence| evidence.processed);
                self.unused.retain(|(_, at)| !is_used(*at));
            }
            _ => {}
        }
    }

    /// Returns the running tasks without groups, in the order of the plan.
    pub fn running<'a>(&self, state: &'a ProgressState) -> impl Iterator<Item = &'a Task> {
        tasks(&self.running, state)
    }

    /// Returns the tasks that their dependencies block. Held tasks are not among them.
    pub fn blocked<'a>(&self, state: &'a ProgressState) -> impl Iterator<Item = &'a Task> {
        tasks(&self.blocked, state)
    }

    /// Returns the tasks without groups that have failed, for good or not yet.
    pub fn failed<'a>(&self, state: &'a ProgressState) -> impl Iterator<Item = &'a Task> {
        tasks(&self.failed, state)
    }

    /// Returns true if any task except groups is pending, ready or blocked.
    #[must_use]
    pub fn has_waiting(&self) -> bool {
        self.waiting > 0
    }

    /// Returns true if any task is not settled.
    #[must_use]
    pub fn has_unsettled(&self) -> bool {
        self.unsettled > 0
    }

    /// Returns the unprocessed evidence of at least this significance, in the order of arrival.
    #[must_use]
    pub fn unused<'a>(&self, state: &'a ProgressState, least: Significance) -> Vec<&'a Evidence> {
        let mut places: Vec<usize> = self.unused.range((least, 0)..).map(|(_, at)| *at).collect();
        places.sort_unstable();
        places.into_iter().filter_map(|at| state.evidence.get(at)).collect()
    }

    /// Returns the untrusted origins of all conclusions, each once and in order, at most as many as [`Origin::merge`]
    /// keeps.
    pub fn origins(&self) -> impl Iterator<Item = &Origin> {
        self.read.keys().take(MAX_ORIGINS)
    }

    /// Puts a task into the sets of its status.
    fn place(&mut self, at: usize, task: &Task) {
        use TaskStatus::{Blocked, Failed, Running};
        let (status, works) = (task.status, task.spec.kind != TaskKind::Group);
        put(&mut self.running, at, works && status == Running);
        put(&mut self.blocked, at, status == Blocked && !task.held);
        put(&mut self.failed, at, works && status == Failed);
    }

    /// Adds a task to the numbers of a status, or takes it away.
    fn count(&mut self, task: &Task, status: TaskStatus, change: isize) {
        use TaskStatus::{Blocked, Pending, Ready};
        if task.spec.kind != TaskKind::Group && matches!(status, Pending | Ready | Blocked) {
            self.waiting = self.waiting.saturating_add_signed(change);
        }
        if !status.is_settled() {
            self.unsettled = self.unsettled.saturating_add_signed(change);
        }
    }

    fn count_origins(&mut self, at: usize, task: &Task) {
        let now = task.conclusion.as_ref().map(|conclusion| conclusion.origins.as_slice()).unwrap_or_default();
        for former in self.origins.remove(&at).unwrap_or_default() {
            if let Entry::Occupied(mut of) = self.read.entry(former) {
                *of.get_mut() -= 1;
                if *of.get() == 0 {
                    of.remove();
                }
            }
        }
        if now.is_empty() {
            return;
        }
        for origin in now {
            *self.read.entry(origin.clone()).or_default() += 1;
        }
        self.origins.insert(at, now.to_vec());
    }

    fn count_evidence(&mut self, state: &ProgressState) {
        let unused = state.evidence.iter().enumerate().filter(|(_, evidence)| !evidence.processed);
        self.unused = unused.map(|(at, evidence)| (evidence.significance, at)).collect();
    }
}

fn tasks<'a>(places: &BTreeSet<usize>, state: &'a ProgressState) -> impl Iterator<Item = &'a Task> {
    // Copied, because there are few and the caller may change the index meanwhile.
    let places: Vec<usize> = places.iter().copied().collect();
    places.into_iter().filter_map(|at| state.tasks.get_index(at)).map(|(_, task)| task)
}

fn put(places: &mut BTreeSet<usize>, at: usize, there: bool) {
    if there {
        places.insert(at);
    } else {
        places.remove(&at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EvidenceKind, testing::*};

    fn evidence(name: &str, significance: Significance) -> Evidence {
        let (id, kind, content) = (name.parse().unwrap(), EvidenceKind::Discovery, String::new());
        Evidence { id, at: at(0), task: Some(crate::testing::id("a")), kind, significance, content, processed: false, origins: Vec::new() }
    }

    /// The random runs of the crate's properties cover tasks.
    #[test]
    fn evidence_counts_until_it_is_used() {
        let mut state = state("a");
        let mut trigger_index = TriggerIndex::new(&state);
        let mut happens = |state: &mut ProgressState, event: ProgressEvent| {
            state.apply(at(1), &event).unwrap();
            trigger_index.follow(state, &event);
            assert_eq!(trigger_index, TriggerIndex::new(state), "after {event:?}");
            let names =
                |least| trigger_index.unused(state, least).iter().map(|evidence| evidence.id.to_string()).collect::<Vec<_>>().join(" ");
            (names(Significance::Low), names(Significance::High))
        };
        let added = |name, significance| ProgressEvent::EvidenceAdded { evidence: evidence(name, significance) };
        happens(&mut state, added("e1", Significance::High));
        happens(&mut state, added("e2", Significance::Low));
        assert_eq!(happens(&mut state, added("e3", Significance::Critical)), ("e1 e2 e3".to_owned(), "e1 e3".to_owned()));
        let processed = ProgressEvent::EvidenceProcessed { evidence: vec!["e1".parse().unwrap()], reason: "".into() };
        assert_eq!(happens(&mut state, processed), ("e2 e3".to_owned(), "e3".to_owned()));
        let delivered = ProgressEvent::MessageDelivered { task: Some(id("a")), evidence: "e3".parse().unwrap() };
        assert_eq!(happens(&mut state, delivered), ("e2".to_owned(), String::new()));
    }
}
