//! Checks of completed tasks, after other tasks have changed files.

use aime_scripted_server::{Reply, Script, When};
use serde_json::{Value, json};

use crate::harness::{World, actor, bash, done, messages_text, plan, wait_until};

const TEXT: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n";
const RUN: [&str; 10] = ["run", "--plan", "plan.json", "--run-id", "r", "--approve", "all", "--unattended", "--output", "json"];

fn part(name: &str, turn: usize) -> When {
    When::tools().and_contains(format!("{name}-PART")).and_turn(turn)
}

/// The task `a`, whose criterion is a command, with a task beside it that ends later, and one that comes after it.
fn world(script: Script, check: &str, of_b: &str, of_c: &str) -> World {
    let script = script
        .on(part("A", 0), [bash("echo a > a.txt")])
        .on(part("A", 1), [done("a is done")])
        .on(part("B", 0), [bash(of_b)])
        // The task `c` begins when `a` has ended, and its first request tells so.
        .on(part("B", 1), [done("b is done").after_request("THE-END-OF-A")])
        .on(part("C", 0), [bash(of_c)])
        .on(part("C", 1), [done("c is done")])
        .on(When::plain(), [Reply::text("The end.")]);
    let world = World::with(script).settings("[run]\nisolation = \"worktree\"\n");
    let mut checked = actor("a", "A-PART", &[]);
    checked["completion_criteria"] = json!([{"command": format!("echo x >> tried; {check}")}]);
    world.plan("plan.json", &plan(&[checked, actor("b", "B-PART", &[]), actor("c", "THE-END-OF-A C-PART", &["a"])]));
    world.file("text", TEXT);
    // The record of the checks is ignored, so that it stays.
    world.file(".gitignore", "tried\ngo\n.aime\n");
    world
}

/// The number of checks in the working folder. Those before the merge are in the private folder.
fn times(world: &World) -> usize {
    if world.exists("tried") { world.read("tried").lines().count() } else { 0 }
}

fn patch(changes: &[Value]) -> Reply {
    Reply::json(json!({"reasoning": "b broke it", "changes": changes}))
}

/// The check of one task held, and the merge of another one breaks it: the planner learns it, and the run fails unless a change of the plan
/// makes the check hold.
// Requirement: 5.5
#[test]
fn a_merge_that_breaks_the_check_of_another_task_is_reported() {
    for is_repaired in [false, true] {
        let add = json!({"op": "add_task", "task": actor("mend", "MEND-PART", &[])});
        let changes = if is_repaired { vec![add] } else { Vec::new() };
        let script = Script::new()
            .on(When::schema("aime_patch"), [patch(&changes)])
            .on(part("MEND", 0), [bash("rm b.txt")])
            .on(part("MEND", 1), [done("b.txt is gone")]);
        let world = world(script, "test ! -e b.txt", "echo b > b.txt", "true");
        let ended = world.aime(RUN).must(if is_repaired { 0 } else { 5 });
        let result = ended.json();
        let criterion = &result["criteria"][0];
        assert_eq!((&criterion["how"], &criterion["holds"]), (&json!("executed"), &json!(is_repaired)), "{ended}");
        let asked = world.schema_requests("aime_patch").iter().map(messages_text).collect::<String>();
        let broken = "it held when the task ended, but no longer holds after `b` changed files";
        assert!(asked.contains(broken), "{asked}\n{ended}");
        if is_repaired {
            // Twice after the merge, as a failed check is repeated, and then after the change of the plan.
            assert_eq!(times(&world), 3, "{ended}");
        } else {
            assert_eq!(times(&world), 2, "{ended}");
            assert!(result["error"]["message"].as_str().unwrap().contains("of the task `a`: it held when"), "{ended}");
            let shown = world.aime(["runs", "show", "r"]).must(0).stdout;
            assert!(shown.contains(broken), "{shown}");
        }
    }
}

/// Nothing is checked twice without a change.
// Requirement: 5.5
#[test]
fn a_check_is_not_repeated_where_nothing_has_changed() {
    for (of_b, times_checked) in [("ls", 0), ("echo b >> text", 1)] {
        let world = world(Script::new(), "test ! -e b.txt", of_b, "ls");
        let ended = world.aime(RUN).must(0);
        assert_eq!(times(&world), times_checked, "{of_b}: {ended}");
        assert_eq!(ended.json()["criteria"][0]["holds"], true, "{ended}");
        assert_eq!(world.server().requests().len(), 7, "no model is asked: {ended}");
    }
}

