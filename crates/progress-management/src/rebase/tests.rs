use serde_json::json;

use super::*;
use crate::{EdgeType, TaskChange, TaskSpec, testing::*};

fn add(task: TaskSpec, replaces: &str) -> PlanChange {
    PlanChange::AddTask { task: Box::new(task), replaces: ids(replaces) }
}

fn remove(task: &str) -> PlanChange {
    PlanChange::RemoveTask { id: id(task), reason: String::new() }
}

fn depend(task: &str, on: &str) -> PlanChange {
    let change = TaskChange { dependencies: Some(ids(on)), ..TaskChange::default() };
    PlanChange::ModifyTask { id: id(task), change: Box::new(change) }
}

/// Checks which changes are kept and which are dropped, each by its number, and the beginning of the first fault of
/// each dropped one.
fn check(state: &ProgressState, changes: Vec<PlanChange>, kept: &[usize], dropped: &[(usize, &str)]) {
    let rebased = state.rebase(&patch_of(changes.clone())).unwrap();
    let expected: Vec<PlanChange> = kept.iter().map(|at| changes[*at].clone()).collect();
    assert_eq!(rebased.patch.changes, expected);
    assert_eq!(rebased.dropped.len(), dropped.len(), "{:?}", rebased.dropped);
    for (found, (at, fault)) in rebased.dropped.iter().zip(dropped) {
        assert_eq!(found.change, changes[*at]);
        assert!(found.faults[0].starts_with(fault), "{:?}", found.faults);
    }
}

#[test]
fn a_patch_that_fits_is_kept_whole() {
    check(&state("a\nb: a"), vec![add(spec("c: b"), ""), remove("b")], &[0, 1], &[]);
}

#[test]
fn a_change_of_a_settled_task_is_dropped_alone() {
    let mut state = state("a\nb\nc: b");
    state.complete("a");
    let dropped = "id: the task \"a\" is completed";
    check(&state, vec![remove("a"), add(spec("d: c"), "")], &[1], &[(0, dropped)]);
}

#[test]
fn a_change_that_names_what_a_dropped_one_would_have_made_goes_with_it() {
    let mut state = state("a\nb\nc: b");
    state.complete("a");
    let changes = vec![add(spec("a2"), "a"), add(spec("d: a2"), ""), depend("c", "d"), remove("b")];
    check(&state, changes, &[3], &[(0, "replaces"), (1, "task.dependencies"), (2, "change.dependencies")]);
}

#[test]
fn of_changes_that_contradict_each_other_the_earlier_one_stays() {
    let edge = |from: &str, to: &str| PlanChange::AddEdge { edge: edge(from, to, EdgeType::Dependency) };
    let state = state("a\nb\nc");
    check(&state, vec![edge("a", "b"), edge("b", "a"), edge("b", "c")], &[0, 2], &[(1, "edge: a cycle: a → b → a")]);
}

#[test]
fn what_takes_out_a_needed_task_is_dropped() {
    let state = state_of(vec![spec("a"), tool("t", json!({"x": "@{steps.a.result}"})), spec("b")], vec![]);
    let lost = "tasks.t.parameters: the task \"t\" needs the result of \"a\"";
    check(&state, vec![remove("a"), add(spec("c: b"), "")], &[1], &[(0, lost)]);
    check(&state, vec![add(spec("a1"), "a"), add(spec("c: b"), ""), add(spec("a2"), "a")], &[1], &[(0, lost), (2, lost)]);
    check(&state, vec![add(spec("a1"), "a"), add(spec("a2: zz"), "a"), remove("b")], &[2], &[(0, lost), (1, lost)]);
    check(&state, vec![add(spec("a1"), "a"), add(spec("c: a1"), "")], &[0, 1], &[]);

    let edges = vec![conditional("a", "b", "@{steps.a.result} > 0 and @{steps.c.result} > 0")];
    let state = state_of(specs("a\nb\ng/\ng/c\nd"), edges);
    let lost = |of: &str| format!("tasks.b: the task \"b\" depends on a condition over {of:?}");
    check(&state, vec![remove("a"), remove("d")], &[1], &[(0, &lost("a"))]);
    check(&state, vec![remove("g"), remove("d")], &[1], &[(0, &lost("c"))]);
    check(&state, vec![add(spec("c1"), "c"), add(spec("c2"), "c"), remove("d")], &[2], &[(0, &lost("c")), (1, &lost("c"))]);
}

#[test]
fn where_nothing_fits_the_faults_of_all_changes_are_given() {
    let mut state = state("a\nb");
    state.complete("a").complete("b");
    let faults = state.rebase(&patch_of(vec![remove("a"), remove("b")])).unwrap_err();
    assert_eq!(faults.faults.len(), 2);
}
