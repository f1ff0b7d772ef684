//! The spans of a run, made from its events.

#[cfg(test)]
pub(crate) mod tests;

use std::collections::BTreeMap;

use aime_orchestrator::PublishedEvent;
use aime_progress_management::{CallOutcome, ProgressEvent, RunId, RunStatus, TaskId, TaskStatus, Timestamp};
use opentelemetry_proto::tonic::{
    common::v1::KeyValue,
    trace::v1::{
        Span, Status,
        span::{Event, SpanKind},
        status::StatusCode,
    },
};
use serde_json::json;

use crate::{
    Providers,
    attributes::{self as known, amount, count, text, texts},
    ids::{self, nanos},
    logs::outcome_word,
};

/// Maximum number of notes of one run, as in OpenTelemetry's own SDKs. Further notes are only counted.
const MAX_NOTES: usize = 128;

/// Key of an open span.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Task(TaskId),
    Actor(TaskId),
    Planning,
    Call(Option<TaskId>, String),
}

/// Turns the events of one run into spans. Pure: it reads no clock, and the same events make the same spans.
///
/// The tree is: the run, below it plans and tasks, below a task its actor, below that its model calls and tool calls.
/// A span is returned when it has ended. A resumed run keeps its trace, and gets a new root span for each resume.
#[derive(Debug)]
pub struct Spans {
    run: RunId,
    trace: Vec<u8>,
    providers: Providers,
    content: bool,
    root: Option<Span>,
    open: BTreeMap<Key, Span>,
    last: Timestamp,
    /// True if the last event ended the planning, in which the plan may have been changed.
    has_planned: bool,
}

impl Spans {
    /// Creates the spans of a run. `providers` are those of the models; with `content` spans
    /// also hold text of the run.
    #[must_use]
    pub fn new(run: &RunId, providers: impl Into<Providers>, content: bool) -> Self {
        Self {
            run: run.clone(),
            trace: ids::trace(run),
            providers: providers.into(),
            content,
            root: None,
            open: BTreeMap::new(),
            last: Timestamp::from_millis(0),
            has_planned: false,
        }
    }

    /// Observes an event. Returns the spans that have ended with it.
    pub fn observe(&mut self, published: &PublishedEvent) -> Vec<Span> {
        // A change of the plan follows the status, and has an attribute for the span. Without one the plan stays as it is.
        let changes = matches!(published.event, ProgressEvent::PlanChanged { .. });
        let stays = std::mem::take(&mut self.has_planned) && !changes;
        let kept = if stays { self.end(&Key::Planning, [], None) } else { None };
        kept.into_iter().chain(self.observe_next(published)).collect()
    }

