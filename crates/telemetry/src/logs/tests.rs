use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;

use super::*;
use crate::{
    Spans,
    spans::tests::{published, run},
};

fn records(content: bool) -> Vec<LogRecord> {
    let id = RunId::new("run").unwrap();
    let mut spans = Spans::new(&id, "openai", false);
    let mut records = Vec::new();
    for event in published(&run()) {
        spans.observe(&event);
        records.extend(record(&id, &event, (&"openai".into(), content), spans.place(task_of(&event.event))));
    }
    records
}

/// Returns each record in a line, with its attributes.
fn lines(records: &[LogRecord]) -> String {
    let value = |value: &AnyValue| match &value.value {
        Some(Any::StringValue(text)) => text.clone(),
        Some(Any::IntValue(number)) => number.to_string(),
        Some(Any::DoubleValue(number)) => number.to_string(),
        other => format!("{other:?}"),
    };
    let line = |record: &LogRecord| {
        let attributes = record
            .attributes
            .iter()
            .map(|attribute| format!(" {}={}", attribute.key, attribute.value.as_ref().map(value).unwrap_or_default()));
        let body = record.body.as_ref().map(|body| format!(": {}", value(body))).unwrap_or_default();
        format!("{} {}{}{body}\n", record.severity_text, record.event_name, attributes.collect::<String>())
    };
    records.iter().map(line).collect()
}

// Requirement: 8.27
#[test]
fn what_people_look_for_has_a_record_at_its_place() {
    let records = records(false);
    insta::assert_snapshot!(lines(&records));
    assert!(records.iter().all(|record| record.trace_id.len() == 16 && record.span_id.len() == 8 && record.time_unix_nano > 0));
    let places: std::collections::BTreeSet<&[u8]> = records.iter().map(|record| record.span_id.as_slice()).collect();
    assert!(places.len() > 2, "what is of a task stands there");
}

// Requirement: 8.27
#[test]
fn what_was_said_stands_in_records_only_where_it_is_wanted() {
    let (without, with) = (lines(&records(false)), lines(&records(true)));
    for word in ["Do the dishes", "I wash.", "Hot?", "as they were"] {
        assert!(!without.contains(word) && with.contains(word), "{word}");
    }
    assert!(records(false).iter().all(|record| record.body.is_none()));
}
