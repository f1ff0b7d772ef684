//! A run that goes on from where another one stood.

use std::collections::BTreeSet;

use aime_orchestrator::{forked, view_of};
use aime_progress::{ProgressEvent, RunId, TaskId};

use super::{EngineError, Runs};
use crate::{Begin, Dated, SoFar, Tree};

impl Runs {
    /// Makes a run that stands where `run` stood when its plan came to `version`, until somebody resumes it: what was completed by then is completed there.
    /// Files are as they are now; where the folder goes from host to host, it begins from `tree`.
    ///
    /// # Errors
    /// [`EngineError::ActorAtWork`]; [`EngineError::Past`] for a version that the plan never had; [`EngineError::RunExists`], and what the engine says.
    pub async fn fork(&self, run: &RunId, version: u32, new: &RunId, tree: Option<Tree>) -> Result<(), EngineError> {
        let (input, facts) = self.journal(run).await?;
        let (input, facts) = forked(input, &facts, version, new)?;
        let seen = view_of(input.clone(), &facts);
        let open = |task: &TaskId| seen.state.tasks.get(task).is_some_and(|known| known.status.is_open());
        let at_work = at_work(seen.events.iter().map(|published| &published.event));
        if let Some(task) = at_work.into_iter().find(open) {
            return Err(EngineError::ActorAtWork { run: run.to_string(), task, version });
        }
        let journal = SoFar {
            facts: facts.into_iter().map(Dated::from).collect(),
            events: seen.events.len(),
            not_begun: BTreeSet::new(),
            then: Vec::new(),
        };
        self.begin(Begin { input: input.into(), journal: Some(journal) }, tree, true).await
    }
}

/// The tasks whose actors have begun and not ended.
fn at_work<'a>(events: impl IntoIterator<Item = &'a ProgressEvent>) -> BTreeSet<TaskId> {
    let mut at_work = BTreeSet::new();
    for event in events {
        match event {
            ProgressEvent::ActorCreated { task, .. } => {
                at_work.insert(task.clone());
            }
            ProgressEvent::TaskConcluded { task, .. } => {
                at_work.remove(task);
            }
            _ => {}
        }
    }
    at_work
}

#[cfg(test)]
mod tests {
    use aime_progress::ProgressEvent;
    use serde_json::{Value, json};

    use super::at_work;

    fn event(value: Value) -> ProgressEvent {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn who_has_begun_and_not_ended_is_at_work() {
        let begins = |task: &str| {
            event(json!({"type": "actor_created", "task": task, "actor": "a", "profile": "p", "model": "m", "tools": [], "reasons": []}))
        };
        let ends =
            |task: &str| event(json!({"type": "task_concluded", "task": task, "conclusion": {"outcome": "failure", "summary": "no"}}));
        let cases: [(Vec<ProgressEvent>, &[&str]); 4] = [
            (vec![], &[]),
            (vec![begins("one"), ends("one")], &[]),
            (vec![begins("one"), begins("two"), ends("one")], &["two"]),
            // It is tried again.
            (vec![begins("one"), ends("one"), begins("one")], &["one"]),
        ];
        for (events, expected) in cases {
            let found: Vec<String> = at_work(&events).iter().map(ToString::to_string).collect();
            assert_eq!(found, expected);
        }
    }
}
