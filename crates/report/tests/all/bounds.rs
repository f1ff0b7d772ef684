use serde_json::json;

use crate::harness::{Run, one_task};

/// Size of the largest page that any run can produce, in bytes.
const MAX_BYTES: usize = 40_000_000;

// Requirement: 7.22
#[test]
fn what_is_too_much_is_left_out_and_counted() {
    let long = "<&> word\n".repeat(2_000);
    let calls = (0..1_500).flat_map(|number| {
        let call = format!("c{number}");
        [
            json!({"type": "tool_call_started", "task": "t", "call": call, "tool": "bash", "parameters": {"command": long}}),
            json!({"type": "tool_call_finished", "task": "t", "call": call, "tool": "bash", "outcome": "ok", "output": long, "duration_ms": 1}),
        ]
    });
    let run = Run::of(one_task(&long, json!({"id": "t", "kind": "actor", "description": long}), calls));
    let view = run.view(&[]);
    assert_eq!((view.tasks[0].turns.len(), view.tasks[0].turns_left_out), (400, 1_101));
    let html = view.html();
    assert!(html.len() < MAX_BYTES, "{}", html.len());
    for note in ["14\u{2009}000 more characters left out", "1\u{2009}101 turns left out in the middle"] {
        assert!(html.contains(note), "{note}");
    }
}

#[test]
fn what_no_list_has_room_for_is_counted() {
    let status = |from: &str, to: &str| json!({"type": "task_status_changed", "task": "t", "from": from, "to": to, "attempt": 1});
    let periods = (0..205).flat_map(|_| [status("running", "pending"), status("pending", "ready"), status("ready", "running")]);
    let spent = json!({"requests": 1, "input_tokens": 9, "output_tokens": 1});
    let requests = (0..302).map(|number| {
        json!({"type": "model_called", "purpose": format!("p{number}"), "model": format!("m{number}"), "spent": spent, "duration_ms": 1})
    });
    let found = (0..1_003).map(|number| {
        let evidence = json!({"id": format!("e{number}"), "at": 0, "type": "discovery", "significance": "low", "content": "x"});
        json!({"type": "evidence_added", "evidence": evidence})
    });
    let asked = (0..1_004).map(|number| json!({"type": "question_asked", "id": format!("q{number}"), "kind": "question", "question": "?"}));
    let references: Vec<String> = (0..207).map(|number| format!("{number}.txt")).collect();
    let conclusion = json!({"outcome": "success", "summary": "x", "references": references});
    let end = [json!({"type": "task_concluded", "task": "t", "conclusion": conclusion}), status("running", "completed")];
    let events = periods.chain(requests).chain(found).chain(asked).chain(end);
    let view = Run::of(one_task("Go", json!({"id": "t", "kind": "actor", "description": "x"}), events)).view(&[]);
    assert_eq!((view.timeline.rows[0].bars.len(), view.timeline.rows[0].left_out), (200, 6));
    let html = view.html();
    for note in [
        "… 6 more periods left out",
        "… 2 more models left out",
        "… 2 more tasks left out",
        "… 3 more findings left out",
        "… 4 more questions left out",
        "… 7 more references left out",
    ] {
        assert!(html.contains(note), "{note}");
    }
}

#[test]
fn a_plan_that_is_too_large_to_be_drawn_is_listed() {
    let tasks: Vec<_> =
        (0..400).map(|number| json!({"id": format!("t{number}"), "kind": "actor", "description": format!("Do {number}")})).collect();
    let run =
        Run::of([json!({"type": "run_started", "plan_id": "r", "goal": "Go"}), json!({"type": "plan_created", "plan": {"tasks": tasks}})]);
    let page = run.page();
    assert_eq!(page.select("#plan svg, #versions svg").length(), 0);
    assert!(page.select("#plan").text().contains("The picture of 400 tasks and 0 lines is left out"));
    assert_eq!(page.select("#tasks details.task").length(), 400);
}
