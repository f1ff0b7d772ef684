//! The effects that have no answer yet, by their purpose.

use std::collections::BTreeMap;

use aime_durable::EffectId;
use aime_progress_management::{QuestionId, TaskId, Timestamp, TriggerReason};
use serde::{Deserialize, Serialize};

/// The purpose of an open effect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum EffectPurpose {
    Recall,
    Remember,
    Route,
    /// A wake of the lead, with its reasons.
    Lead(Vec<TriggerReason>),
    Task(TaskId),
    Verify,
    Answer,
    Ask(QuestionId),
    Timer(Timestamp),
}

/// The open effects. Counters by kind are kept, because every fact needs them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Stored", into = "Stored")]
pub(super) struct OpenEffects {
    open: BTreeMap<EffectId, EffectPurpose>,
    numbered: u64,
    tasks: usize,
    replans: usize,
    /// Questions and timers.
    waits: usize,
}

/// [`OpenEffects`] in a snapshot.
#[derive(Serialize, Deserialize)]
struct Stored {
    open: BTreeMap<EffectId, EffectPurpose>,
    numbered: u64,
}

impl OpenEffects {
    /// Returns a new name for an effect that is not an attempt at a task.
    pub(super) fn next_id(&mut self, what: &str) -> String {
        self.numbered += 1;
        format!("{what}/{}", self.numbered)
    }

    pub(super) fn insert(&mut self, id: EffectId, purpose: EffectPurpose) {
        self.count(&purpose, 1);
        if let Some(former) = self.open.insert(id, purpose) {
            self.count(&former, -1);
        }
    }

    pub(super) fn remove(&mut self, id: &EffectId) -> Option<EffectPurpose> {
        let purpose = self.open.remove(id)?;
        self.count(&purpose, -1);
        Some(purpose)
    }

