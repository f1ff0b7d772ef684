//! Tasks of the plan that actors take over by `delegate_task`.

use std::collections::BTreeSet;

use aime_progress_management::{ProgressEvent, ProgressState, TaskId, TaskStatus};
use serde::{Deserialize, Serialize};

use super::{Out, RunMachine, effects::OpenEffects};

/// The request of an actor that takes over a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Claim {
    /// The actor's description of the work.
    pub(super) words: String,
    /// The requested profile.
    pub(super) profile: Option<String>,
}

impl RunMachine {
    /// Records that an actor takes over an open task, and starts the task. A task can be taken over only once.
    pub(super) fn claim(&mut self, task: &TaskId, by: &TaskId, call: &str, claim: Claim, out: &mut Out) {
        let known = self.state.tasks.get(task).filter(|known| known.status.is_open() && known.claimed_by.is_none());
        if known.is_none() || !self.state.tasks.contains_key(by) {
            return;
        }
        self.executions.claim(task, claim);
        self.emit(ProgressEvent::TaskClaimed { task: task.clone(), by: by.clone(), call: call.to_owned() }, out);
        self.advance(out);
    }

    /// Returns the number of claimed tasks under way.
    pub(super) fn claimed_under_way(&self) -> usize {
        self.executions.claimed().iter().filter(|task| self.effects.attempt_at(task).is_some()).count()
    }

    /// Starts the claimed tasks that are ready. They need no slot of their own: the actors that claimed them wait
    /// meanwhile.
    pub(super) fn start_claimed(&mut self, out: &mut Out) {
        for task in self.executions.claimed() {
            let Some(known) = self.state.tasks.get(&task).filter(|known| known.status == TaskStatus::Ready) else { continue };
            let held = held(&self.effects, &self.state, known.claimed_by.as_deref());
            if self.fault.is_none() && known.spec.exclusive.iter().all(|name| !held.contains(name)) {
                self.start_task(&task, out);
            }
        }
    }
}

/// Returns the resources that the tasks in progress hold exclusively, except those of the task that made the call
/// `claimed_by` and waits for it, and of the tasks that wait for that one in the same way.
pub(super) fn held(effects: &OpenEffects, state: &ProgressState, claimed_by: Option<&str>) -> BTreeSet<String> {
    let mut waits = BTreeSet::new();
    let mut next = claimed_by.and_then(task_of);
    while let Some(task) = next.filter(|task| waits.insert(*task)) {
        let known = state.tasks.iter().find(|(id, _)| id.as_str() == task);
        next = known.and_then(|(_, known)| task_of(known.claimed_by.as_deref()?));
    }
    let under_way = effects.attempts().filter(|(task, _)| !waits.contains(task.as_str()));
    let needs = under_way.filter_map(|(task, _)| state.tasks.get(task));
    needs.flat_map(|known| known.spec.exclusive.iter().cloned()).collect()
}

/// Returns the task whose actor makes a call, by the name of the call.
fn task_of(call: &str) -> Option<&str> {
    call.split('/').next()
}
