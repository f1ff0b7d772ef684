//! Requests of an agent, and the tool calls of its actor that carry them out.

use std::{collections::BTreeMap, path::Path};

use agent_client_protocol::{
    Error,
    v1::{
        Responder,
        schema::{
            CreateTerminalRequest, CreateTerminalResponse, KillTerminalRequest, KillTerminalResponse, PlanEntryStatus, PromptResponse,
            ReadTextFileRequest, ReadTextFileResponse, ReleaseTerminalRequest, ReleaseTerminalResponse, RequestPermissionRequest,
            RequestPermissionResponse, SessionNotification, TerminalExitStatus, TerminalId, TerminalOutputRequest, TerminalOutputResponse,
            WaitForTerminalExitRequest, WaitForTerminalExitResponse, WriteTextFileRequest, WriteTextFileResponse,
        },
    },
};
use aime_llm::ToolCall;
use serde_json::{Value, json};

use crate::{AgentWork, consent::Consents};

/// Longest time limit of a command, in seconds.
const COMMAND_SECONDS: u64 = 600;
/// Most entries of a TODO list.
const ENTRIES: usize = 20;
const LOST: &str = "there is no such terminal";

/// Message of an agent.
#[expect(clippy::large_enum_variant, reason = "a message is moved once, from the queue to its handler")]
pub(crate) enum Asked {
    Update(Box<SessionNotification>),
    Permission(RequestPermissionRequest, Responder<RequestPermissionResponse>),
    Read(ReadTextFileRequest, Responder<ReadTextFileResponse>),
    Write(WriteTextFileRequest, Responder<WriteTextFileResponse>),
    Command(CreateTerminalRequest, Responder<CreateTerminalResponse>),
    Output(TerminalOutputRequest, Responder<TerminalOutputResponse>),
    Wait(WaitForTerminalExitRequest, Responder<WaitForTerminalExitResponse>),
    Kill(KillTerminalRequest, Responder<KillTerminalResponse>),
    Release(ReleaseTerminalRequest, Responder<ReleaseTerminalResponse>),
    /// The turn has ended.
    Ended(Result<PromptResponse, Error>),
}

/// Request that waits for the result of a tool call.
#[expect(clippy::large_enum_variant, reason = "a few requests wait at once")]
enum Waiting {
    Read(ReadTextFileRequest, Responder<ReadTextFileResponse>),
    Write(Responder<WriteTextFileResponse>),
    Command(TerminalId),
    Consent(RequestPermissionRequest, Responder<RequestPermissionResponse>),
}

/// A command that the agent has started.
#[derive(Default)]
struct Terminal {
    /// Output and exit code, once it has ended.
    ended: Option<(String, Option<u32>)>,
    waits: Vec<Responder<WaitForTerminalExitResponse>>,
}

/// Requests that are being carried out.
#[derive(Default)]
pub(crate) struct Requests {
    /// Part of the ids of the calls, so that they are unique in the conversation.
    session: u32,
    number: u32,
    waiting: BTreeMap<String, Waiting>,
    terminals: BTreeMap<String, Terminal>,
}

impl Requests {
    /// Creates the state of one process; `session` counts the processes of the conversation.
    pub(crate) fn new(session: u32) -> Self {
        Self { session, ..Self::default() }
    }

    /// Returns a call of a tool of the actor.
    pub(crate) fn call(&mut self, tool: &str, parameters: &Value) -> ToolCall {
        self.number += 1;
        ToolCall { id: format!("agent-{}-{}", self.session, self.number), name: tool.to_owned(), arguments: parameters.to_string() }
    }

