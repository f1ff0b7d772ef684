//! From trouble to a changed plan, and to a person when that does not help.

use aime_scripted_server::{Reply, Script, When};
use serde_json::{Value, json};

use crate::harness::{World, actor, done, gives_up, messages_text, plan, task, turn};

/// A patch that puts a new task in the place of one.
fn replace(old: &str, id: &str, description: &str) -> Value {
    json!({"reasoning": format!("{old} goes another way"), "changes": [
        {"op": "add_task", "task": actor(id, description, &[]), "replaces": [old]}
    ]})
}

// Requirement: 3.7, 3.30
#[test]
fn a_task_that_fails_is_replanned_at_once_and_the_run_completes() {
    let tasks = plan(&[actor("flaky", "FLAKY-WAY", &[]), actor("after", "AFTER-ALL", &["flaky"])]);
    let script = Script::new()
        .on(When::schema("aime_plan"), [Reply::json(tasks)])
        .on(When::schema("aime_patch"), [Reply::json(replace("flaky", "other", "OTHER-WAY"))])
        .on(When::tools().and_contains("FLAKY-WAY"), [gives_up("the net is torn")])
        .on(When::tools().and_contains("OTHER-WAY"), [done("the other way worked")])
        .on(When::tools().and_contains("AFTER-ALL"), [done("all is done")])
        .on(When::plain(), [Reply::text("It took another way.")]);
    let world = World::with(script);
    let ended = world.aime(["run", "catch a fish", "--mode", "complex", "--output", "jsonl"]).must(0);
    let result = ended.last();
    assert_eq!(result["status"], "completed", "{ended}");
    assert_eq!((&result["replans"], &result["plan_version"]), (&json!(1), &json!(2)));
    let first_turns = world.actor_requests("FLAKY-WAY").iter().filter(|request| turn(request) == 0).count();
    assert_eq!(first_turns, 1, "a reported failure is not tried again\n{ended}");
    assert_eq!(task(&result, "flaky")["attempts"], 1);
    assert_ne!(task(&result, "flaky")["status"], "completed");
    assert_eq!(task(&result, "other")["status"], "completed");
    assert_eq!(task(&result, "after")["status"], "completed");
    // What waited for the old task waits for the new one, and gets its result.
    assert!(messages_text(&world.actor_requests("AFTER-ALL")[0]).contains("the other way worked"));
    let asked = world.schema_requests("aime_patch");
    assert_eq!(asked.len(), 1);
    assert!(messages_text(&asked[0]).contains("the net is torn"), "the replanner is told what failed");
    let changed = ended.events("plan_changed");
    assert_eq!(changed.len(), 1);
    assert_eq!(changed[0]["decision"]["version"], 2);
    assert_eq!(changed[0]["decision"]["triggers"][0]["kind"], "task_failed");
    // What is kept of a patch is what the schema of patches says.
    let schema = jsonschema::validator_for(&world.aime(["schema", "patch"]).must(0).json()).unwrap();
    let faults: Vec<String> = schema.iter_errors(&changed[0]["decision"]["patch"]).map(|error| error.to_string()).collect();
    assert!(faults.is_empty() && !schema.is_valid(&json!({"changes": [{"op": "dance"}]})), "{faults:?}");
}

#[test]
fn what_was_repaired_in_a_patch_is_told() {
    let patch = replace("flaky", "other", "OTHER-WAY");
    let script = Script::new()
        .on(When::schema("aime_plan"), [Reply::json(plan(&[actor("flaky", "FLAKY-WAY", &[])]))])
        .on(When::schema("aime_patch"), [Reply::text(format!("Here it is:\n```json\n{patch}\n```"))])
        .on(When::tools().and_contains("FLAKY-WAY"), [gives_up("the net is torn")])
        .on(When::tools(), [done("done")])
        .on(When::plain(), [Reply::text("It took another way.")]);
    let world = World::with(script).settings("[triggers]\nmax_retries = 0\n");
    let ended = world.aime(["run", "catch a fish", "--mode", "complex"]).must(0);
    assert!(ended.stderr.lines().any(|line| line.starts_with("replan") && line.contains("repaired: ")), "{ended}");
}

