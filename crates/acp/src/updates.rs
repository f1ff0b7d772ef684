//! Updates for a client, made from the run's events alone.

mod calls;
mod plan;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use agent_client_protocol::v1::schema::{
    ContentChunk, PlanEntry, RequestPermissionRequest, SessionId, SessionInfoUpdate, SessionUpdate, ToolCallId, ToolCallStatus,
    ToolCallUpdate, ToolCallUpdateFields,
};
use aime_orchestrator::{HumanQuestion, PublishedEvent};
use aime_progress_management::{Evidence, EvidenceKind, ProgressEvent, ProgressState, TaskId, TaskKind};

use self::calls::CallId;

/// Recipient of the updates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpdateSink {
    /// For a client whose user has just typed the run's input.
    Live,
    /// For a client that loads a session again, which needs the user's messages too.
    Replay,
}

/// Turns the events of one run into updates for a client. It uses the events alone, and reads no files and no clock.
#[derive(Debug)]
pub struct Updates {
    folder: PathBuf,
    sink: UpdateSink,
    state: Option<ProgressState>,
    /// The plan as it was shown last.
    plan: Vec<PlanEntry>,
    /// Calls for which the client was asked for consent, so that it has seen them already.
    consent_calls: BTreeSet<CallId>,
    /// Last call of each tool for a task, to which changes of files are attached.
    last: BTreeMap<(Option<TaskId>, String), CallId>,
    /// Calls that are shown with a change of a file.
    with_diff: BTreeSet<CallId>,
    /// Model and tokens of the last request in the conversation of the session.
    context: Option<(String, u64)>,
}

/// Use of a context window by a session.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ContextUse {
    /// Name of the model.
    pub(crate) model: String,
    /// Tokens of the last request and its answer.
    pub(crate) used: u64,
    /// Cost of the run so far, in US dollars.
    pub(crate) cost_usd: f64,
}

impl Updates {
    /// Creates the updates for a run in a folder. `state` is the state before the first event to come: `None` for a
    /// new run.
    #[must_use]
    pub fn new(folder: &Path, shown: UpdateSink, state: Option<ProgressState>) -> Self {
        Self {
            folder: folder.to_owned(),
            sink: shown,
            plan: state.as_ref().map(plan::entries).unwrap_or_default(),
            state,
            consent_calls: BTreeSet::new(),
            last: BTreeMap::new(),
            with_diff: BTreeSet::new(),
            context: None,
        }
    }

    /// Returns the updates for an event.
    pub fn observe(&mut self, published: &PublishedEvent) -> Vec<SessionUpdate> {
        let event = &published.event;
        let mut updates = self.before(event);
        match &mut self.state {
            // An event that does not fit the state is kept in the journal and skipped here.
            Some(state) => drop(state.apply(published.at, event)),
            None => self.state = ProgressState::start(published.at, event).ok(),
        }
        updates.extend(self.of_plan());
        updates
    }

    /// Returns the use of the context window after an event that was taken, if the event changes it. Tasks beside each other have windows of
    /// their own, so only requests of the lead, or of the one actor without a plan, count as the session's.
    pub(crate) fn context_use(&mut self, event: &ProgressEvent) -> Option<ContextUse> {
        let ProgressEvent::ModelCalled { purpose, model, spent, .. } = event else { return None };
        let state = self.state.as_ref()?;
        if purpose == "lead" || (purpose == "act" && state.tasks.len() <= 1) {
            self.context = Some((model.clone(), spent.input_tokens.saturating_add(spent.output_tokens)));
        }
        let (model, used) = self.context.clone()?;
        Some(ContextUse { model, used, cost_usd: state.spent.cost_usd })
    }

    /// Returns the open approvals as a message, for questions that could not be asked by the protocol.
    pub(crate) fn open_approvals(&self) -> Option<String> {
        let open = self.state.iter().flat_map(|state| &state.questions).filter(|question| question.answer.is_none());
        let asked: Vec<String> = open
            .filter(|question| question.kind == "approval")
            .map(|question| format!("{}\nAnswer yes, always or no.", question.question))
            .collect();
        (!asked.is_empty()).then(|| asked.join("\n\n"))
    }

    /// Returns the request for the client's consent.
    pub(crate) fn permission(&mut self, session: &SessionId, question: &HumanQuestion) -> RequestPermissionRequest {
        let id = CallId::of_question(&question.id);
        self.consent_calls.insert(id.clone());
        calls::permission(session, id, question)
    }

