//! Plans that grow while they are carried out.

use aime_scripted_server::{Reply, Script, When};
use serde_json::{Value, json};

use crate::harness::{World, actor, done, gives_up, messages_text, plan, task, tool};

fn update(changes: &[Value]) -> Reply {
    Reply::json(json!({"reasoning": "by what was found", "changes": changes}))
}

fn add(todo: Value, replaces: &[&str]) -> Value {
    json!({"op": "add_task", "task": todo, "replaces": replaces})
}

// Requirement: 3.6, 3.61
#[test]
fn an_exploration_grows_its_plan_and_puts_the_results_together() {
    let script = Script::new()
        .on(When::schema("aime_plan"), [Reply::json(plan(&[actor("look", "LOOK-AROUND", &[])]))])
        .on(
            When::schema("aime_patch"),
            [
                update(&[add(actor("north", "GO-NORTH", &["look"]), &[]), add(actor("south", "GO-SOUTH", &["look"]), &[])]),
                update(&[add(actor("bridge", "TAKE-THE-BRIDGE", &[]), &["north"])]),
                update(&[]),
            ],
        )
        .on(When::tools().and_contains("LOOK-AROUND"), [done("two ways lead on")])
        .on(When::tools().and_contains("GO-NORTH"), [gives_up("the ford is flooded")])
        .on(When::tools().and_contains("GO-SOUTH"), [done("a village")])
        .on(When::tools().and_contains("TAKE-THE-BRIDGE"), [done("a castle")])
        .on(When::plain(), [Reply::text("A village in the south, a castle in the north.")]);
    let world = World::with(script).settings("[planning.growth]\nmax_failures = 1\n");
    let ended = world.aime(["run", "explore the valley", "--output", "jsonl"]).must(0);
    let result = ended.last();
    assert_eq!(result["answer"], "A village in the south, a castle in the north.", "{ended}");
    assert_eq!(ended.events("routed")[0]["mode"], "emergent", "explored, so emergent by the rules");
    let statuses = ["look", "north", "south", "bridge"].map(|id| task(&result, id)["status"].clone());
    assert_eq!(statuses, ["completed", "skipped", "completed", "completed"], "{ended}");
    assert_eq!((&result["replans"], &result["plan_version"]), (&json!(0), &json!(3)), "growth is no replan");
    let asked = world.schema_requests("aime_patch");
    assert!(messages_text(&asked[0]).contains("two ways lead on"), "the planner is shown what was found");
    assert!(messages_text(&asked[1]).contains("the ford is flooded"), "and what failed");
    assert!(asked.len() >= 3, "{}", asked.len());
}

// Requirement: 3.56
#[test]
fn an_update_beyond_the_cap_is_asked_for_again() {
    let three: Vec<Value> = ["b", "c", "d"].map(|id| add(actor(id, "MORE-WORK", &[]), &[])).into();
    let script = Script::new()
        .on(When::schema("aime_plan"), [Reply::json(plan(&[actor("a", "FIRST-WORK", &[])]))])
        .on(When::schema("aime_patch"), [update(&three), update(&three[..1]), update(&[])])
        .on(When::tools(), [done("done")])
        .on(When::plain(), [Reply::text("All done.")]);
    let world = World::with(script).settings("[planning.growth]\nmax_todos = 3\n");
    let ended = world.aime(["run", "work", "--mode", "emergent", "--output", "jsonl"]).must(0);
    assert_eq!(ended.last()["tasks"].as_array().unwrap().len(), 2, "{ended}");
    let again = world.schema_requests("aime_patch");
    assert!(messages_text(&again[1]).contains("there would be 4 TODOs, and at most 3 are allowed"), "{}", messages_text(&again[1]));
}

// Requirement: 1.9, 3.57
#[test]
fn a_run_that_finds_nothing_says_so() {
    let script = Script::new()
        .on(When::schema("aime_plan"), [Reply::json(plan(&[actor("dig", "DIG-HERE", &[])]))])
        .on(When::schema("aime_patch"), [update(&[])])
        .on(When::tools(), [gives_up("only sand")]);
    let world = World::with(script);
    let ended = world.aime(["run", "find gold", "--mode", "emergent", "--output", "jsonl"]).must(1);
    let result = ended.last();
    assert_eq!(task(&result, "dig")["status"], "skipped");
    assert_eq!(task(&result, "dig")["attempts"], 1);
    assert!(result["error"]["message"].as_str().unwrap().contains("only sand"), "{ended}");
}

