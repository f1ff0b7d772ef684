//! Every exit code of the contract, and what is said beside it.

use aime_durable::{Commit, EffectId, Journal, Recorded};
use aime_orchestrator::{RunFact, RunMachine};
use aime_progress_management::ProgressEvent;
use aime_scripted_server::{Reply, Script, When};
use serde_json::json;

use crate::harness::{World, actor, done, gives_up, plan, task, tool, write};

/// A server whose actors write a file and end.
fn worker() -> World {
    World::with(Script::new().on(When::tools().and_turn(0), [write("out.txt", "out\n")]).on(When::tools(), [done("out.txt is written")]))
}

fn silent() -> World {
    World::with(Script::new().on(When::any(), [Reply::hang()]))
}

// Requirement: 20.1
#[test]
fn zero_when_the_goal_was_reached() {
    let world = worker();
    let ended = world.aime(["run", "write out.txt"]).must(0);
    assert_eq!(ended.stdout, "out.txt is written\n");
    assert_eq!(world.read("out.txt"), "out\n");
}

// Requirement: 20.1
#[test]
fn one_when_the_goal_was_not_reached() {
    let world = World::with(Script::new().on(When::tools(), [gives_up("the ink is dry")]));
    let ended = world.aime(["run", "write out.txt", "--output", "json"]).must(1);
    let result = ended.json();
    assert_eq!(result["status"], "failed");
    assert_eq!(result["error"]["code"], "goal_not_reached");
    assert!(result["error"]["message"].as_str().unwrap().contains("the ink is dry"), "{ended}");
    assert_eq!(result["tasks"][0]["attempts"], 1, "nobody tries again what its actor has given up");
}

// Requirement: 20.1
#[test]
fn two_for_wrong_arguments() {
    let world = worker();
    let cases: &[(&[&str], &[&str])] = &[
        (&[], &["Usage"]),
        (&["fly"], &["fly"]),
        (&["run", "goal", "--fast"], &["--fast"]),
        (&["run", "goal", "--mode", "wild"], &["wild", "complex"]),
        (&["run", "goal", "--max-parallel", "0"], &["--max-parallel", "0"]),
        (&["run", "goal", "--max-tokens", "many"], &["--max-tokens", "many"]),
        (&["run", "goal", "--timeout", "soon"], &["--timeout", "soon"]),
        (&["run", "goal", "--approve", "never"], &["never", "read-only"]),
        (&["run", "goal", "--output", "xml"], &["xml", "jsonl"]),
        (&["run", "goal", "-q", "-v"], &["--quiet", "--verbose"]),
        (&["run", "goal", "--goal-file", "goal.txt"], &["--goal-file"]),
        (&["run"], &["no goal", "hint"]),
        (&["run", ""], &["empty", "hint"]),
        (&["run", "  \n "], &["empty"]),
        (&["continue", "ghost"], &["no goal", "hint: aime continue ghost"]),
        (&["run", "--goal-file", "missing.txt"], &["missing.txt"]),
        (&["run", "--plan", "missing.json"], &["missing.json"]),
        (&["run", "goal", "--run-id", "../up"], &["../up"]),
        (&["run", "goal", "--run-id", "last"], &["`last`", "the newest run", "choose another --run-id"]),
        (&["-C", "nowhere", "run", "goal"], &["nowhere"]),
        (&["--config", "missing.toml", "run", "goal"], &["missing.toml"]),
        (&["check", "missing.json"], &["missing.json"]),
        (&["resume", "ghost"], &["ghost"]),
        (&["runs", "show", "ghost"], &["ghost"]),
        (&["runs", "delete", "ghost"], &["ghost"]),
        (&["answer", "ghost", "yes"], &["ghost"]),
        (&["tools", "show", "hammer"], &["hammer"]),
        (&["tools", "call", "hammer", "{}"], &["hammer"]),
        (&["tools", "call", "grep", "{"], &["JSON"]),
        (&["tools", "call", "grep", "{}"], &["pattern"]),
        (&["profiles", "show", "hercules"], &["hercules"]),
        (&["schema", "poem"], &["poem"]),
        (&["completions", "cmd"], &["cmd"]),
    ];
    for (arguments, words) in cases {
        let ended = world.aime(arguments.iter());
        assert_eq!(ended.code, Some(2), "{arguments:?}\n{ended}");
        for word in *words {
            assert!(ended.stderr.contains(word), "{arguments:?} does not tell {word:?}\n{ended}");
        }
        assert_eq!(ended.stdout, "", "{arguments:?}");
    }
    assert!(world.server().requests().is_empty(), "no model is asked for what is wrong");
    assert!(!world.exists(".aime/runs"), "no run was begun");
}

