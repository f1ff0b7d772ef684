//! Progress events: everything that happens in a run, in order.

use std::collections::BTreeMap;

use aime_messages::Message;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    CheckMethod, Conclusion, Decision, Evidence, EvidenceId, FileChange, FileChangeKind, HookAction, MergeConflict, ModelCost, Origin,
    Owner, Plan, PlanId, ProgressReport, QuestionId, RecalledItem, RunStatus, TaskId, TaskStatus, Timestamp, TodoItem, TriggerReason,
};

/// The `schema` member of an event document.
pub const EVENT_SCHEMA: &str = "aime.event/v1";

/// An event and its time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TimedEvent {
    /// Time at which the fact behind the event was recorded.
    pub at: Timestamp,
    /// The event.
    pub event: ProgressEvent,
}

impl TimedEvent {
    /// Returns an event of this time.
    #[must_use]
    pub const fn new(at: Timestamp, event: ProgressEvent) -> Self {
        Self { at, event }
    }
}

/// Mode in which a goal is planned and carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlanMode {
    /// A single actor task; the plan never grows.
    Direct,
    /// A few steps in sequence.
    Simple,
    /// Sub-goals with actions and dependencies.
    Complex,
    /// A few TODOs at first; the plan grows with the findings.
    Emergent,
}

/// Outcome of a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallOutcome {
    /// The call returned a result.
    Ok,
    /// The call returned an error, which the actor sees.
    Error,
    /// The call was stopped before it ended.
    Cancelled,
    /// The call began before a crash; it is unknown if it took effect.
    InDoubt,
}

/// An image that was given with a goal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GoalImage {
    /// Name of the image, such as its path.
    pub name: String,
    /// Media type, such as `image/png`.
    pub media_type: String,
}

