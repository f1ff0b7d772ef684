//! Facts: the inputs of the run machine.

mod outcome;

use std::collections::BTreeMap;

use aime_actor_factory::LeadRest;
use aime_durable::{EffectId, Reason};
use aime_messages::Message;
use aime_progress_management::{Conclusion, EvidenceId, FileChange, HookAction, MergeConflict, ProgressEvent, QuestionId, TaskId};
use aime_redact::Redactor;
use aime_tools::ValidatedCall;
use serde::{Deserialize, Serialize};

pub use self::outcome::{ChosenRoute, CriterionResult, KnownContext, ModelUse, Planning, RefusedAnswer, Replanning};

/// An input of the run machine. A fact that answers an effect carries the id of that effect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "fact", rename_all = "snake_case")]
#[non_exhaustive]
pub enum RunFact {
    /// Long-term memory and knowledge were searched.
    Recalled {
        /// The effect.
        id: EffectId,
        /// Memories and documents that fit the goal.
        known: KnownContext,
    },
    /// Long-term memory stored what the run has learnt.
    Remembered {
        /// The effect.
        id: EffectId,
        /// Error message if storing failed.
        fault: Option<String>,
    },
    /// The mode of the plan was chosen.
    Routed {
        /// The effect.
        id: EffectId,
        /// The chosen mode, with reasons.
        route: ChosenRoute,
        /// Model calls that the choice took.
        calls: Vec<ModelUse>,
    },
    /// The planner answered.
    Planned {
        /// The effect.
        id: EffectId,
        /// The plan, or why there is none.
        outcome: Planning,
        /// Model calls that planning took.
        calls: Vec<ModelUse>,
    },
    /// The replanner answered.
    Replanned {
        /// The effect.
        id: EffectId,
        /// The patch, or why there is none.
        outcome: Replanning,
        /// Harmless faults of the patch that the parser repaired.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        repairs: Vec<Message>,
        /// Model calls that replanning took.
        calls: Vec<ModelUse>,
    },
    /// The conversation of the lead paused.
    LeadRested {
        /// The effect.
        id: EffectId,
        /// The commands that the lead has submitted.
        rest: Box<LeadRest>,
        /// Category of the goal according to the routing rules.
        category: String,
        /// Results of the checks of the lead's own work, if the lead says that this work is done.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        checks: Vec<CriterionResult>,
        /// Model calls that the checks took.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<ModelUse>,
    },
    /// Something happened in the lead's conversation, or in an actor to which it delegated.
    LeadReported {
        /// The tool call that the actor answers, if the lead delegated to an actor.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<String>,
        /// Number of the event in the conversation, from 0. The machine drops a number that it has seen before.
        number: u64,
        /// The event.
        event: ProgressEvent,
    },
    /// An attempt at a task ended.
    TaskEnded {
        /// The effect.
        id: EffectId,
        /// The result of the attempt.
        conclusion: Conclusion,
        /// Results of the task's completion criteria, as far as they could be checked.
        checks: Vec<CriterionResult>,
        /// Model calls that the checks took.
        #[serde(default)]
        calls: Vec<ModelUse>,
        /// Conflicts of its changes with those that others made meanwhile, in the state after the attempt.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        conflicts: Vec<FoundConflict>,
        /// Duration of the attempt in milliseconds.
        duration_ms: u64,
    },
    /// The tool of a tool task has answered, and the criteria of the task are about to be checked. An attempt that is cut
    /// off after this fact does not call the tool again.
    ToolCalled {
        /// The effect.
        id: EffectId,
        /// The call as it was made.
        call: ValidatedCall,
        /// The result of the call.
        conclusion: Box<Conclusion>,
        /// Duration of the call in milliseconds.
        duration_ms: u64,
    },
    /// Something happened in an actor.
    ActorReported {
        /// Its task.
        task: TaskId,
        /// Number of the task's execution, from 1.
        execution: u32,
        /// The tool call that the actor answers, if another actor delegated to it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<String>,
        /// Number of the event of that actor, from 0. The machine drops a number that it has seen before.
        number: u64,
        /// The event.
        event: ProgressEvent,
    },
    /// Reports that actors had journaled before their process died and that the run had not received. A resumed run
    /// takes them in before it decides anything.
    ActorReports {
        /// The reports, in order within each actor.
        reports: Vec<ActorReport>,
    },
    /// An actor asks a person.
    ActorAsked {
        /// Its task.
        task: TaskId,
        /// The question.
        question: QuestionId,
        /// `question` or `approval`.
        kind: String,
        /// Text of the question.
        text: String,
    },
    /// An actor takes over a task of the plan that is ready to start. The task starts at once, and the actor's tool
    /// call waits for its result.
    TaskClaimed {
        /// The task.
        task: TaskId,
        /// The task of the claiming actor.
        by: TaskId,
        /// The tool call. The machine drops a claim of a call that it has seen before.
        call: String,
        /// The actor's description of the work.
        words: String,
        /// The profile that it asks for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        profile: Option<String>,
    },
    /// A tool asked a model of the run.
    ToolAskedModel {
        /// The task that the call was for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        /// Usage of the model call.
        used: ModelUse,
    },
    /// A criterion was checked before the work on it.
    CriterionTried {
        /// The task of the criterion; absent for a success criterion of the plan.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        /// The criterion in words.
        criterion: String,
        /// True if it held.
        held: bool,
    },
    /// The goal's criteria were checked.
    Verified {
        /// The effect.
        id: EffectId,
        /// One result per criterion.
        checks: Vec<CriterionResult>,
        /// New results for criteria of completed tasks that others may have made out of date.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        again: BTreeMap<TaskId, Vec<CriterionResult>>,
        /// Model calls that the checks took.
        calls: Vec<ModelUse>,
    },
    /// The final answer was written.
    AnswerWritten {
        /// The effect.
        id: EffectId,
        /// The answer; absent if the model failed to write one.
        text: Option<String>,
        /// Model calls that the answer took.
        calls: Vec<ModelUse>,
    },
    /// A person answered at once.
    Answered {
        /// The effect.
        id: EffectId,
        /// The answer.
        text: String,
    },
    /// No person is there to answer now.
    Deferred {
        /// The effect.
        id: EffectId,
    },
    /// A person answered a question from outside this process.
    PersonAnswered {
        /// The question; if absent, the oldest open one.
        question: Option<QuestionId>,
        /// The answer.
        text: String,
    },
    /// A person sent a message that answers no question.
    PersonSaid {
        /// Id of the evidence that the message becomes. The machine drops a message whose id it already has.
        id: EvidenceId,
        /// The task whose actor receives the message. Without a task, the planner receives it, or the only actor of a
        /// direct run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        /// The words.
        text: String,
    },
    /// A time was reached.
    TimerFired {
        /// The effect.
        id: EffectId,
    },
    /// A bound forbids the next step.
    BoundReached {
        /// Its name.
        bound: String,
        /// In words.
        detail: Message,
    },
    /// A hook changed or blocked something, or failed.
    HookActed {
        /// The action of the hook.
        act: HookAction,
    },
    /// A file tool changed a file.
    FileChanged {
        /// The change.
        change: FileChange,
    },
    /// The run no longer records changes of files, so they cannot be undone.
    UndoLost {
        /// The cause.
        reason: Message,
    },
    /// A task waits until no other task writes in the working folder: to work there itself if the folder is too large for a private copy, or
    /// to merge its private copy.
    FolderAwaited {
        /// The task.
        task: TaskId,
        /// True if the task waits no longer.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_over: bool,
    },
    /// The attempt at a task has ended, and its criteria are about to be checked.
    CheckStarted {
        /// The task.
        task: TaskId,
    },
    /// The changes in the private folder of a task were merged into the working folder, or conflict with it.
    ChangesMerged {
        /// The task.
        task: TaskId,
        /// Duration in milliseconds.
        duration_ms: u64,
        /// Number of changed files in the working folder; 0 if changes are not recorded.
        files: usize,
        /// Changes of the first of these files.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        changes: Vec<FileChange>,
    },
    /// The run is to stop and stay resumable.
    StopRequested {
        /// Why.
        reason: Message,
    },
    /// A person cancels the run, or one of its tasks, for good.
    CancelRequested {
        /// The task; if absent, the whole run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        /// Why.
        reason: Message,
        /// Id of the message by which another process sent the request, if one did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<i64>,
    },
    /// Separates the facts copied from the forked run from those of this run. Work that the copied facts started
    /// belongs to the other run and is not started again here.
    Forked {},
    /// The run continues after a stop, a crash or an answer.
    Resumed {
        /// New bounds for the rest of the run, if they were changed.
        #[serde(default)]
        bounds: Option<crate::Bounds>,
    },
    /// A person continues a run that has ended.
    Continued {
        /// The next goal.
        goal: String,
        /// New bounds for the rest of the run, if they were changed.
        #[serde(default)]
        bounds: Option<crate::Bounds>,
    },
    /// An effect was revoked.
    Revoked {
        /// The effect.
        id: EffectId,
        /// Why.
        why: Reason,
    },
    /// The runtime failed to carry out an effect.
    EffectFailed {
        /// The effect.
        id: EffectId,
        /// Reason.
        message: Message,
    },
}

impl RunFact {
    /// Returns the fact as it is journaled, with secrets removed. From a plan only known secret values are removed,
    /// because the plan is executed as written.
    pub(crate) fn without_secrets(self, redactor: &Redactor) -> Self {
        match self {
            Self::Planned { .. } | Self::Replanned { .. } => redactor.typed_values(self),
            other => redactor.typed(other),
        }
    }
}

/// A conflict that a merge found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FoundConflict {
    /// The conflict.
    #[serde(flatten)]
    pub conflict: MergeConflict,
    /// Both versions of each conflict in a text, between markers, with the lines around them.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub hunks: String,
}

/// An event of an actor, as in [`RunFact::ActorReported`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ActorReport {
    /// Its task.
    pub task: TaskId,
    /// Number of the task's execution, from 1.
    pub execution: u32,
    /// The tool call that the actor answers, if another actor delegated to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// Number of the event of that actor, from 0.
    pub number: u64,
    /// The event.
    pub event: ProgressEvent,
}