/// A task that the plan puts after another one may replace its work.
// Requirement: 5.5
#[test]
fn a_later_task_that_replaces_what_was_checked_fails_nothing() {
    let world = world(Script::new(), "test -e a.txt", "ls", "rm a.txt");
    let ended = world.aime(RUN).must(0);
    let criterion = &ended.json()["criteria"][0];
    assert_eq!((&criterion["how"], &criterion["holds"]), (&json!("executed"), &Value::Null), "{ended}");
    let evidence = criterion["evidence"].as_str().unwrap();
    assert!(evidence.contains("it held when the task ended, but no longer holds after `c`, which the plan runs later"), "{evidence}");
}

// Requirement: 5.5
#[test]
fn a_repeated_check_cut_off_by_a_kill_runs_again_alone() {
    // The private folder has no `b.txt`.
    let check = "test ! -e b.txt || test -e go || sleep 60; test ! -e b.txt || test -e go";
    let world = world(Script::new(), check, "echo b > b.txt", "true");
    let running = world.start(RUN);
    wait_until("the check runs again", || times(&world) == 1);
    running.kill();
    let requests = world.server().requests().len();
    world.file("go", "");
    let result = world.aime(["resume", "r", "--output", "json"]).must(0).json();
    assert_eq!((times(&world), &result["criteria"][0]["holds"]), (2, &json!(true)), "{result}");
    assert_eq!(world.server().requests().len(), requests + 1, "only the answer is asked for");
}

/// A verdict whose evidence was changed later is asked for again.
// Requirement: 5.5
#[test]
fn a_verdict_whose_evidence_was_changed_is_renewed() {
    for (of_b, again) in [("sed -i s/seven/7/ text", Some("yes")), ("sed -i s/seven/7/ text", Some("no")), ("echo b > b.txt", None)] {
        let verdict = |holds: &str, why: &str| {
            Reply::call("verdict", json!({"criteria": [{"n": 1, "holds": holds, "why": why, "evidence": "text:1"}]}))
        };
        let mut checked = actor("a", "A-PART", &[]);
        checked["completion_criteria"] = json!(["the text is CLEAN"]);
        let tasks = plan(&[checked, actor("b", "B-PART", &[]), actor("c", "THE-END-OF-A C-PART", &["a"])]);
        let world = World::led(
            Script::new()
                .on(When::tool("submit_plan"), [Reply::call("submit_plan", tasks), done("Done.")])
                .on(When::tools().and_contains("You audit work").and_contains("judged before"), [verdict(again.unwrap_or("no"), "AGAIN")])
                .on(When::tools().and_contains("You audit work"), [verdict("yes", "it is clean")])
                .on(part("A", 0), [bash("sed -i s/one/1/ text")])
                .on(part("A", 1), [done("a is done")])
                .on(part("B", 0), [bash(of_b)])
                .on(part("B", 1), [done("b is done").after_request("THE-END-OF-A")])
                .on(part("C", 0), [done("c is done")]),
        )
        .settings("[run]\nisolation = \"worktree\"\n[frequency]\nmax_replans_per_plan = 0\n");
        world.file("text", TEXT);
        let run = ["run", "clean", "--mode", "complex", "--approve", "all", "--unattended", "--output", "json"];
        let ended = world.aime(run).must(if again == Some("no") { 5 } else { 0 });
        let criterion = &ended.json()["criteria"][0];
        assert_eq!((&criterion["how"], &criterion["holds"]), (&json!("audited"), &json!(again != Some("no"))), "{ended}");
        let why = if again.is_some() { "AGAIN (text:1)" } else { "it is clean (text:1)" };
        assert!(criterion["evidence"].as_str().unwrap().contains(why), "{ended}");
        let audits = world.server().requests().iter().filter(|request| messages_text(request).contains("You audit work")).count();
        assert_eq!(audits, 1 + usize::from(again.is_some()), "{ended}");
    }
}
