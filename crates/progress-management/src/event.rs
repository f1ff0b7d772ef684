//! Progress events: everything that happens in a run, in order.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    CheckMethod, Conclusion, Decision, Evidence, EvidenceId, Origin, Owner, Plan, PlanId, ProgressReport, QuestionId, RecalledItem,
    RunStatus, Spent, TaskId, TaskStatus, Timestamp, TodoItem, TriggerReason,
};

/// The `schema` member of an event document.
pub const EVENT_SCHEMA: &str = "aime.event/v1";
/// Topic of the note about repairs of a patch.
const PATCH_REPAIRED: &str = "patch_repaired";

/// An event and its time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Timed {
    /// Time at which the fact behind the event was recorded.
    pub at: Timestamp,
    /// The event.
    pub event: ProgressEvent,
}

/// How a goal is worked on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlanMode {
    /// One actor task, never grown.
    Direct,
    /// A few steps in a row.
    Simple,
    /// Sub-goals with actions and dependencies.
    Complex,
    /// A few TODOs at first, grown by what is found.
    Emergent,
}

/// How a tool call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallOutcome {
    /// It returned a result.
    Ok,
    /// It returned an error, which the actor sees.
    Error,
    /// It was stopped before it ended.
    Cancelled,
    /// It was begun before a crash and nobody knows whether it took effect.
    InDoubt,
}

/// An image that was given with a goal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GoalImage {
    /// Its name, such as its path.
    pub name: String,
    /// Its media type, such as `image/png`.
    pub media_type: String,
}

