//! What effects come to: members of the facts that answer them.

use aime_progress::{Check, CheckMethod, Criterion, FileFact, Origin, Owner, Plan, PlanMode, PlanPatch, RecalledItem, Spent};
use serde::{Deserialize, Serialize};

/// What earlier runs and documents say of a goal.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownContext {
    /// For the prompts, in Markdown; empty if nothing was found.
    pub text: String,
    /// What it was made of.
    pub items: Vec<RecalledItem>,
    /// Its tokens, estimated.
    pub tokens: u64,
    /// How many found no room.
    pub left_out: u64,
    /// What could not be used, and the mend.
    pub faults: Vec<String>,
    /// Where the texts come from that nobody vouches for, as far as they do not vouch for all files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub origins: Vec<Origin>,
}

/// The way of working, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChosenRoute {
    /// The mode.
    pub mode: PlanMode,
    /// Who decided.
    pub by: String,
    /// The score of the rules.
    pub score: Option<i32>,
    /// The goal's category.
    pub category: String,
    /// The profile of the category's actor, for a direct plan.
    pub profile: Option<String>,
    /// Why.
    pub reasons: Vec<String>,
}

/// A model call that was not an actor's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelUse {
    /// What for: `route`, `plan`, `patch`, `verdict`, `answer`, `search`.
    pub purpose: String,
    /// The model.
    pub model: String,
    /// What it cost.
    pub spent: Spent,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// Why the model stopped, where it was one request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish: Option<String>,
}

/// What came of asking for a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Planning {
    /// A plan that passed every check.
    Planned {
        /// The plan.
        plan: Box<Plan>,
        /// Harmless faults that were mended.
        repairs: Vec<String>,
        /// Answers that were refused.
        refused: Vec<RefusedAnswer>,
        /// Why it is a fallback, if it is one.
        fallback: Option<String>,
    },
    /// A plan of before, which passed every check again.
    Reused {
        /// The plan.
        plan: Box<Plan>,
        /// The run whose plan it was.
        run: Option<String>,
        /// What was noted on the way.
        #[serde(default)]
        notes: Vec<String>,
    },
    /// No usable plan, and the settings forbid the fallback.
    NoPlan {
        /// Why.
        message: String,
        /// Answers that were refused.
        refused: Vec<RefusedAnswer>,
    },
    /// The model could not be used.
    ModelFailed {
        /// What went wrong.
        message: String,
        /// How to mend it.
        hint: Option<String>,
    },
}

/// What came of asking for a patch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Replanning {
    /// A patch that fitted the plan as it was then.
    Patched {
        /// The patch.
        patch: PlanPatch,
        /// Answers that were refused.
        refused: Vec<RefusedAnswer>,
    },
    /// No usable patch.
    NoPatch {
        /// Why.
        message: String,
        /// Answers that were refused.
        refused: Vec<RefusedAnswer>,
    },
    /// The model could not be used.
    ModelFailed {
        /// What went wrong.
        message: String,
        /// How to mend it.
        hint: Option<String>,
    },
}

/// An answer of the planner that was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedAnswer {
    /// Which try, from 1.
    pub attempt: u32,
    /// Each fault.
    pub faults: Vec<String>,
}

/// The result of a check of a criterion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CriterionResult {
    /// The criterion.
    pub criterion: String,
    /// Its owner.
    #[serde(default)]
    pub owner: Owner,
    /// It is a success criterion of the plan, that was checked with a task.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub of_plan: bool,
    /// Code can check it: it is a command or a fact about a file.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub executable: bool,
    /// How it was checked.
    #[serde(default)]
    pub how: CheckMethod,
    /// Whether it holds; absent when nobody could tell.
    pub passed: Option<bool>,
    /// By what.
    pub reason: String,
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
                Check::Command(_) => true,
                // Nothing tells how a file was when the run began.
                Check::File(file) => file.fact != FileFact::Unchanged,
                Check::Text(_) => false,
            },
            how: CheckMethod::Unchecked,
            passed: None,
            reason: String::new(),
        }
    }

    /// Returns why the work does not count as done, if it does not: the criterion does not hold, or aime could not check a command or file
    /// that a person or the project asks for.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        let required = self.owner.needs_consent() && self.executable;
        match self.passed {
            Some(true) => None,
            Some(false) => Some(format!("{:?} does not hold: {}", self.criterion, self.reason)),
            None if required && self.how == CheckMethod::Unchecked => {
                Some(format!("{:?} was not checked: {}", self.criterion, self.reason))
            }
            None => None,
        }
    }
}
