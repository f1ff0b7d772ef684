//! `aime doctor` in front of what is commonly wrong: each fault is found, and told with its hint.

use aime_scripted_server::{Provider, Reply, Script, When};
use serde_json::json;

use crate::harness::{Ended, World};

/// A world whose model answers, so that nothing is wrong but what is made so.
fn well() -> World {
    World::with(Script::new().on(When::any(), [Reply::text("ready")]))
}

/// A world whose model answers with this fault.
fn ill(fault: Reply) -> World {
    World::with(Script::new().on(When::any(), [fault])).settings("[models.default]\nmodel = \"m\"\nmax_retries = 0\n")
}

/// Fails unless one thing is told so, with all these words. What is told of it reaches to the next thing.
#[track_caller]
fn assert_report(ended: &Ended, state: &str, thing: &str, words: &[&str]) {
    let begins = |line: &str| ["works", "broken", "absent"].iter().any(|state| line.starts_with(state));
    let lines: Vec<&str> = ended.stdout.lines().collect();
    let first = lines.iter().position(|line| begins(line) && line[8..].starts_with(thing));
    let first = first.unwrap_or_else(|| panic!("nothing is told of {thing}\n{ended}"));
    let rest = lines[first + 1..].iter().take_while(|line| !begins(line));
    let output: Vec<&str> = std::iter::once(&lines[first]).chain(rest).map(|line| line.trim()).collect();
    let output = output.join("\n");
    assert!(output.starts_with(state), "{thing} {state}\n{ended}");
    for word in words {
        assert!(output.contains(word), "{thing}: {word}\n{ended}");
    }
}

/// A server whose model does all that it is asked for.
fn able(provider: Provider) -> Script {
    Script::new()
        .provider(provider)
        .on(When::schema("aime_doctor"), [Reply::json(json!({"number": 5, "word": "five"}))])
        .on(When::tools().and_turn(0), [Reply::call("add", json!({"a": 2, "b": 3})).with_reasoning("I call it.")])
        .on(When::tools().and_turn(1), [Reply::text("The sum is 5.")])
}

#[test]
fn a_server_nearby_is_asked_for_its_window() {
    let world = World::with(able(Provider::Generic).window(24_000)).settings("[models.default]\nmodel = \"scripted\"\n");
    assert_report(&world.aime(["doctor"]).must(0), "works", "model default", &["window 24000"]);
    let world = world.settings("[models.default]\nmodel = \"scripted\"\ncontext_tokens = 16000\n");
    assert_report(&world.aime(["doctor"]).must(0), "works", "model default", &["window 16000"]);
}

#[test]
fn each_part_of_a_model_is_tried() {
    let named = |name: &str| format!("[models.default]\nmodel = \"{name}\"\nmax_retries = 0\n");
    let works = "calls a tool, reads its result, keeps to a form";
    for (provider, name, protocol) in [(Provider::Generic, "m", "over chat"), (Provider::OpenAi, "gpt-5.6-terra", "over responses")] {
        let world = World::with(able(provider)).settings(&named(name));
        assert_report(&world.aime(["doctor"]).must(0), "works", "model default", &[name, protocol, works]);
    }
    // A server without tools is asked in words.
    let refused = json!({"error": {"message": "m does not support tools"}});
    let call = "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 2, \"b\": 3}}\n</tool_call>";
    let script = Script::new()
        .on(When::tools(), [Reply::status(400, refused, [])])
        .on(When::schema("aime_doctor"), [Reply::json(json!({"number": 5, "word": "five"}))])
        .on(When::any().and_turn(0), [Reply::text(call)])
        .on(When::any().and_turn(1), [Reply::text("The sum is 5.")]);
    assert_report(&World::with(script).settings(&named("m")).aime(["doctor"]).must(0), "works", "model default", &[works]);
    // The second turn fails: what works is told, too.
    let script = Script::new()
        .on(When::schema("aime_doctor"), [Reply::json(json!({"number": 5, "word": "five"}))])
        .on(When::tools().and_turn(0), [Reply::call("add", json!({"a": 2, "b": 3}))])
        .on(When::any(), [Reply::status(400, json!({"error": {"message": "no second turn"}}), [])]);
    let ended = World::with(script).settings(&named("m")).aime(["doctor"]).must(0);
    assert_report(&ended, "absent", "model default", &["no answer to a tool's result", "no second turn", "fix: "]);
    // It answers, and does nothing that it is asked for.
    assert_report(
        &well().aime(["doctor"]).must(0),
        "absent",
        "model default",
        &["no tool call: it said “ready”", "no answer in a given form"],
    );
}

