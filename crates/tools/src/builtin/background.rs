//! Background commands: start in `bash`, `bash_output`, `bash_kill`.

use std::{sync::Arc, time::Duration};

use aime_sandbox::{BackgroundProcess, ProcessEnd};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::command::{Command, joined, not_started};
use crate::{BackgroundProcesses, Tool, ToolContext, ToolError, ToolOutput, ToolScope, TypedTool, background::ProcessUpdate};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct BashOutput {
    /// Process; without it all are listed
    id: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct BashKill {
    /// Process
    id: String,
}

pub(super) fn tools() -> [Arc<dyn Tool>; 2] {
    let output = TypedTool::new(
        "bash_output",
        "Read what a background command has printed since the last look.",
        |parameters: BashOutput, context: ToolContext| async move {
            match &parameters.id {
                Some(id) => process_output(id, false, &context).await,
                None => Ok(list(processes(&context)?)),
            }
        },
    );
    let kill = TypedTool::new("bash_kill", "End a background command.", |parameters: BashKill, context: ToolContext| async move {
        process_output(&parameters.id, true, &context).await
    });
    [Arc::new(output.read_only().touches(ToolScope::Processes)), Arc::new(kill.idempotent().touches(ToolScope::Nothing))]
}

fn processes(context: &ToolContext) -> Result<&BackgroundProcesses, ToolError> {
    context.background.as_ref().ok_or_else(|| {
        ToolError::Failed("commands cannot run in the background here; run it without `background`, with a timeout_seconds".to_owned())
    })
}

/// Starts a command, and returns its first output.
pub(super) async fn start(command: Command, text: String, context: &ToolContext) -> Result<ToolOutput, ToolError> {
    let processes = processes(context)?;
    let command = Command { time_limit: Duration::MAX, ..command };
    let parameters = Map::from_iter([("command".to_owned(), Value::from(text.as_str()))]);
    let watched = context.protected.watch_command(&parameters, context).await;
    let process = BackgroundProcess::start(&command.request(context)).map_err(|error| not_started(&error))?;
    let Ok(id) = processes.add(&text, process, watched) else {
        return Err(ToolError::Failed("too many commands run in the background; end one with bash_kill".to_owned()));
    };
    process_output(&id, false, context).await
}

async fn process_output(id: &str, stop: bool, context: &ToolContext) -> Result<ToolOutput, ToolError> {
    let processes = processes(context)?;
    let Some(update) = processes.update(id, stop, context).await else {
        let running = list(processes).text;
        return Err(ToolError::Failed(format!(
            "no process `{id}` runs: it was ended, or with an earlier part of the run that was interrupted. {running}"
        )));
    };
    let explained = context.confinement.explain(&update.printed, &update.refused);
    let mut text = update.printed.clone();
    for more in [explained.unwrap_or_default(), update.protected.clone(), status(&update)] {
        if !more.is_empty() {
            text = joined(&text, &more);
        }
    }
    let exit_code = if let Some(ProcessEnd::Exited(code)) = update.end { Some(code) } else { None };
    let value = json!({"id": id, "running": update.end.is_none(), "exit_code": exit_code, "output": update.printed});
    Ok(ToolOutput { text, value, ..ToolOutput::default() })
}

/// State of a background command, as the last line of a result tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandState {
    /// Id of the process.
    pub id: String,
    /// True if it still runs.
    pub runs: bool,
    /// Exit code, if it has ended by itself.
    pub exit_code: Option<i32>,
}

impl CommandState {
    /// Splits the result of a call on a background command into what the command has printed and its state. The state is `None` in any other
    /// result.
    #[must_use]
    pub fn split(result: &str) -> (&str, Option<Self>) {
        let (printed, last) = result.rsplit_once('\n').unwrap_or(("", result));
        match Self::read(last) {
            Some(state) => (printed, Some(state)),
            None => (result, None),
        }
    }

    fn read(line: &str) -> Option<Self> {
        let (id, rest) = line.strip_prefix('[')?.strip_suffix(']')?.split_once(' ')?;
        let runs = rest.starts_with("runs, since ");
        let ended = ["ended after ", "was ended after ", "took "].iter().any(|beginning| rest.starts_with(beginning));
        let exit_code = rest.split_once(" with exit code ").and_then(|(_, code)| code.parse().ok());
        (runs || ended).then(|| Self { id: id.to_owned(), runs, exit_code })
    }
}

/// Returns one line on the state of a process. [`CommandState::read`] reads it.
fn status(update: &ProcessUpdate) -> String {
    let ProcessUpdate { id, seconds, .. } = update;
    match &update.end {
        None => format!("[{id} runs, since {seconds} s]"),
        Some(ProcessEnd::Exited(code)) => format!("[{id} ended after {seconds} s with exit code {code}]"),
        Some(ProcessEnd::Signalled(signal)) => format!("[{id} was ended after {seconds} s by signal {signal}]"),
        Some(ProcessEnd::Exceeded(bound)) => format!("[{id} took {bound} and was stopped]"),
        Some(ProcessEnd::TimedOut | ProcessEnd::Cancelled) => format!("[{id} was ended after {seconds} s]"),
    }
}

fn list(processes: &BackgroundProcesses) -> ToolOutput {
    let all = processes.list();
    let lines: Vec<String> = all.iter().map(|(id, command)| format!("{id}: {}", command.lines().next().unwrap_or_default())).collect();
    let text = if lines.is_empty() {
        "No command runs in the background.".to_owned()
    } else {
        format!("In the background:\n{}", lines.join("\n"))
    };
    let value = json!({"processes": all.iter().map(|(id, command)| json!({"id": id, "command": command})).collect::<Vec<_>>()});
    ToolOutput { text, value, ..ToolOutput::default() }
}

#[cfg(test)]
mod tests {
    use aime_sandbox::Bound;

    use super::*;

    #[test]
    fn the_state_of_a_command_is_read_as_it_is_written() {
        let update = |end| ProcessUpdate {
            id: "p7".to_owned(),
            command: "make".to_owned(),
            printed: String::new(),
            end,
            protected: String::new(),
            refused: Vec::new(),
            seconds: 3,
        };
        let cases = [
            (None, true, None),
            (Some(ProcessEnd::Exited(0)), false, Some(0)),
            (Some(ProcessEnd::Exited(3)), false, Some(3)),
            (Some(ProcessEnd::Signalled(9)), false, None),
            (Some(ProcessEnd::Exceeded(Bound::Processes(9))), false, None),
            (Some(ProcessEnd::Cancelled), false, None),
        ];
        for (end, runs, exit_code) in cases {
            let line = status(&update(end));
            let state = CommandState { id: "p7".to_owned(), runs, exit_code };
            assert_eq!(CommandState::split(&format!("one\ntwo\n{line}")), ("one\ntwo", Some(state.clone())), "{line}");
            assert_eq!(CommandState::split(&line), ("", Some(state)), "{line}");
        }
        assert_eq!(CommandState::split("exit code 3\n[p1 is a note]"), ("exit code 3\n[p1 is a note]", None));
    }
}
