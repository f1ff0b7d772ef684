//! What the run machine learns, and what it wants done.

use aime_durable::{EffectId, Reason};
use aime_progress::{
    Conclusion, EvidenceId, Origin, Plan, PlanMode, PlanPatch, ProgressEvent, ProgressState, QuestionId, RecalledItem, Spent, TaskId,
    TaskSpec, Timestamp, TriggerReason,
};
use aime_redact::Redactor;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

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
    /// Tasks have arrived of a plan that is still being written. Nothing is sure of them yet.
    PlanPart {
        /// The effect that asks for the plan; it goes on.
        of: EffectId,
        /// Which part of it, from 0.
        number: u32,
        /// Whole tasks, each after those or with those that it waits for.
        tasks: Vec<TaskSpec>,
    },
    /// The replanner answered.
    Replanned {
        /// The effect.
        id: EffectId,
        /// The patch, or why there is none.
        outcome: Replanning,
        /// Model calls it took.
        calls: Vec<ModelUse>,
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
    },
    /// The facts before this one were another run's: what they had begun was begun there, and is not begun here.
    Forked {},
    /// The run goes on after a stop, a crash or an answer.
    Resumed {
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
            Self::Planned { .. } | Self::PlanPart { .. } | Self::Replanned { .. } => redactor.typed_values(self),
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

/// What earlier runs and documents say of a goal.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownContext {
    /// For the prompts, in Markdown; empty if nothing was found.
    pub text: String,
    /// What it was made of.
    pub items: Vec<RecalledItem>,
    /// Its tokens, estimated.
    pub tokens: u64,
    /// How many found no room.
    pub left_out: u64,
    /// What could not be used, and the mend.
    pub faults: Vec<String>,
    /// Where the texts come from that nobody vouches for, as far as they do not vouch for all files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub origins: Vec<Origin>,
}

/// The way of working, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChosenRoute {
    /// The mode.
    pub mode: PlanMode,
    /// Who decided.
    pub by: String,
    /// The score of the rules.
    pub score: Option<i32>,
    /// The goal's category.
    pub category: String,
    /// The profile of the category's actor, for a direct plan.
    pub profile: Option<String>,
    /// Why.
    pub reasons: Vec<String>,
}

/// A model call that was not an actor's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelUse {
    /// What for: `route`, `plan`, `patch`, `verdict`, `answer`.
    pub purpose: String,
    /// The model.
    pub model: String,
    /// What it cost.
    pub spent: Spent,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// Why the model stopped, where it was one request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish: Option<String>,
}

/// What came of asking for a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Planning {
    /// A plan that passed every check.
    Planned {
        /// The plan.
        plan: Box<Plan>,
        /// Harmless faults that were mended.
        repairs: Vec<String>,
        /// Answers that were refused.
        refused: Vec<RefusedAnswer>,
        /// Why it is a fallback, if it is one.
        fallback: Option<String>,
    },
    /// A plan of before, which passed every check again.
    Reused {
        /// The plan.
        plan: Box<Plan>,
        /// The run whose plan it was.
        run: Option<String>,
        /// What was noted on the way.
        #[serde(default)]
        notes: Vec<String>,
    },
    /// No usable plan, and the settings forbid the fallback.
    NoPlan {
        /// Why.
        message: String,
        /// Answers that were refused.
        refused: Vec<RefusedAnswer>,
    },
    /// The model could not be used.
    ModelFailed {
        /// What went wrong.
        message: String,
        /// How to mend it.
        hint: Option<String>,
    },
}

/// What came of asking for a patch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Replanning {
    /// A patch that fitted the plan as it was then.
    Patched {
        /// The patch.
        patch: PlanPatch,
        /// Answers that were refused.
        refused: Vec<RefusedAnswer>,
    },
    /// No usable patch.
    NoPatch {
        /// Why.
        message: String,
        /// Answers that were refused.
        refused: Vec<RefusedAnswer>,
    },
    /// The model could not be used.
    ModelFailed {
        /// What went wrong.
        message: String,
        /// How to mend it.
        hint: Option<String>,
    },
}

/// An answer of the planner that was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedAnswer {
    /// Which try, from 1.
    pub attempt: u32,
    /// Each fault.
    pub faults: Vec<String>,
}

