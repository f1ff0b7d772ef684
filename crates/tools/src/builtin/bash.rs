//! `bash`.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::command::{self, Command};
use crate::{Tool, ToolContext, Touches, TypedTool};

const DEFAULT_SECONDS: u64 = 120;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Bash {
    /// Command to run
    command: String,
    /// 120 by default
    #[schemars(range(min = 1, max = 600))]
    timeout_seconds: Option<u64>,
}

pub(super) fn tool() -> impl Tool {
    let description = "Run a shell command in the working folder. It cannot be typed to; what it leaves in the background ends with it.";
    TypedTool::new("bash", description, |parameters: Bash, context: ToolContext| async move {
        let command = Command {
            program: "bash",
            arguments: vec!["-c".into(), parameters.command.into()],
            input: Vec::new(),
            time_limit: Duration::from_secs(parameters.timeout_seconds.unwrap_or(DEFAULT_SECONDS)),
            what: "the command",
        };
        command::call(command, &context).await
    })
    .touches(Touches::Processes)
    .time_limit(Duration::from_secs(DEFAULT_SECONDS))
    .time_limit_chosen_in("timeout_seconds")
    .alternatives(&["python"])
}
