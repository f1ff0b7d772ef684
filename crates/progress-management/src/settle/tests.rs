use serde_json::{Value, json};

use super::*;
use crate::{AfterFailure, Conclusion, EdgeType, FailureCause, PlanChange, testing::*};

// Requirement: 1.4, 3.11
#[test]
fn tasks_become_ready_as_their_dependencies_complete() {
    let mut state = state("a\nb: a\nc: a\nd: b c");
    assert_eq!(state.settle().statuses(), "a:ready b:pending c:pending d:pending");
    assert_eq!(state.complete("a").statuses(), "a:completed b:ready c:ready d:pending");
    assert_eq!(state.complete("b").statuses(), "a:completed b:completed c:ready d:pending");
    assert_eq!(state.complete("c").statuses(), "a:completed b:completed c:completed d:ready");
    assert_eq!(state.settle_dependencies(&id("d")), DependencyState::Satisfied);
}

// Requirement: 3.22
#[test]
fn only_a_failure_for_good_blocks() {
    let mut state = state("a\nb: a\nc: b");
    state.failed("a", false);
    assert_eq!(state.statuses(), "a:failed b:pending c:pending");
    state.go("a", TaskStatus::Pending);
    state.failed("a", true);
    assert_eq!(state.statuses(), "a:failed b:blocked c:pending", "c waits for b, which is open");
    assert_eq!(state.settle_dependencies(&id("b")), DependencyState::Unsatisfiable);
    assert_eq!(
        state.tasks[&id("b")].reason.as_ref().map(ToString::to_string).as_deref(),
        Some("waits for what cannot be had: \"a\" is failed")
    );
    assert!(!state.tasks[&id("b")].held);
    state.close();
    assert_eq!(state.statuses(), "a:failed b:skipped c:skipped");
    assert!(
        state.tasks[&id("c")]
            .reason
            .as_ref()
            .map(ToString::to_string)
            .as_deref()
            .unwrap()
            .starts_with("given up: waits for what cannot be had: \"b\" is skipped")
    );
}

// Requirement: 3.22
#[test]
fn a_block_clears_when_its_cause_does() {
    let mut state = state("a\nb: a");
    state.failed("a", true);
    state.patch(vec![PlanChange::UnblockTask { id: id("a") }]).settle();
    assert_eq!(state.statuses(), "a:ready b:pending");
}

#[test]
fn what_a_patch_holds_back_only_a_patch_releases() {
    let mut state = state("a\nb: a\nc");
    state.settle();
    state.patch(vec![PlanChange::BlockTask { id: id("a"), reason: "later".into() }]).settle();
    assert_eq!(state.statuses(), "a:blocked b:pending c:ready");
    assert!(state.tasks[&id("a")].held);
    // Another task can still run, so held tasks are not given up.
    assert_eq!(state.closing_changes(), []);
    state.patch(vec![PlanChange::UnblockTask { id: id("a") }]).settle();
    assert_eq!(state.statuses(), "a:ready b:pending c:ready");
    state.patch(vec![PlanChange::BlockTask { id: id("a"), reason: String::new() }]);
    state.complete("c").close();
    assert_eq!(state.statuses(), "a:skipped b:skipped c:completed");
}

#[test]
fn an_actor_that_is_blocked_while_it_runs_is_held() {
    let mut state = state("a");
    state.settle();
    state.go("a", TaskStatus::Running);
    state.go("a", TaskStatus::Blocked);
    assert!(state.tasks[&id("a")].held);
    assert_eq!(state.settle().statuses(), "a:blocked");
}

// Requirement: 3.10
#[test]
fn groups_settle_with_their_children() {
    let text = "a\ng/: a\ng/x\ng/y: x\nb: g";
    let mut state = state(text);
    assert_eq!(state.settle().statuses(), "a:ready g:pending x:pending y:pending b:pending", "children wait for what the group waits for");
    assert_eq!(state.complete("a").statuses(), "a:completed g:ready x:ready y:pending b:pending");
    state.go("x", TaskStatus::Running);
    assert_eq!(state.settle().status("g"), TaskStatus::Running);
    state.go("x", TaskStatus::Completed);
    assert_eq!(state.settle().statuses(), "a:completed g:running x:completed y:ready b:pending");
    assert_eq!(state.complete("y").statuses(), "a:completed g:completed x:completed y:completed b:ready");
    assert_eq!(state.tasks[&id("g")].attempts, 1);
}

