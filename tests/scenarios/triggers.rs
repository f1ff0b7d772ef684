//! The other reasons for a replan, and what holds one back.

use aime_scripted_server::{Reply, Script, When};
use serde_json::{Value, json};

use crate::harness::{World, actor, done, gives_up, messages_text, plan, task, turn, write};

fn add(id: &str, description: &str, replaces: &[&str]) -> Value {
    json!({"op": "add_task", "task": actor(id, description, &[]), "replaces": replaces})
}

fn patch(changes: &[Value]) -> Reply {
    Reply::json(json!({"reasoning": "another way", "changes": changes}))
}

// Requirement: 6.12
#[test]
fn a_risk_of_the_plan_that_comes_true_is_evidence_that_the_planner_sees() {
    let mut tasks = plan(&[actor("cast", "CAST-NET", &[]), actor("sell", "SELL-FISH", &["cast"])]);
    tasks["strategic"]["risks"] =
        json!([{"description": "it storms", "mitigation": "stay ashore"}, {"description": "the net is torn", "mitigation": "mend it"}]);
    let torn = Reply::call("report_evidence", json!({"type": "discovery", "content": "a hole of two yards", "risk": 2}));
    let script = Script::new()
        .on(When::schema("aime_plan"), [Reply::json(tasks)])
        .on(When::schema("aime_patch"), [Reply::json(json!({"reasoning": "it is mended", "changes": []}))])
        .on(When::tools().and_contains("CAST-NET").and_turn(0), [torn])
        .on(When::tools(), [done("done")])
        .on(When::plain(), [Reply::text("Fish was sold.")]);
    let world = World::with(script);
    let ended = world.aime(["run", "catch a fish", "--mode", "complex", "--output", "jsonl"]).must(0);
    let prompt = messages_text(&world.actor_requests("CAST-NET")[0]);
    assert!(prompt.contains("1. it storms\\n2. the net is torn"), "the actor is told of the risks: {prompt}");
    let evidence = &ended.events("evidence_added")[0]["evidence"];
    let content = "a risk of the plan came true (the net is torn): a hole of two yards";
    assert_eq!((&evidence["content"], &evidence["significance"]), (&json!(content), &json!("high")), "{ended}");
    let asked = messages_text(&world.schema_requests("aime_patch")[0]);
    assert!(asked.contains("(high") && asked.contains(content), "{asked}");
}

// Requirement: 3.31
#[test]
fn a_task_that_does_not_move_is_cancelled_and_replaced() {
    let script = Script::new()
        .on(When::schema("aime_plan"), [Reply::json(plan(&[actor("stuck", "STUCK-WAY", &[]), actor("after", "AFTER-ALL", &["stuck"])]))])
        .on(
            When::schema("aime_patch"),
            [patch(&[json!({"op": "cancel_task", "id": "stuck", "reason": "it hangs"}), add("free", "FREE-WAY", &["stuck"])])],
        )
        .on(When::tools().and_contains("STUCK-WAY"), [Reply::hang()])
        .on(When::tools().and_contains("FREE-WAY"), [done("freed")])
        .on(When::tools().and_contains("AFTER-ALL"), [done("all done")])
        .on(When::plain(), [Reply::text("Freed, and all done.")]);
    let world = World::with(script).settings("[triggers]\nstall_timeout = 1\n");
    let ended = world.aime(["run", "go on", "--mode", "complex", "--output", "jsonl"]);
    assert_eq!(ended.code, Some(0), "{ended}");
    let fired = &ended.events("triggers_fired")[0];
    assert_eq!(fired["reasons"][0]["kind"], "stalled", "{fired}");
    let result = ended.last();
    assert_eq!(task(&result, "stuck")["status"], "skipped");
    assert_eq!(task(&result, "free")["status"], "completed");
    assert_eq!(world.actor_requests("STUCK-WAY").len(), 1);
}

// Requirement: 6.9
#[test]
fn a_replan_in_the_cooldown_is_suppressed_and_comes_after_it() {
    // The second replan of a lineage must change more than the words.
    let mut third = add("three", "THIRD-WAY", &["two"]);
    third["task"]["profile"] = json!("atlas");
    let tasks = plan(&[actor("one", "FIRST-WAY", &[]), actor("slow", "SLOW-WORK", &[])]);
    // The second change of the plan for the same work changes its means.
    let mut third = add("three", "THIRD-WAY", &["two"]);
    third["task"]["profile"] = json!("atlas");
    let script = Script::new()
        .on(When::schema("aime_plan"), [Reply::json(tasks)])
        .on(When::schema("aime_patch"), [patch(&[add("two", "SECOND-WAY", &["one"])]), patch(&[third])])
        .on(When::tools().and_contains("FIRST-WAY"), [gives_up("a wall")])
        .on(When::tools().and_contains("SECOND-WAY"), [gives_up("a river")])
        .on(When::tools().and_contains("THIRD-WAY"), [done("through")])
        // Its work goes on beside all this, until the replanner has heard of the river.
        .on(When::tools().and_contains("SLOW-WORK"), [done("slow work is done").after_request("a river")])
        .on(When::plain(), [Reply::text("We are through.")]);
    let world = World::with(script).settings("[triggers]\nmax_retries = 0\n[frequency]\ncooldown_seconds = 5\n");
    let ended = world.aime(["run", "get through", "--mode", "complex", "--output", "jsonl"]);
    assert_eq!(ended.code, Some(0), "{ended}");
    let suppressed = ended.events("replan_suppressed");
    assert_eq!(suppressed.len(), 1, "said once\n{ended}");
    assert!(suppressed[0]["triggers"].to_string().contains("a river"), "{}", suppressed[0]);
    assert_eq!(ended.last()["replans"], 2);
    let place = |kind: &str, nth: usize| {
        let lines = ended.lines();
        let found: Vec<usize> = lines.iter().enumerate().filter(|(_, line)| line["type"] == kind).map(|(at, _)| at).collect();
        found[nth]
    };
    assert!(place("plan_changed", 0) < place("replan_suppressed", 0) && place("replan_suppressed", 0) < place("plan_changed", 1));
}

