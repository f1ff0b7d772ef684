use aime_progress_management::{QuestionId, Timestamp};
use serde_json::{Value, json};

use super::*;

fn published(events: &[Value]) -> Vec<PublishedEvent> {
    let event = |(seq, event): (u64, &Value)| PublishedEvent {
        seq,
        at: Timestamp::from_millis(1_000 * i64::try_from(seq).unwrap()),
        event: serde_json::from_value(event.clone()).unwrap_or_else(|error| panic!("{error}: {event}")),
    };
    (1..).zip(events).map(event).collect()
}

/// Returns the updates for these events: the kind of each, and its content.
fn shown(how: UpdateSink, events: &[Value]) -> Vec<Value> {
    let mut updates = Updates::new("/work".as_ref(), how, None);
    published(events).iter().flat_map(|event| updates.observe(event)).map(|update| serde_json::to_value(update).unwrap()).collect()
}

fn started() -> Value {
    json!({"type": "run_started", "plan_id": "run", "goal": "Do the dishes\nall of them"})
}

fn task(id: &str, dependencies: &[&str]) -> Value {
    json!({"id": id, "name": format!("{id} it"), "kind": "actor", "description": "…", "dependencies": dependencies})
}

fn moved(task: &str, from: &str, to: &str) -> Value {
    json!({"type": "task_status_changed", "task": task, "from": from, "to": to, "attempt": 1})
}

fn call(call: &str, tool: &str, parameters: Value) -> Value {
    json!({"type": "tool_call_started", "task": "wash", "call": call, "tool": tool, "parameters": parameters})
}

fn ended(call: &str, tool: &str, outcome: &str, output: &str) -> Value {
    json!({"type": "tool_call_finished", "task": "wash", "call": call, "tool": tool, "outcome": outcome, "output": output, "duration_ms": 5})
}

/// Returns the events of a whole run with most kinds of content.
fn run() -> Vec<Value> {
    vec![
        started(),
        json!({"type": "routed", "mode": "complex", "by": "flag", "category": "", "reasons": []}),
        json!({"type": "planning_started", "purpose": "plan"}),
        json!({"type": "plan_created", "plan": {"goal": "…", "tasks": [task("wash", &[]), task("dry", &["wash"])]}}),
        moved("wash", "pending", "ready"),
        moved("wash", "ready", "running"),
        json!({"type": "model_called", "task": "wash", "purpose": "act", "model": "m", "spent": {}, "duration_ms": 1, "text": "First the glasses."}),
        call("wash/1/1/1", "bash", json!({"command": "ls\npwd"})),
        ended("wash/1/1/1", "bash", "ok", "plates ```"),
        call("wash/1/2/1", "edit_file", json!({"path": "list.md", "old_text": "- [ ] wash", "new_text": "- [x] wash"})),
        json!({"type": "file_changed",
            "task": "wash", "tool": "edit_file", "path": "list.md", "did": "changed", "added": 1, "removed": 1,
            "diff": "@@ -1,2 +1,2 @@\n-- [ ] wash\n+- [x] wash\n - [ ] dry"}),
        ended("wash/1/2/1", "edit_file", "ok", "1 change"),
        call("wash/1/3/1", "todo", json!({})),
        call("wash/1/3/2", "read_file", json!({"path": "sub/gone.md"})),
        ended("wash/1/3/2", "read_file", "error", "Error: there is no such file"),
        json!({"type": "question_asked", "id": "wash-1-4-1", "task": "wash", "kind": "question", "question": "Hot or cold?"}),
        json!({"type": "question_answered", "id": "wash-1-4-1", "answer": "hot"}),
        json!({"type": "task_concluded", "task": "wash", "conclusion": {"outcome": "success", "summary": "washed"}}),
        moved("wash", "running", "completed"),
        json!({"type": "bound_reached", "bound": "tokens", "detail": "…"}),
        json!({"type": "answered", "text": "The dishes are done."}),
    ]
}

// Requirement: 8.26
#[test]
fn a_run_is_shown_in_the_words_of_the_protocol() {
    insta::assert_json_snapshot!(shown(UpdateSink::Live, &run()));
}