// Requirement: 3.10
#[test]
fn a_group_is_completed_when_one_child_was_and_skipped_when_all_were() {
    let mut state = state("g/\ng/x\ng/y\nb: g");
    state.complete("x");
    state.patch(vec![PlanChange::RemoveTask { id: id("y"), reason: String::new() }]).settle();
    assert_eq!(state.statuses(), "g:completed x:completed y:skipped b:ready");

    let mut state = self::state("g/\ng/x\ng/y");
    state.settle();
    let remove = |task: &str| PlanChange::RemoveTask { id: id(task), reason: String::new() };
    state.patch(vec![remove("x"), remove("y")]).settle();
    assert_eq!(state.statuses(), "g:skipped x:skipped y:skipped");
}

#[test]
fn a_failed_child_keeps_its_group_open_until_it_is_given_up() {
    let mut state = state("g/\ng/x\ng/y\nb: g");
    state.complete("x").failed("y", true);
    assert_eq!(state.statuses(), "g:running x:completed y:failed b:pending", "the child may still be replaced");
    let mut replaced = state.clone();
    let task = Box::new(spec("y2"));
    replaced.patch(vec![PlanChange::AddTask { task, replaces: ids("y") }]).settle();
    assert_eq!(replaced.statuses(), "g:running x:completed y:skipped y2:ready b:pending");
    assert_eq!(replaced.complete("y2").statuses(), "g:completed x:completed y:skipped y2:completed b:ready");
    assert_eq!(state.close().statuses(), "g:completed x:completed y:failed b:ready");
}

#[test]
fn a_group_with_nothing_completed_fails_when_it_is_given_up() {
    let mut state = state("g/\ng/x\nb: g");
    state.failed("x", true).close();
    assert_eq!(state.statuses(), "g:failed x:failed b:skipped");
    assert!(state.tasks[&id("g")].failed_for_good);
}

#[test]
fn nested_groups_settle_from_the_inside() {
    let mut state = state("o/\no/g/\ng/x\nb: o");
    assert_eq!(state.complete("x").statuses(), "o:completed g:completed x:completed b:ready");
}

// Requirement: 3.13
#[test]
fn an_unmet_condition_skips_the_target_and_what_hangs_only_on_it() {
    let tasks = specs("a\nyes: a\nno: a\nafter: no\nlast: after\njoin: yes no");
    let edges = vec![conditional("a", "yes", "@{steps.a.result.n} > 0"), conditional("a", "no", "@{steps.a.result.n} == 0")];
    let mut state = state_of(tasks, edges);
    state.conclude("a", done("", json!({"n": 1})));
    assert_eq!(state.statuses(), "a:completed yes:ready no:skipped after:skipped last:skipped join:pending");
    assert_eq!(
        state.tasks[&id("no")].reason.as_ref().map(ToString::to_string).as_deref(),
        Some("the condition `@{steps.a.result.n} == 0` does not hold")
    );
    assert_eq!(
        state.tasks[&id("after")].reason.as_ref().map(ToString::to_string).as_deref(),
        Some("it depends only on \"no\", which was skipped")
    );
    assert_eq!(state.complete("yes").status("join"), TaskStatus::Ready, "it also hangs on what was done");
}

#[test]
fn what_needs_the_result_of_a_skipped_task_is_skipped() {
    let mut tasks = specs("a\nno\nb");
    tasks.push(tool("t: b", json!({"x": "@{steps.no.result}"})));
    let mut state = state_of(tasks, vec![conditional("a", "no", "@{steps.a.result} contains x")]);
    state.complete("a").complete("b");
    assert_eq!(state.statuses(), "a:completed no:skipped b:completed t:skipped");
}