// Requirement: 3.6, 3.56, 3.57
#[test]
fn a_led_exploration_sees_a_failure_keeps_to_the_cap_and_merges() {
    let change = |changes: Value| Reply::call("change_plan", json!({"reasoning": "by what was found", "changes": changes}));
    let ways = json!([
        add(actor("north", "GO-NORTH", &[]), &[]),
        add(actor("south", "GO-SOUTH", &["north"]), &[]),
        add(actor("east", "GO-EAST", &["north"]), &[]),
    ]);
    let merge = json!([
        add(actor("bridge", "TAKE-THE-BRIDGE", &[]), &["north"]),
        {"op": "merge_tasks", "ids": ["south", "east"], "task": actor("round", "GO-ROUND", &["bridge"])},
    ]);
    let replies = [
        Reply::call("submit_plan", plan(&[actor("look", "LOOK-AROUND", &[])])),
        change(ways),
        change(json!([add(actor("west", "GO-WEST", &[]), &[])])),
        change(merge),
        done("A castle, and a village."),
    ];
    let script = Script::new()
        .on(When::tool("submit_plan"), replies)
        .on(When::tools().and_contains("LOOK-AROUND"), [done("three ways lead on")])
        .on(When::tools().and_contains("GO-NORTH"), [gives_up("the ford is flooded")])
        .on(When::tools().and_contains("GO-ROUND"), [done("a village")])
        .on(When::tools().and_contains("TAKE-THE-BRIDGE"), [done("a castle")]);
    let world = World::led(script).settings("[planning.growth]\nmax_failures = 1\nmax_todos = 4\n");
    let ended = world.aime(["run", "explore the valley", "--mode", "emergent", "--output", "jsonl"]).must(0);
    let result = ended.last();
    assert_eq!(result["answer"], "A castle, and a village.", "{ended}");
    let statuses = ["look", "north", "south", "east", "bridge", "round"].map(|id| task(&result, id)["status"].clone());
    assert_eq!(statuses, ["completed", "skipped", "skipped", "skipped", "completed", "completed"], "{ended}");
    let requests = world.server().requests();
    let prompts: Vec<String> =
        requests.iter().filter(|request| request["tools"].to_string().contains("submit_plan")).map(messages_text).collect();
    assert!(prompts.iter().any(|text| text.contains("the ford is flooded")), "the lead sees the error: {prompts:#?}");
    assert!(prompts.iter().any(|text| text.contains("at most 4 are allowed")), "the cap holds: {prompts:#?}");
}

// Requirement: 3.57
#[test]
fn a_led_failure_waits_for_the_lead() {
    let elsewhere =
        json!({"reasoning": "it is elsewhere", "changes": [add(tool("list", "list_dir", json!({"path": "."}), &[]), &["look"])]});
    let replies = [
        Reply::call("submit_plan", plan(&[tool("look", "read_file", json!({"path": "nowhere.txt"}), &[])])),
        Reply::text("It may come yet."),
        Reply::call("change_plan", elsewhere),
        done("There is nothing."),
    ];
    let world = World::led(Script::new().on(When::tool("submit_plan"), replies));
    let ended = world.aime(["run", "look around", "--mode", "emergent", "--output", "jsonl"]).must(0);
    let result = ended.last();
    assert_eq!((&task(&result, "look")["attempts"], &task(&result, "list")["status"]), (&json!(2), &json!("completed")), "{ended}");
    let requests = world.server().requests();
    assert_eq!(requests.len(), 4, "{ended}");
    for (request, times) in requests[1..3].iter().zip(["failed", "failed 2 times"]) {
        let last = request["messages"].as_array().unwrap().last().unwrap().to_string();
        assert!(last.contains(&format!("`look` {times}, and is tried again if you leave it")), "{last}");
        assert!(last.contains("nowhere.txt"), "the lead sees the error: {last}");
    }
}
