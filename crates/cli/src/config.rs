//! The configuration: what it holds, where it comes from.

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
use aime_orchestrator::{EagerStart, Reflect};
use aime_planner::{Adaptive, BypassSettings, ClassifierSettings, GrowthSettings, PlanLimits, PlannerSettings, Strategy};
use aime_replan_triggers::{FrequencySettings, TriggerSettings};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::words::LanguageChoice;

pub(crate) use hooks::{HookConfig, HooksConfig};
pub(crate) use load::{Loaded, check_each, load, read_alone};
pub(crate) use mcp::McpConfig;
#[cfg(feature = "mcp")]
pub(crate) use mcp::{McpLoadConfig, McpServerConfig};
pub(crate) use network::NetworkConfig;
pub(crate) use permissions::PermissionConfig;
pub(crate) use places::{Environment, Places, project_files};
pub(crate) use read::{ConfigFault, nearest, position};
pub(crate) use sandbox::{SandboxConfig, SandboxMode};
pub(crate) use show::show;
pub(crate) use undo::UndoConfig;
#[cfg(feature = "web")]
pub(crate) use web::SearchProviderConfig;
pub(crate) use web::WebConfig;

/// The commented settings that `aime config init` writes.
pub(crate) const TEMPLATE: &str = include_str!("../data/aime.toml");

/// Every setting, with its default.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Config {
    /// Models by role or name. `default`, `planner` and `classifier` are roles; any other name can be chosen with --model, by a
    /// category or by a profile.
    pub(crate) models: BTreeMap<String, ModelConfig>,
    /// How goals are planned.
    pub(crate) planning: PlanningConfig,
    /// When a replan is wanted.
    pub(crate) triggers: TriggerSettings,
    /// How often one is allowed.
    pub(crate) frequency: FrequencySettings,
    /// The run and its bounds.
    pub(crate) run: RunConfig,
    /// How all actors behave.
    pub(crate) actors: ActorSettings,
    /// The tools.
    pub(crate) tools: ToolConfig,
    /// What earlier runs learnt, and a folder of documents.
    pub(crate) memory: MemoryConfig,
    /// What actors may do without asking, and which folders are trusted.
    pub(crate) permissions: PermissionConfig,
    /// What is secret beside what looks like it.
    pub(crate) secrets: SecretConfig,
    /// How processes are run.
    pub(crate) sandbox: SandboxConfig,
    /// Commands that see, change or block what a run does.
    pub(crate) hooks: HooksConfig,
    /// MCP servers, whose tools actors are given.
    pub(crate) mcp: McpConfig,
    /// What of the web actors may read.
    pub(crate) web: WebConfig,
    /// How much is kept of what runs do to files, so that it can be undone.
    pub(crate) undo: UndoConfig,
    /// Profiles, categories and prompts of one's own.
    pub(crate) extensions: ExtensionConfig,
    /// Models in this process.
    pub(crate) local: LocalConfig,
    /// What the command says to people.
    pub(crate) messages: MessageConfig,
}

/// Who serves a model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Provider {
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
pub(crate) enum ProtocolConfig {
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
pub(crate) struct ModelConfig {
    /// Who serves it.
    pub(crate) provider: Provider,
    /// How requests to it are written.
    #[serde(skip_serializing_if = "is_auto")]
    pub(crate) protocol: ProtocolConfig,
    /// The server's name for it; of a local one, its name in `aime models list`.
    pub(crate) model: String,
    /// The GGUF file of a local model of one's own, relative to the file that this stands in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) path: Option<PathBuf>,
    /// The server, such as `http://127.0.0.1:8080/v1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) base_url: Option<String>,
    /// The environment variable that holds the key. The key itself never stands in a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) api_key_env: Option<String>,
    /// Further request headers. They go to the server that the same file names, or to the provider's own.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) headers: BTreeMap<String, String>,
    /// Further members of the body of each request.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) extra_body: BTreeMap<String, Value>,
    /// How long it thinks before it answers; its own default when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) effort: Option<Effort>,
    /// Whether it sees images; known models are looked up in the catalog, of others the server's answers tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) images: Option<bool>,
    /// Names of models that are asked when this one cannot be used.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) fallback: Vec<String>,
    /// Tokens of request and answer together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) context_tokens: Option<u32>,
    /// Tokens of one answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_output_tokens: Option<u32>,
    /// Whether it is a small model, whose actors get few tools and a prompt of their own; of a local one its file tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) small: Option<bool>,
    /// Seconds without a byte from the server before a request is given up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) timeout_seconds: Option<u64>,
    /// How often a failed request is tried again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_retries: Option<u32>,
    /// Prices, for the cost of a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) prices: Option<PriceConfig>,
}

/// US dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PriceConfig {
    /// Tokens sent.
    pub(crate) input: f64,
    /// Tokens sent that were cached; the price of `input` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cached_input: Option<f64>,
    /// Tokens sent that were written into a cache; the price of `input` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cache_write: Option<f64>,
    /// Tokens received.
    pub(crate) output: f64,
    /// One search of the web that the provider makes; nothing when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) search: Option<f64>,
}

const fn is_auto(protocol: &ProtocolConfig) -> bool {
    matches!(protocol, ProtocolConfig::Auto)
}

