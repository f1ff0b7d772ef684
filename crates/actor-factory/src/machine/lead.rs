//! Lead of a run: the same machine, which rests after its plan calls until the run wakes it.

use aime_durable::{EffectId, Outbox, UnixMillis};
use aime_llm::estimate_tokens;
use aime_progress_management::{CallOutcome, Conclusion, LeadCommand, Origin, ProgressEvent, TaskId};
use aime_tools::Executor;
use serde::{Deserialize, Serialize};

use super::{
    ActorEffect, ActorFact, ActorMachine, ActorStatus, ActorStep,
    turn::{Call, CallProgress, CallState},
};
use crate::{LeadSettings, LeadWake, history::Speaker, repeats::Repeats};

/// Number of turns in a row whose plan calls are all malformed or refused, after which the lead gives up planning.
const MAX_REFUSED: u32 = 3;
const TAKEN: &str = "Taken up, together with the call that follows.";
const TASKS_RUN: &str = "Error: not run: tasks of the plan are under way, and only they change files now. Change the plan, or wait";

/// The output of an actor's machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "output", rename_all = "snake_case")]
pub enum ActorOutput {
    /// The actor has ended, or was stopped.
    Ended(Conclusion),
    /// The lead pauses until its next wake.
    Rested(LeadRest),
}

impl ActorOutput {
    /// Returns the conclusion of the actor; none for a lead that pauses.
    #[must_use]
    pub fn ended(self) -> Option<Conclusion> {
        match self {
            Self::Ended(conclusion) => Some(conclusion),
            Self::Rested(_) => None,
        }
    }
}

/// Result of one wake of the lead: its commands and answer. The lead rests until the next wake.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LeadRest {
    /// Number of the wake that this answers.
    pub wake: u32,
    /// Accepted calls of plan tools, in order.
    pub commands: Vec<LeadCommand>,
    /// Conclusion of the run, if the lead has ended it.
    pub conclusion: Option<Conclusion>,
    /// Text of the lead's answer, if it called no tool.
    pub answer: String,
    /// True if the lead cannot keep to the plan tools. The run then continues by rules.
    pub gave_up: bool,
    /// Origins of the untrusted texts that the lead has read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub origins: Vec<Origin>,
}

/// Returns the number of the last wake in a lead's journal.
#[must_use]
pub fn last_wake<'a>(facts: impl IntoIterator<Item = &'a ActorFact>) -> u32 {
    let woken = facts.into_iter().filter_map(|fact| if let ActorFact::Woken { wake } = fact { Some(wake.number) } else { None });
    // The first wake is the input of the lead.
    woken.max().unwrap_or(1)
}

/// Part of the machine's state that only a lead uses.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct LeadState {
    wake: u32,
    may_write: bool,
    /// True while the task of the lead's own work is open. Events of that work carry its id.
    works: bool,
    kept: String,
    answer: String,
    refused_in_row: u32,
    /// Estimated tokens of the results of looking since the wake.
    #[serde(default)]
    looked: u64,
}

impl Default for LeadState {
    fn default() -> Self {
        Self { wake: 1, may_write: true, works: false, kept: String::new(), answer: String::new(), refused_in_row: 0, looked: 0 }
    }
}

impl ActorMachine {
    pub(super) const fn leads(&self) -> Option<LeadSettings> {
        self.input.lead
    }

    /// Returns the task in the actor's events. The lead has none until it works itself.
    pub(super) fn works_for(&self) -> Option<TaskId> {
        (self.input.lead.is_none() || self.lead.works).then(|| self.input.spec.task.clone())
    }

    /// Returns the text on the run that a compaction keeps.
    pub(super) const fn kept_of_run(&self) -> &str {
        self.lead.kept.as_str()
    }

