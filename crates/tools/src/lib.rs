#![doc = include_str!("../README.md")]

mod approval;
mod builtin;
mod bundle;
mod context;
mod coordination;
mod cut;
mod delegation;
mod names;
mod registry;
mod router;
mod schema;
mod skill;
mod tool;
mod typed;

pub use approval::{Approval, Decision, decide};
pub use builtin::{BuiltinSettings, builtin, builtin_with};
pub use bundle::{BUNDLES, Bundle, UnknownBundle, bundle, tools_of};
pub use context::ToolContext;
pub use coordination::{AskHuman, ReportEvidence, Terminate, UpdateProgress};
pub use cut::{MAX_SHOWN_CHARS, cut_output};
pub use delegation::{DELEGATE_TASK, DelegateTask};
pub use registry::ToolRegistry;
pub use router::{FAILURES_BEFORE_HINT, ToolRouter};
pub use skill::{InstalledSkill, LOAD_SKILL, Skill, SkillCatalog, SkillError, load_skill};
pub use tool::{HandledBy, Tool, ToolError, ToolOutput, ToolSheet, Touches, UnknownTool};
pub use typed::TypedTool;
