//! Standard output carries the result, standard error everything else.

use aime_scripted_server::{Reply, Script, When};
use serde_json::json;

use crate::harness::{World, actor, done, plan, tool, write};

fn worker() -> World {
    let script = Script::new()
        .on(When::schema("aime_plan"), [Reply::json(plan(&[actor("a", "write out.txt", &[]), actor("b", "look at it", &["a"])]))])
        .on(When::tools().and_contains("look at it"), [done("it is there")])
        .on(When::tools().and_turn(0), [write("out.txt", "out\n")])
        .on(When::tools(), [done("out.txt is written")])
        .on(When::plain(), [Reply::text("The file out.txt is written.")]);
    World::with(script)
}

const RUN: [&str; 4] = ["run", "write out.txt", "--mode", "complex"];

// Requirement: 20.2
#[test]
fn text_puts_the_answer_alone_on_stdout() {
    let ended = worker().aime(RUN).must(0);
    assert_eq!(ended.stdout, "The file out.txt is written.\n");
    for word in ["route", "plan", "start", "done", "completed", "tokens"] {
        assert!(ended.stderr.contains(word), "{word}\n{ended}");
    }
    assert!(!ended.stderr.contains('\u{1b}'), "no colours in a file\n{ended}");
}

// Requirement: 20.2
#[test]
fn quiet_says_nothing_beside_it() {
    let ended = worker().aime(RUN.iter().chain(&["-q"])).must(0);
    assert_eq!(ended.stdout, "The file out.txt is written.\n");
    assert_eq!(ended.stderr, "");
    let failed = World::alone().aime(["run", "x", "-q"]).must(3);
    assert!(failed.stderr.contains("is missing"), "a failure is said all the same\n{failed}");
}

// Requirement: 20.2
#[test]
fn json_prints_one_document() {
    let ended = worker().aime(RUN.iter().chain(&["--output", "json"])).must(0);
    let result = ended.json();
    assert_eq!(result["schema"], "aime.result/v1");
    for member in ["run_id", "status", "answer", "plan_version", "tasks", "replans", "usage", "duration_ms", "error"] {
        assert!(result.get(member).is_some(), "{member}\n{ended}");
    }
    assert_eq!(result["error"], json!(null));
    for member in ["id", "name", "status", "attempts", "summary", "error", "references"] {
        assert!(result["tasks"][0].get(member).is_some(), "{member}\n{ended}");
    }
    for member in ["requests", "input_tokens", "cached_input_tokens", "output_tokens", "cost_usd"] {
        assert!(result["usage"].get(member).is_some(), "{member}\n{ended}");
    }
    assert_eq!(result["tasks"][0]["references"], json!(["out.txt"]));
}

// Requirement: 20.2
#[test]
fn jsonl_prints_every_event_and_the_result_last() {
    let ended = worker().aime(RUN.iter().chain(&["--output", "jsonl"])).must(0);
    let mut lines = ended.lines();
    let result = lines.pop().unwrap();
    assert_eq!(result["schema"], "aime.result/v1");
    assert!(lines.len() > 15, "{ended}");
    for (seq, line) in (1_u64..).zip(&lines) {
        assert_eq!(line["schema"], "aime.event/v1", "{line}");
        assert_eq!(line["seq"], seq, "{line}");
        assert_eq!(line["run_id"], result["run_id"]);
        assert!(line["type"].is_string());
        let time = line["time"].as_str().unwrap();
        assert!(time.ends_with('Z') && time.parse::<jiff::Timestamp>().is_ok(), "{time}");
    }
    assert!(lines.windows(2).all(|pair| pair[0]["time"].as_str() <= pair[1]["time"].as_str()), "time does not go back");
    let kinds: Vec<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    let mut from = 0;
    for kind in [
        "run_started",
        "routed",
        "planning_started",
        "plan_created",
        "actor_created",
        "tool_call_started",
        "tool_call_finished",
        "task_concluded",
        "answered",
        "run_status_changed",
    ] {
        let place =
            kinds[from..].iter().position(|found| *found == kind).unwrap_or_else(|| panic!("{kind} is missing after {from}: {kinds:?}"));
        from += place;
    }
}

#[cfg(unix)]
#[test]
fn json_is_json_wherever_it_goes_and_steers_no_terminal() {
    let goal = "a \u{202e}b \u{200f}c \u{9b}2J \u{7f}d";
    let world = World::alone();
    world.plan("plan.json", &json!({"goal": goal, "tasks": [tool("look", "list_dir", json!({"path": "."}), &[])]}));
    let piped = world.aime(["run", "--plan", "plan.json", "--output", "jsonl"]).must(0);
    assert_eq!(piped.events("run_started")[0]["goal"], goal);
    let shown = world.terminal("AIME run --plan plan.json --output jsonl -q", (100, 30)).ends().must(0);
    let lines: Vec<serde_json::Value> =
        shown.raw.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect();
    assert_eq!(lines.iter().find(|line| line["type"] == "run_started").unwrap()["goal"], goal);
    assert!(!shown.raw.contains(['\u{202e}', '\u{200f}', '\u{9b}', '\u{7f}', '\u{1b}']), "{}", shown.raw);
}