const WORKS: &str = "calls a tool, reads its result, keeps to a form";

#[test]
fn a_result_goes_back_and_two_roles_are_one_trial() {
    let planner = "[models.planner]\nmodel = \"m\"\n";
    let world = World::with(able(Provider::Generic)).settings(&format!("[models.default]\nmodel = \"m\"\n{planner}"));
    let ended = world.aime(["doctor"]).must(0);
    assert_report(&ended, "works", "model default", &["m at http://127.0.0.1:", "over chat", WORKS]);
    assert_report(&ended, "works", "model planner", &["as above"]);
    let requests = world.server().requests();
    assert_eq!(requests.len(), 3);
    assert_eq!(requests[0]["tool_choice"], json!({"type": "function", "function": {"name": "add"}}));
    assert!(requests[1].get("tool_choice").is_none_or(|choice| choice == "auto"), "{:#}", requests[1]);
    let turns: Vec<_> = requests[1]["messages"].as_array().unwrap().iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!((turns, &requests[1]["messages"][2]["content"]), (vec!["user", "assistant", "tool"], &json!("5")));
    // Another protocol is another trial.
    let world =
        World::with(able(Provider::Generic)).settings(&format!("[models.default]\nmodel = \"m\"\n{planner}protocol = \"responses\"\n"));
    assert_report(&world.aime(["doctor"]).must(0), "works", "model planner", &["over responses", WORKS]);
}

#[test]
fn a_role_of_a_tried_model_repeats_its_state() {
    let both = "[models.default]\nmodel = \"m\"\nmax_retries = 0\n[models.planner]\nmodel = \"m\"\nmax_retries = 0\n";
    let refused = Reply::status(401, json!({"error": {"message": "no key"}}), []);
    assert_report(&ill(refused).settings(both).aime(["doctor"]).must(3), "broken", "model planner", &["as above"]);
    assert_report(&well().settings(both).aime(["doctor"]).must(0), "absent", "model planner", &["as above"]);
}

#[test]
fn strict_services_pass_with_reasoning() {
    for (service, provider, model, path, protocol) in [
        (Provider::Anthropic, "anthropic", "claude-opus-5", "", "over messages"),
        (Provider::Gemini, "gemini", "gemini-3-pro", "/v1beta", "over gemini"),
        (Provider::DeepSeek, "deepseek", "deepseek-v4-pro", "/v1", "over chat"),
        (Provider::Mistral, "mistral", "devstral-2", "/v1", "over chat"),
    ] {
        let mut script = able(service);
        // Gemini and Anthropic have no names for schemas.
        script.rules.push(script.rules[0].clone());
        script.rules[3].when = When::any();
        let mut world = World::with(script);
        let address = format!("{}{path}", world.server().origin());
        world.set("SERVICE_KEY", "key-of-the-service");
        world.user_settings(&format!(
            "[models.default]\nmodel = {model:?}\nprovider = {provider:?}\nbase_url = {address:?}\napi_key_env = \"SERVICE_KEY\"\n\
             effort = \"high\"\n"
        ));
        assert_report(&world.aime(["doctor"]).must(0), "works", "model default", &[model, protocol, WORKS]);
    }
}

/// A world whose model does all that it is asked for, but answers so where this fits.
fn but_for(when: When, reply: Reply) -> World {
    let mut script = Script::new().on(when, [reply]);
    script.rules.extend(able(Provider::Generic).rules);
    World::with(script).settings("[models.default]\nmodel = \"m\"\nmax_retries = 0\n")
}

