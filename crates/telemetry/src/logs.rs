//! Log records of a run's events, each at its place in the run's trace.
//!
//! Events that people search for have a record: the outcome of the run, its plans and tasks, questions, and
//! obstacles. A model's answer has a record with the name from the conventions. The conventions name an event by
//! `event_name`. Its text is in the body, if content may be sent.

#[cfg(test)]
mod tests;

use std::fmt;

use aime_orchestrator::PublishedEvent;
use aime_progress_management::{CallOutcome, ProgressEvent, RunId, RunStatus, TaskId, TaskStatus};
use opentelemetry_proto::tonic::{
    common::v1::{AnyValue, KeyValue, any_value::Value},
    logs::v1::{LogRecord, SeverityNumber},
};

use crate::{
    Providers,
    attributes::{self as known, count, text, texts},
    ids::nanos,
    spans::{chat, message},
};

/// Content of a record, besides time and place.
struct RecordContent {
    name: &'static str,
    severity: SeverityNumber,
    attributes: Vec<KeyValue>,
    /// Text of models, tools and people.
    words: Option<String>,
}

impl RecordContent {
    fn new(name: &'static str, severity: SeverityNumber, attributes: Vec<KeyValue>) -> Self {
        Self { name, severity, attributes, words: None }
    }

    fn words(self, words: impl fmt::Display) -> Self {
        Self { words: Some(words.to_string()).filter(|words| !words.is_empty()), ..self }
    }
}

/// Returns the record of an event, if it has one. Pure. `providers` are those of the models.
/// The record holds text of the run only with `content`. `span` is its place in the trace.
pub(crate) fn record(
    run: &RunId,
    published: &PublishedEvent,
    (providers, content): (&Providers, bool),
    (trace, span): (Vec<u8>, Vec<u8>),
) -> Option<LogRecord> {
    let RecordContent { name, severity, mut attributes, words } = record_content(&published.event, providers, content)?;
    attributes.push(text(known::CONVERSATION, run.as_str()));
    attributes.push(count("aime.event.seq", published.seq));
    let at = nanos(published.at);
    Some(LogRecord {
        time_unix_nano: at,
        observed_time_unix_nano: at,
        severity_number: severity.into(),
        severity_text: severity.as_str_name().trim_start_matches("SEVERITY_NUMBER_").to_owned(),
        body: words.filter(|_| content).map(|words| AnyValue { value: Some(Value::StringValue(words)) }),
        attributes,
        trace_id: trace,
        span_id: span,
        event_name: name.to_owned(),
        ..LogRecord::default()
    })
}

/// Returns the task to whose span the record of an event belongs.
pub(crate) const fn task_of(event: &ProgressEvent) -> Option<&TaskId> {
    match event {
        ProgressEvent::TaskStatusChanged { task, .. } => Some(task),
        ProgressEvent::ModelCalled { task, .. }
        | ProgressEvent::QuestionAsked { task, .. }
        | ProgressEvent::ToolCallFinished { task, .. } => task.as_ref(),
        ProgressEvent::EvidenceAdded { evidence } => evidence.task.as_ref(),
        _ => None,
    }
}

