//! Commands that an agent starts in terminals.

use std::path::Path;

use agent_client_protocol::v1::{
    Responder,
    schema::{CreateTerminalRequest, TerminalExitStatus, WaitForTerminalExitResponse},
};
use aime_tools::CommandState;

use crate::{AgentWork, calls::sent};

/// Maximum bytes of a terminal's output that are kept, also if the agent asks for more.
pub(crate) const MAX_OUTPUT: usize = 1024 * 1024;

/// A command that the agent has started. It runs in the background of its actor.
#[derive(Default)]
pub(crate) struct Terminal {
    /// Id of its process, while it runs.
    pub(crate) process: Option<String>,
    pub(crate) printed: String,
    /// Maximum bytes of `printed`, of which the end is kept.
    pub(crate) limit: usize,
    pub(crate) truncated: bool,
    /// Its exit code, once it has ended; `None` inside if it did not end by itself.
    pub(crate) ended: Option<Option<u32>>,
    pub(crate) waits: Vec<Responder<WaitForTerminalExitResponse>>,
}

impl Terminal {
    /// Takes the result of a call on its command.
    pub(crate) fn learn(&mut self, result: &str) {
        let (printed, state) = CommandState::split(result);
        if !self.printed.is_empty() && !printed.is_empty() {
            self.printed.push('\n');
        }
        self.printed.push_str(printed);
        if self.printed.len() > self.limit {
            self.printed.drain(..self.printed.ceil_char_boundary(self.printed.len() - self.limit));
            self.truncated = true;
        }
        match state {
            Some(CommandState { id, runs: true, .. }) => self.process = Some(id),
            // Without a state it was refused, or is gone.
            state => self.end(state.and_then(|state| state.exit_code)),
        }
    }

    fn end(&mut self, exit_code: Option<i32>) {
        let code = exit_code.and_then(|code| u32::try_from(code).ok());
        self.process = None;
        self.ended = Some(code);
        for wait in self.waits.drain(..) {
            sent(wait.respond(WaitForTerminalExitResponse::new(status(code))));
        }
    }
}

/// Returns the shell command of a terminal.
pub(crate) fn command_line(request: &CreateTerminalRequest, work: &AgentWork) -> String {
    let mut line = String::new();
    let folder = work.context.working_folder();
    if let Some(cwd) = request.cwd.as_deref().filter(|cwd| *cwd != folder) {
        line.push_str(&format!("cd {} && ", quoted(&display_path(cwd, folder))));
    }
    for variable in &request.env {
        line.push_str(&format!("{}={} ", variable.name, quoted(&variable.value)));
    }
    // Some agents give a whole line as the command.
    line.push_str(&request.command);
    for argument in &request.args {
        line.push(' ');
        line.push_str(&quoted(argument));
    }
    line
}

fn display_path(path: &Path, folder: &Path) -> String {
    path.strip_prefix(folder).unwrap_or(path).display().to_string()
}

/// Quotes a word for the shell where that is needed.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./=:,+@%".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

pub(crate) fn status(code: Option<u32>) -> TerminalExitStatus {
    TerminalExitStatus::new().exit_code(code)
}

#[cfg(test)]
mod tests {
    use agent_client_protocol::v1::schema::EnvVariable;
    use aime_tools::{Approval, ToolContext};

    use super::*;

    fn work(folder: &Path) -> AgentWork {
        AgentWork::new(&ToolContext::in_folder(folder).unwrap(), Approval::All)
    }

    #[test]
    fn a_terminal_becomes_one_command() {
        let folder = tempfile::tempdir().unwrap();
        let work = work(folder.path());
        let inside = work.context.working_folder().join("a b");
        let check = |request: CreateTerminalRequest, expect: &str| assert_eq!(command_line(&request, &work), expect);
        let of = |command: &str| CreateTerminalRequest::new("s", command);
        check(of("cargo test -q"), "cargo test -q");
        check(of("ls").args(vec!["-l".to_owned(), "it's".to_owned(), String::new()]), r"ls -l 'it'\''s' ''");
        check(of("make").cwd(inside), "cd 'a b' && make");
        check(of("make").env(vec![EnvVariable::new("CC", "my cc")]), "CC='my cc' make");
        check(of("x").args(vec!["$(rm -r .)".to_owned()]), "x '$(rm -r .)'");
    }

    #[test]
    fn a_terminal_keeps_the_end_of_its_output() {
        let check = |limit: usize, results: &[&str], expect: (&str, bool)| {
            let mut terminal = Terminal { limit, ..Terminal::default() };
            results.iter().for_each(|result| terminal.learn(result));
            assert_eq!((terminal.printed.as_str(), terminal.truncated), expect, "{limit} of {results:?}");
        };
        let runs = "one\n[bg-1 runs, since 0 s]";
        check(100, &[runs], ("one", false));
        check(3, &[runs], ("one", false));
        check(2, &[runs], ("ne", true));
        check(5, &[runs, "two\n[bg-1 ended after 1 s with exit code 0]"], ("e\ntwo", true));
        check(2, &["a¼b\n[bg-1 runs, since 0 s]"], ("b", true));
    }
}
