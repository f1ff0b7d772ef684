//! Configuration: its settings and their sources.

mod check;
mod hooks;
mod load;
mod mcp;
mod network;
mod permissions;
mod places;
mod read;
mod redirected;
mod sandbox;
mod show;
mod undo;
mod web;

#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, path::PathBuf};

use aime_actors::ActorSettings;
use aime_llm::Effort;
use aime_orchestrator::{PlanRoute, Reflect, RunSettings};
use aime_planner::{Adaptive, BypassSettings, ClassifierSettings, GrowthSettings, PlanLimits, PlannerSettings, Strategy};
use aime_progress::{Check, CommandCheck, Criterion, Owner};
use aime_replan_triggers::{FrequencySettings, TriggerSettings};
use aime_tools::ModelClasses;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use hooks::{HookConfig, HooksConfig};
pub use load::{Loaded, check_each, load, read_alone};
pub use mcp::{McpConfig, McpLoadConfig, McpServerConfig};
pub use network::NetworkConfig;
pub use permissions::PermissionConfig;
pub use places::{Places, project_files};
pub use read::{ConfigFault, nearest, position};
pub use sandbox::{SandboxConfig, SandboxMode};
pub use show::show;
pub use undo::UndoConfig;
pub use web::{SearchConfig, SearchProviderConfig, WebConfig};

/// The commented settings that `aime config init` writes.
pub const TEMPLATE: &str = include_str!("../data/aime.toml");

/// Every setting, with its default.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Models by role or name. `default`, `planner` and `classifier` are roles; any other name can be chosen with --model, by a
    /// category or by a profile.
    pub models: BTreeMap<String, ModelConfig>,
    /// How goals are planned.
    pub planning: PlanningConfig,
    /// When a replan is wanted.
    pub triggers: TriggerSettings,
    /// How often one is allowed.
    pub frequency: FrequencySettings,
    /// The run and its bounds.
    pub run: RunConfig,
    /// How all actors behave.
    pub actors: ActorSettings,
    /// The tools.
    pub tools: ToolConfig,
    /// What each class of models is shown, and how its actors work.
    pub classes: ModelClasses,
    /// What earlier runs learnt, and a folder of documents.
    pub memory: MemoryConfig,
    /// What actors may do without asking, and which folders are trusted.
    pub permissions: PermissionConfig,
    /// What is secret beside what looks like it.
    pub secrets: SecretConfig,
    /// How processes are run.
    pub sandbox: SandboxConfig,
    /// Commands that see, change or block what a run does.
    pub hooks: HooksConfig,
    /// Commands that every run must pass, by name.
    pub checks: BTreeMap<String, CheckConfig>,
    /// Commands that check files after an edit, by patterns of their names.
    pub diagnostics: BTreeMap<String, String>,
    /// MCP servers, whose tools actors are given.
    pub mcp: McpConfig,
    /// What of the web actors may read.
    pub web: WebConfig,
    /// How much is kept of what runs do to files, so that it can be undone.
    pub undo: UndoConfig,
    /// Profiles, categories and prompts of one's own.
    pub extensions: ExtensionConfig,
    /// Models in this process.
    pub local: LocalConfig,
    /// What the command says to people.
    pub messages: MessageConfig,
}

/// A command that every run must pass.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum CheckConfig {
    /// It must end with exit code 0.
    Command(String),
    /// It must have another result.
    Expecting(CommandCheck),
}

impl CheckConfig {
    /// Returns the check as a completion criterion of the project.
    #[must_use]
    pub fn criterion(&self) -> Criterion {
        let check = match self {
            Self::Command(command) => CommandCheck::new(command.as_str()),
            Self::Expecting(check) => check.clone(),
        };
        Criterion { check: Check::Command(check), owner: Owner::Project }
    }
}

/// Who serves a model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Provider {
    /// OpenAI, or any server that speaks one of its protocols.
    #[default]
    Openai,
    /// Anthropic.
    Anthropic,
    /// Google's Gemini.
    Gemini,
    /// DeepSeek.
    Deepseek,
    /// OpenRouter.
    Openrouter,
    /// Mistral.
    Mistral,
    /// A model in this process.
    Local,
}

/// How requests are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProtocolConfig {
    /// By provider, address and model; the server may ask for another one.
    #[default]
    Auto,
    /// OpenAI's Responses.
    Responses,
    /// Chat completions.
    Chat,
    /// Anthropic's Messages.
    Messages,
    /// Gemini's generateContent.
    Gemini,
}

