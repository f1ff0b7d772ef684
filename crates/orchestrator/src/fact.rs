//! What the run machine learns.

mod file_change;
mod outcome;

use aime_actors::LeadRest;
use aime_durable::{EffectId, Reason};
use aime_progress::{Conclusion, EvidenceId, ProgressEvent, QuestionId, TaskId};
use aime_redact::Redactor;
use serde::{Deserialize, Serialize};

pub use self::{
    file_change::FileChange,
    outcome::{ChosenRoute, CriterionResult, KnownContext, ModelUse, Planning, RefusedAnswer, Replanning},
};

/// What the run machine learns. A fact that answers an effect carries its id.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "fact", rename_all = "snake_case")]
#[non_exhaustive]
pub enum RunFact {
    /// Long-term memory and knowledge were asked.
    Recalled {
        /// The effect.
        id: EffectId,
        /// What they say.
        known: KnownContext,
    },
    /// Long-term memory was told of the run.
    Remembered {
        /// The effect.
        id: EffectId,
        /// Why it could not be.
        fault: Option<String>,
    },
    /// The way of working was chosen.
    Routed {
        /// The effect.
        id: EffectId,
        /// What was chosen.
        route: ChosenRoute,
        /// Model calls it took.
        calls: Vec<ModelUse>,
    },
    /// The planner answered.
    Planned {
        /// The effect.
        id: EffectId,
        /// The plan, or why there is none.
        outcome: Planning,
        /// Model calls it took.
        calls: Vec<ModelUse>,
    },
    /// The replanner answered.
    Replanned {
        /// The effect.
        id: EffectId,
        /// The patch, or why there is none.
        outcome: Replanning,
        /// Harmless faults of the patch that were mended.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        repairs: Vec<String>,
        /// Model calls it took.
        calls: Vec<ModelUse>,
    },
    /// The lead rests.
    LeadRested {
        /// The effect.
        id: EffectId,
        /// The wishes of the lead.
        rest: Box<LeadRest>,
        /// The category of the goal, by the rules.
        category: String,
        /// The checks of its own work, where it says that this is done.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        checks: Vec<CriterionResult>,
        /// Model calls that they took.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<ModelUse>,
    },
    /// Something happened in the lead's conversation, or in an actor to which it delegated.
    LeadReported {
        /// The call that the actor answers, if the lead delegated to one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<String>,
        /// Which event of the conversation, from 0; a number that was seen before is dropped.
        number: u64,
        /// What happened.
        event: ProgressEvent,
    },
    /// An attempt at a task ended.
    TaskEnded {
        /// The effect.
        id: EffectId,
        /// What it came to.
        conclusion: Conclusion,
        /// Its completion criteria, as far as they could be looked at.
        checks: Vec<CriterionResult>,
        /// Model calls that it took to look at them.
        #[serde(default)]
        calls: Vec<ModelUse>,
        /// How long it took, in milliseconds.
        duration_ms: u64,
    },
    /// Something happened in an actor.
    ActorReported {
        /// Its task.
        task: TaskId,
        /// Which execution of the task, from 1.
        execution: u32,
        /// The call that the actor answers, where another actor has made it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<String>,
        /// Which event of that actor, from 0; a number that was seen before is dropped.
        number: u64,
        /// What happened.
        event: ProgressEvent,
    },
    /// What actors had written down when their process died, and the run had not heard: taken in before anything is decided.
    ActorsHeard {
        /// In the order of each actor.
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
        /// Its words.
        text: String,
    },
    /// An actor takes over a task of the plan that could start: it starts at once, and the call waits for its result.
    TaskClaimed {
        /// The task.
        task: TaskId,
        /// The task of the actor.
        by: TaskId,
        /// The call. A claim that was made before is dropped.
        call: String,
        /// The actor's words on the work.
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
        /// What it took.
        used: ModelUse,
    },
    /// The goal's criteria were looked at.
    Verified {
        /// The effect.
        id: EffectId,
        /// Each of them.
        checks: Vec<CriterionResult>,
        /// Model calls it took.
        calls: Vec<ModelUse>,
    },
    /// The answer was written, if the model could.
    AnswerWritten {
        /// The effect.
        id: EffectId,
        /// The answer.
        text: Option<String>,
        /// Model calls it took.
        calls: Vec<ModelUse>,
    },
    /// A person answered at once.
    Answered {
        /// The effect.
        id: EffectId,
        /// The answer.
        text: String,
    },
    /// Nobody is there to answer now.
    Deferred {
        /// The effect.
        id: EffectId,
    },
    /// A person answered from outside.
    PersonAnswered {
        /// The question; the oldest open one when absent.
        question: Option<QuestionId>,
        /// The answer.
        text: String,
    },
    /// A person said something that nobody had asked.
    PersonSaid {
        /// Under this name it becomes evidence; what has one already is dropped.
        id: EvidenceId,
        /// The task whose actor is meant; without one, whoever plans, or the only actor of a direct run.
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
    /// A bound does not allow the next step.
    BoundReached {
        /// Its name.
        bound: String,
        /// In words.
        detail: String,
    },
    /// A hook changed or blocked something, or failed.
    HookActed {
        /// What it did.
        act: crate::HookAct,
    },
    /// A file tool changed a file.
    FileChanged {
        /// What it did to it.
        change: FileChange,
    },
    /// What tasks do to files is no longer kept.
    UndoLost {
        /// What that means, and why.
        message: String,
    },
    /// The run is to stop and stay resumable.
    StopRequested {
        /// Why.
        reason: String,
    },
    /// A person ends the run for good, or one of its tasks.
    CancelRequested {
        /// The task; the whole run without one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        /// Why.
        reason: String,
        /// The message by which it came from another process, if it did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<i64>,
    },
    /// The facts before this one were another run's: what they had begun was begun there, and is not begun here.
    Forked {},
    /// The run goes on after a stop, a crash or an answer.
    Resumed {
        /// Bounds that were changed for what follows.
        #[serde(default)]
        bounds: Option<crate::Bounds>,
    },
    /// A person goes on with a run that has ended.
    Continued {
        /// The next goal.
        goal: String,
        /// Bounds that were changed for what follows.
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
    /// The runtime could not carry out an effect at all.
    EffectFailed {
        /// The effect.
        id: EffectId,
        /// Why.
        message: String,
    },
}

impl RunFact {
    /// The fact as it goes into the journal. A plan is carried out as it stands, so nothing but known values is taken out of that.
    pub(crate) fn without_secrets(self, redactor: &Redactor) -> Self {
        match self {
            Self::Planned { .. } | Self::Replanned { .. } => redactor.typed_values(self),
            other => redactor.typed(other),
        }
    }
}

/// Something that happened in an actor, as in [`RunFact::ActorReported`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ActorReport {
    /// Its task.
    pub task: TaskId,
    /// Which execution of the task, from 1.
    pub execution: u32,
    /// The call that the actor answers, where another actor has made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// Which event of that actor, from 0.
    pub number: u64,
    /// What happened.
    pub event: ProgressEvent,
}
