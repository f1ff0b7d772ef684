//! `bash`.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::command::{self, Command};
use crate::{Tool, ToolContext, Touches, TypedTool};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Bash {
    /// Command to run
    command: String,
    /// Seconds
    #[schemars(range(min = 1, max = 600))]
    timeout_seconds: Option<u64>,
}

pub(super) fn tool(time_limit: Duration) -> impl Tool {
    let description = "Run a shell command in the working folder. It cannot be typed to; what it leaves in the background ends with it.";
    TypedTool::new("bash", description, move |parameters: Bash, context: ToolContext| async move {
        let command = Command {
            program: "bash",
            arguments: vec!["-c".into(), parameters.command.into()],
            input: Vec::new(),
            time_limit: parameters.timeout_seconds.map_or(time_limit, Duration::from_secs),
            what: "the command",
        };
        command::call(command, &context).await
    })
    .touches(Touches::Processes)
    .time_limit(time_limit)
    .time_limit_chosen_in("timeout_seconds")
    .describes("timeout_seconds", &format!("{} by default", time_limit.as_secs()))
    .alternatives(&["python"])
}