    /// Takes a request. Returns the call that carries it out; without one it is answered already.
    pub(crate) fn take(&mut self, asked: Asked, work: &AgentWork) -> Option<ToolCall> {
        match asked {
            Asked::Read(request, responder) => {
                // One line is enough for the actor's record of what it has seen; the agent gets the file itself.
                let call = self.call("read_file", &json!({"path": request.path, "limit": 1}));
                self.waiting.insert(call.id.clone(), Waiting::Read(request, responder));
                Some(call)
            }
            Asked::Write(request, responder) => {
                let call = self.call("write_file", &json!({"path": request.path, "content": request.content}));
                self.waiting.insert(call.id.clone(), Waiting::Write(responder));
                Some(call)
            }
            Asked::Command(request, responder) => {
                let call = self.call("bash", &json!({"command": command_line(&request, work), "timeout_seconds": COMMAND_SECONDS}));
                let id = TerminalId::new(call.id.clone());
                self.terminals.insert(call.id.clone(), Terminal::default());
                self.waiting.insert(call.id.clone(), Waiting::Command(id.clone()));
                sent(responder.respond(CreateTerminalResponse::new(id)));
                Some(call)
            }
            Asked::Output(request, responder) => {
                sent(responder.respond_with_result(self.output(&request.terminal_id)));
                None
            }
            Asked::Wait(request, responder) => {
                match self.terminals.get_mut(&*request.terminal_id.0) {
                    None => sent(responder.respond_with_result(Err(refusal(LOST)))),
                    Some(Terminal { ended: Some((_, code)), .. }) => {
                        sent(responder.respond(WaitForTerminalExitResponse::new(status(*code))));
                    }
                    Some(terminal) => terminal.waits.push(responder),
                }
                None
            }
            // A command ends at its time limit, or with the actor.
            Asked::Kill(request, responder) => {
                let known = self.terminals.contains_key(&*request.terminal_id.0);
                sent(responder.respond_with_result(if known { Ok(KillTerminalResponse::new()) } else { Err(refusal(LOST)) }));
                None
            }
            Asked::Release(request, responder) => {
                let released = self.terminals.remove(&*request.terminal_id.0);
                sent(responder.respond_with_result(released.map(|_| ReleaseTerminalResponse::new()).ok_or_else(|| refusal(LOST))));
                None
            }
            Asked::Permission(request, responder) => match Consents::decide(&request, work) {
                Ok(outcome) => {
                    sent(responder.respond(RequestPermissionResponse::new(outcome)));
                    None
                }
                Err(question) => {
                    let call = self.call("ask_human", &json!({"question": question}));
                    self.waiting.insert(call.id.clone(), Waiting::Consent(request, responder));
                    Some(call)
                }
            },
            Asked::Update(_) | Asked::Ended(_) => None,
        }
    }

    /// Answers the request behind a call with the result of the call.
    pub(crate) fn settle(&mut self, call: &str, result: &str, work: &AgentWork) {
        let error = result.strip_prefix("Error: ");
        match self.waiting.remove(call) {
            None => {}
            Some(Waiting::Read(request, responder)) => {
                let read = match error {
                    Some(error) => Err(refusal(error)),
                    None => content(&request, work),
                };
                sent(responder.respond_with_result(read));
            }
            Some(Waiting::Write(responder)) => {
                let written = error.map_or_else(|| Ok(WriteTextFileResponse::new()), |error| Err(refusal(error)));
                sent(responder.respond_with_result(written));
            }
            Some(Waiting::Command(id)) => {
                let Some(terminal) = self.terminals.get_mut(&*id.0) else { return };
                let code = if error.is_some() { None } else { Some(exit_code(result)) };
                for wait in terminal.waits.drain(..) {
                    sent(wait.respond(WaitForTerminalExitResponse::new(status(code))));
                }
                terminal.ended = Some((result.to_owned(), code));
            }
            Some(Waiting::Consent(request, responder)) => {
                sent(responder.respond(RequestPermissionResponse::new(Consents::answered(&request, result))));
            }
        }
    }

    fn output(&self, id: &TerminalId) -> Result<TerminalOutputResponse, Error> {
        let terminal = self.terminals.get(&*id.0).ok_or_else(|| refusal(LOST))?;
        Ok(match &terminal.ended {
            Some((output, code)) => TerminalOutputResponse::new(output.clone(), false).exit_status(status(*code)),
            None => TerminalOutputResponse::new(String::new(), false),
        })
    }
}

