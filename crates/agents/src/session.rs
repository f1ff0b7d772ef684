//! The session of a task.

use std::{collections::BTreeMap, future::pending, time::Duration};

use agent_client_protocol::{
    Agent, Error,
    v1::{
        ConnectionTo,
        schema::{
            ContentBlock, ImageContent, LoadSessionRequest, NewSessionRequest, PromptRequest, PromptResponse, SessionId, SessionUpdate,
            StopReason, TerminalId, ToolCallStatus, ToolCallUpdate,
        },
    },
};
use aime_llm::{ChatResponse, Image, ToolCall, Usage};
use futures::future::select_all;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::{
    AgentError, AgentSettings, AgentWork,
    answer::{cost_usd, tokens_of},
    calls::{AgentMessage, Requests, shortened, todos},
    consent::KnownCalls,
    process::{AgentProcess, EXPLAIN_TIMEOUT},
};

/// Most progress reports of one process. Further ones are dropped.
const REPORTS: u32 = 500;
/// Maximum bytes that are kept of a message of the agent.
const MAX_TEXT: usize = 256 * 1024;
/// Maximum number of messages that are read before their calls are made.
const AT_ONCE: usize = 64;
/// Time that an agent has to end a turn that was cancelled.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(2);

/// Next step of an agent.
#[expect(clippy::large_enum_variant, reason = "there is one at a time")]
pub(crate) enum Next {
    /// Calls of its actor.
    Calls(Vec<ToolCall>),
    /// Its turn has ended, with its last message.
    Ended(Result<PromptResponse, Error>, String),
    /// It has sent nothing for too long.
    TimedOut,
}

/// A session, and the process that it lives in.
pub(crate) struct Session {
    name: String,
    process: AgentProcess,
    id: SessionId,
    requests: Requests,
    /// Prompts that wait for the end of the turn.
    queued: Vec<String>,
    /// Images of the next prompt.
    images: Vec<Image>,
    /// True while the agent works on a prompt.
    works: bool,
    /// Message that was taken from the queue too early.
    pending: Option<AgentMessage>,
    /// Message of the agent since its last tool call, and the one before that.
    text: String,
    text_before: String,
    known_calls: KnownCalls,
    plan: Value,
    reports: u32,
    /// Cost of the session so far, and the part of it that was reported.
    cost: f64,
    cost_reported: f64,
    /// Tokens of the turns that have ended since the last answer, as far as the agent reports them.
    tokens: Option<Usage>,
}

impl Session {
    /// Starts the program and begins a session in the folder of the task. Returns its id, too.
    pub(crate) async fn begin(settings: &AgentSettings, work: &AgentWork, number: u32) -> Result<(Self, String), AgentError> {
        let mut process = AgentProcess::start(settings, work).await?;
        let asked = process.agent.send_request(NewSessionRequest::new(work.context.working_folder())).block_task();
        let id = match process.answer_of(asked, settings.limits.start, drop).await {
            Some(Ok(begun)) => begun.session_id,
            Some(Err(error)) => {
                let methods: Vec<&str> = process.introduced.auth_methods.iter().map(|method| method.name()).collect();
                let hint = if methods.is_empty() {
                    String::new()
                } else {
                    format!(". Log in with its own program first ({}), or name the variable of its key in env", methods.join(", "))
                };
                return Err(process.error(format!("begins no session: {error}{hint}")));
            }
            None => return Err(process.error(format!("begins no session within {} s", settings.limits.start.as_secs()))),
        };
        let session_id = id.0.to_string();
        Ok((Self::of(settings, process, id, number), session_id))
    }

    /// Starts the program again and loads a session.
    ///
    /// # Errors
    /// [`AgentError::Forgotten`] if the agent cannot load it.
    pub(crate) async fn load(settings: &AgentSettings, work: &AgentWork, id: &str, number: u32) -> Result<Self, AgentError> {
        let mut process = AgentProcess::start(settings, work).await?;
        let forgotten = |reason: String| AgentError::Forgotten { agent: settings.name.clone(), reason };
        if !process.introduced.agent_capabilities.load_session {
            return Err(forgotten("it does not offer to load sessions".to_owned()));
        }
        let id = SessionId::new(id);
        let asked = process.agent.send_request(LoadSessionRequest::new(id.clone(), work.context.working_folder())).block_task();
        let mut cost = 0.0_f64;
        // Before its answer the agent shows the conversation so far, which the run has already, with what it has cost.
        let mut shown = |message: AgentMessage| {
            if let AgentMessage::Update(update) = message
                && let SessionUpdate::UsageUpdate(usage) = &update.update
            {
                cost = cost.max(cost_usd(usage));
            }
        };
        match process.answer_of(asked, settings.limits.start, &mut shown).await {
            Some(Ok(_)) => {}
            Some(Err(error)) => {
                // Give a program that exits at once a moment to write the reason.
                sleep(EXPLAIN_TIMEOUT).await;
                return Err(forgotten(format!("{error}{}", process.stderr())));
            }
            None => return Err(forgotten(format!("it has not done so within {} s{}", settings.limits.start.as_secs(), process.stderr()))),
        }
        while let Ok(message) = process.messages.try_recv() {
            shown(message);
        }
        Ok(Self { cost, cost_reported: cost, ..Self::of(settings, process, id, number) })
    }

