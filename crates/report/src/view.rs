//! What a report shows: a view of the journal, as data.

mod build;
mod files;
mod graph;
mod spending;
mod story;
mod tasks;
mod timeline;
mod versions;

pub use self::graph::{Graph, Line, LineKind, Node};

use aime_progress::{CheckMethod, Owner, PlanMode, RunStatus, Significance, Spent, TaskKind, TaskStatus, Timestamp};
use serde::Serialize;

use crate::{Failure, text::Text};

/// What a report shows of a run. It holds no secrets and is bounded; what is left out is counted.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReportView {
    /// The run.
    pub run: String,
    /// When the report was made.
    pub made_at: Timestamp,
    /// What is wanted.
    pub goal: Text,
    /// Where the run stands.
    pub status: RunStatus,
    /// The way of working, once chosen.
    pub mode: Option<PlanMode>,
    /// When it began.
    pub started_at: Timestamp,
    /// Until its last event, in milliseconds.
    pub duration_ms: u64,
    /// The final answer, of the last turn.
    pub answer: Option<Text>,
    /// The turns of a run that was continued after its end, in order; empty for a run with a single one.
    pub turns: Vec<TurnView>,
    /// Why the goal was not reached, or why the run was left.
    pub failure: Option<Failure>,
    /// What else is to be said.
    pub notes: Vec<String>,
    /// The strategic part of the plan.
    pub strategy: Strategy,
    /// Every version of the plan, the first one first.
    pub versions: Vec<Version>,
    /// The graph of the plan as it stands.
    pub graph: Graph,
    /// The tasks in plan order.
    pub tasks: Vec<TaskView>,
    /// Who ran when.
    pub timeline: Timeline,
    /// What it changed in its folder.
    pub files: Files,
    /// What was learnt.
    pub evidence: Vec<EvidenceView>,
    /// What was asked of people.
    pub questions: Vec<QuestionView>,
    /// What it cost.
    pub spending: Spending,
    /// What happened, in lines; the calls of tasks are with the tasks.
    pub story: Vec<Moment>,
    /// Moments that are left out in the middle of the story.
    pub story_left_out: usize,
}

/// A goal of a run and the answer to it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TurnView {
    /// When it began.
    pub at: Timestamp,
    /// Its goal.
    pub goal: Text,
    /// The answer, if there is one.
    pub answer: Option<Text>,
}

/// The strategic part of a plan.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Strategy {
    /// The way to the goal.
    pub approach: Text,
    /// Stages of the work and what is reached when each ends.
    pub phases: Vec<(String, Text)>,
    /// What may go wrong, and what would be done.
    pub risks: Vec<(Text, Text)>,
    /// What must hold at the end, as it was looked at last.
    pub criteria: Vec<Criterion>,
}

/// A completion or success criterion.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Criterion {
    /// Its words.
    pub text: Text,
    /// Its owner.
    pub owner: Owner,
    /// How it was checked.
    pub how: CheckMethod,
    /// Whether it holds; none where nobody looked or could tell.
    pub passed: Option<bool>,
    /// By what.
    pub reason: Text,
}

/// One version of the plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Version {
    /// Its number, from 1.
    pub number: u32,
    /// When it was made.
    pub at: Timestamp,
    /// Why.
    pub reasoning: Text,
    /// What made it necessary: the kind and the words.
    pub triggers: Vec<(String, Text)>,
    /// What was learnt that it used.
    pub evidence: Vec<Text>,
    /// What is made of tasks that had failed.
    pub lowered: Vec<String>,
    /// What differs from the version before, a line each.
    pub changes: Vec<Change>,
    /// Changes that are left out.
    pub left_out: usize,
    /// Its graph, as it stood when it was made; none where it is left out.
    pub graph: Option<Graph>,
}

/// What differs between two versions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// `+`, `-` or `~`.
    pub sign: char,
    /// The task, or what else it is about.
    pub what: String,
    /// In words.
    pub detail: Text,
}

/// A task and all that became of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TaskView {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Who carries it out.
    pub kind: TaskKind,
    /// Where it stands.
    pub status: TaskStatus,
    /// What is to be done.
    pub description: Text,
    /// Its tool and parameters, for a tool task.
    pub tool: Option<(String, Vec<(String, Text)>)>,
    /// What must hold for it to count as done.
    pub criteria: Vec<Criterion>,
    /// The tasks it waits for, by their titles.
    pub waits_for: Vec<String>,
    /// The group it belongs to.
    pub group: Option<String>,
    /// The version that brought it.
    pub version: u32,
    /// How often it was started.
    pub attempts: u32,
    /// How long it was at work, in milliseconds.
    pub worked_ms: u64,
    /// What it came to.
    pub summary: Text,
    /// What went wrong, or why it was not done.
    pub error: Option<Text>,
    /// What was made.
    pub references: Vec<String>,
    /// What it cost.
    pub spent: Spent,
    /// What was said and done, in order.
    pub turns: Vec<Turn>,
    /// Turns that are left out in the middle.
    pub turns_left_out: usize,
}

