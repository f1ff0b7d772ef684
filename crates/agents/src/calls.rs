//! Requests of an agent, and the tool calls of its actor that carry them out.

use std::{collections::BTreeMap, path::Path};

use agent_client_protocol::{
    Error, ErrorCode,
    v1::{
        Responder,
        schema::{
            self, CreateTerminalRequest, CreateTerminalResponse, KillTerminalRequest, KillTerminalResponse, PlanEntryStatus,
            PromptResponse, ReadTextFileRequest, ReadTextFileResponse, ReleaseTerminalRequest, ReleaseTerminalResponse,
            RequestPermissionRequest, RequestPermissionResponse, SessionNotification, TerminalId, TerminalOutputRequest,
            TerminalOutputResponse, WaitForTerminalExitRequest, WaitForTerminalExitResponse, WriteTextFileRequest, WriteTextFileResponse,
        },
    },
};
use aime_llm::ToolCall;
use aime_sandbox::FileError;
use serde_json::{Value, json};

use crate::{
    AgentWork,
    consent::Consents,
    terminal::{MAX_OUTPUT, Terminal, command_line, status},
};

/// Most entries of a TODO list.
const ENTRIES: usize = 20;
/// Longest line of an agent that people see, such as the title of a call, in characters.
pub(crate) const MAX_LINE: usize = 300;
const LOST: &str = "there is no such terminal";

/// Message of an agent.
#[expect(clippy::large_enum_variant, reason = "a message is moved once, from the queue to its handler")]
pub(crate) enum AgentMessage {
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
    /// News of a terminal, and the request that asked for them, if one did.
    News(TerminalId, Option<Responder<TerminalOutputResponse>>),
    Kill(TerminalId, Responder<KillTerminalResponse>),
    Release(Responder<ReleaseTerminalResponse>),
    Consent(RequestPermissionRequest, Responder<RequestPermissionResponse>),
}

/// Requests that are being carried out.
#[derive(Default)]
pub(crate) struct Requests {
    /// Part of the ids of the calls, so that they are unique in the conversation.
    session: u32,
    number: u32,
    waiting: BTreeMap<String, Waiting>,
    terminals: BTreeMap<String, Terminal>,
    /// Answers of people to questions that the process before this one has asked.
    answers: BTreeMap<String, String>,
}

impl Requests {
    /// Creates the state of one process; `session` counts the processes of the conversation.
    pub(crate) fn new(session: u32) -> Self {
        Self { session, ..Self::default() }
    }

    /// Keeps answers of people by their questions. Each answers one request for consent that asks the same.
    pub(crate) fn keep_answers(&mut self, answers: BTreeMap<String, String>) {
        self.answers = answers;
    }

    /// Returns a call of a tool of the actor.
    pub(crate) fn call(&mut self, tool: &str, parameters: &Value) -> ToolCall {
        self.number += 1;
        ToolCall { id: format!("agent-{}-{}", self.session, self.number), name: tool.to_owned(), arguments: parameters.to_string() }
    }