#[test]
fn a_part_that_fails_is_told_with_its_hint() {
    let failed = |status, message: &str| Reply::status(status, json!({"error": {"message": message}}), []);
    let (first, second) = (When::tools().and_turn(0), When::tools().and_turn(1));
    let (calls, results, form) = ("no tool call: ", "no answer to a tool's result: ", "no answer in a given form: ");
    let (of_calls, of_results) = ("fix: choose a model that calls tools for [models.default]", "fix: set protocol in [models.default]");
    for (when, reply, words) in [
        (first.clone(), Reply::text("It is five."), [calls, "it said “It is five.”", of_calls]),
        (first.clone(), Reply::text("Let me").finish("length"), [calls, "the answer was cut after 20 tokens", of_calls]),
        (first.clone(), Reply::text("").finish("content_filter"), [calls, "withheld", of_calls]),
        (first.clone(), Reply::call("add", json!({"a": 5})), [calls, "it called with {\"a\":5}", of_calls]),
        (first.clone(), Reply::call("bash", json!({})), [calls, "it called bash", of_calls]),
        (first, failed(500, "Cannot parse"), [calls, "(500): Cannot parse", "fix: try again later"]),
        (second.clone(), failed(500, "Value is not callable: null"), [results, "(500): Value is not callable", "fix: try again later"]),
        (second.clone(), failed(400, "Unexpected message"), [results, "(400): Unexpected message", of_results]),
        (second.clone(), Reply::call("add", json!({"a": 2, "b": 3})), [results, "it called add again", of_results]),
        (second, Reply::text(""), [results, "the answer was empty", of_results]),
        (When { tools: Some(false), ..When::any() }, Reply::text("five"), [form, "it said “five”", "choose another model for planning"]),
    ] {
        assert_report(&but_for(when, reply).aime(["doctor"]).must(0), "absent", "model default", &words);
    }
    let chinese = but_for(When::tools(), Reply::text("5")).aime(["doctor", "--lang", "zh"]).must(0);
    assert!(chinese.stdout.contains("没有工具调用：它说“5”"), "{chinese}");
}

#[test]
fn a_model_that_is_lost_in_its_trial_is_broken() {
    let refused = |status, message: &str| Reply::status(status, json!({"error": {"message": message}}), []);
    for (when, reply, words, requests) in [
        (When::any(), refused(401, "no key"), ["refused the key (401): no key", "api_key_env"], 1),
        (When::tools().and_turn(1), refused(401, "expired"), ["no answer to a tool's result: ", "(401): expired"], 2),
        (When::schema("aime_doctor"), refused(429, "slow down"), ["no answer in a given form: ", "slow down"], 3),
    ] {
        let world = but_for(when, reply);
        assert_report(&world.aime(["doctor"]).must(3), "broken", "model default", &words);
        assert_eq!(world.server().requests().len(), requests, "nothing more is asked");
    }
}

