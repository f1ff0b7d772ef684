//! An editor: a client of the official library, and what it was shown.

use std::{
    collections::{BTreeMap, VecDeque},
    process::Stdio,
    sync::{Arc, Mutex},
    time::Duration,
};

use agent_client_protocol::{
    Agent, ByteStreams, Client, Error, JsonRpcRequest,
    schema::ProtocolVersion,
    v1::{
        ConnectionTo, SentRequest,
        schema::{
            CancelNotification, ClientCapabilities, ContentBlock, CreateElicitationRequest, CreateElicitationResponse,
            ElicitationAcceptAction, ElicitationAction, ElicitationCapabilities, ElicitationContentValue, ElicitationFormCapabilities,
            InitializeRequest, InitializeResponse, NewSessionRequest, NewSessionResponse, PermissionOptionKind, PlanEntryStatus,
            PromptRequest, RequestPermissionOutcome, RequestPermissionRequest, RequestPermissionResponse, SelectedPermissionOutcome,
            SessionId, SessionNotification, SessionUpdate, SetSessionConfigOptionRequest, StopReason, ToolCall,
        },
    },
};
use tokio::{process::Child, runtime::Runtime, sync::oneshot, task::JoinHandle, time::timeout};
use tokio_util::compat::{TokioAsyncReadCompatExt, TokioAsyncWriteCompatExt};

use crate::harness::World;

/// What must happen happens within this time.
const PATIENCE: Duration = Duration::from_secs(90);

/// An editor, and the agent that it has started.
pub(crate) struct Editor {
    runtime: Runtime,
    agent: ConnectionTo<Agent>,
    child: Child,
    connection: JoinHandle<Result<(), Error>>,
    close: oneshot::Sender<()>,
    updates: Arc<Mutex<Vec<SessionNotification>>>,
    asked: Arc<Mutex<Vec<RequestPermissionRequest>>>,
    forms: Arc<Mutex<Vec<CreateElicitationRequest>>>,
    /// What the agent has said of itself.
    pub(super) introduced: InitializeResponse,
}

impl Editor {
    /// With somebody in front of it who consents to nothing.
    pub(crate) fn of(world: &World) -> Self {
        Self::answering(world, &[])
    }

