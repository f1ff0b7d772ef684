//! Criteria that aime checks by running commands.

use aime_scripted_server::{Reply, Script, When};
use serde_json::{Value, json};

use crate::harness::{Ended, World, actor, done, plan, task, tool, wait_until, write};

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
    let prompt = world.server().requests()[1].to_string();
    assert!(prompt.contains("not accepted yet") && prompt.contains("No such file"), "{prompt}");
    let shown = world.aime(["runs", "show", "last"]).must(0).stdout;
    assert!(shown.contains("holds   `cat out.txt` gives exit 0 (actor, checked by aime): exit code 0\n"), "{shown}");
    world.aime(["runs", "report", "last", "-o", "report.html"]).must(0);
    assert!(world.read("report.html").contains("(actor, checked by aime)"));
    // The text result counts them.
    let text = world.aime(["run", "make out.txt", "--mode", "direct", "--approve", "all"]).must(0);
    assert!(text.stderr.contains("\n1 check passed\n"), "{text}");
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
    // A person reads only the results that there are.
    for (lang, expected) in [("en", "4 checks passed; 1 check failed"), ("zh", "4 项检查通过；1 项检查未通过")] {
        let ended = world.aime(["run", "--plan", "plan.json", "--unattended", "--lang", lang]).must(1);
        assert!(ended.stderr.lines().any(|line| line == expected), "{ended}");
    }
}

#[test]
fn a_check_that_fails_only_once_proves_nothing() {
    let world = World::alone();
    let mut only = tool("say", "bash", json!({"command": "true"}), &[]);
    // A check's changes to ignored files stay for the next check. The first check is the one before the work.
    world.file(".gitignore", "tried\n");
    only["completion_criteria"] = json!([{"command": "echo x >> tried; test $(wc -l < tried) != 2"}]);
    world.plan("plan.json", &plan(&[only]));
    let result = world.aime(["run", "--plan", "plan.json", "--output", "json"]).must(0).json();
    assert_eq!(criteria(&result), [found("person", "executed", Value::Null)]);
    assert!(result["criteria"][0]["evidence"].as_str().unwrap().starts_with("cannot tell (flaky)"), "{result}");
    assert!(result["answer"].as_str().unwrap().contains("- undecided (checked by aime): "), "{result}");
}