// Requirement: 3.12
#[test]
fn a_condition_over_a_status_is_answered_by_a_failure_too() {
    let edges = vec![conditional("a", "fix", "@{steps.a.status} == failed"), conditional("a", "go", "@{steps.a.status} == completed")];
    let mut state = state_of(specs("a\nfix: a\ngo: a\nblocked: a"), edges.clone());
    state.failed("a", true);
    assert_eq!(state.statuses(), "a:failed fix:ready go:skipped blocked:blocked");

    let mut state = state_of(specs("a\nfix: a\ngo: a"), edges);
    state.complete("a");
    assert_eq!(state.statuses(), "a:completed fix:skipped go:ready");
}

#[test]
fn a_condition_waits_for_all_steps_that_it_reads() {
    let both = "@{steps.a.status} == completed and @{steps.c.status} == completed";
    let mut state = state_of(specs("a\nc\nt"), vec![conditional("a", "t", both)]);
    state.complete("a");
    assert_eq!(state.statuses(), "a:completed c:ready t:pending");
    let mut failed = state.clone();
    assert_eq!(state.complete("c").status("t"), TaskStatus::Ready);
    assert_eq!(failed.failed("c", false).status("t"), TaskStatus::Pending, "it may be retried");
    failed.go("c", TaskStatus::Pending);
    assert_eq!(failed.failed("c", true).status("t"), TaskStatus::Skipped);
}

#[test]
fn a_rolled_back_step_has_failed() {
    let edges = vec![edge("a", "undo", EdgeType::Rollback), conditional("a", "fix", "@{steps.a.status} == failed")];
    let mut state = state_of(specs("a\nundo\nfix: undo"), edges);
    state.failed("a", true).complete("undo");
    assert_eq!(state.statuses(), "a:rolled_back undo:completed fix:ready");
}

#[test]
fn a_condition_over_a_result_that_never_came_blocks() {
    let mut state = state_of(specs("a\nb"), vec![conditional("a", "b", "@{steps.a.result.n} > 0")]);
    state.failed("a", true);
    assert_eq!(state.statuses(), "a:failed b:blocked");
}

#[test]
fn a_skipped_group_skips_its_children() {
    let mut state = state_of(specs("a\ng/\ng/x\ng/y: x\nb: g"), vec![conditional("a", "g", "@{steps.a.result} contains x")]);
    state.conclude("a", done("nothing", Value::Null));
    assert_eq!(state.statuses(), "a:completed g:skipped x:skipped y:skipped b:skipped");
}

// Requirement: 3.14
#[test]
fn rollbacks_run_only_after_a_failure_for_good() {
    let edges = vec![edge("a", "undo", EdgeType::Rollback), edge("a", "undo2", EdgeType::Rollback)];
    let tasks = "a\nundo: a\nundo2: undo\nb: a";
    let mut state = state_of(specs(tasks), edges.clone());
    assert_eq!(state.settle().statuses(), "a:ready undo:pending undo2:pending b:pending");
    state.failed("a", false);
    assert_eq!(state.statuses(), "a:failed undo:pending undo2:pending b:pending", "it may be retried");
    state.go("a", TaskStatus::Pending);
    state.failed("a", true);
    assert_eq!(state.statuses(), "a:failed undo:ready undo2:pending b:blocked");
    state.complete("undo");
    assert_eq!(state.statuses(), "a:failed undo:completed undo2:ready b:blocked");
    state.complete("undo2");
    assert_eq!(state.statuses(), "a:rolled_back undo:completed undo2:completed b:blocked");

    let mut state = state_of(specs(tasks), edges);
    state.complete("a");
    assert_eq!(state.statuses(), "a:completed undo:skipped undo2:skipped b:ready");
    assert_eq!(
        state.tasks[&id("undo")].reason.as_ref().map(ToString::to_string).as_deref(),
        Some("there is nothing to undo: \"a\" did not fail")
    );
}

#[test]
fn a_failed_rollback_leaves_its_source_failed() {
    let mut state = state_of(specs("a\nundo"), vec![edge("a", "undo", EdgeType::Rollback)]);
    state.failed("a", true).failed("undo", true).close();
    assert_eq!(state.statuses(), "a:failed undo:failed");
}

