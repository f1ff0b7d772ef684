//! The tools that come with the crate. Each is one file: its parameters, its sheet, its call.

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
    apply_patch::named as named_in_patch,
    command::shell_output,
    files::{blocking, no_text},
    walk::walk,
};
use crate::{Tool, ToolRegistry};

pub use bash::SILENT;

/// What of the built-in tools can be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuiltinSettings {
    /// How long a command may take when its call says nothing itself. 120 s unless set.
    pub bash_time_limit: Duration,
    /// How long Python code may take when its call says nothing itself. 30 s unless set.
    pub python_time_limit: Duration,
}

impl Default for BuiltinSettings {
    fn default() -> Self {
        Self { bash_time_limit: Duration::from_secs(120), python_time_limit: Duration::from_secs(30) }
    }
}

/// All built-in tools. They keep no state: everything comes with the [`ToolContext`](crate::ToolContext) of a call.
#[must_use]
pub fn builtin() -> ToolRegistry {
    builtin_with(&BuiltinSettings::default())
}

/// All built-in tools with other settings.
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