// Requirement: 5.1
#[test]
fn a_check_that_held_before_the_work_proves_nothing_about_it() {
    let world = World::alone();
    let mut make = tool("make", "bash", json!({"command": "echo 1 > out.txt"}), &[]);
    make["completion_criteria"] =
        json!([{"command": "echo e > effect; true"}, {"command": "cat out.txt"}, {"file": "out.txt"}, {"file": "mine.txt"}]);
    let mut planned = plan(&[make]);
    planned["strategic"]["success_criteria"] = json!([{"command": "grep -q mine mine.txt"}, {"command": "grep -q 1 out.txt"}]);
    world.file("mine.txt", "mine\n");
    world.plan("plan.json", &planned);
    let ended = world.aime(["run", "--plan", "plan.json", "--unattended", "--output", "jsonl"]).must(0);
    let tried: Vec<_> = ended.events("criterion_tried").iter().map(|event| (event["task"].clone(), event["held"].clone())).collect();
    let of_task = |held: bool| (json!("make"), json!(held));
    let expected = [(Value::Null, json!(true)), (Value::Null, json!(false)), of_task(true), of_task(false), of_task(false), of_task(true)];
    assert_eq!(tried, expected, "{ended}");
    assert!(!world.exists("effect"), "what the check changed is put back");
    let shown = world.aime(["runs", "show", "last"]).must(0).stdout;
    assert!(
        shown.contains("holds   `grep -q mine mine.txt` gives exit 0 (person, checked by aime, held already before the work): "),
        "{shown}"
    );
    assert!(shown.contains("holds   `grep -q 1 out.txt` gives exit 0 (person, checked by aime): "), "{shown}");
    world.aime(["runs", "report", "last", "-o", "report.html"]).must(0);
    assert_eq!(world.read("report.html").matches(" – held already before the work").count(), 3);
    let again = world.aime(["run", "--plan", "plan.json", "--unattended"]).must(0);
    assert!(again.stderr.contains("held already before the work, so it proves nothing about the work: out.txt exists"), "{again}");
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

#[test]
fn a_check_that_cannot_be_begun_says_nothing_of_the_work() {
    let command = "sort names.txt > names.txt";
    let mut world = World::with(Script::new().on(When::tools(), [done_by("all is well", command)]));
    world.file("names.txt", "b\na\n");
    let run = ["run", "look around", "--mode", "direct", "--approve", "all", "--output", "json"];
    let result = world.aime(run).must(0).json();
    assert_eq!(criteria(&result), [found("actor", "unchecked", Value::Null)]);
    assert!(result["criteria"][0]["evidence"].as_str().unwrap().starts_with("not run: the shell empties"), "{result}");
    // A run that requires it does not succeed without it.
    world = World::alone();
    let mut only = tool("say", "list_dir", json!({"path": "."}), &[]);
    only["completion_criteria"] = json!([{"command": command}]);
    world.file("names.txt", "b\na\n");
    world.plan("plan.json", &plan(&[only]));
    let result = world.aime(["run", "--plan", "plan.json", "--unattended", "--output", "json"]).must(1).json();
    assert_eq!(criteria(&result), [found("person", "unchecked", Value::Null)]);
}

// Requirement: 5.1
#[test]
fn a_file_that_must_stay_as_it_was_is_compared_with_the_beginning() {
    for (command, holds, code) in [("true", true, 0), ("echo x >> go.mod; sed -i '$d' go.mod", true, 0), ("echo x >> go.mod", false, 1)] {
        let world = World::alone();
        world.file("go.mod", "module m\n");
        let mut only = tool("say", "bash", json!({"command": command}), &[]);
        only["completion_criteria"] = json!([{"file": "go.mod", "unchanged": true}, {"file": "./new.txt", "unchanged": true}]);
        world.plan("plan.json", &plan(&[only]));
        let result = world.aime(["run", "--plan", "plan.json", "--unattended", "--output", "json"]).must(code).json();
        assert_eq!(criteria(&result), [found("person", "executed", holds), found("person", "executed", true)], "{command}: {result}");
    }
    // Nobody can tell where changes are not recorded.
    let mut world = World::alone();
    world.user_settings("[undo]\nenabled = false\n");
    world.file("go.mod", "module m\n");
    let mut only = tool("say", "bash", json!({"command": "true"}), &[]);
    only["completion_criteria"] = json!([{"file": "go.mod", "unchanged": true}]);
    world.plan("plan.json", &plan(&[only]));
    let result = world.aime(["run", "--plan", "plan.json", "--unattended", "--output", "json"]).must(1).json();
    assert_eq!(criteria(&result), [found("person", "unchecked", Value::Null)]);
}

// Requirement: 5.1
#[test]
fn effects_of_a_check_are_put_back_and_reported() {
    let world = World::alone();
    world.file("notes.txt", "mine\n");
    world.file(".gitignore", "*.o\n");
    let mut only = tool("say", "bash", json!({"command": "echo work > work.txt"}), &[]);
    let check = "echo more >> notes.txt; rm work.txt; mkdir out; echo 1 > out/a.txt; echo 1 > a.o";
    only["completion_criteria"] = json!([{"command": check}, {"file": "work.txt", "contains": "work"}]);
    world.plan("plan.json", &plan(&[only]));
    let ended = world.aime(["run", "--plan", "plan.json", "--unattended", "--output", "jsonl"]).must(0);
    assert_eq!((world.read("notes.txt").as_str(), world.read("work.txt").as_str()), ("mine\n", "work\n"));
    assert!(!world.exists("out") && world.exists("a.o"), "an ignored file stays");
    let reported = ended.events("file_changed").into_iter().filter(|event| event["tool"] == "check");
    let reported: Vec<_> = reported.map(|event| (event["path"].clone(), event["did"].clone())).collect();
    let back = |path: &str| (json!(path), json!("put_back"));
    let before_and_after = ["notes.txt", "out", "out/a.txt", "notes.txt", "out", "out/a.txt", "work.txt"];
    assert_eq!(reported, before_and_after.map(back), "{ended}");
    let checked = &ended.events("criterion_checked")[0]["reason"];
    assert!(checked.as_str().unwrap().contains("it changed `notes.txt`, which was put back"), "{checked}");
    let shown = world.aime(["runs", "show", "last"]).must(0).stdout;
    assert!(shown.contains("put back as it was notes.txt"), "{shown}");
    // An undo concerns the work alone.
    world.aime(["runs", "undo", "last", "--yes"]).must(0);
    assert!(!world.exists("work.txt") && world.read("notes.txt") == "mine\n");
}

// Requirement: 10.8
#[test]
fn a_bound_that_a_check_reaches_ends_the_run_as_a_bound() {
    let script =
        Script::new().on(When::tools().and_turn(0), [write("out.txt", "out\n")]).on(When::tools(), [done_by("it is there", "cat out.txt")]);
    let world = World::with(script).settings("[run]\nmax_tool_calls = 1\n");
    let run = ["run", "make out.txt", "--mode", "direct", "--approve", "all", "--output", "json", "--run-id", "r"];
    let ended = world.aime(run).must(4);
    assert_eq!(ended.json()["error"]["code"], "bound_reached", "{ended}");
    world.file("aime.toml", "[run]\nmax_tool_calls = 9\n");
    let result = world.aime(["resume", "r", "--output", "json"]).must(0).json();
    assert_eq!(criteria(&result), [found("actor", "executed", true)]);
    assert_eq!(world.server().requests().len(), 2, "the work is not done again");
}

#[test]
fn a_check_that_hangs_is_ended_and_does_not_hold() {
    let world = World::alone().settings("[planning]\ncheck_seconds = 1\n");
    let mut only = tool("say", "list_dir", json!({"path": "."}), &[]);
    only["completion_criteria"] = json!([{"command": "echo begun; sleep 3641.5"}, {"command": "true"}]);
    world.plan("plan.json", &plan(&[only]));
    let result = world.aime(["run", "--plan", "plan.json", "--unattended", "--output", "json"]).must(1).json();
    assert_eq!(criteria(&result), [found("person", "executed", false), found("person", "executed", true)]);
    let evidence = result["criteria"][0]["evidence"].as_str().unwrap();
    assert!(evidence.contains("begun") && evidence.contains("timed out after 1 s"), "{evidence}");
    #[cfg(target_os = "linux")]
    assert!(!is_running("3641.5"), "the process of the check is gone");
}

/// Returns true if a process has this argument.
#[cfg(target_os = "linux")]
fn is_running(argument: &str) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let mut lines = processes.filter_map(|process| std::fs::read_to_string(process.path().join("cmdline")).ok());
    lines.any(|line| line.split('\0').any(|part| part == argument))
}

