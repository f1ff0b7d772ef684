//! Messages between workflows and workers. Later versions must be able to read each form: new fields have defaults.

use std::sync::Arc;

use aime_actor_factory::{ActorFact, ActorInput, ActorMachine, LEAD_PREFIX, LeadRest, PersonMessage};
use aime_durable::{EffectId, Machine};
use aime_messages::{Message, stored::with_ids};
use aime_orchestrator::{
    ActorOrder, Bounds, CallRecord, CreatedActor, CreatedDelegate, FoundConflict, LeadWakeOrder, PreparedLeadWake, RunContext, RunEffect,
    RunFact, RunMachine, RunResult,
};
use aime_progress_management::{Conclusion, Origin, ProgressEvent, QuestionId, TaskId, TaskSpec};
use aime_tools::DelegateTask;
use serde::{Deserialize, Serialize, Serializer};

/// The input of a run.
pub(crate) type RunInput = <RunMachine as Machine>::Input;

use crate::{EffectInput, Handover, JournalResume, MachineStart, Queues, Timestamped, WorkspaceSnapshot};

/// Value on its way through the engine. Its messages keep their ids, so that each reader gets them in its own language.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct Wire<T>(pub T);

impl<T: Serialize> Serialize for Wire<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        with_ids(|| self.0.serialize(serializer))
    }
}

/// Input of a run's workflow.
#[derive(Clone, Serialize, Deserialize)]
pub struct RunWorkflowInput {
    /// The run: its input, or its journal so far.
    pub begin: MachineStart<RunMachine>,
    /// Queues of its effects.
    #[serde(default)]
    pub queues: Queues,
    /// The journals of actors that were stopped before their end, by their names.
    #[serde(default)]
    pub stopped: Vec<(String, StoppedActor)>,
    /// The state of the working folder that it begins from, where the folder goes from host to host.
    #[serde(default)]
    pub tree: Option<WorkspaceSnapshot>,
    /// True if the run waits until a person resumes it, as a fork does.
    #[serde(default)]
    pub is_waiting: bool,
    /// True if a worker still decides whether the run has a lead.
    #[serde(default)]
    pub seeks_lead: bool,
}

/// The end of a run for good, or of a part of it, for a worker.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct EndRunInput {
    /// Result of the run.
    pub result: RunResult,
    /// True if it has ended for good.
    pub is_over: bool,
    /// The run so far.
    pub run_context: RunContext,
    /// The state of the working folder, where the folder goes from host to host.
    #[serde(default)]
    pub tree: Option<WorkspaceSnapshot>,
}

/// Actor that was stopped and may continue, or that has ended and whose end the run has not taken in.
#[derive(Clone, Serialize, Deserialize)]
pub struct StoppedActor {
    /// Point at which it continues.
    pub begin: MachineStart<ActorMachine>,
    /// Number of its reports, including the report of its creation.
    pub reports: u64,
    /// Conclusion of an actor that has ended. If the attempt was stopped meanwhile, it is judged again instead of
    /// repeating the work.
    #[serde(default)]
    pub ended: Option<Conclusion>,
    /// Limit of the conclusion's text for the calling actor, if there is one.
    #[serde(default)]
    pub text_limit: Option<usize>,
    /// State of the folder in which the actor goes on, if its work is not merged: it conflicts with that of others.
    #[serde(default)]
    pub private: Option<WorkspaceSnapshot>,
    /// Conflicts of its work, in their current state.
    #[serde(default)]
    pub conflicts: Vec<FoundConflict>,
}

/// Input of an actor's workflow.
#[derive(Clone, Serialize, Deserialize)]
pub struct ActorWorkflowInput {
    /// The actor: its input, or its journal so far.
    pub begin: MachineStart<ActorMachine>,
    /// The workflow of its run, which hears of all that it does.
    pub run: String,
    /// Input of its run.
    pub input: RunInput,
    /// State of its run when the actor began.
    pub run_context: RunContext,
    /// Queues of its effects.
    #[serde(default)]
    pub queues: Queues,
    /// Number of earlier reports.
    #[serde(default)]
    pub reports: u64,
    /// The first report, that it was made, where it has not been heard yet.
    #[serde(default)]
    pub created: Option<ProgressEvent>,
    /// The state of the working folder that it begins from, where the folder goes from host to host.
    #[serde(default)]
    pub tree: Option<WorkspaceSnapshot>,
    /// Order for the actor that works for the plan; its delegates are created by the same order.
    #[serde(default)]
    pub order: Option<ActorOrder>,
    /// Its delegates that were stopped before their end, by their names.
    #[serde(default)]
    pub stopped: Vec<(String, StoppedActor)>,
    /// Limit of the conclusion's text for the calling actor, if there is one.
    #[serde(default)]
    pub text_limit: Option<usize>,
}

