//! Facts and effects of the actor machine.

use aime_durable::{EffectId, Reason};
use aime_llm::{ChatRequest, ChatResponse, Image, ModelError};
use aime_messages::{Describe as _, Message};
use aime_progress_management::{CallOutcome, LeadCommand, Origin, QuestionId};
use aime_redact::Redactor;
use aime_tools::{DelegateTask, SeenFile, SeenFiles, ValidatedCall};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{LeadWake, PersonMessage};

/// Input of the actor machine. The journal keeps every fact.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ActorFact {
    /// A model call ended.
    ModelAnswered {
        /// Id of the effect.
        id: EffectId,
        /// Answer, or the reason why there is none.
        answer: ModelAnswer,
        /// Duration, in milliseconds.
        duration_ms: u64,
    },
    /// A tool call or a delegated actor ended.
    ToolEnded {
        /// Id of the effect.
        id: EffectId,
        /// Outcome of the call.
        outcome: CallOutcome,
        /// Text for the model, already cut to the limit of the tools. Errors come without the prefix `Error: `.
        text: String,
        /// Structured result, if there is one.
        #[serde(default, skip_serializing_if = "Value::is_null")]
        value: Value,
        /// Paths or addresses that the call created or changed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        references: Vec<String>,
        /// Images that the model sees with the text.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        images: Vec<Image>,
        /// Versions of the files that the call read or wrote.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        seen: Vec<SeenFile>,
        /// Duration, in milliseconds.
        duration_ms: u64,
        /// For a delegated actor: origins of the untrusted texts that it has read.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        origins: Vec<Origin>,
    },
    /// A call of a plan tool was parsed and validated.
    PlanCallRead {
        /// Id of the effect.
        id: EffectId,
        /// Immediate answer to a refused call or a query; none if the run carries the command out.
        text: Option<String>,
        /// True if the call was refused.
        refused: bool,
        /// Command that the run carries out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        command: Option<LeadCommand>,
        /// Origins of untrusted content in the text.
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
        /// Id of the effect.
        id: EffectId,
        /// The answer.
        text: String,
    },
    /// A person sends a message unasked. The actor sees it with its next request.
    PersonMessage {
        /// The message.
        message: PersonMessage,
    },
    /// The actor must stop and begin nothing new.
    Stopped {
        /// Reason for the stop.
        why: Reason,
    },
    /// The actor must begin nothing new, and stop once its calls under way have ended.
    Paused {},
    /// The actor continues where it was.
    Resumed {},
    /// Separates the facts of the run that was forked from those of this run. The folder may lack what the actor did before.
    Forked {},
    /// An ended actor runs again and continues its conversation. An actor that runs or has failed stays as it was, and an event says so.
    RunAgain {
        /// Number of the repetition, from 1. The actor ignores a number that it has seen before.
        number: u32,
        /// Missing parts of its result; empty if the actor had used up its steps. If `answer` is true, the words of a person.
        missing: String,
        /// True if a person lets an actor continue that was blocked.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        answer: bool,
    },
    /// An effect was revoked and is over.
    Revoked {
        /// Id of the effect.
        id: EffectId,
        /// Reason for the revocation.
        why: Reason,
    },
}

impl ActorFact {
    /// Removes the secrets that `redactor` finds. Image data and file hashes stay unchanged, because a change would break them.
    #[must_use]
    pub fn without_secrets(mut self, redactor: &Redactor) -> Self {
        let (shown, mut versions) = match &mut self {
            // The runtime must carry out the call exactly as the model wrote it.
            Self::ModelAnswered { .. } => return redactor.typed_values(self),
            Self::ToolEnded { images, seen, .. } => (std::mem::take(images), std::mem::take(seen)),
            _ => return redactor.typed(self),
        };
        // A hash looks like a secret but is none.
        versions.retain(|file| redactor.text(&file.path) == file.path);
        let mut clean = redactor.typed(self);
        if let Self::ToolEnded { images, seen, .. } = &mut clean {
            (*images, *seen) = (shown, versions);
        }
        clean
    }
}

/// Result of a model call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ModelAnswer {
    /// An answer.
    Response {
        /// The answer.
        response: Box<ChatResponse>,
    },
    /// No answer after all retries.
    Error {
        /// Kind of the error.
        kind: ModelFault,
        /// Error message.
        text: Message,
        /// Advice to a person on how to fix the error.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hint: Option<Message>,
    },
}

/// Kinds of model errors that the actor reacts to differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelFault {
    /// The request exceeds the context window. The actor compacts its history once.
    ContextOverflow,
    /// The model is unusable: unreachable, without key, unknown, or failing at every try.
    Unusable,
    /// No model accepts the content of the request. If one accepted earlier ones, it objects to something in the conversation.
    Refused,
    /// A limit of the run forbids the call.
    Bound,
    /// Any other error.
    Other,
}

