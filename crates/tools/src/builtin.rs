//! The built-in tools. Each has its own file with its parameters, its spec and its call.

mod actor;
mod apply_patch;
mod background;
mod bash;
mod command;
mod edit_file;
mod files;
mod glob;
mod grep;
mod list_dir;
mod near_miss;
mod python;
mod read_file;
mod tolerant;
mod undo_task;
mod walk;
mod write_file;

#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Duration};

pub(crate) use self::{
    apply_patch::patch_paths as named_in_patch,
    command::shell_output,
    files::{blocking, no_text},
    walk::walk,
};
use crate::{Tool, ToolRegistry};

pub use actor::terminate_of_lead;
pub use background::CommandState;
pub use bash::SILENT;
pub use command::streams_of;
pub use walk::is_ignored;

/// Settings of the built-in tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuiltinSettings {
    /// Time limit of a `bash` call that sets none. Default: 120 s.
    pub bash_time_limit: Duration,
    /// Time limit of a `python` call that sets none. Default: 30 s.
    pub python_time_limit: Duration,
}

impl Default for BuiltinSettings {
    fn default() -> Self {
        Self { bash_time_limit: Duration::from_secs(120), python_time_limit: Duration::from_secs(30) }
    }
}

/// Returns a registry of all built-in tools with default settings. The tools are stateless: a call's [`ToolContext`](crate::ToolContext)
/// holds all state.
#[must_use]
pub fn builtin() -> ToolRegistry {
    builtin_with(&BuiltinSettings::default())
}

/// Returns a registry of all built-in tools with the given settings.
#[must_use]
pub fn builtin_with(settings: &BuiltinSettings) -> ToolRegistry {
    let runtime: [Arc<dyn Tool>; 10] = [
        Arc::new(read_file::tool()),
        Arc::new(write_file::tool()),
        Arc::new(edit_file::tool()),
        Arc::new(apply_patch::tool()),
        Arc::new(list_dir::tool()),
        Arc::new(glob::tool()),
        Arc::new(grep::tool()),
        Arc::new(bash::tool(settings.bash_time_limit)),
        Arc::new(python::tool(settings.python_time_limit)),
        Arc::new(undo_task::tool()),
    ];
    runtime.into_iter().chain(background::tools()).chain(actor::tools()).collect()
}