#[test]
fn a_new_open_dependency_takes_readiness_back() {
    let mut state = state("a\nb");
    state.settle();
    state.patch(vec![PlanChange::AddEdge { edge: edge("a", "b", EdgeType::Dependency) }]).settle();
    assert_eq!(state.statuses(), "a:ready b:pending");
}

// Requirement: 1.4
#[test]
fn the_longest_remaining_path_goes_first() {
    let mut tasks = specs("short\nlong\nend: long\nx\ny\ng/\ng/in\nlast: g");
    tasks[3].effort_seconds = Some(500);
    tasks[4] = tool("y", json!({}));
    let mut state = state_of(tasks, vec![]);
    state.settle();
    let order: Vec<String> = state.ready_by_priority().iter().map(TaskId::to_string).collect();
    // x 500; long 60 + end 60; in 60 + last 60 through the group; short 60; y, a tool, 5.
    assert_eq!(order, ["x", "long", "in", "short", "y"]);
    state.complete("x");
    assert!(!state.ready_by_priority().contains(&id("x")));
}

// Requirement: 1.4
#[test]
fn an_earlier_phase_goes_first_and_is_no_barrier() {
    let mut tasks = specs("late\nearly\nBuild/\nBuild/in\nunnamed\nelse");
    tasks[0].phase = Some("ship".into());
    tasks[1].phase = Some("Look".into());
    tasks[0].effort_seconds = Some(900);
    tasks[5].phase = Some("no such phase".into());
    let mut state = state_of(tasks, vec![]);
    let phase = |name: &str| crate::Phase { name: name.into(), objective: String::new() };
    state.strategic.phases = vec![phase("look"), phase("build"), phase("Ship")];
    state.settle();
    let order: Vec<String> = state.ready_by_priority().iter().map(TaskId::to_string).collect();
    assert_eq!(order, ["early", "unnamed", "else", "in", "late"], "what names no phase is not kept waiting");
    state.strategic.phases.clear();
    assert_eq!(state.ready_by_priority()[0], id("late"), "without phases the longest goes first");
}

#[test]
fn events_of_illegal_changes_are_refused() {
    let state = state("a");
    let change = StatusChange { task: id("a"), to: TaskStatus::Running, for_good: false, reason: None };
    assert!(matches!(state.status_event(&change), Err(FoldError::IllegalTransition { .. })));
    assert!(matches!(state.status_event(&StatusChange { task: id("zz"), ..change }), Err(FoldError::UnknownTask { .. })));
}

#[test]
fn a_failed_task_is_retried_until_it_is_not() {
    let mut state = state("a\nb: a");
    for expected in [AfterFailure::Retry, AfterFailure::Retry, AfterFailure::ForGood] {
        state.settle();
        state.go("a", TaskStatus::Running);
        let mut again = state.clone();
        let (after, events) = state.fail(at(9), &id("a"), Conclusion::failure("it broke"), 2).unwrap();
        assert_eq!(after, expected);
        events.iter().for_each(|event| again.apply(at(9), event).unwrap());
        assert_eq!(again, state, "the events are what happened");
    }
    assert_eq!(state.settle().statuses(), "a:failed b:blocked");
    assert!(state.fail(at(9), &id("a"), Conclusion::failure("again"), 2).is_err(), "it does not run");
}

// Requirement: 6.1
#[test]
fn a_final_failure_is_not_retried() {
    use FailureCause::{Blocked, Conflict, Criteria, Denied, Model, Reported, Steps};
    for (causes, expected) in
        [([Denied, Reported, Blocked].as_slice(), AfterFailure::ForGood), (&[Steps, Model, Criteria, Conflict], AfterFailure::Retry)]
    {
        for cause in causes {
            let mut state = state("a");
            state.settle();
            state.go("a", TaskStatus::Running);
            let conclusion = Conclusion { cause: Some(*cause), ..Conclusion::failure("not done") };
            assert_eq!(state.fail(at(9), &id("a"), conclusion, 5).unwrap().0, expected, "{cause:?}");
        }
    }
}