/// How goals are planned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct PlanningConfig {
    /// `always` plans every goal, `never` none, `adaptive` decides.
    pub(crate) strategy: Strategy,
    /// `auto`, `direct`, `simple`, `complex` or `emergent`.
    pub(crate) mode: ModeConfig,
    /// What happens when no plan passes: `category` lets one actor work on the goal, `none` ends the run.
    pub(crate) fallback: FallbackConfig,
    /// Whether plans of identical goals are used again while the process lives.
    pub(crate) cache: bool,
    /// How often the planner is asked before a simplified plan is tried.
    pub(crate) tries: u32,
    /// How freely plans and patches are thought of, 0 to 2.
    pub(crate) temperature: f32,
    /// How freely the first TODOs of an emergent plan are thought of, 0 to 2.
    pub(crate) first_todos_temperature: f32,
    /// When a goal is not planned at all.
    pub(crate) bypass: BypassSettings,
    /// What the rules count that tell simple goals from complex ones.
    pub(crate) classifier: ClassifierSettings,
    /// How large plans may be.
    pub(crate) limits: PlanLimits,
    /// When a complex plan is looked at between its tasks: `never`, `evidence` when something was learnt, `always`.
    pub(crate) adaptive: Adaptive,
    /// What is begun while the plan is still being written: `never`, `read_only` calls of tools, also `repeatable` ones.
    pub(crate) eager_start: EagerStart,
    /// How an emergent plan grows.
    pub(crate) growth: GrowthSettings,
    /// When the end of a run is looked at before it counts as one: `never`, `criteria` where the plan names success criteria, `always`.
    pub(crate) reflect: Reflect,
}

impl Default for PlanningConfig {
    fn default() -> Self {
        let planner = PlannerSettings::default();
        Self {
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
            eager_start: EagerStart::default(),
            growth: GrowthSettings::default(),
            reflect: Reflect::default(),
        }
    }
}

/// How a goal is worked on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ModeConfig {
    Auto,
    Direct,
    Simple,
    Complex,
    Emergent,
}

/// What happens when no plan passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FallbackConfig {
    Category,
    None,
}

/// The run and its bounds. An absent bound is no bound.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RunConfig {
    /// How many tasks run at once, at most.
    pub(crate) max_parallel: u32,
    /// Tokens, sent and received.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_tokens: Option<u64>,
    /// US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_cost_usd: Option<f64>,
    /// Seconds of work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_seconds: Option<u64>,
    /// Think-act steps of one actor.
    pub(crate) max_steps: u32,
    /// Tool calls.
    pub(crate) max_tool_calls: u64,
    /// Actors.
    pub(crate) max_actors: u32,
    /// Whether runs are shown as plain lines, also on a terminal.
    pub(crate) plain: bool,
    /// Characters of the project's `AGENTS.md` that stand in a prompt.
    pub(crate) project_chars: usize,
}

impl Default for RunConfig {
    fn default() -> Self {
        let bounds = aime_orchestrator::Bounds::default();
        Self {
            max_parallel: 3,
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
pub(crate) struct ToolConfig {
    /// Seconds that a bash command may take when it says nothing itself.
    pub(crate) bash_timeout_seconds: u64,
    /// Seconds that Python code may take when it says nothing itself.
    pub(crate) python_timeout_seconds: u64,
    /// Characters of a result that a model sees; the whole is kept beside the run.
    pub(crate) output_characters: usize,
}

impl Default for ToolConfig {
    fn default() -> Self {
        Self { bash_timeout_seconds: 120, python_timeout_seconds: 30, output_characters: 10_000 }
    }
}

/// What earlier runs learnt, and a folder of documents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct MemoryConfig {
    /// Whether runs recall what earlier ones learnt and what documents say, and are remembered.
    pub(crate) enabled: bool,
    /// A folder of documents, relative to the file that this stands in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) knowledge: Option<PathBuf>,
    /// Memories that a run recalls, at most.
    pub(crate) recall: usize,
    /// Pieces of documents that a run retrieves, at most.
    pub(crate) chunks: usize,
    /// Tokens of one piece, about.
    pub(crate) chunk_tokens: u64,
    /// Tokens of a prompt that memories take, at most.
    pub(crate) memory_tokens: u64,
    /// Tokens of a prompt that pieces of documents take, at most.
    pub(crate) knowledge_tokens: u64,
    /// Memories that are kept; one more, and the one is forgotten that was written or recalled longest ago.
    pub(crate) max_entries: usize,
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
pub(crate) struct SecretConfig {
    /// Environment variables whose values nobody must see, though their names do not say so. Those that settings name as keys and tokens, and
    /// those that look like one, are secret anyway.
    pub(crate) environment: Vec<String>,
}

/// Profiles, categories and prompts of one's own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ExtensionConfig {
    /// Folders that hold `profiles/*.toml`, `categories/*.toml` and `prompts/*.md`, read after the user's own. A path is relative to
    /// the file that it stands in.
    pub(crate) folders: Vec<PathBuf>,
}

/// What the command says to people. What programs read is English.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct MessageConfig {
    /// `en`, `zh`, or `auto` for what `LC_ALL`, `LC_MESSAGES` or `LANG` says.
    pub(crate) language: LanguageChoice,
}

/// Models in this process.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct LocalConfig {
    /// Whether no model may be fetched.
    pub(crate) offline: bool,
    /// The most megabytes that one model may take, with what it keeps of earlier prompts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) memory_mb: Option<u64>,
    /// Threads that compute; as many as there are cores when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) threads: Option<usize>,
}
