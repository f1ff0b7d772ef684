//! Tests of the handling of failed tasks by patches.

use serde_json::json;

use super::*;
use crate::testing::{at, edge, id, parameters, patch_of, spec, state_of, tool};
use crate::{Decision, Evidence, ReasoningEffort, Significance};

/// Returns a state in which `read` is done, `convert` and the call `list` have failed for good, and `upload` waits.
fn troubled() -> ProgressState {
    let mut state =
        state_of(vec![spec("read"), spec("convert: read"), tool("list", json!({"command": "ls"})), spec("upload: convert")], vec![]);
    state.tasks.get_mut(&id("read")).unwrap().status = TaskStatus::Completed;
    for failed in ["convert", "list"] {
        let task = state.tasks.get_mut(&id(failed)).unwrap();
        (task.status, task.failed_for_good, task.attempts) = (TaskStatus::Failed, true, 3);
    }
    state
}

fn add(task: TaskSpec, replaces: &[&str]) -> PlanChange {
    PlanChange::AddTask { task: Box::new(task), replaces: replaces.iter().copied().map(id).collect() }
}

fn doing(text: &str, description: &str) -> TaskSpec {
    TaskSpec { description: description.to_owned(), ..spec(text) }
}

fn modify(change: TaskChange) -> PlanChange {
    PlanChange::ModifyTask { id: id("convert"), change: Box::new(change) }
}

fn remove(task: &str) -> PlanChange {
    PlanChange::RemoveTask { id: id(task), reason: String::new() }
}

fn by_atlas(text: &str, description: &str) -> TaskSpec {
    TaskSpec { profile: Some("atlas".to_owned()), ..doing(text, description) }
}

fn unblock(task: &str) -> PlanChange {
    PlanChange::UnblockTask { id: id(task) }
}

/// Makes `convert` wait for another task.
fn waits(from: &str) -> PlanChange {
    PlanChange::AddEdge { edge: edge(from, "convert", EdgeType::Dependency) }
}

/// Returns how the changes deal with `convert`, as text.
fn made(changes: Vec<PlanChange>) -> Result<String, String> {
    let lowered = handled_failures(&troubled(), &patch_of(changes)).map_err(|faults| Message::list("\n", &faults).to_string())?;
    assert_eq!(lowered.len(), 2, "each task that failed is told of: {lowered:?}");
    Ok(lowered.iter().find(|lowered| lowered.task == id("convert")).unwrap().to_string())
}

