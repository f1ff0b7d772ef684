//! Plans are kept from one run to the next: the same goal is planned once, and a similar one gets an example.

use std::fs;

use aime_scripted_server::{Reply, Script, When};
use serde_json::{Value, json};

use crate::harness::{Ended, World, actor, done, gives_up, messages_text, plan, tool, write};

const GOAL: &str = "count the sheep and write the count to sheep.txt";
const SIMILAR: &str = "count the goats and write the count to goats.txt";

/// A world whose plan counts and writes, and whose second task does this.
fn world(second: Vec<Reply>) -> World {
    let tasks = plan(&[actor("count", "COUNT-THEM", &[]), actor("write", "WRITE-IT", &["count"])]);
    World::with(
        Script::new()
            .on(When::schema("aime_plan"), [Reply::json(tasks)])
            .on(When::schema("aime_patch"), [Reply::json(json!({"reasoning": "nothing helps", "changes": []}))])
            .on(When::tools().and_contains("WRITE-IT"), second)
            .on(When::tools(), [done("seven")])
            .on(When::plain(), [Reply::text("There are seven.")]),
    )
}

fn run(world: &World, goal: &str, mode: &str) -> Ended {
    world.aime(["run", goal, "--mode", mode, "--output", "jsonl"])
}

fn asked(world: &World) -> usize {
    world.schema_requests("aime_plan").len()
}