#[test]
fn two_for_an_unreadable_goal() {
    let world = worker();
    std::fs::write(world.path("goal.bin"), [0xff, 0xfe, 0x00]).unwrap();
    world.aime(["run", "--goal-file", "goal.bin"]).must(2).stderr_contains(&["goal.bin"]);
    std::fs::create_dir(world.path("folder")).unwrap();
    world.aime(["run", "--goal-file", "folder"]).must(2).stderr_contains(&["folder"]);
    world.aime_reading(["run", "-"], "").must(2).stderr_contains(&["empty"]);
    world.aime_reading(["run", "-"], "write out.txt\n").must(0);
    world.file("goal.txt", "write out.txt\n");
    world.aime(["run", "--goal-file", "goal.txt"]).must(0);
}

#[test]
fn only_an_argument_is_taken_for_a_file_name() {
    let world = worker();
    world.file("TODO", "nothing\n");
    world.file("goal", "TODO\n");
    world.aime(["run", "TODO"]).must(2).stderr_contains(&["only the name of a file", "--goal-file TODO"]);
    world.aime_reading(["run", "-"], "TODO\n").must(0);
    world.aime(["run", "--goal-file", "goal"]).must(0);
    // The content of a file does not name standard input, which is empty here.
    world.file("goal", "-");
    let ended = world.aime(["run", "--goal-file", "goal"]);
    assert_ne!(ended.code, Some(2), "{ended}");
}

#[test]
fn two_for_a_wrong_configuration() {
    let cases: &[(&str, &[&str])] = &[
        ("[run]\nmax_paralel = 2\n", &["aime.toml:2", "max_paralel", "max_parallel"]),
        ("\n[runn]\n", &["aime.toml:2", "runn", "run"]),
        ("[run]\nmax_parallel = \"two\"\n", &["aime.toml:2"]),
        ("[planning]\nmode = \"complicated\"\n", &["aime.toml:2", "complicated"]),
        ("[run\n", &["aime.toml:1"]),
        ("[models.default]\nkey = \"sk-1\"\n", &["aime.toml:2", "key"]),
        ("[models.default]\nfallback = [\"ghost\"]\n", &["ghost"]),
    ];
    for (text, words) in cases {
        let world = worker().settings(text);
        let ended = world.aime(["run", "write out.txt"]);
        assert_eq!(ended.code, Some(2), "{text}\n{ended}");
        for word in *words {
            assert!(ended.stderr.contains(word), "{text} does not tell {word:?}\n{ended}");
        }
        assert!(world.server().requests().is_empty());
    }
}

#[test]
fn two_for_a_wrong_variable() {
    for (name, value, words) in [
        ("AIME__RUN__MAX_PARALLEL", "many", ["AIME__RUN__MAX_PARALLEL", "many"]),
        ("AIME__RUN__MAX_PARALEL", "2", ["AIME__RUN__MAX_PARALEL", "max_parallel"]),
    ] {
        let mut world = worker();
        world.set(name, value);
        world.aime(["run", "write out.txt"]).must(2).stderr_contains(&words);
    }
}

#[test]
fn two_for_an_invalid_plan() {
    let world = World::alone();
    let cases = [
        ("not json at all", "plan.json"),
        ("{\"tasks\": []}", "tasks"),
        ("{\"tasks\": [{\"id\": \"a\", \"description\": \"x\", \"dependencies\": [\"b\"]}]}", "b"),
        ("{\"tasks\": [{\"id\": \"a\", \"tool\": \"hammer\", \"parameters\": {}}]}", "hammer"),
    ];
    for (text, word) in cases {
        world.file("plan.json", text);
        let ended = world.aime(["run", "--plan", "plan.json"]);
        assert_eq!(ended.code, Some(2), "{text}\n{ended}");
        assert!(ended.stderr.contains(word), "{text}\n{ended}");
        assert!(!world.exists(".aime/runs"));
    }
    std::fs::write(world.path("plan.json"), [0xff, 0xfe, 0x00]).unwrap();
    world.aime(["run", "--plan", "plan.json"]).must(2).stderr_contains(&["plan.json"]);
    world.aime(["check", "."]).must(2);
    world.file("plan.json", &"[".repeat(100_000));
    world.aime(["check", "plan.json"]).must(2);
}