/// Returns the TODO list for a plan of an agent. aime allows one entry in progress and at most 20 entries.
pub(crate) fn todos(plan: &[agent_client_protocol::v1::schema::PlanEntry]) -> Value {
    let mut begun = false;
    let items = plan.iter().take(ENTRIES).enumerate().map(|(at, entry)| {
        let status = match entry.status {
            PlanEntryStatus::Completed => "completed",
            PlanEntryStatus::InProgress if !std::mem::replace(&mut begun, true) => "in_progress",
            _ => "pending",
        };
        json!({"id": (at + 1).to_string(), "text": entry.content, "status": status})
    });
    json!({"items": items.collect::<Vec<_>>()})
}

/// Returns the content of a file that the actor has just read.
fn content(request: &ReadTextFileRequest, work: &AgentWork) -> Result<ReadTextFileResponse, Error> {
    let bytes = work.context.folder.read(&request.path).map_err(|error| refusal(&error.to_string()))?;
    let text = String::from_utf8(bytes).map_err(|_| refusal("it is no text"))?;
    let text = match (request.line, request.limit) {
        (None, None) => text,
        (line, limit) => {
            let first = line.map_or(0, |line| usize::try_from(line).unwrap_or(usize::MAX).saturating_sub(1));
            let most = limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
            text.split_inclusive('\n').skip(first).take(most).collect()
        }
    };
    Ok(ReadTextFileResponse::new(work.context.redactor.text(&text).into_owned()))
}

/// Returns the shell command of a terminal.
fn command_line(request: &CreateTerminalRequest, work: &AgentWork) -> String {
    let mut line = String::new();
    let folder = work.context.working_folder();
    if let Some(cwd) = request.cwd.as_deref().filter(|cwd| *cwd != folder) {
        line.push_str(&format!("cd {} && ", quoted(&shown(cwd, folder))));
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

fn shown(path: &Path, folder: &Path) -> String {
    path.strip_prefix(folder).unwrap_or(path).display().to_string()
}

/// Quotes a word for the shell where that is needed.
fn quoted(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./=:,+@%".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

/// Returns the exit code in the result of a command.
fn exit_code(result: &str) -> u32 {
    let code = result.strip_prefix("exit code ").and_then(|rest| rest.split(|c: char| !c.is_ascii_digit()).next());
    code.and_then(|code| code.parse().ok()).unwrap_or(0)
}

fn status(code: Option<u32>) -> TerminalExitStatus {
    TerminalExitStatus::new().exit_code(code)
}

/// Returns the error that an agent gets.
pub(crate) fn refusal(reason: &str) -> Error {
    Error::invalid_params().data(Value::from(reason))
}

/// An agent that has ended needs no answer.
fn sent(result: Result<(), Error>) {
    if let Err(error) = result {
        tracing::debug!(%error, "the agent has gone before it was answered");
    }
}

#[cfg(test)]
mod tests {
    use agent_client_protocol::v1::schema::{EnvVariable, PlanEntry, PlanEntryPriority};
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
    fn a_plan_becomes_a_valid_todo_list() {
        let entry = |status| PlanEntry::new("do", PlanEntryPriority::Medium, status);
        let mut plan = vec![entry(PlanEntryStatus::Completed), entry(PlanEntryStatus::InProgress), entry(PlanEntryStatus::InProgress)];
        plan.extend((0..30).map(|_| entry(PlanEntryStatus::Pending)));
        let todos = todos(&plan);
        let items = todos["items"].as_array().unwrap();
        assert_eq!(items.len(), ENTRIES);
        let running = items.iter().filter(|item| item["status"] == "in_progress");
        assert_eq!(running.count(), 1);
    }

    #[test]
    fn the_result_of_a_command_has_its_exit_code() {
        for (result, code) in [("exit code 3\nno", 3), ("exit code 101, nothing printed", 101), ("fine", 0), ("exit code x", 0)] {
            assert_eq!(exit_code(result), code, "{result}");
        }
    }
}
