//! What an orchestrator works with. Everything that meets the world is handed in.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex},
};

use aime_actors::ActorFactory;
use aime_durable::{Clock, Journal};
use aime_llm::Tiers;
use aime_planner::{Category, PlanCache, PlannerSettings, Prompts, RouteSettings};
use aime_tools::{ToolContext, ToolRegistry};

use crate::{AnswerPrompt, HumanChannel, Models};

/// The parts of an orchestrator.
#[derive(Clone)]
pub struct Parts {
    /// The journal of all runs.
    pub journal: Journal,
    /// Where runs keep what is large, and snapshots: `.aime`.
    pub keep: PathBuf,
    /// The models; without them only plans of tool tasks can run.
    pub models: Option<Models>,
    /// The tools.
    pub tools: Arc<ToolRegistry>,
    /// Where and how tools run.
    pub tool_context: ToolContext,
    /// Makes actors.
    pub actors: Arc<ActorFactory>,
    /// The categories of goals.
    pub categories: Vec<Category>,
    /// How goals are routed.
    pub route: RouteSettings,
    /// How plans are asked for.
    pub planner: PlannerSettings,
    /// The planner's prompts.
    pub prompts: Arc<Prompts>,
    /// The prompt of final answers.
    pub answer_prompt: AnswerPrompt,
    /// What each model's server can do, as far as it is known.
    pub tiers: Arc<Tiers>,
    /// Plans of goals that come again, if they are to be kept.
    pub plan_cache: Option<Arc<Mutex<PlanCache>>>,
    /// What the project says of itself, such as its `AGENTS.md`; may be empty.
    pub project: String,
    /// How people are asked.
    pub human: Arc<dyn HumanChannel>,
    /// The time.
    pub clock: Arc<dyn Clock>,
}