/// Without a model nobody judges a text, and a person has asked for it.
// Requirement: 5.2
#[test]
fn a_text_that_nobody_judges_fails_the_run() {
    let world = World::alone();
    for (of_task, error) in [(true, "was not checked"), (false, "success criteria do not hold")] {
        let mut only = tool("say", "list_dir", json!({"path": "."}), &[]);
        let text = json!(["the folder is TIDY"]);
        let mut planned = plan(&[]);
        if of_task {
            only["completion_criteria"] = text;
        } else {
            planned["strategic"]["success_criteria"] = text;
        }
        planned["tasks"] = json!([only]);
        world.plan("plan.json", &planned);
        let ended = world.aime(["run", "--plan", "plan.json", "--unattended", "--output", "json"]).must(1);
        let result = ended.json();
        assert_eq!(criteria(&result), [found("person", "unchecked", Value::Null)], "{ended}");
        assert!(result["error"]["message"].as_str().unwrap().contains(error), "{ended}");
    }
    // The user waives verdicts on the texts of the plan.
    let world = world.settings("[planning]\nreflect = \"never\"\n");
    let ended = world.aime(["run", "--plan", "plan.json", "--unattended", "--output", "json"]).must(0);
    assert_eq!(criteria(&ended.json()), [found("person", "unchecked", Value::Null)], "{ended}");
}

