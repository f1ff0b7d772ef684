//! Handler of messages that a server sends by itself: progress, questions for a person, changes of its lists.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use rmcp::{
    ClientHandler, RoleClient,
    model::{
        self, ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationCapability, ErrorCode,
        ErrorData, FormElicitationCapability, Implementation, ProgressNotificationParam, ProgressToken, ProtocolVersion,
        UrlElicitationCapability,
    },
    service::{NotificationContext, RequestContext},
};
use tokio::sync::watch;

use super::{
    elicit::{Form, asks_url, may_go_on},
    listed::one_line,
};
use crate::{AskPerson, ToolContext};

/// Maximum characters of a progress message.
const PROGRESS_CHARS: usize = 200;

/// Externally visible state of a call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct CallActivity {
    /// Number of progress messages.
    pub(super) progress_messages: u64,
    /// Number of the server's questions that wait for a person.
    pub(super) asking: u32,
}

struct ActiveCall {
    token: Option<ProgressToken>,
    activity: watch::Sender<CallActivity>,
    context: ToolContext,
}

/// Handler of the messages of one server.
pub(super) struct Handler {
    server: String,
    calls: Mutex<BTreeMap<u64, ActiveCall>>,
    next: AtomicU64,
    changed: AtomicBool,
}

impl Handler {
    pub(super) fn new(server: &str) -> Self {
        Self { server: server.to_owned(), calls: Mutex::default(), next: AtomicU64::new(0), changed: AtomicBool::new(false) }
    }

    /// Returns true if the tools have changed since the last call of this function.
    pub(super) fn take_changed(&self) -> bool {
        self.changed.swap(false, Ordering::Relaxed)
    }

    pub(super) fn set_changed(&self) {
        self.changed.store(true, Ordering::Relaxed);
    }

    /// Registers a call: from now on it receives its progress and the server's questions.
    pub(super) fn begin(self: &Arc<Self>, context: &ToolContext) -> (CallRegistration, watch::Receiver<CallActivity>) {
        let (activity, receiver) = watch::channel(CallActivity::default());
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        self.calls().insert(id, ActiveCall { token: None, activity, context: context.clone() });
        (CallRegistration { handler: Arc::clone(self), id }, receiver)
    }

    fn calls(&self) -> MutexGuard<'_, BTreeMap<u64, ActiveCall>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn latest_person(&self) -> Option<(AskPerson, watch::Sender<CallActivity>)> {
        self.calls().values().rev().find_map(|going| Some((going.context.person.clone()?, going.activity.clone())))
    }

    /// Answers a question of the server by asking the person behind a call. The protocol does not say which call a question belongs to, so
    /// this uses the latest call that has a person.
    pub(super) async fn elicit(&self, request: ElicitRequestParams) -> ElicitResult {
        let decline = || ElicitResult::new(ElicitationAction::Decline);
        let Some((person, activity)) = self.latest_person() else { return decline() };
        activity.send_modify(|activity| activity.asking += 1);
        let _asked = QuestionGuard(activity);
        match request {
            ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } => {
                let Ok(schema) = serde_json::to_value(&requested_schema) else { return decline() };
                match fill(&Form::new(&self.server, &message, &schema), &person).await {
                    Some(content) => ElicitResult::new(ElicitationAction::Accept).with_content(content),
                    None => decline(),
                }
            }
            ElicitRequestParams::UrlElicitationParams { message, url, .. } => {
                match person.ask(asks_url(&self.server, &message, &url)).await {
                    Some(answer) if may_go_on(&answer) => ElicitResult::new(ElicitationAction::Accept),
                    _ => decline(),
                }
            }
            _ => decline(),
        }
    }
}

/// Asks a person for each field, in order. Returns `None` as soon as they decline.
async fn fill(form: &Form, person: &AskPerson) -> Option<serde_json::Value> {
    let mut content = serde_json::Map::new();
    if form.fields.is_empty() {
        return may_go_on(&person.ask(form.bare_question()).await?).then(|| content.into());
    }
    for field in &form.fields {
        let mut question = form.question(field);
        loop {
            let answer = person.ask(question.clone()).await?;
            match field.read(&answer)? {
                Ok(None) => break,
                Ok(Some(value)) => {
                    content.insert(field.name.clone(), value);
                    break;
                }
                Err(fault) => {
                    let again = form.question_again(field, &fault);
                    if again == question {
                        // The same answer to a repeated question: no person reads the questions.
                        return None;
                    }
                    question = again;
                }
            }
        }
    }
    Some(content.into())
}

/// Registration of a call. Dropping it ends the registration.
pub(super) struct CallRegistration {
    handler: Arc<Handler>,
    id: u64,
}

impl CallRegistration {
    /// Sets the progress token by which the server identifies the call.
    pub(super) fn as_token(&self, token: ProgressToken) {
        if let Some(going) = self.handler.calls().get_mut(&self.id) {
            going.token = Some(token);
        }
    }
}

impl Drop for CallRegistration {
    fn drop(&mut self) {
        self.handler.calls().remove(&self.id);
    }
}

/// Returns the protocol's error for a method that the client does not offer.
fn not_offered(what: &'static str) -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, what, None)
}

struct QuestionGuard(watch::Sender<CallActivity>);

impl Drop for QuestionGuard {
    fn drop(&mut self) {
        self.0.send_modify(|activity| activity.asking = activity.asking.saturating_sub(1));
    }
}

#[expect(deprecated, reason = "servers of earlier versions of the protocol still ask for a model and for folders")]
impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let elicitation =
            ElicitationCapability::new().with_form(FormElicitationCapability::default()).with_url(UrlElicitationCapability::default());
        let capabilities = ClientCapabilities::builder().enable_elicitation_with(elicitation).build();
        // Later versions know no `initialize`: a server of one of those is asked by `server/discover`.
        ClientConfig::new(capabilities, Implementation::new("aime", env!("CARGO_PKG_VERSION")))
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn create_elicitation(&self, request: ElicitRequestParams, _: RequestContext<RoleClient>) -> Result<ElicitResult, ErrorData> {
        Ok(self.elicit(request).await)
    }

    /// Refuses: a server would spend the run's budget, and read what its model answers.
    async fn create_message(
        &self,
        _: model::CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<model::CreateMessageResult, ErrorData> {
        Err(not_offered("sampling/createMessage: aime offers servers no model"))
    }

    /// Refuses: a server gets its folders by its settings.
    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<model::ListRootsResult, ErrorData> {
        Err(not_offered("roots/list: aime offers servers no folders"))
    }

    async fn on_progress(&self, notification: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        let calls = self.calls();
        let Some(call) = calls.values().find(|call| call.token.as_ref() == Some(&notification.progress_token)) else { return };
        call.activity.send_modify(|activity| activity.progress_messages += 1);
        if let Some(progress) = &call.context.progress {
            let message: String = one_line(notification.message.as_deref().unwrap_or_default()).chars().take(PROGRESS_CHARS).collect();
            let done = notification
                .total
                .map_or_else(|| format!("{}", notification.progress), |total| format!("{}/{total}", notification.progress));
            progress.report(if message.is_empty() { done } else { format!("{done} {message}") });
        }
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.set_changed();
    }
}