    /// Notes that the lead begins to work itself.
    pub(super) fn begin_own_work(&mut self, out: &mut Outbox<Self>) {
        if self.leads().is_none() || std::mem::replace(&mut self.lead.works, true) {
            return;
        }
        if !self.todos.is_empty() {
            out.emit(ProgressEvent::TodosChanged { task: self.input.spec.task.clone(), items: self.todos.clone() });
        }
    }

    /// Returns the reason why the lead may not make a call that changes something now.
    pub(super) fn must_not_write(&self) -> Option<&'static str> {
        (self.leads().is_some() && !self.lead.may_write).then_some(TASKS_RUN)
    }

    /// Returns why the lead may not look any further in this wake. A lead that may do the work itself reads as much as the work needs.
    pub(super) fn read_budget_exceeded(&self) -> Option<String> {
        let LeadSettings { must_plan, look_tokens } = self.leads()?;
        let most = look_tokens.filter(|most| (must_plan || !self.lead.may_write) && self.lead.looked >= *most)?;
        Some(format!(
            "Error: not run: the budget of this wake for looking, {most} tokens of results, is used up. Decide now with what you know"
        ))
    }

    /// Counts the result of a call that only looks.
    pub(super) fn count_read(&mut self, text: &str) {
        if self.leads().is_some() {
            self.lead.looked = self.lead.looked.saturating_add(estimate_tokens(text));
        }
    }

    /// Takes a message of the run, each one once, and continues.
    pub(super) fn woken(&mut self, at: UnixMillis, wake: &LeadWake, out: &mut Outbox<Self>) {
        if self.leads().is_none() || self.status != ActorStatus::Resting || wake.number <= self.lead.wake {
            return;
        }
        self.lead = LeadState {
            wake: wake.number,
            may_write: wake.may_write,
            works: wake.works,
            kept: wake.kept.clone(),
            answer: String::new(),
            refused_in_row: 0,
            looked: 0,
        };
        self.conclusion = None;
        Origin::merge(&mut self.origins, &wake.origins);
        if self.stopping.take().is_some() {
            self.note_ended_processes();
        }
        (self.steps, self.plain_in_row, self.unread_in_row, self.failed_in_row) = (0, 0, 0, 0);
        self.repeats = Repeats::default();
        self.plain_text.clear();
        self.must_conclude = false;
        self.go(ActorStep::Wake);
        if self.answer_accepted(&wake.text) {
            self.go(ActorStep::Calls);
            self.end_turn(at, out);
        } else {
            self.history.append_text(&wake.text, Speaker::Person);
            self.next_step(at, out);
        }
    }

    /// Gives the accepted calls of the open turn their results: the last one gets the run's message.
    fn answer_accepted(&mut self, text: &str) -> bool {
        let Some(turn) = &mut self.turn else { return false };
        let mut text = Some(text.to_owned());
        for call in turn.calls.iter_mut().rev().filter(|call| matches!(call.state, CallState::Accepted { .. })) {
            let text = text.take().unwrap_or_else(|| TAKEN.to_owned());
            call.state = CallState::Done { text, outcome: CallOutcome::Ok };
        }
        text.is_none()
    }

    /// Hands a call of a plan tool to the run.
    pub(super) fn call_plan(&mut self, index: usize, call: &Call, allowed: aime_tools::ValidatedCall, out: &mut Outbox<Self>) {
        let name = self.call_effect(index);
        self.started(index, out);
        let of = call.id.clone();
        let Some(call) = self.call_mut(index) else { return };
        call.handed_on += 1;
        let effect = EffectId::new(format!("{name}/plan{}", call.handed_on));
        // After a stop the call is handed to the run again.
        call.way = Some(CallProgress::Allowed(allowed.clone()));
        call.state = CallState::Delegated { effect: effect.clone() };
        out.issue(effect, ActorEffect::Plan { of, call: allowed });
    }

    /// Takes the result of a call of a plan tool. An accepted call waits for the next wake.
    pub(super) fn plan_call_read(
        &mut self,
        at: UnixMillis,
        id: &EffectId,
        (text, refused): (Option<&str>, bool),
        (command, origins): (Option<&LeadCommand>, &[Origin]),
        out: &mut Outbox<Self>,
    ) {
        let Some(index) = self.turn.as_ref().and_then(|turn| turn.position(id)) else { return };
        Origin::merge(&mut self.origins, origins);
        match command {
            Some(command) => {
                let text = text.unwrap_or("Accepted.").to_owned();
                self.finish(index, text, CallOutcome::Ok, 0, out);
                if let Some(call) = self.call_mut(index) {
                    call.state = CallState::Accepted { command: Box::new(command.clone()) };
                }
            }
            None => {
                let outcome = if refused { CallOutcome::Error } else { CallOutcome::Ok };
                let text = text.unwrap_or_default();
                let text = if refused { format!("Error: {text}") } else { text.to_owned() };
                self.finish(index, text, outcome, 0, out);
            }
        }
        self.rest_if_stopping_or_advance(at, out);
    }

    /// Counts a turn whose plan calls were all malformed or refused. Several refusals in one turn count once: the model saw none of them
    /// before it made the next call. Calls that were not tried or not permitted do not count.
    pub(super) fn count_refusal(&mut self, calls: &[Call]) {
        let is_plan_call = |call: &&Call| self.tool_spec(&call.name).is_some_and(|tool_spec| tool_spec.handled_by == Executor::Run);
        let tried: Vec<bool> = calls.iter().filter(is_plan_call).filter(|call| !call.skipped && !call.denied).map(Call::failed).collect();
        if tried.contains(&false) {
            self.lead.refused_in_row = 0;
        } else if !tried.is_empty() {
            self.lead.refused_in_row = self.lead.refused_in_row.saturating_add(1);
        }
    }

    /// Rests if the calls of the turn wait for the run. Returns true if it does.
    pub(super) fn rest_on_accepted(&mut self) -> bool {
        let accepted = self.turn.iter().flat_map(|turn| &turn.calls).any(|call| matches!(call.state, CallState::Accepted { .. }));
        if accepted && self.status != ActorStatus::Resting {
            self.go(ActorStep::Rest);
        }
        accepted
    }

    /// Rests if the lead cannot keep to the plan tools. Returns true if it does.
    pub(super) fn rest_if_it_gave_up(&mut self) -> bool {
        let gives_up = self.leads().is_some() && self.lead.refused_in_row >= MAX_REFUSED;
        if gives_up && self.status != ActorStatus::Resting {
            self.go(ActorStep::Rest);
        }
        gives_up
    }

    /// Rests if the plain answer of the lead permits it. Returns true if it does.
    pub(super) fn rest_on_words(&mut self, again: bool) -> bool {
        let Some(settings) = self.leads() else { return false };
        let begins = self.lead.wake == 1;
        if begins && (!settings.must_plan || !again) {
            return false;
        }
        self.lead.answer = std::mem::take(&mut self.plain_text);
        self.go(ActorStep::Rest);
        true
    }

    /// Returns the lead's commands and state while it rests.
    pub(super) fn rest(&self) -> Option<LeadRest> {
        if self.leads().is_none() || self.status != ActorStatus::Resting {
            return None;
        }
        let calls = self.turn.iter().flat_map(|turn| &turn.calls);
        let commands = calls.filter_map(|call| match &call.state {
            CallState::Accepted { command } => Some(command.as_ref().clone()),
            _ => None,
        });
        let commands: Vec<LeadCommand> = commands.collect();
        Some(LeadRest {
            wake: self.lead.wake,
            conclusion: self.conclusion.clone(),
            answer: self.lead.answer.clone(),
            // Accepted calls are carried out, no matter what was wrong with those after them.
            gave_up: commands.is_empty() && self.lead.refused_in_row >= MAX_REFUSED,
            commands,
            origins: self.origins.clone(),
        })
    }
}
