//! Plans of tool tasks, run without any model: order, references, conditions, rollbacks.

use serde_json::{Value, json};

use crate::harness::{Ended, World, plan, task, tool};

/// A world without a model, with notes in which two lines are to do.
fn notes() -> World {
    let world = World::alone();
    world.file("notes.txt", "TODO wash\nrest\nTODO cook\n");
    world
}

fn run(world: &World, tasks: &Value, form: &str) -> Ended {
    world.plan("plan.json", tasks);
    world.aime(["run", "--plan", "plan.json", "--output", form])
}

fn find() -> Value {
    tool("find", "grep", json!({"pattern": "TODO", "path": "notes.txt"}), &[])
}

// Requirement: 3.11, 3.16, 3.18
#[test]
fn a_chain_runs_in_order_with_results_passed_on() {
    let world = notes();
    let tasks = plan(&[
        tool("copy", "write_file", json!({"path": "copy.txt", "content": "@{steps.read.result}"}), &["read"]),
        tool("read", "read_file", json!({"path": "@{steps.write.result.path}"}), &["write"]),
        // The plan forgot this dependency: the reference names it.
        tool(
            "write",
            "write_file",
            json!({"path": "out.txt", "content": "count=@{steps.find.result.count} second=@{steps.find.result.matches[1].text} @@{kept}"}),
            &[],
        ),
        find(),
    ]);
    let ended = run(&world, &tasks, "jsonl").must(0);
    assert_eq!(world.read("out.txt"), "count=2 second=TODO cook @{kept}");
    assert!(world.read("copy.txt").contains("count=2 second=TODO cook"), "{}", world.read("copy.txt"));
    let completed: Vec<Value> = ended
        .events("task_status_changed")
        .into_iter()
        .filter(|event| event["to"] == "completed")
        .map(|event| event["task"].clone())
        .collect();
    assert_eq!(completed, ["find", "write", "read", "copy"]);
    assert!(ended.events("model_called").is_empty());
    assert_eq!(ended.last()["usage"]["requests"], 0);
}

// Requirement: 3.16
#[test]
fn a_whole_parameter_keeps_its_type() {
    let world = notes();
    // `limit` must be a number: as text it would be refused by the tool's schema, or not be a line number at all.
    let tasks = plan(&[find(), tool("read", "read_file", json!({"path": "notes.txt", "limit": "@{steps.find.result.count}"}), &[])]);
    let ended = run(&world, &tasks, "jsonl").must(0);
    let started = ended.events("tool_call_started");
    let read = started.iter().find(|event| event["tool"] == "read_file").unwrap();
    assert_eq!(read["parameters"]["limit"], 2, "{ended}");
}

// Requirement: 3.17
#[test]
fn what_is_inserted_is_not_expanded_again() {
    let world = notes();
    world.file("trap.txt", "@{steps.find.result.count}");
    let tasks = plan(&[
        find(),
        tool("trap", "grep", json!({"pattern": "steps", "path": "trap.txt"}), &["find"]),
        tool("out", "write_file", json!({"path": "out.txt", "content": "<@{steps.trap.result.matches[0].text}>"}), &[]),
    ]);
    run(&world, &tasks, "json").must(0);
    assert_eq!(world.read("out.txt"), "<@{steps.find.result.count}>");
}

// Requirement: 3.19
#[test]
fn a_missing_path_names_itself_and_the_keys_that_exist() {
    let world = notes();
    let tasks = plan(&[find(), tool("out", "write_file", json!({"path": "out.txt", "content": "@{steps.find.result.total}"}), &[])]);
    let ended = run(&world, &tasks, "json").must(1);
    let result = ended.json();
    let error = task(&result, "out")["error"].as_str().unwrap();
    assert!(["total", "count", "matches"].iter().all(|word| error.contains(word)), "{error}");
    assert!(!world.exists("out.txt"));
}

// Requirement: 3.13
#[test]
fn a_condition_that_does_not_hold_skips_what_hangs_on_it() {
    for (wanted, skipped) in [("@{steps.find.result.count} > 1", false), ("@{steps.find.result.count} > 2", true)] {
        let world = notes();
        let mut tasks = plan(&[
            find(),
            tool("then", "write_file", json!({"path": "then.txt", "content": "many"}), &[]),
            tool("last", "write_file", json!({"path": "last.txt", "content": "more"}), &["then"]),
        ]);
        tasks["edges"] = json!([{"from": "find", "to": "then", "type": "conditional", "condition": wanted}]);
        let result = run(&world, &tasks, "json").must(0).json();
        let status = if skipped { "skipped" } else { "completed" };
        assert_eq!(task(&result, "then")["status"], status, "{wanted}");
        assert_eq!(task(&result, "last")["status"], status, "{wanted}");
        assert_eq!(world.exists("last.txt"), !skipped, "{wanted}");
    }
}

