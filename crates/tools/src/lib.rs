#![doc = include_str!("../README.md")]

mod approval;
mod audit;
mod background;
mod builtin;
mod bundle;
mod call;
mod channels;
mod class;
mod context;
mod coordination;
mod cut;
mod delegation;
mod diagnostics;
#[cfg(feature = "mcp")]
mod mcp;
mod names;
mod original;
mod pdf;
mod permission;
mod protected;
mod registry;
mod router;
mod schema;
mod secrets;
mod seen;
mod session;
mod skill;
mod surroundings;
#[cfg(any(feature = "mcp", feature = "web"))]
mod tls;
mod tool;
mod trust;
mod typed;
mod unfinished;
#[cfg(feature = "web")]
mod web;

pub use approval::{Approval, Consent, offers_always};
pub use audit::{CriterionVerdict, Holds, VERDICT, audit_spec};
pub use background::BackgroundProcesses;
pub use builtin::{BuiltinSettings, CommandState, SILENT, builtin, builtin_with, is_ignored, streams_of, terminate_of_lead};
pub use bundle::{
    BUNDLES, Bundle, CAPABILITIES, Capability, UnknownBundle, bundle, capabilities_of, is_in_a_bundle, is_of_servers, tools_of,
};
pub use call::{CheckedCall, ConsentedCall, OpenCall, Permission, Permissions, ValidatedCall};
pub use channels::{AskModel, AskPerson, ProgressReporter, UndoTask, UndoneTask};
pub use class::{ModelClass, ModelClasses};
pub use context::ToolContext;
pub use coordination::{AskHuman, ReportEvidence, Terminate, TerminateStatus, UpdateProgress};
pub use cut::{cut_output, note_of_whole};
pub use delegation::{DELEGATE_TASK, DelegateTask};
pub use diagnostics::{DiagnosticPatternError, Diagnostics};
#[cfg(feature = "mcp")]
pub use mcp::{
    McpAbilities, McpClient, McpError, McpLoading, McpLogin, McpPlace, McpServeError, McpServerSettings, McpServers, McpService,
    McpSettings, McpTool, McpTransport, NamePatternError, NamePatterns,
};
pub use permission::{
    PermissionRule, PermissionRules, RuleError, RuleLists, RulesFolderError, changes_repository, nearest_tool, runtime_tool_names,
    tool_names,
};
pub use protected::{PlaceChange, PlaceOutcome, ProtectedPlaces, WatchedProgram};
pub use registry::ToolRegistry;
pub use router::{FAILURES_BEFORE_HINT, ToolRouter};
pub use secrets::{credential_files_in, learn_secrets_of};
pub use seen::{ChangeAuthor, SeenFile, SeenFiles, WriteGuard};
pub use session::ToolSession;
pub use skill::{InstalledSkill, LOAD_SKILL, Skill, SkillCatalog, SkillError, load_skill};
pub use surroundings::{GitState, Programs, Surroundings};
#[cfg(any(feature = "mcp", feature = "web"))]
pub use tls::NoTls;
pub use tool::{Executor, Tool, ToolError, ToolOutput, ToolScope, ToolSpec, UnknownTool};
pub use trust::{Source, Trust, origin_of};
pub use typed::TypedTool;
pub use unfinished::UnfinishedOutput;
#[cfg(feature = "web")]
pub use web::{
    HttpSearch, HttpSearchError, ModelSearch, SearchError, SearchHit, SearchProvider, SearchResults, WebPolicy, WebSettings, web_tools,
};
