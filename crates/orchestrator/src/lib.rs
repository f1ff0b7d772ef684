//! Runs a goal to its answer: plan, schedule, watch, replan, answer.
//!
//! [`Orchestrator::run`] executes a goal, [`Orchestrator::plan`] only plans it, and [`Orchestrator::resume`] continues a run
//! after a stop, a crash or an answer. [`RunMachine`] makes the decisions. It is a pure state machine: its inputs are
//! [`RunFact`]s, its outputs [`RunEffect`]s and progress events, and it needs no host.
//!
//! ```
//! # use aime_orchestrator::{Orchestrator, llm::scripted::{Reply, ScriptedModel, When}, tools::{ToolContext, ToolOutput, TypedTool}};
//! # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let (folder, terminate) = (tempfile::tempdir()?, serde_json::json!({"status": "success", "message": "Noon."}));
//! # let model = ScriptedModel::new("m").on(When::tools(), [Reply::call("terminate", terminate)]);
//! let clock = TypedTool::new("clock", "Tells the time.", |_: (), _: ToolContext| async { Ok(ToolOutput::text("noon")) });
//! let orchestrator = Orchestrator::builder(model).tool(clock.read_only()).folder(folder.path()).build()?;
//! let result = orchestrator.run("Tell me the time").await?;
//! assert_eq!(result.answer, "Noon.");
//! # Ok(()) }
//! ```

mod brief;
mod budget;
mod builder;
mod check;
mod conversation;
mod criteria;
mod criteria_lines;
mod effect;
mod external;
mod fact;
mod found_programs;
mod history;
mod hooks;
mod human;
mod inbox;
mod kept_plans;
mod machine;
mod memory;
mod messages;
mod models;
mod next_step;
mod orchestrator;
mod parts;
mod profile_briefs;
mod project;
mod publish;
mod questions;
mod request;
mod result;
mod run_context;
mod run_status;
mod runner;
mod settings;
mod snapshots;
mod stats;
mod trace;
mod transient_workspace;
mod undelivered_reports;
mod view;

/// The crates whose types are part of this crate's API.
pub use {
    aime_actor_factory as actors, aime_durable as durable, aime_dynamic_planner as planner, aime_llm as llm,
    aime_progress_management as progress, aime_sandbox as sandbox, aime_tools as tools, aime_undo as undo,
};

pub use aime_work_tree::git_version;

pub use brief::{ActorBrief, ActorContinuation};

pub use builder::{BuildError, OrchestratorBuilder};
pub use check::{Finding, RunCheck, RunPart, check_published, check_run};

pub(crate) use budget::{Budget, BudgetError};
pub use conversation::LeadConversation;
pub(crate) use criteria::read_criterion;
pub use effect::{LeadWakeOrder, RunEffect};
pub use external::{AgentOrder, ExternalAgents};
pub use fact::{
    ActorReport, ChosenRoute, CriterionResult, FoundConflict, KnownContext, ModelUse, Planning, RefusedAnswer, Replanning, RunFact,
};
pub use history::{fork, fork_facts, state_at};
pub use hooks::{
    CommandHook, CommandHookSettings, Hook, HookAnswer, HookError, HookEvent, HookFolder, HookMessage, HookPayload, HookPoint,
    HookSettingsError, HookToolResult, Hooks, ToolPatterns,
};
pub use human::{HumanChannel, HumanQuestion, NoHuman};
pub use inbox::InboxMessage;
pub use kept_plans::KeptPlans;
pub use machine::{FailureCode, RunFailure, RunMachine, RunOutput, lead::main_id, withdrawal};
pub use memory::{RunMemory, RunMemorySettings};
pub use models::Models;
pub use next_step::NextStep;
pub use orchestrator::{Orchestrator, OrchestratorError, PlanResult};
pub(crate) use parts::Parts;
pub use profile_briefs::profile_briefs;
pub use project::ProjectInstructions;
pub use publish::PublishedEvent;
pub use request::{MAX_GOAL_IMAGES, RunControl, RunRequest, new_run_id};
pub use result::{CriterionOutcome, RunResult, TaskResult};
pub use run_context::{ActorMessage, RunContext};
pub use run_status::{RunStatusView, run_status};
pub use runner::{
    actor::delegation_result,
    answer::{AnswerPrompt, MissingPlaceholder},
    evidence::CallRecord,
    kept_files::task_with_descendants,
    private::{conflict_criterion_result, private_workspaces_dir},
    remote::{ActorOrder, CreatedActor, CreatedDelegate, EndedAttempt, PreparedLeadWake, RemoteEffects},
};
pub(crate) use settings::RunInput;
pub use settings::{Bounds, Isolation, LeadPolicy, PlanRoute, Reflect, RunSettings, WorktreeSettings};
pub use snapshots::facts_to_next_snapshot;
pub use stats::{RunStats, stats};
pub use trace::TraceParents;
pub use transient_workspace::{TransientWorkspace, WorkspaceError, WorkspaceLease};
pub use view::{RunView, view, view_from_facts};

#[doc = include_str!("../README.md")]
#[cfg(doctest)]
struct Readme;