// Requirement: 20.1
#[test]
fn three_without_a_model() {
    let world = World::alone();
    let missing = ["qwen2.5-coder-1.5b in this process (no other is configured)", "is missing", "OPENAI_BASE_URL", "hint"];
    for arguments in [["run", "write out.txt"], ["plan", "write out.txt"]] {
        let ended = world.aime(arguments).must(3).stderr_contains(&missing);
        assert!(ended.stderr.starts_with("model "), "the model is the first thing said\n{ended}");
    }
    world.plan("plan.json", &plan(&[actor("a", "A", &[])]));
    world.aime(["run", "--plan", "plan.json"]).must(3).stderr_contains(&missing);
}

/// No note comes before the line on the local model.
#[test]
fn three_with_the_local_model_in_the_first_line() {
    let mut world = World::alone().settings("[sandbox]\nmode = \"off\"\n");
    world.user_settings("[mcp.servers.clock]\ncommand = \"no-such-program\"\n");
    world.file("plan.json", "{\"tasks\": [{\"id\": \"a\", \"description\": \"x\"},]}");
    for arguments in [&["run", "write out.txt"][..], &["plan", "write out.txt"], &["run", "--plan", "plan.json"]] {
        let ended = world.aime(arguments).must(3).stderr_contains(&["[sandbox] in ", "clock"]);
        assert!(ended.stderr.starts_with("model "), "{ended}");
        assert_eq!(ended.stderr.contains("repaired in the plan"), arguments.contains(&"--plan"), "{ended}");
    }
}

#[test]
fn three_without_a_key() {
    let mut world = World::alone();
    world.user_settings("[models.default]\nmodel = \"m\"\napi_key_env = \"MY_KEY\"\n");
    world.aime(["run", "write out.txt"]).must(3).stderr_contains(&["MY_KEY", "hint"]);
    for form in ["json", "jsonl"] {
        let ended = world.aime(["run", "write out.txt", "--run-id", "r", "--output", form]).must(3).stderr_contains(&["MY_KEY"]);
        let result = ended.json();
        assert_eq!((&result["schema"], &result["run_id"], &result["status"]), (&json!("aime.result/v1"), &json!("r"), &json!("failed")));
        assert_eq!(result["error"]["code"], "model_unavailable", "{ended}");
        assert!(result["error"]["hint"].as_str().is_some_and(|hint| hint.contains("MY_KEY")), "{ended}");
    }
    world.aime(["runs", "show", "r"]).must(2);
}

#[test]
fn three_when_a_run_cannot_go_on_without_a_key() {
    let world = World::with(Script::new().on(When::any(), [Reply::status(401, json!({}), [])]));
    world.aime(["run", "write out.txt", "--mode", "direct", "--run-id", "r"]).must(3);
    world.file("aime.toml", "[models.default]\nmodel = \"m\"\nbase_url = \"https://models.example/v1\"\napi_key_env = \"MY_KEY\"\n");
    let result = world.aime(["resume", "r", "--output", "json"]).must(3).json();
    assert_eq!((&result["run_id"], &result["error"]["code"]), (&json!("r"), &json!("model_unavailable")));
}

/// A model that refuses the key spoils no plan of tool tasks, and one with an actor waits for it.
#[test]
fn zero_when_a_plan_of_tools_is_done_without_a_model() {
    let note = tool("note", "write_file", json!({"path": "note.txt", "content": "done"}), &[]);
    for (tasks, code) in [(vec![note.clone()], 0), (vec![note, actor("tell", "TELL it", &["note"])], 3)] {
        let world = World::led(Script::new().on(When::any(), [Reply::status(401, json!({}), [])]));
        world.plan("plan.json", &plan(&tasks));
        let ended = world.aime(["run", "--plan", "plan.json", "--approve", "all", "--output", "json"]).must(code);
        assert_eq!(
            (world.read("note.txt").as_str(), task(&ended.json(), "note")["status"].as_str()),
            ("done", Some("completed")),
            "{ended}"
        );
    }
}

/// An address at which nothing listens.
fn nobody_listens() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}/v1", listener.local_addr().unwrap())
}

const FEW_RETRIES: &str = "[models.default]\nmodel = \"m\"\nmax_retries = 1\n";