    /// With somebody who fills forms in this way, one after the other, and declines those after them.
    pub(super) fn filling(world: &World, answers: &'static [&'static str]) -> Self {
        Self::with(world, &[], Some(answers))
    }

    /// With somebody who answers requests for consent in this way, one after the other.
    pub(super) fn answering(world: &World, answers: &[PermissionOptionKind]) -> Self {
        Self::with(world, answers, None)
    }

    fn with(world: &World, answers: &[PermissionOptionKind], filled: Option<&'static [&'static str]>) -> Self {
        let forms = Arc::new(Mutex::new(Vec::new()));
        let runtime = Runtime::new().unwrap();
        let (updates, asked) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(Vec::new())));
        let (connected, connection) = oneshot::channel();
        let (close, closed) = oneshot::channel();
        let mut command = world.command();
        command.arg("acp").stdin(Stdio::piped()).stdout(Stdio::piped());
        command.stderr(std::fs::File::create(world.root().join("agent.log")).unwrap());
        let (agent, child, running) = runtime.block_on(async {
            let mut child = tokio::process::Command::from(command).kill_on_drop(true).spawn().unwrap();
            let streams = ByteStreams::new(child.stdin.take().unwrap().compat_write(), child.stdout.take().unwrap().compat());
            let shown = Arc::clone(&updates);
            let (shown_forms, mut filled) = (Arc::clone(&forms), filled.unwrap_or_default().iter());
            let (questions, mut answers) = (Arc::clone(&asked), answers.iter().copied().collect::<VecDeque<_>>());
            let client = Client
                .v1()
                .on_receive_notification(
                    async move |update: SessionNotification, _| {
                        shown.lock().unwrap().push(update);
                        Ok(())
                    },
                    agent_client_protocol::on_receive_notification!(),
                )
                .on_receive_request(
                    async move |request: CreateElicitationRequest, responder, _| {
                        shown_forms.lock().unwrap().push(request);
                        let accepted = filled.next().map(|text| {
                            let content = BTreeMap::from([("answer".to_owned(), ElicitationContentValue::from(*text))]);
                            ElicitationAction::Accept(ElicitationAcceptAction::new().content(content))
                        });
                        responder.respond(CreateElicitationResponse::new(accepted.unwrap_or(ElicitationAction::Decline)))
                    },
                    agent_client_protocol::on_receive_request!(),
                )
                .on_receive_request(
                    async move |request: RequestPermissionRequest, responder, _| {
                        let wanted = answers.pop_front();
                        let option = request.options.iter().find(|option| Some(option.kind) == wanted);
                        let outcome = option.map_or(RequestPermissionOutcome::Cancelled, |option| {
                            RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(option.option_id.clone()))
                        });
                        questions.lock().unwrap().push(request);
                        responder.respond(RequestPermissionResponse::new(outcome))
                    },
                    agent_client_protocol::on_receive_request!(),
                );
            let running = tokio::spawn(client.connect_with(streams, async move |agent: ConnectionTo<Agent>| {
                drop(connected.send(agent));
                // The end of the foreground is the end of the connection.
                drop(closed.await);
                Ok(())
            }));
            (timeout(PATIENCE, connection).await.unwrap().unwrap(), child, running)
        });
        let shows_forms = filled.map(|_| ElicitationCapabilities::new().form(ElicitationFormCapabilities::new()));
        let greeting = InitializeRequest::new(ProtocolVersion::V1).client_capabilities(ClientCapabilities::new().elicitation(shows_forms));
        let introduction = agent.send_request(greeting).block_task();
        let introduced = runtime.block_on(async { timeout(PATIENCE, introduction).await.unwrap().unwrap() });
        Self { runtime, agent, child, connection: running, close, updates, asked, forms, introduced }
    }

    /// Waits for what must happen.
    pub(super) fn within<T>(&self, what: impl Future<Output = T>) -> T {
        self.runtime.block_on(async { timeout(PATIENCE, what).await.expect("it takes too long") })
    }

    /// Sends a request.
    pub(super) fn send<R: JsonRpcRequest>(&self, request: R) -> SentRequest<R::Response> {
        self.agent.send_request(request)
    }

    /// Sends a request and waits for its answer.
    pub(super) fn ask<R: JsonRpcRequest<Response: Send>>(&self, request: R) -> Result<R::Response, Error> {
        self.within(self.send(request).block_task())
    }

    /// Begins a session in the working folder.
    pub(crate) fn begin(&self, world: &World) -> NewSessionResponse {
        self.ask(NewSessionRequest::new(world.work())).unwrap()
    }

    /// The same for goals that are worked on without a plan.
    pub(super) fn direct(&self, world: &World) -> SessionId {
        let id = self.begin(world).session_id;
        self.ask(SetSessionConfigOptionRequest::new(id.clone(), "planning", "direct")).unwrap();
        id
    }

    /// Gives a prompt and waits for the end of its turn.
    pub(crate) fn prompt(&self, session: &SessionId, text: &str) -> Result<StopReason, Error> {
        Ok(self.ask(PromptRequest::new(session.clone(), vec![text.into()]))?.stop_reason)
    }

    /// The forms that were shown.
    pub(super) fn forms(&self) -> Vec<CreateElicitationRequest> {
        self.forms.lock().unwrap().clone()
    }

    /// Cancels the turn that is under way.
    pub(super) fn cancel(&self, session: &SessionId) {
        self.agent.send_notification(CancelNotification::new(session.clone())).unwrap();
    }

    /// What was shown of a session so far. Whatever was told before an answer is here when the answer is.
    pub(super) fn updates(&self, session: &SessionId) -> Vec<SessionUpdate> {
        let updates = self.updates.lock().unwrap();
        updates.iter().filter(|update| update.session_id == *session).map(|update| update.update.clone()).collect()
    }

    /// What consent was asked for.
    pub(super) fn asked(&self) -> Vec<RequestPermissionRequest> {
        self.asked.lock().unwrap().clone()
    }

    /// Closes the agent's input: it must end by itself, and well.
    pub(crate) fn close(self) {
        let Self { runtime, agent, mut child, connection, close, .. } = self;
        drop(agent);
        close.send(()).unwrap();
        runtime.block_on(async {
            drop(timeout(PATIENCE, connection).await.expect("the connection ends"));
            let status = timeout(PATIENCE, child.wait()).await.expect("the agent ends").unwrap();
            assert_eq!(status.code(), Some(0));
        });
    }
}

/// The plans that were shown, each with the titles of its entries and how they stand.
pub(super) fn plans(updates: &[SessionUpdate]) -> Vec<Vec<(String, PlanEntryStatus)>> {
    let plans = updates.iter().filter_map(|update| match update {
        SessionUpdate::Plan(plan) => Some(plan.entries.iter().map(|entry| (entry.content.clone(), entry.status.clone())).collect()),
        _ => None,
    });
    plans.collect()
}

/// The tool calls as they stand in the end.
pub(super) fn calls(updates: &[SessionUpdate]) -> Vec<ToolCall> {
    let mut calls: Vec<ToolCall> = Vec::new();
    for update in updates {
        match update {
            SessionUpdate::ToolCall(call) => calls.push(call.clone()),
            SessionUpdate::ToolCallUpdate(update) => match calls.iter_mut().find(|call| call.tool_call_id == update.tool_call_id) {
                Some(call) => call.update(update.fields.clone()),
                // One that was asked about is known from there.
                None => calls.push(update.clone().try_into().unwrap()),
            },
            _ => {}
        }
    }
    calls
}

/// What the agent has said, a line for each message.
pub(super) fn agent_text(updates: &[SessionUpdate]) -> String {
    texts(updates, |update| match update {
        SessionUpdate::AgentMessageChunk(chunk) => Some(&chunk.content),
        _ => None,
    })
}

/// What the user has said.
pub(super) fn user_text(updates: &[SessionUpdate]) -> String {
    texts(updates, |update| match update {
        SessionUpdate::UserMessageChunk(chunk) => Some(&chunk.content),
        _ => None,
    })
}

fn texts(updates: &[SessionUpdate], of: impl Fn(&SessionUpdate) -> Option<&ContentBlock>) -> String {
    let text = |block: &ContentBlock| match block {
        ContentBlock::Text(text) => text.text.trim().to_owned(),
        other => panic!("no text: {other:?}"),
    };
    updates.iter().filter_map(of).map(text).collect::<Vec<_>>().join("\n")
}