/// Something that happened in a run. What is large is cut or given as the hash of a blob.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ProgressEvent {
    /// The run began.
    RunStarted {
        /// The plan that will be made.
        plan_id: PlanId,
        /// What is wanted.
        goal: String,
        /// The images that were given with the goal.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        images: Vec<GoalImage>,
    },
    /// What earlier runs and documents say of the goal was found; from here on it stands in the prompts of the planner and of actors.
    Recalled {
        /// What was found, the best first.
        items: Vec<RecalledItem>,
        /// The tokens that it takes in a prompt, estimated.
        tokens: u64,
        /// How many found no room there.
        left_out: u64,
    },
    /// Long-term memory or knowledge could not be used; the run goes on without.
    MemoryFailed {
        /// What is wrong, and the mend.
        message: String,
    },
    /// The way of working was chosen.
    Routed {
        /// The mode.
        mode: PlanMode,
        /// Who decided: `flag`, `strategy`, `bypass`, `rules`, `model`, `plan_file`.
        by: String,
        /// The score of the rules, where they decided.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        score: Option<i32>,
        /// The category of the goal.
        category: String,
        /// Why.
        reasons: Vec<String>,
    },
    /// The planner was asked for a plan or a patch.
    PlanningStarted {
        /// `plan`, `patch`.
        purpose: String,
    },
    /// A planner's answer was refused, with all its faults.
    PlanRefused {
        /// Which try it was, from 1.
        attempt: u32,
        /// Each fault with its place.
        faults: Vec<String>,
    },
    /// A plan of before is used again, and no model was asked for one.
    PlanReused {
        /// The run whose plan it was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        run: Option<String>,
    },
    /// The first plan stands: version 1.
    PlanCreated {
        /// The plan.
        plan: Plan,
        /// Harmless faults that were mended.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        repairs: Vec<String>,
        /// Why it is not what the planner was asked for, where it is a fallback.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fallback: Option<String>,
    },
    /// The plan was changed by a patch.
    PlanChanged {
        /// The decision, with its patch.
        decision: Decision,
    },
    /// A task went from one status to another.
    TaskStatusChanged {
        /// The task.
        task: TaskId,
        /// Before.
        from: TaskStatus,
        /// After.
        to: TaskStatus,
        /// How often it was started by now.
        attempt: u32,
        /// For a failure: it will not be retried.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        for_good: bool,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// An attempt at a task ended; comes before the change of status.
    TaskConcluded {
        /// The task.
        task: TaskId,
        /// What it came to.
        conclusion: Conclusion,
    },
    /// An actor was made for a task.
    ActorCreated {
        /// The task; none for what the lead does before it works itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        /// The actor.
        actor: String,
        /// Its profile.
        profile: String,
        /// Its model.
        model: String,
        /// Its tools.
        tools: Vec<String>,
        /// The skills that it was given whole.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        skills: Vec<String>,
        /// How long its model thinks, if that is not the model's own setting.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        effort: Option<String>,
        /// How many answers of the model it may use.
        #[serde(default)]
        max_steps: u32,
        /// The call of another actor that it answers; none for the one that works for the plan.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<String>,
        /// Why this profile.
        reasons: Vec<String>,
    },
    /// An actor takes over a task of the plan by a call: the task runs at once, and its result answers the call.
    TaskClaimed {
        /// The task.
        task: TaskId,
        /// The task of the actor.
        by: TaskId,
        /// The call.
        call: String,
    },
    /// A model answered.
    ModelCalled {
        /// The task, if it was for one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        /// `lead`, `route`, `plan`, `patch`, `act`, `verdict`, `answer`, `search`.
        purpose: String,
        /// The model's name.
        model: String,
        /// What it cost.
        spent: Spent,
        /// How long it took, in milliseconds.
        duration_ms: u64,
        /// What the model wrote beside its tool calls, cut to 2,000 characters.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        text: String,
        /// Why it stopped: `stop`, `tool_calls`, `length`, `content_filter`, or the server's own word. None where several requests are told of together, and in older journals.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        finish: Option<String>,
    },
    /// A tool call is about to be made.
    ToolCallStarted {
        /// The task; none for what the lead does before it works itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        /// Unique in the task.
        call: String,
        /// The tool's name.
        tool: String,
        /// Its parameters.
        parameters: Map<String, Value>,
    },
    /// A tool call ended.
    ToolCallFinished {
        /// The task; none for what the lead does before it works itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        /// Unique in the task.
        call: String,
        /// The tool's name.
        tool: String,
        /// How it ended.
        outcome: CallOutcome,
        /// The first 2,000 characters of what it returned.
        output: String,
        /// Where that comes from; absent where it is aime's own word.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        origin: Option<Origin>,
        /// How long it took, in milliseconds.
        duration_ms: u64,
    },
    /// An actor reported on its work.
    ProgressReported {
        /// The task; none for what the lead does before it works itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        /// What it said.
        report: ProgressReport,
    },
    /// An actor replaced its TODO list.
    TodosChanged {
        /// The task.
        task: TaskId,
        /// The whole list.
        items: Vec<TodoItem>,
    },
    /// An actor was told something by the runtime: a hint, a reminder, a nudge.
    ActorNudged {
        /// The task; none for what the lead does before it works itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        /// `tool_hint`, `todo_reminder`, `stuck`, `no_tool_call`, `unread_call`, `returned`.
        kind: String,
        /// The words.
        text: String,
    },
    /// What a person said unasked reached an actor: it stands in its next request.
    ActorTold {
        /// The task; none for what the lead does before it works itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        /// The person's words, which were evidence and are hereby processed.
        evidence: EvidenceId,
    },
    /// An actor's history was shortened to fit its context window.
    HistoryCompacted {
        /// The task; none for what the lead does before it works itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        /// Tokens before.
        tokens_before: u64,
        /// Tokens after.
        tokens_after: u64,
    },
    /// Evidence was reported.
    EvidenceAdded {
        /// The evidence.
        evidence: Evidence,
    },
    /// Replan triggers fired.
    TriggersFired {
        /// All of them, by priority.
        reasons: Vec<TriggerReason>,
    },
    /// A replan was not allowed now.
    ReplanSuppressed {
        /// Why not.
        reason: String,
        /// What had asked for it.
        triggers: Vec<TriggerReason>,
    },
    /// Evidence was looked at and changed nothing.
    EvidenceProcessed {
        /// The evidence.
        evidence: Vec<EvidenceId>,
        /// Why it changed nothing.
        reason: String,
    },
    /// A person is asked.
    QuestionAsked {
        /// Unique in the run.
        id: QuestionId,
        /// The task that waits for the answer, if one does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        /// `question`, `approval`, `escalation`.
        kind: String,
        /// The question.
        question: String,
    },
    /// A person answered.
    QuestionAnswered {
        /// The question.
        id: QuestionId,
        /// The answer.
        answer: String,
    },
    /// A person allowed something for good, in this folder.
    ConsentGiven {
        /// The task; none for what the lead does before it works itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        /// What is allowed, as rules of `[permissions] allow`.
        rules: Vec<String>,
    },
    /// A completion or success criterion was looked at.
    CriterionChecked {
        /// The task; absent for the goal's own criteria.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        /// The criterion.
        criterion: String,
        /// The owner of the criterion.
        #[serde(default)]
        owner: Owner,
        /// How it was checked.
        #[serde(default)]
        how: CheckMethod,
        /// Whether it holds; absent when nobody could tell.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        passed: Option<bool>,
        /// By what.
        reason: String,
    },
    /// A bound on the run was reached.
    BoundReached {
        /// `tokens`, `money`, `time`, `steps`, `tool_calls`, `actors`.
        bound: String,
        /// The limit and what was used, in words.
        detail: String,
    },
    /// The run went from one status to another.
    RunStatusChanged {
        /// Before.
        from: RunStatus,
        /// After.
        to: RunStatus,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// The run was stopped on request, or found stopped when it was resumed.
    RunInterrupted {
        /// Why.
        reason: String,
    },
    /// The run goes on.
    RunResumed {},
    /// A person goes on with a run that had ended.
    RunContinued {
        /// The goal of this turn.
        goal: String,
    },
    /// The final answer stands.
    Answered {
        /// The answer.
        text: String,
    },
    /// What is known beside all this, by topic, for readers newer than this list.
    Noted {
        /// The topic.
        topic: String,
        /// What is to be said.
        detail: BTreeMap<String, Value>,
    },
}

impl ProgressEvent {
    /// Returns the `type` member of the event: its kind in one snake_case word.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::RunStarted { .. } => "run_started",
            Self::Recalled { .. } => "recalled",
            Self::MemoryFailed { .. } => "memory_failed",
            Self::Routed { .. } => "routed",
            Self::PlanningStarted { .. } => "planning_started",
            Self::PlanRefused { .. } => "plan_refused",
            Self::PlanReused { .. } => "plan_reused",
            Self::PlanCreated { .. } => "plan_created",
            Self::PlanChanged { .. } => "plan_changed",
            Self::TaskStatusChanged { .. } => "task_status_changed",
            Self::TaskConcluded { .. } => "task_concluded",
            Self::ActorCreated { .. } => "actor_created",
            Self::TaskClaimed { .. } => "task_claimed",
            Self::ModelCalled { .. } => "model_called",
            Self::ToolCallStarted { .. } => "tool_call_started",
            Self::ToolCallFinished { .. } => "tool_call_finished",
            Self::ProgressReported { .. } => "progress_reported",
            Self::TodosChanged { .. } => "todos_changed",
            Self::ActorNudged { .. } => "actor_nudged",
            Self::ActorTold { .. } => "actor_told",
            Self::HistoryCompacted { .. } => "history_compacted",
            Self::EvidenceAdded { .. } => "evidence_added",
            Self::TriggersFired { .. } => "triggers_fired",
            Self::ReplanSuppressed { .. } => "replan_suppressed",
            Self::EvidenceProcessed { .. } => "evidence_processed",
            Self::QuestionAsked { .. } => "question_asked",
            Self::QuestionAnswered { .. } => "question_answered",
            Self::ConsentGiven { .. } => "consent_given",
            Self::CriterionChecked { .. } => "criterion_checked",
            Self::BoundReached { .. } => "bound_reached",
            Self::RunStatusChanged { .. } => "run_status_changed",
            Self::RunInterrupted { .. } => "run_interrupted",
            Self::RunResumed {} => "run_resumed",
            Self::RunContinued { .. } => "run_continued",
            Self::Answered { .. } => "answered",
            Self::Noted { .. } => "noted",
        }
    }
    /// Returns the note that lists the repaired harmless faults of a patch. It precedes the application of the patch.
    /// Repairs of a plan are in [`PlanCreated`](Self::PlanCreated).
    #[must_use]
    pub fn patch_repaired(repairs: &[String]) -> Self {
        let detail = BTreeMap::from([("repairs".to_owned(), repairs.into())]);
        Self::Noted { topic: PATCH_REPAIRED.to_owned(), detail }
    }

    /// Returns the repairs that [`patch_repaired`](Self::patch_repaired) reports; `None` for any other event.
    #[must_use]
    pub fn patch_repairs(&self) -> Option<Vec<&str>> {
        let Self::Noted { topic, detail } = self else { return None };
        let repairs = detail.get("repairs").filter(|_| topic == PATCH_REPAIRED)?;
        Some(repairs.as_array().into_iter().flatten().filter_map(Value::as_str).collect())
    }
}
