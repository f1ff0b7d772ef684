//! People who steer a run that is under way, from another process.

use aime_scripted_server::{Reply, Script, When};
use serde_json::{Value, json};

use crate::harness::{World, actor, bash, done, plan, said, wait_until};

/// A run `trip` whose first task waits for the file `go`.
fn world() -> World {
    let script = Script::new()
        .on(When::schema("aime_plan"), [Reply::json(plan(&[actor("walk", "WALK-ON", &[]), actor("rest", "REST-THERE", &["walk"])]))])
        .on(
            When::schema("aime_patch"),
            [Reply::json(json!({"reasoning": "as was said", "changes": [
                {"op": "modify_task", "id": "rest", "change": {"description": "REST-AT-THE-INN"}}
            ]}))],
        )
        .on(When::tools().and_contains("WALK-ON").and_turn(0), [bash("touch began; until test -e go; do sleep 0.1; done")])
        .on(When::tools(), [done("done")])
        .on(When::plain(), [Reply::text("There.")]);
    World::with(script)
}

const RUN: [&str; 10] = ["run", "walk there and rest", "--mode", "complex", "--approve", "all", "--run-id", "trip", "--output", "jsonl"];

#[test]
fn what_is_said_to_a_run_under_way_changes_its_plan() {
    let world = world();
    let running = world.start(RUN);
    world.wait_for_file("began");
    let told = world.aime(["tell", "trip", "rest", "at", "the", "inn"]).must(0);
    assert!(told.stderr.contains("the run takes it up now"), "{told}");
    wait_until("the planner is asked", || !world.schema_requests("aime_patch").is_empty());
    world.file("go", "");
    let ended = running.wait().must(0);
    assert!(said(&world.schema_requests("aime_patch")[0]).contains("a person says: rest at the inn"));
    assert!(!world.actor_requests("REST-AT-THE-INN").is_empty(), "{ended}");
    let evidence = ended.events("evidence_added");
    assert_eq!((&evidence[0]["evidence"]["type"], evidence.len()), (&Value::from("user_input"), 1), "{ended}");
    let over = world.aime(["tell", "trip", "too late"]).must(2);
    assert!(over.stderr.contains("has ended"), "{over}");
}

#[test]
fn a_run_can_be_paused_told_something_and_resumed() {
    let world = world();
    let running = world.start(RUN);
    world.wait_for_file("began");
    world.aime(["pause", "trip"]).must(0);
    let left = running.wait().must(130);
    assert_eq!(left.last()["error"]["code"], "interrupted", "{left}");
    world.file("go", "");
    let told = world.aime(["tell", "trip", "rest at the inn"]).must(0);
    assert!(told.stderr.contains("aime resume trip"), "{told}");
    let nobody = world.aime(["pause", "trip"]).must(2);
    assert!(nobody.stderr.contains("no process carries out run trip"), "{nobody}");
    let ended = world.aime(["resume", "trip", "--output", "jsonl"]).must(0);
    assert!(said(&world.schema_requests("aime_patch")[0]).contains("a person says: rest at the inn"), "{ended}");
}

#[test]
fn a_run_without_a_plan_says_that_it_cannot_be_told_anything() {
    let script = Script::new()
        .on(When::tools().and_turn(0), [bash("touch began; until test -e go; do sleep 0.1; done")])
        .on(When::tools(), [done("done")]);
    let world = World::with(script);
    let running = world.start(["run", "walk there", "--mode", "direct", "--approve", "all", "--run-id", "trip"]);
    world.wait_for_file("began");
    let told = world.aime(["tell", "trip", "slowly"]).must(2);
    assert!(told.stderr.contains("no plan that could be changed") && told.stderr.contains("aime pause trip"), "{told}");
    world.file("go", "");
    running.wait().must(0);
}
