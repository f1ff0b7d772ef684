//! Lines on standard error while a run goes on, and its end in text.

use aime_scripted_server::{Reply, Script, When};
use serde_json::json;

use crate::harness::{Ended, World, actor, bash, done, plan, write};

/// Returns the lines that begin with one of these words.
fn lines<'a>(ended: &'a Ended, begins: &[&str]) -> Vec<&'a str> {
    ended.stderr.lines().filter(|line| begins.iter().any(|word| line.starts_with(word))).collect()
}

/// Returns the lines about the private copies of two tasks, each with a change of its own.
fn merged(language: &str) -> (World, Ended) {
    let script = Script::new()
        .on(When::tools().and_contains("A-PART").and_turn(0), [bash("sed -i s/one/1/ text && echo x > new && echo A-IS-DONE")])
        .on(When::tools().and_contains("A-PART"), [done("a is done").after_request("B-PART")])
        .on(When::tools().and_contains("B-PART").and_turn(0), [bash("sed -i s/three/3/ text").after_request("A-IS-DONE")])
        .on(When::tools().and_contains("B-PART"), [done("b is done")]);
    let world = World::with(script).settings("[run]\nisolation = \"worktree\"\n");
    world.file("text", "one\ntwo\nthree\n");
    world.plan("plan.json", &plan(&[actor("a", "A-PART", &[]), actor("b", "B-PART", &[])]));
    let ended = world.aime(["run", "--plan", "plan.json", "--run-id", "r", "--approve", "all", "--lang", language]).must(0);
    (world, ended)
}

// Requirement: 2.12
#[test]
fn merged_changes_are_shown_by_task() {
    let (world, ended) = merged("en");
    assert_eq!(
        lines(&ended, &["merged  a", "a: created", "a: changed"]),
        ["merged  a: 2 files", "a: created new +1 -0", "a: changed text +1 -1"]
    );
    assert_eq!(lines(&ended, &["merged  b", "b: c"]), ["merged  b: 1 file", "b: changed text +1 -1"]);
    assert!(ended.stderr.contains("\n    -one\n    +1\n"), "{ended}");
    let shown = world.aime(["runs", "show", "r"]).must(0);
    for line in ["a: created new +1 -0", "a: changed text +1 -1", "b: changed text +1 -1"] {
        assert_eq!(shown.stdout.lines().filter(|shown| *shown == line).count(), 1, "{line}: {shown}");
    }
    let events = world.aime(["runs", "events", "r", "--output", "jsonl"]).must(0);
    let files = |task: &str| {
        let of_task = events.events("changes_merged").into_iter().filter(|event| event["task"] == task);
        of_task.map(|event| event["files"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!((files("a"), files("b")), (vec![2], vec![1]));
    let (_, ended) = merged("zh");
    assert_eq!(lines(&ended, &["已合并"]).iter().filter(|line| line.ends_with("a：2 个文件")).count(), 1, "{ended}");
}

fn broken() -> Reply {
    let message = "The pump is broken.\nIts seal leaks,\nand no spare part is here.";
    Reply::call("terminate", json!({"status": "failure", "message": message}))
}

/// The log has the first line, the answer has the whole text.
// Requirement: 2.12
#[test]
fn a_failure_is_told_once_in_each_place() {
    let first = "The pump is broken.";
    let world = World::led(Script::new().on(When::tools(), [broken()]));
    for (language, error) in [("en", "error: the goal was not reached"), ("zh", "错误：目标没有达到")] {
        let ended = world.aime(["run", "mend it", "--run-id", language, "--lang", language]).must(1);
        assert_eq!(ended.stdout, format!("The goal was not reached: main failed: {first}\nIts seal leaks,\nand no spare part is here.\n"));
        assert_eq!(ended.stderr.matches(first).count(), 1, "{ended}");
        assert!(ended.stderr.lines().any(|line| line == error), "{ended}");
        let shown = world.aime(["runs", "show", language]).must(0);
        assert_eq!(shown.stdout.matches("Its seal leaks").count(), 1, "{shown}");
    }
    let no_patch = Reply::json(json!({"reasoning": "nothing helps", "changes": []}));
    let script = Script::new().on(When::schema("aime_patch"), [no_patch]).on(When::tools(), [broken()]);
    let world = World::with(script).settings("[triggers]\nmax_retries = 0\n");
    world.plan("plan.json", &plan(&[actor("a", "A-PART", &[]), actor("b", "B-PART", &["a"])]));
    let ended = world.aime(["run", "--plan", "plan.json"]).must(1);
    assert_eq!((ended.stdout.matches(first).count(), ended.stderr.matches(first).count()), (1, 1), "{ended}");
    assert_eq!(
        lines(&ended, &["replan", "blocked"]),
        ["blocked b: waits for what cannot be had: \"a\" is failed", "replan  v2: a failed; b blocked"]
    );
}

/// The log names what each call does, and no plan where none is made.
// Requirement: 2.12
#[test]
fn lines_of_direct_work_say_what_is_done() {
    let replies = || {
        [
            bash("set -euo pipefail\n# Count them.\ncd .\ngrep -c one text\necho two"),
            write("new.txt", "1\n2\n3\n"),
            Reply::call("python", json!({"code": "import os\n\nprint(1)\n"})),
            done("All is done."),
        ]
    };
    for world in [World::led(Script::new().on(When::tools(), replies())), World::with(Script::new().on(When::tools(), replies()))] {
        world.file("text", "one\ntwo\n");
        let ended = world.aime(["run", "count it", "--mode", "direct", "--approve", "all"]).must(0);
        assert_eq!(
            lines(&ended, &["main: ", "plan", "asking", "    ", "lead"])[1..],
            [
                "main: bash command=grep -c one text … +4 lines",
                "main: write_file path=new.txt content=3 lines",
                "main: created new.txt +3 -0",
                "main: python code=print(1) … +2 lines",
                "main: All is done.",
            ]
        );
    }
    let replies = [Reply::call("list_dir", json!({"path": "."})), done("It is empty.")];
    let ended = World::led(Script::new().on(When::tools(), replies)).aime(["run", "look"]).must(0);
    assert_eq!(lines(&ended, &["plan", "asking"]), [""; 0], "{ended}");
}
