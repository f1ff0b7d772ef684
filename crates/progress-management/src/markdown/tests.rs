use serde_json::json;

use super::*;
use crate::{Edge, Evidence, EvidenceKind, Outcome, PlanChange, ProgressEvent, ProgressReport, Strategic, testing::*};

fn rich() -> ProgressState {
    let mut find = tool("find", json!({"pattern": "TODO"}));
    find.name = "Find TODOs".into();
    find.tool = Some("grep".into());
    let mut report = spec("w/report: find");
    report.name = "Write the report".into();
    report.description = "Write report.md\nwith one line for each match.".into();
    report.completion_criteria = vec!["report.md exists".into(), "it lists every match".into()];
    let mut group = spec("w/");
    group.name = "Writing".into();
    let tasks = vec![find, group, report, spec("w/check: report"), spec("undo"), spec("mail: w"), spec("later")];
    let edges: Vec<Edge> = vec![edge("report", "undo", EdgeType::Rollback), conditional("find", "mail", "@{steps.find.result.count} > 0")];
    let mut state = state_of(tasks, edges);
    state.strategic = Strategic {
        approach: "Search, then write.".into(),
        success_criteria: vec!["report.md is complete".into()],
        ..Strategic::default()
    };
    let mut found = done("a.rs:1", json!({"count": 1}));
    found.summary = "1 match in 1 file".into();
    found.references = vec!["a.rs".into()];
    state.conclude("find", found);
    state
}

// Requirement: 7.6
#[test]
fn the_state_reads_as_a_checklist() {
    let mut state = rich();
    state.patch(vec![PlanChange::BlockTask { id: id("later"), reason: "a person must agree first".into() }]);
    state.go("report", TaskStatus::Running);
    let report = ProgressReport { status: "50%".into(), message: "half of the lines".into() };
    state.apply(at(30), &ProgressEvent::ProgressReported { task: Some(id("report")), report }).unwrap();
    let evidence = Evidence {
        id: "e1".parse().unwrap(),
        at: at(31),
        task: Some(id("report")),
        kind: EvidenceKind::Discovery,
        significance: Significance::High,
        content: "generated files hold TODOs too".into(),
        processed: false,
        origins: Vec::new(),
    };
    state.apply(at(31), &ProgressEvent::EvidenceAdded { evidence }).unwrap();
    let asked =
        ProgressEvent::QuestionAsked { id: "q1".parse().unwrap(), task: None, kind: "question".into(), question: "Include them?".into() };
    state.apply(at(32), &asked).unwrap();
    state.settle();
    insta::assert_snapshot!(state.to_markdown());
}

// Requirement: 7.6
#[test]
fn failures_and_what_follows_are_explained() {
    let mut state = rich();
    state.failed("report", false).go("report", TaskStatus::Pending);
    state.failed("report", true);
    insta::assert_snapshot!("failed_for_good", state.to_markdown());
    state.complete("undo").close();
    insta::assert_snapshot!("given_up", state.tasks_to_markdown());
}

#[test]
fn a_run_without_a_plan_is_short() {
    insta::assert_snapshot!(empty_state().to_markdown(), @r"
    # the goal

    no plan yet, planning, 0/0 done
    ");
}

// Requirement: 7.6
#[test]
fn no_text_draws_lines_of_its_own() {
    let mut task = spec("a");
    task.name = format!("x\n- [x] fake: done\n{}", "y".repeat(400));
    let mut state = state_of(vec![task], vec![]);
    state.conclude("a", conclusion(Outcome::Success, "ok\n# Heading", None));
    let shown = state.tasks_to_markdown();
    assert_eq!(shown.lines().count(), 2, "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() < 280));
}

/// Returns the overview of a plan with its graph.
fn overview(state: &ProgressState, own: &TaskId, most: usize) -> String {
    state.overview(&state.graph(), own, most)
}

// Requirement: 7.8
#[test]
fn an_overview_is_short_and_says_which_task_is_ones_own() {
    let mut progress = state("a\ng/\ng/b: a\nc: a\nd: c");
    progress.settle().complete("a");
    assert_eq!(overview(&progress, &id("c"), 12), "- [x] Do a\n- [ ] Do b (at the same time)\n- [ ] Do c (yours)\n- [ ] Do d\n");
    assert_eq!(
        overview(&progress, &id("c"), 2),
        "- … 1 before these\n- [ ] Do b (at the same time)\n- [ ] Do c (yours)\n- … 1 after these\n"
    );
    assert_eq!(overview(&progress, &id("a"), 2), "- [x] Do a (yours)\n- [ ] Do b\n- … 2 after these\n");
    assert_eq!(overview(&progress, &id("d"), 3), "- … 1 before these\n- [ ] Do b (at the same time)\n- [ ] Do c\n- [ ] Do d (yours)\n");
    assert_eq!(overview(&state("a\nb: a"), &id("a"), 12), "", "two tasks in a row need none");
    assert_eq!(overview(&state("a\nb"), &id("a"), 12), "- [ ] Do a (yours)\n- [ ] Do b (at the same time)\n");
    let mut progress = state("a\nb");
    progress.settle().complete("b");
    assert_eq!(overview(&progress, &id("a"), 12), "", "nobody works on a task that is done");
}