    /// Observes an event. The planning of a plan that stays as it is has been ended before.
    fn observe_next(&mut self, published: &PublishedEvent) -> Vec<Span> {
        use ProgressEvent as E;

        let PublishedEvent { seq, at, event } = published;
        self.last = *at;
        if self.root.is_none() {
            let name = format!("{seq}");
            let of_run =
                [text(known::OPERATION, "invoke_workflow"), text(known::AGENT_NAME, "aime"), text(known::CONVERSATION, self.run.as_str())];
            let mut root = self.span("invoke_workflow aime", ("run", &name), *at, of_run.to_vec());
            root.parent_span_id.clear();
            self.root = Some(root);
        }
        match event {
            E::RunStarted { goal, .. } if self.content => self.set_root_attribute(text(known::INPUT_MESSAGES, message("user", goal))),
            E::Answered { text: answer } if self.content => {
                self.set_root_attribute(text(known::OUTPUT_MESSAGES, message("assistant", answer)))
            }
            E::Routed { mode, category, .. } => {
                self.set_root_attribute(text("aime.mode", mode.to_string()));
                self.set_root_attribute(text("aime.category", category.as_str()));
            }
            E::PlanningStarted { purpose } => {
                let attributes = vec![text(known::OPERATION, "plan"), text("aime.planning.purpose", purpose.as_str())];
                let span = self.span("plan", ("plan", &seq.to_string()), *at, attributes);
                // One that was cut off by a stop has ended where the next begins.
                return self.replace(Key::Planning, span).into_iter().collect();
            }
            E::PlanCreated { plan, fallback, .. } => {
                let attributes = [count("aime.plan.tasks", plan.tasks.len() as u64), count("aime.plan.version", 1)];
                return self.end(&Key::Planning, attributes, fallback.as_ref().map(|_| "fallback")).into_iter().collect();
            }
            E::PlanChanged { decision } => {
                return self.end(&Key::Planning, [count("aime.plan.version", decision.version.into())], None).into_iter().collect();
            }
            E::TaskStatusChanged { task, to: TaskStatus::Running, attempt, .. } => {
                let attributes = vec![text("aime.task.id", task.as_str()), count("aime.task.attempt", (*attempt).into())];
                let span = self.span("task", ("task", &format!("{task}/{seq}")), *at, attributes);
                return self.replace(Key::Task(task.clone()), span).into_iter().collect();
            }
            E::TaskStatusChanged { task, from: TaskStatus::Running, to, .. } => return self.task_left(task, *to),
            // An actor that answers a call of another one works in the span of that one, which goes on.
            E::ActorCreated { task: Some(task), call: None, actor, profile, model, effort, .. } => {
                let mut attributes = vec![
                    text(known::OPERATION, "invoke_agent"),
                    text(known::AGENT_NAME, profile.as_str()),
                    text(known::REQUEST_MODEL, model.as_str()),
                ];
                attributes.extend(effort.as_ref().map(|effort| text(known::EFFORT, effort.as_str())));
                let parent = self.below(Some(task));
                let mut span = self.span(&format!("invoke_agent {profile}"), ("actor", actor), *at, attributes);
                span.parent_span_id = parent;
                return self.replace(Key::Actor(task.clone()), span).into_iter().collect();
            }
            E::ModelCalled { .. } => return vec![self.model_called(*seq, *at, event)],
            E::ToolCallStarted { task, call, tool, parameters } => {
                let mut attributes = vec![
                    text(known::OPERATION, "execute_tool"),
                    text(known::TOOL_NAME, tool.as_str()),
                    text(known::TOOL_TYPE, "function"),
                    text(known::TOOL_CALL, call.as_str()),
                ];
                if self.content {
                    attributes.push(text(known::TOOL_ARGUMENTS, json!(parameters).to_string()));
                }
                let parent = self.below(task.as_ref());
                let mut span = self.span(&format!("execute_tool {tool}"), ("call", call), *at, attributes);
                span.parent_span_id = parent;
                return self.replace(Key::Call(task.clone(), call.clone()), span).into_iter().collect();
            }
            E::ToolCallFinished { task, call, outcome, output, .. } => {
                let result = self.content.then(|| text(known::TOOL_RESULT, output.as_str()));
                let error = (*outcome != CallOutcome::Ok).then(|| outcome_word(*outcome));
                return self.end(&Key::Call(task.clone(), call.clone()), result, error).into_iter().collect();
            }
            E::TriggersFired { reasons } => {
                let kinds = reasons.iter().map(|reason| known::word(&reason.kind));
                self.note("aime.replan_triggers", vec![texts("aime.triggers", kinds)]);
            }
            E::QuestionAsked { kind, .. } => self.note("aime.question_asked", vec![text("aime.question.kind", kind.as_str())]),
            E::QuestionAnswered { .. } => self.note("aime.question_answered", Vec::new()),
            E::BoundReached { bound, .. } => self.note("aime.bound_reached", vec![text("aime.bound", bound.as_str())]),
            E::RunStatusChanged { from, to, .. } => {
                self.has_planned = *to == RunStatus::Executing && matches!(from, RunStatus::Planning | RunStatus::Replanning);
                self.set_root_attribute(text("aime.run.status", to.to_string()));
                if matches!(to, RunStatus::Failed | RunStatus::Cancelled) {
                    let word = to.to_string();
                    if let Some(root) = &mut self.root {
                        fail(root, &word);
                    }
                }
            }
            _ => {}
        }
        Vec::new()
    }

    /// Ends all that is open: the run is over or was left.
    pub fn finish(&mut self) -> Vec<Span> {
        let mut ended: Vec<Span> = std::mem::take(&mut self.open).into_values().chain(self.root.take()).collect();
        for span in &mut ended {
            span.end_time_unix_nano = nanos(self.last).max(span.start_time_unix_nano);
        }
        ended
    }

    fn model_called(&self, seq: u64, at: Timestamp, event: &ProgressEvent) -> Span {
        let ProgressEvent::ModelCalled { task, purpose, model, duration_ms, text: output, .. } = event else { return Span::default() };
        let mut attributes = chat(event, &self.providers);
        if self.content && !output.is_empty() {
            attributes.push(text(known::OUTPUT_MESSAGES, message("assistant", output)));
        }
        let began = Timestamp::from_millis(at.as_millis().saturating_sub(i64::try_from(*duration_ms).unwrap_or(0)));
        let mut span = self.span(&format!("chat {model}"), ("chat", &seq.to_string()), began, attributes);
        span.kind = SpanKind::Client.into();
        span.end_time_unix_nano = nanos(at);
        span.parent_span_id = match (task, purpose.as_str()) {
            (None, "plan" | "patch") => self.open.get(&Key::Planning).map_or_else(|| self.below(None), |span| span.span_id.clone()),
            (task, _) => self.below(task.as_ref()),
        };
        span
    }

