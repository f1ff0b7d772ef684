use aime_progress_management::TaskStatus;
use aime_report::{Comparison, Content, FileSource};
use dom_query::Document;
use serde_json::{Value, json};

use crate::harness::Run;

const ATTACK: &str = "</td><script>alert(1)</script><img src=x onerror=alert(1)>";

/// Returns a run with these tasks and their outcomes, and these written files.
fn run(tasks: &[(&str, &str, &str)], files: &[(&str, &str)]) -> Run {
    let task = |(id, title, _): &(&str, &str, &str)| json!({"id": id, "name": title, "kind": "actor", "description": "…"});
    let mut events: Vec<Value> = vec![
        json!({"type": "run_started", "plan_id": "r", "goal": format!("Go {ATTACK}")}),
        json!({"type": "plan_created", "plan": {"tasks": tasks.iter().map(task).collect::<Vec<_>>()}}),
        json!({"type": "run_status_changed", "from": "planning", "to": "executing"}),
    ];
    for (id, _, end) in tasks {
        for (from, to) in [("pending", "ready"), ("ready", "running"), ("running", *end)] {
            events.push(json!({"type": "task_status_changed", "task": id, "from": from, "to": to, "attempt": 1}));
        }
    }
    events.push(json!({"type": "model_called", "purpose": "answer", "model": "m", "spent": {"requests": 1, "input_tokens": 10 * tasks.len(), "output_tokens": 2}, "duration_ms": 1}));
    let written = |(path, text): &(&str, &str)| FileSource {
        path: (*path).into(),
        authors: vec![],
        before: Content::Nothing,
        after: Content::File(text.as_bytes().to_vec()),
    };
    let mut run = Run::of(events);
    run.files = Some(files.iter().map(written).collect());
    run
}

// Requirement: 12.19
#[test]
fn two_runs_stand_side_by_side() {
    let one = run(&[("a", "wash", "completed"), ("b", "dry", "failed")], &[("same.txt", "x\n"), ("one.txt", "x\n"), ("other.txt", "x\n")]);
    let other = run(
        &[("b", "dry it", "completed"), ("c", "wash", "completed"), ("d", "sing", "completed")],
        &[("same.txt", "x\n"), ("other.txt", "y\n")],
    );
    let compared = Comparison::new(&one.view(&[]), &other.view(&[]));
    let tasks: Vec<(&str, bool, [Option<&str>; 2])> = compared
        .tasks
        .iter()
        .map(|pair| (pair.name.as_str(), pair.same, pair.sides.each_ref().map(|side| side.as_ref().map(|task| task.id.as_str()))))
        .collect();
    // Tasks match by id, else by title. A task of only one run has no partner.
    assert_eq!(tasks, [("wash", true, [Some("a"), Some("c")]), ("dry", false, [Some("b"), Some("b")]), ("sing", false, [None, Some("d")])]);
    let files: Vec<(&str, bool)> = compared.files.iter().map(|pair| (pair.name.as_str(), pair.same)).collect();
    assert_eq!(files, [("one.txt", false), ("other.txt", false), ("same.txt", true)]);
    assert_eq!(compared.runs.each_ref().map(|side| (side.completed, side.spent.input_tokens)), [((1, 2), 20), ((3, 3), 30)]);
    assert_eq!(
        compared.tasks[1].sides.each_ref().map(|side| side.as_ref().map(|task| task.status)),
        [Some(TaskStatus::Failed), Some(TaskStatus::Completed)]
    );

    let page = Document::from(compared.fragment(|at| format!("/runs/{at}")));
    assert_eq!(page.select("script, img, [style], [onerror]").length(), 0);
    assert!(page.select("#sides").text().contains("<script>alert(1)</script>"), "what others wrote is text");
    assert_eq!(page.select("#pairs tbody tr").length(), 3);
    assert_eq!(page.select("#changed details[open]").length(), 2, "what differs is open");
    assert_eq!(page.select("a[href='/runs/1']").length(), 3);
}
