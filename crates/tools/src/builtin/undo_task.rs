//! `undo_task`.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::files::counted;
use crate::{Tool, ToolContext, ToolError, ToolOutput, ToolScope, TypedTool, UndoneTask};

/// Maximum number of paths in the text.
const NAMED: usize = 50;

/// Time limit. An undo may examine all changes of the run and restore large files.
const TIME_LIMIT: Duration = Duration::from_secs(600);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Undo {
    /// Task of this run, which must have ended
    task_id: String,
}

pub(super) fn tool() -> impl Tool {
    let description = "Put files back as they were before a task changed them.";
    TypedTool::new("undo_task", description, |parameters: Undo, context: ToolContext| async move {
        let Some(undo) = context.undo else {
            return Err(ToolError::Failed("file changes are not recorded in this run, so nothing can be undone".to_owned()));
        };
        let undone = undo.undo(parameters.task_id.clone()).await?;
        undo_output(&parameters.task_id, undone)
    })
    .idempotent()
    .time_limit(TIME_LIMIT)
    .touches(ToolScope::Files)
}

/// Formats the result. An undo that could not restore every file is an error.
fn undo_output(task: &str, UndoneTask { restored, unrestored: left }: UndoneTask) -> Result<ToolOutput, ToolError> {
    let back = counted(restored.len(), "path");
    if !left.is_empty() {
        let stay = counted(left.len(), "path");
        let left = left.into_iter().map(|(path, why)| format!("{path}: {why}")).collect();
        let text =
            format!("of what `{task}` changed, {stay} left as they are:{}\n{back} put back.{}", path_list(left), path_list(restored));
        return Err(ToolError::Failed(text));
    }
    let text = match restored.len() {
        0 => format!("`{task}` has changed nothing that is not as it was."),
        _ => format!("Put back what `{task}` changed: {back}.{}", path_list(restored.clone())),
    };
    Ok(ToolOutput { text, value: json!({"task_id": task, "restored": restored}), ..ToolOutput::default() })
}

/// Returns the first names, one per line.
fn path_list(names: Vec<String>) -> String {
    let more = names.len().saturating_sub(NAMED);
    let shown: String = names.into_iter().take(NAMED).map(|name| format!("\n{name}")).collect();
    if more > 0 { format!("{shown}\n… {more} more") } else { shown }
}
