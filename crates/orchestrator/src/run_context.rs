//! The part of a run that its effects need, wherever they are carried out.

use std::collections::BTreeSet;

use aime_actor_factory::PersonMessage;
use aime_durable::Recorded;
use aime_progress_management::{Decision, EvidenceId, LeadCommand, ModelCost, PlanChange, ProgressEvent, QuestionId, TaskId, TaskStatus};
use serde::{Deserialize, Serialize};

use crate::{
    Bounds, RunFact, RunInput,
    machine::{lead::lead_words_id, people::RunMessage},
};

/// A message to the actor of a task, or to the run itself.
pub type ActorMessage = (Option<TaskId>, PersonMessage);

/// Returns the messages to actors in a fact: of people, and of the lead.
pub(crate) fn messages_in(fact: &RunFact) -> Vec<ActorMessage> {
    match fact {
        RunFact::PersonSaid { id, task, text } => vec![(task.clone(), PersonMessage { id: id.clone(), text: text.clone() })],
        RunFact::LeadRested { rest, .. } => {
            let tells = rest.commands.iter().enumerate().filter_map(|(number, command)| match command {
                LeadCommand::TellTask { task, text } => {
                    let id = EvidenceId::new(lead_words_id(rest.wake, number)).ok()?;
                    let message = RunMessage { id, task: Some(task.clone()), text: text.clone(), by_lead: true };
                    Some((Some(task.clone()), message.for_actor()))
                }
                _ => None,
            });
            tells.collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the messages to actors that follow from an event: those at work hear which other tasks were cancelled.
/// `working` are the tasks that run, which this function keeps up to date.
pub(crate) fn messages_after(event: &ProgressEvent, working: &mut BTreeSet<TaskId>) -> Vec<ActorMessage> {
    match event {
        ProgressEvent::TaskStatusChanged { task, to: TaskStatus::Running, .. } => {
            working.insert(task.clone());
            Vec::new()
        }
        ProgressEvent::TaskStatusChanged { task, .. } => {
            working.remove(task);
            Vec::new()
        }
        ProgressEvent::PlanChanged { decision } => {
            working.retain(|task| !decision.patch.cancelled().any(|cancelled| cancelled == task));
            words_of_cancels(decision, working)
        }
        _ => Vec::new(),
    }
}

/// Returns the messages to the actors of these tasks about the tasks that a decision cancels.
pub(crate) fn words_of_cancels(decision: &Decision, working: &BTreeSet<TaskId>) -> Vec<ActorMessage> {
    let cancels = decision.patch.changes.iter().enumerate().filter_map(|(number, change)| match change {
        PlanChange::CancelTask { id, reason, .. } => {
            let text = format!("The task `{id}` was cancelled ({reason}). Do not wait for it, and do not build on it.");
            Some(PersonMessage { id: EvidenceId::new(format!("cancelled-{}-{}", decision.version, number + 1)).ok()?, text })
        }
        _ => None,
    });
    cancels.flat_map(|message| working.iter().map(move |task| (Some(task.clone()), message.clone()))).collect()
}

/// The bounds, costs and messages of people so far: a fold of the facts and events of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunContext {
    /// The bounds in force.
    pub bounds: Bounds,
    /// The cost of its model calls.
    pub spent: ModelCost,
    /// The number of tool calls that were begun.
    pub tool_calls: u64,
    /// The number of actors.
    pub actors: u32,
    /// The answers of people.
    pub answers: Vec<(QuestionId, String)>,
    /// Messages that answer no question, each with the task that is addressed.
    pub messages: Vec<ActorMessage>,
    /// The tasks that run.
    #[serde(default)]
    working: BTreeSet<TaskId>,
}

impl RunContext {
    /// Returns the context at the beginning of a run.
    #[must_use]
    pub fn new(input: &RunInput) -> Self {
        let bounds = input.settings.bounds.clone();
        let (answers, messages, working) = (Vec::new(), Vec::new(), BTreeSet::new());
        Self { bounds, spent: ModelCost::default(), tool_calls: 0, actors: 0, answers, messages, working }
    }

    /// Adds facts and the events that followed from them. Returns the new messages to actors.
    pub fn observe(&mut self, facts: &[Recorded<RunFact>], events: &[Recorded<ProgressEvent>]) -> Vec<ActorMessage> {
        let known = self.messages.len();
        for recorded in facts {
            if let RunFact::Resumed { bounds: Some(bounds) } | RunFact::Continued { bounds: Some(bounds), .. } = &recorded.fact {
                self.bounds = bounds.clone();
            }
            let new = messages_in(&recorded.fact).into_iter().filter(|message| !self.messages.contains(message));
            self.messages.extend(new.collect::<Vec<_>>());
        }
        for recorded in events {
            self.messages.extend(messages_after(&recorded.fact, &mut self.working));
            match &recorded.fact {
                ProgressEvent::ModelCalled { spent, .. } => self.spent.add(spent),
                ProgressEvent::ToolCallStarted { .. } => self.tool_calls += 1,
                ProgressEvent::ActorCreated { .. } => self.actors = self.actors.saturating_add(1),
                ProgressEvent::QuestionAnswered { id, answer } => self.answers.push((id.clone(), answer.clone())),
                _ => {}
            }
        }
        self.messages.get(known..).unwrap_or_default().to_vec()
    }

    /// Returns the messages so far to the actor of a task. The only actor of a run (`alone`) also gets those to the run
    /// itself.
    #[must_use]
    pub fn messages_to(&self, task: &TaskId, alone: bool) -> Vec<PersonMessage> {
        let theirs = self.messages.iter().filter(|(whom, _)| whom.as_ref().map_or(alone, |whom| whom == task));
        theirs.map(|(_, message)| message.clone()).collect()
    }
}