/// An event of a run. Large contents are cut or replaced by the hash of a blob.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ProgressEvent {
    /// The run began.
    RunStarted {
        /// Identifier of the plan to be made.
        plan_id: PlanId,
        /// Goal of the run.
        goal: String,
        /// Images given with the goal.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        images: Vec<GoalImage>,
    },
    /// The run found what earlier runs and documents say about the goal. From now on the prompts of the planner and of actors contain it.
    Recalled {
        /// Items found, the best first.
        items: Vec<RecalledItem>,
        /// Estimated number of tokens that the items take in a prompt.
        tokens: u64,
        /// Number of items left out for lack of room.
        left_out: u64,
    },
    /// Long-term memory or knowledge could not be used; the run continues without it.
    MemoryFailed {
        /// The fault and its remedy.
        message: Message,
    },
    /// The mode of the run was chosen.
    Routed {
        /// The chosen mode.
        mode: PlanMode,
        /// Source of the choice: `lead`, `flag`, `strategy`, `bypass`, `rules`, `model`, `plan_file`.
        by: String,
        /// Score by the rules, if they decided.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        score: Option<i32>,
        /// Category of the goal.
        category: String,
        /// Reasons for the choice.
        reasons: Vec<Message>,
    },
    /// The planner was asked for a plan or a patch, or the lead began.
    PlanningStarted {
        /// Purpose of the request: `lead`, `plan`, `patch`, `update`.
        purpose: String,
    },
    /// The planner's answer was refused because of its faults.
    PlanRefused {
        /// Number of the attempt, from 1.
        attempt: u32,
        /// Faults, each with its place.
        faults: Vec<Message>,
    },
    /// The plan of an earlier run is reused without a request to a model.
    PlanReused {
        /// Run that the plan comes from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        run: Option<String>,
    },
    /// The first plan, version 1, was accepted.
    PlanCreated {
        /// The plan.
        plan: Plan,
        /// Harmless faults that were repaired.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        repairs: Vec<Message>,
        /// Reason for the fallback, if the plan is one instead of the planner's answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fallback: Option<Message>,
    },
    /// The plan was changed by a patch.
    PlanChanged {
        /// Decision with its patch.
        decision: Decision,
    },
    /// Harmless faults of a patch were repaired. Precedes the change of the plan. Repairs of a plan are in `plan_created`.
    PatchRepaired {
        /// The repaired faults.
        repairs: Vec<Message>,
    },
    /// The plan calls of the lead were refused too often: rules plan the rest of the run.
    LeadGaveUp {},
    /// A task that a person wants to cancel stays, as the plan without it would have faults.
    CancelRefused {
        /// The task.
        task: TaskId,
        /// The faults, each with its place.
        faults: Vec<Message>,
    },
    /// A task waits until no other task writes in the working folder.
    FolderAwaited {
        /// The task.
        task: TaskId,
    },
    /// The status of a task changed.
    TaskStatusChanged {
        /// The task.
        task: TaskId,
        /// Former status.
        from: TaskStatus,
        /// New status.
        to: TaskStatus,
        /// Number of starts of the task so far.
        attempt: u32,
        /// True if the task failed and will not be retried.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        for_good: bool,
        /// Reason for the change.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<Message>,
    },
    /// An attempt at a task ended. Precedes the change of status.
    TaskConcluded {
        /// The task.
        task: TaskId,
        /// Conclusion of the attempt.
        conclusion: Conclusion,
    },
    /// An actor was created for a task.
    ActorCreated {
        /// The task; absent for the lead until it works on the goal itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        /// Identifier of the actor in the run.
        actor: String,
        /// Name of the actor for people: the profile and the task.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        name: String,
        /// Purpose of the actor in one sentence.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        description: String,
        /// Profile of the actor.
        profile: String,
        /// Model of the actor.
        model: String,
        /// Tools of the actor.
        tools: Vec<String>,
        /// Skills included whole in the actor's prompt.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        skills: Vec<String>,
        /// Texts of the skills that the profile defines, by name.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        inline_skills: BTreeMap<String, String>,
        /// Reasoning effort of the model, if it differs from the model's own setting.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        effort: Option<String>,
        /// Temperature of the model, 0 to 2; absent for the server's default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        temperature: Option<f64>,
        /// Maximum number of model answers for the actor.
        #[serde(default)]
        max_steps: u32,
        /// Time at which the actor was made, which may precede the report of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        created_at: Option<Timestamp>,
        /// Call by another actor that this one answers; absent for an actor that works for the plan.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<String>,
        /// Reasons for the profile.
        reasons: Vec<String>,
    },
    /// An actor claimed a task of the plan by a call: the task runs at once, and its result answers the call.
    TaskClaimed {
        /// The claimed task.
        task: TaskId,
        /// Task of the claiming actor.
        by: TaskId,
        /// Identifier of the call.
        call: String,
    },
    /// A model answered.
    ModelCalled {
        /// Task of the request, if it has one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        /// Purpose of the request: `lead`, `route`, `plan`, `patch`, `act`, `verdict`, `answer`, `search`.
        purpose: String,
        /// Name of the model.
        model: String,
        /// Reasoning effort that the request asked for: `none`, `minimal`, `low`, `medium`, `high`, `xhigh` or `max`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        effort: Option<String>,
        /// Cost of the answer.
        spent: ModelCost,
        /// Duration in milliseconds.
        duration_ms: u64,
        /// Text beside the tool calls, cut to 2,000 characters.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        text: String,
        /// Reason why the model stopped: `stop`, `tool_calls`, `length`, `content_filter`, or the server's own word.
        /// Absent if the event sums up several requests.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        finish: Option<String>,
    },
    /// A tool call is about to start.
    ToolCallStarted {
        /// The task; absent for the lead until it works on the goal itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        /// Identifier of the call, unique in the task.
        call: String,
        /// Name of the tool.
        tool: String,
        /// Parameters of the call.
        parameters: Map<String, Value>,
    },
    /// A tool call ended.
    ToolCallFinished {
        /// The task; absent for the lead until it works on the goal itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        /// Identifier of the call, unique in the task.
        call: String,
        /// Name of the tool.
        tool: String,
        /// Outcome of the call.
        outcome: CallOutcome,
        /// First 2,000 characters of the output.
        output: String,
        /// Origin of the output; absent for text by aime itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        origin: Option<Origin>,
        /// Duration in milliseconds.
        duration_ms: u64,
    },
    /// An actor reported its progress.
    ProgressReported {
        /// The task; absent for the lead until it works on the goal itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        /// The report.
        report: ProgressReport,
    },
    /// An actor replaced its TODO list.
    TodosChanged {
        /// The task.
        task: TaskId,
        /// The whole new list.
        items: Vec<TodoItem>,
    },
    /// The runtime sent a message to an actor: a hint, a reminder, a nudge.
    ActorNudged {
        /// The task; absent for the lead until it works on the goal itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        /// Kind of message: `tool_hint`, `todo_reminder`, `stuck`, `no_tool_call`, `nothing_done`, `unread_call`, `returned`,
        /// `answered`, `run_refused`.
        kind: String,
        /// Text of the message.
        text: String,
    },
    /// A person's unsolicited message reached an actor: the actor's next request contains it.
    MessageDelivered {
        /// The task; absent for the lead until it works on the goal itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        /// Evidence that holds the message. This event marks it as processed.
        evidence: EvidenceId,
    },
    /// An actor's history was compacted to fit the context window.
    HistoryCompacted {
        /// The task; absent for the lead until it works on the goal itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        /// Number of tokens before the compaction.
        tokens_before: u64,
        /// Number of tokens after it.
        tokens_after: u64,
    },
    /// Evidence was reported.
    EvidenceAdded {
        /// The evidence.
        evidence: Evidence,
    },
    /// Replan triggers fired.
    TriggersFired {
        /// Reasons of all triggers that fired, by priority.
        reasons: Vec<TriggerReason>,
    },
    /// A replan is not allowed now.
    ReplanSuppressed {
        /// Reason for the refusal.
        reason: Message,
        /// Triggers that asked for the replan.
        triggers: Vec<TriggerReason>,
    },
    /// Evidence was examined without a change of the plan.
    EvidenceProcessed {
        /// The evidence.
        evidence: Vec<EvidenceId>,
        /// Reason for leaving the plan unchanged.
        reason: Message,
    },
    /// A question was put to a person.
    QuestionAsked {
        /// Identifier of the question, unique in the run.
        id: QuestionId,
        /// Task that waits for the answer, if any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        /// Kind of question: `question`, `approval`, `escalation`, `blocked`, `criterion`.
        kind: String,
        /// Text of the question.
        question: Message,
    },
    /// A person answered a question.
    QuestionAnswered {
        /// The answered question.
        id: QuestionId,
        /// Text of the answer.
        answer: String,
    },
    /// A person gave lasting consent, valid in this folder.
    ConsentGiven {
        /// The task; absent for the lead until it works on the goal itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        /// Allowed calls, as rules of `[permissions] allow`.
        rules: Vec<String>,
    },
    /// A completion or success criterion was checked.
    CriterionChecked {
        /// Task of the criterion; absent for a success criterion of the goal.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        /// The criterion in words.
        criterion: String,
        /// Owner of the criterion.
        #[serde(default)]
        owner: Owner,
        /// Method of the check.
        #[serde(default)]
        how: CheckMethod,
        /// True if the criterion holds; absent if the check could not decide.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        passed: Option<bool>,
        /// Evidence for the result, or the reason why it was not checked.
        reason: Message,
        /// Number of recorded changes of files of the run before the check; absent if changes are not recorded.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        changes: Option<u64>,
        /// Duration in milliseconds, if aime checked it itself.
        #[serde(default, skip_serializing_if = "is_zero")]
        duration_ms: u64,
    },
    /// A criterion was checked before the work on it began. A criterion that holds then proves nothing about the work.
    CriterionTried {
        /// Task of the criterion; absent for a success criterion of the goal.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        /// The criterion in words.
        criterion: String,
        /// True if it held.
        held: bool,
    },
    /// Changes of a task conflict with those that others made meanwhile, or its actor has resolved such conflicts.
    MergeConflicted {
        /// The task.
        task: TaskId,
        /// The conflicts, each in its current state.
        conflicts: Vec<MergeConflict>,
    },
    /// A bound on the run was reached.
    BoundReached {
        /// Kind of bound: `tokens`, `money`, `time`, `tool_calls`, `actors` or `quota`.
        bound: String,
        /// Limit and usage, in words.
        detail: Message,
    },
    /// The status of the run changed.
    RunStatusChanged {
        /// Former status.
        from: RunStatus,
        /// New status.
        to: RunStatus,
        /// Reason for the change.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<Message>,
    },
    /// The run was stopped on request.
    RunInterrupted {
        /// Reason for the stop.
        reason: Message,
    },
    /// The run was resumed.
    RunResumed {},
    /// A person continued a run that had ended.
    RunContinued {
        /// Goal of the new turn.
        goal: String,
    },
    /// The final answer was written.
    Answered {
        /// Text of the answer.
        text: String,
    },
    /// A hook changed or blocked something, or failed.
    HookActed(HookAction),
    /// A tool, a check or a merge changed a file.
    FileChanged(FileChange),
    /// The private folder of a task was merged into the working folder. A `file_changed` for each of the first 100 files follows.
    ChangesMerged {
        /// The task.
        task: TaskId,
        /// Duration in milliseconds.
        duration_ms: u64,
        /// Number of changed files in the working folder; 0 if changes are not recorded.
        files: usize,
    },
    /// The run no longer records changes of files, so later ones cannot be undone.
    UndoLost {
        /// The cause.
        reason: Message,
    },
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl ProgressEvent {
    /// Returns the first event of a run without images.
    pub fn run_started(plan_id: PlanId, goal: impl Into<String>) -> Self {
        Self::RunStarted { plan_id, goal: goal.into(), images: Vec::new() }
    }

    /// Returns the change of a file that the event reports. `None` for a place that was not watched as a whole, which may be unchanged.
    #[must_use]
    pub fn file_change(&self) -> Option<&FileChange> {
        match self {
            Self::FileChanged(change) if change.did != FileChangeKind::NotWatched => Some(change),
            _ => None,
        }
    }

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
            Self::MessageDelivered { .. } => "message_delivered",
            Self::HistoryCompacted { .. } => "history_compacted",
            Self::EvidenceAdded { .. } => "evidence_added",
            Self::TriggersFired { .. } => "triggers_fired",
            Self::ReplanSuppressed { .. } => "replan_suppressed",
            Self::EvidenceProcessed { .. } => "evidence_processed",
            Self::QuestionAsked { .. } => "question_asked",
            Self::QuestionAnswered { .. } => "question_answered",
            Self::ConsentGiven { .. } => "consent_given",
            Self::CriterionChecked { .. } => "criterion_checked",
            Self::MergeConflicted { .. } => "merge_conflicted",
            Self::CriterionTried { .. } => "criterion_tried",
            Self::BoundReached { .. } => "bound_reached",
            Self::RunStatusChanged { .. } => "run_status_changed",
            Self::RunInterrupted { .. } => "run_interrupted",
            Self::RunResumed {} => "run_resumed",
            Self::RunContinued { .. } => "run_continued",
            Self::Answered { .. } => "answered",
            Self::PatchRepaired { .. } => "patch_repaired",
            Self::LeadGaveUp {} => "lead_gave_up",
            Self::CancelRefused { .. } => "cancel_refused",
            Self::FolderAwaited { .. } => "folder_awaited",
            Self::HookActed { .. } => "hook_acted",
            Self::FileChanged { .. } => "file_changed",
            Self::ChangesMerged { .. } => "changes_merged",
            Self::UndoLost { .. } => "undo_lost",
        }
    }
}