#[test]
fn three_when_nobody_listens() {
    for mode in ["direct", "complex"] {
        let mut world = World::alone().settings(FEW_RETRIES);
        let address = nobody_listens();
        world.set("OPENAI_BASE_URL", &address);
        let ended = world.aime(["run", "write out.txt", "--mode", mode, "--output", "json"]).must(3);
        let error = ended.json()["error"].clone();
        assert_eq!(error["code"], "model_unavailable", "{mode}\n{ended}");
        let hint = error["hint"].as_str().unwrap();
        assert!(hint.contains(&format!("a model server listens at {address}, which OPENAI_BASE_URL sets")), "{mode}\n{ended}");
        let place = address.trim_start_matches("http://").trim_end_matches("/v1");
        assert!(error["message"].as_str().unwrap().contains(place), "{mode}: it says where\n{ended}");
    }
}

#[test]
fn three_when_the_server_refuses_and_the_run_goes_on_once_it_does_not() {
    let refusal = json!({"error": {"message": "Incorrect API key provided", "type": "invalid_request_error", "code": "invalid_api_key"}});
    for (status, mode) in [(401, "direct"), (401, "complex"), (403, "direct")] {
        let mut world = World::with(Script::new().on(When::any(), [Reply::status(status, refusal.clone(), [])]));
        world.set("OPENAI_API_KEY", "sk-secret-of-the-scenario");
        let ended = world.aime(["run", "write out.txt", "--mode", mode, "--run-id", "r", "--output", "json"]).must(3);
        assert!(ended.json()["error"]["message"].as_str().unwrap().contains("Incorrect API key"), "{mode}\n{ended}");
        assert_eq!(world.server().requests().len(), 1, "what is refused is not tried again\n{ended}");
        assert!(!ended.stderr.contains("sk-secret") && !ended.stdout.contains("sk-secret"), "a key is never shown");
        world.serve(
            Script::new()
                .on(When::schema("aime_plan"), [Reply::json(plan(&[actor("a", "write it", &[])]))])
                .on(When::tools().and_turn(0), [write("out.txt", "out\n")])
                .on(When::tools(), [done("written")]),
        );
        let ended = world.aime(["resume", "r", "--output", "json"]).must(0);
        assert_eq!(ended.json()["status"], "completed", "{mode}\n{ended}");
        assert_eq!(world.read("out.txt"), "out\n");
    }
}

/// Each refusal has its own advice, whoever has asked the model.
// Requirement: 20.1
#[test]
fn three_with_the_advice_for_each_refusal() {
    let refusal = |code: &str| json!({"error": {"message": "no", "type": "invalid_request_error", "code": code}});
    for (status, code, hint, chinese) in [
        (401, "invalid_api_key", "set the key for {url} in the environment variable that the model's api_key_env names", "api_key_env"),
        (403, "forbidden", "check that the account of the key may use the model, or name another model", "账户"),
        (404, "model_not_found", "name one of the models that {url}/models lists", "/models"),
        (429, "insufficient_quota", "check the balance and the limits of the account", "余额"),
    ] {
        let world = World::led(Script::new().on(When::any(), [Reply::status(status, refusal(code), [("retry-after", "0")])]));
        let hint = hint.replace("{url}", &world.server().url());
        for mode in ["auto", "direct"] {
            let ended = world.aime(["run", "write out.txt", "--mode", mode, "--run-id", mode, "--output", "json"]).must(3);
            let hint = format!("{hint}; then `aime resume {mode}`");
            assert_eq!(ended.json()["error"]["hint"].as_str(), Some(hint.as_str()), "{status} {mode}\n{ended}");
        }
        let stderr = world.aime(["run", "write out.txt", "--run-id", "zh", "--lang", "zh"]).must(3).stderr;
        let line = stderr.lines().find(|line| line.starts_with("提示")).unwrap_or_default();
        assert!(line.contains(chinese) && line.ends_with("；然后 `aime resume zh`"), "{status}: {stderr}");
    }
}

#[test]
fn three_when_the_model_is_unknown() {
    let refusal = json!({"error": {"message": "The model `m` does not exist", "type": "invalid_request_error", "code": "model_not_found"}});
    let script = Script::new().on(When::any().and_model("m"), [Reply::status(404, refusal, [])]).on(When::tools(), [done("done")]);
    let world = World::with(script).settings(FEW_RETRIES);
    let ended = world.aime(["run", "write out.txt", "--run-id", "r", "--output", "json"]).must(3);
    assert!(ended.json()["error"]["message"].as_str().unwrap().contains("does not exist"), "{ended}");
    world.aime(["resume", "r", "--model", "another"]).must(0);
}

