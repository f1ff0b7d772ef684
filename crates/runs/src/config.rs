//! Configuration: its settings and their sources.

mod agents;
mod check;
mod combine;
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

use aime_actor_factory::ActorSettings;
use aime_dynamic_planner::{Adaptive, BypassSettings, ClassifierSettings, GrowthSettings, PlanLimits, PlannerSettings, Strategy};
use aime_llm::Effort;
use aime_orchestrator::{PlanRoute, Reflect, RunSettings};
use aime_progress_management::{Check, CommandCheck, Criterion, Owner};
use aime_replan_triggers::{FrequencySettings, TriggerSettings};
use aime_tools::ModelClasses;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use agents::{AgentConfig, ProfileConfig};
pub use hooks::{HookConfig, HooksConfig};
pub use load::{Loaded, check_each, load, read_alone};
pub use mcp::{McpConfig, McpLoadConfig, McpServerConfig};
pub use network::NetworkConfig;
pub use permissions::PermissionConfig;
pub use places::{Places, project_files};
pub use read::{ConfigFault, position};
pub use sandbox::{SandboxConfig, SandboxMode};
pub use show::show;
pub use undo::UndoConfig;
pub use web::{SearchConfig, SearchProviderConfig, WebConfig};

/// The commented settings that `aime config init` writes.
pub const TEMPLATE: &str = include_str!("../data/aime.toml");

/// All settings with their defaults.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Models by role or name. `default`, `planner` and `classifier` are roles; --model, a category or a profile can choose any other
    /// name.
    pub models: BTreeMap<String, ModelConfig>,
    /// Settings for planning.
    pub planning: PlanningConfig,
    /// Conditions for a replan.
    pub triggers: TriggerSettings,
    /// Limits on the frequency of replans.
    pub frequency: FrequencySettings,
    /// Settings and bounds of a run.
    pub run: RunConfig,
    /// Settings of all actors.
    pub actors: ActorSettings,
    /// Profiles whose tasks external agents do, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub profiles: BTreeMap<String, ProfileConfig>,
    /// Settings of the tools.
    pub tools: ToolConfig,
    /// Settings of each class of models and of its actors.
    pub classes: ModelClasses,
    /// Memory of earlier runs, and a folder of documents.
    pub memory: MemoryConfig,
    /// Rules for calls without consent, and trusted folders.
    pub permissions: PermissionConfig,
    /// Additional secrets, beside values that look like one.
    pub secrets: SecretConfig,
    /// Settings for the confinement of processes.
    pub sandbox: SandboxConfig,
    /// Commands that observe, change or block steps of a run.
    pub hooks: HooksConfig,
    /// Commands that every run must pass, by name.
    pub checks: BTreeMap<String, CheckConfig>,
    /// Commands that check files after an edit, by patterns of their names.
    pub diagnostics: BTreeMap<String, String>,
    /// MCP servers whose tools actors can use.
    pub mcp: McpConfig,
    /// Web access of actors.
    pub web: WebConfig,
    /// Limits on the data that is kept to undo changes of files.
    pub undo: UndoConfig,
    /// The user's own profiles, categories and prompts.
    pub extensions: ExtensionConfig,
    /// Settings of models that run in this process.
    pub local: LocalConfig,
    /// Messages of the command to people.
    pub messages: MessageConfig,
}

/// A command that every run must pass.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum CheckConfig {
    /// Command that must end with exit code 0.
    Command(String),
    /// Command that must have another result.
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

/// Provider of a model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Provider {
    /// OpenAI, or any server that supports one of its protocols.
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
    /// A model that runs in this process.
    Local,
}

/// Protocol of the requests to a model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProtocolConfig {
    /// Chosen by provider, address and model; the server may demand another one.
    #[default]
    Auto,
    /// OpenAI's Responses API.
    Responses,
    /// Chat completions.
    Chat,
    /// Anthropic's Messages.
    Messages,
    /// Gemini's generateContent.
    Gemini,
}

/// Settings of one model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ModelConfig {
    /// Provider of the model.
    pub provider: Provider,
    /// Protocol of its requests.
    #[serde(skip_serializing_if = "is_auto")]
    pub protocol: ProtocolConfig,
    /// Name of the model on its server; for a local model, its name in `aime models list`.
    pub model: String,
    /// GGUF file of the user's own local model, relative to the file of this setting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// Address of the server, such as `http://127.0.0.1:8080/v1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// Environment variable that holds the key. The key itself must not be in a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_key_env: Option<String>,
    /// Additional request headers. They are sent to the server that the same file names, or to the provider's own.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Additional members of each request's body.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub extra_body: BTreeMap<String, Value>,
    /// Reasoning effort before an answer; the model's own default if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// True if the model accepts images. If absent, the catalog decides for known models, and the server's answers for others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub images: Option<bool>,
    /// Names of models to use if this one is unavailable.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fallback: Vec<String>,
    /// Size of the context window in tokens, request and answer together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_tokens: Option<u32>,
    /// Maximum number of tokens of one answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u32>,
    /// True for a small model, whose actors get few tools and a prompt of their own; for a local model its file decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub small: Option<bool>,
    /// Seconds without a byte from the server after which a request is abandoned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<u64>,
    /// Number of retries of a failed request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_retries: Option<u32>,
    /// Prices for the cost of a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prices: Option<PriceConfig>,
}

