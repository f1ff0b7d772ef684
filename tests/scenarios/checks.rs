//! Criteria that aime checks by running commands.

use aime_scripted_server::{Reply, Script, When};
use serde_json::{Value, json};

use crate::harness::{World, done, plan, task, tool, write};

/// An actor's end that names a command which shows that the work is done.
fn done_by(message: &str, command: &str) -> Reply {
    Reply::call("terminate", json!({"status": "success", "message": message, "checks": [{"command": command}]}))
}

/// The criteria of a result: owner, how they were checked, and whether they hold.
fn criteria(result: &Value) -> Vec<(String, String, Value)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let all = result["criteria"].as_array().unwrap();
    all.iter().map(|known| (text(&known["owner"]), text(&known["how"]), known["holds"].clone())).collect()
}

fn found(owner: &str, how: &str, holds: impl Into<Value>) -> (String, String, Value) {
    (owner.to_owned(), how.to_owned(), holds.into())
}

// Requirement: 5.6
#[test]
fn a_false_claim_is_caught_by_a_command() {
    let mut world = World::alone();
    world.serve(
        Script::new()
            .on(When::tools().and_turn(0), [done_by("out.txt is there", "cat out.txt")])
            .on(When::tools().and_turn(1), [write("out.txt", "out\n")])
            .on(When::tools().and_turn(2), [done_by("now it is", "cat out.txt")]),
    );
    let run = ["run", "make out.txt", "--mode", "direct", "--approve", "all", "--output", "json"];
    let result = world.aime(run).must(0).json();
    assert_eq!(result["usage"]["requests"], 3, "no model judged it");
    assert_eq!(criteria(&result), [found("actor", "executed", true)]);
    assert_eq!(result["criteria"][0]["evidence"], "exit code 0\nout");
    let told = world.server().requests()[1].to_string();
    assert!(told.contains("not accepted yet") && told.contains("No such file"), "{told}");
    let shown = world.aime(["runs", "show", "last"]).must(0).stdout;
    assert!(shown.contains("holds   `cat out.txt` gives exit 0 (actor, executed): exit code 0\n"), "{shown}");
    world.aime(["runs", "report", "last", "-o", "report.html"]).must(0);
    assert!(world.read("report.html").contains("(actor, executed)"));
    // The text result counts them.
    let text = world.aime(["run", "make out.txt", "--mode", "direct", "--approve", "all"]).must(0);
    assert!(text.stderr.contains("1 of 1 criteria hold: 1 executed, 0 audited, 0 unchecked, 0 amended"), "{text}");
}

// Requirement: 5.1
#[test]
fn one_failing_criterion_of_five_is_reported_alone() {
    let world = World::alone();
    let mut only = tool("say", "bash", json!({"command": "echo 3 files"}), &[]);
    only["completion_criteria"] = json!([
        {"command": "echo 3 files", "expect": "output contains 3"},
        {"command": "echo '{\"n\": [1]}'", "expect": "json .n[0] equals 1"},
        {"command": "exit 2", "expect": "exit 2"},
        {"command": "echo wrong >&2; exit 1"},
        {"file": "notes.txt"},
    ]);
    world.file("notes.txt", "x");
    world.plan("plan.json", &plan(&[only]));
    let run = ["run", "--plan", "plan.json", "--unattended", "--output", "json"];
    let ended = world.aime(run).must(1);
    let result = ended.json();
    let holds: Vec<bool> = result["criteria"].as_array().unwrap().iter().map(|known| known["holds"] == true).collect();
    assert_eq!(holds, [true, true, true, false, true], "{ended}");
    let error = task(&result, "say")["error"].as_str().unwrap();
    assert!(error.contains("exit code 1\nwrong") && error.matches("does not hold").count() == 1, "{error}");
    assert_eq!(result["criteria"][3]["id"], "say/4");
}

