use super::*;
use crate::testing::*;

fn check(damage: impl FnOnce(&mut ProgressState), expected: &[&str]) {
    let mut state = state("a\nb: a\ng/\ng/c");
    state.complete("a");
    assert_eq!(state.inconsistencies(), []);
    damage(&mut state);
    let found: Vec<String> = state.inconsistencies().iter().map(ToString::to_string).collect();
    assert_eq!(found, expected);
}

fn task<'a>(state: &'a mut ProgressState, name: &str) -> &'a mut Task {
    state.tasks.get_mut(&id(name)).unwrap()
}

// Requirement: 7.18
#[test]
fn what_the_fold_cannot_have_made_is_found() {
    check(|state| task(state, "b").spec_mut().dependencies = ids("zz"), &["tasks.b.dependencies[0]: unknown task \"zz\""]);
    check(
        |state| task(state, "b").status = TaskStatus::Running,
        &["the task \"b\" is running, but has no time of its start", "the task \"b\" is running, but was never started"],
    );
    check(|state| task(state, "a").finished_at = None, &["the task \"a\" is completed, but has no time of its end"]);
    check(|state| task(state, "a").failed_for_good = true, &["the task \"a\" is completed, but is marked as failed for good"]);
    check(|state| task(state, "b").held = true, &["the task \"b\" is ready, but is marked as held back"]);
    check(|state| task(state, "b").version = 7, &["the task \"b\" is ready, but comes from a version that the plan has not had"]);
    check(|state| task(state, "b").spec_mut().id = id("x"), &["the task \"x\" is stored under the id \"b\""]);
    check(|state| state.version = 3, &["the plan has version 3, and there are 0 decisions"]);
    check(
        |state| {
            let group = task(state, "g");
            (group.status, group.attempts, group.finished_at) = (TaskStatus::Completed, 1, Some(at(1)));
        },
        &["the task \"g\" is completed, but has open tasks", "the task \"g\" is completed, but has no completed task"],
    );
}

// Requirement: 7.18
#[test]
fn a_task_that_ran_ahead_of_its_dependencies_is_found() {
    let mut state = state("a\nb: a");
    let b = task(&mut state, "b");
    (b.status, b.attempts, b.started_at) = (TaskStatus::Running, 1, Some(at(1)));
    let found: Vec<String> = state.inconsistencies().iter().map(ToString::to_string).collect();
    assert_eq!(found, ["the task \"b\" is running, but a dependency is still open"]);
}

// Requirement: 7.18
#[test]
fn a_cycle_is_found() {
    let mut state = state("a\nb: a");
    task(&mut state, "a").spec_mut().dependencies = ids("b");
    let found: Vec<String> = state.inconsistencies().iter().map(ToString::to_string).collect();
    assert_eq!(found, ["tasks: a cycle: a → b → a; remove one of these dependencies"]);
}
