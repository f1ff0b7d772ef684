//! Plans that a person edits before they are run.

use aime_scripted_server::{Reply, Script, When};
use serde_json::json;

use crate::{
    harness::{World, actor, done, messages_text, plan, tool},
    lead::{grows_only_at_its_end, lead_requests, messages},
};

fn world(editor: &str) -> World {
    let script = Script::new()
        .on(When::schema("aime_plan"), [Reply::json(plan(&[actor("walk", "WALK-THERE", &[])]))])
        .on(When::tools(), [done("there")]);
    let mut world = World::with(script);
    world.set("EDITOR", editor);
    world
}

const RUN: [&str; 9] = ["run", "go there", "--mode", "complex", "--review", "--output", "jsonl", "--run-id", "r"];

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
    assert!(!world.exists(".aime/review-r.json"));
}

#[test]
fn a_plan_that_was_broken_is_told_and_kept() {
    let world = world("sed -i 's/\"dependencies\": \\[\\]/\"dependencies\": [\"nowhere\"]/'");
    let ended = world.aime(RUN).must(2);
    assert!(ended.stderr.contains("nowhere") && ended.stderr.contains("--plan"), "{ended}");
    assert!(world.read(".aime/review-r.json").contains("nowhere"), "nothing is lost");
    assert!(world.actor_requests("WALK-THERE").is_empty(), "nothing was begun");
}

#[test]
fn reviews_at_once_have_a_file_each() {
    let mut world = World::alone();
    let waits = "f() { touch \"open-${1##*/}\"; for i in $(seq 600); do test -e \"close-${1##*/}\" && break; sleep 0.05; done; }; f";
    world.set("EDITOR", waits);
    let reviews = ["one", "two"].map(|run| {
        let file = format!("{run}.json");
        world.plan(&file, &plan(&[tool("write", "write_file", json!({"path": format!("{run}.txt"), "content": run}), &[])]));
        let running = world.start(["run", "--plan", file.as_str(), "--review", "--run-id", run]);
        world.wait_for_file(&format!("open-review-{run}.json"));
        (run, running)
    });
    for (run, running) in reviews {
        world.file(&format!("close-review-{run}.json"), "");
        let ended = running.wait().must(0);
        assert_eq!(world.read(&format!("{run}.txt")), run, "{ended}");
        assert!(!world.exists(&format!(".aime/review-{run}.json")), "{ended}");
    }
}

/// A world whose editor does this, and the plan of a tool that writes `out.txt`.
#[cfg(unix)]
fn with_plan(editor: &str) -> World {
    let mut world = World::alone();
    world.set("EDITOR", editor);
    world.plan("plan.json", &plan(&[tool("write", "write_file", json!({"path": "out.txt", "content": "out"}), &[])]));
    world
}

#[cfg(unix)]
#[test]
fn what_the_editor_draws_is_no_result() {
    let draws = with_plan("f() { echo drawn by the editor; }; f");
    let ended = draws.aime(["run", "--plan", "plan.json", "--review", "--output", "json"]).must(0);
    assert_eq!(ended.json()["status"], "completed", "{ended}");

    let world = with_plan("f() { test -t 1 && echo drawn by the editor; }; f");
    let shown = world.terminal("AIME run --plan plan.json --review --output json > result.json", (100, 30)).ends().must(0);
    assert!(shown.text.contains("drawn by the editor"), "{}", shown.text);
    let result: serde_json::Value = serde_json::from_str(&world.read("result.json")).unwrap();
    assert_eq!(result["status"], "completed");
    // Standard error is a file too.
    let shown = world.terminal("AIME run --plan plan.json --review --output json > result.json 2> notes.txt", (100, 30)).ends().must(0);
    assert!(shown.text.contains("drawn by the editor"), "{}", shown.text);
    assert!(!world.read("notes.txt").contains("drawn"));
}

#[cfg(unix)]
#[test]
fn a_termination_during_the_review_runs_nothing() {
    let world = with_plan("f() { touch open; for i in $(seq 600); do sleep 0.05; done; }; f");
    let running = world.start(["run", "--plan", "plan.json", "--review", "--run-id", "r", "--output", "json"]);
    world.wait_for_file("open");
    running.signal("TERM");
    let ended = running.wait().must(130).stderr_contains(&["stopped by a person", "--plan"]);
    assert_eq!(ended.json()["error"]["code"], "interrupted", "{ended}");
    assert!(world.read(".aime/review-r.json").contains("out.txt") && !world.exists("out.txt"));
}