#[test]
fn a_check_that_fails_only_once_proves_nothing() {
    let world = World::alone();
    let mut only = tool("say", "bash", json!({"command": "true"}), &[]);
    only["completion_criteria"] = json!([{"command": "test -e tried || { touch tried; exit 1; }"}]);
    world.plan("plan.json", &plan(&[only]));
    let result = world.aime(["run", "--plan", "plan.json", "--output", "json"]).must(0).json();
    assert_eq!(criteria(&result), [found("person", "executed", Value::Null)]);
    assert!(result["criteria"][0]["evidence"].as_str().unwrap().starts_with("cannot tell (flaky)"), "{result}");
}

const PROJECT: &str = "[checks]\nsum = \"test $(cat sum.txt) = 4\"\n";

// Requirement: 5.2
#[test]
fn every_run_must_pass_the_checks_of_the_project() {
    for led in [false, true] {
        let script = Script::new()
            .on(When::tools().and_turn(0), [write("sum.txt", "5")])
            .on(When::tools().and_turn(1), [done("the sum is 5")])
            .on(When::tools().and_turn(2), [write("sum.txt", "4")])
            .on(When::tools().and_turn(3), [done("the sum is 4")]);
        let mut world = if led { World::led(script) } else { World::with(script) };
        world.user_settings(PROJECT);
        let mut run = vec!["run", "add 2 and 2", "--approve", "edits", "--output", "json"];
        run.extend((!led).then_some(["--mode", "direct"]).into_iter().flatten());
        let ended = world.aime(run).must(0);
        let result = ended.json();
        assert_eq!(criteria(&result), [found("project", "executed", true)], "{ended}");
        assert_eq!((&result["criteria"][0]["id"], &result["usage"]["requests"]), (&json!("1"), &json!(4)), "led: {led}\n{ended}");
    }
}

#[test]
fn a_run_that_fails_a_check_of_the_project_has_not_reached_its_goal() {
    for led in [false, true] {
        let script = Script::new().on(When::tools(), [done("the sum is whatever")]);
        let mut world = if led { World::led(script) } else { World::with(script) };
        world.user_settings(&format!("{PROJECT}[triggers]\nmax_retries = 1\n[frequency]\nmax_replans_per_plan = 0\n"));
        let mut run = vec!["run", "add 2 and 2", "--unattended", "--output", "json"];
        run.extend((!led).then_some(["--mode", "direct"]).into_iter().flatten());
        let ended = world.aime(run).must(1);
        let result = ended.json();
        assert_eq!(criteria(&result), [found("project", "executed", false)], "{ended}");
        assert!(result["error"]["message"].as_str().unwrap().contains("No such file"), "{ended}");
    }
}

// Requirement: 5.2
#[test]
fn a_command_that_nobody_allows_is_told_and_fails_nothing_of_an_actor() {
    let world = World::with(Script::new().on(When::tools(), [done_by("all is well", "touch checked")]));
    let run = ["run", "look around", "--mode", "direct", "--approve", "edits", "--unattended", "--output", "json"];
    let result = world.aime(run).must(0).json();
    assert_eq!(criteria(&result), [found("actor", "unchecked", Value::Null)]);
    assert!(result["criteria"][0]["evidence"].as_str().unwrap().starts_with("not run: "), "{result}");
    assert!(!world.exists("checked"));
    // A person asks for a check that a rule denies: without it nobody knows that the goal is reached.
    let mut world = World::alone();
    world.user_settings("[permissions]\ndeny = [\"bash(touch *)\"]\n");
    let mut only = tool("say", "list_dir", json!({"path": "."}), &[]);
    only["completion_criteria"] = json!([{"command": "touch checked"}]);
    world.plan("plan.json", &plan(&[only]));
    let result = world.aime(["run", "--plan", "plan.json", "--unattended", "--output", "json"]).must(1).json();
    assert_eq!(criteria(&result), [found("person", "unchecked", Value::Null)]);
}