#[test]
fn who_loads_a_session_is_shown_what_they_had_typed() {
    let live = shown(UpdateSink::Live, &run());
    let mut again = shown(UpdateSink::Replay, &run());
    let typed: Vec<String> = again
        .extract_if(.., |update| update["sessionUpdate"] == "user_message_chunk")
        .map(|update| update["content"]["text"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(typed, ["Do the dishes\nall of them", "hot"]);
    assert_eq!(again, live, "all else is the same");
}

#[test]
fn a_call_that_was_asked_about_goes_on_as_the_same_call() {
    let question =
        |task: &str| json!({"type": "question_asked", "id": "wash-1-1-1", "task": task, "kind": "approval", "question": "Run this?"});
    let answered = |answer: &str| json!({"type": "question_answered", "id": "wash-1-1-1", "answer": answer});
    let tool_task = json!({"id": "look", "name": "look", "kind": "tool", "tool": "bash", "parameters": {}, "description": "…"});
    let begun = || {
        let plan = json!({"goal": "…", "tasks": [task("wash", &[]), tool_task]});
        vec![started(), json!({"type": "plan_created", "plan": plan})]
    };
    let asked = HumanQuestion {
        id: QuestionId::new("wash-1-1-1").unwrap(),
        kind: "approval".to_owned(),
        task: None,
        text: "Run this?\nAlways allows here: `bash(ls *)`".into(),
    };
    for (task, answer, then, expected) in [
        ("wash", "yes", call("wash/1/1/1", "bash", json!({"command": "ls"})), vec![("tool_call_update", "in_progress")]),
        ("wash", "no", ended("wash/1/1/1", "bash", "error", "Error: the user refused"), vec![("tool_call_update", "failed")]),
        // The consent to a task of a tool is a call of its own.
        ("look", "yes", call("look/1/1", "bash", json!({})), vec![("tool_call_update", "completed"), ("tool_call", "in_progress")]),
        ("look", "no", answered("no"), vec![("tool_call_update", "failed")]),
    ] {
        let mut updates = Updates::new("/work".as_ref(), UpdateSink::Live, None);
        let mut events = begun();
        events.push(question(task));
        for event in published(&events) {
            updates.observe(&event);
        }
        let request = updates.permission(&"s".into(), &asked);
        assert_eq!(request.options.iter().map(|option| &*option.option_id.0).collect::<Vec<_>>(), ["yes", "always", "no"]);
        let later = published(&[answered(answer), then]);
        let values: Vec<Value> =
            later.iter().flat_map(|event| updates.observe(event)).map(|update| serde_json::to_value(update).unwrap()).collect();
        let statuses: Vec<(&str, &str)> =
            values.iter().map(|value| (value["sessionUpdate"].as_str().unwrap(), value["status"].as_str().unwrap())).collect();
        assert_eq!(statuses, expected, "{task} {answer}");
    }
}

#[test]
fn a_plan_of_one_actor_is_its_list() {
    let events = vec![
        started(),
        json!({"type": "plan_created", "plan": {"goal": "…", "tasks": [task("wash", &[])]}}),
        json!({"type": "todos_changed", "task": "wash", "items": [
            {"id": "1", "text": "glasses", "status": "completed"}, {"id": "2", "text": "plates", "status": "in_progress"}]}),
    ];
    let plan = shown(UpdateSink::Live, &events).pop().unwrap();
    let entries: Vec<(&str, &str)> = plan["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| (entry["content"].as_str().unwrap(), entry["status"].as_str().unwrap()))
        .collect();
    assert_eq!(entries, [("glasses", "completed"), ("plates", "in_progress")]);
}

#[test]
fn a_file_is_shown_as_far_as_it_is_known() {
    let change = |did: &str, diff: &str| {
        json!({"type": "file_changed",
            "task": "wash", "tool": "write_file", "path": "a.txt", "did": did, "added": 1, "removed": 0, "diff": diff})
    };
    let content = |events: &[Value]| {
        let all = [&[started(), call("wash/1/1/1", "write_file", json!({"path": "a.txt", "content": "whole"}))], events].concat();
        let last = shown(UpdateSink::Live, &all).into_iter().rfind(|update| update["content"].is_array()).unwrap();
        last["content"].as_array().unwrap().iter().map(|part| (part["oldText"].clone(), part["newText"].clone())).collect::<Vec<_>>()
    };
    let whole = vec![(Value::Null, json!("whole"))];
    assert_eq!(content(&[]), whole);
    assert_eq!(content(&[change("created", "@@ -0,0 +1 @@\n+whole")]), [(Value::Null, json!("whole\n"))]);
    assert_eq!(
        content(&[change("changed", "@@ -1 +1 @@\n-old\n+new\n@@ -9 +9,2 @@\n same\n+more")]),
        [(json!("old\n"), json!("new\n")), (json!("same\n"), json!("same\nmore\n")),]
    );
    // A diff that was cut, and what is no text.
    assert_eq!(content(&[change("changed", "@@ -1 +1 @@\n+new\n… 71 more lines")]), whole);
    assert_eq!(content(&[change("changed", "")]), whole);
    // After it, that it was written needs no words.
    assert_eq!(content(&[ended("wash/1/1/1", "write_file", "ok", "written")]), whole);
}
