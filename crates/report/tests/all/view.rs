use aime_report::{Content, FileSource};
use serde_json::{Value, json};

use crate::harness::{Run, one_task};

// Requirement: 7.21
#[test]
fn a_run_is_seen_whole() {
    let view = serde_json::to_value(Run::nightly().view(&[])).unwrap();
    let of = |names: &[&str]| -> Value {
        names.iter().map(|name| ((*name).to_owned(), view[*name].clone())).collect::<serde_json::Map<_, _>>().into()
    };
    insta::assert_json_snapshot!("the_plan_and_its_versions", of(&["graph", "versions", "strategy"]));
    insta::assert_json_snapshot!("what_it_cost", of(&["spending"]));
    insta::assert_json_snapshot!("the_work_on_a_task", view["tasks"][3].clone());
}

// Requirement: 7.21
#[test]
fn the_critical_path_goes_through_what_changed_the_plan() {
    let view = Run::nightly().view(&[]);
    let rows: Vec<(&str, bool)> =
        view.timeline.rows.iter().filter(|row| row.task.is_some()).map(|row| (row.title.as_str(), row.critical)).collect();
    assert_eq!(
        rows,
        [
            ("Find the cause", false),
            ("Read the log of the last failed build", false),
            ("List what changed since Tuesday", true),
            ("Say which change broke it, and why", true),
            ("Mend it in the parser", true),
            ("Take separators out in the parser", false),
            ("Keep numbers in the cache under their value", true),
            ("Ask whether old caches may be thrown away", true),
            ("Run all tests", true),
            ("Write the report in English", false),
            ("写一份中文报告:构建为什么失败,以及如何修复", true),
        ]
    );
    assert_eq!(view.timeline.pauses.len(), 1, "the night in which it waited for an answer");
}

#[test]
fn the_time_between_a_crash_and_the_resume_is_no_work() {
    let at = |seconds: i64, mut event: Value| {
        event["time"] = jiff::Timestamp::from_second(seconds).unwrap().to_string().into();
        event
    };
    let status = |from: &str, to: &str| json!({"type": "task_status_changed", "task": "t", "from": from, "to": to, "attempt": 1});
    let asked = json!({"type": "planning_started", "purpose": "patch"});
    let resumed = json!({"type": "run_resumed"});
    // The work before the crash, and what the resume makes of the call that was cut off.
    for (after, expected) in [
        (
            vec![
                at(5_000, status("running", "pending")),
                at(5_000, status("pending", "ready")),
                at(5_000, status("ready", "running")),
                at(5_006, status("running", "completed")),
            ],
            vec![(4, 9, "pending"), (5_000, 5_006, "completed")],
        ),
        (vec![at(5_000, status("running", "failed"))], vec![(4, 9, "failed")]),
        // A group goes on.
        (vec![at(5_010, asked.clone())], vec![(4, 9, "running"), (5_000, 5_010, "running")]),
    ] {
        let events = [at(9, asked.clone()), at(5_000, resumed.clone())].into_iter().chain(after);
        let view = serde_json::to_value(Run::of(one_task("Go", json!({"id": "t", "kind": "actor", "description": "x"}), events)).view(&[]))
            .unwrap();
        let expected: Vec<Value> =
            expected.into_iter().map(|(from, to, status)| json!({"from": from * 1_000, "to": to * 1_000, "status": status})).collect();
        assert_eq!(view["timeline"]["rows"][0]["bars"], json!(expected));
    }
}

// Requirement: 3.40
#[test]
fn what_was_repaired_in_a_patch_stands_with_its_version() {
    let asked = json!({"type": "planning_started", "purpose": "patch"});
    let repaired = |repair: &str| json!({"type": "patch_repaired", "repairs": [repair]});
    let change = |version: u32| {
        let patch = json!({"changes": [{"op": "set_strategic", "strategic": {}}]});
        json!({"type": "plan_changed", "decision": {"version": version, "at": 0, "triggers": [], "patch": patch}})
    };
    // The first patch produced no version.
    let events = [asked.clone(), repaired("a comma"), asked.clone(), repaired("a quote"), change(2), asked, change(3)];
    let run = Run::of(one_task("Go", json!({"id": "t", "kind": "actor", "description": "x"}), events));
    let repairs: Vec<_> = run.view(&[]).versions.into_iter().map(|version| version.lowered.join("; ")).collect();
    assert_eq!(repairs, ["", "repaired: a quote", ""]);
}

