//! Makes validated plans from goals, and patches for plans that need a change.
//!
//! [`route`] chooses the mode of a plan, [`Planner::plan`] asks a model for the plan and checks it in layers
//! ([`PlanChecker`]), [`Planner::replan`] asks for a patch, [`verdict`] asks if criteria hold. A capable model instead
//! leads the run in one conversation: [`lead_tools`] are its tools, [`wake_message`] reports changes to it. No answer
//! of a model is trusted: it is parsed leniently, checked strictly, and requested again with every fault.
//!
//! ```
//! use aime_dynamic_planner::{PlanChecker, parse_plan};
//!
//! let answer = r#"Sure! ```json
//! {"plan": {"steps": [
//!   {"id": 1, "title": "Read notes.txt", "depends_on": []},
//!   {"id": 2, "title": "Write summary.txt", "depends_on": [1]},
//! ]}}
//! ```"#;
//! let checked = PlanChecker::default().check(answer).unwrap();
//! assert_eq!(checked.plan.tasks[1].dependencies[0].as_str(), "1");
//! assert!(!checked.repairs.is_empty()); // every repair is reported
//! ```

mod audit;
mod cache;
mod changed_file;
mod classifier;
mod diagram;
mod draft;
mod fault;
mod growth;
mod lead;
mod metrics;
mod parse;
mod planner;
mod prompt;
mod route;
mod schema;
mod spent;
mod validate;
mod verdict;

/// The crates whose types are part of this crate's API, so that its users need no other dependency.
pub use {aime_llm as llm, aime_progress_management as progress};

pub use audit::{AuditBrief, AuditPrompt};
pub use cache::{KeptPlan, PlanCache, PlanKey};
pub use changed_file::ChangedFile;
pub use classifier::{RouteAnswer, ask_route};
pub use diagram::{dot, mermaid};
pub use fault::{PlanFault, PlanProblem};
pub use growth::{Adaptive, Growth, GrowthSettings, Room, check_update};
pub use lead::{
    BudgetLeft, BundleBrief, LeadBrief, LeadMemory, LeadPrompt, PlanRules, PlanTool, TaskChanges, UnsolicitedMessage, Wake, WakeKind,
    kept_words, lead_tools, parse_command, read_result, wake_message,
};
pub use metrics::PlanningMetrics;
pub use parse::{ParsedPatch, ParsedPlan, parse_patch, parse_plan, patch_from_value};
pub use planner::{
    Fallback, PlanRequest, Planned, Planner, PlannerError, PlannerSettings, ReplanRequest, ReplanResult, ReusedPlan, direct_plan,
};
pub use prompt::{PlanExample, PlanTools, PlannerPromptError, ProfileBrief, Prompts, ToolLine};
pub use route::{
    BypassSettings, Category, CategoryError, ClassifierSettings, DEFAULT_CATEGORIES, Route, RouteDecision, RouteSettings, Signals, Stage1,
    Stage1Verdict, Strategy, UndecidedGoal, classify, default_categories, read_categories, route,
};
pub use validate::{CheckedPlan, PlanChecker, PlanLimits, PlanValidator};
pub use verdict::{CostedVerdict, Verdict, verdict};

#[doc = include_str!("../README.md")]
#[cfg(doctest)]
struct Readme;