// Requirement: 3.14
#[test]
fn a_rollback_runs_only_when_its_source_fails_for_good() {
    for (command, undone) in [("true", false), ("echo half > half.txt; exit 3", true)] {
        let world = notes();
        let mut tasks = plan(&[
            tool("work", "bash", json!({"command": command}), &[]),
            tool("undo", "bash", json!({"command": "rm half.txt; echo undone > undone.txt"}), &[]),
        ]);
        tasks["edges"] = json!([{"from": "work", "to": "undo", "type": "rollback"}]);
        let ended = run(&world, &tasks, "json");
        let result = ended.json();
        assert_eq!(task(&result, "work")["status"], if undone { "rolled_back" } else { "completed" }, "{ended}");
        assert_eq!(world.exists("undone.txt"), undone, "{ended}");
        assert!(!world.exists("half.txt"), "{ended}");
        // What was undone was not reached.
        assert_eq!(ended.code, Some(i32::from(undone)), "{ended}");
    }
}

// Requirement: 3.24
#[test]
fn a_task_whose_dependency_failed_is_not_run_and_says_why() {
    let world = notes();
    let tasks = plan(&[
        tool("bad", "bash", json!({"command": "echo broken pipes >&2; exit 7"}), &[]),
        tool("next", "write_file", json!({"path": "next.txt", "content": "x"}), &["bad"]),
        tool("other", "write_file", json!({"path": "other.txt", "content": "x"}), &[]),
    ]);
    let ended = run(&world, &tasks, "json").must(1);
    let result = ended.json();
    assert_eq!(task(&result, "bad")["status"], "failed");
    assert_eq!(task(&result, "bad")["attempts"], 3, "two retries");
    assert!(task(&result, "bad")["error"].as_str().unwrap().contains("broken pipes"), "{ended}");
    assert_eq!(task(&result, "next")["status"], "skipped");
    assert!(task(&result, "next")["error"].as_str().unwrap().contains("bad"), "{ended}");
    assert_eq!(task(&result, "other")["status"], "completed");
    assert!(!world.exists("next.txt"));
}

// Requirement: 3.10
#[test]
fn a_group_settles_with_its_tasks() {
    let world = notes();
    let mut tasks = plan(&[
        json!({"id": "all", "name": "all", "kind": "group", "description": "both files"}),
        tool("one", "write_file", json!({"path": "one.txt", "content": "1"}), &[]),
        tool("two", "write_file", json!({"path": "two.txt", "content": "2"}), &[]),
        tool("after", "write_file", json!({"path": "after.txt", "content": "3"}), &["all"]),
    ]);
    for child in [1, 2] {
        tasks["tasks"][child]["parent"] = json!("all");
    }
    let ended = run(&world, &tasks, "jsonl").must(0);
    let settled: Vec<Value> = ended
        .events("task_status_changed")
        .into_iter()
        .filter(|event| event["to"] == "completed")
        .map(|event| event["task"].clone())
        .collect();
    let place = |id: &str| settled.iter().position(|task| task == id).unwrap_or_else(|| panic!("{id} is not completed\n{ended}"));
    assert!(place("one") < place("all") && place("two") < place("all") && place("all") < place("after"), "{settled:?}");
}

#[test]
fn a_group_fails_with_its_task_and_nothing_is_left_open() {
    let world = notes();
    let mut tasks = plan(&[
        json!({"id": "all", "name": "all", "kind": "group", "description": "one of them will fail"}),
        tool("one", "read_file", json!({"path": "missing.txt"}), &[]),
        tool("after", "write_file", json!({"path": "after.txt", "content": "3"}), &["all"]),
    ]);
    tasks["tasks"][1]["parent"] = json!("all");
    let ended = run(&world, &tasks, "json").must(1);
    let result = ended.json();
    for (id, status) in [("one", "failed"), ("all", "failed"), ("after", "skipped")] {
        assert_eq!(task(&result, id)["status"], status, "{id}\n{ended}");
    }
    assert!(result["error"]["message"].as_str().unwrap().contains("missing.txt"), "{ended}");
}

// Requirement: 1.9
#[test]
fn criteria_about_files_are_looked_at_and_not_believed() {
    let world = notes();
    let mut tasks = plan(&[tool("say", "bash", json!({"command": "echo done"}), &[])]);
    tasks["strategic"]["success_criteria"] = json!(["report.md exists"]);
    let ended = run(&world, &tasks, "json").must(1);
    assert!(ended.json()["error"]["message"].as_str().unwrap().contains("report.md"), "{ended}");
    tasks["tasks"][0]["parameters"]["command"] = json!("echo done > report.md");
    run(&world, &tasks, "json").must(0);
}