#[test]
fn a_failure_is_said_in_the_form_that_was_asked_for() {
    let world = World::alone();
    world.plan("plan.json", &plan(&[tool("bad", "read_file", json!({"path": "missing.txt"}), &[])]));
    let text = world.aime(["run", "--plan", "plan.json"]).must(1).stderr_contains(&["error", "missing.txt"]);
    assert!(text.stdout.contains("missing.txt"), "the report is the answer\n{text}");
    let json = world.aime(["run", "--plan", "plan.json", "--output", "json"]).must(1).json();
    assert_eq!(json["error"]["code"], "goal_not_reached");
    let last = world.aime(["run", "--plan", "plan.json", "--output", "jsonl"]).must(1).last();
    assert_eq!(last["error"]["code"], "goal_not_reached");
}

#[test]
fn colours_come_only_when_they_are_wanted() {
    let coloured = |arguments: &[&str], variables: &[(&str, &str)]| {
        let mut world = World::alone();
        world.plan("plan.json", &plan(&[tool("a", "list_dir", json!({"path": "."}), &[])]));
        for (name, value) in variables {
            world.set(name, value);
        }
        let ended = world.aime(["run", "--plan", "plan.json"].iter().chain(arguments)).must(0);
        assert!(!ended.stdout.contains('\u{1b}') || arguments.contains(&"always"));
        ended.stderr.contains('\u{1b}')
    };
    assert!(!coloured(&[], &[]), "not into a file");
    assert!(coloured(&["--color", "always"], &[]), "unless they are asked for");
    assert!(!coloured(&["--color", "never"], &[("CLICOLOR_FORCE", "1")]));
    assert!(!coloured(&[], &[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")]), "NO_COLOR is honoured");
}

// Requirement: 20.2
#[test]
fn a_closed_pipe_is_no_error() {
    let world = worker();
    for arguments in [
        vec!["schema"],
        vec!["--help"],
        vec!["completions", "bash"],
        vec!["run", "write out.txt", "--mode", "complex", "--output", "jsonl"],
        vec!["run", "write out.txt", "--mode", "complex"],
    ] {
        let mut shell = world.program("bash");
        // The reader is gone before the first byte is written.
        let line = format!("set -o pipefail; {} {} | exec 0<&-", env!("CARGO_BIN_EXE_aime"), quoted(&arguments));
        shell.args(["-c", &line]);
        let ended = world.spawn(shell).wait();
        assert_eq!(ended.code, Some(0), "{arguments:?}\n{ended}");
        assert!(!ended.stderr.to_lowercase().contains("broken pipe"), "{arguments:?}\n{ended}");
    }
    assert_eq!(world.read("out.txt"), "out\n", "the work is done all the same");
}

fn quoted(arguments: &[&str]) -> String {
    arguments.iter().map(|argument| format!("'{argument}'")).collect::<Vec<_>>().join(" ")
}

// Requirement: 20.2
#[test]
fn a_full_standard_output_is_said() {
    if !std::path::Path::new("/dev/full").exists() {
        return;
    }
    let world = World::alone();
    world.plan("fails.json", &plan(&[tool("read", "read_file", json!({"path": "missing"}), &[])]));
    // A result that is lost is no success, and a run that failed keeps its own code.
    for (command, code) in [("schema plan", 2), ("run --plan fails.json --output json", 1)] {
        let mut shell = world.program("bash");
        shell.args(["-c", &format!("{} {command} > /dev/full", env!("CARGO_BIN_EXE_aime"))]);
        world.spawn(shell).wait().must(code).stderr_contains(&["standard output could not be written", "space"]);
    }
}

// Requirement: 20.2
#[cfg(unix)]
#[test]
fn a_log_that_cannot_be_written_ends_no_run() {
    let sinks = ["2>&-", "2> /dev/full"].into_iter().filter(|sink| !sink.contains("full") || std::path::Path::new("/dev/full").exists());
    for sink in sinks {
        let world = worker();
        let mut shell = world.program("bash");
        shell.args(["-c", &format!("{} -vv {} {sink}", env!("CARGO_BIN_EXE_aime"), quoted(&RUN))]);
        let ended = world.spawn(shell).wait().must(0);
        assert_eq!(ended.stdout, "The file out.txt is written.\n", "{sink}: {ended}");
        assert_eq!(world.read("out.txt"), "out\n", "{sink}");
    }
}

#[test]
fn colors_are_as_asked_for_also_where_nothing_is_done() {
    let world = World::alone();
    for (color, colored) in [("always", true), ("never", false), ("auto", false)] {
        let wrong = world.aime(["--color", color, "run", "--bogus"]).must(2);
        let help = world.aime(["--help", "--color", color]).must(0);
        assert_eq!((wrong.stderr.contains('\u{1b}'), help.stdout.contains('\u{1b}')), (colored, colored), "{color}: {wrong}{help}");
    }
}

#[test]
fn dense_scripts_go_in_and_come_out() {
    let script = Script::new().on(When::tools().and_turn(0), [write("诗.txt", "明月几时有\n")]).on(When::tools(), [done("写好了：诗.txt")]);
    let world = World::with(script);
    let ended = world.aime(["run", "写一首诗到 诗.txt"]).must(0);
    assert_eq!(ended.stdout, "写好了：诗.txt\n");
    assert_eq!(world.read("诗.txt"), "明月几时有\n");
}