/// One model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ModelConfig {
    /// Who serves it.
    pub provider: Provider,
    /// How requests to it are written.
    #[serde(skip_serializing_if = "is_auto")]
    pub protocol: ProtocolConfig,
    /// The server's name for it; of a local one, its name in `aime models list`.
    pub model: String,
    /// The GGUF file of a local model of one's own, relative to the file that this stands in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// The server, such as `http://127.0.0.1:8080/v1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// The environment variable that holds the key. The key itself never stands in a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_key_env: Option<String>,
    /// Further request headers. They go to the server that the same file names, or to the provider's own.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Further members of the body of each request.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub extra_body: BTreeMap<String, Value>,
    /// How long it thinks before it answers; its own default when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// Whether it sees images; known models are looked up in the catalog, of others the server's answers tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub images: Option<bool>,
    /// Names of models that are asked when this one cannot be used.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fallback: Vec<String>,
    /// Tokens of request and answer together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_tokens: Option<u32>,
    /// Tokens of one answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u32>,
    /// Whether it is a small model, whose actors get few tools and a prompt of their own; of a local one its file tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub small: Option<bool>,
    /// Seconds without a byte from the server before a request is given up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<u64>,
    /// How often a failed request is tried again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_retries: Option<u32>,
    /// Prices, for the cost of a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prices: Option<PriceConfig>,
}

/// US dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PriceConfig {
    /// Tokens sent.
    pub input: f64,
    /// Tokens sent that were cached; the price of `input` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_input: Option<f64>,
    /// Tokens sent that were written into a cache; the price of `input` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
    /// Tokens received.
    pub output: f64,
    /// One search of the web that the provider makes; nothing when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<f64>,
}

const fn is_auto(protocol: &ProtocolConfig) -> bool {
    matches!(protocol, ProtocolConfig::Auto)
}

/// How goals are planned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PlanningConfig {
    /// Who plans: `auto`, the lead where its model is capable, or `rules`.
    pub route: PlanRoute,
    /// `always` plans every goal, `never` none, `adaptive` decides.
    pub strategy: Strategy,
    /// `auto`, `direct`, `simple`, `complex` or `emergent`.
    pub mode: ModeConfig,
    /// What happens when no plan passes: `category` lets one actor work on the goal, `none` ends the run.
    pub fallback: FallbackConfig,
    /// Whether plans of identical goals are used again while the process lives.
    pub cache: bool,
    /// How often the planner is asked before a simplified plan is tried.
    pub tries: u32,
    /// How freely plans and patches are thought of, 0 to 2.
    pub temperature: f32,
    /// How freely the first TODOs of an emergent plan are thought of, 0 to 2.
    pub first_todos_temperature: f32,
    /// When a goal is not planned at all.
    pub bypass: BypassSettings,
    /// What the rules count that tell simple goals from complex ones.
    pub classifier: ClassifierSettings,
    /// How large plans may be.
    pub limits: PlanLimits,
    /// When a complex plan is looked at between its tasks: `never`, `evidence` when something was learnt, `always`.
    pub adaptive: Adaptive,
    /// How an emergent plan grows.
    pub growth: GrowthSettings,
    /// When the end of a run is looked at before it counts as one: `never`, `criteria` where the plan names success criteria, `always`.
    pub reflect: Reflect,
    /// Time limit for the command of a criterion, in seconds: 1 to 600.
    #[schemars(range(min = 1, max = 600))]
    pub check_seconds: u32,
}

impl Default for PlanningConfig {
    fn default() -> Self {
        let planner = PlannerSettings::default();
        Self {
            route: PlanRoute::default(),
            strategy: Strategy::Adaptive,
            mode: ModeConfig::Auto,
            fallback: FallbackConfig::Category,
            cache: true,
            tries: planner.tries,
            temperature: planner.temperature,
            first_todos_temperature: planner.first_todos_temperature,
            bypass: BypassSettings::default(),
            classifier: ClassifierSettings::default(),
            limits: PlanLimits::default(),
            adaptive: Adaptive::default(),
            growth: GrowthSettings::default(),
            reflect: Reflect::default(),
            check_seconds: RunSettings::default().check_seconds,
        }
    }
}

/// How a goal is worked on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ModeConfig {
    /// The rules decide.
    Auto,
    /// One actor works on the goal.
    Direct,
    /// A list of tasks.
    Simple,
    /// A graph of tasks.
    Complex,
    /// The plan grows while it is carried out.
    Emergent,
}

