//! The next step for the user after a run was suspended or failed.

use std::fmt;

use aime_messages::{Message, message};
use aime_progress_management::RunId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The next step for the user. A user interface words it with its own commands; `Display` names none. A step without a
/// run is about a plan that was only made, so the user plans again in place of resuming.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "step", rename_all = "snake_case")]
#[non_exhaustive]
pub enum NextStep {
    /// Resume the run.
    Resume {
        /// The run.
        run: RunId,
    },
    /// Answer the questions, then resume the run.
    Answer {
        /// The run.
        run: RunId,
    },
    /// Allow or refuse the calls that wait, then resume the run.
    Approve {
        /// The run.
        run: RunId,
    },
    /// Supply what blocked tasks need, then resume the run.
    Supply {
        /// The run.
        run: RunId,
    },
    /// Raise the bound.
    RaiseBound {
        /// The name of the bound.
        bound: String,
        /// The run to resume then.
        run: Option<RunId>,
    },
    /// Wait until the model has quota again, or name a fallback model.
    AwaitQuota {
        /// The run to resume then.
        run: Option<RunId>,
    },
    /// Allow actors more steps, or plan smaller tasks.
    AllowSteps {},
    /// Fork the run at this version of its plan.
    Fork {
        /// The run.
        run: RunId,
        /// The version.
        version: u32,
    },
    /// Make the model usable.
    RepairModel {
        /// The advice of the model's client.
        advice: Option<Message>,
        /// The run to resume then.
        run: Option<RunId>,
    },
    /// Report a fault of aime.
    Report {},
}

impl fmt::Display for NextStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let then = |run: &Option<RunId>| if run.is_some() { "resume the run" } else { "plan again" };
        match self {
            Self::Resume { .. } => write!(f, "resume the run"),
            Self::Answer { .. } => write!(f, "answer, then resume the run"),
            Self::Approve { .. } => write!(f, "allow or refuse it, then resume the run"),
            Self::Supply { .. } => write!(f, "once that is there, resume the run; an answer before it says more"),
            Self::RaiseBound { bound, run } => write!(f, "raise the bound on {bound}, then {}", then(run)),
            Self::AwaitQuota { run } => write!(f, "wait until then and {}, or name a fallback model", then(run)),
            Self::AllowSteps {} => write!(
                f,
                "raise max_steps in [run], and in the actor's profile where that allows fewer, or let the goal be planned in smaller tasks"
            ),
            Self::Fork { version, .. } => write!(f, "a fork of the run at version {version} of its plan goes on from there"),
            Self::RepairModel { advice, run } => {
                let advice = advice.clone().unwrap_or_else(|| message!("check-model"));
                write!(f, "{advice}; then {}", then(run))
            }
            Self::Report {} => write!(f, "this is a fault in aime: please report it"),
        }
    }
}
