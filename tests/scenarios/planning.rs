//! Bad plans are refused with their faults, asked for again, made simpler, and at last done by one actor.

use aime_scripted_server::{Reply, Script, When};
use serde_json::{Value, json};

use crate::harness::{Ended, World, actor, done, messages_text, plan};

fn cyclic() -> Value {
    plan(&[actor("wash", "WASH", &["dry"]), actor("dry", "DRY", &["wash"])])
}

fn good() -> Value {
    plan(&[actor("wash", "WASH", &[]), actor("dry", "DRY", &["wash"])])
}

/// A server whose planner gives these answers and whose actors do whatever they are told.
fn planner(replies: Vec<Reply>) -> World {
    World::with(
        Script::new()
            .on(When::schema("aime_plan"), replies)
            .on(When::tools(), [done("done")])
            .on(When::plain(), [Reply::text("It is done.")]),
    )
}

fn run(world: &World, mode: &str) -> Ended {
    world.aime(["run", "do the dishes", "--mode", mode, "--output", "jsonl"])
}

#[test]
fn a_plan_with_a_cycle_is_asked_for_again_with_the_cycle_named() {
    let world = planner(vec![Reply::json(cyclic()), Reply::json(good())]);
    let ended = run(&world, "complex").must(0);
    let asked = world.schema_requests("aime_plan");
    assert_eq!(asked.len(), 2, "{ended}");
    let again = messages_text(&asked[1]);
    let extra = &again[messages_text(&asked[0]).len().min(again.len())..];
    assert!(["cycle", "wash", "dry"].iter().all(|word| again.contains(word)), "{again}");
    assert!(extra.contains("wash"), "the second request goes on from the first: {extra}");
    let refused = ended.events("plan_refused");
    assert_eq!(refused.len(), 1);
    assert_eq!(refused[0]["attempt"], 1);
    assert!(refused[0]["faults"].to_string().contains("cycle"), "{}", refused[0]);
    assert_eq!(ended.last()["plan_version"], 1);
}

#[test]
fn every_fault_of_a_plan_is_told_at_once() {
    let bad = json!({"tasks": [
        actor("wash", "WASH", &["nowhere"]),
        {"id": "dry", "kind": "tool", "tool": "blow", "parameters": {}, "dependencies": []},
        {"id": "store", "kind": "tool", "tool": "write_file", "parameters": {"path": 7}, "dependencies": []},
    ]});
    let world = planner(vec![Reply::json(bad), Reply::json(good())]);
    run(&world, "complex").must(0);
    let again = messages_text(&world.schema_requests("aime_plan")[1]);
    for fault in ["nowhere", "blow", "content"] {
        assert!(again.contains(fault), "{fault} is not told: {again}");
    }
}

// Requirement: 3.44
#[test]
fn three_bad_plans_then_a_simplified_one() {
    let simple = json!({"tasks": [{"id": "1", "description": "WASH"}, {"id": "2", "description": "DRY"}]});
    let world = planner(vec![Reply::json(cyclic()), Reply::json(cyclic()), Reply::json(cyclic()), Reply::json(simple)]);
    let ended = run(&world, "complex").must(0);
    assert_eq!(world.schema_requests("aime_plan").len(), 4, "{ended}");
    assert_eq!(ended.events("plan_refused").len(), 3);
    let created = ended.events("plan_created");
    assert!(created[0]["fallback"].as_str().unwrap().contains("simplified"), "{}", created[0]);
    assert_eq!(ended.last()["tasks"].as_array().unwrap().len(), 2);
}

// Requirement: 2.17, 3.44
#[test]
fn no_usable_plan_at_all_falls_back_to_the_actor_of_the_category() {
    for mode in ["simple", "complex"] {
        let world = planner(vec![Reply::json(cyclic())]);
        let ended = run(&world, mode).must(0);
        assert_eq!(world.schema_requests("aime_plan").len(), 4, "three tries and a simplified one\n{ended}");
        let created = ended.events("plan_created");
        assert!(created[0]["fallback"].as_str().unwrap().contains("category"), "{}", created[0]);
        let tasks = ended.last()["tasks"].clone();
        assert_eq!(tasks.as_array().unwrap().len(), 1);
        assert_eq!(tasks[0]["status"], "completed");
        assert_eq!(world.actor_requests("do the dishes").len(), 1, "one actor does the whole goal");
    }
}

// Requirement: 2.18
#[test]
fn without_a_fallback_the_run_ends() {
    let world = planner(vec![Reply::json(cyclic())]).settings("[planning]\nfallback = \"none\"\n");
    let ended = run(&world, "complex").must(1);
    assert!(ended.last()["error"]["message"].as_str().unwrap().contains("cycle"), "{ended}");
    assert!(world.actor_requests("").is_empty());
}

#[test]
fn broken_json_is_read_where_its_meaning_is_clear() {
    let text = good().to_string();
    let cases = [
        ("a fence with words around", format!("Here is the plan:\n```json\n{text}\n```\nGood luck!")),
        ("a trailing comma", text.replacen("\"tasks\":[", "\"tasks\":[ ", 1).trim_end_matches('}').to_owned() + ",}"),
        ("python's words", text.replace('"', "'")),
        ("reasoning before it", format!("<think>first I wash {{and}} dry</think>{text}")),
        ("encoded twice", Value::String(text.clone()).to_string()),
    ];
    for (name, text) in cases {
        let world = planner(vec![Reply::text(text)]);
        let ended = run(&world, "complex").must(0);
        assert_eq!(world.schema_requests("aime_plan").len(), 1, "{name}\n{ended}");
        assert_eq!(ended.last()["tasks"].as_array().unwrap().len(), 2, "{name}");
    }
}