// Requirement: 6.13
#[test]
fn the_same_task_over_again_is_refused_and_the_decision_says_what_became_of_it() {
    let tasks = plan(&[actor("flaky", "FLAKY-WAY", &[]), actor("after", "AFTER-ALL", &["flaky"])]);
    let smaller = json!({"reasoning": "in two steps", "changes": [
        {"op": "add_task", "task": actor("mend", "MEND-NET", &[])},
        {"op": "add_task", "task": actor("cast", "CAST-NET", &["mend"]), "replaces": ["flaky"]},
    ]});
    let script = Script::new()
        .on(When::schema("aime_plan"), [Reply::json(tasks)])
        .on(When::schema("aime_patch"), [Reply::json(replace("flaky", "again", "Flaky way.")), Reply::json(smaller)])
        .on(When::tools().and_contains("FLAKY-WAY"), [gives_up("the net is torn")])
        .on(When::tools(), [done("done")])
        .on(When::plain(), [Reply::text("It took two steps.")]);
    let world = World::with(script).settings("[triggers]\nmax_retries = 0\n");
    let ended = world.aime(["run", "catch a fish", "--mode", "complex", "--output", "jsonl"]).must(0);
    let refused = ended.events("plan_refused");
    assert_eq!(refused.len(), 1, "{ended}");
    assert!(refused[0]["faults"].to_string().contains("does the same as it"), "{}", refused[0]);
    assert!(messages_text(&world.schema_requests("aime_patch")[1]).contains("does the same as it"), "the model is told why");
    let decision = &ended.events("plan_changed")[0]["decision"];
    assert_eq!(decision["lowered"], json!([{"task": "flaky", "how": "split", "into": ["mend", "cast"]}]));
    let shown = world.aime(["runs", "show", "last"]).must(0);
    assert!(shown.stdout.contains("what failed: flaky is split into 2 smaller tasks: mend, cast"), "{shown}");
}

// Requirement: 7.7, 7.8
#[test]
fn the_replanner_people_and_actors_read_the_progress_list() {
    let mut flaky = actor("flaky", "FLAKY-WAY", &["look"]);
    flaky["parent"] = json!("fishing");
    flaky["completion_criteria"] = json!(["there is a fish"]);
    let group = json!({"id": "fishing", "name": "The fishing", "kind": "group"});
    let tasks = plan(&[actor("look", "LOOK-AROUND", &[]), group, flaky, actor("after", "AFTER-ALL", &["flaky"])]);
    let script = Script::new()
        .on(When::schema("aime_plan"), [Reply::json(tasks)])
        .on(When::schema("aime_patch"), [Reply::json(replace("flaky", "other", "OTHER-WAY"))])
        .on(When::tools().and_contains("LOOK-AROUND"), [done("a lake")])
        .on(When::tools().and_contains("FLAKY-WAY"), [gives_up("the net is torn")])
        .on(When::tools(), [done("done")])
        .on(When::plain(), [Reply::text("It took another way.")]);
    let world = World::with(script).settings("[triggers]\nmax_retries = 0\n");
    let ended = world.aime(["run", "catch a fish", "--mode", "complex", "--run-id", "trip"]).must(0);
    let asked = world.schema_requests("aime_patch")[0]["messages"].as_array().unwrap().last().unwrap()["content"].clone();
    let list = "- [x] `look` (profile sisyphus)\n- [>] `fishing` (group): The fishing\n  - [!] `flaky` (profile sisyphus) — failed\n- [~] `after` ";
    assert!(asked.as_str().unwrap().contains(list), "{asked:#}\n{ended}");
    // People read the same list, and the whole of it.
    let shown = world.aime(["runs", "show", "trip", "--format", "markdown"]).must(0).stdout;
    for line in ["plan v2, completed, 3/4 done", "## Tasks", "- [x] after (after other)", "  - [-] flaky"] {
        assert!(shown.contains(line), "{line:?}\n{shown}");
    }
    let before = world.aime(["runs", "show", "trip", "--at", "1", "--format", "markdown"]).must(0).stdout;
    assert!(before.contains("- [ ] after (after flaky)"), "{before}");
    // An actor reads a line for each task, and which is its own.
    let first = messages_text(&world.actor_requests("AFTER-ALL")[0]);
    assert!(first.contains("# The plan, of which you do one task\\n- [x] look\\n- [x] other\\n- [>] after (yours)\\n"), "{first}");
}