// Requirement: 10.1, 20.1
#[test]
fn four_when_the_tokens_are_used_up_and_more_of_them_let_it_go_on() {
    let script = Script::new()
        .on(When::tools().and_turn(0), [write("out.txt", "out\n").usage(5_000, 100)])
        .on(When::tools(), [done("out.txt is written")]);
    let world = World::with(script);
    let ended = world.aime(["run", "write out.txt", "--max-tokens", "5000", "--run-id", "r", "--output", "json"]).must(4);
    let result = ended.json();
    assert_eq!(result["error"]["code"], "bound_reached");
    assert!(result["error"]["message"].as_str().unwrap().contains("5000"), "{ended}");
    assert_eq!(world.server().requests().len(), 1, "nothing is spent that was not there");
    let ended = world.aime(["resume", "r", "--max-tokens", "50000", "--output", "json"]).must(0);
    assert_eq!(ended.json()["answer"], "out.txt is written");
    assert_eq!(world.server().requests().len(), 2, "{ended}");
}

// Requirement: 10.2
#[test]
fn four_when_the_money_is_spent() {
    let script = Script::new()
        .on(When::tools().and_turn(0), [write("out.txt", "out\n").usage(1_000_000, 0)])
        .on(When::tools(), [done("out.txt is written")]);
    let world = World::with(script).settings("[models.default]\nmodel = \"m\"\nprices = { input = 2.0, output = 8.0 }\n");
    let ended = world.aime(["run", "write out.txt", "--max-cost", "1.5", "--output", "json"]).must(4);
    let result = ended.json();
    assert_eq!(result["usage"]["cost_usd"], 2.0, "{ended}");
    assert_eq!(world.server().requests().len(), 1);
    assert!(!ended.stderr.contains("--max-cost cannot be kept"), "{ended}");
    let world =
        world.settings("[models.default]\nmodel = \"m\"\nprices = { input = 2.0, output = 8.0 }\n[models.planner]\nmodel = \"p\"\n");
    let hint = "no prices are known for models.planner: set models.planner.prices, or use --max-tokens";
    world
        .aime(["run", "write out.txt", "--max-cost", "1.5", "--run-id", "r"])
        .must(4)
        .stderr_contains(&["--max-cost cannot be kept", hint]);
    world.aime(["resume", "r", "--max-cost", "1.6"]).must(4).stderr_contains(&["--max-cost cannot be kept", hint]);
}

// Requirement: 10.4
#[test]
fn four_when_the_time_is_over() {
    let mut world = silent();
    let ended = world.aime(["run", "write out.txt", "--timeout", "1s", "--run-id", "r", "--output", "json"]).must(4);
    assert_eq!(ended.json()["error"]["code"], "bound_reached", "{ended}");
    world.serve(Script::new().on(When::tools(), [done("in time")]));
    world.aime(["resume", "r"]).must(4);
    assert!(world.server().requests().is_empty(), "the time is still over");
    world.aime(["resume", "r", "--timeout", "1h"]).must(0);
}

// Requirement: 10.5
#[test]
fn four_when_the_steps_are_used_up() {
    let script = Script::new().on(When::tools(), [Reply::call("list_dir", json!({"path": "."}))]);
    let world = World::with(script).settings("[run]\nmax_steps = 3\n[triggers]\nmax_retries = 0\n");
    let ended = world.aime(["run", "look around", "--mode", "direct", "--output", "json"]).must(4);
    assert!(ended.json()["error"]["message"].as_str().unwrap().contains("max_steps"), "{ended}");
    assert_eq!(world.server().requests().len(), 3, "not one more");
}

// Requirement: 10.8
#[test]
fn four_when_the_tool_calls_are_used_up() {
    let world = World::alone().settings("[run]\nmax_tool_calls = 2\n");
    let tasks: Vec<_> = (0..5).map(|n| tool(&format!("t{n}"), "list_dir", json!({"path": "."}), &[])).collect();
    world.plan("plan.json", &plan(&tasks));
    let ended = world.aime(["run", "--plan", "plan.json", "--output", "jsonl", "--max-parallel", "1", "--run-id", "r"]).must(4);
    assert_eq!(ended.events("tool_call_started").len(), 2, "{ended}");
    world.aime(["resume", "r"]).must(4).stderr_contains(&["max_tool_calls"]);
    world.file("aime.toml", "[run]\nmax_tool_calls = 5\n");
    world.aime(["resume", "r"]).must(0);
}

// Requirement: 10.6
#[test]
fn four_when_the_actors_are_used_up() {
    let world = World::with(Script::new().on(When::tools(), [gives_up("once more")]))
        .settings("[run]\nmax_actors = 2\n[classes.capable]\nretry_reported_failures = true\n");
    let ended = world.aime(["run", "write out.txt", "--output", "json"]).must(4);
    assert_eq!(ended.json()["error"]["code"], "bound_reached", "{ended}");
    assert_eq!(world.server().requests().len(), 2);
}

