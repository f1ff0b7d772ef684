//! A task is done when the recorded evidence meets its criteria, not when its actor says so.

use std::fs;

use aime_llm::{
    Message,
    scripted::{Reply, ScriptedModel, When},
};
use aime_progress_management::{ProgressEvent, RunStatus};
use aime_tools::RuleLists;
use serde_json::{Value, json};

use crate::bench::{Bench, append, done, plan};

#[tokio::test]
async fn what_a_task_claims_is_looked_at() {
    let model = ScriptedModel::new("m")
        .on(When::contains("The plan now:"), [Reply::text("no idea")])
        .on(When::tools(), [done("the file is there")]);
    let bench = Bench::new(model);
    let tasks = json!([{"id": "claim", "kind": "actor", "description": "Make the file", "completion_criteria": ["nowhere.txt exists"]}]);
    let result = bench.run("Make a file", Some(plan(tasks))).await;
    assert_eq!(result.status, RunStatus::Failed, "{result:#?}");
    assert!(
        result.tasks[0].error.as_ref().map(ToString::to_string).as_deref().unwrap().contains("nowhere.txt does not exist"),
        "{result:#?}"
    );
    assert_eq!(result.tasks[0].attempts, 1, "its actor has three tries in one conversation");
    let checked =
        bench.events().into_iter().filter(|timed| matches!(timed.event, ProgressEvent::CriterionChecked { passed: Some(false), .. }));
    assert_eq!(checked.count(), 3);
}

#[tokio::test]
async fn a_criterion_about_what_cannot_be_seen_says_nothing() {
    let model = ScriptedModel::new("m").on(When::tools(), [done("made")]);
    let bench = Bench::new(model);
    let tasks = json!([{"id": "claim", "kind": "actor", "description": "Make it",
        "completion_criteria": ["/elsewhere/a.txt exists", "../b.txt does not exist"]}]);
    let result = bench.run("Make it", Some(plan(tasks))).await;
    assert_eq!(result.status, RunStatus::Completed, "{result:#?}");
    let checked = |passed: Option<bool>| {
        bench
            .events()
            .iter()
            .filter(|timed| matches!(&timed.event, ProgressEvent::CriterionChecked { passed: found, .. } if *found == passed))
            .count()
    };
    assert_eq!((checked(None), checked(Some(true)), checked(Some(false))), (2, 0, 0));
}

/// One task with a criterion that only a model can judge.
fn tidy_log() -> Value {
    json!([{"id": "claim", "name": "Tidy the log", "kind": "actor", "description": "Write one tidy line into the log", "bundles": ["append"], "completion_criteria": ["the line is tidy"]}])
}

fn verdict(passed: bool, reason: &str) -> Reply {
    Reply::json(json!({"passed": passed, "score": if passed { 1.0 } else { 0.0 }, "reason": reason, "feedback": "", "suggestions": []}))
}

// Requirement: 5.4
#[tokio::test]
async fn a_claim_that_the_record_does_not_bear_out_is_sent_back() {
    let model = ScriptedModel::new("m")
        .on(When::schema("aime_verdict"), [verdict(false, "no line was written"), verdict(true, "one line was written")])
        .on(When::tools().and_contains("no line was written").and_turn(1), [append("tidy")])
        .on(When::tools(), [done("the line is there")]);
    let bench = Bench::new(model);
    let result = bench.run("Tidy up", Some(plan(tidy_log()))).await;
    assert_eq!((result.status, result.tasks[0].attempts), (RunStatus::Completed, 1), "{result:#?}");
    assert_eq!(bench.log(), ["tidy"]);
    let actors = bench.events().into_iter().filter(|timed| matches!(timed.event, ProgressEvent::ActorCreated { .. })).count();
    assert_eq!(actors, 1, "the same actor goes on");
    let asked: Vec<_> = bench.model.requests().into_iter().filter(|request| When::schema("aime_verdict").fits(request)).collect();
    assert_eq!(asked.len(), 2);
    // The whole request: recorded calls come before claims.
    insta::assert_debug_snapshot!("the_question_whether_a_task_is_done", asked[1]);
    let spent: u64 = bench
        .events()
        .iter()
        .filter_map(|timed| match &timed.event {
            ProgressEvent::ModelCalled { task: Some(task), purpose, spent, .. } if task.as_str() == "claim" && purpose == "verdict" => {
                Some(spent.requests)
            }
            _ => None,
        })
        .sum();
    assert_eq!(spent, 2, "what a verdict costs is the task's");
}