    /// Ends the open spans of a task that no longer runs.
    fn task_left(&mut self, task: &TaskId, to: TaskStatus) -> Vec<Span> {
        let status = text("aime.task.status", to.to_string());
        let failed = matches!(to, TaskStatus::Failed).then_some("task_failed");
        let calls: Vec<Key> = self.open.keys().filter(|key| matches!(key, Key::Call(Some(of), _) if of == task)).cloned().collect();
        let mut ended: Vec<Span> = calls.iter().filter_map(|key| self.end(key, [], Some("cancelled"))).collect();
        ended.extend(self.end(&Key::Actor(task.clone()), [], failed));
        ended.extend(self.end(&Key::Task(task.clone()), [status], failed));
        ended
    }

    /// Returns the id of the run's trace, and that of the parent span for items of a task, or of the run.
    pub(crate) fn place(&self, task: Option<&TaskId>) -> (Vec<u8>, Vec<u8>) {
        (self.trace.clone(), self.below(task))
    }

    /// Returns the parent span for items of a task.
    fn below(&self, task: Option<&TaskId>) -> Vec<u8> {
        let actor = task.and_then(|task| self.open.get(&Key::Actor(task.clone())).or_else(|| self.open.get(&Key::Task(task.clone()))));
        actor.or(self.root.as_ref()).map(|span| span.span_id.clone()).unwrap_or_default()
    }

    /// Starts a span below the root.
    fn span(&self, name: &str, (kind, id): (&str, &str), at: Timestamp, attributes: Vec<KeyValue>) -> Span {
        Span {
            trace_id: self.trace.clone(),
            span_id: ids::span(&self.run, kind, id),
            parent_span_id: self.below(None),
            name: name.to_owned(),
            kind: SpanKind::Internal.into(),
            start_time_unix_nano: nanos(at),
            attributes,
            ..Span::default()
        }
    }

    /// Opens a span and ends the open one with the same name.
    fn replace(&mut self, key: Key, span: Span) -> Option<Span> {
        let before = self.end(&key, [], Some("cancelled"));
        self.open.insert(key, span);
        before
    }

    fn end(&mut self, key: &Key, more: impl IntoIterator<Item = KeyValue>, error: Option<&str>) -> Option<Span> {
        let mut span = self.open.remove(key)?;
        span.attributes.extend(more);
        span.end_time_unix_nano = nanos(self.last).max(span.start_time_unix_nano);
        if let Some(error) = error {
            fail(&mut span, error);
        }
        Some(span)
    }

    /// Sets an attribute of the run, replacing an earlier one with the same name.
    fn set_root_attribute(&mut self, attribute: KeyValue) {
        if let Some(root) = &mut self.root {
            root.attributes.retain(|known| known.key != attribute.key);
            root.attributes.push(attribute);
        }
    }

    /// Notes a moment of the run, the first [`MAX_NOTES`] of each root.
    fn note(&mut self, name: &str, attributes: Vec<KeyValue>) {
        let Some(root) = &mut self.root else { return };
        if root.events.len() >= MAX_NOTES {
            root.dropped_events_count = root.dropped_events_count.saturating_add(1);
            return;
        }
        root.events.push(Event { time_unix_nano: nanos(self.last), name: name.to_owned(), attributes, ..Event::default() });
    }
}

fn fail(span: &mut Span, error: &str) {
    span.attributes.push(text(known::ERROR_TYPE, error));
    span.status = Some(Status { code: StatusCode::Error.into(), message: String::new() });
}

/// Returns the conventions' attributes of a model's answer, without its content.
pub(crate) fn chat(event: &ProgressEvent, providers: &Providers) -> Vec<KeyValue> {
    let ProgressEvent::ModelCalled { purpose, model, effort, spent, finish, .. } = event else { return Vec::new() };
    let mut attributes = vec![
        text(known::OPERATION, "chat"),
        text(known::PROVIDER, providers.of(model)),
        text(known::REQUEST_MODEL, model.as_str()),
        text(known::RESPONSE_MODEL, model.as_str()),
        count(known::INPUT_TOKENS, spent.input_tokens),
        count(known::OUTPUT_TOKENS, spent.output_tokens),
        count("aime.requests", spent.requests),
        text("aime.purpose", purpose.as_str()),
    ];
    let cached = [(known::CACHED_TOKENS, spent.cached_input_tokens), (known::CACHE_WRITE_TOKENS, spent.cache_write_tokens)];
    attributes.extend(cached.into_iter().filter(|(_, tokens)| *tokens > 0).map(|(key, tokens)| count(key, tokens)));
    attributes.extend(effort.as_ref().map(|effort| text(known::EFFORT, effort.as_str())));
    if let Some(finish) = finish {
        attributes.push(texts(known::FINISH_REASONS, [finish.as_str()]));
    }
    if spent.cost_usd > 0.0 {
        attributes.push(amount("aime.cost_usd", spent.cost_usd));
    }
    attributes
}

/// Returns a message, as the conventions write it.
pub(crate) fn message(role: &str, content: &str) -> String {
    json!([{"role": role, "parts": [{"type": "text", "content": content}]}]).to_string()
}
