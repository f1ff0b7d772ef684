//! Calls of actors that were begun and of whose end nobody has told: if nobody is left to tell of it, they are in doubt.

use std::collections::BTreeMap;

use aime_progress::{CallOutcome, ProgressEvent, TaskId};
use serde::{Deserialize, Serialize};

use super::{Out, RunMachine};

/// The calls without an end, by their task: each with its tool.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct OpenCalls(BTreeMap<TaskId, BTreeMap<String, String>>);

impl OpenCalls {
    /// Takes in what an event says of calls.
    pub(super) fn follow(&mut self, event: &ProgressEvent) {
        match event {
            ProgressEvent::ToolCallStarted { task, call, tool, .. } => {
                self.0.entry(task.clone()).or_default().insert(call.clone(), tool.clone());
            }
            ProgressEvent::ToolCallFinished { task, call, .. } => {
                let left = self.0.get_mut(task).map(|calls| {
                    calls.remove(call);
                    calls.len()
                });
                if left == Some(0) {
                    self.0.remove(task);
                }
            }
            _ => {}
        }
    }
}

impl RunMachine {
    /// Tells of the calls of a task that nobody goes on with: whether they took effect is not known.
    pub(super) fn doubt_open_calls(&mut self, task: &TaskId, out: &mut Out) {
        for (call, tool) in self.calls.0.remove(task).unwrap_or_default() {
            let output = "it was cut off before its end, and its task was given up".to_owned();
            let (task, outcome) = (task.clone(), CallOutcome::InDoubt);
            self.emit(ProgressEvent::ToolCallFinished { task, call, tool, outcome, output, origin: None, duration_ms: 0 }, out);
        }
    }

    /// The same for every task that is settled, as after a change of the plan.
    pub(super) fn doubt_calls_of_settled(&mut self, out: &mut Out) {
        let settled = |task: &&TaskId| self.state.tasks.get(*task).is_none_or(|known| known.status.is_settled());
        let settled: Vec<TaskId> = self.calls.0.keys().filter(settled).cloned().collect();
        for task in settled {
            self.doubt_open_calls(&task, out);
        }
    }
}
