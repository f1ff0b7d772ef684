//! Scheduling: the order of starts, and the absence of needless waits.

use std::sync::Arc;

use aime_progress_management::ProgressEvent;
use serde_json::json;

use super::{
    build::{id, parameters, plan},
    world::World,
};
use crate::RunEffect;

// Requirement: 1.4
#[test]
fn at_most_max_parallel_tasks_run() {
    for (max_parallel, open) in [(1, "a"), (2, "a b"), (3, "a b c"), (9, "a b c d"), (0, "a")] {
        let world = World::with("a; b; c; d", |settings| settings.max_parallel = max_parallel);
        assert_eq!(world.open(), open, "{max_parallel}");
    }
}

// Requirement: 1.4
#[test]
fn the_longest_remaining_path_goes_first() {
    let world = World::with("a; b; c; d: c; e: d; f: b", |settings| settings.max_parallel = 2);
    assert_eq!(world.open(), "c b");
    let mut efforts = plan("a; b; c");
    for (task, effort) in efforts.tasks.iter_mut().zip([10, 300, 60]) {
        Arc::make_mut(task).effort_seconds = Some(effort);
    }
    let world = World::given(|input| {
        input.plan = Some(efforts.clone());
        input.settings.max_parallel = 2;
    });
    assert_eq!(world.open(), "b c");
}

#[test]
fn tasks_with_a_common_name_never_run_at_once() {
    let mut planned = plan("a; b; c; d; e: a");
    for (task, needs) in planned.tasks.iter_mut().zip([vec!["port:1"], vec!["port:1", "db"], vec!["db"], vec![], vec!["port:1"]]) {
        Arc::make_mut(task).exclusive = needs.into_iter().map(str::to_owned).collect();
    }
    let mut world = World::given(|input| {
        input.plan = Some(planned.clone());
        input.settings.max_parallel = 3;
    });
    assert_eq!(world.open(), "a c d", "a task that must wait takes nobody's slot");
    world.done("c");
    assert_eq!(world.open(), "a d");
    world.crashed();
    assert_eq!(world.state().tasks.values().filter(|task| task.status == aime_progress_management::TaskStatus::Running).count(), 2);
    world.done("a");
    assert_eq!(world.open(), "d b");
    world.done("b");
    assert_eq!(world.open(), "d e");
    world.done("d").done("e").answers("done");
    assert_eq!(world.ended(), "completed");
}

// Requirement: 1.4
#[test]
fn a_slow_task_holds_up_nobody_else() {
    let mut world = World::with("slow; a; b: a; c: b", |settings| settings.max_parallel = 2);
    assert_eq!(world.open(), "a slow");
    world.done("a");
    assert_eq!(world.open(), "slow b", "b does not wait for the other task of its level");
    world.done("b");
    assert_eq!(world.open(), "slow c");
    world.done("c").done("slow").answers("done");
    assert_eq!(world.ended(), "completed");
}

#[test]
fn each_task_starts_once() {
    let mut world = World::of("a; b; c: a b; d: c; e: c");
    for task in ["b", "a", "c", "e", "d"] {
        world.done(task);
    }
    world.answers("done");
    let tasks = world.issued.iter().filter(|id| id.as_str().split('/').count() == 3);
    assert_eq!(tasks.map(|id| id.as_str()).collect::<Vec<_>>(), ["a/1/1", "b/1/1", "c/1/1", "d/1/1", "e/1/1"]);
    assert!(world.state().tasks.values().all(|task| task.attempts == 1));
}

// Requirement: 3.4
#[test]
fn groups_begin_and_end_with_their_tasks() {
    let mut world = World::of("g/; g/a; g/b: a; after: g");
    assert_eq!(world.statuses(), "g:running a:running b:pending after:pending");
    world.done("a").done("b");
    assert_eq!(world.statuses(), "g:completed a:completed b:completed after:running");
    world.done("after").answers("done");
    assert_eq!(world.ended(), "completed");
}

// Requirement: 1.5
#[test]
fn an_actor_is_given_what_it_needs_of_the_run_as_it_is_when_it_starts() {
    let mut world = World::of("a; b: a");
    world.done("a");
    let RunEffect::StartActor { brief, task, execution, .. } = &world.under_way[&world.effect("b")].effect else { panic!() };
    assert_eq!((task, *execution), (&id("b"), 1));
    assert_eq!((brief.spec.id.as_str(), brief.results.as_str()), ("b", "### Do a\nwhat was done"));
    assert_eq!(brief.overview, "", "of two tasks there is nothing to tell");
}

// Requirement: 3.15, 3.18
#[test]
fn references_are_put_in_before_a_tool_is_called() {
    let mut refers = plan("a=look; b=append");
    Arc::make_mut(&mut refers.tasks[1]).parameters = parameters(json!({"text": "got @{steps.a.result}", "criteria": 1}));
    Arc::make_mut(&mut refers.tasks[1]).completion_criteria = vec!["out.txt exists".into()];
    let mut world = World::given(|input| input.plan = Some(refers.clone()));
    assert_eq!(world.statuses(), "a:running b:pending", "a reference is a dependency");
    world.done("a");
    let RunEffect::CallTool { call: made, spec, .. } = &world.under_way[&world.effect("b")].effect else { panic!() };
    let given = made.parameters();
    assert_eq!((made.tool(), given), ("append", &parameters(json!({"text": "got what was done", "criteria": 1}))));
    assert_eq!(spec.completion_criteria, ["out.txt exists".into()]);
    let [_, ProgressEvent::ToolCallStarted { call, parameters: reported, .. }] = world.events_named("tool_call_started")[..] else {
        panic!()
    };
    assert_eq!((call.as_str(), reported), ("b/1/1", given));
}

#[test]
fn what_cannot_begin_fails_for_good_at_once() {
    let mut missing = plan("a=look; b=append");
    Arc::make_mut(&mut missing.tasks[1]).parameters = parameters(json!({"text": "@{steps.a.result.nowhere}"}));
    let table = [("a=nothing", "Unknown tool: nothing", "a"), ("", "nowhere", "b")];
    for (text, error, task) in table {
        let mut world = World::given(|input| {
            input.can_plan = false;
            input.plan = Some(if text.is_empty() { missing.clone() } else { plan(text) });
            input.settings.triggers.max_retries = u32::MAX;
        });
        if text.is_empty() {
            world.done("a");
        }
        world.later(0);
        assert_eq!(world.ended(), "goal_not_reached");
        assert!(world.message().contains(error), "{}", world.message());
        assert_eq!(world.state().tasks[&id(task)].attempts, 1);
    }
}

#[test]
fn results_of_groups_are_given() {
    let mut world = World::of("g/; g/a; g/inner: a; h/: g; h/b; h/c: b; d: g a");
    world.done("a").done("inner");
    let results =
        |world: &World, task: &str| crate::ActorBrief::new(world.state(), &world.state().graph(), &id(task), false).unwrap().results;
    for (task, given) in [("b", ["a", "inner"]), ("d", ["a", "inner"])] {
        let results = results(&world, task);
        let heads: Vec<&str> = results.lines().filter_map(|line| line.strip_prefix("### Do ")).collect();
        assert_eq!(heads, given, "{task}: {results}");
    }
    world.done("b");
    let results = results(&world, "c");
    let heads: Vec<&str> = results.lines().filter_map(|line| line.strip_prefix("### Do ")).collect();
    assert_eq!(heads, ["b", "a", "inner"], "its own dependencies come first: {results}");
}