    /// Takes a request. Returns the call that carries it out; without one it is answered already.
    pub(crate) fn take(&mut self, asked: AgentMessage, work: &AgentWork) -> Option<ToolCall> {
        match asked {
            AgentMessage::Read(request, responder) => {
                // One line is enough for the actor's record of what it has seen; the agent gets the file itself.
                let call = self.call("read_file", &json!({"path": request.path, "limit": 1}));
                self.waiting.insert(call.id.clone(), Waiting::Read(request, responder));
                Some(call)
            }
            AgentMessage::Write(request, responder) => {
                let call = self.call("write_file", &json!({"path": request.path, "content": request.content}));
                self.waiting.insert(call.id.clone(), Waiting::Write(responder));
                Some(call)
            }
            AgentMessage::Command(request, responder) => {
                let call = self.call("bash", &json!({"command": command_line(&request, work), "background": true}));
                let id = TerminalId::new(call.id.clone());
                let limit = request.output_byte_limit.and_then(|limit| usize::try_from(limit).ok());
                let limit = limit.map_or(MAX_OUTPUT, |limit| limit.min(MAX_OUTPUT));
                self.terminals.insert(call.id.clone(), Terminal { limit, ..Terminal::default() });
                self.waiting.insert(call.id.clone(), Waiting::News(id.clone(), None));
                sent(responder.respond(CreateTerminalResponse::new(id)));
                Some(call)
            }
            AgentMessage::Output(request, responder) => {
                let id = request.terminal_id;
                if self.process_of(&id).is_some() {
                    return self.terminal_output(id, Some(responder));
                }
                sent(responder.respond_with_result(self.output(&id)));
                None
            }
            AgentMessage::Wait(request, responder) => {
                match self.terminals.get_mut(&*request.terminal_id.0) {
                    None => sent(responder.respond_with_result(Err(refusal(LOST)))),
                    Some(Terminal { ended: Some(code), .. }) => sent(responder.respond(WaitForTerminalExitResponse::new(status(*code)))),
                    Some(terminal) => terminal.waits.push(responder),
                }
                None
            }
            AgentMessage::Kill(request, responder) => {
                let id = request.terminal_id;
                let known = self.terminals.contains_key(&*id.0);
                let Some(process) = self.process_of(&id) else {
                    sent(responder.respond_with_result(if known { Ok(KillTerminalResponse::new()) } else { Err(refusal(LOST)) }));
                    return None;
                };
                let call = self.call("bash_kill", &json!({"id": process}));
                self.waiting.insert(call.id.clone(), Waiting::Kill(id, responder));
                Some(call)
            }
            AgentMessage::Release(request, responder) => {
                let Some(released) = self.terminals.remove(&*request.terminal_id.0) else {
                    sent(responder.respond_with_result(Err(refusal(LOST))));
                    return None;
                };
                let Some(process) = released.process else {
                    sent(responder.respond(ReleaseTerminalResponse::new()));
                    return None;
                };
                let call = self.call("bash_kill", &json!({"id": process}));
                self.waiting.insert(call.id.clone(), Waiting::Release(responder));
                Some(call)
            }
            AgentMessage::Permission(request, responder) => match Consents::decide(&request, work) {
                Ok(outcome) => {
                    sent(responder.respond(RequestPermissionResponse::new(outcome)));
                    None
                }
                Err(question) => {
                    let question = work.context.as_original(question).into_owned();
                    if let Some(answer) = self.answers.remove(&question) {
                        sent(responder.respond(RequestPermissionResponse::new(Consents::answered(&request, &answer))));
                        return None;
                    }
                    let call = self.call("ask_human", &json!({"question": question}));
                    self.waiting.insert(call.id.clone(), Waiting::Consent(request, responder));
                    Some(call)
                }
            },
            AgentMessage::Update(_) | AgentMessage::Ended(_) => None,
        }
    }

    /// Answers the request behind a call with the result of the call.
    pub(crate) fn settle(&mut self, call: &str, result: &str, work: &AgentWork) {
        let result = &*work.context.as_relative(result);
        let error = result.strip_prefix("Error: ");
        match self.waiting.remove(call) {
            None => {}
            Some(Waiting::Read(request, responder)) => {
                let read = match error {
                    // An agent that makes a file looks first whether it is there.
                    Some(_) if is_missing(&request.path, work) => {
                        let path = request.path.display().to_string();
                        Err(schema::Error::resource_not_found(Some(work.context.as_relative(&path).into_owned())).into())
                    }
                    Some(error) => Err(refusal(error)),
                    None => content(&request, work),
                };
                sent(responder.respond_with_result(read));
            }
            Some(Waiting::Write(responder)) => {
                let written = error.map_or_else(|| Ok(WriteTextFileResponse::new()), |error| Err(refusal(error)));
                sent(responder.respond_with_result(written));
            }
            Some(Waiting::News(id, responder)) => {
                self.learn(&id, error.unwrap_or(result));
                if let Some(responder) = responder {
                    sent(responder.respond_with_result(self.output(&id)));
                }
            }
            Some(Waiting::Kill(id, responder)) => {
                self.learn(&id, error.unwrap_or(result));
                sent(responder.respond(KillTerminalResponse::new()));
            }
            Some(Waiting::Release(responder)) => sent(responder.respond(ReleaseTerminalResponse::new())),
            Some(Waiting::Consent(request, responder)) => {
                sent(responder.respond(RequestPermissionResponse::new(Consents::answered(&request, result))));
            }
        }
    }

