//! Snapshots of the displays, without colours.

mod view;

use std::collections::BTreeMap;

use aime_orchestrator::PublishedEvent;
use aime_progress_management::{ProgressEvent, ProgressState, RunId, Timestamp};
use serde_json::{Value, json};

use super::{
    describe_plan, describe_tasks, line_of,
    live::{last, render},
    moment, rfc3339,
};

const BEGIN: i64 = 1_700_000_000_000;

fn event(value: Value) -> ProgressEvent {
    let text = value.to_string();
    serde_json::from_value(value).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn published(value: Value) -> PublishedEvent {
    PublishedEvent { seq: 1, at: Timestamp::from_millis(BEGIN), event: event(value) }
}

fn bare(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

/// Returns the state after these events, one per second.
fn state(events: Vec<Value>) -> ProgressState {
    let started = event(json!({"type": "run_started", "plan_id": "p", "goal": "the goal"}));
    let ProgressEvent::RunStarted { plan_id, goal, .. } = started else { panic!() };
    let mut state = ProgressState::new(plan_id, goal, Timestamp::from_millis(BEGIN));
    for (second, value) in (1..).zip(events) {
        let happened = event(value);
        state.apply(Timestamp::from_millis(BEGIN + 1_000 * second), &happened).unwrap_or_else(|error| panic!("{error}: {happened:?}"));
    }
    state
}

fn goes(task: &str, from: &str, to: &str) -> Value {
    json!({"type": "task_status_changed", "task": task, "from": from, "to": to, "attempt": 1})
}

fn starts(task: &str) -> [Value; 2] {
    [goes(task, "pending", "ready"), goes(task, "ready", "running")]
}

/// Returns a run in progress: a group, a finished task, a running task, names in dense scripts.
fn at_work() -> ProgressState {
    let mut events = vec![
        json!({"type": "routed", "mode": "complex", "by": "rules", "category": "coding", "reasons": []}),
        json!({"type": "plan_created", "plan": {
            "goal": "the goal",
            "tasks": [
                {"id": "group", "kind": "group", "name": "Everything about the sources"},
                {"id": "find", "parent": "group", "kind": "tool", "tool": "grep", "name": "Find every TODO comment in the sources", "parameters": {}},
                {"id": "poem", "parent": "group", "kind": "actor", "name": "写一首关于春天的长诗并把它保存到名为诗歌的文件夹里面", "description": "x"},
                {"id": "report", "kind": "actor", "name": "Write the report \u{1b}[31min red\u{1b}[0m", "description": "x", "dependencies": ["find"]}
            ],
            "edges": []
        }}),
    ];
    events.extend(starts("find"));
    events.push(json!({"type": "task_concluded", "task": "find", "conclusion": {"outcome": "success", "summary": "12 matches in 4 files", "references": []}}));
    events.push(goes("find", "running", "completed"));
    events.extend(starts("poem"));
    events.push(json!({"type": "tool_call_started", "task": "poem", "call": "1", "tool": "write_file",
        "parameters": {"path": "诗歌/春天.txt", "content": "春眠不觉晓，处处闻啼鸟。夜来风雨声，花落知多少。春眠不觉晓，处处闻啼鸟。"}}));
    state(events)
}

fn run() -> RunId {
    RunId::new("01a200aaa443700b8f9607f3b2dd0803").unwrap()
}

// Requirement: 2.12
#[test]
fn a_line_for_each_thing_that_happens() {
    let task = json!({"id": "new", "kind": "actor", "description": "Try another way"});
    let events = [
        json!({"type": "run_started", "plan_id": "p", "goal": "first line\nsecond"}),
        json!({"type": "routed", "mode": "complex", "by": "rules", "score": 3, "category": "coding", "reasons": ["several steps", "two verbs"]}),
        json!({"type": "planning_started", "purpose": "lead"}),
        json!({"type": "planning_started", "purpose": "plan"}),
        json!({"type": "plan_refused", "attempt": 1, "faults": ["tasks[1]: a cycle a → b → a", "tasks: x"]}),
        json!({"type": "plan_created", "plan": {"goal": "g", "tasks": [{"id": "main", "kind": "actor", "description": "g"}], "edges": []}}),
        json!({"type": "plan_created", "plan": {"goal": "g", "tasks": [task], "edges": []}, "repairs": ["a comma"], "fallback": "no plan passed"}),
        json!({"type": "plan_changed", "decision": {"version": 2, "at": 1, "triggers": [{"kind": "task_failed", "priority": 90, "detail": "task a failed 3 times: no ink", "tasks": ["a"]}, {"kind": "evidence", "priority": 80, "detail": "new evidence: first\nsecond"}],
            "patch": {"reasoning": "because of it", "changes": [
                {"op": "add_task", "task": task, "replaces": ["a"]},
                {"op": "remove_task", "id": "b", "reason": "not needed"},
                {"op": "block_task", "id": "c", "reason": "no ink"},
                {"op": "unblock_task", "id": "d"},
                {"op": "cancel_task", "id": "e", "reason": "too late"},
                {"op": "merge_tasks", "ids": ["f", "g"], "task": task},
                {"op": "add_edge", "edge": {"from": "a", "to": "b", "type": "dependency"}},
                {"op": "remove_edge", "from": "a", "to": "b"}
            ]}, "evidence": [], "dropped": [{"change": {"op": "remove_task", "id": "h"}, "faults": ["id: the task \"h\" is completed"]}]}}),
        json!({"type": "task_status_changed", "task": "a", "from": "ready", "to": "running", "attempt": 1}),
        json!({"type": "task_status_changed", "task": "a", "from": "ready", "to": "running", "attempt": 2}),
        json!({"type": "task_status_changed", "task": "a", "from": "pending", "to": "ready", "attempt": 0}),
        json!({"type": "task_status_changed", "task": "a", "from": "running", "to": "completed", "attempt": 1}),
        json!({"type": "task_status_changed", "task": "a", "from": "running", "to": "failed", "attempt": 1, "reason": "no ink"}),
        json!({"type": "task_status_changed", "task": "a", "from": "running", "to": "failed", "attempt": 3, "for_good": true, "reason": "no ink"}),
        json!({"type": "task_status_changed", "task": "a", "from": "pending", "to": "blocked", "attempt": 0, "reason": "waits for b"}),
        json!({"type": "task_status_changed", "task": "a", "from": "pending", "to": "skipped", "attempt": 0, "reason": "not needed"}),
        json!({"type": "task_status_changed", "task": "a", "from": "failed", "to": "rolled_back", "attempt": 1}),
        json!({"type": "task_concluded", "task": "a", "conclusion": {"outcome": "failure", "summary": "", "error": "the pen broke", "references": []}}),
        json!({"type": "actor_created", "task": "a", "actor": "a-1", "profile": "atlas", "model": "m", "tools": ["bash"], "reasons": []}),
        json!({"type": "model_called", "purpose": "act", "model": "m", "spent": {}, "duration_ms": 12}),
        json!({"type": "tool_call_started", "task": "a", "call": "1", "tool": "bash", "parameters": {"command": "ls\nrm x", "timeout_seconds": 5}}),
        json!({"type": "tool_call_started", "task": "a", "call": "1", "tool": "bash", "parameters": {"command": "set -e\n# It.\ncd x\nmake all\nmake test\n"}}),
        json!({"type": "tool_call_started", "task": "a", "call": "1", "tool": "write_file", "parameters": {"content": "x\ny\nz\n", "path": "a.txt"}}),
        json!({"type": "tool_call_started", "task": "a", "call": "1", "tool": "terminate", "parameters": {"status": "success", "message": "x"}}),
        json!({"type": "changes_merged", "task": "a", "duration_ms": 3, "files": 2}),
        json!({"type": "changes_merged", "task": "a", "duration_ms": 3, "files": 0}),
        json!({"type": "file_changed", "task": "a", "tool": "merge", "path": "b.txt", "did": "created", "added": 9, "removed": 0, "diff": "@@ -0,0 +1,9 @@\n+x"}),
        json!({"type": "tool_call_finished", "task": "a", "call": "1", "tool": "bash", "outcome": "ok", "output": "x", "duration_ms": 12}),
        json!({"type": "tool_call_finished", "task": "a", "call": "1", "tool": "bash", "outcome": "error", "output": "exit code 1", "duration_ms": 1200}),
        json!({"type": "progress_reported", "task": "a", "report": {"status": "in progress", "message": "half way"}}),
        json!({"type": "todos_changed", "task": "a", "items": []}),
        json!({"type": "actor_nudged", "task": "a", "kind": "stuck", "text": "try another way"}),
        json!({"type": "message_delivered", "task": "a", "evidence": "person-1"}),
        json!({"type": "history_compacted", "task": "a", "tokens_before": 9000, "tokens_after": 4000}),
        json!({"type": "evidence_added", "evidence": {"id": "e1", "type": "discovery", "significance": "high", "content": "the door is shut", "at": 1, "processed": false}}),
        json!({"type": "triggers_fired", "reasons": []}),
        json!({"type": "replan_suppressed", "reason": "the last one was 3 s ago", "triggers": []}),
        json!({"type": "question_asked", "id": "q1", "task": "a", "kind": "approval", "question": "May `bash` run?\n  rm -r x"}),
        json!({"type": "question_answered", "id": "q1", "answer": "yes"}),
        json!({"type": "criterion_checked", "criterion": "a.txt exists", "how": "executed", "passed": true, "reason": "it does"}),
        json!({"type": "criterion_checked", "criterion": "b.txt exists", "how": "audited", "passed": false, "reason": "it does not"}),
        json!({"type": "bound_reached", "bound": "tokens", "detail": "5,000 of 5,000"}),
        json!({"type": "run_interrupted", "reason": "stopped by a person"}),
        json!({"type": "run_resumed"}),
        json!({"type": "run_status_changed", "from": "planning", "to": "executing"}),
        json!({"type": "run_status_changed", "from": "executing", "to": "completed"}),
        json!({"type": "answered", "text": "it is done"}),
        json!({"type": "patch_repaired", "repairs": ["a comma", "a quote"]}),
        json!({"type": "lead_gave_up"}),
        json!({"type": "cancel_refused", "task": "a", "faults": ["changes[0]: b needs it", "changes[0]: c needs it"]}),
        json!({"type": "folder_awaited", "task": "a"}),
        json!({"type": "hook_acted", "hook": "guard", "point": "before_tool", "task": "a", "did": "blocked", "detail": "not today"}),
        json!({"type": "undo_lost", "reason": "the disk is full"}),
    ];
    let mut kinds = BTreeMap::<&str, ()>::new();
    let lines: Vec<String> = events
        .iter()
        .map(|value| {
            kinds.insert(value["type"].as_str().unwrap(), ());
            let line = line_of(&published(value.clone())).map_or_else(|| "(nothing)".to_owned(), |line| bare(&line));
            format!("{:<22} | {}", value["type"].as_str().unwrap(), line.replace('\n', "\n                       | "))
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn nothing_from_outside_steers_the_terminal() {
    let evil = "\u{1b}[2Jgone\u{7} \u{202e}dna";
    let task = json!({"id": "a", "kind": "actor", "name": evil, "completion_criteria": [evil]});
    let events = [
        json!({"type": "run_started", "plan_id": "p", "goal": evil}),
        json!({"type": "plan_refused", "attempt": 1, "faults": [evil]}),
        json!({"type": "plan_created", "plan": {"goal": evil, "tasks": [task], "edges": []}}),
        json!({"type": "plan_changed", "decision": {"version": 2, "at": 1, "triggers": [], "patch": {"reasoning": evil, "changes": [
            {"op": "add_task", "task": task}, {"op": "remove_task", "id": "b", "reason": evil}]}, "evidence": []}}),
        json!({"type": "task_concluded", "task": "a", "conclusion": {"outcome": "success", "summary": evil, "references": []}}),
        json!({"type": "tool_call_started", "task": "a", "call": "1", "tool": "bash", "parameters": {"command": evil}}),
        json!({"type": "tool_call_finished", "task": "a", "call": "1", "tool": "bash", "outcome": "error", "output": evil, "duration_ms": 1}),
        json!({"type": "progress_reported", "task": "a", "report": {"status": "x", "message": evil}}),
        json!({"type": "evidence_added", "evidence": {"id": "e1", "type": "discovery", "significance": "high", "content": evil, "at": 1, "processed": false}}),
        json!({"type": "question_asked", "id": "q1", "kind": "approval", "question": evil}),
        json!({"type": "question_answered", "id": "q1", "answer": evil}),
        json!({"type": "criterion_checked", "criterion": evil, "passed": true, "reason": evil}),
        json!({"type": "bound_reached", "bound": "tokens", "detail": evil}),
    ];
    for value in events {
        let line = line_of(&published(value.clone())).unwrap();
        assert!(!line.contains("\u{1b}[2J") && !line.contains('\u{7}') && !line.contains('\u{202e}'), "{line:?}");
    }
}

#[test]
fn the_live_view_in_wide_and_narrow_terminals() {
    let state = at_work();
    for columns in [80, 40] {
        let view = render(&state, &run(), BEGIN + 75_000, (columns, 24));
        for line in view.lines() {
            assert!(console::measure_text_width(line) < columns, "{columns}: {line}");
        }
        insta::assert_snapshot!(format!("live_{columns}"), bare(&view));
    }
    insta::assert_snapshot!("last_60", bare(&last(&state, 60)));
    assert!(last(&state, 60).lines().all(|line| console::measure_text_width(line) < 60));
}

#[test]
fn before_the_plan_there_is_only_what_is_being_done() {
    insta::assert_snapshot!(bare(&render(&state(Vec::new()), &run(), BEGIN + 1_234, (80, 24))));
}

#[test]
fn a_terminal_of_no_size_is_no_trouble() {
    for (columns, rows) in [(0, 0), (1, 1), (5, 3)] {
        let view = render(&at_work(), &run(), BEGIN, (columns, rows));
        assert!(view.lines().all(|line| console::measure_text_width(line) <= columns.max(1)), "{columns}: {view}");
    }
}

#[test]
fn of_many_tasks_those_that_move_are_shown() {
    let tasks: Vec<Value> = (1..=60)
        .map(|number| json!({"id": format!("t{number}"), "kind": "actor", "name": format!("task {number}"), "description": "x"}))
        .collect();
    let mut events = vec![json!({"type": "plan_created", "plan": {"goal": "g", "tasks": tasks, "edges": []}})];
    for number in [3, 40, 55] {
        events.extend(starts(&format!("t{number}")));
    }
    events.push(goes("t3", "running", "completed"));
    let view = bare(&render(&state(events), &run(), BEGIN + 20_000, (80, 16)));
    assert!(view.lines().count() <= 16, "{view}");
    insta::assert_snapshot!(view);
}

#[test]
fn plans_and_what_became_of_them() {
    let state = at_work();
    insta::assert_snapshot!("tasks", bare(&describe_tasks(&state, 160)));
    let plan = serde_json::from_value(json!({"goal": "g", "tasks": [
        {"id": "group", "kind": "group", "name": "Both"},
        {"id": "a", "parent": "group", "kind": "tool", "tool": "grep", "parameters": {}},
        {"id": "b", "parent": "group", "kind": "actor", "description": "do it\nwith care", "dependencies": ["a"]},
        {"id": "lost", "parent": "nobody", "kind": "actor", "name": "An orphan", "description": "x"}
    ], "edges": []}));
    insta::assert_snapshot!("plan", bare(&describe_plan(&plan.unwrap())));
}

#[test]
fn moments_have_forms_for_programs_and_people() {
    assert_eq!(rfc3339(BEGIN + 7), "2023-11-14T22:13:20.007Z");
    assert_eq!(moment(BEGIN + 7), "2023-11-14 22:13:20Z");
}