// Requirement: 7.21
#[test]
fn files_are_compared_as_the_run_found_and_left_them() {
    let mut run = Run::nightly();
    let files: Vec<(String, bool)> = run.view(&[]).files.changed.iter().map(|file| (file.path.clone(), file.lines.is_empty())).collect();
    assert_eq!(
        files,
        [("src/parser.py".to_owned(), false), ("src/migrate.py".to_owned(), false)],
        "what tools told, where nothing is kept"
    );
    let file =
        |path: &str, before, after| FileSource { path: path.into(), authors: vec!["mend-parser".into(), "bash".into()], before, after };
    let text = |text: &str| Content::File(text.as_bytes().to_vec());
    run.files = Some(vec![
        file("a.txt", text("one\ntwo\nthree\n"), text("one\n2\nthree\n")),
        file("key.txt", Content::Nothing, text("key hunter22\n")),
        file("gone.bin", text("\0"), Content::Nothing),
        file("mode.sh", text("x"), text("x")),
        file("dir", Content::Nothing, Content::Folder),
        file("big", Content::Nothing, Content::File(vec![b'x'; 600_000])),
        file("link", text("x"), Content::Link("../hunter22".into())),
    ]);
    insta::assert_json_snapshot!("files", run.view(&["hunter22"]).files);
}

#[test]
fn an_unwatched_folder_is_no_changed_file() {
    let change = |path: &str, did: &str| {
        json!({"type": "file_changed",
            "task": "t", "tool": "bash", "path": path, "did": did, "added": 0, "removed": 0, "diff": ""})
    };
    let task = json!({"id": "t", "kind": "actor", "description": "x"});
    let view = Run::of(one_task("Go", task, [change("web", "not_watched"), change(".envrc", "put_back")])).view(&[]);
    assert_eq!(view.files.changed.iter().map(|file| file.path.as_str()).collect::<Vec<_>>(), [".envrc"]);
    assert!(view.story.iter().any(|moment| moment.text.shown.starts_with("web could not be watched")));
}

// Requirement: 7.22
#[test]
fn secrets_are_taken_out_wherever_they_stand() {
    let task = json!({"id": "t", "kind": "tool", "tool": "bash", "parameters": {"command": "login hunter22"}, "name": "Use hunter22",
        "completion_criteria": ["hunter22 works"]});
    let mut run = Run::of(one_task(
        "Log in with hunter22",
        task,
        [
            json!({"type": "tool_call_started", "task": "t", "call": "c", "tool": "bash", "parameters": {"command": "login hunter22"}}),
            json!({"type": "tool_call_finished", "task": "t", "call": "c", "tool": "bash", "outcome": "ok", "output": format!("{}hunter22", "x".repeat(3_995)), "duration_ms": 1}),
            json!({"type": "question_asked", "id": "q", "task": "t", "kind": "question", "question": "Is it hunter22?"}),
            json!({"type": "question_answered", "id": "q", "answer": "hunter22"}),
            json!({"type": "task_concluded", "task": "t", "conclusion": {"outcome": "success", "summary": "hunter22", "references": ["hunter22"]}}),
            json!({"type": "hook_acted", "hook": "hunter22", "point": "stop", "did": "failed", "detail": "hunter22"}),
            json!({"type": "answered", "text": "It is hunter22, sk-0123456789abcdefghijABCDEF"}),
        ],
    ));
    run.notes = vec!["hunter22".into()];
    let page = run.view(&["hunter22"]).html();
    assert!(page.contains("[redacted-secret]"));
    for secret in ["hunter", "sk-0123456789"] {
        assert!(!page.contains(secret), "{:?}", page.find(secret).map(|at| &page[at.saturating_sub(80)..at + 20]));
    }
}

#[test]
fn a_run_that_has_only_begun_is_shown_too() {
    let run = Run::of([json!({"type": "run_started", "plan_id": "r", "goal": "Go"})]);
    let page = run.page();
    for (section, text) in [("#plan", "There is no plan."), ("#timeline", "Nothing has run."), ("#files", "No file was changed.")] {
        assert!(page.select(section).text().contains(text), "{section}");
    }
}
