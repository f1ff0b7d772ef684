use std::fmt::Write;

use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use serde_json::Value;

use super::*;

pub(crate) fn published(events: &[Value]) -> Vec<PublishedEvent> {
    let event = |(seq, event): (u64, &Value)| PublishedEvent {
        seq,
        at: Timestamp::from_millis(1_000 * i64::try_from(seq).unwrap()),
        event: serde_json::from_value(event.clone()).unwrap_or_else(|error| panic!("{error}: {event}")),
    };
    (1..).zip(events).map(event).collect()
}

fn spans(content: bool, events: &[Value]) -> Vec<Span> {
    let mut spans = Spans::new(&RunId::new("run").unwrap(), "openai", content);
    let mut all: Vec<Span> = published(events).iter().flat_map(|event| spans.observe(event)).collect();
    all.extend(spans.finish());
    all
}

pub(crate) fn run() -> Vec<Value> {
    let task = |id: &str, needs: &[&str]| json!({"id": id, "name": id, "kind": "actor", "description": "…", "dependencies": needs});
    let moved = |from: &str, to: &str| json!({"type": "task_status_changed", "task": "wash", "from": from, "to": to, "attempt": 1});
    let model = |task: Option<&str>, purpose: &str| {
        let spent = json!({"requests": 1, "input_tokens": 100, "cached_input_tokens": 60, "output_tokens": 9, "cost_usd": 0.5});
        let effort = (purpose != "route").then_some("high");
        json!({"type": "model_called", "task": task, "purpose": purpose, "model": "m", "effort": effort, "spent": spent, "duration_ms": 400, "text": "I wash.", "finish": task.map(|_| "tool_calls")})
    };
    vec![
        json!({"type": "run_started", "plan_id": "run", "goal": "Do the dishes"}),
        model(None, "route"),
        json!({"type": "routed", "mode": "complex", "by": "model", "category": "chores", "reasons": []}),
        json!({"type": "planning_started", "purpose": "plan"}),
        model(None, "plan"),
        json!({"type": "plan_created", "plan": {"goal": "…", "tasks": [task("wash", &[]), task("dry", &["wash"])]}}),
        moved("pending", "ready"),
        moved("ready", "running"),
        json!({"type": "actor_created", "task": "wash", "actor": "wash/1", "profile": "sisyphus", "model": "m", "tools": [], "reasons": []}),
        model(Some("wash"), "act"),
        json!({"type": "tool_call_started", "task": "wash", "call": "wash/1/1/1", "tool": "bash", "parameters": {"command": "ls"}}),
        json!({"type": "tool_call_finished", "task": "wash", "call": "wash/1/1/1", "tool": "bash", "outcome": "error", "output": "no", "duration_ms": 5}),
        json!({"type": "question_asked", "id": "q", "task": "wash", "kind": "question", "question": "Hot?"}),
        json!({"type": "tool_call_started", "task": "wash", "call": "wash/1/2/1", "tool": "grep", "parameters": {}}),
        moved("running", "failed"),
        json!({"type": "planning_started", "purpose": "patch"}),
        json!({"type": "answered", "text": "The dishes are as they were."}),
        json!({"type": "run_status_changed", "from": "executing", "to": "failed"}),
    ]
}

/// Returns the tree of spans, each with its attributes.
fn tree(spans: &[Span]) -> String {
    fn below(parent: &[u8], depth: usize, spans: &[Span], text: &mut String) {
        for span in spans.iter().filter(|span| span.parent_span_id == parent) {
            let (start, end) = (span.start_time_unix_nano / 1_000_000, span.end_time_unix_nano / 1_000_000);
            let status = span.status.as_ref().map(|_| " ERROR").unwrap_or_default();
            writeln!(text, "{}{} {start}..{end}{status}", "    ".repeat(depth), span.name).unwrap();
            for attribute in &span.attributes {
                let value = match attribute.value.as_ref().and_then(|value| value.value.as_ref()) {
                    Some(Any::StringValue(value)) => value.clone(),
                    Some(Any::IntValue(value)) => value.to_string(),
                    Some(Any::DoubleValue(value)) => value.to_string(),
                    Some(Any::ArrayValue(values)) => {
                        format!("{:?}", values.values.iter().map(|value| value.value.clone()).collect::<Vec<_>>())
                    }
                    other => panic!("{other:?}"),
                };
                writeln!(text, "{}- {}: {value}", "    ".repeat(depth), attribute.key).unwrap();
            }
            for event in &span.events {
                writeln!(text, "{}* {}", "    ".repeat(depth), event.name).unwrap();
            }
            below(&span.span_id, depth + 1, spans, text);
        }
    }
    let mut text = String::new();
    below(&[], 0, spans, &mut text);
    text
}

// Requirement: 8.27
#[test]
fn a_run_is_a_tree_of_spans() {
    let spans = spans(false, &run());
    insta::assert_snapshot!(tree(&spans));
    let mut ids: Vec<&[u8]> = spans.iter().map(|span| span.span_id.as_slice()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), spans.len(), "each has an id of its own");
    assert!(spans.iter().all(|span| span.trace_id == spans[0].trace_id && span.trace_id.len() == 16 && span.span_id.len() == 8));
    assert_eq!(tree(&spans).lines().filter(|line| line.contains("..")).count(), spans.len(), "each stands in the tree");
}