// Requirement: 20.1
#[test]
fn five_when_a_person_is_asked() {
    let world = World::with(Script::new().on(When::tools(), [Reply::call("ask_human", json!({"question": "Which one?"}))]));
    let expected = ["question: Which one?", "hint: answer with `aime answer r TEXT`, then `aime resume r`"];
    let ended = world.aime(["run", "choose one", "--run-id", "r"]).must(5).stderr_contains(&expected);
    assert!(!ended.stderr.contains("error"), "nothing has failed\n{ended}");
}

// Requirement: 10.10, 20.1
#[test]
fn a_hundred_and_thirty_when_interrupted() {
    let world = silent();
    let running = world.start(["run", "write out.txt", "--run-id", "r"]);
    world.wait_for_requests(1);
    running.signal("INT");
    let ended = running.wait().must(130).stderr_contains(&["stopped: ", "hint: go on with `aime resume r`"]);
    assert!(!ended.stderr.contains("error"), "nothing has failed\n{ended}");
}

/// An MCP server that does not answer holds up the beginning of a run.
#[test]
fn a_hundred_and_thirty_before_the_run_begins() {
    let mut world = silent();
    world.file("slow.sh", "echo > asked\nsleep 60\n");
    world.user_settings("[mcp.servers.slow]\ncommand = \"sh\"\nargs = [\"slow.sh\"]\n");
    let running = world.start(["run", "write out.txt", "--run-id", "r", "--output", "json"]);
    world.wait_for_file("asked");
    running.signal("INT");
    let ended = running.wait().must(130);
    let result = ended.json();
    assert_eq!((&result["run_id"], &result["error"]["code"]), (&json!("r"), &json!("interrupted")), "{ended}");
    assert_eq!(result["status"], "interrupted", "{ended}");
    assert!(world.server().requests().is_empty(), "nothing was begun");
}

// Requirement: 10.11
#[test]
fn a_second_interrupt_stops_at_once() {
    // A command that does not listen to polite signals keeps the first stop waiting for a while.
    let script = Script::new().on(When::tools(), [crate::harness::bash("trap '' INT TERM; echo > began; sleep 20")]);
    let world = World::with(script);
    let running = world.start(["run", "sleep", "--run-id", "r", "--approve", "all", "--output", "jsonl"]);
    world.wait_for_file("began");
    running.signal("INT");
    running.signal("INT");
    let result = running.wait().must(130).last();
    assert_eq!((&result["schema"], &result["run_id"]), (&json!("aime.result/v1"), &json!("r")), "programs get their result: {result}");
    assert_eq!(result["error"]["code"], "interrupted", "{result}");
}

/// A fault in aime itself: no input that a person or a server can give is known to reach it. Here it is a machine that has changed
/// without a new number, so that a journal's facts no longer lead to its events.
// Requirement: 20.1
#[test]
fn six_for_a_fault_in_aime_itself() {
    let world = World::alone();
    world.plan("plan.json", &plan(&[tool("write", "write_file", json!({"path": "out.txt", "content": "out"}), &[])]));
    world.aime(["run", "--plan", "plan.json", "--approve", "ask", "--run-id", "odd"]).must(5);

    let journal = Journal::open(world.path(".aime/aime.db")).unwrap();
    let loaded = journal.load::<RunMachine>("odd", "").unwrap().unwrap();
    let at = loaded.last_at();
    let facts = [Recorded { at, fact: RunFact::Deferred { id: EffectId::new("ask/nobody") } }];
    let events = [Recorded { at, fact: ProgressEvent::RunInterrupted { reason: "by another machine".into() } }];
    let mut stream = journal.stream("odd", "").after(&loaded);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(stream.append::<RunMachine>(Commit { input: None, facts: &facts, events: (&events).into() })).unwrap();
    drop((stream, journal));

    world.aime(["resume", "odd"]).must(6).stderr_contains(&["odd", "replayed", "diverges"]);
    for form in ["json", "jsonl"] {
        let result = world.aime(["resume", "odd", "--output", form]).must(6).json();
        assert_eq!((&result["run_id"], &result["error"]["code"]), (&json!("odd"), &json!("internal")), "{form}: {result}");
    }
    assert!(!world.exists("out.txt"), "nothing is done on a journal that is not understood");
}