    fn learn(&mut self, id: &TerminalId, result: &str) {
        if let Some(terminal) = self.terminals.get_mut(&*id.0) {
            terminal.learn(result);
        }
    }

    /// Returns the processes whose end the agent waits for, by their terminals.
    pub(crate) fn awaited(&self) -> Vec<(TerminalId, String)> {
        let awaited = self.terminals.iter().filter(|(_, terminal)| !terminal.waits.is_empty());
        awaited.filter_map(|(id, terminal)| Some((TerminalId::new(id.clone()), terminal.process.clone()?))).collect()
    }

    /// Returns the number of bytes that the commands whose end the agent waits for have printed and no call has read.
    pub(crate) fn unread(&self, work: &AgentWork) -> u64 {
        let Some(background) = &work.context.background else { return 0 };
        self.awaited().iter().map(|(_, process)| background.unread(process)).sum()
    }

    /// Returns the call that learns what the command of a terminal has printed, if it runs.
    pub(crate) fn terminal_output(&mut self, id: TerminalId, responder: Option<Responder<TerminalOutputResponse>>) -> Option<ToolCall> {
        let process = self.process_of(&id)?;
        let call = self.call("bash_output", &json!({"id": process}));
        self.waiting.insert(call.id.clone(), Waiting::News(id, responder));
        Some(call)
    }

    fn process_of(&self, id: &TerminalId) -> Option<String> {
        self.terminals.get(&*id.0)?.process.clone()
    }

    fn output(&self, id: &TerminalId) -> Result<TerminalOutputResponse, Error> {
        let terminal = self.terminals.get(&*id.0).ok_or_else(|| refusal(LOST))?;
        let output = TerminalOutputResponse::new(terminal.printed.clone(), terminal.truncated);
        Ok(match terminal.ended {
            Some(code) => output.exit_status(status(code)),
            None => output,
        })
    }
}

/// Returns a call whose texts name files by the path of the folder that people and other actors know. The content of a file stays as it is.
pub(crate) fn known(mut call: ToolCall, work: &AgentWork) -> ToolCall {
    let Ok(Value::Object(mut parameters)) = serde_json::from_str(&call.arguments) else { return call };
    let texts = parameters.iter_mut().filter(|(name, _)| call.name != "write_file" || *name != "content");
    texts.for_each(|(_, value)| work.context.value_as_original(value));
    call.arguments = Value::Object(parameters).to_string();
    call
}

/// Returns the TODO list for a plan of an agent. aime allows one entry in progress and at most 20 entries.
pub(crate) fn todos(plan: &[schema::PlanEntry]) -> Value {
    let mut begun = false;
    let items = plan.iter().take(ENTRIES).enumerate().map(|(at, entry)| {
        let status = match entry.status {
            PlanEntryStatus::Completed => "completed",
            PlanEntryStatus::InProgress if !std::mem::replace(&mut begun, true) => "in_progress",
            _ => "pending",
        };
        json!({"id": (at + 1).to_string(), "text": shortened(&entry.content), "status": status})
    });
    json!({"items": items.collect::<Vec<_>>()})
}

/// Returns the first characters of a text, in one line.
pub(crate) fn shortened(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(MAX_LINE).collect()
}

/// Returns true if a path of the folder of the task has no file.
fn is_missing(path: &Path, work: &AgentWork) -> bool {
    matches!(work.context.folder.read(path), Err(FileError::NotFound { .. }))
}

/// Returns the content of a file that the actor has just read.
fn content(request: &ReadTextFileRequest, work: &AgentWork) -> Result<ReadTextFileResponse, Error> {
    let refused = |error: FileError| refusal(&work.context.as_relative(&error.to_string()));
    let bytes = work.context.folder.read(&request.path).map_err(refused)?;
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

/// Returns the error that an agent gets.
pub(crate) fn refusal(reason: &str) -> Error {
    Error::new(ErrorCode::INVALID_PARAMS, reason)
}

/// An agent that has ended needs no answer.
pub(crate) fn sent(result: Result<(), Error>) {
    if let Err(error) = result {
        tracing::debug!(%error, "the agent has gone before it was answered");
    }
}

#[cfg(test)]
mod tests {
    use agent_client_protocol::v1::schema::{PlanEntry, PlanEntryPriority};

    use super::*;

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
}
