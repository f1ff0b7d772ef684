use aime_progress_management::{
    Evidence, EvidenceId, EvidenceKind, PATCH_SCHEMA, Plan, PlanId, ProgressEvent, TaskId, TaskSpec, Timestamp,
};
use serde_json::{Value, json};

use super::*;

const NOW: Timestamp = Timestamp::from_millis(0);

/// Returns a running plan of tasks with these ids, of which the first `completed` are done.
fn state(ids: &[String], completed: usize) -> ProgressState {
    let tasks: Vec<TaskSpec> = ids.iter().map(|id| TaskSpec::actor(TaskId::new(id.as_str()).unwrap(), "Do it")).collect();
    let plan = Plan::new("", tasks);
    let mut state = ProgressState::new(PlanId::new("p").unwrap(), "Find it out", NOW);
    state.apply(NOW, &ProgressEvent::PlanCreated { plan, repairs: vec![], fallback: None }).unwrap();
    for task in state.tasks.values_mut().take(completed) {
        task.status = TaskStatus::Completed;
    }
    state
}

fn numbered(count: usize) -> Vec<String> {
    (1..=count).map(|at| format!("t{at}")).collect()
}

fn patch(changes: Value) -> PlanPatch {
    serde_json::from_value(json!({"schema": PATCH_SCHEMA, "changes": changes})).unwrap()
}

fn add(id: &str) -> Value {
    json!({"op": "add_task", "task": {"id": id, "kind": "actor", "description": "More"}})
}

fn part(id: &str, of: &str) -> Value {
    json!({"op": "add_task", "task": {"id": id, "kind": "actor", "description": "A part"}, "replaces": [of]})
}

fn remove(id: &str) -> Value {
    json!({"op": "remove_task", "id": id, "reason": ""})
}

