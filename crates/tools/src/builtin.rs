//! The tools that come with the crate. Each is one file: its parameters, its sheet, its call.

mod actor;
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
mod walk;
mod write_file;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::{Tool, ToolRegistry};

/// All built-in tools. They keep no state: everything comes with the [`ToolContext`](crate::ToolContext) of a call.
#[must_use]
pub fn builtin() -> ToolRegistry {
    let runtime: [Arc<dyn Tool>; 8] = [
        Arc::new(read_file::tool()),
        Arc::new(write_file::tool()),
        Arc::new(edit_file::tool()),
        Arc::new(list_dir::tool()),
        Arc::new(glob::tool()),
        Arc::new(grep::tool()),
        Arc::new(bash::tool()),
        Arc::new(python::tool()),
    ];
    runtime.into_iter().chain(actor::tools()).collect()
}
