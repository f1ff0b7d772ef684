//! `python`.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::command::{self, Command};
use crate::{Tool, ToolContext, ToolScope, TypedTool};

/// Python options: no byte code files, unbuffered output so that nothing is lost on a kill, UTF-8 everywhere, and code from standard input,
/// which has no length limit.
const ARGUMENTS: &[&str] = &["-B", "-u", "-X", "utf8", "-"];

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Python {
    /// Code to run; print what you want to see
    code: String,
    /// Seconds
    #[schemars(range(min = 1, max = 600))]
    timeout_seconds: Option<u64>,
}

pub(super) fn tool(time_limit: Duration) -> impl Tool {
    TypedTool::new("python", "Run Python 3 code in the working folder.", move |parameters: Python, context: ToolContext| async move {
        let command = Command {
            program: "python3",
            arguments: ARGUMENTS.iter().map(Into::into).collect(),
            input: parameters.code.into_bytes(),
            time_limit: parameters.timeout_seconds.map_or(time_limit, Duration::from_secs),
            name: "the code",
        };
        command::call(command, &context).await
    })
    .touches(ToolScope::Processes)
    .time_limit(time_limit)
    .time_limit_chosen_in("timeout_seconds")
    .describes("timeout_seconds", &format!("{} by default", time_limit.as_secs()))
    .alternatives(&["bash"])
}