#[test]
fn a_patch_with_faults_is_asked_for_again() {
    let script = Script::new()
        .on(When::schema("aime_plan"), [Reply::json(plan(&[actor("flaky", "FLAKY-WAY", &[])]))])
        .on(
            When::schema("aime_patch"),
            [
                Reply::json(json!({"reasoning": "", "changes": [{"op": "add_task", "task": actor("new", "NEW-WAY", &["nowhere"])}]})),
                Reply::json(replace("flaky", "new", "NEW-WAY")),
            ],
        )
        .on(When::tools().and_contains("FLAKY-WAY"), [gives_up("no")])
        .on(When::tools().and_contains("NEW-WAY"), [done("yes")]);
    let world = World::with(script).settings("[triggers]\nmax_retries = 0\n");
    let ended = world.aime(["run", "goal", "--mode", "complex", "--output", "json"]).must(0);
    let asked = world.schema_requests("aime_patch");
    assert_eq!(asked.len(), 2, "{ended}");
    assert!(messages_text(&asked[1]).contains("nowhere"), "the fault is told");
    assert_eq!(ended.json()["replans"], 1);
}

/// A run in which every way fails until `THIRD-WAY`, and one replan is allowed before a person is asked.
fn capped() -> World {
    let mut third = replace("two", "three", "THIRD-WAY");
    third["changes"][0]["task"]["profile"] = json!("atlas");
    let script = Script::new()
        .on(When::schema("aime_plan"), [Reply::json(plan(&[actor("one", "FIRST-WAY", &[])]))])
        .on(When::schema("aime_patch"), [Reply::json(replace("one", "two", "SECOND-WAY")), Reply::json(third)])
        .on(When::tools().and_contains("FIRST-WAY"), [gives_up("a wall")])
        .on(When::tools().and_contains("SECOND-WAY"), [gives_up("a river")])
        .on(When::tools().and_contains("THIRD-WAY"), [done("through")])
        .on(When::plain(), [Reply::text("We are through.")]);
    World::with(script).settings("[triggers]\nmax_retries = 0\n[frequency]\nmax_replans_per_plan = 1\n")
}

const RUN: [&str; 8] = ["run", "get through", "--mode", "complex", "--output", "json", "--run-id", "walk"];

// Requirement: 6.8, 7.2
#[test]
fn a_cap_on_replans_asks_a_person() {
    let world = capped();
    let ended = world.aime(RUN).must(5);
    let result = ended.json();
    assert_eq!(result["status"], "waiting_for_human", "{ended}");
    assert_eq!(result["error"]["code"], "waiting_for_human");
    assert!(result["error"]["message"].as_str().unwrap().contains("a river"), "the question says what is in the way\n{ended}");
    assert!(result["error"]["hint"].as_str().unwrap().contains("aime answer walk"), "{ended}");
    assert_eq!(world.schema_requests("aime_patch").len(), 1, "no second replan without a person");
}

#[test]
fn a_person_allows_more_replans() {
    let world = capped();
    world.aime(RUN).must(5);
    // Nothing has changed: it still waits.
    world.aime(["resume", "walk"]).must(5);
    world.aime(["answer", "walk", "continue"]).must(0);
    let ended = world.aime(["resume", "walk", "--output", "json"]).must(0);
    let result = ended.json();
    assert_eq!(result["status"], "completed");
    assert_eq!(task(&result, "three")["status"], "completed");
    assert_eq!((&result["replans"], &result["plan_version"]), (&json!(2), &json!(3)));
    for way in ["FIRST-WAY", "SECOND-WAY", "THIRD-WAY"] {
        assert_eq!(world.actor_requests(way).iter().filter(|request| turn(request) == 0).count(), 1, "{way} is tried once");
    }
}

