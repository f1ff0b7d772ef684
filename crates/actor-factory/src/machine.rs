//! The actor machine: think, act, and know when to end.

mod calls;
mod conclude;
mod fact;
mod lead;
mod own_tools;
mod processes;
mod round;
mod run_again;
mod said;
mod status;
mod think;
mod turn;

#[cfg(test)]
mod tests;

use std::{collections::BTreeSet, sync::Arc};

use aime_durable::{EffectId, Machine, Outbox, Reason, UnixMillis};
use aime_llm::{Message, ToolDefinition};
use aime_progress::{Conclusion, Origin, ProgressEvent, TodoItem};
use aime_tools::{SeenFiles, ToolRouter, ToolSheet};
use serde::{Deserialize, Serialize};

use self::turn::Turn;
pub use self::{
    fact::{ActorEffect, ActorFact, ModelAnswer, ModelFault, QuestionKind},
    lead::{ActorOutput, LeadRest},
    status::{ActorStatus, ActorStep, IllegalStep},
};
use crate::{
    ActorInput, Told,
    history::{History, TokenMeter},
    repeats::Repeats,
};

/// An actor at work: asks the model, makes the calls it wants, until it concludes.
///
/// Pure: it learns from [`ActorFact`]s alone and answers with [`ActorEffect`]s, whose ids are `TASK/EXECUTION/REQUEST` for the model and
/// `TASK/EXECUTION/REQUEST/CALL` for tools, and with the progress events of its task. Its output is the [`Conclusion`] of the task; an
/// actor that was stopped gives one with the outcome `Interrupted` and goes on after [`ActorFact::Resumed`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ActorMachine {
    input: ActorInput,
    status: ActorStatus,
    tools: Arc<[ToolDefinition]>,
    /// Of the tools' definitions, estimated.
    tools_tokens: u64,
    history: History,
    meter: TokenMeter,
    /// The most tokens that the model has proved to hold less than.
    window: u64,
    /// Requests made, those without an answer included: the number in effect ids.
    requests: u32,
    /// Answers received since it was last run.
    steps: u32,
    /// How often it was run again.
    #[serde(default)]
    runs_again: u32,
    /// The model call under way, and its estimated tokens.
    asked_model: Option<(EffectId, u64)>,
    turn: Option<Turn>,
    todos: Vec<TodoItem>,
    rounds_without_todos: u32,
    router: ToolRouter,
    repeats: Repeats,
    /// It repeats itself: the next request asks for its conclusion.
    #[serde(default)]
    must_conclude: bool,
    /// The tool whose call it repeats: the next request does not offer it.
    #[serde(default)]
    withheld: Option<String>,
    /// Files that the task names, and that no call that succeeded has named yet.
    #[serde(default)]
    unnamed_files: Vec<String>,
    /// How often it was told of one at its end.
    #[serde(default)]
    reminders: u32,
    /// Hints for the note after the results of the turn.
    notes: Vec<String>,
    /// The results of the last turn have no note after them yet.
    #[serde(default)]
    note_due: bool,
    /// What people said that the actor has not seen yet.
    #[serde(default)]
    said: Vec<Told>,
    /// What people said that stands in the history.
    #[serde(default)]
    heard: Vec<Told>,
    /// Answers without a tool call, in a row.
    plain_in_row: u32,
    /// Answers that were to be a tool call and could not be read, in a row.
    #[serde(default)]
    unread_in_row: u32,
    /// The last plain answers: part of the result, whatever the actor says when it ends.
    plain_text: String,
    /// The last request did not fit.
    overflowed: bool,
    /// What the actor's calls made.
    references: Vec<String>,
    /// The versions of files that the actor has read or written last.
    #[serde(default, skip_serializing_if = "SeenFiles::is_empty")]
    seen: SeenFiles,
    /// Calls that succeeded.
    calls_ok: u32,
    /// The beginning of what the last of them showed, where a small model makes them.
    #[serde(default)]
    last_result: Option<String>,
    /// The last call that failed and its tool, until a call of that tool succeeds: why, where a small model gives up and does not say.
    #[serde(default)]
    last_error: Option<(String, String)>,
    /// The last call of the last turn failed.
    #[serde(default)]
    last_failed: bool,
    /// The ids of commands that run beside its calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    processes: Vec<String>,
    /// Calls that failed, one after the other.
    #[serde(default)]
    failed_in_row: u32,
    /// It wanted to give up at the first failure, and was told to try another way.
    #[serde(default)]
    urged: bool,
    /// Whether a call was refused by a person or the approval mode.
    denied: bool,
    /// Where the texts come from that stand, or stood, in its requests and that nobody vouches for.
    #[serde(default)]
    origins: Vec<Origin>,
    /// Ids of calls that stand in the history.
    call_ids: BTreeSet<String>,
    stopping: Option<Reason>,
    conclusion: Option<Conclusion>,
    /// The state of a lead; as it begins for an actor of a task.
    lead: lead::LeadState,
}

