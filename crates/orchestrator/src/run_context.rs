//! The part of a run that its effects need, wherever they are carried out.

use aime_actor_factory::{LeadRest, PersonMessage};
use aime_durable::Recorded;
use aime_progress_management::{EvidenceId, LeadCommand, ProgressEvent, QuestionId, Spent, TaskId};
use serde::{Deserialize, Serialize};

use crate::{
    Bounds, RunFact, RunInput,
    machine::{lead::lead_words_id, people::RunMessage},
};

/// Returns the messages of the lead to the actors of tasks.
pub(crate) fn words_of_lead(rest: &LeadRest) -> impl Iterator<Item = (TaskId, PersonMessage)> {
    rest.commands.iter().enumerate().filter_map(|(number, command)| match command {
        LeadCommand::TellTask { task, text } => {
            let id = EvidenceId::new(lead_words_id(rest.wake, number)).ok()?;
            let said = RunMessage { id, task: Some(task.clone()), text: text.clone(), by_lead: true };
            Some((task.clone(), said.told()))
        }
        _ => None,
    })
}

/// The bounds, costs and messages of people so far: a fold of the facts and events of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunContext {
    /// The bounds in force.
    pub bounds: Bounds,
    /// The cost of its model calls.
    pub spent: Spent,
    /// The number of tool calls that were begun.
    pub tool_calls: u64,
    /// The number of actors.
    pub actors: u32,
    /// The answers of people.
    pub answers: Vec<(QuestionId, String)>,
    /// Messages of people that answer no question, each with the task that is addressed.
    pub said: Vec<(Option<TaskId>, PersonMessage)>,
}

impl RunContext {
    /// Returns the context at the beginning of a run.
    #[must_use]
    pub fn new(input: &RunInput) -> Self {
        let bounds = input.settings.bounds.clone();
        Self { bounds, spent: Spent::default(), tool_calls: 0, actors: 0, answers: Vec::new(), said: Vec::new() }
    }

    /// Adds facts and the events that followed from them.
    pub fn take(&mut self, facts: &[Recorded<RunFact>], events: &[Recorded<ProgressEvent>]) {
        for recorded in facts {
            match &recorded.fact {
                RunFact::Resumed { bounds: Some(bounds) } | RunFact::Continued { bounds: Some(bounds), .. } => self.bounds = bounds.clone(),
                RunFact::PersonSaid { id, task, text } if !self.said.iter().any(|(_, told)| told.id == *id) => {
                    self.said.push((task.clone(), PersonMessage { id: id.clone(), text: text.clone() }));
                }
                RunFact::LeadRested { rest, .. } => self.said.extend(words_of_lead(rest).map(|(task, told)| (Some(task), told))),
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

    /// Returns the messages so far to the actor of a task. The only actor of a run (`alone`) also gets those to the run
    /// itself.
    #[must_use]
    pub fn said_to(&self, task: &TaskId, alone: bool) -> Vec<PersonMessage> {
        let theirs = self.said.iter().filter(|(whom, _)| whom.as_ref().map_or(alone, |whom| whom == task));
        theirs.map(|(_, told)| told.clone()).collect()
    }
}
