//! Plans that are still being written: what is begun before they stand.

use aime_scripted_server::{Reply, Script, When};
use serde_json::{Value, json};

use crate::harness::{Ended, World, actor, done, plan, task, tool};

fn world(plans: Vec<Reply>) -> World {
    let script = Script::new()
        .on(When::schema("aime_plan"), plans)
        .on(When::tools(), [done("told")])
        .on(When::plain(), [Reply::text("It is told.")]);
    let world = World::with(script);
    world.file("notes.txt", "other.txt");
    world.file("other.txt", "tea");
    world
}

const GOAL: [&str; 6] = ["run", "tell what the notes say", "--mode", "complex", "--output", "jsonl"];

fn read(id: &str, path: &str, dependencies: &[&str]) -> Value {
    tool(id, "read_file", json!({"path": path}), dependencies)
}

/// Where the first event of a kind stands that holds a text.
fn place(ended: &Ended, kind: &str, text: &str) -> usize {
    let found = ended.lines().iter().position(|event| event["type"] == kind && event.to_string().contains(text));
    found.unwrap_or_else(|| panic!("no {kind} of {text}\n{ended}"))
}

#[test]
fn files_are_read_before_the_plan_is_written_to_its_end() {
    let whole = plan(&[read("notes", "notes.txt", &[]), read("other", "other.txt", &["notes"]), actor("tell", "TELL", &["other"])]);
    let world = world(vec![Reply::json(whole).held_back(10)]);
    let running = world.start(GOAL);
    running.shows("other/1/1\",\"tool\":\"read_file\",\"outcome\":\"ok\"");
    assert!(!running.stdout().contains("plan_created"), "the rest of the plan has not been sent yet");
    world.server().release();
    let ended = running.wait().must(0);
    assert!(place(&ended, "tool_call_finished", "other/1/1") < place(&ended, "plan_created", ""), "{ended}");
    assert_eq!(ended.events("tool_call_started").len(), 3, "nothing is called again, and the actor ends by a call: {ended}");
    let result = ended.last();
    for id in ["notes", "other", "tell"] {
        assert_eq!(
            (task(&result, id)["status"].as_str(), task(&result, id)["attempts"].as_u64()),
            (Some("completed"), Some(1)),
            "{result}"
        );
    }
    assert_eq!(world.schema_requests("aime_plan").len(), 1);
}

#[test]
fn nothing_is_begun_before_the_plan_where_that_is_set() {
    let whole = plan(&[read("notes", "notes.txt", &[]), actor("tell", "TELL", &["notes"])]);
    let world = world(vec![Reply::json(whole)]).settings("[planning]\neager_start = \"never\"\n");
    let ended = world.aime(GOAL).must(0);
    assert!(place(&ended, "plan_created", "") < place(&ended, "tool_call_started", "notes/1/1"), "{ended}");
}

#[test]
fn a_refused_plan_costs_no_call_twice_and_one_that_breaks_off_is_asked_for_again() {
    let refused = plan(&[read("notes", "notes.txt", &[]), actor("wash", "WASH", &["dry"]), actor("dry", "DRY", &["wash"])]);
    let whole = plan(&[read("notes", "notes.txt", &[]), actor("tell", "TELL", &["notes"])]);
    let world = world(vec![Reply::json(refused), Reply::json(whole.clone()).cut_after(900), Reply::json(whole)]);
    let ended = world.aime(GOAL).must(0);
    let calls: Vec<Value> = ended.events("tool_call_started").into_iter().filter(|event| event["task"] == "notes").collect();
    assert_eq!(calls.len(), 1, "{ended}");
    assert_eq!(ended.events("plan_refused").len(), 1);
    assert_eq!(world.schema_requests("aime_plan").len(), 3);
}