fn record_content(event: &ProgressEvent, providers: &Providers, content: bool) -> Option<RecordContent> {
    use ProgressEvent as E;
    use SeverityNumber::{Error, Info, Warn};

    Some(match event {
        E::RunStarted { goal, .. } => RecordContent::new("aime.run.started", Info, vec![]).words(goal),
        E::RunResumed { .. } => RecordContent::new("aime.run.resumed", Info, vec![]),
        E::RunContinued { goal } => RecordContent::new("aime.run.continued", Info, vec![]).words(goal),
        E::RunInterrupted { reason } => RecordContent::new("aime.run.interrupted", Warn, vec![]).words(reason),
        E::RunStatusChanged { to, .. } => {
            let severity = if *to == RunStatus::Failed { Error } else { Info };
            RecordContent::new("aime.run.status", severity, vec![text("aime.run.status", to.to_string())])
        }
        E::PlanCreated { plan, .. } => RecordContent::new(
            "aime.plan.created",
            Info,
            vec![count("aime.plan.version", 1), count("aime.plan.tasks", plan.tasks.len() as u64)],
        ),
        E::PlanChanged { decision } => {
            RecordContent::new("aime.plan.changed", Info, vec![count("aime.plan.version", decision.version.into())])
                .words(&decision.patch.reasoning)
        }
        E::PlanRefused { attempt, faults } => {
            RecordContent::new("aime.plan.refused", Warn, vec![count("aime.plan.attempt", (*attempt).into())])
                .words(faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
        }
        E::TaskStatusChanged { to: TaskStatus::Ready | TaskStatus::Pending, .. } => return None,
        E::TaskStatusChanged { task, to, attempt, reason, .. } => {
            let severity = if *to == TaskStatus::Failed { Warn } else { Info };
            let attributes = vec![
                text("aime.task.id", task.as_str()),
                text("aime.task.status", to.to_string()),
                count("aime.task.attempt", (*attempt).into()),
            ];
            RecordContent::new("aime.task.status", severity, attributes).words(reason.clone().unwrap_or_default())
        }
        E::ModelCalled { text: output, .. } => {
            let mut attributes = chat(event, providers);
            if content && !output.is_empty() {
                attributes.push(text(known::OUTPUT_MESSAGES, message("assistant", output)));
            }
            RecordContent::new("gen_ai.client.inference.operation.details", Info, attributes)
        }
        E::ToolCallFinished { outcome: CallOutcome::Ok, .. } => return None,
        E::ToolCallFinished { tool, call, outcome, output, .. } => {
            let attributes = vec![
                text(known::TOOL_NAME, tool.as_str()),
                text(known::TOOL_CALL, call.as_str()),
                text(known::ERROR_TYPE, outcome_word(*outcome)),
            ];
            RecordContent::new("aime.tool.failed", Warn, attributes).words(output)
        }
        E::TriggersFired { reasons } => {
            let details: Vec<String> = reasons.iter().map(|reason| reason.detail.to_string()).collect();
            RecordContent::new("aime.replan.triggered", Info, vec![triggers(reasons)]).words(details.join("\n"))
        }
        E::ReplanSuppressed { reason, triggers: by } => {
            RecordContent::new("aime.replan.suppressed", Info, vec![triggers(by)]).words(reason)
        }
        E::EvidenceAdded { evidence } => RecordContent::new("aime.evidence", Info, vec![]).words(&evidence.content),
        E::QuestionAsked { kind, question, .. } => {
            RecordContent::new("aime.question.asked", Info, vec![text("aime.question.kind", kind.as_str())]).words(question.to_string())
        }
        E::QuestionAnswered { answer, .. } => RecordContent::new("aime.question.answered", Info, vec![]).words(answer),
        E::BoundReached { bound, detail } => {
            RecordContent::new("aime.bound.reached", Warn, vec![text("aime.bound", bound.as_str())]).words(detail)
        }
        E::MemoryFailed { message } => RecordContent::new("aime.memory.failed", Warn, vec![]).words(message),
        E::Answered { text: answer } => RecordContent::new("aime.answered", Info, vec![]).words(answer),
        _ => return None,
    })
}

fn triggers(reasons: &[aime_progress_management::TriggerReason]) -> KeyValue {
    texts("aime.triggers", reasons.iter().map(|reason| known::word(&reason.kind)))
}

/// Returns the error type of a call that failed.
pub(crate) const fn outcome_word(outcome: CallOutcome) -> &'static str {
    match outcome {
        CallOutcome::Ok | CallOutcome::Error => "tool_error",
        CallOutcome::Cancelled => "cancelled",
        CallOutcome::InDoubt => "in_doubt",
    }
}