/// What is known of a criterion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CriterionResult {
    /// The criterion.
    pub criterion: String,
    /// Whether it holds; absent when nobody could tell.
    pub passed: Option<bool>,
    /// By what.
    pub reason: String,
}

/// What a file tool did to a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// The task, if it was for one.
    pub task: Option<String>,
    /// The tool.
    pub tool: String,
    /// Relative to the working folder; what is no UTF-8 in it is replaced.
    pub path: String,
    /// `created`, `changed`, `deleted`.
    pub did: String,
    /// Lines that came.
    pub added: usize,
    /// Lines that went.
    pub removed: usize,
    /// A unified diff of its first 30 lines; empty where it is no text.
    pub diff: String,
}

impl FileChange {
    /// The topic of the note that tells of one.
    pub const TOPIC: &str = "file_changed";

    /// The event that tells of it: a note.
    #[must_use]
    pub fn event(&self) -> ProgressEvent {
        let Self { task, tool, path, did, added, removed, diff } = self;
        let detail = [
            ("task", Value::from(task.clone())),
            ("tool", tool.clone().into()),
            ("path", path.clone().into()),
            ("did", did.clone().into()),
            ("added", (*added).into()),
            ("removed", (*removed).into()),
            ("diff", diff.clone().into()),
        ];
        let detail = detail.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        ProgressEvent::Noted { topic: Self::TOPIC.to_owned(), detail }
    }

    /// Reads one from the event that tells of it.
    #[must_use]
    pub fn from_event(event: &ProgressEvent) -> Option<Self> {
        match event {
            ProgressEvent::Noted { topic, detail } if topic == Self::TOPIC => {
                serde_json::from_value(Value::Object(detail.clone().into_iter().collect())).ok()
            }
            _ => None,
        }
    }
}

/// What the run machine wants done. Read and written by hosts that hand effects on to other processes.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "effect", rename_all = "snake_case")]
pub enum RunEffect {
    /// Ask long-term memory and knowledge.
    Recall,
    /// Choose the way of working.
    Route,
    /// Make the first plan.
    Plan {
        /// In this mode.
        mode: PlanMode,
        /// For a goal of this category.
        category: String,
        /// What was recalled, in Markdown; may be empty.
        known: String,
    },
    /// Change the plan.
    Replan {
        /// The run as it stands.
        state: Box<ProgressState>,
        /// Why.
        reasons: Vec<TriggerReason>,
        /// What was recalled, in Markdown; may be empty.
        known: String,
    },
    /// Make an actor for a task and let it work.
    StartActor {
        /// The run as far as the actor works with it.
        brief: Box<crate::ActorBrief>,
        /// The task.
        task: TaskId,
        /// Which execution; the actor's journal is named by it.
        execution: u32,
        /// Where the texts in its prompts come from that nobody vouches for.
        origins: Vec<Origin>,
        /// What was recalled, in Markdown; may be empty.
        known: String,
    },
    /// Make one tool call for a tool task.
    CallTool {
        /// The task.
        spec: Box<TaskSpec>,
        /// The tool.
        tool: String,
        /// Its parameters, references expanded.
        parameters: Map<String, Value>,
        /// Whether the call changes nothing and asks nothing of anybody outside: it may be made again unnoticed.
        read_only: bool,
        /// Whether the plan is still being written that the task is of: nobody is asked anything for it.
        early: bool,
    },
    /// Look at the goal's criteria.
    Verify {
        /// The run as it stands.
        state: Box<ProgressState>,
    },
    /// Write the final answer.
    Answer {
        /// The run as it stands.
        state: Box<ProgressState>,
    },
    /// Keep what was learnt.
    Remember {
        /// The run as it ended.
        state: Box<ProgressState>,
        /// Why the goal was not reached, if it was not.
        failure: Option<String>,
    },
    /// Ask a person.
    Ask {
        /// The question.
        question: QuestionId,
        /// `question`, `approval`, `escalation`.
        kind: String,
        /// The task that waits, if one does.
        task: Option<TaskId>,
        /// The words.
        text: String,
    },
    /// Wait until a time.
    Timer {
        /// Until then.
        at: Timestamp,
    },
}