// Requirement: 12.22
#[test]
fn a_model_that_cannot_be_had_is_told_with_its_hint() {
    let refused = |status, message: &str, code: &str| ill(Reply::status(status, json!({"error": {"message": message, "code": code}}), []));
    for (world, words) in [
        (refused(401, "Incorrect API key provided", "invalid_api_key"), ["Incorrect API key", "fix: "]),
        (refused(404, "The model `m` does not exist", "model_not_found"), ["does not exist", "fix: "]),
        (refused(429, "You exceeded your current quota", "insufficient_quota"), ["quota", "fix: "]),
        (ill(Reply::raw("<html>hello</html>")), ["web page", "/v1"]),
    ] {
        assert_report(&world.aime(["doctor"]).must(3), "broken", "model default", &words);
    }
    let mut nobody = World::alone().settings("[models.default]\nmodel = \"m\"\nmax_retries = 0\n");
    nobody.set("OPENAI_BASE_URL", "http://127.0.0.1:1/v1");
    assert_report(&nobody.aime(["doctor"]).must(3), "broken", "model default", &["127.0.0.1:1", "fix: "]);
    nobody.set("OPENAI_BASE_URL", "127.0.0.1:1/v1");
    assert_report(
        &nobody.aime(["doctor"]).must(2),
        "broken",
        "model default",
        &[
            "OPENAI_BASE_URL \"127.0.0.1:1/v1\" cannot be used: it does not begin with http://",
            "write an address such as http://",
            "fix: correct OPENAI_BASE_URL",
        ],
    );
    let mut sealed = well().settings("[models.default]\nmodel = \"m\"\nmax_retries = 0\n");
    sealed.set("OPENAI_BASE_URL", &sealed.server().url().replace("http://", "https://"));
    assert_report(&sealed.aime(["doctor"]).must(3), "broken", "model default", &["fix: ", "write http:// in place of https://"]);
    let mut keyless = World::alone();
    keyless.user_settings("[models.default]\nmodel = \"m\"\napi_key_env = \"MY_KEY\"\n");
    assert_report(&keyless.aime(["doctor"]).must(3), "broken", "model", &["MY_KEY", "fix: "]);
}

// Requirement: 12.22
#[test]
fn faulty_own_files_are_named() {
    let world = well().settings("[run]\nmax_paralel = 7\n");
    world.aime(["doctor"]).must(2).stderr_contains(&["aime.toml:2", "max_paralel", "did you mean", "max_parallel"]);
    let mut world = well();
    world.user_file("profiles/zeus.toml", "name = zeus\n");
    assert_report(&world.aime(["doctor"]).must(2), "broken", "own files", &["zeus.toml", "fix: "]);
}

// Requirement: 12.22
#[test]
fn what_is_not_installed_is_told() {
    let mut world = well();
    world.set("PATH", "/nowhere");
    let ended = world.aime(["doctor"]).must(0);
    assert_report(&ended, "absent", "tool bash", &["there is no bash on the PATH", "fix: install bash"]);
    assert_report(&ended, "absent", "tool python", &["there is no python3 on the PATH", "fix: install python3"]);
    assert_report(&ended, "absent", "private folders", &["no git is found on PATH, and git 2.38 or later is needed", "fix: install git"]);
    let mut required = well().settings("[run]\nisolation = \"worktree\"\n");
    assert_report(&required.aime(["doctor"]).must(0), "works", "private folders", &["git "]);
    required.set("PATH", "/nowhere");
    let words =
        ["run.isolation is \"worktree\"", "no git is found on PATH", "fix: install git 2.38 or later, or set run.isolation = \"auto\""];
    assert_report(&required.aime(["doctor"]).must(2), "broken", "private folders", &words);
}

// Requirement: 12.22
#[cfg(feature = "mcp")]
#[test]
fn each_server_of_tools_is_started_and_tells_what_it_offers_or_why_not() {
    let mut world = well();
    world.file("clock.sh", crate::mcp::CLOCK);
    let clock = "[mcp.servers.clock]\ncommand = \"sh\"\nargs = [\"clock.sh\"]\n";
    world.user_settings(clock);
    assert_report(&world.aime(["doctor"]).must(0), "works", "MCP server clock", &["1 tool (shell-clock"]);
    world.user_settings(&format!(
        "{clock}[mcp.servers.lost]\ncommand = \"no-such-program\"\n[mcp.servers.off]\ncommand = \"x\"\nenabled = false\n"
    ));
    let ended = world.aime(["doctor"]).must(1);
    assert_report(&ended, "works", "MCP server clock", &["1 tool"]);
    assert_report(&ended, "broken", "MCP server lost", &["no-such-program", "fix: correct its settings, or set enabled = false"]);
    assert!(!ended.stdout.contains("MCP server off"), "{ended}");
    let chinese = world.aime(["doctor", "--lang", "zh"]).must(1);
    assert!(chinese.stdout.contains("MCP 服务器 lost") && chinese.stdout.contains("修正它的设置"), "{chinese}");
}
