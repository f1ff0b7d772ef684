//! Runs, and tasks, that a person ends for good. Linux only: elsewhere there is no `/proc` to find processes in.

#![cfg(target_os = "linux")]

use aime_scripted_server::{Reply, Script, When};
use serde_json::json;

use crate::harness::{World, actor, bash, done, messages_text, plan, task, tool, wait_until};

/// A run `trip` of three tasks, of which the first two wait for the file `go`.
fn world() -> World {
    let waits = |name: &str| bash(&format!("echo $$ > {name}; until test -e go; do sleep 0.1; done"));
    let tasks = [actor("walk", "WALK-ON", &[]), actor("sing", "SING-ALONG", &[]), actor("rest", "REST-THERE", &["walk"])];
    let script = Script::new()
        .on(When::schema("aime_plan"), [Reply::json(plan(&tasks))])
        .on(When::tools().and_contains("WALK-ON").and_turn(0), [waits("walking")])
        .on(When::tools().and_contains("SING-ALONG").and_turn(0), [waits("singing")])
        .on(When::tools(), [done("done")])
        .on(When::plain(), [Reply::text("There.")]);
    World::with(script).in_one_folder()
}

const RUN: [&str; 10] =
    ["run", "walk there, sing and rest", "--mode", "complex", "--approve", "all", "--run-id", "trip", "--output", "json"];

/// Whether a process is there that has written its number into a file.
fn lives(world: &World, file: &str) -> bool {
    std::path::Path::new("/proc").join(world.read(file).trim()).exists()
}

// Requirement: 7.3
#[test]
fn a_run_under_way_is_ended_for_good() {
    let world = world();
    let running = world.start(RUN);
    world.wait_for_file("walking");
    world.wait_for_file("singing");
    let cancelled = world.aime(["cancel", "trip"]).must(0);
    assert!(cancelled.stderr.contains("cancelled trip"), "{cancelled}");
    for file in ["walking", "singing"] {
        assert!(!lives(&world, file), "no process outlives its run");
    }
    let ended = running.wait().must(1);
    let result = ended.json();
    assert_eq!((&result["status"], &result["error"]["code"]), (&json!("cancelled"), &json!("cancelled")), "{ended}");
    assert!(result["error"]["hint"].as_str().unwrap().contains("aime runs fork trip --at 1"), "{ended}");
    for id in ["walk", "sing", "rest"] {
        assert_eq!(task(&result, id)["status"], "skipped", "{ended}");
    }
    let runs = world.aime(["runs", "--output", "json"]).must(0).json();
    assert_eq!(runs[0]["status"], "cancelled");
    for command in [["resume", "trip"].as_slice(), &["cancel", "trip"], &["tell", "trip", "go on"]] {
        let refused = world.aime(command).must(2);
        assert!(refused.stderr.contains("was cancelled") && refused.stderr.contains("aime runs fork trip --at 1"), "{refused}");
    }
    let requests = world.server().requests().len();
    world.file("go", "");
    world.aime(["runs", "fork", "trip", "--at", "1", "--run-id", "again"]).must(0);
    world.aime(["resume", "again"]).must(0);
    assert!(world.server().requests().len() > requests, "the new run goes on");
}

// Requirement: 7.3
#[test]
fn a_run_that_nobody_carries_out_is_ended_at_once() {
    for left in ["paused", "killed", "waiting"] {
        let world = world();
        let code = match left {
            "waiting" => {
                world.aime(RUN.into_iter().filter(|argument| !["--approve", "all"].contains(argument))).must(5);
                None
            }
            _ => {
                let running = world.start(RUN);
                world.wait_for_file("walking");
                world.wait_for_file("singing");
                if left == "killed" {
                    running.kill().code
                } else {
                    world.aime(["pause", "trip"]).must(0);
                    running.wait().must(130).code
                }
            }
        };
        let requests = world.server().requests().len();
        world.aime(["cancel", "trip"]).must(0);
        assert_eq!(world.server().requests().len(), requests, "{left} ({code:?}): nothing is begun for it");
        let shown = world.aime(["runs", "show", "trip", "--output", "json"]).must(0).json();
        assert_eq!(shown["status"], "cancelled", "{left}");
        assert!(shown["tasks"].as_array().unwrap().iter().all(|task| task["status"] == "skipped"), "{left}: {shown:#}");
        let answer = world.aime(["answer", "trip", "yes"]).must(2);
        assert!(answer.stderr.contains("asks nothing"), "{left}: {answer}");
        world.aime(["resume", "trip"]).must(2);
    }
}

