//! What an actor learns and what it wants done.

use aime_durable::{EffectId, Reason};
use aime_llm::{ChatRequest, ChatResponse, Image, ModelError};
use aime_progress::{CallOutcome, LeadCommand, Origin, QuestionId};
use aime_redact::Redactor;
use aime_tools::{DelegateTask, SeenFile, SeenFiles, ValidatedCall};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{LeadWake, Told};

/// What the world answers an actor. Kept in its journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ActorFact {
    /// A model call ended.
    ModelAnswered {
        /// The effect.
        id: EffectId,
        /// The answer, or why there is none.
        answer: ModelAnswer,
        /// How long it took, in milliseconds.
        duration_ms: u64,
    },
    /// A tool call ended, or the other actor to which it was handed on.
    ToolEnded {
        /// The effect.
        id: EffectId,
        /// How it ended.
        outcome: CallOutcome,
        /// What the model is to see, already cut to the limit of the tools; for an error without `Error: ` before it.
        text: String,
        /// The same with structure, where there is one.
        #[serde(default, skip_serializing_if = "Value::is_null")]
        value: Value,
        /// Paths or addresses that were made or changed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        references: Vec<String>,
        /// Images that the model sees beside the text.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        images: Vec<Image>,
        /// The versions of files that the actor knows by the call.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        seen: Vec<SeenFile>,
        /// How long it took, in milliseconds.
        duration_ms: u64,
        /// Of another actor's work: where the texts come from that it has read and that nobody vouches for.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        origins: Vec<Origin>,
    },
    /// A call of a plan tool was parsed and validated.
    PlanCallRead {
        /// The effect.
        id: EffectId,
        /// The answer at once, for a refused call or one that only asks; none where the run carries the command out.
        text: Option<String>,
        /// True if the call was refused.
        refused: bool,
        /// The command that the run carries out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        command: Option<LeadCommand>,
        /// The origins of the text that nobody vouches for.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        origins: Vec<Origin>,
    },
    /// The run wakes the lead.
    Woken {
        /// The message to the lead.
        wake: LeadWake,
    },
    /// A person answered a question.
    Answered {
        /// The effect.
        id: EffectId,
        /// The answer.
        text: String,
    },
    /// A person says something unasked. The actor sees it with its next request.
    Told {
        /// What is said.
        said: Told,
    },
    /// The actor must stop: nothing new is begun.
    Stopped {
        /// Why.
        why: Reason,
    },
    /// The actor goes on where it was.
    Resumed {},
    /// The actor has ended and is run again: it goes on in its conversation. One that could not go on ends as before.
    RunAgain {
        /// How often it was run again, this time included; a number that was seen before is dropped.
        number: u32,
        /// The missing parts of its result; empty if it had used up its steps.
        missing: String,
    },
    /// An effect was revoked and is over.
    Revoked {
        /// The effect.
        id: EffectId,
        /// Why.
        why: Reason,
    },
}

impl ActorFact {
    /// Takes out the secrets that `redactor` finds, save in the data of images and the hashes of files: a change would break them.
    #[must_use]
    pub fn without_secrets(mut self, redactor: &Redactor) -> Self {
        let (shown, mut versions) = match &mut self {
            // The runtime carries out the call as the model wrote it.
            Self::ModelAnswered { .. } => return redactor.typed_values(self),
            Self::ToolEnded { images, seen, .. } => (std::mem::take(images), std::mem::take(seen)),
            _ => return redactor.typed(self),
        };
        // A hash is no secret, though it looks like one.
        versions.retain(|file| redactor.text(&file.path) == file.path);
        let mut clean = redactor.typed(self);
        if let Self::ToolEnded { images, seen, .. } = &mut clean {
            (*images, *seen) = (shown, versions);
        }
        clean
    }
}

/// What a model call came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ModelAnswer {
    /// An answer.
    Response {
        /// The answer.
        response: Box<ChatResponse>,
    },
    /// None, and it was retried as often as it may be.
    Error {
        /// What kind of error.
        kind: ModelFault,
        /// The error in words.
        text: String,
    },
}

/// What kind of error a model call ended in, where it decides what the actor does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelFault {
    /// The request does not fit the context window: the history is compacted once.
    ContextOverflow,
    /// The model cannot be used: unreachable, refused, no key, unknown, or failing at every try.
    Unusable,
    /// A bound on the run does not allow the call.
    Bound,
    /// Anything else.
    Other,
}

impl From<Result<ChatResponse, ModelError>> for ModelAnswer {
    fn from(result: Result<ChatResponse, ModelError>) -> Self {
        match result {
            Ok(response) => Self::Response { response: Box::new(response) },
            Err(error) => Self::Error { kind: ModelFault::from(&error), text: error.to_string() },
        }
    }
}

impl From<&ModelError> for ModelFault {
    fn from(error: &ModelError) -> Self {
        match error {
            ModelError::ContextOverflow { .. } => Self::ContextOverflow,
            ModelError::NotRecorded { .. } | ModelError::Blocked { .. } => Self::Other,
            // Whatever else it is, it was tried as often as it may be.
            _ => Self::Unusable,
        }
    }
}

/// What an actor wants done. Read and written by hosts that hand effects on to other processes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "effect", content = "of", rename_all = "snake_case")]
pub enum ActorEffect {
    /// Ask the model of the actor's role. Answered by [`ActorFact::ModelAnswered`].
    Model(ChatRequest),
    /// Make one tool call. Answered by [`ActorFact::ToolEnded`]. A call that is issued again after a crash and is not repeatable
    /// ([`ToolSheet::repeatable`](aime_tools::ToolSheet::repeatable)) is not made but answered with [`CallOutcome::InDoubt`].
    Tool {
        /// The call's id in the conversation.
        of: String,
        /// The call.
        call: ValidatedCall,
        /// Whether the call changes nothing and asks nothing of anybody outside: it may be made again unnoticed.
        read_only: bool,
        /// The versions of files that the actor knows, for a call that may change files.
        #[serde(default, skip_serializing_if = "SeenFiles::is_empty")]
        seen: SeenFiles,
    },
    /// Have another actor do a part of the work. Answered by [`ActorFact::ToolEnded`]. The other actor has a journal of its own, which
    /// `call` names: issued again after a stop or a crash, it goes on from there.
    Delegate {
        /// The call, by its name in events.
        call: String,
        /// What is wanted.
        request: DelegateTask,
        /// Where the texts come from that the one who calls has read and that nobody vouches for.
        origins: Vec<Origin>,
    },
    /// Parse and validate a call of a plan tool. Answered by [`ActorFact::PlanCallRead`].
    Plan {
        /// The call's id in the conversation.
        of: String,
        /// The call.
        call: ValidatedCall,
    },
    /// Ask a person. Answered by [`ActorFact::Answered`].
    Ask {
        /// The question's name in the run; the actor has emitted `QuestionAsked` with it.
        id: QuestionId,
        /// The question.
        question: String,
        /// What the answer is for.
        kind: QuestionKind,
    },
}

/// What a person is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionKind {
    /// Knowledge, or a choice.
    Question,
    /// Whether a call may be made: `yes`, `always` (and what the question says from now on), or anything else for no.
    Approval,
}

impl QuestionKind {
    /// As it stands in events.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Question => "question",
            Self::Approval => "approval",
        }
    }
}
