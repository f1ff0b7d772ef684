//! The effects of the run machine.

use std::sync::Arc;

use aime_dynamic_planner::{LeadMemory, Wake};
use aime_messages::Message;
use aime_progress_management::{Conclusion, Origin, ProgressState, QuestionId, TaskId, TaskSpec, Timestamp};
use aime_tools::ValidatedCall;
use serde::{Deserialize, Serialize};

/// An effect that the run machine asks for. Hosts that carry effects out in other processes serialize it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "effect", rename_all = "snake_case")]
pub enum RunEffect {
    /// Search long-term memory and knowledge.
    Recall,
    /// Choose the mode of the plan.
    Route,
    /// Wake the lead, and wait until its conversation pauses, or for its plan or patch if its memory is
    /// [fresh](aime_dynamic_planner::LeadMemory::Fresh).
    Lead {
        /// The message, and the facts that the lead needs.
        order: Box<LeadWakeOrder>,
    },
    /// Create an actor for a task and let it work.
    StartActor {
        /// The part of the run that the actor needs.
        brief: Box<crate::ActorBrief>,
        /// The task.
        task: TaskId,
        /// The number of the task's execution, which is part of the name of the actor's journal.
        execution: u32,
        /// The origins of untrusted texts in its prompts.
        origins: Vec<Origin>,
        /// The recalled texts, in Markdown; may be empty.
        known: String,
    },
    /// Make one tool call for a tool task, and check its criteria.
    CallTool {
        /// The task.
        spec: Arc<TaskSpec>,
        /// The call, references expanded.
        call: ValidatedCall,
        /// True if the call changes nothing and sends nothing anywhere, so that nobody notices when it is repeated.
        read_only: bool,
        /// The origins of untrusted texts from which the call and the criteria of the task may come.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        origins: Vec<Origin>,
        /// True if a person handed over the call with the plan. A hook may change the call, which is then decided again.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        handed_over: bool,
        /// The result of the call, if an earlier attempt made it and was cut off during its checks.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<Box<Conclusion>>,
    },
    /// Check the goal's criteria.
    Verify {
        /// The state of the run.
        state: Box<ProgressState>,
    },
    /// Write the final answer.
    Answer {
        /// The state of the run.
        state: Box<ProgressState>,
    },
    /// Store the lessons of the run.
    Remember {
        /// The final state of the run.
        state: Box<ProgressState>,
        /// The reason, if the goal was not reached.
        failure: Option<String>,
    },
    /// Ask a person.
    Ask {
        /// The question.
        question: QuestionId,
        /// `question`, `approval`, `escalation`, `blocked`, `criterion`.
        kind: String,
        /// The task that waits, if one does.
        task: Option<TaskId>,
        /// The text of the question.
        text: Message,
    },
    /// Wait until a time.
    Timer {
        /// The time.
        at: Timestamp,
    },
}

/// A wake of the lead, with the input of its conversation if none exists yet.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LeadWakeOrder {
    /// The wake.
    pub wake: Wake,
    /// The state of the run.
    pub state: Box<ProgressState>,
    /// True if the task of the lead's own work is open.
    pub works: bool,
    /// The texts that outlive a compaction of the conversation.
    pub kept: String,
    /// The recalled texts, in Markdown; may be empty.
    pub known: String,
    /// The origins of untrusted texts in the first message.
    pub origins: Vec<Origin>,
}

impl LeadWakeOrder {
    /// Returns true if the lead keeps its conversation, which is driven by a machine of its own.
    #[must_use]
    pub fn has_conversation(&self) -> bool {
        self.wake.memory == LeadMemory::Kept
    }
}

impl RunEffect {
    /// Returns true if the effect drives an actor, or a lead that keeps its conversation. Each has a journal of its own, and ends by
    /// itself when it is cancelled.
    #[must_use]
    pub fn has_conversation(&self) -> bool {
        match self {
            Self::StartActor { .. } => true,
            Self::Lead { order } => order.has_conversation(),
            _ => false,
        }
    }

    /// Returns the name of the effect's kind.
    pub(crate) const fn kind(&self) -> &'static str {
        match self {
            Self::Recall => "recall",
            Self::Route => "route",
            Self::Lead { .. } => "lead",
            Self::StartActor { .. } => "actor",
            Self::CallTool { .. } => "tool",
            Self::Verify { .. } => "verify",
            Self::Answer { .. } => "answer",
            Self::Remember { .. } => "remember",
            Self::Ask { .. } => "ask",
            Self::Timer { .. } => "timer",
        }
    }
}