    fn of(settings: &AgentSettings, process: AgentProcess, id: SessionId, number: u32) -> Self {
        Self {
            name: settings.name.clone(),
            process,
            id,
            requests: Requests::new(number),
            queued: Vec::new(),
            images: Vec::new(),
            works: false,
            pending: None,
            text: String::new(),
            text_before: String::new(),
            known_calls: KnownCalls::default(),
            plan: Value::Null,
            reports: 0,
            cost: 0.0,
            cost_reported: 0.0,
            tokens: None,
        }
    }

    /// Returns name and version of the program.
    pub(crate) fn software(&self) -> String {
        let info = self.process.introduced.agent_info.as_ref();
        info.map_or_else(|| "an agent without a name".to_owned(), |info| format!("{} {}", info.name, info.version))
    }

    /// Adds prompts for the agent.
    pub(crate) fn queue(&mut self, prompts: Vec<String>) {
        self.queued.extend(prompts);
    }

    /// Keeps what people answered while no process of the agent ran.
    pub(crate) fn keep_answers(&mut self, answers: BTreeMap<String, String>) {
        self.requests.keep_answers(answers);
    }

    /// Adds images to the next prompt. An agent that takes none is told what was left out.
    pub(crate) fn show(&mut self, images: Vec<Image>) {
        if self.process.introduced.agent_capabilities.prompt_capabilities.image {
            self.images.extend(images);
        } else {
            self.queued.extend(images.iter().map(Image::omission_note));
        }
    }

    /// Answers the request behind a call.
    pub(crate) fn settle(&mut self, call: &str, result: &str, work: &AgentWork) {
        self.requests.settle(call, result, work);
    }

    /// Returns a call of the actor.
    pub(crate) fn call(&mut self, tool: &str, parameters: &Value) -> ToolCall {
        self.requests.call(tool, parameters)
    }

    /// Adds the usage that was reported since the last answer.
    pub(crate) fn with_usage(&mut self, mut answer: ChatResponse) -> ChatResponse {
        answer.cost_usd = (self.cost - self.cost_reported).max(0.0);
        self.cost_reported = self.cost_reported.max(self.cost);
        match self.tokens.take() {
            None => answer.usage_estimated = true,
            Some(tokens) => answer.usage = tokens,
        }
        answer
    }

    /// Lets the agent work until it needs something, reports something, or ends its turn.
    pub(crate) async fn next(&mut self, work: &AgentWork, silence: Duration) -> Next {
        if !self.works {
            self.prompt();
        }
        let stopping = CancelOnDrop { agent: self.process.agent.clone(), session: Some(self.id.clone()) };
        let next = self.wait(work, silence).await;
        stopping.unneeded();
        next
    }

    fn prompt(&mut self) {
        // The words of an earlier turn are no answer to this prompt.
        self.text.clear();
        self.text_before.clear();
        let prompt = std::mem::take(&mut self.queued).join("\n\n");
        let images = std::mem::take(&mut self.images).into_iter();
        let images = images.map(|image| ContentBlock::Image(ImageContent::new(image.data.to_string(), image.format.media_type())));
        let asked = PromptRequest::new(self.id.clone(), std::iter::once(prompt.into()).chain(images).collect());
        let (answer, asks) = (self.process.agent.send_request(asked).block_task(), self.process.asks.clone());
        tokio::spawn(async move { asks.send(AgentMessage::Ended(answer.await)).await.is_ok() });
        self.works = true;
    }