// Requirement: 6.13
#[test]
fn each_replan_says_how_what_failed_is_made_smaller() {
    let description = |text: &str| TaskChange { description: Some(text.to_owned()), ..TaskChange::default() };
    let cases = [
        (vec![add(spec("one: read"), &[]), add(spec("two: one"), &["convert"])], "convert is split into 2 smaller tasks: one, two"),
        (vec![add(spec("one"), &["convert"]), add(spec("two"), &["convert"])], "convert is split into 2 smaller tasks: one, two"),
        (
            vec![add(spec("g/"), &["convert"]), add(spec("g/one"), &[]), add(spec("g/two"), &[])],
            "convert is split into 2 smaller tasks: one, two",
        ),
        // A preparation, and then the same work again.
        (
            vec![add(spec("install"), &[]), add(doing("again: install", "Do convert"), &["convert"])],
            "convert is split into 2 smaller tasks: install, again",
        ),
        (vec![add(doing("other", "Use csv"), &["convert"]), add(spec("unrelated"), &[])], "convert is replaced by another approach: other"),
        (vec![add(tool("call", json!({"command": "sh convert.sh"})), &["convert"])], "convert is replaced by another approach: call"),
        (
            vec![PlanChange::MergeTasks { ids: vec![id("convert"), id("upload")], task: Box::new(spec("both")) }],
            "convert is replaced by another approach: both",
        ),
        (vec![modify(description("Use csv"))], "convert is retried with a change"),
        (vec![modify(TaskChange { profile: Some("atlas".to_owned()), ..TaskChange::default() })], "convert is retried with a change"),
        (vec![modify(TaskChange { model: Some("fast".to_owned()), ..TaskChange::default() })], "convert is retried with a change"),
        (vec![modify(TaskChange { effort: Some(ReasoningEffort::Max), ..TaskChange::default() })], "convert is retried with a change"),
        (
            vec![modify(TaskChange { completion_criteria: Some(vec!["x exists".into()]), ..TaskChange::default() })],
            "convert is retried with a change",
        ),
        (
            vec![add(spec("install"), &[]), modify(TaskChange { dependencies: Some(vec![id("install")]), ..TaskChange::default() })],
            "convert is retried with a change",
        ),
        (vec![add(spec("install"), &[]), waits("install"), unblock("convert")], "convert is retried"),
        (vec![unblock("convert"), modify(description("Use csv"))], "convert is retried with a change"),
        (vec![remove("convert")], "convert is removed"),
        (vec![remove("convert"), add(doing("other", "Use csv"), &[])], "convert is removed"),
        // A new task with the same words takes the place of a task that is removed.
        (
            vec![remove("convert"), add(spec("install"), &[]), add(doing("again: install", "Do convert"), &[])],
            "convert is split into 2 smaller tasks: install, again",
        ),
        (vec![add(by_atlas("again", "Do convert"), &[]), remove("convert")], "convert is replaced by another approach: again"),
        (vec![add(by_atlas("again", "Do convert"), &["convert"])], "convert is replaced by another approach: again"),
        (vec![], "convert stays failed"),
        (vec![add(spec("unrelated"), &["upload"])], "convert stays failed"),
    ];
    for (changes, expected) in cases {
        assert_eq!(made(changes.clone()).as_deref(), Ok(expected), "{changes:#?}");
    }
}

// Requirement: 6.13
#[test]
fn the_same_over_again_is_refused_with_the_reason() {
    let name = || TaskChange { name: Some("Again".to_owned()), effort_seconds: Some(9), ..TaskChange::default() };
    let cases = [
        (vec![add(doing("convert-2", "do  CONVERT."), &["convert"])], "\"convert-2\" takes the place of \"convert\" and does the same"),
        (vec![add(spec("g/"), &["convert"]), add(doing("g/one", "Do convert"), &[])], "\"one\" takes the place of \"convert\""),
        (vec![remove("convert"), add(doing("convert2", "Do convert"), &[])], "\"convert2\" takes the place of \"convert\""),
        (vec![add(tool("again", json!({"command": "ls"})), &["upload"]), remove("list")], "\"again\" takes the place of \"list\""),
        (vec![add(tool("again", json!({"command": "ls"})), &["list"])], "\"again\" takes the place of \"list\""),
        (vec![modify(name())], "modify_task of \"convert\" changes nothing of what it does"),
        (vec![modify(TaskChange { description: Some("Do convert!".to_owned()), ..name() })], "changes nothing"),
        // A worker does it, so a tool and parameters have no effect.
        (
            vec![modify(TaskChange { tool: Some("bash".to_owned()), parameters: Some(parameters(json!({"command": "x"}))), ..name() })],
            "modify_task of \"convert\" changes nothing of what it does",
        ),
        (vec![unblock("convert")], "unblock_task of \"convert\" would only do again what failed"),
        (vec![add(spec("unrelated"), &[]), unblock("list")], "unblock_task of \"list\""),
        // The task had already depended on this completed task.
        (vec![waits("read"), unblock("convert")], "unblock_task of \"convert\""),
    ];
    for (changes, why) in cases {
        let refused = made(changes.clone()).unwrap_err();
        assert!(refused.contains(why), "{refused}\n{changes:#?}");
    }
    let both = vec![add(doing("a", "Do convert"), &["convert"]), add(tool("b", json!({"command": "ls"})), &["list"])];
    assert_eq!(made(both).unwrap_err().lines().count(), 2, "all are told at once");
}

