//! `python`.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::command::{self, Command};
use crate::{Tool, ToolContext, Touches, TypedTool};

const DEFAULT_SECONDS: u64 = 30;

/// No byte code beside the sources, nothing held back when it is stopped, UTF-8 everywhere, and the code on standard input, which has
/// no limit of length.
const ARGUMENTS: &[&str] = &["-B", "-u", "-X", "utf8", "-"];

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Python {
    /// Code to run; print what you want to see
    code: String,
    /// 30 by default
    #[schemars(range(min = 1, max = 600))]
    timeout_seconds: Option<u64>,
}

pub(super) fn tool() -> impl Tool {
    TypedTool::new("python", "Run Python 3 code in the working folder.", |parameters: Python, context: ToolContext| async move {
        let command = Command {
            program: "python3",
            arguments: ARGUMENTS.iter().map(Into::into).collect(),
            input: parameters.code.into_bytes(),
            time_limit: Duration::from_secs(parameters.timeout_seconds.unwrap_or(DEFAULT_SECONDS)),
            what: "the code",
        };
        command::call(command, &context).await
    })
    .touches(Touches::Processes)
    .time_limit(Duration::from_secs(DEFAULT_SECONDS))
    .time_limit_chosen_in("timeout_seconds")
    .alternatives(&["bash"])
}
