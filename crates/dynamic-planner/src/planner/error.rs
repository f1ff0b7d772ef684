//! Errors of the planner.

use std::{error::Error, fmt};

use aime_llm::{InvalidAnswer, ModelError, StructuredError};
use aime_messages::{Describe, Message, message};
use aime_progress_management::ModelCost;

use crate::{PlannerPromptError, spent};

/// Reason why there is no plan or patch, with the cost so far.
#[derive(Debug)]
#[non_exhaustive]
pub enum PlannerError {
    /// The model could not be used. A fallback would need it too.
    Model {
        /// The model.
        model: String,
        /// The error.
        source: Box<ModelError>,
        /// The refused answers before the error.
        refused: Vec<InvalidAnswer>,
        /// Cost until the error.
        spent: ModelCost,
    },
    /// No answer could be used, and the settings forbid the fallback.
    NoPlan {
        /// The model.
        model: String,
        /// Each answer with its faults.
        refused: Vec<InvalidAnswer>,
        /// Cost of the requests.
        spent: ModelCost,
    },
    /// No patch could be used: the plan stays unchanged.
    NoPatch {
        /// The model.
        model: String,
        /// Each answer with its faults.
        refused: Vec<InvalidAnswer>,
        /// Cost of the requests.
        spent: ModelCost,
    },
    /// No verdict could be parsed.
    NoVerdict {
        /// The model.
        model: String,
        /// Each answer with its faults.
        refused: Vec<InvalidAnswer>,
        /// Cost of the requests.
        spent: ModelCost,
    },
    /// A prompt that a user replaced cannot be filled in.
    Prompt(PlannerPromptError),
    /// The schema of a request is invalid, for example because of a tool's odd name.
    Question {
        /// The fault.
        reason: String,
    },
}

fn last_faults(refused: &[InvalidAnswer]) -> Message {
    refused.last().map(|last| Message::list("; ", &last.faults)).unwrap_or_default()
}

impl Describe for PlannerError {
    fn describe(&self) -> Message {
        match self {
            Self::Model { model, .. } => message!("planner-no-answer", model),
            Self::NoPlan { model, refused, .. } => message!("planner-no-plan", model, reason = last_faults(refused)),
            Self::NoPatch { model, refused, .. } => message!("planner-no-patch", model, reason = last_faults(refused)),
            Self::NoVerdict { model, refused, .. } => message!("planner-no-verdict", model, reason = last_faults(refused)),
            Self::Prompt(_) => message!("planner-prompt"),
            Self::Question { reason } => message!("planner-question", reason),
        }
    }
}

impl fmt::Display for PlannerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.describe().fmt(f)
    }
}

impl Error for PlannerError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Model { source, .. } => Some(source),
            Self::Prompt(source) => Some(source),
            _ => None,
        }
    }
}

impl From<PlannerPromptError> for PlannerError {
    fn from(source: PlannerPromptError) -> Self {
        Self::Prompt(source)
    }
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
fn chain(error: &dyn Error) -> String {
    let causes = std::iter::successors(Some(error), |error| (*error).source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