impl From<Result<ChatResponse, ModelError>> for ModelAnswer {
    fn from(result: Result<ChatResponse, ModelError>) -> Self {
        match result {
            Ok(response) => Self::Response { response: Box::new(response) },
            Err(error) => {
                Self::Error { kind: ModelFault::from(&error), text: error.describe(), hint: error.hint().map(|hint| hint.describe()) }
            }
        }
    }
}

impl From<&ModelError> for ModelFault {
    fn from(error: &ModelError) -> Self {
        match error {
            ModelError::ContextOverflow { .. } => Self::ContextOverflow,
            ModelError::NotRecorded { .. } | ModelError::Blocked { .. } => Self::Other,
            _ if refuses_content(error) => Self::Refused,
            // The call was retried as often as allowed, so the model counts as unusable.
            _ => Self::Unusable,
        }
    }
}

/// Returns whether every model that was asked refuses the content of the request. Gateways answer with other statuses and with pages while
/// their servers restart.
fn refuses_content(error: &ModelError) -> bool {
    match error {
        ModelError::GaveUp { error, .. } => refuses_content(error),
        ModelError::AllFailed { errors } => errors.iter().all(refuses_content),
        ModelError::Refused { status, .. } => matches!(status, 400 | 422 | 500 | 501),
        _ => false,
    }
}

/// Effect that the actor wants done. Serializable, since hosts may hand effects on to other processes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "effect", content = "of", rename_all = "snake_case")]
pub enum ActorEffect {
    /// Ask the model of the actor's role. Answered by [`ActorFact::ModelAnswered`].
    Model(ChatRequest),
    /// Make one tool call. Answered by [`ActorFact::ToolEnded`]. After a crash the host does not repeat a call that is not repeatable
    /// ([`ToolSpec::repeatable`](aime_tools::ToolSpec::repeatable)), but answers with [`CallOutcome::InDoubt`].
    Tool {
        /// Id of the call in the conversation.
        of: String,
        /// The call.
        call: ValidatedCall,
        /// True if the call changes nothing and asks nobody outside, so that a repetition goes unnoticed.
        read_only: bool,
        /// Versions of the files that the actor has seen, for a call that may change files.
        #[serde(default, skip_serializing_if = "SeenFiles::is_empty")]
        seen: SeenFiles,
        /// Origins of the untrusted texts that the actor has read. A hook may change the call, which is then decided again.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        origins: Vec<Origin>,
    },
    /// Let another actor do a part of the work. Answered by [`ActorFact::ToolEnded`]. The other actor has its own journal, named by `call`:
    /// if the effect is issued again after a stop or a crash, that actor continues from its journal.
    Delegate {
        /// Name of the call in events.
        call: String,
        /// The request.
        request: DelegateTask,
        /// Origins of the untrusted texts that the caller has read.
        origins: Vec<Origin>,
    },
    /// Parse and validate a call of a plan tool. Answered by [`ActorFact::PlanCallRead`].
    Plan {
        /// Id of the call in the conversation.
        of: String,
        /// The call.
        call: ValidatedCall,
    },
    /// Ask a person. Answered by [`ActorFact::Answered`].
    Ask {
        /// Name of the question in the run. The actor has emitted `QuestionAsked` with it.
        id: QuestionId,
        /// The question.
        question: String,
        /// Purpose of the answer.
        kind: QuestionKind,
    },
}

/// Purpose of a question to a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionKind {
    /// Information, or a choice.
    Question,
    /// Consent to a call: `yes`, `always` (which also allows the similar calls that the question describes); any other answer means no.
    Approval,
}

impl QuestionKind {
    /// Returns its name in events.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Question => "question",
            Self::Approval => "approval",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ModelError, ModelFault};

    #[test]
    fn only_content_that_every_model_refuses_is_refused() {
        let refused = |status| ModelError::Refused { model: "m".to_owned(), status, message: "no".to_owned() };
        let down = || ModelError::Server { model: "m".to_owned(), status: 503, message: "down".to_owned(), retry_after: None };
        let gave_up = |error| ModelError::GaveUp { attempts: 3, error: Box::new(error) };
        let cases = [
            (refused(400), ModelFault::Refused),
            (refused(422), ModelFault::Refused),
            (gave_up(refused(500)), ModelFault::Refused),
            (ModelError::AllFailed { errors: vec![refused(400), refused(422)] }, ModelFault::Refused),
            (ModelError::AllFailed { errors: vec![gave_up(down()), refused(400)] }, ModelFault::Unusable),
            (refused(404), ModelFault::Unusable),
            (refused(302), ModelFault::Unusable),
            (gave_up(down()), ModelFault::Unusable),
        ];
        for (error, expected) in cases {
            assert_eq!(ModelFault::from(&error), expected, "{error:?}");
        }
    }
}
