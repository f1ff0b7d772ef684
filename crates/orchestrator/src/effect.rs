//! What the run machine wants done.

use aime_progress::{Origin, PlanMode, ProgressState, QuestionId, TaskId, TaskSpec, Timestamp, TriggerReason};
use aime_tools::ValidatedCall;
use serde::{Deserialize, Serialize};

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
        /// The call, references expanded.
        call: ValidatedCall,
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