impl Machine for ActorMachine {
    const VERSION: u32 = 1;
    type Input = ActorInput;
    type Fact = ActorFact;
    type Effect = ActorEffect;
    type Event = ProgressEvent;
    type Output = ActorOutput;

    fn start(at: UnixMillis, input: &ActorInput, out: &mut Outbox<Self>) -> Self {
        let mut machine = Self::new(input);
        machine.go(ActorStep::Run);
        machine.next_step(at, out);
        machine
    }

    fn apply(&mut self, at: UnixMillis, fact: &ActorFact, out: &mut Outbox<Self>) -> Option<ActorOutput> {
        if let ActorFact::Woken { wake } = fact {
            self.woken(at, wake, out);
            return self.output();
        }
        if let ActorFact::RunAgain { number, missing } = fact {
            self.run_again(at, *number, missing, out);
        } else if self.conclusion.is_none() {
            match fact {
                ActorFact::ModelAnswered { id, answer, duration_ms } => {
                    self.model_answered(at, id, answer, *duration_ms, out);
                }
                ActorFact::ToolEnded { .. } => self.tool_ended(at, fact, out),
                ActorFact::PlanCallRead { id, text, refused, command, origins } => {
                    self.plan_call_read(at, id, (text.as_deref(), *refused), (command.as_ref(), origins), out);
                }
                ActorFact::Woken { .. } => {}
                ActorFact::Answered { id, text } => self.person_answered(at, id, text, out),
                ActorFact::Told { said } => {
                    self.told(said);
                    // Words end nothing: an actor that was stopped goes on after them.
                    return None;
                }
                ActorFact::Revoked { id, .. } => self.effect_revoked(at, id, out),
                ActorFact::Stopped { why } => self.stop(why, out),
                ActorFact::RunAgain { .. } => {}
                ActorFact::Resumed {} => {
                    self.tell_ended_processes();
                    self.resume(at, out);
                }
            }
        }
        self.output()
    }

    fn answers(fact: &ActorFact) -> Option<&EffectId> {
        match fact {
            ActorFact::ModelAnswered { id, .. }
            | ActorFact::ToolEnded { id, .. }
            | ActorFact::PlanCallRead { id, .. }
            | ActorFact::Answered { id, .. }
            | ActorFact::Revoked { id, .. } => Some(id),
            ActorFact::Told { .. }
            | ActorFact::Woken { .. }
            | ActorFact::RunAgain { .. }
            | ActorFact::Stopped { .. }
            | ActorFact::Resumed {} => None,
        }
    }

    fn revoked(id: &EffectId, why: &Reason) -> ActorFact {
        ActorFact::Revoked { id: id.clone(), why: why.clone() }
    }

    /// A request to a model changes nothing outside, and one that is under way when the process ends is made again in any case: it need not wait
    /// until what led to it is durable, and what the disk takes is hidden behind what the model takes.
    fn kind(effect: &ActorEffect) -> &'static str {
        match effect {
            ActorEffect::Model(_) => "model",
            ActorEffect::Tool { .. } => "tool",
            ActorEffect::Delegate { .. } => "delegate",
            ActorEffect::Plan { .. } => "plan",
            ActorEffect::Ask { .. } => "ask",
        }
    }

    fn is_repeatable(effect: &ActorEffect) -> bool {
        matches!(effect, ActorEffect::Model(_) | ActorEffect::Plan { .. } | ActorEffect::Tool { read_only: true, .. })
    }
}