/// An answer without a model names the criteria that were not confirmed.
#[test]
fn the_answer_names_what_was_not_confirmed() {
    let world = World::with(Script::new().on(When::tools(), [done_by("all is well", "touch checked")]));
    let run = ["run", "look around", "--mode", "direct", "--approve", "edits", "--unattended", "--output", "json"];
    let answer = world.aime(run).must(0).json()["answer"].as_str().unwrap().to_owned();
    assert!(answer.starts_with("all is well\n\nCriteria:\n- not checked: `touch checked` gives exit 0 (not run: "), "{answer}");
    let world = World::alone();
    let mut tasks = [tool("say", "list_dir", json!({"path": "."}), &[]), tool("look", "list_dir", json!({"path": "."}), &[])];
    tasks[0]["completion_criteria"] = json!([{"command": "true"}]);
    world.plan("plan.json", &plan(&tasks));
    let ended = world.aime(["run", "--plan", "plan.json", "--unattended"]).must(0);
    assert!(
        ended
            .stdout
            .ends_with("\n\nCriteria:\n- holds (checked by aime): `true` gives exit 0 (exit code 0); it held already before the work\n"),
        "{ended}"
    );
    assert!(ended.stderr.contains("(checked by aime: exit code 0"), "{ended}");
}

// Requirement: 5.2
#[test]
fn a_command_check_cut_off_by_a_kill_runs_again() {
    let script = Script::new().on(When::tools().and_turn(0), [write("out.txt", "out\n")]).on(When::tools(), [done("it is there")]);
    let world = World::with(script);
    let mut make = actor("make", "MAKE it", &[]);
    // Before the work it holds at once.
    make["completion_criteria"] = json!([{"command": "echo x >> begun; test ! -e out.txt || test -e go || sleep 60"}]);
    world.file(".gitignore", "begun\ngo\n");
    world.plan("plan.json", &plan(&[make]));
    let running = world.start(["run", "--plan", "plan.json", "--approve", "all", "--run-id", "r"]);
    wait_until("the check has begun", || world.read("begun").lines().count() == 2);
    running.kill();
    world.file("go", "");
    let ended = world.aime(["resume", "r", "--output", "json"]).must(0);
    assert_eq!(criteria(&ended.json()), [found("person", "executed", true)], "{ended}");
    assert_eq!((world.server().requests().len(), world.read("begun").lines().count()), (2, 3), "only the check is done again");
    assert_eq!(ended.json()["criteria"][0]["held_before"], true, "what was found before the work survives: {ended}");
}

// Requirement: 5.2
#[test]
fn a_kill_during_the_check_of_a_call_repeats_only_the_check() {
    let world = World::alone();
    let mut pay = tool("pay", "bash", json!({"command": "echo paid >> paid.txt"}), &[]);
    // Before the work it fails at once.
    pay["completion_criteria"] = json!([{"command": "echo x >> begun; test -e paid.txt && { test -e go || sleep 60; }"}]);
    world.file(".gitignore", "begun\ngo\n");
    world.plan("plan.json", &plan(&[pay, tool("thank", "list_dir", json!({"path": "."}), &["pay"])]));
    let running = world.start(["run", "--plan", "plan.json", "--approve", "all", "--unattended", "--run-id", "r"]);
    wait_until("the check of the call has begun", || world.exists("paid.txt") && world.read("begun").lines().count() == 2);
    running.kill();
    world.file("go", "");
    let ended = world.aime(["resume", "r", "--output", "json"]).must(0);
    assert_eq!(criteria(&ended.json()), [found("person", "executed", true)], "{ended}");
    assert_eq!((world.read("paid.txt").as_str(), world.read("begun").lines().count()), ("paid\n", 3), "only the check is done again");
}

/// A run whose lead finds the check of the project to be wrong, and what a person answers.
fn amended(answer: &str) -> (World, Ended) {
    let mut planned = plan(&[actor("sum", "SUM it", &[])]);
    planned["strategic"]["success_criteria"] = json!([]);
    let amend = json!({"number": 1, "text": "{\"command\": \"test $(cat sum.txt) = 5\"}", "evidence": "2 and 2 and 1 were meant"});
    let mut world = World::led(with_a_wrong_sum([Reply::call("submit_plan", planned), Reply::call("amend_criterion", amend)]));
    world.user_settings(&format!("{PROJECT}[triggers]\nmax_retries = 0\n"));
    let run = ["run", "add 2 and 2", "--mode", "complex", "--approve", "all", "--unattended", "--run-id", "sum", "--output", "json"];
    let asked = world.aime(run).must(5);
    asked.stderr_contains(&["2 and 2 and 1 were meant"]);
    world.aime(["answer", "sum", answer]).must(0);
    let ended = world.aime(["resume", "sum", "--output", "json"]);
    (world, ended)
}