    /// Removes all effects and returns them in the order of their names.
    pub(super) fn take_all(&mut self) -> BTreeMap<EffectId, EffectPurpose> {
        (self.tasks, self.replans, self.waits) = (0, 0, 0);
        std::mem::take(&mut self.open)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    pub(super) fn contains(&self, id: &EffectId) -> bool {
        self.open.contains_key(id)
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = &EffectId> {
        self.open.keys()
    }

    /// Returns the number of attempts at tasks.
    pub(super) const fn tasks(&self) -> usize {
        self.tasks
    }

    /// Returns the tasks of the open attempts, each with its effect.
    pub(super) fn attempts(&self) -> impl Iterator<Item = (&TaskId, &EffectId)> {
        self.open.iter().filter_map(|(id, purpose)| match purpose {
            EffectPurpose::Task(task) => Some((task, id)),
            _ => None,
        })
    }

    /// Returns the open attempt at a task.
    pub(super) fn attempt_at(&self, task: &TaskId) -> Option<&EffectId> {
        self.attempts().find(|(other, _)| *other == task).map(|(_, id)| id)
    }

    /// Returns the task of an open attempt.
    pub(super) fn task_of(&self, attempt: &EffectId) -> Option<&TaskId> {
        match self.open.get(attempt) {
            Some(EffectPurpose::Task(task)) => Some(task),
            _ => None,
        }
    }

    /// Returns whether the lead is asked for a plan, or for a change of it.
    pub(super) const fn replans(&self) -> bool {
        self.replans > 0
    }

    /// Returns whether nothing but questions and timers is open.
    pub(super) fn only_waits(&self) -> bool {
        self.waits == self.open.len()
    }

    /// Returns the effects that ask a question.
    pub(super) fn asking<'a>(&'a self, question: &'a QuestionId) -> impl Iterator<Item = &'a EffectId> {
        self.open.iter().filter(move |(_, purpose)| matches!(purpose, EffectPurpose::Ask(asked) if asked == question)).map(|(id, _)| id)
    }

    /// Returns whether all open effects wait for a person who is not being asked now: timers, and attempts at tasks for
    /// which `asked_for` is true. `None` means the lead.
    pub(super) fn wait_for_person(&self, asked_for: impl Fn(Option<&TaskId>) -> bool) -> bool {
        self.open.values().all(|purpose| match purpose {
            EffectPurpose::Timer(_) => true,
            EffectPurpose::Task(task) => asked_for(Some(task)),
            EffectPurpose::Lead(_) => asked_for(None),
            _ => false,
        })
    }

    /// Returns the timers, each with its time.
    pub(super) fn timers(&self) -> impl Iterator<Item = (&EffectId, Timestamp)> {
        self.open.iter().filter_map(|(id, purpose)| match purpose {
            EffectPurpose::Timer(at) => Some((id, *at)),
            _ => None,
        })
    }

    fn count(&mut self, purpose: &EffectPurpose, by: isize) {
        let count = match purpose {
            EffectPurpose::Task(_) => &mut self.tasks,
            EffectPurpose::Lead(_) => &mut self.replans,
            EffectPurpose::Ask(_) | EffectPurpose::Timer(_) => &mut self.waits,
            EffectPurpose::Recall | EffectPurpose::Remember | EffectPurpose::Route | EffectPurpose::Verify | EffectPurpose::Answer => {
                return;
            }
        };
        *count = count.saturating_add_signed(by);
    }
}

impl From<Stored> for OpenEffects {
    fn from(Stored { open, numbered }: Stored) -> Self {
        let mut effects = Self { numbered, ..Self::default() };
        open.into_iter().for_each(|(id, purpose)| effects.insert(id, purpose));
        effects
    }
}

impl From<OpenEffects> for Stored {
    fn from(OpenEffects { open, numbered, .. }: OpenEffects) -> Self {
        Self { open, numbered }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(name: &str) -> EffectPurpose {
        EffectPurpose::Task(name.parse().unwrap())
    }

    fn ask(name: &str) -> EffectPurpose {
        EffectPurpose::Ask(name.parse().unwrap())
    }

    fn effects(open: &[(&str, EffectPurpose)]) -> OpenEffects {
        let mut effects = OpenEffects::default();
        open.iter().for_each(|(id, purpose)| effects.insert(EffectId::new(*id), purpose.clone()));
        effects
    }

    #[test]
    fn counts_are_those_of_the_open_effects() {
        let id = |name: &str| EffectId::new(name);
        let mut open = effects(&[]);
        assert!(open.only_waits());
        open.insert(id("a/1/1"), task("a"));
        open.insert(id("a/1/1"), task("a"));
        open.insert(id("patch/1"), EffectPurpose::Lead(Vec::new()));
        open.insert(id("ask"), ask("q"));
        assert_eq!((open.tasks(), open.replans(), open.only_waits(), open.ids().count()), (1, true, false, 3));
        open.next_id("ask");
        let read: OpenEffects = serde_json::from_value(serde_json::to_value(&open).unwrap()).unwrap();
        assert_eq!(read, open);
        open.insert(id("patch/1"), EffectPurpose::Recall);
        assert!(!open.replans());
        assert_eq!((open.remove(&id("a/1/1")), open.remove(&id("a/1/1")), open.tasks()), (Some(task("a")), None, 0));
        assert!(open.remove(&id("patch/1")).is_some() && open.only_waits());
        assert_eq!((open.take_all().len(), open.is_empty(), open), (1, true, OpenEffects { numbered: 1, ..OpenEffects::default() }));
    }

    #[test]
    fn effects_are_found_by_their_purpose() {
        let open = effects(&[
            ("a/1/1", task("a")),
            ("ask/1", ask("q")),
            ("ask/2", ask("r")),
            ("timer/3", EffectPurpose::Timer(Timestamp::from_millis(7))),
        ]);
        let asking = |question: &str| open.asking(&question.parse().unwrap()).map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!((asking("q"), asking("s")), (vec!["ask/1".to_owned()], vec![]));
        assert_eq!(open.attempt_at(&"a".parse().unwrap()), Some(&EffectId::new("a/1/1")));
        assert_eq!(open.attempt_at(&"b".parse().unwrap()), None);
        assert_eq!(open.task_of(&EffectId::new("a/1/1")), Some(&"a".parse().unwrap()));
        assert_eq!((open.task_of(&EffectId::new("ask/1")), open.task_of(&EffectId::new("b/1/1"))), (None, None));
        assert_eq!(open.timers().map(|(id, at)| (id.to_string(), at.as_millis())).collect::<Vec<_>>(), [("timer/3".to_owned(), 7)]);
    }

    #[test]
    fn a_person_is_waited_for_when_every_task_asks() {
        let timer = ("timer/1", EffectPurpose::Timer(Timestamp::from_millis(1)));
        let cases = [
            (vec![], true),
            (vec![timer.clone()], true),
            (vec![timer.clone(), ("a/1/1", task("a"))], true),
            (vec![("a/1/1", task("a")), ("b/1/1", task("b"))], false),
            (vec![("ask/1", ask("q"))], false),
            (vec![("plan/1", EffectPurpose::Lead(Vec::new()))], false),
        ];
        for (open, expected) in cases {
            assert_eq!(effects(&open).wait_for_person(|task| task.is_some_and(|task| task.as_str() == "a")), expected, "{open:?}");
        }
    }
}