/// Returns the spans with this name: start and end in seconds, the error, and the version of the plan.
fn named(name: &str, events: &[Value]) -> Vec<(u64, u64, bool, Option<i64>)> {
    let version = |span: &Span| {
        let attribute = span.attributes.iter().find(|attribute| attribute.key == "aime.plan.version")?;
        match attribute.value.as_ref()?.value {
            Some(Any::IntValue(version)) => Some(version),
            _ => None,
        }
    };
    let seconds = |nanos: u64| nanos / 1_000_000_000;
    let row = |span: &Span| (seconds(span.start_time_unix_nano), seconds(span.end_time_unix_nano), span.status.is_some(), version(span));
    spans(false, events).iter().filter(|span| span.name == name).map(row).collect()
}

// Requirement: 8.27
#[test]
fn planning_that_keeps_the_plan_is_no_error() {
    let status = |from: &str, to: &str| json!({"type": "run_status_changed", "from": from, "to": to});
    let wake = json!({"type": "planning_started", "purpose": "lead"});
    let changed =
        json!({"type": "plan_changed", "decision": {"version": 2, "at": 0, "triggers": [], "patch": {"reasoning": "r", "changes": []}}});
    let replans = status("executing", "replanning");
    let executes = status("replanning", "executing");
    let events = [
        run().remove(0),
        replans.clone(),
        wake.clone(),
        executes.clone(),
        replans.clone(),
        wake.clone(),
        executes,
        changed,
        replans,
        wake.clone(),
        // The third one is cut off.
        wake,
    ];
    assert_eq!(named("plan", &events), [(3, 4, false, None), (6, 8, false, Some(2)), (10, 11, true, None), (11, 11, false, None)]);
}

// Requirement: 8.27
#[test]
fn an_actor_that_delegates_goes_on() {
    let mut events = run();
    let mut delegate = events[8].clone();
    (delegate["profile"], delegate["call"]) = (json!("explore"), json!("wash/1/1/1"));
    events.insert(11, delegate);
    events.truncate(14);
    assert_eq!(named("invoke_agent sisyphus", &events), [(9, 14, false, None)]);
    assert!(named("invoke_agent explore", &events).is_empty());
}

#[test]
fn what_was_said_stands_in_spans_only_where_it_is_wanted() {
    let words = ["Do the dishes", "I wash.", "\"ls\"", "as they were"];
    let without = tree(&spans(false, &run()));
    let with = tree(&spans(true, &run()));
    for word in words {
        assert!(!without.contains(word) && with.contains(word), "{word}");
    }
}

#[test]
fn the_same_events_make_the_same_spans() {
    assert_eq!(spans(true, &run()), spans(true, &run()));
}

/// The effort that was asked for, and tokens of the cache, are told only where there are some.
// Requirement: 8.27
#[test]
fn a_chat_span_has_effort_and_cached_tokens() {
    let keys = |effort: Option<&str>, read: u64, written: u64| {
        let spent =
            json!({"requests": 1, "input_tokens": 9, "cached_input_tokens": read, "cache_write_tokens": written, "output_tokens": 1});
        let event = json!({"type": "model_called", "purpose": "lead", "model": "m", "effort": effort, "spent": spent, "duration_ms": 1});
        let made = spans(false, &[event]);
        let chat = made.iter().find(|span| span.name == "chat m").unwrap().clone();
        let known = [known::EFFORT, known::CACHED_TOKENS, known::CACHE_WRITE_TOKENS];
        known.map(|key| chat.attributes.iter().any(|attribute| attribute.key == key))
    };
    assert_eq!(keys(None, 0, 0), [false, false, false]);
    assert_eq!(keys(Some("low"), 0, 2), [true, false, true]);
    assert_eq!(keys(None, 3, 0), [false, true, false]);
}

// Requirement: 8.27
#[test]
fn a_run_that_goes_on_is_in_the_same_trace_with_a_root_of_its_own() {
    let first = spans(false, &run()[..5]);
    let mut later = Spans::new(&RunId::new("run").unwrap(), "openai", false);
    let resumed = PublishedEvent { seq: 6, at: Timestamp::from_millis(60_000), event: ProgressEvent::RunResumed {} };
    let called = PublishedEvent { seq: 7, ..published(&run()).remove(9) };
    let mut all = [later.observe(&resumed), later.observe(&called)].concat();
    all.extend(later.finish());
    let root = all.last().unwrap();
    assert_eq!(all[0].parent_span_id, root.span_id, "its task began before: it stands below the root");
    assert_eq!(root.trace_id, first[0].trace_id);
    assert!(first.iter().all(|span| span.span_id != root.span_id));
}

#[test]
fn a_long_run_notes_no_more_than_a_span_may_hold_and_counts_the_rest() {
    let asked =
        |number: usize| json!({"type": "question_asked", "id": format!("q{number}"), "task": null, "kind": "question", "question": "?"});
    let began = json!({"type": "run_started", "plan_id": "run", "goal": "Do the dishes"});
    let events: Vec<Value> = std::iter::once(began).chain((0..MAX_NOTES + 3).map(asked)).collect();
    let spans = spans(false, &events);
    let [root] = spans.as_slice() else { panic!("{} spans", spans.len()) };
    assert_eq!((root.events.len(), root.dropped_events_count), (MAX_NOTES, 3));
    assert_eq!(root.events[0].time_unix_nano, 2_000_000_000, "the first are kept");
}