impl ActorMachine {
    fn new(input: &ActorInput) -> Self {
        let mut input = input.clone();
        // They stand in the history from now on.
        let task = Message::user_with_images(std::mem::take(&mut input.task), std::mem::take(&mut input.images));
        let history = History::new(std::mem::take(&mut input.system), task);
        input.spec.persona = String::new();
        Self {
            status: ActorStatus::Idle,
            tools_tokens: input.spec.tools.tokens(),
            tools: Arc::clone(input.spec.tools.definitions()),
            history,
            meter: TokenMeter::default(),
            window: u64::from(input.limits.context_tokens),
            requests: 0,
            steps: 0,
            runs_again: 0,
            asked_model: None,
            turn: None,
            todos: Vec::new(),
            rounds_without_todos: 0,
            router: ToolRouter::hinting_after(input.settings.failures_before_hint),
            repeats: Repeats::default(),
            must_conclude: false,
            withheld: None,
            unnamed_files: input.named_files.clone(),
            reminders: 0,
            notes: Vec::new(),
            note_due: false,
            said: input.told.clone(),
            heard: Vec::new(),
            plain_in_row: 0,
            unread_in_row: 0,
            plain_text: String::new(),
            overflowed: false,
            references: Vec::new(),
            seen: SeenFiles::new(),
            calls_ok: 0,
            last_result: None,
            last_error: None,
            last_failed: false,
            processes: Vec::new(),
            failed_in_row: 0,
            urged: false,
            denied: false,
            origins: input.first_origins(),
            call_ids: BTreeSet::new(),
            stopping: None,
            conclusion: None,
            lead: lead::LeadState::default(),
            input,
        }
    }

    /// Where the actor stands.
    #[must_use]
    pub const fn status(&self) -> ActorStatus {
        self.status
    }

    /// How many answers of the model it has used.
    #[must_use]
    pub const fn steps(&self) -> u32 {
        self.steps
    }

    /// Returns how many more answers of the model it may use.
    pub(crate) fn steps_left(&self) -> u32 {
        self.input.spec.max_steps.saturating_sub(self.steps)
    }

    /// Who acts.
    #[must_use]
    pub const fn spec(&self) -> &crate::ActorSpec {
        &self.input.spec
    }

    /// How the actor ended, once it has. An actor that was stopped has not.
    #[must_use]
    pub const fn conclusion(&self) -> Option<&Conclusion> {
        self.conclusion.as_ref()
    }

    fn sheet(&self, name: &str) -> Option<&ToolSheet> {
        self.input.spec.tool(name)
    }

    /// Takes a step of the state machine. The callers below take only legal ones; a test tries every order of facts.
    fn go(&mut self, step: ActorStep) {
        let next = self.status.after(step);
        debug_assert!(next.is_ok(), "{next:?}");
        self.status = next.unwrap_or(self.status);
    }

    /// Begins nothing new and revokes what is under way.
    fn stop(&mut self, why: &Reason, out: &mut Outbox<Self>) {
        if self.stopping.is_some() {
            return;
        }
        self.stopping = Some(why.clone());
        let model = self.asked_model.as_ref().map(|(id, _)| id);
        let calls = self.turn.iter().flat_map(Turn::under_way);
        for id in model.into_iter().chain(calls) {
            out.revoke(id.clone(), why.clone());
        }
        self.rest_if_still();
    }

    /// Goes on after a stop. An actor that was not stopped has nothing to do here: what is under way is issued again by the host.
    fn resume(&mut self, at: UnixMillis, out: &mut Outbox<Self>) {
        if self.stopping.take().is_none() {
            return;
        }
        if self.status == ActorStatus::Resting {
            return;
        }
        if self.status == ActorStatus::Idle {
            self.go(ActorStep::Run);
        }
        self.go_on(at, out);
    }

    /// An effect that was revoked is over: what it did, if anything, is not known.
    fn effect_revoked(&mut self, at: UnixMillis, id: &EffectId, out: &mut Outbox<Self>) {
        if self.asked_model.as_ref().is_some_and(|(asked, _)| asked == id) {
            self.asked_model = None;
        } else if !self.call_revoked(id, out) {
            return;
        }
        if self.stopping.is_some() {
            self.rest_if_still();
        } else {
            self.go_on(at, out);
        }
    }

    /// Takes up the open turn, or asks the model.
    fn go_on(&mut self, at: UnixMillis, out: &mut Outbox<Self>) {
        if self.turn.is_some() {
            if self.status == ActorStatus::Thinking {
                self.go(ActorStep::Calls);
            }
            self.advance(at, out);
        } else if self.asked_model.is_none() {
            self.next_step(at, out);
        }
    }

    fn under_way(&self) -> bool {
        self.asked_model.is_some() || self.turn.as_ref().is_some_and(|turn| turn.under_way().next().is_some())
    }

    fn rest_if_still(&mut self) {
        if self.status.running() && !self.under_way() {
            self.go(ActorStep::Stop);
        }
    }
}
