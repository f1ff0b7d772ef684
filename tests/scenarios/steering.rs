//! People who steer a run that is under way, from another process.

use aime_scripted_server::{Reply, Script, When};
use serde_json::{Value, json};

use crate::harness::{World, actor, bash, done, messages_text, plan, wait_until};

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

// Requirement: 12.1
#[test]
fn what_is_said_to_a_run_under_way_changes_its_plan() {
    let world = world();
    let running = world.start(RUN);
    world.wait_for_file("began");
    let output = world.aime(["tell", "trip", "rest", "at", "the", "inn"]).must(0);
    assert!(output.stderr.contains("the run takes it up now"), "{output}");
    wait_until("the planner is asked", || !world.schema_requests("aime_patch").is_empty());
    world.file("go", "");
    let ended = running.wait().must(0);
    assert!(messages_text(&world.schema_requests("aime_patch")[0]).contains("a person says: rest at the inn"));
    assert!(!world.actor_requests("REST-AT-THE-INN").is_empty(), "{ended}");
    let evidence = ended.events("evidence_added");
    assert_eq!((&evidence[0]["evidence"]["type"], evidence.len()), (&Value::from("user_input"), 1), "{ended}");
    let over = world.aime(["tell", "trip", "too late"]).must(2);
    assert!(over.stderr.contains("has ended"), "{over}");
}

// Requirement: 12.1
#[test]
fn what_is_said_to_a_led_run_reaches_its_lead() {
    let lead = || When::tool("submit_plan");
    let change = json!({"reasoning": "as was said", "changes": [
        {"op": "modify_task", "id": "rest", "change": {"description": "REST-AT-THE-INN"}}
    ]});
    let replies = [
        Reply::call("submit_plan", plan(&[actor("walk", "WALK-ON", &[]), actor("rest", "REST-THERE", &["walk"])])),
        Reply::call("change_plan", change),
        done("There."),
    ];
    let script = Script::new()
        .on(lead(), replies)
        .on(When::tools().and_contains("WALK-ON").and_turn(0), [bash("touch began; until test -e go; do sleep 0.1; done")])
        .on(When::tools(), [done("done")]);
    let world = World::led(script);
    let of_lead = || {
        let requests = world.server().requests();
        requests.into_iter().filter(|request| request["tools"].to_string().contains("submit_plan")).collect::<Vec<_>>()
    };
    let running = world.start(RUN);
    world.wait_for_file("began");
    world.aime(["tell", "trip", "rest", "at", "the", "inn"]).must(0);
    wait_until("the lead is woken", || of_lead().len() > 1);
    world.file("go", "");
    let ended = running.wait().must(0);
    let output = of_lead()[1]["messages"].as_array().unwrap().last().unwrap().to_string();
    assert!(output.contains("A person spoke.") && output.contains("> rest at the inn"), "{output}");
    let handled = of_lead()[2]["messages"].as_array().unwrap().last().unwrap().to_string();
    assert!(handled.contains("> rest at the inn"), "nobody said that it was handled: {handled}");
    assert!(!world.actor_requests("REST-AT-THE-INN").is_empty(), "{ended}");
    let result = ended.last();
    assert_eq!((&result["replans"], &result["plan_version"]), (&json!(0), &json!(2)), "a wish of a person is no replan: {ended}");
}

// Requirement: 12.6
#[test]
fn a_run_can_be_paused_told_something_and_resumed() {
    let world = world();
    let running = world.start(RUN);
    world.wait_for_file("began");
    world.aime(["pause", "trip"]).must(0);
    let left = running.wait().must(130);
    assert_eq!(left.last()["error"]["code"], "interrupted", "{left}");
    world.file("go", "");
    let output = world.aime(["tell", "trip", "rest at the inn"]).must(0);
    assert!(output.stderr.contains("aime resume trip"), "{output}");
    let nobody = world.aime(["pause", "trip"]).must(2);
    assert!(nobody.stderr.contains("no process works on run trip"), "{nobody}");
    let ended = world.aime(["resume", "trip", "--output", "jsonl"]).must(0);
    assert!(messages_text(&world.schema_requests("aime_patch")[0]).contains("a person says: rest at the inn"), "{ended}");
}

/// The script of a run `trip` whose only actor waits for the file `go`, and ends when it has heard what is said.
fn alone() -> Script {
    Script::new()
        .on(When::tools().and_turn(0), [bash("touch began; until test -e go; do sleep 0.1; done")])
        .on(When::tools().and_contains("slowly"), [done("walked slowly")])
        .on(When::tools(), [done("walked")])
}

fn direct() -> World {
    World::with(alone())
}

const RUN_ALONE: [&str; 10] = ["run", "walk there", "--mode", "auto", "--approve", "all", "--run-id", "trip", "--output", "jsonl"];
const DIRECT: [&str; 10] = ["run", "walk there", "--mode", "direct", "--approve", "all", "--run-id", "trip", "--output", "jsonl"];