#[test]
fn what_is_no_json_is_asked_for_again() {
    let world = planner(vec![Reply::text("I would rather not."), Reply::json(good())]);
    let ended = run(&world, "complex").must(0);
    assert_eq!(ended.events("plan_refused").len(), 1, "{ended}");
}

#[test]
fn a_server_without_schemas_is_asked_for_plain_json() {
    let refusal = json!({"error": {"message": "response_format of type json_schema is not supported", "type": "invalid_request_error", "param": "response_format"}});
    let world = World::with(
        Script::new()
            .on(When::field("/response_format/json_schema"), [Reply::status(400, refusal, [])])
            .on(When::field("/response_format"), [Reply::json(good())])
            .on(When::tools(), [done("done")])
            .on(When::plain(), [Reply::text("It is done.")]),
    );
    let ended = run(&world, "complex").must(0);
    assert_eq!(ended.last()["tasks"].as_array().unwrap().len(), 2, "{ended}");
}

// Requirement: 2.3
#[test]
fn a_direct_goal_is_not_planned() {
    let world = planner(vec![Reply::json(good())]);
    let ended = world.aime(["run", "do the dishes", "--output", "jsonl"]).must(0);
    let routed = &ended.events("routed")[0];
    assert_eq!((&routed["mode"], &routed["by"]), (&json!("direct"), &json!("bypass")), "{ended}");
    assert!(world.schema_requests("aime_plan").is_empty());
    assert_eq!(world.server().requests().len(), 1, "one actor, and its own words are the answer");
    assert_eq!(ended.last()["answer"], "done");
}

// Requirement: 2.4
#[test]
fn a_goal_of_several_steps_is_planned() {
    let world = planner(vec![Reply::json(good())]);
    let goal = "First wash the dishes, then dry them at the same time as the pans, and finally write a list of all of them to list.txt";
    let ended = world.aime(["run", goal, "--output", "jsonl"]).must(0);
    assert_eq!(ended.events("routed")[0]["mode"], "complex", "{ended}");
    assert_eq!(world.schema_requests("aime_plan").len(), 1);
    assert!(messages_text(&world.schema_requests("aime_plan")[0]).contains("list of all of them"));
}

// Requirement: 2.11
#[test]
fn the_flag_overrides_the_route() {
    let goal = "First wash the dishes, then dry them, and finally write a list to list.txt";
    for (mode, planned) in [("direct", 0), ("simple", 1), ("complex", 1)] {
        let world = planner(vec![Reply::json(good())]);
        let ended = world.aime(["run", goal, "--mode", mode, "--output", "jsonl"]).must(0);
        let routed = &ended.events("routed")[0];
        assert_eq!((&routed["mode"], &routed["by"]), (&json!(mode), &json!("flag")), "{ended}");
        assert_eq!(world.schema_requests("aime_plan").len(), planned, "{mode}");
    }
}

// Requirement: 1.1
#[test]
fn the_project_speaks_to_the_planner() {
    let world = planner(vec![Reply::json(good())]);
    world.file("AGENTS.md", "Always use the blue sponge.");
    world.file("sink.txt", "");
    run(&world, "complex").must(0);
    let asked = messages_text(&world.schema_requests("aime_plan")[0]);
    assert!(asked.contains("blue sponge") && asked.contains("sink.txt"), "{asked}");
}

#[test]
fn plan_runs_nothing() {
    let world = planner(vec![Reply::json(good())]);
    let shown = world.aime(["plan", "do the dishes", "--mode", "complex", "--format", "json"]).must(0);
    let document = shown.json();
    assert_eq!(document["schema"], "aime.plan/v1");
    assert_eq!(document["tasks"].as_array().unwrap().len(), 2);
    assert!(world.actor_requests("").is_empty());
    let cases = [("text", vec!["wash", "dry"]), ("mermaid", vec!["flowchart", "wash", "-->"]), ("dot", vec!["digraph", "wash", "->"])];
    for (format, words) in cases {
        let shown = world.aime(["plan", "do the dishes", "--mode", "complex", "--format", format]).must(0);
        assert!(words.iter().all(|word| shown.stdout.contains(word)), "{format}\n{shown}");
    }
    world.aime(["plan", "do the dishes", "--mode", "complex", "-o", "plan.txt"]).must(0);
    let written = world.read("plan.txt");
    assert!(written.contains("wash") && !written.contains('\u{1b}'), "a file has no colours: {written:?}");
    let shown = world.aime(["plan", "do the dishes", "--mode", "complex", "-o", "-"]).must(0);
    assert!(shown.stdout.contains("wash") && !world.exists("-"), "{shown}");
    let shown = world.aime(["plan", "do the dishes", "--mode", "complex", "--format", "json", "-o", "-"]).must(0);
    assert_eq!(shown.json()["schema"], "aime.plan/v1");
    // What it prints is what `run --plan` and `check` read.
    world.aime(["plan", "do the dishes", "--mode", "complex", "--format", "json", "-o", "plan.json"]).must(0);
    world.aime(["check", "plan.json"]).must(0);
    let ran = world.aime(["run", "--plan", "plan.json", "--output", "json"]).must(0);
    assert_eq!(ran.json()["tasks"].as_array().unwrap().len(), 2);
}
