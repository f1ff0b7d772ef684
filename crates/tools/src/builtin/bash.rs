//! `bash`.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    background,
    command::{self, Command},
};
use crate::{
    Tool, ToolContext, ToolError, ToolOutput, ToolScope, TypedTool,
    permission::{emptied_before_read, written_files},
};

/// Result of a command that succeeded without output, as `grep -q` does.
pub const SILENT: &str = "(nothing printed, exit code 0)";
/// Maximum characters of a written file that are shown.
const SHOWN: usize = 400;
/// Maximum length in bytes of a command that is passed as an argument. Linux allows 128 KiB including the terminating zero.
const MAX_ARGUMENT: usize = 128 * 1024 - 1;
/// Command that reads a longer command from its standard input and runs it. The longer command then finds its standard input at the end, as
/// every command does.
const FROM_INPUT: &str = "eval \"$(cat)\"";

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Bash {
    /// Command to run
    command: String,
    /// Seconds
    #[schemars(range(min = 1, max = 600))]
    timeout_seconds: Option<u64>,
    /// Start it and go on, without a time limit; bash_output reads what it prints
    #[serde(default)]
    background: bool,
}

pub(super) fn tool(time_limit: Duration) -> impl Tool {
    let description = "Run a shell command in the working folder. It cannot be typed to; what it leaves running ends with it.";
    TypedTool::new("bash", description, move |parameters: Bash, context: ToolContext| async move {
        let text = parameters.command;
        if let Some((file, program)) = emptied_before_read(&text) {
            return Err(ToolError::NotBegun(format!(
                "not run: the shell empties `{file}` before `{program}` reads it. Write to another file, then rename it: `… > {file}.new && mv {file}.new {file}`"
            )));
        }
        let long = text.len() > MAX_ARGUMENT;
        let command = Command {
            program: "bash",
            arguments: vec!["-c".into(), if long { FROM_INPUT.into() } else { text.clone().into() }],
            input: if long { text.clone().into_bytes() } else { Vec::new() },
            time_limit: parameters.timeout_seconds.map_or(time_limit, Duration::from_secs),
            name: "the command",
        };
        if parameters.background {
            return background::start(command, text, &context).await;
        }
        match command::call(command, &context).await {
            Ok(output) if output.text.is_empty() => Ok(ToolOutput { text: display_command(&text, &context), ..output }),
            // grep exits so if it has found nothing.
            Err(ToolError::Exited { code: 1, printed }) if printed.is_empty() && ends_with_grep(&text) => {
                Err(ToolError::Exited { code: 1, printed: "(nothing printed: grep has found nothing)".to_owned() })
            }
            called => called,
        }
    })
    .for_small_models(description, &["command", "timeout_seconds?"])
    .touches(ToolScope::Processes)
    .time_limit(time_limit)
    .time_limit_chosen_in("timeout_seconds")
    .describes("timeout_seconds", &format!("{} by default", time_limit.as_secs()))
    .alternatives(&["python"])
}

/// Returns the beginnings of the files to which a silent command redirected its output, if they are text in the working folder. A model
/// that sees no output at all repeats the call, or invents a result.
fn display_command(command: &str, context: &ToolContext) -> String {
    let files = written_files(command);
    let texts = files.iter().filter_map(|file| {
        let text = String::from_utf8(context.folder.read(file).ok()?).ok()?;
        let shown: String = text.chars().take(SHOWN).collect();
        let rest = if shown.len() < text.len() { "…" } else { "" };
        Some(if shown.is_empty() { format!("`{file}` is empty now.") } else { format!("`{file}` is now:\n{shown}{rest}") })
    });
    let texts = texts.collect::<Vec<_>>().join("\n");
    if texts.is_empty() { SILENT.to_owned() } else { texts }
}

/// Returns true if the exit code of a command is that of `grep`: the command is one pipeline with `grep` at its end.
fn ends_with_grep(command: &str) -> bool {
    let last = command.rsplit(" | ").next().unwrap_or_default().trim();
    let is_grep = ["grep ", "egrep ", "fgrep ", "rg ", "git grep "].iter().any(|name| last.starts_with(name));
    is_grep && !["&&", "||", ";", "\n"].iter().any(|separator| command.trim().contains(separator))
}
