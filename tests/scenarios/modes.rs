//! One goal in all four ways of working: what the user gets is the same, and only the plan has another shape.

use std::collections::{BTreeMap, BTreeSet};

use aime_scripted_server::{Reply, Script, When};
use serde_json::{Value, json};

use crate::harness::{Ended, World, actor, done, plan, write};

const GOAL: &str = "Write a poem about the sea to sea.txt and its title to title.txt";
const ANSWER: &str = "The poem stands in sea.txt and its title in title.txt.";
const POEM: &str = "Waves come and go.\n";
const TITLE: &str = "The Sea\n";

/// A run of the goal in one mode, and what the folder held afterwards.
struct Tried {
    ended: Ended,
    files: BTreeMap<&'static str, String>,
    asked: Vec<&'static str>,
}

/// The same model for each mode: it plans as it is asked, and its actors write what their task names.
fn tried(mode: &str, first: Option<Value>, updates: &[Value]) -> Tried {
    let mut script = Script::new();
    if let Some(first) = first {
        script = script.on(When::schema("aime_plan"), [Reply::json(first)]);
    }
    if !updates.is_empty() {
        script = script.on(When::schema("aime_patch"), updates.iter().cloned().map(Reply::json));
    }
    let script = script
        .on(When::schema("aime_verdict"), [Reply::json(json!({"passed": true, "reason": "both are there"}))])
        .on(When::tools().and_contains("WRITE-POEM").and_turn(0), [write("sea.txt", POEM)])
        .on(When::tools().and_contains("WRITE-TITLE").and_turn(0), [write("title.txt", TITLE)])
        .on(When::tools().and_contains("WRITE-").and_turn(1), [done("it is written")])
        // The one actor of a direct run has the whole goal.
        .on(When::tools().and_turn(0), [write("sea.txt", POEM)])
        .on(When::tools().and_turn(1), [write("title.txt", TITLE)])
        .on(When::tools(), [done(ANSWER)])
        .on(When::plain(), [Reply::text(ANSWER)]);
    let world = World::with(script);
    let ended = world.aime(["run", GOAL, "--mode", mode, "--output", "jsonl"]).must(0);
    let files = ["sea.txt", "title.txt"].map(|name| (name, world.read(name)));
    let asked = ["aime_route", "aime_plan", "aime_patch"].into_iter().filter(|name| !world.schema_requests(name).is_empty());
    Tried { asked: asked.collect(), files: files.into(), ended }
}

impl Tried {
    /// The tasks of the first plan.
    fn planned(&self) -> Vec<Value> {
        self.ended.events("plan_created")[0]["plan"]["tasks"].as_array().unwrap().clone()
    }
}

/// Each task's id with what it waits for.
fn waits(tasks: &[Value]) -> Vec<(&str, Vec<&str>)> {
    fn text(value: &Value) -> &str {
        value.as_str().unwrap()
    }
    tasks.iter().map(|task| (text(&task["id"]), task["dependencies"].as_array().unwrap().iter().map(text).collect())).collect()
}

// Requirement: 3.1
#[test]
fn one_goal_comes_out_the_same_in_every_mode() {
    let (poem, title) = (|before: &[&str]| actor("poem", "WRITE-POEM", before), |before: &[&str]| actor("title", "WRITE-TITLE", before));
    let group = |id: &str| json!({"id": id, "name": id, "kind": "group"});
    let within = |mut task: Value, parent: &str| {
        task["parent"] = json!(parent);
        task
    };
    let grows = json!({"reasoning": "a title is missing", "changes": [{"op": "add_task", "task": title(&["poem"])}]});
    let unchanged = json!({"reasoning": "both are there", "changes": []});
    let nested = plan(&[group("text"), group("rest"), within(poem(&[]), "text"), within(title(&["poem"]), "rest")]);

    let direct = tried("direct", None, &[]);
    let simple = tried("simple", Some(plan(&[poem(&[]), title(&["poem"])])), &[]);
    let complex = tried("complex", Some(nested), std::slice::from_ref(&unchanged));
    let emergent = tried("emergent", Some(plan(&[poem(&[])])), &[grows, unchanged]);

    // What the user gets.
    for (mode, tried) in [("direct", &direct), ("simple", &simple), ("complex", &complex), ("emergent", &emergent)] {
        let (result, of_direct) = (tried.ended.last(), direct.ended.last());
        assert_eq!(tried.files, BTreeMap::from([("sea.txt", POEM.to_owned()), ("title.txt", TITLE.to_owned())]), "{mode}: {}", tried.ended);
        assert_eq!((&result["status"], &result["answer"]), (&json!("completed"), &json!(ANSWER)), "{mode}: {}", tried.ended);
        assert_eq!((&result["error"], &result["replans"]), (&Value::Null, &json!(0)), "{mode}: {}", tried.ended);
        let members = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<BTreeSet<String>>();
        assert_eq!(members(&result), members(&of_direct), "{mode}: the answer has one form");
        assert_eq!(members(&result["tasks"][0]), members(&of_direct["tasks"][0]), "{mode}: so has each task");
        assert!(result["tasks"].as_array().unwrap().iter().all(|task| task["status"] == "completed"), "{mode}: {}", tried.ended);
        let routed = tried.ended.events("routed");
        assert_eq!((routed.len(), &routed[0]["mode"]), (1, &json!(mode)), "{}", tried.ended);
    }

    // Direct: one actor task, and nobody is asked for a plan.
    let tasks = direct.planned();
    assert_eq!((tasks.len(), &tasks[0]["kind"], direct.asked.len()), (1, &json!("actor"), 0), "{tasks:?}");

    // Simple: 2 to 6 steps in a row.
    let tasks = simple.planned();
    assert_eq!(waits(&tasks), [("poem", vec![]), ("title", vec!["poem"])]);
    assert_eq!((simple.asked.as_slice(), &simple.ended.last()["plan_version"]), (["aime_plan"].as_slice(), &json!(1)));

    // Complex: the goal, 2 to 5 sub-goals, 1 to 3 actions each.
    let tasks = complex.planned();
    let groups: Vec<&Value> = tasks.iter().filter(|task| task["kind"] == "group").collect();
    assert_eq!(groups.len(), 2, "{tasks:?}");
    for group in groups {
        assert_eq!(tasks.iter().filter(|task| task["parent"] == group["id"]).count(), 1, "{tasks:?}");
    }

    // Emergent: 1 to 3 TODOs at first, and more by what was found.
    assert_eq!(waits(&emergent.planned()), [("poem", vec![])]);
    let result = emergent.ended.last();
    assert_eq!((result["tasks"].as_array().unwrap().len(), &result["plan_version"]), (2, &json!(2)), "{}", emergent.ended);
    assert_eq!(emergent.asked, ["aime_plan", "aime_patch"]);
}