/// Output of an actor's workflow.
#[derive(Clone, Serialize, Deserialize)]
pub struct ActorEnd {
    /// The actor's conclusion.
    pub conclusion: Conclusion,
    /// Journal with which it can continue if it was stopped or its result is not accepted.
    #[serde(default)]
    pub journal: Option<JournalResume<ActorMachine>>,
    /// Number of its reports.
    pub reports: u64,
    /// Final state of the working folder, if it moves between hosts.
    #[serde(default)]
    pub tree: Option<WorkspaceSnapshot>,
    /// Its delegates that were stopped before their end, by their names.
    #[serde(default)]
    pub delegates: Vec<(String, StoppedActor)>,
}

/// Effect of a run, for a worker. The run's input is a separate argument: it is the same for all effects, and stored
/// once.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RunEffectInput {
    /// The run so far.
    pub run_context: RunContext,
    /// The effect.
    pub order: EffectInput<RunEffect>,
    /// The state of the working folder that it begins from, where the folder goes from host to host.
    #[serde(default)]
    pub tree: Option<WorkspaceSnapshot>,
}

/// An actor that is to be made.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct MakeActorInput {
    /// The run so far.
    pub run_context: RunContext,
    /// Effect that requests it.
    pub id: EffectId,
    /// Task and attempt of the actor.
    pub order: ActorOrder,
    /// Messages of people to it.
    #[serde(default)]
    pub messages: Vec<PersonMessage>,
    /// The state of the working folder that it begins from, where the folder goes from host to host.
    #[serde(default)]
    pub tree: Option<WorkspaceSnapshot>,
}

/// Result of creating an actor.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "making", rename_all = "snake_case")]
pub enum ActorCreation {
    /// The actor was created.
    Made {
        /// The actor.
        actor: Box<CreatedActor>,
    },
    /// The attempt has ended before it began.
    Ended {
        /// Fact that ends the attempt.
        fact: Box<RunFact>,
    },
}

/// An actor that is to do a part of the work of another one.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DelegateInput {
    /// The run so far.
    pub run_context: RunContext,
    /// The workflow of the run.
    pub run: String,
    /// Order for the actor that works for the plan.
    pub order: ActorOrder,
    /// Input of the calling actor.
    pub by: ActorInput,
    /// Call that delegates the work.
    pub call: String,
    /// Work to do.
    pub request: DelegateTask,
    /// Origins of the unverified texts that the calling actor has read.
    pub origins: Vec<Origin>,
    /// The state of the working folder that it begins from, where the folder goes from host to host.
    #[serde(default)]
    pub tree: Option<WorkspaceSnapshot>,
}

/// Result of creating an actor.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "making", rename_all = "snake_case")]
pub enum DelegateCreation {
    /// The actor was created.
    Made {
        /// The actor.
        made: Box<CreatedDelegate>,
    },
    /// There is none.
    Refused {
        /// Reason, for the calling actor.
        why: String,
    },
}

/// An attempt whose criteria are to be looked at.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct JudgeInput {
    /// The run so far.
    pub run_context: RunContext,
    /// The effect that began it.
    pub id: EffectId,
    /// The task.
    pub spec: Arc<TaskSpec>,
    /// Conclusion of the actor.
    pub conclusion: Conclusion,
    /// The calls in this attempt and those before it.
    pub calls: CallRecord,
    /// Conflicts of its changes with those of others, which the actor has resolved.
    #[serde(default)]
    pub conflicts: Vec<FoundConflict>,
    /// Duration in milliseconds.
    pub duration_ms: u64,
    /// The state of the working folder that it begins from, where the folder goes from host to host.
    #[serde(default)]
    pub tree: Option<WorkspaceSnapshot>,
}

/// A wake of the lead, for a worker.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct WakeInput {
    /// The run so far.
    pub run_context: RunContext,
    /// The wake.
    pub order: LeadWakeOrder,
    /// True if the conversation of the lead begins.
    pub is_new: bool,
    /// The state of the working folder, where the folder goes from host to host.
    #[serde(default)]
    pub tree: Option<WorkspaceSnapshot>,
}