/// Something in the work on a task.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Turn {
    /// When.
    pub at: Timestamp,
    /// What.
    pub what: TurnKind,
}

/// What happened in the work on a task.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "turn", rename_all = "snake_case")]
pub enum TurnKind {
    /// An actor took it.
    Actor {
        /// Its profile.
        profile: String,
        /// Its model.
        model: String,
        /// Its tools.
        tools: Vec<String>,
        /// The skills that it was given whole.
        skills: Vec<String>,
        /// How long its model thinks, if that is not the model's own setting.
        effort: Option<String>,
        /// How many answers of the model it may use; 0 if the event does not tell.
        max_steps: u32,
        /// Why this profile and these tools.
        reasons: Vec<String>,
    },
    /// The model answered.
    Said {
        /// The model.
        model: String,
        /// What for.
        purpose: String,
        /// What it wrote beside its calls.
        text: Text,
        /// What it cost.
        spent: Spent,
        /// How long it took, in milliseconds.
        duration_ms: u64,
    },
    /// A tool was called.
    Called {
        /// The tool.
        tool: String,
        /// Its parameters.
        parameters: Vec<(String, Text)>,
        /// How it ended; none while it runs.
        outcome: Option<String>,
        /// What it returned.
        output: Text,
        /// Where that comes from.
        origin: Option<String>,
        /// How long it took, in milliseconds.
        duration_ms: u64,
    },
    /// Something else: who spoke, or what it is, and the words.
    Told {
        /// Who spoke, or what it is.
        who: String,
        /// The words.
        text: Text,
    },
}

/// Who ran when.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Timeline {
    /// The rows, the one that began first first.
    pub rows: Vec<Row>,
    /// Rows that are left out.
    pub left_out: usize,
    /// When it begins.
    pub from: Timestamp,
    /// When it ends.
    pub to: Timestamp,
    /// Long times in which nothing ran: they are drawn short.
    pub pauses: Vec<(Timestamp, Timestamp)>,
}

/// A row of the timeline.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// The number of its task; none for the planner.
    pub task: Option<usize>,
    /// Its title.
    pub title: String,
    /// When it ran, and how that ended.
    pub bars: Vec<Bar>,
    /// Whether it is one of those that decided when the run ended.
    pub critical: bool,
}

/// A time in which a task ran.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bar {
    /// Since when.
    pub from: Timestamp,
    /// Until when.
    pub to: Timestamp,
    /// What the task became then.
    pub status: TaskStatus,
}

/// What a run changed in its folder.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Files {
    /// Each path.
    pub changed: Vec<FileView>,
    /// Paths that are left out.
    pub left_out: usize,
    /// Whether these are the calls of file tools, since how the folder was before is not kept.
    pub by_call: bool,
}

/// What became of a path.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FileView {
    /// The path.
    pub path: String,
    /// `created`, `changed`, `deleted`.
    pub did: String,
    /// The tasks, or tools, that did it.
    pub by: Vec<String>,
    /// Lines that came.
    pub added: usize,
    /// Lines that went.
    pub removed: usize,
    /// The lines of the difference.
    pub lines: Vec<DiffLine>,
    /// Lines that are left out.
    pub left_out: usize,
    /// What is to be said where there are no lines.
    pub note: String,
}

/// A line of a difference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DiffLine {
    /// `+`, `-`, a space, or `@` for where lines are skipped.
    pub sign: char,
    /// The line.
    pub text: String,
}

/// Something that was learnt.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EvidenceView {
    /// When.
    pub at: Timestamp,
    /// The title of the task that reported it.
    pub task: Option<String>,
    /// Where it comes from.
    pub kind: String,
    /// How much it matters.
    pub significance: Significance,
    /// What was learnt.
    pub content: Text,
    /// Whether a decision has used it.
    pub used: bool,
    /// Where the texts come from that it may have been made from and that nobody vouches for.
    pub origins: String,
}

/// Something that was asked of a person.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct QuestionView {
    /// When.
    pub at: Timestamp,
    /// The title of the task that waits.
    pub task: Option<String>,
    /// `question`, `approval`, `escalation`.
    pub kind: String,
    /// The question.
    pub question: Text,
    /// The answer.
    pub answer: Option<Text>,
}

/// What a run cost.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Spending {
    /// All of it.
    pub total: Spent,
    /// By who asked: the lead, the actors, the checks.
    pub by_who: Vec<(String, Spent)>,
    /// By model.
    pub by_model: Vec<(String, Spent)>,
    /// By what was done: each task by its title, and what was done for the run as a whole.
    pub by_task: Vec<(String, Spent)>,
    /// Calls of tools that were begun.
    pub tool_calls: u64,
}

/// A line of the story.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Moment {
    /// The number of the event, from 1.
    pub seq: u64,
    /// When.
    pub at: Timestamp,
    /// The kind of event.
    pub kind: String,
    /// In words.
    pub text: Text,
}