// Requirement: 3.63, 5.1
#[test]
fn a_refuted_criterion_of_the_project_is_asked_about() {
    let (_world, ended) = amended("yes");
    let result = ended.must(0).json();
    let of_project: Vec<_> = criteria(&result).into_iter().filter(|(owner, ..)| owner == "project").collect();
    assert_eq!(of_project, [found("project", "executed", true)], "{result:#}");
    assert!(result["amended"].to_string().contains("2 and 2 and 1 were meant (a person agreed)"), "{result:#}");

    let (world, ended) = amended("no");
    let result = ended.must(1).json();
    assert_eq!((&result["error"]["code"], &result["amended"]), (&json!("goal_not_reached"), &json!([])), "{result:#}");
    let prompt = world.server().requests().last().unwrap()["messages"].to_string();
    assert!(prompt.contains("it stays as it is"), "the lead hears the answer: {prompt}");
}

// Requirement: 5.3
#[test]
fn no_model_weakens_a_criterion_of_the_project() {
    let mut planned = plan(&[actor("sum", "SUM it", &[])]);
    planned["strategic"]["success_criteria"] = json!([]);
    let amend = json!({"number": 1, "text": "there is a sum", "evidence": "the check is wrong"});
    let change = json!({"reasoning": "the check is wrong", "changes": [
        {"op": "amend_criterion", "number": 1, "criterion": "there is a sum", "evidence": "the check is wrong"},
        {"op": "set_strategic", "strategic": {"approach": "another", "success_criteria": ["there is a sum"]}},
    ]});
    let calls = [Reply::call("submit_plan", planned), Reply::call("amend_criterion", amend), Reply::call("change_plan", change)];
    let mut world = World::led(with_a_wrong_sum(calls));
    world.user_settings(&format!("{PROJECT}[triggers]\nmax_retries = 0\n"));
    let run = ["run", "add 2 and 2", "--mode", "complex", "--approve", "all", "--unattended", "--run-id", "sum", "--output", "json"];
    world.aime(run).must(5);
    world.aime(["answer", "sum", "no"]).must(0);
    let ended = world.aime(["resume", "sum", "--output", "json"]).must(1);
    let result = ended.json();
    let of_project: Vec<_> = criteria(&result).into_iter().filter(|(owner, ..)| owner == "project").collect();
    assert_eq!((of_project, &result["amended"]), (vec![found("project", "executed", false)], &json!([])), "{ended}");
}

/// A lead that makes these calls, an actor that writes 5 as the sum, and an auditor that finds it right.
fn with_a_wrong_sum(lead: impl IntoIterator<Item = Reply>) -> Script {
    let holds = json!({"criteria": [{"n": 1, "holds": "yes", "why": "it is", "evidence": "sum.txt"}]});
    Script::new()
        .on(When::tool("submit_plan"), lead.into_iter().chain([done("The sum is 5.")]))
        .on(When::tools().and_contains("You audit work"), [Reply::call("verdict", holds)])
        .on(When::tools().and_turn(0), [write("sum.txt", "5")])
        .on(When::tools(), [done_by("the sum is 5", "test -e sum.txt")])
}