/// Prices in US dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PriceConfig {
    /// Price of tokens sent.
    pub input: f64,
    /// Price of cached tokens sent; the price of `input` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_input: Option<f64>,
    /// Price of tokens sent that are written into a cache; the price of `input` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
    /// Price of tokens received.
    pub output: f64,
    /// Price of one web search by the provider; 0 if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<f64>,
}

const fn is_auto(protocol: &ProtocolConfig) -> bool {
    matches!(protocol, ProtocolConfig::Auto)
}

/// Settings for planning.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PlanningConfig {
    /// Planner: `auto`, the lead if its model is capable, or `rules`.
    pub route: PlanRoute,
    /// Choice of the goals to plan: `always` every goal, `never` none, `adaptive` by rules.
    pub strategy: Strategy,
    /// Mode of planning: `auto`, `direct`, `simple`, `complex` or `emergent`.
    pub mode: ModeConfig,
    /// Fallback if no plan is acceptable: with `category` one actor works on the goal, `none` ends the run.
    pub fallback: FallbackConfig,
    /// True if plans are kept in `.aime/plans/`: identical goals reuse them, and similar goals get them as examples.
    pub cache: bool,
    /// Number of planner answers before a simplified plan is tried.
    pub max_attempts: u32,
    /// Temperature for plans and patches, 0 to 2.
    pub temperature: f32,
    /// Temperature for the first TODOs of an emergent plan, 0 to 2.
    pub first_todos_temperature: f32,
    /// Conditions under which a goal is not planned.
    pub bypass: BypassSettings,
    /// Points and thresholds of the rules that distinguish simple goals from complex ones.
    pub classifier: ClassifierSettings,
    /// Size limits of plans.
    pub limits: PlanLimits,
    /// Review of a complex plan between its tasks: `never`, `evidence` if there are new findings, `always`.
    pub adaptive: Adaptive,
    /// Settings for the growth of an emergent plan.
    pub growth: GrowthSettings,
    /// Verification at the end of a run: `never`, `criteria` if the plan names success criteria, `always`.
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
            max_attempts: planner.max_attempts,
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

/// Mode in which a goal is worked on.
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

/// Fallback if no plan is acceptable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FallbackConfig {
    /// One actor of the category works on the goal.
    Category,
    /// The run ends.
    None,
}

/// Settings and bounds of a run. An absent bound means no bound.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RunConfig {
    /// Maximum number of tasks that run at once.
    pub max_parallel: u32,
    /// Working folders of tasks that run at once.
    pub isolation: aime_orchestrator::Isolation,
    /// Ignored files and folders that private copies of the working folder get.
    pub worktree: aime_orchestrator::WorktreeSettings,
    /// Maximum number of tokens sent and received.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// Maximum cost in US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cost_usd: Option<f64>,
    /// Maximum seconds of work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_seconds: Option<u64>,
    /// Maximum number of think-act steps of one actor; replaces the bound of its model's class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_steps: Option<u32>,
    /// Maximum number of tool calls.
    pub max_tool_calls: u64,
    /// Maximum number of actors.
    pub max_actors: u32,
    /// True if runs are shown as plain lines even on a terminal.
    pub plain: bool,
    /// Maximum number of characters of the project's `AGENTS.md` in a prompt.
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

/// Settings of the tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ToolConfig {
    /// Default time limit of a bash command, in seconds.
    pub bash_timeout_seconds: u64,
    /// Default time limit of Python code, in seconds.
    pub python_timeout_seconds: u64,
}

impl Default for ToolConfig {
    fn default() -> Self {
        Self { bash_timeout_seconds: 120, python_timeout_seconds: 30 }
    }
}

/// Memory of earlier runs, and a folder of documents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MemoryConfig {
    /// True if runs recall the findings of earlier runs and the contents of documents, and are remembered.
    pub enabled: bool,
    /// Folder of documents, relative to the file of this setting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub knowledge: Option<PathBuf>,
    /// Maximum number of memories that a run recalls.
    pub recall: usize,
    /// Maximum number of document passages that a run retrieves.
    pub chunks: usize,
    /// Approximate number of tokens of one passage.
    pub chunk_tokens: u64,
    /// Maximum number of tokens of memories in a prompt.
    pub memory_tokens: u64,
    /// Maximum number of tokens of document passages in a prompt.
    pub knowledge_tokens: u64,
    /// Maximum number of memories. One more replaces the memory that was written or recalled longest ago.
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

/// Additional secrets, beside values that look like one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SecretConfig {
    /// Environment variables with secret values whose names do not show it. Variables that settings name as keys and tokens, and
    /// those that look like one, are secret anyway.
    pub environment: Vec<String>,
}

/// The user's own profiles, categories and prompts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ExtensionConfig {
    /// Folders with `profiles/*.toml`, `categories/*.toml` and `prompts/*.md`, read after the user's own. A path is relative to the
    /// file of this setting.
    pub folders: Vec<PathBuf>,
}

/// Messages of the command to people. Output for programs is in English.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MessageConfig {
    /// Language: `en`, `zh`, or `auto` for the one in `LC_ALL`, `LC_MESSAGES` or `LANG`.
    pub language: LanguageChoice,
}

/// Language of messages.
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

/// Settings of models that run in this process.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LocalConfig {
    /// True if no model may be downloaded.
    pub offline: bool,
    /// Maximum memory of one model in megabytes, including its cache of earlier prompts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_mb: Option<u64>,
    /// Number of compute threads; the number of cores if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<usize>,
}