#[test]
fn what_has_not_failed_for_good_is_not_looked_at() {
    let mut state = troubled();
    for task in state.tasks.values_mut() {
        task.failed_for_good = false;
    }
    let same = patch_of(vec![add(doing("again", "Do convert"), &["convert"])]);
    assert_eq!(handled_failures(&state, &same), Ok(vec![]));
    // A TODO that failed too often is held back instead.
    let again = patch_of(vec![unblock("convert")]);
    let hold = |state: &mut ProgressState, attempts| {
        let task = state.tasks.get_mut(&id("convert")).unwrap();
        (task.status, task.held, task.attempts) = (TaskStatus::Blocked, true, attempts);
    };
    hold(&mut state, 3);
    assert!(handled_failures(&state, &same).is_err() && handled_failures(&state, &again).is_err());
    // The plan released a task that had never failed, which the plan or a decision had held.
    hold(&mut state, 0);
    assert_eq!(handled_failures(&state, &again), Ok(vec![]));
    hold(&mut state, 1);
    let patch = patch_of(vec![PlanChange::BlockTask { id: id("convert"), reason: "wait for the key".to_owned() }]);
    state.decisions.push(Decision { version: 2, at: at(1), triggers: vec![], patch, evidence: vec![], lowered: vec![], dropped: vec![] });
    assert_eq!(handled_failures(&state, &again), Ok(vec![]));
}

// Requirement: 6.13
#[test]
fn a_group_that_failed_goes_on_when_what_failed_in_it_is_done_another_way() {
    let mut state = state_of(vec![spec("g/"), spec("g/part")], vec![]);
    for task in state.tasks.values_mut() {
        (task.status, task.failed_for_good, task.attempts) = (TaskStatus::Failed, true, 1);
    }
    let another = add(doing("other", "Use csv"), &["part"]);
    let handled = handled_failures(&state, &patch_of(vec![unblock("g"), another])).unwrap();
    assert_eq!(
        handled.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["g is retried", "part is replaced by another approach: other"]
    );
    assert!(handled_failures(&state, &patch_of(vec![unblock("g"), unblock("part")])).is_err());
}

#[test]
fn what_was_missing_before_it_may_be_done_already() {
    let mut state = troubled();
    let mut ready = state.tasks[&id("read")].clone();
    ready.spec_mut().id = id("build");
    state.tasks.insert(id("build"), ready);
    let handled = handled_failures(&state, &patch_of(vec![waits("build"), unblock("convert")])).unwrap();
    assert!(handled.iter().any(|lowered| lowered.to_string() == "convert is retried"), "it did not wait for that when it failed");
}

#[test]
fn who_says_something_may_have_it_tried_again() {
    let mut state = troubled();
    let again = patch_of(vec![unblock("convert")]);
    let message = |processed| Evidence {
        id: "person-1".parse().unwrap(),
        at: at(2),
        task: None,
        kind: EvidenceKind::UserInput,
        significance: Significance::High,
        content: "it is installed now".to_owned(),
        processed,
        origins: vec![],
    };
    for (processed, allowed) in [(false, true), (true, false)] {
        state.evidence = vec![message(processed)];
        assert_eq!(handled_failures(&state, &again).is_ok(), allowed, "processed: {processed}");
        let anew = patch_of(vec![remove("convert"), add(doing("again", "Do convert"), &[])]);
        assert_eq!(handled_failures(&state, &anew).is_ok(), allowed, "processed: {processed}");
    }
}

/// Returns a state in which the plan was changed for `convert`, and what took its place has failed for good, too.
fn troubled_again(first: Vec<PlanChange>) -> ProgressState {
    let mut state = troubled();
    let decision = Decision::next(&state, at(5), vec![], patch_of(first));
    state.apply(at(5), &crate::ProgressEvent::PlanChanged { decision }).unwrap();
    for task in state.tasks.values_mut().filter(|task| ["csv", "part", "convert"].contains(&task.spec.id.as_str())) {
        if task.status != TaskStatus::Skipped {
            (task.status, task.failed_for_good, task.attempts) = (TaskStatus::Failed, true, 1);
        }
    }
    state
}

