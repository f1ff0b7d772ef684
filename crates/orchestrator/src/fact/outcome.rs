//! Results of effects: members of the facts that answer them.

use aime_messages::{Message, message};
use aime_progress_management::{Check, CheckMethod, Criterion, ModelCost, Origin, Owner, Plan, PlanMode, PlanPatch, RecalledItem};
use serde::{Deserialize, Serialize};

/// Memories of earlier runs and pieces of documents that fit a goal.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownContext {
    /// For the prompts, in Markdown; empty if nothing was found.
    pub text: String,
    /// The memories and pieces that the text was made of.
    pub items: Vec<RecalledItem>,
    /// Estimated tokens of the text.
    pub tokens: u64,
    /// Number of items that did not fit into the token budget.
    pub left_out: u64,
    /// Errors of memory and knowledge, with a hint on how to fix each.
    pub faults: Vec<String>,
    /// Untrusted sources of the texts, unless the settings trust all files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub origins: Vec<Origin>,
}

/// The chosen mode of a plan, with reasons.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChosenRoute {
    /// The mode.
    pub mode: PlanMode,
    /// Name of the component that decided.
    pub by: String,
    /// The score of the rules.
    pub score: Option<i32>,
    /// The goal's category.
    pub category: String,
    /// The profile of the category's actor, for a direct plan.
    pub profile: Option<String>,
    /// Reasons for the mode.
    pub reasons: Vec<Message>,
}

/// Usage of a model call that no actor made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelUse {
    /// Purpose of the call: `route`, `plan`, `patch`, `verdict`, `answer`, `search`.
    pub purpose: String,
    /// The model.
    pub model: String,
    /// Reasoning effort that the request asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    /// Tokens and cost.
    pub spent: ModelCost,
    /// Duration in milliseconds.
    pub duration_ms: u64,
    /// Finish reason that the model reported, if the call was a single request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish: Option<String>,
}

/// Result of a planning effect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Planning {
    /// A plan that passed every check.
    Planned {
        /// The plan.
        plan: Box<Plan>,
        /// Harmless faults of the plan that the parser repaired.
        repairs: Vec<Message>,
        /// Answers that were refused.
        refused: Vec<RefusedAnswer>,
        /// Reason for the fallback, if the plan is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fallback: Option<Message>,
    },
    /// A kept plan of an earlier run, which passed every check again.
    Reused {
        /// The plan.
        plan: Box<Plan>,
        /// The run that the plan comes from.
        run: Option<String>,
        /// Notes made while the plan was looked up.
        #[serde(default)]
        notes: Vec<Message>,
    },
    /// No usable plan, and the settings forbid the fallback.
    NoPlan {
        /// Why.
        message: Message,
        /// Answers that were refused.
        refused: Vec<RefusedAnswer>,
    },
    /// The model could not be reached or used.
    ModelFailed {
        /// Error message.
        message: Message,
        /// Hint on how to fix it.
        hint: Option<Message>,
    },
}

/// Result of a replanning effect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Replanning {
    /// A patch that was valid for the plan at the time of the request.
    Patched {
        /// The patch.
        patch: PlanPatch,
        /// Answers that were refused.
        refused: Vec<RefusedAnswer>,
    },
    /// No usable patch.
    NoPatch {
        /// Why.
        message: Message,
        /// Answers that were refused.
        refused: Vec<RefusedAnswer>,
    },
    /// The model could not be reached or used.
    ModelFailed {
        /// Error message.
        message: Message,
        /// Hint on how to fix it.
        hint: Option<Message>,
    },
}

/// An answer of the planner that was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedAnswer {
    /// Number of the attempt, from 1.
    pub attempt: u32,
    /// Each fault.
    pub faults: Vec<Message>,
}

/// The result of a check of a criterion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CriterionResult {
    /// The criterion.
    pub criterion: String,
    /// Its owner.
    #[serde(default)]
    pub owner: Owner,
    /// True for a success criterion of the plan that was checked along with a task.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub of_plan: bool,
    /// True if code can check it: the criterion is a command or a fact about a file.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub executable: bool,
    /// Method of the check.
    #[serde(default)]
    pub how: CheckMethod,
    /// Result of the check; absent if it could not be determined.
    pub passed: Option<bool>,
    /// The ground for the result.
    pub reason: Message,
    /// Number of recorded changes of files of the run before the check; absent if changes are not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes: Option<u64>,
    /// Duration in milliseconds, if aime checked it itself.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub duration_ms: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl CriterionResult {
    /// Returns the result of a criterion that nobody has checked yet.
    #[must_use]
    pub fn open(criterion: &Criterion) -> Self {
        Self {
            criterion: criterion.to_string(),
            owner: criterion.owner,
            of_plan: false,
            executable: match &criterion.check {
                Check::Command(_) | Check::File(_) => true,
                Check::Text(_) => false,
            },
            how: CheckMethod::Unchecked,
            passed: None,
            reason: Message::default(),
            changes: None,
            duration_ms: 0,
        }
    }

    /// Returns why the work does not count as done, if it does not: the criterion does not hold, or nobody checked a criterion of a person or
    /// of the project. A check without a decision, such as that of a flaky command or an auditor who cannot tell, is no fault.
    #[must_use]
    pub fn fault(&self) -> Option<Message> {
        let required = self.owner.needs_consent();
        match self.passed {
            Some(true) => None,
            Some(false) => Some(message!("criterion-fails", criterion = self.criterion, reason = self.reason)),
            None if required && self.how == CheckMethod::Unchecked => {
                Some(message!("criterion-unchecked", criterion = self.criterion, reason = self.reason))
            }
            None => None,
        }
    }

    /// Returns true for a fault that the worker may be able to remove: the criterion does not hold, or no verdict was reached on its words.
    /// A worker cannot change that a command may not be run.
    pub(crate) fn is_fault_of_worker(&self) -> bool {
        self.passed == Some(false) || (!self.executable && self.fault().is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unchecked_criterion_of_a_person_is_a_fault() {
        let (unchecked, executed, audited) = (CheckMethod::Unchecked, CheckMethod::Executed, CheckMethod::Audited);
        for (owner, how, passed, fault) in [
            (Owner::Person, unchecked, None, true),
            (Owner::Project, unchecked, None, true),
            (Owner::Lead, unchecked, None, false),
            (Owner::Actor, unchecked, None, false),
            (Owner::Person, executed, None, false),
            (Owner::Person, audited, None, false),
            (Owner::Person, audited, Some(false), true),
            (Owner::Lead, audited, Some(false), true),
            (Owner::Person, audited, Some(true), false),
        ] {
            for criterion in [Criterion::text("the poem is good"), Criterion::command("true")] {
                let check = CriterionResult { how, passed, ..CriterionResult::open(&criterion.owned_by(owner)) };
                assert_eq!(check.fault().is_some(), fault, "{check:?}");
                let of_worker = passed == Some(false) || (fault && !check.executable);
                assert_eq!(check.is_fault_of_worker(), of_worker, "{check:?}");
            }
        }
    }
}
