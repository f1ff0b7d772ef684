//! Tests of the built-in tools through the registry, each in a temporary folder.

mod commands;
mod definitions;
mod diagnostics;
mod edit;
mod escapes;
mod files;
mod registry;
mod round_trips;
mod search;

use std::{fs, path::Path};

use aime_sandbox::{ConfinedFolder, clean_environment};
use serde_json::Value;
use tempfile::TempDir;

use crate::{ToolContext, ToolError, ToolOutput, builtin};

/// Returns true if Python is installed.
fn has_python() -> bool {
    ["/usr/local/bin", "/usr/bin", "/bin"].iter().any(|folder| Path::new(folder).join("python3").exists())
}

/// A working folder inside a folder that tools must not reach.
pub(in crate::builtin) struct Place {
    outer: TempDir,
    context: ToolContext,
}

impl Place {
    pub(in crate::builtin) fn new(files: &[(&str, &str)]) -> Self {
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().join("w");
        fs::create_dir(&root).unwrap();
        fs::write(outer.path().join("secret"), "the secret word").unwrap();
        for (path, content) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        let environment = clean_environment([("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())], &[]);
        let context = ToolContext::new(ConfinedFolder::open(root).unwrap(), environment);
        Self { outer, context }
    }

    pub(in crate::builtin) fn root(&self) -> &Path {
        self.context.working_folder()
    }

    pub(in crate::builtin) fn content(&self, path: &str) -> String {
        fs::read_to_string(self.root().join(path)).unwrap()
    }

    pub(in crate::builtin) async fn call(&self, tool: &str, parameters: Value) -> Result<ToolOutput, ToolError> {
        builtin().call_with_consent(tool, parameters.as_object().unwrap().clone(), &self.context).await
    }

    pub(in crate::builtin) async fn text(&self, tool: &str, parameters: Value) -> String {
        match self.call(tool, parameters).await {
            Ok(output) => output.text,
            Err(error @ (ToolError::Exited { .. } | ToolError::Stopped { .. })) => error.to_string(),
            Err(error) => format!("Error: {error}"),
        }
    }

    async fn value(&self, tool: &str, parameters: Value) -> Value {
        self.call(tool, parameters).await.unwrap().value
    }
}
