//! From a goal to its answer: plan, schedule, watch, replan, answer.
//!
//! [`Orchestrator::run`] carries a goal out, [`Orchestrator::plan`] stops once its plan stands, and [`Orchestrator::resume`] goes on after a stop, a crash or an answer; [`Parts`] is what
//! they work with. The decisions are those of [`RunMachine`], a pure state machine: it learns from [`RunFact`]s, answers with
//! [`RunEffect`]s and progress events, and can be driven without any host.
//!
//! ```
//! use aime_durable::{Machine, Order, Outbox};
//! use aime_orchestrator::{RunEffect, RunInput, RunMachine, RunSettings};
//! use aime_tools::{PermissionRules, RuleLists};
//!
//! let plan = serde_json::from_value(serde_json::json!({"tasks": [
//!     {"id": "a", "kind": "actor", "description": "Do this"},
//!     {"id": "b", "kind": "actor", "description": "Do that", "dependencies": ["a"]},
//! ]}))?;
//! let input = RunInput {
//!     run: "first".parse()?,
//!     plan_id: "first".parse()?,
//!     goal: "Both".into(),
//!     images: vec![],
//!     plan: Some(plan),
//!     can_plan: true,
//!     has_memory: false,
//!     tells_every_end: true,
//!     lists_apart: true,
//!     keeps_unused: true,
//!     plan_only: false,
//!     planning: vec![],
//!     settings: RunSettings::default(),
//!     rules: PermissionRules::at("/work", RuleLists::default())?,
//!     tools: vec![],
//! };
//! let mut out = Outbox::default();
//! let run = RunMachine::start(0, &input, &mut out);
//! let begun = out.orders().iter().filter(|order| matches!(order, Order::Issue(_, RunEffect::StartActor { .. })));
//! assert_eq!(begun.count(), 1); // b waits for a
//! assert_eq!(run.state().tasks.len(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod brief;
mod budget;
mod check;
mod criteria;
mod effect;
mod fact;
mod history;
mod hooks;
mod human;
mod inbox;
mod kept_plans;
mod machine;
mod memory;
mod models;
mod orchestrator;
mod parts;
mod passing;
mod project;
mod publish;
mod questions;
mod request;
mod result;
mod runner;
mod settings;
mod snapshots;
mod so_far;
mod standing;
mod stats;
mod unheard;
mod view;
mod words;

/// The crates whose types stand in this one's, so that one import is enough to bring a model and tools and to read a plan and a result.
pub use {aime_llm as llm, aime_progress as progress, aime_tools as tools, aime_undo as undo};

pub use brief::ActorBrief;
pub use budget::{Budget, BudgetError, Estimate, Reservation};
pub use check::{Finding, Place, RUN_CHECK_SCHEMA, RunCheck, check_run, check_told};
pub use criteria::{FileCriterion, read_criterion};
pub use effect::RunEffect;
pub use fact::{
    ActorReport, ChosenRoute, CriterionResult, FileChange, KnownContext, ModelUse, Planning, RefusedAnswer, Replanning, RunFact,
};
pub use history::{fork, forked, state_at};
pub use hooks::{
    CommandHook, CommandHookSettings, HOOK_SCHEMA, Hook, HookAct, HookAnswer, HookDeed, HookError, HookEvent, HookMessage, HookPayload,
    HookPoint, HookSettingsError, HookToolResult, Hooks, ToolPatterns,
};
pub use human::{HumanChannel, HumanQuestion, NobodyThere};
pub use inbox::InboxMessage;
pub use kept_plans::KeptPlans;
pub use machine::{FailureCode, RunFailure, RunMachine, RunOutput};
pub use memory::{RunMemory, RunMemorySettings};
pub use models::Models;
pub use orchestrator::{Orchestrator, OrchestratorError, PlanResult};
pub use parts::{Parts, PartsError};
pub use passing::{FolderTurn, PassingFolder};
pub use project::ProjectWords;
pub use publish::PublishedEvent;
pub use request::{MAX_GOAL_IMAGES, RunControl, RunRequest};
pub use result::{RESULT_SCHEMA, ResultError, RunResult, TaskResult};
pub use runner::{
    actor::delegated,
    answer::{AnswerPrompt, NoFacts},
    apart::{ActorOrder, Apart, Attempted, MadeActor, MadeBelow},
    evidence::CallRecord,
    kept_files::with_children,
};
pub use settings::{Bounds, EagerStart, Reflect, RunInput, RunSettings};
pub use snapshots::SNAPSHOT_FACTS;
pub use so_far::RunSoFar;
pub use standing::{RunStanding, standing};
pub use stats::{RunStats, stats};
pub use view::{RunView, view, view_of};

#[doc = include_str!("../README.md")]
#[cfg(doctest)]
struct Readme;