// Requirement: 12.2
#[test]
fn what_is_said_to_a_direct_run_reaches_its_actor_at_work() {
    let world = direct();
    let running = world.start(DIRECT);
    world.wait_for_file("began");
    let output = world.aime(["tell", "trip", "walk", "slowly"]).must(0);
    assert!(output.stderr.contains("the run takes it up now"), "{output}");
    wait_until("the words are in the journal", || {
        world.aime(["runs", "events", "trip", "--output", "jsonl"]).events("evidence_added").len() == 1
    });
    world.file("go", "");
    let ended = running.wait().must(0);
    assert_eq!(ended.last()["answer"], "walked slowly", "{ended}");
    let requests = world.server().requests();
    assert_eq!(requests.len(), 2, "{ended}");
    let messages = requests[1]["messages"].as_array().unwrap();
    let roles: Vec<&str> = messages.iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool"], "no message of the user follows a result\n{ended}");
    let result = messages[3]["content"].as_str().unwrap();
    let (_, words) = result.split_once("[end ").unwrap();
    assert!(words.contains("\n\nThe person you work for says: walk slowly"), "behind the data, at the end\n{result}\n{ended}");
    assert_eq!(requests[0]["messages"].as_array().unwrap()[..], messages[..2], "a request grows only at its end");
    let delivered = ended.events("message_delivered");
    assert_eq!(delivered[0]["evidence"], ended.events("evidence_added")[0]["evidence"]["id"]);
    assert_eq!(ended.last().get("notes"), None, "what was heard did not come too late\n{ended}");
}

// Requirement: 12.4
#[test]
fn what_is_said_to_a_paused_or_killed_run_is_heard_once_it_goes_on() {
    for (led, killed) in [(false, false), (false, true), (true, false), (true, true)] {
        let world = if led { World::led(alone()) } else { direct() };
        let running = world.start(if led { RUN_ALONE } else { DIRECT });
        world.wait_for_file("began");
        if killed {
            running.kill();
        } else {
            world.aime(["pause", "trip"]).must(0);
            running.wait().must(130);
        }
        world.file("go", "");
        world.aime(["tell", "trip", "walk slowly"]).must(0);
        let ended = world.aime(["resume", "trip", "--output", "jsonl"]).must(0);
        assert_eq!(ended.last()["answer"], "walked slowly", "led: {led}, killed: {killed}\n{ended}");
        let last = messages_text(world.server().requests().last().unwrap());
        assert_eq!(last.matches("walk slowly").count(), 1, "led: {led}, killed: {killed}\n{ended}");
        assert_eq!(ended.last().get("notes"), None, "what was heard did not come too late\n{ended}");
        assert!(ended.events("actor_created").is_empty(), "the actor that was at work goes on: nothing is made again\n{ended}");
    }
}

// Requirement: 12.2
#[test]
fn what_is_said_to_one_task_reaches_its_actor_alone() {
    let script = Script::new()
        .on(When::schema("aime_plan"), [Reply::json(plan(&[actor("walk", "WALK-ON", &[]), actor("rest", "REST-THERE", &["walk"])]))])
        .on(When::tools().and_contains("WALK-ON").and_turn(0), [bash("touch began; until test -e go; do sleep 0.1; done")])
        .on(When::tools(), [done("done")])
        .on(When::plain(), [Reply::text("There.")]);
    let world = World::with(script);
    let running = world.start(RUN);
    world.wait_for_file("began");
    let wrong = world.aime(["tell", "trip", "--task", "fly", "slowly"]).must(2);
    assert!(wrong.stderr.contains("no task \"fly\""), "{wrong}");
    world.aime(["tell", "trip", "--task", "rest", "at the inn"]).must(0);
    world.aime(["tell", "trip", "--task", "walk", "slowly"]).must(0);
    wait_until("the words are in the journal", || {
        world.aime(["runs", "events", "trip", "--output", "jsonl"]).events("evidence_added").len() == 2
    });
    world.file("go", "");
    let ended = running.wait().must(0);
    let of = |text: &str| messages_text(world.actor_requests(text).last().unwrap());
    assert!(of("WALK-ON").contains("says: slowly") && !of("WALK-ON").contains("at the inn"), "{ended}");
    let rest = world.actor_requests("REST-THERE");
    assert!(messages_text(&rest[0]).contains("says: at the inn"), "before it begins\n{ended}");
    assert_eq!(rest[0]["messages"].as_array().unwrap().len(), 2, "{ended}");
    assert!(world.schema_requests("aime_patch").is_empty(), "the plan is not looked at for it\n{ended}");
    let late = world.aime(["tell", "trip", "--task", "walk", "faster"]).must(2);
    assert!(late.stderr.contains("task walk is completed"), "{late}");
}
