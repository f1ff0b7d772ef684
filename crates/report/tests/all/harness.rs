//! Test runs, and their pages read by an HTML parser.

use aime_progress_management::{ProgressEvent, ProgressState, RunId, TimedEvent, Timestamp, fold};
use aime_redact::Redactor;
use aime_report::{Failure, FileSource, ReportView, Source};
use dom_query::Document;
use serde_json::{Value, json};

/// Run with its events.
pub(crate) struct Run {
    id: RunId,
    events: Vec<TimedEvent>,
    state: ProgressState,
    pub(crate) files: Option<Vec<FileSource>>,
    pub(crate) failure: Option<Failure>,
    pub(crate) notes: Vec<String>,
}

impl Run {
    /// Reads events as `aime runs events` exports them, one per line.
    pub(crate) fn exported(text: &str) -> Self {
        Self::of(text.lines().map(|line| serde_json::from_str(line).unwrap()))
    }

    /// Returns the fixture that contains one of everything.
    pub(crate) fn nightly() -> Self {
        Self::exported(include_str!("../fixtures/nightly.jsonl"))
    }

    /// Builds a run from event documents. An event without a time comes one second after the previous one.
    pub(crate) fn of(documents: impl IntoIterator<Item = Value>) -> Self {
        let mut events: Vec<TimedEvent> = Vec::new();
        for document in documents {
            let time = document["time"].as_str().map(|time| time.parse::<jiff::Timestamp>().unwrap().as_millisecond());
            let at = Timestamp::from_millis(time.unwrap_or(1_000 * events.len() as i64));
            events.push(TimedEvent { at, event: serde_json::from_value::<ProgressEvent>(document).unwrap() });
        }
        let state = fold(&events).unwrap();
        Self { id: RunId::new("r").unwrap(), events, state, files: None, failure: None, notes: vec![] }
    }

    pub(crate) fn view(&self, secrets: &[&str]) -> ReportView {
        let source = Source {
            run: &self.id,
            state: &self.state,
            events: self.events.iter().map(|timed| (timed.at, &timed.event)).collect(),
            failure: self.failure.clone(),
            files: self.files.clone(),
            notes: self.notes.clone(),
            made_at: Timestamp::from_millis(0),
        };
        ReportView::new(&source, &Redactor::new(secrets))
    }

    pub(crate) fn page(&self) -> Document {
        Document::from(self.view(&[]).html())
    }
}

/// Returns the events of a run whose only task produces these events.
pub(crate) fn one_task(goal: &str, task: Value, between: impl IntoIterator<Item = Value>) -> Vec<Value> {
    let id = task["id"].clone();
    let status = |from: &str, to: &str| json!({"type": "task_status_changed", "task": id, "from": from, "to": to, "attempt": 1});
    let mut events = vec![
        json!({"type": "run_started", "plan_id": "r", "goal": goal}),
        json!({"type": "plan_created", "plan": {"tasks": [task]}}),
        json!({"type": "run_status_changed", "from": "planning", "to": "executing"}),
        status("pending", "ready"),
        status("ready", "running"),
    ];
    events.extend(between);
    events
}

/// Returns an attribute of all matching elements.
pub(crate) fn attributes(page: &Document, elements: &str, name: &str) -> Vec<String> {
    page.select(elements).iter().filter_map(|element| element.attr(name)).map(|value| value.to_string()).collect()
}