/// Result of composing a wake.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "waking", rename_all = "snake_case")]
pub enum WakeComposition {
    /// The wake was composed.
    Woken {
        /// The wake.
        lead: PreparedLeadWake,
    },
    /// There is no lead.
    Failed {
        /// Reason, for the user.
        message: Message,
    },
}

/// A pause of the lead's conversation, for a worker.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LeadCheckInput {
    /// The run so far.
    pub run_context: RunContext,
    /// The effect that woke the lead.
    pub id: EffectId,
    /// The commands of the lead.
    pub rest: LeadRest,
    /// The state of the working folder, where the folder goes from host to host.
    #[serde(default)]
    pub tree: Option<WorkspaceSnapshot>,
}

/// An effect of an actor, for a worker.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ActorEffectInput {
    /// The run so far, with what the actor itself has spent since.
    pub run_context: RunContext,
    /// The workflow of the run, which hears what happens on the way.
    pub run: String,
    /// The effect.
    pub order: EffectInput<aime_actor_factory::ActorEffect>,
    /// The state of the working folder that it begins from, where the folder goes from host to host.
    #[serde(default)]
    pub tree: Option<WorkspaceSnapshot>,
}

/// Answer to a call, and the resulting state of the folder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallReply<T> {
    /// The answer.
    pub fact: T,
    /// The folder.
    pub handover: Handover,
}

/// The answer to a question of an actor.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ActorAnswer {
    /// The question.
    pub question: QuestionId,
    /// The answer.
    pub text: String,
}

/// Answer to a client that watches a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct WatchReply {
    /// Events from the requested number on, each with its time.
    pub events: Vec<Timestamped<ProgressEvent>>,
    /// Number of events so far.
    pub all: usize,
    /// Result of the run, once it has ended or is suspended.
    pub result: Option<RunResult>,
    /// True if it has ended for good.
    pub is_over: bool,
    /// The bounds in force.
    #[serde(default)]
    pub bounds: Option<Bounds>,
    /// Current state of the working folder, if it moves between hosts.
    #[serde(default)]
    pub tree: Option<WorkspaceSnapshot>,
}

/// A part of a run's journal.
#[derive(Clone, Serialize, Deserialize)]
pub struct JournalPage {
    /// Input of the run; `None` before it has begun.
    pub input: Option<Timestamped<RunInput>>,
    /// Facts from the requested number on.
    pub facts: Vec<Timestamped<RunFact>>,
    /// Number of facts so far.
    pub all: usize,
}

/// Input of an actor, and a part of its journal.
#[derive(Clone, Serialize, Deserialize)]
pub struct ActorJournalPage {
    /// Input of the actor.
    pub input: Timestamped<ActorInput>,
    /// First report, that it was created, unless the run has received it before this history.
    pub created: Option<ProgressEvent>,
    /// Number of its first report after that. It is more than one if the actor was started anew, because earlier
    /// reports remain valid.
    #[serde(default = "one")]
    pub first: u64,
    /// Limit of the conclusion's text for the calling actor.
    pub text_limit: Option<usize>,
    /// Facts from the requested number on.
    pub facts: Vec<Timestamped<ActorFact>>,
    /// Number of facts so far.
    pub all: usize,
}

/// Returns the number of an actor's first report after that of its creation.
const fn one() -> u64 {
    1
}

/// Returns the name of a run's workflow, from the run's name.
#[must_use]
pub fn run_workflow(run: &str) -> String {
    format!("aime-run-{run}")
}

/// Returns the name of an actor's workflow.
#[must_use]
pub fn actor_workflow(run: &str, task: &TaskId, execution: u32) -> String {
    format!("{run}/{task}/{execution}")
}

/// Returns the name of the workflow of a run's lead.
#[must_use]
pub fn lead_workflow(run: &str) -> String {
    format!("{run}/{LEAD_PREFIX}")
}

/// Returns true if a fact makes a suspended run continue: a person resumes or ends it, or, if it `waits` for a
/// person, answers it or removes a task from its plan. If the run was paused or is out of bounds, other facts wait
/// until a person resumes it, as in a folder.
#[must_use]
pub const fn resumes_run(fact: &RunFact, waits: bool) -> bool {
    match fact {
        RunFact::Resumed { .. } | RunFact::CancelRequested { task: None, .. } => true,
        RunFact::PersonAnswered { .. } | RunFact::CancelRequested { .. } => waits,
        _ => false,
    }
}