    fn before(&mut self, event: &ProgressEvent) -> Vec<SessionUpdate> {
        use ProgressEvent as E;

        match event {
            E::RunStarted { goal, .. } => {
                let title = SessionUpdate::SessionInfoUpdate(SessionInfoUpdate::new().title(first_line(goal)));
                self.typed(goal).into_iter().chain([title]).collect()
            }
            E::QuestionAsked { kind, question, .. } if kind != "approval" => vec![agent_message(&question.to_string())],
            E::QuestionAnswered { id, answer } => self.answered(id, answer),
            E::EvidenceAdded { evidence: Evidence { kind: EvidenceKind::UserInput, content, .. } } => {
                self.typed(content).into_iter().collect()
            }
            E::ModelCalled { task: Some(task), purpose, text, .. }
                if matches!(purpose.as_str(), "act" | "lead") && !text.trim().is_empty() =>
            {
                vec![thought(&self.of_task(task, text))]
            }
            E::PlanCreated { fallback: Some(why), .. } => vec![thought(&format!("The plan is a fallback: {why}"))],
            E::PlanChanged { decision } => vec![thought(&format!("The plan is changed: {}", decision.patch.reasoning))],
            E::TaskConcluded { task, conclusion } => {
                conclusion.error.iter().map(|error| thought(&self.of_task(task, &format!("failed: {error}")))).collect()
            }
            E::ToolCallStarted { task, call, tool, parameters } => {
                self.started(task.as_ref(), call, tool, parameters).into_iter().collect()
            }
            E::ToolCallFinished { call, tool, outcome, output, .. } => self.finished(call, tool, *outcome, output).into_iter().collect(),
            E::Answered { text } if !text.is_empty() => vec![agent_message(text)],
            E::FileChanged(change) => self.changed(change).into_iter().collect(),
            _ => Vec::new(),
        }
    }

    /// Returns the user's message, if the session is replayed.
    fn typed(&self, text: &str) -> Option<SessionUpdate> {
        (self.sink == UpdateSink::Replay).then(|| SessionUpdate::UserMessageChunk(chunk(text)))
    }

    fn answered(&mut self, id: &aime_progress_management::QuestionId, answer: &str) -> Vec<SessionUpdate> {
        let asked = self.state.as_ref().and_then(|state| state.questions.iter().find(|question| question.id == *id));
        let Some(asked) = asked else { return Vec::new() };
        if asked.kind != "approval" {
            return self.typed(answer).into_iter().collect();
        }
        // Consent to a tool task has a call of its own; consent to an actor's call continues as that call.
        let of_tool =
            asked.task.as_ref().and_then(|task| self.state.as_ref()?.tasks.get(task)).is_some_and(|task| task.spec.kind == TaskKind::Tool);
        let call = CallId::of_question(id);
        if !of_tool || !self.consent_calls.remove(&call) {
            return Vec::new();
        }
        let agreed = matches!(answer.trim().to_lowercase().as_str(), "y" | "yes" | "a" | "always");
        let status = if agreed { ToolCallStatus::Completed } else { ToolCallStatus::Failed };
        vec![SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(ToolCallId::from(&call), ToolCallUpdateFields::new().status(status)))]
    }

    /// Returns a text with the title of its task, where there are several.
    fn of_task(&self, task: &TaskId, text: &str) -> String {
        let tasks = self.state.as_ref().map(|state| &state.tasks);
        match tasks.and_then(|tasks| tasks.get(task).filter(|_| tasks.len() > 1)) {
            Some(task) => format!("{}: {}", task.spec.title(), text.trim()),
            None => text.trim().to_owned(),
        }
    }

    /// Returns the plan, if it differs from the one shown last.
    fn of_plan(&mut self) -> Option<SessionUpdate> {
        let entries = plan::entries(self.state.as_ref()?);
        if entries == self.plan {
            return None;
        }
        self.plan.clone_from(&entries);
        Some(SessionUpdate::Plan(agent_client_protocol::v1::schema::Plan::new(entries)))
    }
}

/// Returns a message of the agent.
pub(crate) fn agent_message(text: &str) -> SessionUpdate {
    SessionUpdate::AgentMessageChunk(chunk(&format!("{}\n\n", text.trim_end())))
}

/// Returns a status text, which is shown apart from messages.
fn thought(text: &str) -> SessionUpdate {
    SessionUpdate::AgentThoughtChunk(chunk(&format!("{}\n\n", text.trim_end())))
}

fn chunk(text: &str) -> ContentChunk {
    ContentChunk::new(text.into())
}

/// Returns the first line of a text, 100 characters at most.
pub(crate) fn first_line(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    if line.chars().count() <= 100 { line.to_owned() } else { line.chars().take(99).chain(['…']).collect() }
}
