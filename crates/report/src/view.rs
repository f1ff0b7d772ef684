//! Content of a report: a view of the journal, as data.

mod build;
mod files;
mod graph;
mod spending;
mod story;
mod tasks;
mod timeline;
mod versions;

pub use self::graph::{Graph, Line, LineKind, Node};

use aime_progress_management::{
    CheckMethod, ModelCost, Owner, PlanMode, RunStatus, Significance, TaskKind, TaskStatus, TimeUse, Timestamp,
};
use serde::Serialize;

use crate::{Failure, text::Text};

/// Content of a run's report. It is free of secrets and bounded; parts that are left out are counted.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReportView {
    /// The run.
    pub run: String,
    /// Time at which the report was made.
    pub made_at: Timestamp,
    /// The goal.
    pub goal: Text,
    /// Status of the run.
    pub status: RunStatus,
    /// Planning mode, once chosen.
    pub mode: Option<PlanMode>,
    /// Start time.
    pub started_at: Timestamp,
    /// Duration until its last event, in milliseconds.
    pub duration_ms: u64,
    /// Final answer of the last turn.
    pub answer: Option<Text>,
    /// Turns of a run that was continued after its end, in order; empty for a run with a single one.
    pub turns: Vec<TurnView>,
    /// Number of turns left out in the middle.
    pub turns_left_out: usize,
    /// Reason why the goal was not reached, or why the run was left.
    pub failure: Option<Failure>,
    /// Further remarks.
    pub notes: Vec<String>,
    /// The strategic part of the plan.
    pub strategy: Strategy,
    /// All versions of the plan, oldest first.
    pub versions: Vec<Version>,
    /// Graph of the present plan.
    pub graph: Graph,
    /// The tasks in plan order.
    pub tasks: Vec<TaskView>,
    /// Periods in which tasks ran.
    pub timeline: Timeline,
    /// Changes in its folder.
    pub files: Files,
    /// Evidence.
    pub evidence: Vec<EvidenceView>,
    /// Number of pieces of evidence left out at the end.
    pub evidence_left_out: usize,
    /// Questions to people.
    pub questions: Vec<QuestionView>,
    /// Number of questions left out at the end.
    pub questions_left_out: usize,
    /// Tokens and cost.
    pub spending: RunCost,
    /// Story of events, one line each, without the calls of tasks, which are in `tasks`.
    pub story: Vec<Moment>,
    /// Number of moments left out in the middle of the story.
    pub story_left_out: usize,
}

/// A goal of a run and the answer to it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TurnView {
    /// Start time.
    pub at: Timestamp,
    /// Its goal.
    pub goal: Text,
    /// The answer, if there is one.
    pub answer: Option<Text>,
}

/// The strategic part of a plan.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Strategy {
    /// Approach to the goal.
    pub approach: Text,
    /// Phases of the work, each with its milestone.
    pub phases: Vec<(String, Text)>,
    /// Risks, each with its mitigation.
    pub risks: Vec<(Text, Text)>,
    /// Completion criteria, with the results of their last check.
    pub criteria: Vec<Criterion>,
}

/// A completion or success criterion.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Criterion {
    /// Text of the criterion.
    pub text: Text,
    /// Owner of the criterion.
    pub owner: Owner,
    /// Kind of check.
    pub how: CheckMethod,
    /// Verdict; none if nobody checked it or the check was inconclusive.
    pub passed: Option<bool>,
    /// Reason for the verdict.
    pub reason: Text,
    /// True if it held already before the work; none if nobody checked it then.
    pub held_before: Option<bool>,
}

/// One version of the plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Version {
    /// Its number, from 1.
    pub number: u32,
    /// Time at which it was made.
    pub at: Timestamp,
    /// Reason for the version.
    pub reasoning: Text,
    /// Triggers of the change: kind and text.
    pub triggers: Vec<(String, Text)>,
    /// Evidence that it used.
    pub evidence: Vec<Text>,
    /// Handling of tasks that had failed.
    pub lowered: Vec<String>,
    /// Differences from the previous version, one line each.
    pub changes: Vec<Change>,
    /// Number of changes left out.
    pub left_out: usize,
    /// Its graph when it was made; none if that is left out.
    pub graph: Option<Graph>,
}

/// Difference between two versions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// `+`, `-` or `~`.
    pub sign: char,
    /// Task, or other subject.
    pub what: String,
    /// Description of the change.
    pub detail: Text,
}

/// Task with everything that happened to it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TaskView {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Executor of the task.
    pub kind: TaskKind,
    /// Status of the task.
    pub status: TaskStatus,
    /// Description of the work.
    pub description: Text,
    /// Its tool and parameters, for a tool task.
    pub tool: Option<(String, Vec<(String, Text)>)>,
    /// Criteria that must hold for it to count as done.
    pub criteria: Vec<Criterion>,
    /// Titles of the tasks that it waits for.
    pub waits_for: Vec<String>,
    /// Group that it belongs to.
    pub group: Option<String>,
    /// Plan version that added it.
    pub version: u32,
    /// Number of starts.
    pub attempts: u32,
    /// Working time, in milliseconds.
    pub worked_ms: u64,
    /// Summary of its result.
    pub summary: Text,
    /// Error, or the reason why it was not done.
    pub error: Option<Text>,
    /// Paths and addresses that it created.
    pub references: Vec<String>,
    /// Number of references left out.
    pub references_left_out: usize,
    /// Tokens and cost.
    pub spent: ModelCost,
    /// Turns of the work, in order.
    pub turns: Vec<Turn>,
    /// Number of turns left out in the middle.
    pub turns_left_out: usize,
}

