//! The effects that have no answer yet, counted by what they are for: how many of a kind there are is asked with every fact.

use std::{
    collections::{BTreeMap, btree_map},
    ops::Deref,
};

use aime_durable::EffectId;
use aime_progress::TaskId;
use serde::{Deserialize, Serialize};

use super::Work;

/// Open effects, by their names.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "BTreeMap<EffectId, Work>", into = "BTreeMap<EffectId, Work>")]
pub(super) struct Open {
    all: BTreeMap<EffectId, Work>,
    tasks: usize,
    replans: usize,
    /// Questions and timers: what waits for somebody else.
    waits: usize,
    /// Whatever else there is.
    rest: usize,
}

impl Open {
    pub(super) fn insert(&mut self, id: EffectId, work: Work) {
        *self.count(&work) += 1;
        if let Some(former) = self.all.insert(id, work) {
            *self.count(&former) -= 1;
        }
    }

    pub(super) fn remove(&mut self, id: &EffectId) -> Option<Work> {
        let work = self.all.remove(id)?;
        *self.count(&work) -= 1;
        Some(work)
    }

    /// Attempts at tasks under way, those for a plan that is still being written with them.
    pub(super) const fn tasks(&self) -> usize {
        self.tasks
    }

    /// Their tasks.
    pub(super) fn tasks_under_way(&self) -> impl Iterator<Item = &TaskId> {
        self.all.values().filter_map(|work| match work {
            Work::Task(task) | Work::Early(task) => Some(task),
            _ => None,
        })
    }

    /// Whether a change of the plan is asked for.
    pub(super) const fn replans(&self) -> bool {
        self.replans > 0
    }

    /// Whether nothing but questions and timers is open.
    pub(super) fn only_waits(&self) -> bool {
        self.waits == self.all.len()
    }

    pub(super) fn into_keys(self) -> btree_map::IntoKeys<EffectId, Work> {
        self.all.into_keys()
    }

    fn count(&mut self, work: &Work) -> &mut usize {
        match work {
            Work::Task(_) | Work::Early(_) => &mut self.tasks,
            Work::Replan(_) => &mut self.replans,
            Work::Ask(_) | Work::Timer(_) => &mut self.waits,
            Work::Recall | Work::Remember | Work::Route | Work::Plan | Work::Verify | Work::Answer => &mut self.rest,
        }
    }
}

impl Deref for Open {
    type Target = BTreeMap<EffectId, Work>;

    fn deref(&self) -> &Self::Target {
        &self.all
    }
}

impl IntoIterator for Open {
    type Item = (EffectId, Work);
    type IntoIter = btree_map::IntoIter<EffectId, Work>;

    fn into_iter(self) -> Self::IntoIter {
        self.all.into_iter()
    }
}

impl From<BTreeMap<EffectId, Work>> for Open {
    fn from(all: BTreeMap<EffectId, Work>) -> Self {
        let mut open = Self::default();
        all.into_iter().for_each(|(id, work)| open.insert(id, work));
        open
    }
}

impl From<Open> for BTreeMap<EffectId, Work> {
    fn from(open: Open) -> Self {
        open.all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_is_what_is_open() {
        let mut open = Open::default();
        let id = |name: &str| EffectId::new(name);
        let task = || Work::Task("a".parse().unwrap());
        assert!(open.only_waits());
        open.insert(id("a/1/1"), task());
        open.insert(id("a/1/1"), task());
        open.insert(id("patch/1"), Work::Replan(Vec::new()));
        open.insert(id("ask"), Work::Ask("q".parse().unwrap()));
        assert_eq!((open.tasks(), open.replans(), open.only_waits(), open.len()), (1, true, false, 3));
        let read: Open = serde_json::from_value(serde_json::to_value(&open).unwrap()).unwrap();
        assert_eq!(read, open);
        open.insert(id("patch/1"), Work::Recall);
        assert!(!open.replans());
        assert_eq!((open.remove(&id("a/1/1")), open.remove(&id("a/1/1")), open.tasks()), (Some(task()), None, 0));
        assert!(open.remove(&id("patch/1")).is_some() && open.only_waits());
    }
}