#[cfg(unix)]
#[test]
fn ctrl_c_at_the_question_of_a_review_ends_it() {
    let world = with_plan("sed -i s/write_file/no_such_tool/");
    let mut terminal = world.terminal("exec AIME run --plan plan.json --review --run-id r", (100, 30));
    terminal.shows(&["no_such_tool", "[Y/n]"]);
    terminal.types("\u{3}");
    let ended = terminal.ends().must(130);
    assert!(ended.text.contains("stopped by a person") && ended.text.contains("review-r.json"), "{}", ended.text);
    assert!(!world.exists("out.txt"));
}

// Requirement: 12.7
#[test]
fn who_empties_the_plan_or_leaves_the_editor_badly_runs_nothing() {
    for (editor, code, expected) in [("truncate -s 0", 1, "nothing was run"), ("false", 2, "ended with")] {
        let world = world(editor);
        let ended = world.aime(RUN).must(code);
        assert!(ended.stderr.contains(expected), "{editor}: {ended}");
        assert!(world.actor_requests("WALK-THERE").is_empty());
        assert_eq!(world.read(".aime/.gitignore"), "*\n", "git ignores what is left there");
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
    assert!(!world.exists("shown-2") && !world.exists(".aime/review-r.json"));
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
    let prompt = requests[1]["messages"].to_string();
    assert!(requests.len() == 2 && prompt.contains("by bicycle, please") && prompt.contains("WALK-THERE"), "{prompt}");
    assert_eq!(ended.last()["usage"]["requests"], world.server().requests().len(), "each plan is counted");
}

// Requirement: 12.7
#[test]
fn the_lead_changes_its_plan_by_a_comment() {
    let change = json!({"reasoning": "by bicycle", "handled": ["comment-1"], "changes": [
        {"op": "modify_task", "id": "walk", "change": {"description": "RIDE-THERE"}},
    ]});
    let submit = Reply::call("submit_plan", plan(&[actor("walk", "WALK-THERE", &[])]));
    let script = Script::new()
        .on(When::tool("submit_plan"), [submit, Reply::call("change_plan", change), done("I am there.")])
        .on(When::tools(), [done("there")]);
    let mut world = World::led(script);
    world.set("EDITOR", COMMENTS);
    let ended = world.aime(RUN).must(0);
    commented(&world);
    assert!(!world.actor_requests("RIDE-THERE").is_empty(), "{ended}");
    let asked = lead_requests(&world);
    assert_eq!(asked.len(), 3, "a plan, a change, an answer: {ended}");
    grows_only_at_its_end(&asked);
    let comment = messages(&asked[1]).last().unwrap().to_string();
    assert!(
        comment.contains("by bicycle, please") && comment.contains("comment-1") && !comment.contains("run commands yourself"),
        "{comment}"
    );
    assert!(asked[0]["tools"].to_string().contains("change_plan"));
    let result = ended.last();
    assert_eq!((result["answer"].as_str(), &result["plan_version"]), (Some("I am there."), &json!(1)), "{result}");
    assert_eq!(result["usage"]["requests"], world.server().requests().len(), "each request is counted once");
}

// Requirement: 12.7
#[test]
fn a_lead_that_changes_nothing_says_why() {
    let submit = Reply::call("submit_plan", plan(&[actor("walk", "WALK-THERE", &[])]));
    let script = Script::new()
        .on(When::tool("submit_plan"), [submit, Reply::text("There is no bicycle."), done("I am there.")])
        .on(When::tools(), [done("there")]);
    let mut world = World::led(script);
    // A second comment would never end.
    world.set("EDITOR", &COMMENTS.replace("grep -q WALK \"$1\"", "test ! -e shown-1"));
    let ended = world.aime(RUN).must(0).stderr_contains(&["the plan stays as it is: There is no bicycle."]);
    assert!(world.read("shown-1").contains("WALK-THERE") && !world.exists("shown-2"), "{ended}");
    grows_only_at_its_end(&lead_requests(&world));
}