/// What happens when no plan passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FallbackConfig {
    /// One actor of the category works on the goal.
    Category,
    /// The run ends.
    None,
}

/// The run and its bounds. An absent bound is no bound.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RunConfig {
    /// How many tasks run at once, at most.
    pub max_parallel: u32,
    /// The folders that tasks which run at once work in.
    pub isolation: aime_orchestrator::Isolation,
    /// Ignored files and folders that private copies of the working folder get.
    pub worktree: aime_orchestrator::WorktreeSettings,
    /// Tokens, sent and received.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cost_usd: Option<f64>,
    /// Seconds of work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_seconds: Option<u64>,
    /// Think-act steps of one actor, in the place of the bound of its model's class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_steps: Option<u32>,
    /// Tool calls.
    pub max_tool_calls: u64,
    /// Actors.
    pub max_actors: u32,
    /// Whether runs are shown as plain lines, also on a terminal.
    pub plain: bool,
    /// Characters of the project's `AGENTS.md` that stand in a prompt.
    pub project_chars: usize,
}

impl Default for RunConfig {
    fn default() -> Self {
        let bounds = aime_orchestrator::Bounds::default();
        Self {
            max_parallel: 3,
            isolation: aime_orchestrator::Isolation::default(),
            worktree: aime_orchestrator::WorktreeSettings::default(),
            max_tokens: None,
            max_cost_usd: None,
            max_seconds: None,
            max_steps: bounds.max_steps,
            max_tool_calls: bounds.max_tool_calls,
            max_actors: bounds.max_actors,
            plain: false,
            project_chars: 20_000,
        }
    }
}

/// The tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ToolConfig {
    /// Seconds that a bash command may take when it says nothing itself.
    pub bash_timeout_seconds: u64,
    /// Seconds that Python code may take when it says nothing itself.
    pub python_timeout_seconds: u64,
}

impl Default for ToolConfig {
    fn default() -> Self {
        Self { bash_timeout_seconds: 120, python_timeout_seconds: 30 }
    }
}

/// What earlier runs learnt, and a folder of documents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MemoryConfig {
    /// Whether runs recall what earlier ones learnt and what documents say, and are remembered.
    pub enabled: bool,
    /// A folder of documents, relative to the file that this stands in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub knowledge: Option<PathBuf>,
    /// Memories that a run recalls, at most.
    pub recall: usize,
    /// Pieces of documents that a run retrieves, at most.
    pub chunks: usize,
    /// Tokens of one piece, about.
    pub chunk_tokens: u64,
    /// Tokens of a prompt that memories take, at most.
    pub memory_tokens: u64,
    /// Tokens of a prompt that pieces of documents take, at most.
    pub knowledge_tokens: u64,
    /// Memories that are kept; one more, and the one is forgotten that was written or recalled longest ago.
    pub max_entries: usize,
}

impl Default for MemoryConfig {
    fn default() -> Self {
        let prompt = aime_memory::PromptBounds::default();
        Self {
            enabled: true,
            knowledge: None,
            recall: 3,
            chunks: 3,
            chunk_tokens: aime_memory::KnowledgeSettings::default().chunk_tokens,
            memory_tokens: prompt.memory_tokens,
            knowledge_tokens: prompt.knowledge_tokens,
            max_entries: aime_memory::MemorySettings::default().max_entries,
        }
    }
}

/// What is secret beside what looks like it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SecretConfig {
    /// Environment variables whose values nobody must see, though their names do not say so. Those that settings name as keys and tokens, and
    /// those that look like one, are secret anyway.
    pub environment: Vec<String>,
}

/// Profiles, categories and prompts of one's own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ExtensionConfig {
    /// Folders that hold `profiles/*.toml`, `categories/*.toml` and `prompts/*.md`, read after the user's own. A path is relative to
    /// the file that it stands in.
    pub folders: Vec<PathBuf>,
}

/// What the command says to people. What programs read is English.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MessageConfig {
    /// `en`, `zh`, or `auto` for what `LC_ALL`, `LC_MESSAGES` or `LANG` says.
    pub language: LanguageChoice,
}

/// The language of messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LanguageChoice {
    /// The locale of the environment.
    #[default]
    Auto,
    /// English.
    En,
    /// Chinese, in simplified characters.
    Zh,
}

/// Models in this process.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LocalConfig {
    /// Whether no model may be fetched.
    pub offline: bool,
    /// The most megabytes that one model may take, with what it keeps of earlier prompts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_mb: Option<u64>,
    /// Threads that compute; as many as there are cores when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<usize>,
}