/// Returns the prompt of a judge who has to decide if four files are tidy.
async fn judge_prompt(rules: RuleLists) -> String {
    let model = ScriptedModel::new("m").on(When::schema("aime_verdict"), [verdict(true, "tidy")]).on(When::tools(), [done("all is tidy")]);
    let bench = Bench::new(model);
    fs::write(bench.path("poem.txt"), "The sea is wide.\n").unwrap();
    fs::write(bench.path("empty.txt"), "").unwrap();
    fs::write(bench.path("picture.png"), [0x89, 0xff, 0]).unwrap();
    std::os::unix::fs::symlink("poem.txt", bench.path("link.txt")).unwrap();
    let tasks = json!([{"id": "claim", "kind": "actor", "description": "Look",
        "completion_criteria": ["poem.txt, empty.txt and `picture.png` are tidy, and so is link.txt.", "/etc/passwd and none.txt are tidy too"]}]);
    let builder = bench.builder().model(bench.model.clone()).tool_context(bench.context().with_rules(rules));
    let result = builder.build().unwrap().run(bench.request("Look", Some(plan(tasks)))).await.unwrap();
    assert_eq!(result.status, RunStatus::Completed, "{result:#?}");
    let asked = bench.model.requests().into_iter().find(|request| When::schema("aime_verdict").fits(request)).unwrap();
    let Some(Message::User { content, .. }) = asked.messages.last().map(|last| last.as_ref().clone()) else { panic!("{asked:#?}") };
    content.split_once("in the worker's own words: all is tidy").unwrap().1.trim().to_owned()
}

#[tokio::test]
async fn a_judge_sees_the_files_that_criteria_name() {
    insta::assert_snapshot!(judge_prompt(RuleLists::default()).await, @r"
    poem.txt holds now:
    The sea is wide.
    empty.txt is empty
    picture.png has 3 bytes and is no text
    link.txt holds now:
    The sea is wide.
    ");
}

#[tokio::test]
async fn a_judge_sees_no_file_that_the_run_may_not_read() {
    let rules = RuleLists { deny: vec!["read_file(poem.txt)".parse().unwrap()], ..RuleLists::default() };
    assert_eq!(judge_prompt(rules).await, "empty.txt is empty\npicture.png has 3 bytes and is no text");
}

#[tokio::test]
async fn a_judge_who_cannot_be_understood_decides_nothing() {
    let model = ScriptedModel::new("m").on(When::tools(), [done("done")]).on(When::any(), [Reply::text("Hm.")]);
    let bench = Bench::new(model);
    let result = bench.run("Tidy up", Some(plan(tidy_log()))).await;
    assert_eq!((result.status, result.tasks[0].attempts), (RunStatus::Completed, 1), "{result:#?}");
    let reason = bench.events().into_iter().find_map(|timed| match timed.event {
        ProgressEvent::CriterionChecked { passed: None, reason, .. } => Some(reason.to_string()),
        _ => None,
    });
    let reason = reason.unwrap();
    assert!(reason.starts_with("not checked: no verdict of m could be read"), "{reason}");
}

#[tokio::test]
async fn a_tool_task_is_judged_by_its_call() {
    let model = ScriptedModel::new("m").on(When::schema("aime_verdict").and_contains("append {"), [verdict(false, "it is not tidy")]);
    let bench = Bench::new(model);
    let tasks = json!([{"id": "line", "kind": "tool", "tool": "append", "parameters": {"line": "a  b"}, "completion_criteria": ["the line is tidy"]}]);
    let result = bench.run("Tidy up", Some(plan(tasks))).await;
    assert_eq!(result.status, RunStatus::Failed);
    assert!(result.tasks[0].error.as_ref().map(ToString::to_string).as_deref().unwrap().contains("it is not tidy"), "{result:#?}");
}

#[tokio::test]
async fn without_a_model_a_plan_is_carried_out_and_what_nobody_could_check_is_told() {
    let bench = Bench::new(ScriptedModel::new("m"));
    let tasks =
        json!([{"id": "line", "kind": "tool", "tool": "append", "parameters": {"line": "a"}, "completion_criteria": ["the line is tidy"]}]);
    let orchestrator = bench.orchestrator_with(None);
    let result = orchestrator.run(bench.request("Tidy up", Some(plan(tasks)))).await.unwrap();
    assert_eq!(result.status, RunStatus::Completed, "{result:#?}");
    let unchecked = bench.events().into_iter().filter(
        |timed| matches!(&timed.event, ProgressEvent::CriterionChecked { passed: None, reason, .. } if reason.to_string().contains("no model")),
    );
    assert_eq!(unchecked.count(), 1);
}
