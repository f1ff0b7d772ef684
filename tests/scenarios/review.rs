//! Plans that a person edits before they are run.

use aime_scripted_server::{Reply, Script, When};

use crate::harness::{World, actor, done, messages_text, plan};

fn world(editor: &str) -> World {
    let script = Script::new()
        .on(When::schema("aime_plan"), [Reply::json(plan(&[actor("walk", "WALK-THERE", &[])]))])
        .on(When::tools(), [done("there")]);
    let mut world = World::with(script);
    world.set("EDITOR", editor);
    world
}

const RUN: [&str; 7] = ["run", "go there", "--mode", "complex", "--review", "--output", "jsonl"];

// Requirement: 12.7
#[test]
fn what_the_editor_left_is_what_is_run() {
    let world = world("sed -i s/WALK-THERE/RIDE-THERE/");
    let ended = world.aime(RUN).must(0);
    assert!(!world.actor_requests("RIDE-THERE").is_empty(), "{ended}");
    assert!(world.actor_requests("WALK-THERE").is_empty());
    assert_eq!(world.schema_requests("aime_plan").len(), 1, "it is planned once");
    assert!(messages_text(&world.schema_requests("aime_plan")[0]).contains("go there"));
    assert_eq!(ended.events("run_started")[0]["goal"], "go there");
    assert!(!world.exists(".aime/review.json"));
}

#[test]
fn a_plan_that_was_broken_is_told_and_kept() {
    let world = world("sed -i 's/\"dependencies\": \\[\\]/\"dependencies\": [\"nowhere\"]/'");
    let ended = world.aime(RUN).must(2);
    assert!(ended.stderr.contains("nowhere") && ended.stderr.contains("--plan"), "{ended}");
    assert!(world.read(".aime/review.json").contains("nowhere"), "nothing is lost");
    assert!(world.actor_requests("WALK-THERE").is_empty(), "nothing was begun");
}

// Requirement: 12.7
#[test]
fn who_empties_the_plan_or_leaves_the_editor_badly_runs_nothing() {
    for (editor, code, says) in [("truncate -s 0", 1, "nothing was run"), ("false", 2, "ended with")] {
        let world = world(editor);
        let ended = world.aime(RUN).must(code);
        assert!(ended.stderr.contains(says), "{editor}: {ended}");
        assert!(world.actor_requests("WALK-THERE").is_empty());
    }
}

#[test]
fn without_an_editor_the_other_way_is_named() {
    let mut world = world("");
    world.set("VISUAL", "");
    let ended = world.aime(RUN).must(2);
    assert!(ended.stderr.contains("set EDITOR") && ended.stderr.contains("--plan plan.json"), "{ended}");
    world.set("EDITOR", "no-such-editor --wait");
    world.aime(RUN).must(2).stderr_contains(&["no-such-editor", "was not found"]);
    assert!(world.server().requests().is_empty(), "no plan is paid for");
}

/// An editor that comments on the first plan that it is shown, and keeps what it was shown.
const COMMENTS: &str =
    "f() { cp \"$1\" shown-$(ls | grep -c shown-); grep -q WALK \"$1\" && echo '> by bicycle, please' >> \"$1\"; true; }; f";

fn commented(world: &World) {
    let shown = world.read("shown-0");
    assert!(shown.starts_with("# forecast: about ") && shown.contains("WALK-THERE"), "{shown}");
    assert!(world.read("shown-1").contains("RIDE-THERE"), "the changed plan is shown again");
    assert!(!world.exists("shown-2") && !world.exists(".aime/review.json"));
}

// Requirement: 12.7
#[test]
fn a_comment_goes_to_the_planner_and_the_changed_plan_is_shown_again() {
    let plans = [plan(&[actor("walk", "WALK-THERE", &[])]), plan(&[actor("ride", "RIDE-THERE", &[])])];
    let script = Script::new().on(When::schema("aime_plan"), plans.map(Reply::json)).on(When::tools(), [done("there")]);
    let mut world = World::with(script);
    world.set("EDITOR", COMMENTS);
    let ended = world.aime(RUN).must(0);
    commented(&world);
    assert!(!world.actor_requests("RIDE-THERE").is_empty() && world.actor_requests("WALK-THERE").is_empty());
    let requests = world.schema_requests("aime_plan");
    let told = requests[1]["messages"].to_string();
    assert!(requests.len() == 2 && told.contains("by bicycle, please") && told.contains("WALK-THERE"), "{told}");
    assert_eq!(ended.last()["usage"]["requests"], world.server().requests().len(), "each plan is counted");
}

// Requirement: 12.7
#[test]
fn a_comment_goes_to_the_lead_too() {
    let submit = |task: serde_json::Value| Reply::call("submit_plan", plan(&[task]));
    let script = Script::new()
        .on(When::tool("submit_plan").and_contains("by bicycle"), [submit(actor("ride", "RIDE-THERE", &[]))])
        .once(When::tool("submit_plan"), [submit(actor("walk", "WALK-THERE", &[]))])
        .on(When::tools(), [done("there")]);
    let mut world = World::led(script);
    world.set("EDITOR", COMMENTS);
    let ended = world.aime(RUN).must(0);
    commented(&world);
    let tasks = ended.last()["tasks"].clone();
    assert_eq!((tasks.as_array().unwrap().len(), &tasks[0]["id"]), (1, &serde_json::json!("ride")), "{tasks}");
}
