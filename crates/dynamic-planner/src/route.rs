//! Routing: decides if a goal goes straight to an actor, and otherwise how it is planned.
//!
//! [`route`] decides by rules alone. If they are unsure, [`ask_route`](crate::ask_route) asks a model.

mod category;
mod classify;
mod keywords;
#[cfg(test)]
mod tests;

use aime_messages::{Message, message};
use aime_progress_management::PlanMode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use category::{Category, CategoryError, DEFAULT_CATEGORIES, default_categories, read_categories};
pub(crate) use category::{CategoryMatch, match_category};
pub use classify::{ClassifierSettings, Signals, Stage1, Stage1Verdict, classify};

/// Choice of the goals that are planned.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// Every goal.
    Always,
    /// Goals that the rules do not send straight to an actor.
    #[default]
    Adaptive,
    /// No goal: every goal goes to the actor of its category.
    Never,
}

/// Conditions under which a goal goes straight to an actor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BypassSettings {
    /// Maximum length of such a goal; a character of a dense script counts [more than one](ClassifierSettings::cjk_weight).
    pub max_input_length: usize,
    /// True if goals that work on one named file go straight to an actor.
    pub single_file: bool,
    /// True if goals that clearly match a category go straight to an actor.
    pub clear_category: bool,
}

impl Default for BypassSettings {
    fn default() -> Self {
        Self { max_input_length: 100, single_file: true, clear_category: true }
    }
}

/// Settings for the routing of goals.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RouteSettings {
    /// Choice of the goals that are planned.
    pub strategy: Strategy,
    /// Mode for all goals; overrides every other rule.
    pub mode: Option<PlanMode>,
    /// Conditions under which a goal goes straight to an actor.
    pub bypass: BypassSettings,
    /// Points and thresholds of the first stage of the classifier.
    pub classifier: ClassifierSettings,
}

/// The chosen mode for a goal, with reasons.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RouteDecision {
    /// The mode.
    pub mode: PlanMode,
    /// Source of the decision: `flag`, `strategy`, `bypass`, `rules` or `model`.
    pub by: String,
    /// Score of the rules, if they were used.
    pub score: Option<i32>,
    /// The goal's category.
    pub category: String,
    /// The reasons.
    pub reasons: Vec<Message>,
}

/// A goal that the rules cannot decide.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndecidedGoal {
    /// Score of the rules: 0 or 1 by default.
    pub score: i32,
    /// The goal's category.
    pub category: String,
    /// Reasons for the score.
    pub reasons: Vec<Message>,
}

/// Result of [`route`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Route {
    /// The mode is chosen.
    Decided(RouteDecision),
    /// A model must choose between simple and complex.
    AskModel(UndecidedGoal),
}

/// Chooses the mode for a goal by settings and rules, without a model.
///
/// # Example
/// ```
/// use aime_dynamic_planner::{Route, RouteSettings, default_categories, progress::PlanMode, route};
///
/// let Route::Decided(routed) = route("Fix the typo in README.md", &RouteSettings::default(), &default_categories()) else {
///     unreachable!("a short goal needs no model");
/// };
/// assert_eq!(routed.mode, PlanMode::Direct);
/// ```
#[must_use]
pub fn route(goal: &str, settings: &RouteSettings, categories: &[Category]) -> Route {
    let category = match_category(goal, categories);
    let decided = |mode, by: &str, score, reasons| {
        Route::Decided(RouteDecision { mode, by: by.to_owned(), score, category: category.name.clone(), reasons })
    };
    if let Some(mode) = settings.mode {
        return decided(mode, "flag", None, vec![message!("route-mode")]);
    }
    if settings.strategy == Strategy::Never {
        return decided(PlanMode::Direct, "strategy", None, vec![message!("route-never")]);
    }
    let stage1 = classify(goal, &settings.classifier);
    let score = Some(stage1.score);
    if settings.strategy == Strategy::Adaptive && !stage1.needs_plan() {
        let reasons = bypass(&settings.bypass, &stage1.signals, &category);
        if !reasons.is_empty() {
            return decided(PlanMode::Direct, "bypass", score, reasons);
        }
    }
    match stage1.verdict {
        Stage1Verdict::Exploratory => decided(PlanMode::Emergent, "rules", score, stage1.reasons),
        Stage1Verdict::Simple => decided(PlanMode::Simple, "rules", score, stage1.reasons),
        Stage1Verdict::Complex => decided(PlanMode::Complex, "rules", score, stage1.reasons),
        Stage1Verdict::Unsure => Route::AskModel(UndecidedGoal { score: stage1.score, category: category.name, reasons: stage1.reasons }),
    }
}

/// Returns the reasons why a goal needs no plan; empty if it needs one.
fn bypass(settings: &BypassSettings, signals: &Signals, category: &CategoryMatch) -> Vec<Message> {
    let mut reasons = Vec::new();
    if signals.length <= settings.max_input_length {
        reasons.push(message!("route-short", length = signals.length, limit = settings.max_input_length));
    }
    if settings.single_file && signals.is_single_file() {
        reasons.push(message!("route-file", files = signals.files.join(", ")));
    }
    if settings.clear_category && category.clear {
        reasons.push(message!("route-clearly", category = category.name, words = category.keywords.join(", ")));
    }
    reasons
}