// Requirement: 1.9
#[test]
fn criteria_that_do_not_hold_change_the_plan() {
    let mut tasks = plan(&[actor("write", "WRITE-IT", &[])]);
    tasks["strategic"]["success_criteria"] = json!(["the poem rhymes", "poem.txt exists"]);
    let verdict = |passed: bool, reason: &str| {
        Reply::json(json!({"reason": reason, "passed": passed, "score": 0.5, "feedback": "", "suggestions": []}))
    };
    let script = Script::new()
        .on(When::schema("aime_plan"), [Reply::json(tasks)])
        .on(When::schema("aime_verdict"), [verdict(false, "tree does not rhyme with house"), verdict(true, "mouse rhymes with house")])
        .on(When::schema("aime_patch"), [patch(&[add("rhyme", "MAKE-IT-RHYME", &[])])])
        .on(When::tools().and_contains("MAKE-IT-RHYME"), [done("a mouse in the house")])
        .on(When::tools().and_turn(0), [write("poem.txt", "a tree in the house\n")])
        .on(When::tools(), [done("poem.txt is written")])
        .on(When::plain(), [Reply::text("A poem that rhymes.")]);
    let world = World::with(script);
    let ended = world.aime(["run", "write a poem", "--mode", "complex", "--output", "jsonl"]);
    assert_eq!(ended.code, Some(0), "{ended}");
    assert_eq!(world.schema_requests("aime_verdict").len(), 2);
    assert!(messages_text(&world.schema_requests("aime_patch")[0]).contains("tree does not rhyme"), "{ended}");
    assert_eq!(ended.events("triggers_fired")[0]["reasons"][0]["kind"], "criteria_failed");
    // What can be looked at is not asked of a model.
    assert!(!messages_text(&world.schema_requests("aime_verdict")[0]).contains("poem.txt exists"));
}

#[test]
fn a_claim_without_the_file_is_no_success() {
    let mut tasks = plan(&[actor("write", "WRITE-IT", &[])]);
    tasks["tasks"][0]["completion_criteria"] = json!(["out.txt exists"]);
    let script = Script::new()
        // The actor claims first; its result comes back, and it does the work.
        .on(When::tools().and_turn(0), [done("out.txt is written, believe me")])
        .on(When::tools().and_turn(1), [write("out.txt", "out\n")])
        .on(When::tools().and_turn(2), [done("out.txt is written")]);
    let world = World::with(script);
    world.plan("plan.json", &tasks);
    let ended = world.aime(["run", "--plan", "plan.json", "--output", "jsonl"]);
    assert_eq!(ended.code, Some(0), "{ended}");
    let checks: Vec<Value> = ended.events("criterion_checked").into_iter().map(|event| event["passed"].clone()).collect();
    assert_eq!(checks, [false, true]);
    assert_eq!(task(&ended.last(), "write")["attempts"], 1);
}

// Requirement: 3.23
#[test]
fn an_empty_patch_keeps_the_plan_and_ends_honestly() {
    let script = Script::new()
        .on(When::schema("aime_plan"), [Reply::json(plan(&[actor("one", "FIRST-WAY", &[]), actor("two", "SECOND-WAY", &["one"])]))])
        .on(When::schema("aime_patch"), [patch(&[])])
        .on(When::tools(), [gives_up("a wall")]);
    let world = World::with(script).settings("[triggers]\nmax_retries = 0\n");
    let ended = world.aime(["run", "get through", "--mode", "complex", "--unattended", "--output", "json"]);
    assert_eq!(ended.code, Some(1), "{ended}");
    let result = ended.json();
    assert_eq!(task(&result, "two")["status"], "skipped", "{ended}");
    assert!(task(&result, "two")["error"].as_str().unwrap().contains("one"), "it says why\n{ended}");
    assert!(world.schema_requests("aime_patch").len() <= 3, "it does not ask for ever: {}", world.schema_requests("aime_patch").len());
    assert_eq!(world.actor_requests("SECOND-WAY").len(), 0);
}

// Requirement: 4.34
#[test]
fn a_stuck_actor_is_told_so() {
    let script = Script::new()
        .on(When::tools().and_contains("same result"), [done("another way")])
        .on(When::tools(), [Reply::call("list_dir", json!({"path": "."}))]);
    let world = World::with(script);
    let ended = world.aime(["run", "look around", "--mode", "direct", "--output", "jsonl"]);
    assert_eq!(ended.code, Some(0), "{ended}");
    assert_eq!(ended.events("actor_nudged")[0]["kind"], "stuck");
    assert_eq!(world.server().requests().iter().map(turn).max(), Some(3), "after the third time");
}