// Requirement: 6.13
#[test]
fn the_second_replan_splits_or_changes_the_means() {
    let replaced = || vec![add(doing("csv: read", "Use csv"), &["convert"])];
    let split = || vec![add(doing("part: read", "Read rows"), &[]), add(doing("rest: part", "Write rows"), &["convert"])];
    let changed = || vec![modify(TaskChange { description: Some("Use csv".to_owned()), ..TaskChange::default() })];
    let means = |change: fn(&mut TaskSpec)| {
        let mut task = doing("xml", "Use xml");
        change(&mut task);
        task
    };
    let in_words = |id: &str| vec![add(doing("xml", "Use xml"), &[id])];
    let refused = |id: &str, of: &str| Err(format!("{id:?} failed after the plan had been changed for it{of}, and other words alone"));
    let of_convert = " in the place of \"convert\"";
    let cases = [
        (replaced(), "csv", in_words("csv"), refused("csv", of_convert)),
        (split(), "part", in_words("part"), refused("part", of_convert)),
        (
            vec![remove("convert"), add(by_atlas("csv: read", "Do convert"), &[])],
            "csv",
            vec![add(by_atlas("xml", "Use xml"), &["csv"])],
            refused("csv", of_convert),
        ),
        (changed(), "convert", in_words("convert"), refused("convert", "")),
        (
            changed(),
            "convert",
            vec![modify(TaskChange { description: Some("Use xml".to_owned()), ..TaskChange::default() })],
            refused("convert", ""),
        ),
        (
            replaced(),
            "csv",
            vec![add(doing("one", "Read rows"), &["csv"]), add(doing("two", "Write rows"), &["csv"])],
            Ok(FailureHandling::Split),
        ),
        (replaced(), "csv", vec![add(spec("install"), &[]), add(doing("xml: install", "Use xml"), &["csv"])], Ok(FailureHandling::Split)),
        (replaced(), "csv", vec![add(means(|task| task.profile = Some("atlas".to_owned())), &["csv"])], Ok(FailureHandling::AnotherWay)),
        (replaced(), "csv", vec![add(means(|task| task.model = Some("strong".to_owned())), &["csv"])], Ok(FailureHandling::AnotherWay)),
        (replaced(), "csv", vec![add(means(|task| task.bundles = vec!["web".to_owned()]), &["csv"])], Ok(FailureHandling::AnotherWay)),
        (replaced(), "csv", vec![add(tool("call", json!({"command": "sh convert.sh"})), &["csv"])], Ok(FailureHandling::AnotherWay)),
        (
            changed(),
            "convert",
            vec![modify(TaskChange { profile: Some("atlas".to_owned()), ..TaskChange::default() })],
            Ok(FailureHandling::Changed),
        ),
        (
            changed(),
            "convert",
            vec![modify(TaskChange { description: Some("Use xml".to_owned()), tool: Some("bash".to_owned()), ..TaskChange::default() })],
            refused("convert", ""),
        ),
        (replaced(), "csv", vec![remove("csv")], Ok(FailureHandling::Removed)),
        (replaced(), "csv", vec![], Ok(FailureHandling::Left)),
        // `list` fails for the first time.
        (replaced(), "list", vec![add(tool("files", json!({"command": "find"})), &["list"])], Ok(FailureHandling::AnotherWay)),
    ];
    for (first, failed, second, expected) in cases {
        let state = troubled_again(first);
        match (handled_failures(&state, &patch_of(second.clone())), expected) {
            (Ok(lowered), Ok(how)) => {
                assert_eq!(lowered.iter().find(|lowered| lowered.task == id(failed)).map(|lowered| lowered.how), Some(how), "{second:#?}");
            }
            (Err(faults), Err(why)) => {
                let faults: String = faults.iter().map(ToString::to_string).collect();
                assert!(faults.starts_with(&why), "{faults}\n{why}");
                assert!(faults.contains("smaller tasks in its place"), "{faults}");
            }
            (found, expected) => panic!("{found:?}, not {expected:?}: {second:#?}"),
        }
    }
    let mut state = troubled_again(replaced());
    let words = Evidence::new("person-1".parse().unwrap(), at(6), EvidenceKind::UserInput, Significance::High, "xml works");
    state.evidence.push(words);
    assert!(handled_failures(&state, &patch_of(in_words("csv"))).is_ok(), "a person may know better");
}