/// A case: number of completions, failures, true if all progress has stopped, the state; the expected reason.
type DueCase<'a> = (u32, &'a [&'a str], bool, &'a ProgressState, Option<&'a str>);

// Requirement: 3.55
#[test]
fn an_update_is_due_after_a_failure_after_three_completions_and_when_nothing_is_ready() {
    let settings = GrowthSettings::default();
    let (open, done) = (state(&numbered(3), 2), state(&numbered(3), 3));
    let look = |state: &ProgressState| {
        let mut growth = Growth::default();
        growth.observe(state);
        growth
    };
    let table: [DueCase<'_>; 8] = [
        (0, &[], false, &open, None),
        (2, &[], false, &open, None),
        (3, &[], false, &open, Some("3 TODOs were completed")),
        (0, &["t3"], false, &open, Some("an attempt at t3 failed")),
        (1, &["t3", "t3", "t2"], true, &open, Some("an attempt at t3, t2 failed")),
        (2, &[], true, &open, Some("nothing is ready, and t3 cannot start")),
        (1, &[], true, &done, Some("is the goal reached?")),
        (0, &[], true, &done, None),
    ];
    for (completed, failed, still, state, expected) in table {
        let mut growth = look(state);
        (0..completed).for_each(|_| growth.completed());
        failed.iter().for_each(|task| growth.failed(task));
        let due = growth.update_due(state, still, &settings);
        assert_eq!(due.is_some(), expected.is_some(), "{completed} {failed:?} {still}: {due:?}");
        assert!(due.unwrap_or_default().to_string().contains(expected.unwrap_or_default()), "{completed} {failed:?} {still}");
    }
}

// Requirement: 3.58
#[test]
fn a_plan_that_was_changed_and_does_not_move_is_looked_at_again_and_that_is_counted() {
    let mut state = state(&numbered(2), 1);
    let settings = GrowthSettings::default();
    let mut growth = Growth::default();
    for round in 1..=4 {
        assert!(growth.update_due(&state, true, &settings).is_some(), "{round}");
        assert_eq!(growth.observe(&state), round);
        assert_eq!(growth.update_due(&state, true, &settings), None, "the same plan is not looked at twice");
        state.version += 1;
    }
    growth.completed();
    assert_eq!(growth.observe(&state), 0, "a completion is progress");
    growth.lost();
    assert!(growth.update_due(&state, false, &settings).is_some(), "what came to nothing is done again");
    growth.observe(&state);
    assert_eq!(growth.update_due(&state, true, &settings), None);
}

// Requirement: 3.5
#[test]
fn a_complex_plan_adapts_between_tasks_when_there_is_news() {
    let mut state = state(&numbered(3), 1);
    let mut growth = Growth::default();
    let due = |growth: &Growth, state: &ProgressState| {
        [Adaptive::Never, Adaptive::Evidence, Adaptive::Always]
            .map(|adaptive| growth.adaptation_due(state, &TriggerIndex::new(state), adaptive, |_| false).is_some())
    };
    assert_eq!(due(&growth, &state), [false, false, false], "nothing was completed");
    growth.completed();
    assert_eq!(due(&growth, &state), [false, false, true]);
    for (significance, news) in [(Significance::Low, false), (Significance::Medium, true)] {
        let id = EvidenceId::new(format!("e{news}")).unwrap();
        let content = "it is elsewhere".to_owned();
        state.evidence.push(Evidence {
            id,
            at: NOW,
            task: None,
            kind: EvidenceKind::Discovery,
            significance,
            content,
            processed: false,
            origins: Vec::new(),
        });
        assert_eq!(due(&growth, &state), [false, news, true]);
    }
    let known = growth.adaptation_due(&state, &TriggerIndex::new(&state), Adaptive::Evidence, |id| id.as_str() == "etrue");
    assert_eq!(known, None, "what was looked at already is no news");
    state.tasks.values_mut().for_each(|task| task.status = TaskStatus::Completed);
    assert_eq!(due(&growth, &state), [false, false, false], "there is nothing left to adapt");
}

// Requirement: 3.56
#[test]
fn growth_has_a_cap_and_merges_near_it() {
    let settings = GrowthSettings::default();
    // TODOs, completed ones, changes; the expected faults.
    let table = [
        (3, 1, json!([add("x")]), None),
        (15, 0, json!([add("x")]), None),
        (16, 0, json!([add("x")]), Some("16 of 20 TODOs are used: merge")),
        (16, 16, json!([add("x")]), None),
        (16, 0, json!([{"op": "modify_task", "id": "t1", "change": {"description": "Else"}}]), None),
        (
            16,
            0,
            json!([{"op": "merge_tasks", "ids": ["t1", "t2"], "task": {"id": "x", "kind": "actor", "description": "Both"}}, add("y")]),
            None,
        ),
        (16, 0, json!([remove("t1"), add("x")]), None),
        (16, 0, json!([remove("t1"), add("x"), add("y")]), Some("16 of 20 TODOs are used: merge")),
        // A split counts by its parts.
        (15, 0, json!([part("x", "t15"), part("y", "t15")]), None),
        (16, 0, json!([part("x", "t16")]), None),
        (16, 0, json!([part("w", "t16"), part("x", "t16"), part("y", "t16"), part("z", "t16")]), Some("16 of 20 TODOs are used: merge")),
        (16, 0, json!([part("x", "t16"), part("y", "t16"), remove("t1")]), None),
        (16, 15, json!([part("x", "t16"), part("y", "t16")]), None),
        (16, 14, json!([part("x", "t16"), part("y", "t16")]), Some("16 of 20 TODOs are used: merge")),
        (19, 19, json!([add("x"), add("y")]), Some("there would be 21 TODOs, and at most 20")),
        (20, 20, json!([add("x")]), Some("there would be 21 TODOs")),
    ];
    for (count, completed, changes, expected) in table {
        let before = state(&numbered(count), completed);
        let patch = patch(changes);
        let after = before.patched(&patch, NOW).unwrap();
        let faults = check_update(&before, &after, &patch, &settings).join("; ");
        match expected {
            Some(expected) => assert!(faults.contains(expected), "{count} {completed}: {faults}"),
            None => assert_eq!(faults, "", "{count} {completed}"),
        }
        assert_eq!(Room::of(&before, &settings).used, u32::try_from(count).unwrap());
    }
}

#[test]
fn what_is_not_going_to_be_done_and_groups_take_no_room() {
    let mut state = state(&numbered(4), 1);
    state.tasks[1].status = TaskStatus::Skipped;
    state.tasks[2].spec_mut().kind = TaskKind::Group;
    assert_eq!(Room::of(&state, &GrowthSettings::default()), Room { used: 2, most: 20, must_merge: false });
}

// Requirement: 3.60
#[test]
fn a_todo_may_have_parts() {
    let settings = GrowthSettings::default();
    let before = state(&numbered(2), 1);
    let part = |id: &str| json!({"op": "add_task", "task": {"id": id, "kind": "actor", "description": "A part", "parent": "whole"}});
    let whole = json!({"op": "add_task", "task": {"id": "whole", "kind": "group", "name": "The whole"}});
    let patch = patch(json!([whole, part("one"), part("two")]));
    let after = before.patched(&patch, NOW).unwrap();
    assert_eq!(check_update(&before, &after, &patch, &settings), Vec::<String>::new());
    assert_eq!(Room::of(&after, &settings).used, 4, "its parts count, and it does not");
    let parents = after.tasks.values().filter_map(|task| task.spec.parent.as_ref());
    assert_eq!(parents.map(TaskId::as_str).collect::<Vec<_>>(), ["whole", "whole"]);
}