/// Event in the work on a task.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Turn {
    /// Time of the turn.
    pub at: Timestamp,
    /// Content of the turn.
    pub what: TurnKind,
}

/// Content of a turn.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "turn", rename_all = "snake_case")]
pub enum TurnKind {
    /// An actor took the task.
    Actor {
        /// Its profile.
        profile: String,
        /// Its model.
        model: String,
        /// Its tools.
        tools: Vec<String>,
        /// Skills whose full texts its prompt holds.
        skills: Vec<String>,
        /// Reasoning effort of its model, if that differs from the model's own setting.
        effort: Option<String>,
        /// Number of model answers that it may use; 0 if the event lacks it.
        max_steps: u32,
        /// Reasons for the profile and the tools.
        reasons: Vec<String>,
    },
    /// The model answered.
    Answered {
        /// The model.
        model: String,
        /// Purpose of the request.
        purpose: String,
        /// Text beside its calls.
        text: Text,
        /// Tokens and cost.
        spent: ModelCost,
        /// Duration, in milliseconds.
        duration_ms: u64,
    },
    /// A tool was called.
    Called {
        /// The tool.
        tool: String,
        /// Its parameters.
        parameters: Vec<(String, Text)>,
        /// Outcome; none while it runs.
        outcome: Option<String>,
        /// Output of the tool.
        output: Text,
        /// Origin of the output.
        origin: Option<String>,
        /// Duration, in milliseconds.
        duration_ms: u64,
    },
    /// Any other message.
    Message {
        /// Author or kind of the message.
        who: String,
        /// Text of the message.
        text: Text,
    },
}

/// Periods in which tasks ran.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Timeline {
    /// Rows, by the time of their first bar.
    pub rows: Vec<Row>,
    /// Number of rows left out.
    pub left_out: usize,
    /// Start of the timeline.
    pub from: Timestamp,
    /// End of the timeline.
    pub to: Timestamp,
    /// Long periods in which nothing ran; they are drawn short.
    pub pauses: Vec<(Timestamp, Timestamp)>,
}

/// Row of the timeline.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// Number of its task; none for the planner.
    pub task: Option<usize>,
    /// Title of the row.
    pub title: String,
    /// Periods in which it ran, with their outcomes.
    pub bars: Vec<Bar>,
    /// Number of later periods left out.
    pub left_out: usize,
    /// True if it is on the critical path, which determined the end of the run.
    pub critical: bool,
}

/// Period in which a task ran.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bar {
    /// Start of the period.
    pub from: Timestamp,
    /// End of the period.
    pub to: Timestamp,
    /// Status of the task afterwards.
    pub status: TaskStatus,
}

/// Changes of a run in its folder.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Files {
    /// Changed paths.
    pub changed: Vec<FileView>,
    /// Number of paths left out.
    pub left_out: usize,
    /// True if these are the calls of file tools, because the folder's earlier state was not recorded.
    pub by_call: bool,
}

/// Change of a path.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FileView {
    /// The path.
    pub path: String,
    /// `created`, `changed`, `deleted`.
    pub did: String,
    /// Tasks, or tools, that made the change.
    pub by: Vec<String>,
    /// Number of added lines.
    pub added: usize,
    /// Number of removed lines.
    pub removed: usize,
    /// Lines of the diff.
    pub lines: Vec<DiffLine>,
    /// Number of lines left out.
    pub left_out: usize,
    /// Remark if there are no lines.
    pub note: String,
}

/// Line of a diff.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DiffLine {
    /// `+`, `-`, a space, or `@` where lines are skipped.
    pub sign: char,
    /// Text of the line.
    pub text: String,
}

/// Piece of evidence.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EvidenceView {
    /// Time of the report.
    pub at: Timestamp,
    /// Title of the task that reported it.
    pub task: Option<String>,
    /// Kind of source.
    pub kind: String,
    /// Significance.
    pub significance: Significance,
    /// Content of the evidence.
    pub content: Text,
    /// True if a decision has used it.
    pub used: bool,
    /// Origins of the untrusted texts that it may derive from.
    pub origins: String,
}

/// Question to a person.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct QuestionView {
    /// Time of the question.
    pub at: Timestamp,
    /// Title of the task that waits.
    pub task: Option<String>,
    /// `question`, `approval`, `escalation`, `blocked`, `criterion`.
    pub kind: String,
    /// Text of the question.
    pub question: Text,
    /// Answer to the question.
    pub answer: Option<Text>,
}

/// Cost of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct RunCost {
    /// Total of the run.
    pub total: ModelCost,
    /// By asker: the lead, the actors, the checks.
    pub by_who: Vec<(String, ModelCost)>,
    /// By model.
    pub by_model: Vec<(String, ModelCost)>,
    /// Number of models left out: those with the fewest tokens.
    pub models_left_out: usize,
    /// By task title, or by purpose for requests of the run as a whole.
    pub by_task: Vec<(String, ModelCost)>,
    /// Number of tasks and purposes left out: those with the fewest tokens.
    pub tasks_left_out: usize,
    /// Number of started tool calls.
    pub tool_calls: u64,
    /// Time and tokens, by what used them.
    pub time: TimeUse,
}

/// Line of the story.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Moment {
    /// Number of the event, from 1.
    pub seq: u64,
    /// Time of the event.
    pub at: Timestamp,
    /// Kind of event.
    pub kind: String,
    /// Description of the event.
    pub text: Text,
}
