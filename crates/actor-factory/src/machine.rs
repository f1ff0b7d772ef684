//! State machine of an actor: ask the model, make its tool calls, decide when to end.

mod calls;
mod conclude;
mod fact;
mod lead;
mod messages;
mod own_tools;
mod processes;
mod round;
mod run_again;
mod status;
mod think;
mod turn;

#[cfg(test)]
mod tests;

use std::{collections::BTreeSet, sync::Arc};

use aime_durable::{EffectId, Machine, Outbox, Reason, UnixMillis};
use aime_llm::{Message, ToolDefinition};
use aime_progress_management::{Conclusion, FailureCause, Origin, ProgressEvent, TodoItem};
use aime_tools::{SeenFiles, ToolRouter, ToolSpec};
use serde::{Deserialize, Serialize};

pub use self::{
    fact::{ActorEffect, ActorFact, ModelAnswer, ModelFault, QuestionKind},
    lead::{ActorOutput, LeadRest, last_wake},
    status::{ActorStatus, ActorStep, IllegalStep},
};
use self::{messages::AnsweredQuestion, turn::Turn};
use crate::{
    ActorInput, PersonMessage,
    history::{History, TokenMeter},
    repeats::Repeats,
};

/// Actor at work: asks the model and makes the calls that it wants until it concludes.
///
/// The machine is pure. Its only input are [`ActorFact`]s; it answers with [`ActorEffect`]s and the progress events of its task. Effect ids
/// are `TASK/EXECUTION/REQUEST` for the model and `TASK/EXECUTION/REQUEST/CALL` for tools. The output is the [`Conclusion`] of the task. A
/// stopped actor concludes with the outcome `Interrupted`, and one whose model cannot be used with the cause `Model`: both continue after
/// [`ActorFact::Resumed`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ActorMachine {
    input: ActorInput,
    status: ActorStatus,
    tools: Arc<[ToolDefinition]>,
    /// Estimated tokens of the tool definitions.
    tools_tokens: u64,
    history: History,
    meter: TokenMeter,
    /// Upper bound on the model's context window, in tokens, as learnt from refused requests.
    window: u64,
    /// Number of requests so far, including unanswered ones; part of effect ids.
    requests: u32,
    /// Number of answers since the actor was last run.
    steps: u32,
    /// Number of times that the actor was run again.
    #[serde(default)]
    runs_again: u32,
    /// Model call under way, with its estimated tokens.
    asked_model: Option<(EffectId, u64)>,
    turn: Option<Turn>,
    todos: Vec<TodoItem>,
    rounds_without_todos: u32,
    router: ToolRouter,
    repeats: Repeats,
    /// True if the actor repeats itself, so that the next request asks for its conclusion.
    #[serde(default)]
    must_conclude: bool,
    /// Tool that the next request does not offer, because the actor repeats its call.
    #[serde(default)]
    withheld: Option<String>,
    /// Files that the task names and that no successful call has named yet.
    #[serde(default)]
    unnamed_files: Vec<String>,
    /// Number of reminders of such files at the end of the actor.
    #[serde(default)]
    reminders: u32,
    /// Hints for the note after the results of the turn.
    notes: Vec<String>,
    /// True if the results of the last turn still need a note after them.
    #[serde(default)]
    note_due: bool,
    /// Messages of people that the actor has not seen yet.
    #[serde(default)]
    unread_messages: Vec<PersonMessage>,
    /// Messages of people that are in the history.
    #[serde(default)]
    read_messages: Vec<PersonMessage>,
    /// Questions of the actor to people, with their answers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    answered: Vec<AnsweredQuestion>,
    /// Why the last result was not accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    returned: Option<String>,
    /// True if the actor was copied into a fork and was not told yet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_forked: bool,
    /// Number of consecutive answers without a tool call.
    plain_in_row: u32,
    /// Number of consecutive answers with an unreadable tool call.
    #[serde(default)]
    unread_in_row: u32,
    /// Last plain answers. They are part of the result, whatever the actor's final message says.
    plain_text: String,
    /// Paths and addresses that the actor's calls created or changed.
    references: Vec<String>,
    /// Versions of the files that the actor last read or wrote.
    #[serde(default, skip_serializing_if = "SeenFiles::is_empty")]
    seen: SeenFiles,
    /// Number of successful calls.
    calls_ok: u32,
    /// Beginning of the last successful call's result, if the class of models keeps it for later tasks.
    #[serde(default)]
    last_result: Option<String>,
    /// Tool and error of the last failed call, until a call of that tool succeeds, if the class of models adds it to reported failures.
    #[serde(default)]
    last_error: Option<(String, String)>,
    /// True if the last call of the last turn failed.
    #[serde(default)]
    last_failed: bool,
    /// Ids of background commands.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    processes: Vec<String>,
    /// Number of consecutive failed calls.
    #[serde(default)]
    failed_in_row: u32,
    /// True if the actor gave up at the first failure and was told to try another way.
    #[serde(default)]
    urged: bool,
    /// True if a person or the approval mode refused a call.
    denied: bool,
    /// Origins of all untrusted texts that its requests have held.
    #[serde(default)]
    origins: Vec<Origin>,
    /// Ids of the calls in the history.
    call_ids: BTreeSet<String>,
    stopping: Option<Reason>,
    /// True if the actor stops only after its calls under way.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_paused: bool,
    conclusion: Option<Conclusion>,
    /// State of a lead; stays at its default for the actor of a task.
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
        if let ActorFact::RunAgain { number, missing, answer } = fact {
            self.run_again(at, *number, (missing, *answer), out);
        } else if let ActorFact::PersonMessage { message } = fact {
            self.queue_message(message);
            // A person's message ends nothing: an actor that was stopped or has ended hears it if it continues later.
            return None;
        } else if let ActorFact::Forked {} = fact {
            self.is_forked = true;
            return None;
        } else if let ActorFact::Resumed {} = fact {
            self.resume(at, out);
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
                ActorFact::Revoked { id, .. } => self.effect_revoked(at, id, out),
                ActorFact::Stopped { why } => self.stop(why, out),
                ActorFact::Paused {} => self.pause(out),
                ActorFact::RunAgain { .. } | ActorFact::PersonMessage { .. } | ActorFact::Forked {} | ActorFact::Resumed {} => {}
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
            ActorFact::PersonMessage { .. }
            | ActorFact::Woken { .. }
            | ActorFact::RunAgain { .. }
            | ActorFact::Stopped { .. }
            | ActorFact::Paused {}
            | ActorFact::Forked {}
            | ActorFact::Resumed {} => None,
        }
    }

    fn revoked(id: &EffectId, why: &Reason) -> ActorFact {
        ActorFact::Revoked { id: id.clone(), why: why.clone() }
    }

    /// A request to a model changes nothing outside, and the host repeats it after a crash in any case. So it need not wait until its cause
    /// is durable, and the write to disk overlaps with the model's work.
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
        // The history owns these texts from here on.
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
            unread_messages: input.messages.clone(),
            read_messages: Vec::new(),
            answered: Vec::new(),
            returned: None,
            is_forked: false,
            plain_in_row: 0,
            unread_in_row: 0,
            plain_text: String::new(),
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
            is_paused: false,
            conclusion: None,
            lead: lead::LeadState::default(),
            input,
        }
    }

    /// Returns the actor's status.
    #[must_use]
    pub const fn status(&self) -> ActorStatus {
        self.status
    }

    /// Returns the number of model answers that the actor has used.
    #[must_use]
    pub const fn steps(&self) -> u32 {
        self.steps
    }

    /// Returns the number of model answers that the actor may still use.
    pub(crate) fn steps_left(&self) -> u32 {
        self.input.spec.max_steps.saturating_sub(self.steps)
    }

    /// Returns the spec of the actor.
    #[must_use]
    pub const fn spec(&self) -> &crate::ActorSpec {
        &self.input.spec
    }

    /// Returns the conclusion of an actor that has ended. A stopped actor has none.
    #[must_use]
    pub const fn conclusion(&self) -> Option<&Conclusion> {
        self.conclusion.as_ref()
    }

    fn tool_spec(&self, name: &str) -> Option<&ToolSpec> {
        self.input.spec.tool(name)
    }

    /// Takes a step of the status machine. All callers take legal steps; a test tries every order of facts.
    fn go(&mut self, step: ActorStep) {
        let next = self.status.after(step);
        debug_assert!(next.is_ok(), "{next:?}");
        self.status = next.unwrap_or(self.status);
    }

    /// Stops the actor: begins nothing new and revokes the effects under way.
    fn stop(&mut self, why: &Reason, out: &mut Outbox<Self>) {
        if self.stopping.is_some() && !self.is_paused {
            return;
        }
        (self.stopping, self.is_paused) = (Some(why.clone()), false);
        let model = self.asked_model.as_ref().map(|(id, _)| id);
        let calls = self.turn.iter().flat_map(Turn::under_way);
        for id in model.into_iter().chain(calls) {
            out.revoke(id.clone(), why.clone());
        }
        self.rest_if_still();
    }

    /// Begins nothing new, revokes what only waits for others, and stops once the other calls under way have ended.
    fn pause(&mut self, out: &mut Outbox<Self>) {
        if self.stopping.is_some() {
            return;
        }
        (self.stopping, self.is_paused) = (Some(Reason::Stopped), true);
        let model = self.asked_model.as_ref().map(|(id, _)| id);
        let waits = self.turn.iter().flat_map(|turn| turn.waiting_for_others());
        for id in model.into_iter().chain(waits) {
            out.revoke(id.clone(), Reason::Stopped);
        }
        self.rest_if_still();
    }

    /// Continues after a stop, or after a failure of the model. An actor that has ended otherwise stays as it was. After a crash it needs
    /// no new effects, because the host issues its open ones again.
    fn resume(&mut self, at: UnixMillis, out: &mut Outbox<Self>) {
        // A wake continues the lead.
        let lacked_model = |ended: &mut Conclusion| ended.cause == Some(FailureCause::Model);
        let goes_on = self.leads().is_none() && self.conclusion.take_if(lacked_model).is_some();
        if self.conclusion.is_some() {
            return;
        }
        self.note_ended_processes();
        let was_paused = std::mem::take(&mut self.is_paused);
        if self.stopping.take().is_none() && !goes_on {
            return;
        }
        // A call or request under way continues the actor when it ends.
        if self.status == ActorStatus::Resting || was_paused && self.under_way() {
            return;
        }
        if self.status == ActorStatus::Idle {
            self.go(ActorStep::Run);
        }
        self.go_on(at, out);
    }

    /// Handles the end of a revoked effect, whose result is unknown.
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

    /// Continues the open turn, or asks the model.
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
