//! What the effects of a run are to know of it, wherever they are carried out.

use aime_actors::Told;
use aime_durable::Recorded;
use aime_progress::{ProgressEvent, QuestionId, Spent, TaskId};
use serde::{Deserialize, Serialize};

use crate::{Bounds, RunFact, RunInput};

/// A run so far, as far as its effects work with it: a fold of its facts and events.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunSoFar {
    /// The bounds in force.
    pub bounds: Bounds,
    /// What its models have cost.
    pub spent: Spent,
    /// Tool calls that were begun.
    pub tool_calls: u64,
    /// Actors that were made.
    pub actors: u32,
    /// What people have answered.
    pub answers: Vec<(QuestionId, String)>,
    /// What people have said unasked, and to which task.
    pub said: Vec<(Option<TaskId>, Told)>,
}

impl RunSoFar {
    /// Of a run that begins.
    #[must_use]
    pub fn new(input: &RunInput) -> Self {
        let bounds = input.settings.bounds.clone();
        Self { bounds, spent: Spent::default(), tool_calls: 0, actors: 0, answers: Vec::new(), said: Vec::new() }
    }

    /// Takes in what came next, and the events that followed from it.
    pub fn take(&mut self, facts: &[Recorded<RunFact>], events: &[Recorded<ProgressEvent>]) {
        for recorded in facts {
            match &recorded.fact {
                RunFact::Resumed { bounds: Some(bounds) } => self.bounds = bounds.clone(),
                RunFact::PersonSaid { id, task, text } if !self.said.iter().any(|(_, told)| told.id == *id) => {
                    self.said.push((task.clone(), Told { id: id.clone(), text: text.clone() }));
                }
                _ => {}
            }
        }
        for recorded in events {
            match &recorded.fact {
                ProgressEvent::ModelCalled { spent, .. } => self.spent.add(spent),
                ProgressEvent::ToolCallStarted { .. } => self.tool_calls += 1,
                ProgressEvent::ActorCreated { .. } => self.actors = self.actors.saturating_add(1),
                ProgressEvent::QuestionAnswered { id, answer } => self.answers.push((id.clone(), answer.clone())),
                _ => {}
            }
        }
    }

    /// What was said so far to the actor of a task; to the only one of a run also what was said to the run itself.
    #[must_use]
    pub fn said_to(&self, task: &TaskId, alone: bool) -> Vec<Told> {
        let theirs = self.said.iter().filter(|(whom, _)| whom.as_ref().map_or(alone, |whom| whom == task));
        theirs.map(|(_, told)| told.clone()).collect()
    }
}
