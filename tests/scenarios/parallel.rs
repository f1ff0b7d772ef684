//! What can run at once does, and never more than is allowed.

use aime_scripted_server::{Reply, Script, When};
use serde_json::{Value, json};

use crate::harness::{World, actor, done, plan, task, write};

const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

/// So many tasks that need nothing of each other, each writing its own file.
fn independent(count: usize) -> Value {
    let tasks: Vec<Value> = NAMES[..count].iter().map(|name| actor(name, &format!("PART-{name}: write {name}.txt"), &[])).collect();
    plan(&tasks)
}

/// Actors that write their file and end; `first` may hold their first reply.
fn workers(script: Script, count: usize, first: impl Fn(Reply) -> Reply) -> Script {
    NAMES[..count].iter().fold(script, |script, name| {
        let part = format!("PART-{name}");
        script
            .on(When::tools().and_contains(&part).and_turn(0), [first(write(&format!("{name}.txt"), &format!("by {name}\n")))])
            .on(When::tools().and_contains(&part), [done(&format!("{name}.txt is written"))])
    })
}

fn answer(script: Script) -> Script {
    script.on(When::plain(), [Reply::text("All the files are there.")])
}

// Requirement: 3.8
#[test]
fn three_independent_tasks_run_at_once() {
    let script = Script::new().on(When::schema("aime_plan"), [Reply::json(independent(3))]);
    let world = World::with(answer(workers(script, 3, |reply| reply.after_waiting(3))));
    let ended = world.aime(["run", "write three files", "--mode", "complex", "--output", "json"]).must(0);
    let result = ended.json();
    assert_eq!(result["status"], "completed", "{ended}");
    assert_eq!(result["answer"], "All the files are there.");
    for name in &NAMES[..3] {
        assert_eq!(world.read(&format!("{name}.txt")), format!("by {name}\n"));
        assert_eq!(task(&result, name)["status"], "completed");
        assert_eq!(task(&result, name)["attempts"], 1);
    }
    assert_eq!(world.server().max_concurrent(), 3);
    assert_eq!(world.schema_requests("aime_plan").len(), 1);
    // One for the plan, two for each actor, one for the answer.
    assert_eq!(world.server().requests().len(), 8);
    assert_eq!(result["usage"]["requests"], 8);
    assert_eq!(result["usage"]["input_tokens"], 800);
    assert_eq!(result["usage"]["output_tokens"], 160);
}

// Requirement: 1.4
#[test]
fn one_at_a_time_is_never_two() {
    let script = Script::new().on(When::schema("aime_plan"), [Reply::json(independent(3))]);
    // The delay makes two at once visible; nothing depends on its length.
    let world = World::with(answer(workers(script, 3, |reply| reply.delay_ms(60))));
    let ended = world.aime(["run", "write three files", "--mode", "complex", "--max-parallel", "1", "--output", "jsonl"]).must(0);
    assert_eq!(world.server().max_concurrent(), 1);
    let mut running = 0;
    let mut order = Vec::new();
    for event in ended.events("task_status_changed") {
        if event["to"] == "running" {
            running += 1;
            order.push(event["task"].as_str().unwrap().to_owned());
        } else if event["from"] == "running" {
            running -= 1;
        }
        assert!(running <= 1, "{ended}");
    }
    assert_eq!(order, ["a", "b", "c"]);
}

// Requirement: 1.4
#[test]
fn six_tasks_keep_three_slots_full() {
    let script = Script::new().on(When::schema("aime_plan"), [Reply::json(independent(6))]);
    let world = World::with(answer(workers(script, 6, |reply| reply.after_waiting(3))));
    let ended = world.aime(["run", "write six files", "--mode", "complex", "--output", "json"]).must(0);
    assert_eq!(world.server().max_concurrent(), 3, "{ended}");
    assert!(NAMES.iter().all(|name| world.exists(&format!("{name}.txt"))));
}

// Requirement: 1.4
#[test]
fn a_slow_task_does_not_hold_up_another_branch() {
    let tasks = plan(&[actor("slow", "SLOW-ONE", &[]), actor("first", "FIRST-LINK", &[]), actor("second", "SECOND-LINK", &["first"])]);
    // The slow one is only answered when the second link has begun: with barriers between levels that never happens.
    let script = Script::new()
        .on(When::tools().and_contains("SLOW-ONE"), [done("slow is done").after_request("SECOND-LINK")])
        .on(When::tools().and_contains("SECOND-LINK"), [done("second is done")])
        .on(When::tools().and_contains("FIRST-LINK"), [done("first is done")]);
    let world = World::with(answer(script));
    world.plan("plan.json", &tasks);
    let result = world.aime(["run", "--plan", "plan.json", "--output", "json"]).must(0).json();
    assert_eq!(result["status"], "completed");
}

/// Tasks that name the same resource take turns, beside others; without it they run at once.
// Requirement: 9.1
#[test]
fn tasks_that_need_one_port_take_turns() {
    for (port, at_once) in [(json!(["port:8080"]), 1), (json!(["port:8080", "db"]), 1), (json!([]), 2)] {
        let mut tasks = [actor("a", "PART-a", &[]), actor("b", "PART-b", &[]), actor("c", "PART-c", &[])];
        tasks[0]["exclusive"] = json!(["port:8080"]);
        tasks[1]["exclusive"] = port.clone();
        let world = World::with(answer(workers(Script::new(), 3, |reply| reply)));
        world.plan("plan.json", &plan(&tasks));
        let ended = world.aime(["run", "--plan", "plan.json", "--output", "jsonl"]).must(0);
        let (mut running, mut most, mut most_of_all) = (Vec::new(), 0, 0);
        for event in ended.events("task_status_changed") {
            running.retain(|task| *task != event["task"]);
            if event["to"] == "running" {
                running.push(event["task"].clone());
            }
            most = most.max(running.iter().filter(|task| **task != "c").count());
            most_of_all = most_of_all.max(running.len());
        }
        assert_eq!((most, most_of_all), (at_once, at_once + 1), "{port}: {ended}");
    }
}

// Requirement: 1.9
#[test]
fn one_failure_does_not_stop_its_siblings() {
    let tasks = plan(&[actor("bad", "BAD-ONE", &[]), actor("good", "GOOD-ONE", &[])]);
    let script = Script::new()
        .on(When::tools().and_contains("BAD-ONE"), [Reply::call("terminate", json!({"status": "failure", "message": "it cannot be done"}))])
        .on(When::tools().and_contains("GOOD-ONE").and_turn(0), [write("good.txt", "good\n").after_request("BAD-ONE")])
        .on(When::tools().and_contains("GOOD-ONE"), [done("good.txt is written")])
        .on(When::schema("aime_patch"), [Reply::json(json!({"reasoning": "nothing helps", "changes": []}))]);
    let world = World::with(answer(script)).settings("[triggers]\nmax_retries = 0\n");
    world.plan("plan.json", &tasks);
    let ended = world.aime(["run", "--plan", "plan.json", "--output", "json", "--unattended"]).must(1);
    let result = ended.json();
    assert_eq!(task(&result, "good")["status"], "completed");
    assert_eq!(task(&result, "bad")["status"], "failed");
    assert_eq!(world.read("good.txt"), "good\n");
    assert_eq!(result["status"], "failed");
    assert!(result["error"]["message"].as_str().unwrap().contains("it cannot be done"), "{ended}");
    assert!(result["answer"].as_str().unwrap().contains("it cannot be done"), "the report says what failed\n{ended}");
}
