//! Tasks of the plan that actors take over by `delegate_task`.

use aime_progress::{ProgressEvent, TaskId, TaskStatus};
use serde::{Deserialize, Serialize};

use super::{Out, RunMachine};

/// What an actor asks for that takes over a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Claim {
    /// What it says of the work.
    pub(super) words: String,
    /// The profile that it asks for.
    pub(super) profile: Option<String>,
}

impl RunMachine {
    /// Takes in that an actor takes over a task, each task once, and starts it.
    pub(super) fn claim(&mut self, task: &TaskId, by: &TaskId, call: &str, claim: Claim, out: &mut Out) {
        let known = self.state.tasks.get(task).filter(|known| known.status.is_open() && known.claimed_by.is_none());
        if known.is_none() || !self.state.tasks.contains_key(by) {
            return;
        }
        self.executions.claim(task, claim);
        self.emit(ProgressEvent::TaskClaimed { task: task.clone(), by: by.clone(), call: call.to_owned() }, out);
        self.advance(out);
    }

    /// Returns how many claimed tasks are under way.
    pub(super) fn claimed_under_way(&self) -> usize {
        self.executions.claimed().iter().filter(|task| self.effects.attempt_at(task).is_some()).count()
    }

    /// Starts the claimed tasks that are ready. They need no slot of their own: the actors that claimed them wait meanwhile.
    pub(super) fn start_claimed(&mut self, out: &mut Out) {
        for task in self.executions.claimed() {
            if self.state.tasks.get(&task).is_some_and(|known| known.status == TaskStatus::Ready) && self.fault.is_none() {
                self.start_task(&task, out);
            }
        }
    }
}
