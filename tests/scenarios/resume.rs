//! Stops and crashes at any moment: what was done stays done, what is unknown is said, and the run goes on.

use aime_scripted_server::{Reply, Script, When};
use serde_json::{Value, json};

use crate::harness::{Ended, Running, World, actor, bash, done, messages_text, plan, task, tool, turn, wait_until};

const RUN: [&str; 9] = ["run", "--plan", "plan.json", "--run-id", "trip", "--approve", "all", "--output", "json"];

fn resume(world: &World) -> Ended {
    world.aime(["resume", "trip", "--output", "json"])
}

/// Two actors in a row that each append a line to the log; `second` comes before the second's own reply.
fn two_in_a_row(second: Script) -> World {
    let script = second
        .on(When::tools().and_contains("ONE-FOOT").and_turn(0), [bash("echo one >> log")])
        .on(When::tools().and_contains("ONE-FOOT").and_turn(1), [done("one foot")])
        .on(When::tools().and_contains("OTHER-FOOT").and_turn(0), [bash("echo two >> log")])
        .on(When::tools().and_contains("OTHER-FOOT"), [done("other foot")])
        .on(When::plain(), [Reply::text("Both feet.")]);
    let world = World::with(script);
    // The words of one task stand in the requests of the next: `OTHER-FOOT` is looked for first.
    world.plan("plan.json", &plan(&[actor("one", "ONE-FOOT", &[]), actor("two", "OTHER-FOOT", &["one"])]));
    world
}

fn hangs_in_second() -> Script {
    Script::new().once(When::tools().and_contains("OTHER-FOOT"), [Reply::hang()])
}

fn interrupt(running: Running<'_>) -> Ended {
    running.signal("INT");
    running.wait().must(130)
}

// Requirement: 10.10
#[test]
fn a_stop_in_the_middle_resumes_with_nothing_done_twice() {
    let world = two_in_a_row(hangs_in_second());
    let running = world.start(RUN);
    world.wait_for_requests(3);
    let ended = interrupt(running);
    let result = ended.json();
    assert_eq!(result["error"]["code"], "interrupted", "{ended}");
    assert!(result["error"]["hint"].as_str().unwrap().contains("aime resume trip"), "{ended}");
    assert_eq!(task(&result, "one")["status"], "completed");
    let ended = resume(&world).must(0);
    assert_eq!(ended.json()["answer"], "Both feet.", "{ended}");
    assert_eq!(world.read("log"), "one\ntwo\n");
    let of_the_first = world.actor_requests("ONE-FOOT").into_iter().filter(|request| !messages_text(request).contains("OTHER-FOOT"));
    assert_eq!(of_the_first.count(), 2, "the first task is not asked again");
    assert_eq!(world.server().unmatched(), Vec::<String>::new());
}

#[test]
fn a_crash_in_a_model_call_resumes_with_nothing_done_twice() {
    let world = two_in_a_row(hangs_in_second());
    let running = world.start(RUN);
    world.wait_for_requests(3);
    running.kill();
    let ended = resume(&world).must(0);
    assert_eq!(ended.json()["answer"], "Both feet.", "{ended}");
    assert_eq!(world.read("log"), "one\ntwo\n");
    assert_eq!(task(&ended.json(), "one")["attempts"], 1);
}

/// The journal of a run whose process was killed still says that it executes.
#[test]
fn a_run_without_a_process_is_interrupted() {
    let world = two_in_a_row(hangs_in_second());
    let running = world.start(RUN);
    world.wait_for_requests(3);
    let status = |command: &[&str]| {
        let message = world.aime([command, &["--output", "json"]].concat()).must(0).json();
        let message = message.get(0).unwrap_or(&message).clone();
        (message["status"].clone(), message["error"]["next"]["step"].clone())
    };
    let (list, show) = (["runs", "list"], ["runs", "show", "trip"]);
    assert_eq!((status(&list).0, status(&show)), (json!("executing"), (json!("executing"), json!(null))));
    running.kill();
    assert_eq!((status(&list).0, status(&show)), (json!("interrupted"), (json!("interrupted"), json!("resume"))));
    let message = world.aime(["runs", "show", "trip"]).must(0).stdout;
    assert!(message.contains("go on with `aime resume trip`"), "{message}");
    resume(&world).must(0);
    assert_eq!(status(&list).0, json!("completed"));
}

#[test]
fn a_termination_signal_is_a_stop_too() {
    let world = two_in_a_row(hangs_in_second());
    let running = world.start(RUN);
    world.wait_for_requests(3);
    running.signal("TERM");
    running.wait().must(130);
    resume(&world).must(0);
    assert_eq!(world.read("log"), "one\ntwo\n");
}