    async fn wait(&mut self, work: &AgentWork, silence: Duration) -> Next {
        let (mut calls, mut read) = (Vec::new(), 0);
        loop {
            read += 1;
            let asked = match self.pending.take() {
                Some(held) => Some(held),
                None if calls.is_empty() => {
                    let unread = self.requests.unread(work);
                    tokio::select! {
                        biased;
                        asked = timeout(silence, self.process.messages.recv()) => match asked {
                            Ok(asked) => asked,
                            // A command that prints while the agent waits for it is no silence.
                            Err(_) if self.requests.unread(work) > unread => continue,
                            Err(_) => return Next::TimedOut,
                        },
                        terminal = first_ended(self.requests.awaited(), work) => {
                            calls.extend(self.requests.terminal_output(terminal, None));
                            None
                        }
                    }
                }
                None if read <= AT_ONCE => self.process.messages.try_recv().ok(),
                None => None,
            };
            match asked {
                Some(AgentMessage::Ended(ended)) if calls.is_empty() => {
                    self.works = false;
                    if let Ok(PromptResponse { usage: Some(usage), .. }) = &ended {
                        *self.tokens.get_or_insert_default() += tokens_of(usage);
                    }
                    // After a limit or a refusal the agent has not done the task, whatever it answers to the next prompt. A turn that
                    // aime has cancelled goes on with it.
                    let may_go_on = matches!(&ended, Ok(PromptResponse { stop_reason: StopReason::EndTurn | StopReason::Cancelled, .. }));
                    if may_go_on && !self.queued.is_empty() {
                        self.prompt();
                        continue;
                    }
                    let text = if self.text.trim().is_empty() { &self.text_before } else { &self.text };
                    return Next::Ended(ended, text.clone());
                }
                Some(ended @ AgentMessage::Ended(_)) => self.pending = Some(ended),
                Some(AgentMessage::Update(update)) => {
                    calls.extend(self.update(update.update));
                    continue;
                }
                Some(mut asked) => {
                    if let AgentMessage::Permission(request, _) = &mut asked {
                        request.tool_call.fields = self.known_calls.merged(&request.tool_call);
                    }
                    calls.extend(self.requests.take(asked, work));
                    continue;
                }
                None => {}
            }
            if calls.is_empty() {
                let gone = Error::internal_error().data(Value::from("its connection is closed"));
                return Next::Ended(Err(gone), self.text.clone());
            }
            // The last call is one that the agent did not ask for, because notes for it are put behind the last result.
            let own = |call: &ToolCall| ["todo", "update_progress"].contains(&call.name.as_str());
            if !calls.last().is_some_and(own) {
                let names: Vec<&str> = calls.iter().filter(|call| !own(call)).map(|call| call.name.as_str()).collect();
                let message = format!("asks for {}", names.join(", "));
                calls.push(self.call("update_progress", &json!({"status": self.name, "message": message})));
            }
            return Next::Calls(calls);
        }
    }

    /// Takes an update. Returns the call that shows it to people, if it is worth one.
    fn update(&mut self, update: SessionUpdate) -> Option<ToolCall> {
        match update {
            SessionUpdate::AgentMessageChunk(chunk) => {
                if let ContentBlock::Text(text) = chunk.content {
                    let room = MAX_TEXT.saturating_sub(self.text.len());
                    self.text.push_str(text.text.get(..text.text.floor_char_boundary(room)).unwrap_or_default());
                }
                None
            }
            SessionUpdate::ToolCall(call) => {
                if !self.text.trim().is_empty() {
                    self.text_before = std::mem::take(&mut self.text);
                }
                let title = shortened(&call.title);
                self.known_calls.merged(&ToolCallUpdate::from(call));
                self.report(&title)
            }
            SessionUpdate::ToolCallUpdate(update) => {
                let id = &update.tool_call_id;
                let known = self.known_calls.title(id);
                let fields = self.known_calls.merged(&update);
                let title = shortened(fields.title.as_deref().unwrap_or(&id.0));
                if update.fields.status == Some(ToolCallStatus::Failed) {
                    return self.report(&format!("failed: {title}"));
                }
                if known.as_ref() == Some(&title) { None } else { self.report(&title) }
            }
            SessionUpdate::Plan(plan) => {
                let todos = todos(&plan.entries);
                if self.plan == todos {
                    return None;
                }
                self.plan.clone_from(&todos);
                Some(self.call("todo", &todos))
            }
            SessionUpdate::UsageUpdate(usage) => {
                self.cost = self.cost.max(cost_usd(&usage));
                None
            }
            _ => None,
        }
    }

    fn report(&mut self, what: &str) -> Option<ToolCall> {
        let what = shortened(what);
        self.reports += 1;
        if self.reports > REPORTS || what.is_empty() {
            return None;
        }
        let parameters = json!({"status": self.name, "message": what});
        Some(self.call("update_progress", &parameters))
    }

    /// Cancels the turn, and ends the program.
    pub(crate) async fn stop(mut self, work: &AgentWork) {
        self.process.cancel(&self.id);
        let ended = async {
            while let Some(asked) = self.process.messages.recv().await {
                if matches!(asked, AgentMessage::Ended(_)) {
                    break;
                }
            }
        };
        // An agent that does not end its turn is killed.
        let _late = timeout(CANCEL_TIMEOUT, ended).await;
        self.end(work).await;
    }

    /// Ends the program, and the commands that it has started through aime.
    pub(crate) async fn end(self, work: &AgentWork) {
        self.process.end().await;
        if let Some(background) = &work.context.background {
            background.end_own(&work.context).await;
        }
    }
}

/// Waits until the first of these processes has ended, and returns its terminal.
async fn first_ended(awaited: Vec<(TerminalId, String)>, work: &AgentWork) -> TerminalId {
    let Some(background) = work.context.background.as_ref().filter(|_| !awaited.is_empty()) else { return pending().await };
    let all = awaited.into_iter().map(|(terminal, process)| {
        Box::pin(async move {
            background.ended(&process).await;
            terminal
        })
    });
    select_all(all).await.0
}

/// Asks the agent to stop its turn if nobody waits for it any more.
struct CancelOnDrop {
    agent: ConnectionTo<Agent>,
    session: Option<SessionId>,
}

impl CancelOnDrop {
    fn unneeded(mut self) {
        self.session = None;
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        if let Some(session) = self.session.take() {
            crate::process::cancel(&self.agent, &session);
        }
    }
}
