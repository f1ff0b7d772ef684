//! Plans that grow while they are carried out.

use aime_scripted_server::{Reply, Script, When};
use serde_json::{Value, json};

use crate::harness::{World, actor, done, gives_up, plan, said, task};

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
    assert!(said(&asked[0]).contains("look: two ways lead on"), "the planner is shown what was found");
    assert!(said(&asked[1]).contains("the ford is flooded"), "and what failed");
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
    assert!(said(&again[1]).contains("there would be 4 TODOs, and at most 3 are allowed"), "{}", said(&again[1]));
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