/// A command that says that it has begun and then waits for the file `go`, though not for ever.
const WAITS: &str = "echo $$ > began; echo cut >> log; for i in $(seq 300); do [ -e go ] && break; sleep 0.1; done; echo end >> log";

// Requirement: 7.14
#[test]
fn a_crash_in_a_command_is_told_to_the_actor_as_in_doubt() {
    let script = Script::new()
        .on(When::tools().and_turn(0), [bash("echo before >> log")])
        .on(When::tools().and_turn(1), [bash(WAITS)])
        .on(When::tools().and_last_contains("terminate").and_contains("In doubt").and_turn(2), [done("I looked: it had begun")])
        .on(When::tools().and_contains("In doubt").and_turn(2), [done("I looked: it had begun")]);
    let world = World::with(script);
    let running = world.start(["run", "cut the tree", "--mode", "direct", "--run-id", "trip", "--approve", "all", "--output", "json"]);
    world.wait_for_file("began");
    running.kill();
    world.file("go", "");
    let ended = resume(&world).must(0);
    assert_eq!(ended.json()["answer"], "I looked: it had begun", "{ended}");
    let log = world.read("log");
    assert_eq!((log.matches("before").count(), log.matches("cut").count()), (1, 1), "neither is repeated: {log}");
}

// Requirement: 7.14
#[test]
fn after_a_crash_in_a_command_the_actor_gets_its_output_and_facts() {
    let deploy = "echo half done; echo part > made.txt; echo $$ > began; for i in $(seq 300); do [ -e go ] && break; sleep 0.1; done";
    let script = Script::new()
        .on(When::tools().and_turn(0), [bash(deploy)])
        .on(When::tools().and_contains("In doubt").and_turn(1), [done("I looked: it was half done")]);
    let world = World::with(script);
    let running = world.start(["run", "deploy it", "--mode", "direct", "--run-id", "trip", "--approve", "all", "--output", "json"]);
    world.wait_for_file("began");
    let unfinished = || -> Vec<String> {
        let folders = std::fs::read_dir(world.path(".aime/runs/trip")).into_iter().flatten().flatten();
        let files = folders.filter_map(|folder| std::fs::read_dir(folder.path()).ok()).flatten().flatten();
        let kept = files.filter(|file| file.file_name().to_string_lossy().starts_with("unfinished-"));
        kept.map(|file| std::fs::read_to_string(file.path()).unwrap_or_default()).collect()
    };
    wait_until("the output is kept", || unfinished().iter().any(|text| text.contains("half done")));
    running.kill();
    let ended = resume(&world).must(0);
    assert_eq!(ended.json()["answer"], "I looked: it was half done", "{ended}");
    let requests = world.actor_requests("In doubt");
    let message = requests[0]["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap();
    let (facts, data) = message.split_once("[data ").unwrap();
    for fact in ["It was begun", "and ran for about", "Its processes were ended with aime.", "Files changed since: ", "`made.txt`"] {
        assert!(facts.contains(fact), "{fact} is outside of the marks: {message}");
    }
    let (data, _) = data.split_once("[end ").unwrap();
    assert!(data.contains("from command]\nhalf done\n") && !facts.contains("half done"), "the output is data: {message}");
}

#[test]
fn a_crash_in_a_command_of_the_plan_is_reported_and_not_repeated() {
    let world = World::alone();
    world.plan(
        "plan.json",
        &plan(&[
            tool("note", "write_file", json!({"path": "note.txt", "content": "n"}), &[]),
            tool("cut", "bash", json!({"command": WAITS}), &["note"]),
        ]),
    );
    let running = world.start(RUN);
    world.wait_for_file("began");
    running.kill();
    world.file("go", "");
    let ended = resume(&world).must(1);
    let result = ended.json();
    assert_eq!(task(&result, "cut")["status"], "failed");
    assert!(task(&result, "cut")["error"].as_str().unwrap().contains("unknown"), "{ended}");
    assert_eq!(task(&result, "note")["attempts"], 1);
    assert_eq!(world.read("log").matches("cut").count(), 1);
}

#[test]
fn a_stop_in_a_command_ends_the_command() {
    let script = Script::new()
        .on(When::tools().and_turn(0), [bash(WAITS)])
        .on(When::tools().and_contains("interrupted").and_turn(1), [done("it was cut short")]);
    let world = World::with(script);
    let running = world.start(["run", "cut the tree", "--mode", "direct", "--run-id", "trip", "--approve", "all", "--output", "json"]);
    world.wait_for_file("began");
    interrupt(running);
    let process = format!("/proc/{}", world.read("began").trim());
    if cfg!(target_os = "linux") {
        assert!(!std::path::Path::new(&process).exists(), "no process outlives its run");
    }
    let ended = resume(&world).must(0);
    assert_eq!(ended.json()["answer"], "it was cut short", "{ended}");
    assert_eq!(world.read("log"), "cut\n", "it neither went on nor ran again");
}

#[test]
fn a_stop_while_planning_resumes() {
    for crash in [false, true] {
        let script = Script::new()
            .once(When::schema("aime_plan"), [Reply::hang()])
            .on(When::schema("aime_plan"), [Reply::json(plan(&[actor("one", "ONE-FOOT", &[])]))])
            .on(When::tools(), [done("one foot")]);
        let world = World::with(script);
        let running = world.start(["run", "take a step", "--mode", "complex", "--run-id", "trip", "--output", "json"]);
        world.wait_for_requests(1);
        if crash {
            running.kill();
        } else {
            interrupt(running);
        }
        let ended = resume(&world).must(0);
        assert_eq!(ended.json()["answer"], "one foot", "{ended}");
        assert_eq!(world.schema_requests("aime_plan").len(), 2);
    }
}

#[test]
fn a_stop_while_the_answer_is_written_resumes() {
    for crash in [false, true] {
        let world = two_in_a_row(Script::new().once(When::plain(), [Reply::hang()]));
        let running = world.start(RUN);
        world.wait_for_requests(5);
        if crash {
            running.kill();
        } else {
            interrupt(running);
        }
        let ended = resume(&world).must(0);
        assert_eq!(ended.json()["answer"], "Both feet.", "{ended}");
        assert_eq!(world.read("log"), "one\ntwo\n");
    }
}

#[test]
fn a_second_process_cannot_drive_the_same_run() {
    let world = two_in_a_row(hangs_in_second());
    let running = world.start(RUN);
    world.wait_for_requests(3);
    let ended = world.aime(["resume", "trip"]).must(2);
    assert!(ended.stderr.contains("trip") || ended.stderr.contains("process"), "{ended}");
    let again = world.aime(RUN).must(2);
    assert!(again.stderr.contains("trip"), "the name is taken\n{again}");
    world.aime(["runs", "delete", "trip"]).must(2).stderr_contains(&["hint"]);
    // Looking at it is no hindrance, and another run in the same folder neither.
    assert!(world.aime(["runs", "show", "trip"]).must(0).stdout.contains("one"));
    world.plan("aside.json", &plan(&[tool("aside", "write_file", json!({"path": "aside.txt", "content": "a"}), &[])]));
    world.aime(["run", "--plan", "aside.json", "--run-id", "aside"]).must(0);
    interrupt(running);
    resume(&world).must(0);
    assert_eq!(world.read("log"), "one\ntwo\n");
}

#[test]
fn an_answer_reaches_a_run_under_way() {
    let script = Script::new()
        .on(When::tools().and_contains("ASKS-FIRST").and_turn(0), [Reply::call("ask_human", json!({"question": "Where?"}))])
        .on(When::tools().and_contains("ASKS-FIRST").and_contains("to the left"), [done("went left")])
        // It is held until the answer has come through.
        .on(When::tools().and_contains("WORKS-ON"), [done("worked").after_request("to the left")])
        .on(When::plain(), [Reply::text("Left it is.")]);
    let world = World::with(script);
    world.plan("plan.json", &plan(&[actor("ask", "ASKS-FIRST", &[]), actor("work", "WORKS-ON", &[])]));
    let running = world.start(["run", "--plan", "plan.json", "--run-id", "trip", "--output", "jsonl"]);
    wait_until("the question is asked", || running.stdout().contains("\"question_asked\""));
    world.wait_for_requests(2);
    world.aime(["answer", "trip", "to the left"]).must(0);
    let ended = running.wait().must(0);
    assert_eq!(task(&ended.last(), "ask")["status"], "completed", "{ended}");
}

// Requirement: 7.5
#[test]
fn a_resumed_run_counts_its_events_on() {
    let world = two_in_a_row(hangs_in_second());
    let running = world.start(["run", "--plan", "plan.json", "--run-id", "trip", "--approve", "all", "--output", "jsonl"]);
    world.wait_for_requests(3);
    let mut before = interrupt(running).lines();
    before.pop();
    let mut after = world.aime(["resume", "trip", "--output", "jsonl"]).must(0).lines();
    after.pop();
    let kept = world.aime(["runs", "events", "trip", "--output", "jsonl"]).must(0).lines();
    before.extend(after);
    assert_eq!(before, kept, "each event is told once, and the journal has them all");
}

#[test]
fn a_run_that_is_over_gives_its_result_again() {
    let world = two_in_a_row(Script::new());
    let first = world.aime(RUN).must(0).json();
    let requests = world.server().requests().len();
    let again = resume(&world).must(0).json();
    assert_eq!(first["answer"], again["answer"]);
    assert_eq!(first["tasks"], again["tasks"]);
    assert_eq!(world.server().requests().len(), requests);
}

#[test]
fn last_is_the_newest_run_and_the_beginning_of_a_name_will_do() {
    let world = two_in_a_row(Script::new());
    world.aime(RUN).must(0);
    assert_eq!(world.aime(["resume", "last", "--output", "json"]).must(0).json()["run_id"], "trip");
    assert_eq!(world.aime(["resume", "tr", "--output", "json"]).must(0).json()["run_id"], "trip");
    world.aime(["resume", "fall"]).must(2).stderr_contains(&["fall", "aime runs"]);
}

#[test]
fn a_crash_while_a_file_is_written_does_not_stop_the_run() {
    // A write is repeated without asking: it gives the same file.
    let world = World::alone();
    let tasks: Vec<Value> = (0..30)
        .map(|n| {
            let before = format!("t{}", n - 1);
            let dependencies: &[&str] = if n == 0 { &[] } else { &[before.as_str()] };
            tool(&format!("t{n}"), "write_file", json!({"path": format!("{n}.txt"), "content": "whole\n"}), dependencies)
        })
        .collect();
    world.plan("plan.json", &plan(&tasks));
    let running = world.start(RUN);
    world.wait_for_file("4.txt");
    running.kill();
    let ended = resume(&world).must(0);
    assert_eq!(ended.json()["status"], "completed", "{ended}");
    assert!((0..30).all(|n| world.read(&format!("{n}.txt")) == "whole\n"));
}

/// A crash at any moment: whatever is cut, no line of the log is written twice and the run completes.
// Requirement: 7.13
#[test]
fn a_crash_after_any_event_loses_and_repeats_nothing() {
    let script = || {
        let foot = |script: Script, name: &str| {
            script
                .on(When::tools().and_contains(name).and_turn(0), [bash(&format!("echo {name} >> log"))])
                .on(When::tools().and_contains(name), [done(&format!("{name} is done"))])
        };
        // The later words first: a task's requests hold the results of those before it.
        let script = foot(foot(foot(Script::new(), "STEP-THREE"), "STEP-TWO"), "STEP-ONE");
        script.on(When::plain(), [Reply::text("Three steps.")])
    };
    let tasks = plan(&[actor("one", "STEP-ONE", &[]), actor("two", "STEP-TWO", &["one"]), actor("three", "STEP-THREE", &["two"])]);
    let run = ["run", "--plan", "plan.json", "--run-id", "trip", "--approve", "all", "--output", "jsonl"];
    let whole = World::with(script());
    whole.plan("plan.json", &tasks);
    let events = whole.aime(run).must(0).lines().len();
    assert!(events > 20, "{events}");
    for after in (1..events).step_by(4) {
        let world = World::with(script());
        world.plan("plan.json", &tasks);
        let mut running = world.start(run);
        wait_until("so many events", || running.stdout().lines().count() >= after || running.has_ended());
        running.kill();
        if after % 8 == 1 {
            // The process that goes on dies, too.
            let mut resumed = world.start(["resume", "trip", "--output", "jsonl"]);
            wait_until("an event", || resumed.stdout().lines().count() > 1 || resumed.has_ended());
            resumed.kill();
        }
        let ended = resume(&world);
        let result = ended.json();
        assert_eq!(ended.code, Some(0), "killed after {after} events\n{ended}");
        assert_eq!(result["answer"], "Three steps.", "killed after {after} events\n{ended}");
        let log = world.read("log");
        for step in ["STEP-ONE", "STEP-TWO", "STEP-THREE"] {
            let first_turns: Vec<Value> = world.actor_requests(step).into_iter().filter(|request| turn(request) == 0).collect();
            assert!(log.matches(step).count() <= 1, "killed after {after} events: {log}");
            // In doubt is the one way to a missing line, and then the actor was told.
            let doubted = world.actor_requests(step).iter().any(|request| messages_text(request).contains("In doubt"));
            assert!(log.contains(step) || doubted, "killed after {after} events: {log}\n{first_turns:#?}");
        }
        let shown = world.aime(["runs", "events", "trip", "--output", "jsonl"]).must(0).lines();
        for (seq, event) in (1_u64..).zip(&shown) {
            assert_eq!(event["seq"], seq, "no gap and no double");
        }
        let checked = world.aime(["runs", "check", "trip", "--output", "json"]);
        let findings = checked.json()["findings"].as_array().unwrap().clone();
        // A process that is killed while it writes a file leaves that, and nothing else.
        let left = findings.iter().all(|finding| finding.to_string().contains("left of a process that ended while it wrote"));
        assert!(left && findings.len() <= 1, "killed after {after} events: {checked}");
        world.aime(["runs", "check", "trip", "--repair"]);
        world.aime(["runs", "check", "trip"]).must(0);
    }
}
