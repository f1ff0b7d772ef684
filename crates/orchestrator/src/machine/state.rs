//! The progress state of a run, with the indexes that follow its events.

use std::{collections::BTreeMap, ops::Deref};

use aime_actor_factory::waits_for_others;
use aime_progress_management::{CallOutcome, FoldError, ProgressEvent, ProgressState, ScheduleIndex, TaskId, Timestamp, TriggerIndex};
use serde::{Deserialize, Serialize};

use super::{Out, RunMachine};

/// The progress state of a run. Only [`apply`](Self::apply) changes it, so its indexes are those of the state.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct TrackedState {
    state: ProgressState,
    calls: OpenCalls,
    /// The changes of status and the tasks that are due; built on first use.
    #[serde(skip)]
    schedule_index: Option<ScheduleIndex>,
    /// The tasks and evidence that the triggers need; built on first use.
    #[serde(skip)]
    trigger_index: Option<TriggerIndex>,
}

impl TrackedState {
    pub(super) fn new(state: ProgressState) -> Self {
        Self { state, calls: OpenCalls::default(), schedule_index: None, trigger_index: None }
    }

    pub(super) const fn get(&self) -> &ProgressState {
        &self.state
    }

    /// Applies an event to the state and its indexes.
    ///
    /// # Errors
    ///
    /// The event does not fit the state, which stays unchanged.
    pub(super) fn apply(&mut self, at: Timestamp, event: &ProgressEvent) -> Result<(), FoldError> {
        self.state.apply(at, event)?;
        self.calls.follow(event);
        if let Some(trigger_index) = &mut self.trigger_index {
            trigger_index.follow(&self.state, event);
        }
        if let Some(schedule_index) = &mut self.schedule_index {
            schedule_index.follow(&self.state, event);
        }
        Ok(())
    }

    /// Returns the index of due changes, and the state that it belongs to.
    pub(super) fn schedule_index(&mut self) -> (&mut ScheduleIndex, &ProgressState) {
        (self.schedule_index.get_or_insert_with(|| ScheduleIndex::new(&self.state)), &self.state)
    }

    /// Returns the index for the triggers, and the state that it belongs to.
    pub(super) fn trigger_index(&mut self) -> (&TriggerIndex, &ProgressState) {
        (self.trigger_index.get_or_insert_with(|| TriggerIndex::new(&self.state)), &self.state)
    }

    #[cfg(test)]
    pub(super) fn index_is_consistent(&self) -> bool {
        self.trigger_index.as_ref().is_none_or(|trigger_index| *trigger_index == TriggerIndex::new(&self.state))
    }
}

impl Deref for TrackedState {
    type Target = ProgressState;

    fn deref(&self) -> &ProgressState {
        &self.state
    }
}

/// The tool calls that began and have not ended: for each task, the tool of each call.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct OpenCalls(BTreeMap<TaskId, BTreeMap<String, String>>);

impl OpenCalls {
    fn follow(&mut self, event: &ProgressEvent) {
        match event {
            ProgressEvent::ToolCallStarted { task: Some(task), call, tool, .. } => {
                self.0.entry(task.clone()).or_default().insert(call.clone(), tool.clone());
            }
            ProgressEvent::ToolCallFinished { task: Some(task), call, .. } => {
                if let Some(calls) = self.0.get_mut(task) {
                    calls.remove(call);
                    if calls.is_empty() {
                        self.0.remove(task);
                    }
                }
            }
            _ => {}
        }
    }
}

impl RunMachine {
    /// Returns whether a call of a task is under way that does something itself.
    pub(super) fn has_open_call(&self, task: &TaskId) -> bool {
        self.state.calls.0.get(task).is_some_and(|calls| calls.values().any(|tool| !waits_for_others(tool)))
    }

    /// Reports the open calls of a task that nobody continues as in doubt.
    pub(super) fn doubt_open_calls(&mut self, task: &TaskId, out: &mut Out) {
        for (call, tool) in self.state.calls.0.remove(task).unwrap_or_default() {
            let output = "it was cut off before its end, and its task was given up".to_owned();
            let (task, outcome) = (Some(task.clone()), CallOutcome::InDoubt);
            self.emit(ProgressEvent::ToolCallFinished { task, call, tool, outcome, output, origin: None, duration_ms: 0 }, out);
        }
    }

    /// Reports the open calls of every settled task as in doubt, for example after a change of the plan.
    pub(super) fn doubt_calls_of_settled(&mut self, out: &mut Out) {
        let settled = |task: &&TaskId| self.state.tasks.get(*task).is_none_or(|known| known.status.is_settled());
        let settled: Vec<TaskId> = self.state.calls.0.keys().filter(settled).cloned().collect();
        for task in settled {
            self.doubt_open_calls(&task, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use aime_progress_management::{CallOutcome, ProgressEvent};

    use super::OpenCalls;

    #[test]
    fn a_call_is_open_until_its_end() {
        let started = |call: &str| ProgressEvent::ToolCallStarted {
            task: Some("a".parse().unwrap()),
            call: call.to_owned(),
            tool: "t".to_owned(),
            parameters: serde_json::Map::new(),
        };
        let finished = |call: &str| ProgressEvent::ToolCallFinished {
            task: Some("a".parse().unwrap()),
            call: call.to_owned(),
            tool: "t".to_owned(),
            outcome: CallOutcome::Ok,
            output: String::new(),
            origin: None,
            duration_ms: 1,
        };
        let cases = [
            (vec![started("c")], "c"),
            (vec![started("c"), started("d"), finished("c")], "d"),
            (vec![started("c"), finished("c")], ""),
            (vec![finished("c")], ""),
        ];
        for (events, expected) in cases {
            let mut open = OpenCalls::default();
            events.iter().for_each(|event| open.follow(event));
            let left: Vec<&str> = open.0.values().flat_map(|calls| calls.keys().map(String::as_str)).collect();
            assert_eq!((left.join(" ").as_str(), open.0.is_empty()), (expected, expected.is_empty()), "{events:?}");
        }
    }
}