/// The kept plans, by the names of their files.
fn files(world: &World) -> Vec<String> {
    let entries = fs::read_dir(world.path(".aime/plans")).into_iter().flatten();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

// Requirement: 3.47
#[test]
fn the_same_goal_is_planned_once_over_all_runs() {
    // The first run writes a file: the folder is then as the run has left it.
    let world = world(vec![write("sheep.txt", "7"), done("written")]);
    let first = run(&world, GOAL, "complex").must(0);
    assert_eq!((asked(&world), first.events("plan_reused").len(), files(&world).len()), (1, 0, 1), "{first}");

    let second = run(&world, GOAL, "complex").must(0);
    assert_eq!(asked(&world), 1, "no model is asked for the second plan\n{second}");
    let reused = second.events("plan_reused");
    assert_eq!((reused.len(), &reused[0]["run"]), (1, &first.last()["run_id"]), "{second}");
    let task = |ended: &Ended| ended.events("plan_created")[0]["plan"]["tasks"].clone();
    assert_eq!(task(&first), task(&second));
    let run_id = second.last()["run_id"].as_str().unwrap().to_owned();

    let shown = world.aime(["run", GOAL, "--mode", "complex"]).must(0);
    let line = format!("used again: the plan of run {run_id}");
    assert!(shown.stderr.contains(&line), "{line}\n{shown}");
    assert_eq!(asked(&world), 1);

    world.file("aime.toml", "[planning]\ncache = false\n");
    run(&world, GOAL, "complex").must(0);
    assert_eq!(asked(&world), 2, "a setting turns it off");
}

// Requirement: 3.47
#[test]
fn another_mode_other_tools_and_another_folder_are_planned_anew() {
    let world = world(vec![done("written")]);
    run(&world, GOAL, "complex").must(0);
    run(&world, GOAL, "simple").must(0);
    assert_eq!(asked(&world), 2, "another mode");
    world.file(".agents/skills/shear/SKILL.md", "---\nname: shear\ndescription: Shears sheep.\n---\nShear.\n");
    run(&world, GOAL, "complex").must(0);
    assert_eq!(asked(&world), 3, "a new tool");
    world.file("goats.txt", "3");
    run(&world, GOAL, "complex").must(0);
    assert_eq!(asked(&world), 4, "a new file");
    run(&world, GOAL, "complex").must(0);
    assert_eq!(asked(&world), 4);
}

// Requirement: 3.47
#[test]
fn a_plan_that_failed_is_not_handed_out_again() {
    let world = world(vec![gives_up("no ink"), gives_up("no ink"), gives_up("no ink"), done("written")]);
    world.file("aime.toml", "[triggers]\nmax_retries = 0\n");
    run(&world, GOAL, "complex").must(1);
    assert_eq!((asked(&world), files(&world).len()), (1, 0));
    run(&world, GOAL, "complex").must(1);
    assert_eq!(asked(&world), 2, "it is planned anew");
}

// Requirement: 3.47
#[test]
fn a_kept_plan_that_comes_to_nothing_is_forgotten() {
    let world = world(vec![done("written"), gives_up("no ink"), done("written")]);
    world.file("aime.toml", "[triggers]\nmax_retries = 0\n");
    run(&world, GOAL, "complex").must(0);
    run(&world, GOAL, "complex").must(1);
    assert_eq!((asked(&world), files(&world).len()), (1, 0));
    run(&world, GOAL, "complex").must(0);
    assert_eq!((asked(&world), files(&world).len()), (2, 1));
}

// Requirement: 3.48
#[test]
fn a_similar_goal_gets_the_plan_as_an_example() {
    let world = world(vec![done("written")]);
    run(&world, GOAL, "complex").must(0);
    run(&world, SIMILAR, "complex").must(0);
    run(&world, "paint the barn red and its door white, then rest", "complex").must(0);
    let asked = world.schema_requests("aime_plan");
    let has_example: Vec<bool> = asked.iter().map(|request| messages_text(request).contains("COUNT-THEM")).collect();
    assert_eq!(has_example, [false, true, false]);
    assert!(messages_text(&asked[1]).contains(GOAL));
}

// Requirement: 3.47
#[test]
fn a_damaged_or_unfitting_plan_is_left_out_with_a_note() {
    for (text, why) in [("{\"schema\": ", "damaged"), ("{\"schema\": \"aime.kept-plan/v9\"}", "this version of aime reads")] {
        let world = world(vec![done("written")]);
        run(&world, GOAL, "complex").must(0);
        let name = format!(".aime/plans/{}", files(&world)[0]);
        world.file(&name, text);
        let ended = run(&world, GOAL, "complex").must(0);
        let repairs = ended.events("plan_created")[0]["repairs"].to_string();
        assert!(repairs.contains(&name) && repairs.contains(why), "{repairs}");
        assert_eq!(asked(&world), 2);
    }
    let world = world(vec![done("written")]);
    run(&world, GOAL, "complex").must(0);
    let name = format!(".aime/plans/{}", files(&world)[0]);
    let mut document: Value = serde_json::from_str(&world.read(&name)).unwrap();
    document["kept"]["plan"] = plan(&[tool("fly", "fly", json!({}), &[])]);
    world.file(&name, &document.to_string());
    let ended = run(&world, GOAL, "complex").must(0);
    let repairs = ended.events("plan_created")[0]["repairs"].to_string();
    assert!(repairs.contains("is no longer valid"), "an earlier plan is checked like any other: {repairs}");
}

#[test]
fn what_looks_like_a_secret_is_not_kept_and_a_deleted_run_leaves_no_plan() {
    let world = world(vec![done("written")]);
    run(&world, "count the sheep with the token: hunter2-of-june", "complex").must(0);
    assert_eq!(files(&world), Vec::<String>::new());
    let ended = run(&world, GOAL, "complex").must(0);
    assert_eq!(files(&world).len(), 1);
    world.aime(["runs", "delete", ended.last()["run_id"].as_str().unwrap()]).must(0);
    assert_eq!(files(&world), Vec::<String>::new());
}

// Requirement: 3.52
#[test]
fn a_command_tells_how_planning_goes() {
    let world = world(vec![done("written"), gives_up("no ink"), done("written")]);
    world.file("aime.toml", "[triggers]\nmax_retries = 0\n");
    let empty = world.aime(["runs", "stats", "--output", "json"]).must(0).json();
    assert_eq!((&empty["runs"], &empty["planning"]["success_rate"]), (&json!(0), &Value::Null));
    assert!(!world.exists(".aime"), "looking makes no journal");
    for code in [0, 1, 0] {
        run(&world, GOAL, "complex").must(code);
    }
    run(&world, "rest", "direct").must(0);
    let stats = world.aime(["runs", "stats", "--output", "json"]).must(0).json();
    assert_eq!((&stats["schema"], &stats["runs"], &stats["not_counted"]), (&json!("aime.stats/v1"), &json!(4), &json!([])));
    let planning = &stats["planning"];
    let counts = (&planning["asked"], &planning["made"], &planning["reused"], &planning["success_rate"]);
    assert_eq!(counts, (&json!(2), &json!(2), &json!(1), &json!(1.0)), "the second run used the plan of the first\n{stats}");
    assert!(planning["mean_ms"].as_f64().is_some_and(|mean| mean >= 0.0), "{stats}");
    assert_eq!(stats["execution"], json!({"ended": 4, "succeeded": 3, "success_rate": 0.75}));
    let requests = world.server().requests().len();
    assert_eq!((&stats["time"]["models"]["requests"], &stats["time"]["merging_ms"]), (&json!(requests), &json!(0)), "{stats}");
    let one = world.aime(["runs", "stats", "last", "--output", "json"]).must(0).json();
    assert_eq!((&one["runs"], &one["time"]["tools"]["requests"]), (&json!(1), &json!(0)), "{one}");
    assert!(one["time"]["total_ms"].as_u64() <= stats["time"]["total_ms"].as_u64(), "{one}\n{stats}");
    let shown = world.aime(["runs", "stats"]).must(0);
    for line in ["2 of 2 plans made as asked (100%), in ", "1 plan used again", "3 of 4 plans that ended reached the goal (75%)"] {
        assert!(shown.stdout.contains(line), "{line}\n{shown}");
    }
}