// Requirement: 12.5
#[test]
fn one_task_is_taken_out_and_the_rest_goes_on() {
    let world = world();
    let running = world.start(RUN);
    world.wait_for_file("walking");
    world.wait_for_file("singing");
    world.aime(["cancel", "trip", "fly"]).must(2).stderr_contains(&["no task \"fly\""]);
    world.aime(["cancel", "trip", "walk"]).must(0).stderr_contains(&["the run takes it up now"]);
    wait_until("the actor is stopped", || !lives(&world, "walking"));
    assert!(lives(&world, "singing"), "its sibling goes on");
    world.file("go", "");
    let ended = running.wait().must(0);
    let result = ended.json();
    assert_eq!((&result["status"], &result["plan_version"]), (&json!("completed"), &json!(2)), "{ended}");
    assert_eq!(task(&result, "walk")["status"], "skipped", "{ended}");
    assert!(task(&result, "walk")["error"].as_str().unwrap().contains("cancelled by a person"), "{ended}");
    for id in ["sing", "rest"] {
        assert_eq!(task(&result, id)["status"], "completed", "{ended}");
    }
    assert!(world.schema_requests("aime_patch").is_empty());
    let first = messages_text(&world.actor_requests("REST-THERE")[0]);
    let cancelled = "### walk\\nThere is no result: cancelled by a person. Do not wait for it, and do not build on it.";
    assert!(first.contains(cancelled), "a dependent that starts later is told: {first}");
    let is_informed = |text: &str| {
        messages_text(world.actor_requests(text).last().unwrap()).contains("The task `walk` was cancelled (cancelled by a person)")
    };
    assert!(is_informed("SING-ALONG") && !is_informed("REST-THERE"), "the actor at work beside it is told: {ended}");
}

// Requirement: 12.5
#[test]
fn an_actor_below_a_cancelled_task_ends() {
    let hum = Reply::call("delegate_task", json!({"description": "HUM-ALONG"}));
    let script = Script::new()
        .on(When::schema("aime_plan"), [Reply::json(plan(&[actor("walk", "WALK-ON", &[]), actor("sing", "SING-ALONG", &[])]))])
        .on(When::tools().and_contains("HUM-ALONG").and_turn(0), [bash("echo $$ > humming; until test -e go; do sleep 0.1; done")])
        .on(When::tools().and_contains("WALK-ON").and_turn(0), [hum])
        .on(When::tools().and_contains("SING-ALONG").and_turn(0), [bash("echo $$ > singing; until test -e go; do sleep 0.1; done")])
        .on(When::tools(), [done("done")])
        .on(When::plain(), [Reply::text("There.")]);
    let world = World::with(script).in_one_folder();
    let running = world.start(RUN);
    world.wait_for_file("humming");
    world.wait_for_file("singing");
    let of_hum = world.actor_requests("HUM-ALONG").len();
    world.aime(["cancel", "trip", "walk"]).must(0);
    wait_until("the actor below is stopped", || !lives(&world, "humming"));
    assert!(lives(&world, "singing"), "the actor beside it goes on");
    world.file("go", "");
    let ended = running.wait().must(0);
    assert_eq!(task(&ended.json(), "walk")["status"], "skipped", "{ended}");
    assert_eq!(world.actor_requests("HUM-ALONG").len(), of_hum, "no request is made for it any more");
}

#[test]
fn a_task_whose_result_another_needs_is_not_taken_out_before_that_one() {
    let write = tool("note", "write_file", json!({"path": "note.txt", "content": "@{steps.walk.result}"}), &["walk"]);
    let waits = bash("touch walking; until test -e go; do sleep 0.1; done");
    let script = Script::new()
        .on(When::schema("aime_plan"), [Reply::json(plan(&[actor("walk", "WALK-ON", &[]), write]))])
        .on(When::tools().and_turn(0), [waits])
        .on(When::tools(), [done("done")])
        .on(When::plain(), [Reply::text("There.")]);
    let world = World::with(script);
    let running = world.start(RUN);
    world.wait_for_file("walking");
    let refused = world.aime(["cancel", "trip", "walk"]).must(2);
    refused.stderr_contains(&["walk stays in the plan", "the task \"note\" needs the result of \"walk\"", "cancel what needs it first"]);
    world.aime(["cancel", "trip", "note"]).must(0);
    world.aime(["cancel", "trip", "walk"]).must(0).stderr_contains(&["to be cancelled: walk"]);
    wait_until("it is taken out", || !world.aime(["runs", "events", "trip", "--output", "jsonl"]).events("plan_changed").is_empty());
    let ended = running.wait();
    for id in ["walk", "note"] {
        assert_eq!(task(&ended.json(), id)["status"], "skipped", "{ended}");
    }
}

#[test]
fn the_only_task_of_a_direct_run_is_the_run() {
    let script = Script::new().on(When::tools().and_turn(0), [bash("touch walking; until test -e go; do sleep 0.1; done")]);
    let world = World::with(script);
    let running = world.start(["run", "walk there", "--mode", "direct", "--approve", "all", "--run-id", "trip"]);
    world.wait_for_file("walking");
    world.aime(["cancel", "trip", "main"]).must(2).stderr_contains(&["`aime cancel trip` ends the run"]);
    world.aime(["cancel", "trip"]).must(0);
    running.wait().must(1);
}