#[test]
fn a_person_ends_the_run() {
    let world = capped();
    world.aime(RUN).must(5);
    world.aime(["answer", "walk", "stop"]).must(0);
    let ended = world.aime(["resume", "walk", "--output", "json"]).must(1);
    let result = ended.json();
    assert_eq!(result["status"], "failed");
    assert_eq!(result["error"]["code"], "goal_not_reached");
    assert!(result["answer"].as_str().unwrap().contains("a river"), "an honest report\n{ended}");
    assert_eq!(world.schema_requests("aime_patch").len(), 1);
    // It is over: the same result again, and no request.
    let requests = world.server().requests().len();
    world.aime(["resume", "walk"]).must(1);
    assert_eq!(world.server().requests().len(), requests);
}

#[test]
fn other_words_of_a_person_reach_the_planner() {
    let world = capped();
    world.aime(RUN).must(5);
    world.aime(["answer", "walk", "take", "the", "tunnel"]).must(0);
    world.aime(["resume", "walk"]).must(0);
    let asked = world.schema_requests("aime_patch");
    assert_eq!(asked.len(), 2);
    assert!(messages_text(&asked[1]).contains("take the tunnel"), "{:#}", asked[1]);
}

// Requirement: 6.8
#[test]
fn unattended_it_stops_with_a_report() {
    let world = capped();
    let ended = world.aime(RUN.iter().chain(&["--unattended"])).must(5);
    let result = ended.json();
    assert_eq!((&result["status"], &result["error"]["code"]), (&json!("waiting_for_human"), &json!("waiting_for_human")), "{ended}");
    let report = result["error"]["message"].as_str().unwrap();
    for part in ["the plan was changed once", "Open problems:", "a river", "The run so far"] {
        assert!(report.contains(part), "{part}: {ended}");
    }
    assert!(result["error"]["hint"].as_str().unwrap().contains("aime answer walk"), "{ended}");
    assert_eq!(world.schema_requests("aime_patch").len(), 1);
    // It goes on after the answer.
    world.aime(["answer", "walk", "continue"]).must(0);
    world.aime(["resume", "walk"]).must(0);
    assert_eq!(world.schema_requests("aime_patch").len(), 2);
}

// Requirement: 4.33
#[test]
fn evidence_of_weight_changes_the_plan() {
    let script = Script::new()
        .on(When::schema("aime_plan"), [Reply::json(plan(&[actor("look", "LOOK-AROUND", &[]), actor("go", "GO-LEFT", &["look"])]))])
        .on(
            When::schema("aime_patch"),
            [Reply::json(json!({"reasoning": "left is closed", "changes": [
                {"op": "modify_task", "id": "go", "change": {"description": "GO-RIGHT"}}
            ]}))],
        )
        .on(
            When::tools().and_contains("LOOK-AROUND").and_turn(0),
            [Reply::call("report_evidence", json!({"type": "discovery", "significance": "high", "content": "the left door is shut"}))],
        )
        // It ends only when the replanner was asked, so the patch finds the next task untouched.
        .on(When::tools().and_contains("LOOK-AROUND"), [done("seen").after_request("You repair a plan")])
        .on(When::tools().and_contains("GO-RIGHT"), [done("went right")])
        .on(When::tools().and_contains("GO-LEFT"), [gives_up("shut")])
        .on(When::plain(), [Reply::text("Through the right door.")]);
    let world = World::with(script);
    let ended = world.aime(["run", "go through", "--mode", "complex", "--output", "json"]).must(0);
    assert_eq!(ended.json()["replans"], 1, "{ended}");
    assert!(messages_text(&world.schema_requests("aime_patch")[0]).contains("the left door is shut"));
}
