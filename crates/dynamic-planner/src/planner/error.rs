//! Errors of the planner.

use aime_llm::{InvalidAnswer, ModelError, StructuredError};
use aime_progress_management::ModelCost;

use crate::{PlannerPromptError, spent};

/// Reason why there is no plan or patch, with the cost so far.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlannerError {
    /// The model could not be used. A fallback would need it too.
    #[error("the planner's model {model} gave no answer")]
    Model {
        /// The model.
        model: String,
        /// The error.
        #[source]
        source: Box<ModelError>,
        /// The refused answers before the error.
        refused: Vec<InvalidAnswer>,
        /// Cost until the error.
        spent: ModelCost,
    },
    /// No answer could be used, and the settings forbid the fallback.
    #[error("no plan of {model} could be used; the last was refused because: {}", last_faults(.refused))]
    NoPlan {
        /// The model.
        model: String,
        /// Each answer with its faults.
        refused: Vec<InvalidAnswer>,
        /// Cost of the requests.
        spent: ModelCost,
    },
    /// No patch could be used: the plan stays unchanged.
    #[error("no patch of {model} could be used; the last was refused because: {}", last_faults(.refused))]
    NoPatch {
        /// The model.
        model: String,
        /// Each answer with its faults.
        refused: Vec<InvalidAnswer>,
        /// Cost of the requests.
        spent: ModelCost,
    },
    /// No verdict could be parsed.
    #[error("no verdict of {model} could be read; the last was refused because: {}", last_faults(.refused))]
    NoVerdict {
        /// The model.
        model: String,
        /// Each answer with its faults.
        refused: Vec<InvalidAnswer>,
        /// Cost of the requests.
        spent: ModelCost,
    },
    /// A prompt that a user replaced cannot be filled in.
    #[error("a prompt cannot be used")]
    Prompt(#[from] PlannerPromptError),
    /// The schema of a request is invalid, for example because of a tool's odd name.
    #[error("the question cannot be asked: {reason}")]
    Question {
        /// The fault.
        reason: String,
    },
}

fn last_faults(refused: &[InvalidAnswer]) -> String {
    refused.last().map(|last| aime_messages::Message::list("; ", &last.faults).to_string()).unwrap_or_default()
}

impl PlannerError {
    /// Converts the error of a request. `refused` makes the error if every answer was refused.
    pub(crate) fn of(error: StructuredError, model: String, refused: impl FnOnce(String, Vec<InvalidAnswer>, ModelCost) -> Self) -> Self {
        match error {
            StructuredError::Refused { refused: all, spent, .. } => refused(model, all, spent::of(spent)),
            StructuredError::Model { source, refused, spent, .. } => {
                Self::Model { model, source: Box::new(source), refused, spent: spent::of(spent) }
            }
            other => Self::Question { reason: chain(&other) },
        }
    }

    /// Returns the cost until the failure.
    #[must_use]
    pub fn spent(&self) -> ModelCost {
        match self {
            Self::Model { spent, .. } | Self::NoPlan { spent, .. } | Self::NoPatch { spent, .. } | Self::NoVerdict { spent, .. } => *spent,
            Self::Prompt(_) | Self::Question { .. } => ModelCost::default(),
        }
    }

    /// Returns the refused answers.
    #[must_use]
    pub fn refused(&self) -> &[InvalidAnswer] {
        match self {
            Self::Model { refused, .. }
            | Self::NoPlan { refused, .. }
            | Self::NoPatch { refused, .. }
            | Self::NoVerdict { refused, .. } => refused,
            Self::Prompt(_) | Self::Question { .. } => &[],
        }
    }
}

/// Formats an error and its causes on one line.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
