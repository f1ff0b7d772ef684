//! Renders the report of an exported journal: `aime runs events RUN --output jsonl | exported > page.html`.
//!
//! The folder of such a run is unknown, so the report shows the file changes that its tools reported.

use std::{
    error::Error,
    io::{Read, Write, stdin, stdout},
};

use aime_progress_management::{ProgressEvent, RunId, TimedEvent, Timestamp, fold};
use aime_redact::Redactor;
use aime_report::{ReportView, Source};
use serde_json::Value;

fn main() -> Result<(), Box<dyn Error>> {
    let mut text = String::new();
    stdin().read_to_string(&mut text)?;
    let (mut run, mut events) = (None, Vec::new());
    for line in text.lines() {
        let document: Value = serde_json::from_str(line)?;
        let member = |name: &str| document.get(name).and_then(Value::as_str);
        // The result at the end of the output is not an event.
        let (Some(time), Some(id)) = (member("time"), member("run_id")) else { continue };
        let at = Timestamp::from_millis(time.parse::<jiff::Timestamp>()?.as_millisecond());
        run = Some(RunId::new(id)?);
        events.push(TimedEvent { at, event: serde_json::from_value::<ProgressEvent>(document)? });
    }
    let run = run.ok_or("there are no events")?;
    let state = fold(&events)?;
    let source = Source {
        run: &run,
        state: &state,
        events: events.iter().map(|timed| (timed.at, &timed.event)).collect(),
        failure: None,
        files: None,
        notes: vec![],
        made_at: state.last_progress_at,
    };
    stdout().write_all(ReportView::new(&source, &Redactor::default()).html().as_bytes())?;
    Ok(())
}