// Requirement: 5.3
#[test]
fn no_model_weakens_a_criterion_of_a_person() {
    let of_task = json!({"command": "test $(cat sum.txt) = 4"});
    let of_plan = json!("there is a sum");
    let mut planned = plan(&[actor("sum", "SUM it", &[])]);
    planned["tasks"][0]["completion_criteria"] = json!([of_task]);
    planned["strategic"]["success_criteria"] = json!([{"command": "grep -q 4 sum.txt"}]);
    let mut weaker = plan(&[actor("say", "SAY it", &[])]);
    weaker["strategic"]["success_criteria"] = json!([of_plan]);
    let change = |changes: Value| Reply::call("change_plan", json!({"reasoning": "the check is wrong", "changes": changes}));
    let amend = |task: Option<&str>| json!({"op": "amend_criterion", "task": task, "number": 1, "criterion": of_plan, "evidence": "the check is wrong"});
    let calls = [
        Reply::call("amend_criterion", json!({"number": 1, "text": of_plan, "evidence": "the check is wrong"})),
        change(json!([amend(None), amend(Some("sum")), {"op": "modify_task", "id": "sum", "completion_criteria": []}])),
        change(json!([{"op": "set_strategic", "strategic": {"approach": "another", "success_criteria": [of_plan]}}])),
        Reply::call("submit_plan", weaker),
        change(json!([{"op": "remove_task", "id": "sum"}, {"op": "add_task", "task": actor("say", "SAY it", &[])}])),
    ];
    let mut world = World::led(with_a_wrong_sum(calls));
    world.user_settings("[triggers]\nmax_retries = 0\n");
    world.plan("plan.json", &planned);
    world.aime(["run", "--plan", "plan.json", "--approve", "all", "--unattended", "--run-id", "sum", "--output", "json"]).must(5);
    world.aime(["answer", "sum", "no"]).must(0);
    let ended = world.aime(["resume", "sum", "--output", "json"]).must(1);
    let result = ended.json();
    let of_person: Vec<&Value> = result["criteria"].as_array().unwrap().iter().filter(|known| known["owner"] == "person").collect();
    let held: Vec<(&str, &Value)> = of_person.iter().map(|known| (known["text"].as_str().unwrap(), &known["holds"])).collect();
    let (failed, of_removed) = (json!(false), ("`test $(cat sum.txt) = 4` gives exit 0", &json!(false)));
    assert_eq!(
        held,
        [("`grep -q 4 sum.txt` gives exit 0", &failed), of_removed, of_removed],
        "the plan has that of the removed task too: {ended}"
    );
    assert_eq!((&result["amended"], &result["criteria"][0]["holds"]), (&json!([]), &json!(true)), "{ended}");
    assert_eq!(task(&result, "say")["status"], "completed", "the rest of the lead's changes is carried out: {ended}");
}

// Requirement: 14.3
#[test]
fn a_command_of_a_lead_that_read_untrusted_text_needs_consent() {
    let open = "[sandbox]\nnetwork = \"all\"\n";
    for (settings, reads, checked) in [("", true, true), (open, false, true), (open, true, false)] {
        let mut say = actor("say", "SAY it", &[]);
        say["completion_criteria"] = json!([{"command": "echo x >> ran"}]);
        let look = reads.then(|| Reply::call("read_file", json!({"path": ".gitignore"})));
        let mut world = World::led(
            Script::new()
                .on(When::tool("submit_plan"), look.into_iter().chain([Reply::call("submit_plan", plan(&[say])), done("Said.")]))
                .on(When::tools(), [done("said")]),
        );
        world.user_settings(settings);
        // The names of hidden files are not in the prompt.
        world.file(".gitignore", "ran\n");
        let ended = world.aime(["run", "say it", "--mode", "complex", "--approve", "all", "--unattended", "--output", "json"]).must(0);
        let expected = if checked { found("lead", "executed", true) } else { found("lead", "unchecked", Value::Null) };
        assert_eq!((criteria(&ended.json()), world.exists("ran")), (vec![expected], checked), "{settings} {reads}: {ended}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn the_command_of_a_check_is_confined() {
    let world = World::alone();
    let mut only = tool("say", "list_dir", json!({"path": "."}), &[]);
    // The harness looks whether anything has changed outside.
    only["completion_criteria"] = json!([{"command": "echo x > ../home/new.txt"}]);
    world.plan("plan.json", &plan(&[only]));
    let result = world.aime(["run", "--plan", "plan.json", "--unattended", "--output", "json"]).must(1).json();
    assert_eq!(criteria(&result), [found("person", "executed", false)]);
    assert!(result["criteria"][0]["evidence"].as_str().unwrap().contains("Permission denied"), "{result}");
}
