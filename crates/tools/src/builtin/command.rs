//! Runs a program for a tool and reports the result.

use std::{ffi::OsString, time::Duration};

use aime_sandbox::{ProcessEnd, ProcessError, ProcessRequest, STDERR_HEADING, STDOUT_HEADING, run, run_reporting};
use serde_json::{Map, json};

use crate::{ToolContext, ToolError, ToolOutput, protected::end_watch, unfinished::OutputFile};

/// Maximum bytes kept of each stream: the first half and the last half.
const OUTPUT_LIMIT: usize = 1024 * 1024;

/// Signal for a process that exceeds the file size limit (SIGXFSZ).
const FILE_TOO_LARGE: i32 = 25;

/// Longest time limit that a caller may choose, in seconds.
pub(super) const MAX_SECONDS: u64 = 600;

/// A program, and its name in messages for a model.
pub(super) struct Command {
    pub(super) program: &'static str,
    pub(super) arguments: Vec<OsString>,
    pub(super) input: Vec<u8>,
    pub(super) time_limit: Duration,
    /// Name in messages, such as `the command` or `the code`.
    pub(super) name: &'static str,
}

impl Command {
    pub(super) fn request(self, context: &ToolContext) -> ProcessRequest {
        ProcessRequest {
            program: self.program.into(),
            arguments: self.arguments.into_iter().map(|argument| in_copy(argument, context)).collect(),
            working_folder: context.working_folder().to_path_buf(),
            environment: context.environment.as_ref().clone(),
            input: match std::str::from_utf8(&self.input) {
                Ok(input) => context.in_copy(input).into_owned().into_bytes(),
                Err(_) => self.input,
            },
            time_limit: self.time_limit,
            output_limit: OUTPUT_LIMIT,
            confinement: context.confinement.clone(),
        }
    }
}

/// Returns an argument with the paths of the folder in which it is used.
fn in_copy(argument: OsString, context: &ToolContext) -> OsString {
    match argument.to_str() {
        Some(text) => context.in_copy(text).into_owned().into(),
        None => argument,
    }
}

/// Converts the error of a program that could not be started.
pub(super) fn not_started(error: &ProcessError) -> ToolError {
    let text = error.to_string();
    match error {
        ProcessError::Unconfined { .. } | ProcessError::ProgramHidden { .. } => ToolError::Denied(text),
        _ => ToolError::NotBegun(text),
    }
}

/// Runs the command in the working folder. An exit code other than 0 is [`ToolError::Exited`].
pub(super) async fn call(command: Command, context: &ToolContext) -> Result<ToolOutput, ToolError> {
    let (time_limit, what) = (command.time_limit, command.name);
    let request = command.request(context);
    let ended = match &context.unfinished_output {
        Some(place) => {
            let mut file = OutputFile::new(place, &context.redactor);
            run_reporting(request, &context.cancel, |printed| file.write(printed.as_ref())).await
        }
        None => run(request, &context.cancel).await,
    };
    let outcome = ended.map_err(|error| not_started(&error))?;
    let (stdout, stderr) = (outcome.stdout.text(), outcome.stderr.text());
    let mut printed = outcome.printed.text();
    // A command that succeeded in spite of a denial may have printed other text that looks like one, so only its standard error is
    // examined.
    let looked_at = if outcome.end == ProcessEnd::Exited(0) { &stderr } else { &printed };
    if let Some(explained) = context.confinement.explain(looked_at, &outcome.refused) {
        printed = joined(&printed, &explained);
    }
    Err(match outcome.end {
        ProcessEnd::Exited(0) => {
            let value = json!({"exit_code": 0, "stdout": stdout, "stderr": stderr});
            return Ok(ToolOutput { text: printed, value, ..ToolOutput::default() });
        }
        ProcessEnd::Exited(code) => ToolError::Exited { code, printed },
        ProcessEnd::Exceeded(bound) => stopped(printed, format!("stopped: {what} took {bound}")),
        ProcessEnd::Signalled(FILE_TOO_LARGE) => {
            stopped(printed, format!("stopped: {what} wrote a file larger than it may (sandbox.file_mb)"))
        }
        ProcessEnd::Signalled(signal) => stopped(printed, format!("ended by signal {signal}")),
        ProcessEnd::TimedOut => {
            let reason = format!("timed out after {} s; timeout_seconds may be up to {MAX_SECONDS}", time_limit.as_secs());
            ToolError::Stopped { reason, printed, timed_out: true }
        }
        ProcessEnd::Cancelled => ToolError::Cancelled,
    })
}

const fn stopped(printed: String, reason: String) -> ToolError {
    ToolError::Stopped { reason, printed, timed_out: false }
}

/// Runs a shell command of the settings in the working folder, watched like a call of `bash` that names no protected place, and returns the
/// output of both streams. If it cannot be run or is stopped, the text says so.
pub(crate) async fn shell_output(script: &str, time_limit: Duration, context: &ToolContext) -> String {
    let arguments = vec!["-c".into(), script.into()];
    let command = Command { program: "bash", arguments, input: Vec::new(), time_limit, name: "the command" };
    let watched = context.protected.watch_command(&Map::new(), context).await;
    let result = call(command, context).await;
    match end_watch(watched, result, context).await {
        Ok(output) => output.text,
        Err(ToolError::Exited { printed, .. }) => printed,
        Err(error) => error.to_string(),
    }
}

/// Returns standard output and standard error of what a program printed.
#[must_use]
pub fn streams_of(printed: &str) -> (String, String) {
    let (mut stdout, mut stderr, mut is_stdout) = (String::new(), String::new(), true);
    for line in printed.split_inclusive('\n') {
        match line {
            STDERR_HEADING => is_stdout = false,
            STDOUT_HEADING => is_stdout = true,
            line if is_stdout => stdout.push_str(line),
            line => stderr.push_str(line),
        }
    }
    (stdout, stderr)
}

pub(super) fn joined(first: &str, second: &str) -> String {
    let between = if first.is_empty() || first.ends_with('\n') { "" } else { "\n" };
    format!("{first}{between}{second}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_streams_of_an_output_are_told_apart() {
        let both = |stdout: &str, stderr: &str| (stdout.to_owned(), stderr.to_owned());
        assert_eq!(streams_of("a\n[stderr]\nb\n[stdout]\nc"), both("a\nc", "b\n"));
        assert_eq!(streams_of("a [stderr]\n"), both("a [stderr]\n", ""));
        assert_eq!(streams_of(""), both("", ""));
    }
}
