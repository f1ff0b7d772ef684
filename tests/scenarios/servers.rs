//! Servers that are busy, fail, cut their answers, or speak a dialect.

use aime_scripted_server::{Reply, Script, ServerQuirk, When};
use serde_json::{Value, json};

use crate::harness::{World, actor, bash, done, plan, task, turn, write};

fn turns() -> [Reply; 3] {
    [Reply::json(plan(&[actor("a", "write out.txt", &[])])), write("out.txt", "out\n"), done("out.txt is written")]
}

/// Each request fails first as `fault` says, then is answered.
fn after(fault: impl Fn(Reply) -> Reply) -> World {
    let [planned, first, last] = turns();
    let places = [When::schema("aime_plan"), When::tools().and_turn(0), When::tools().and_turn(1)];
    let script = places
        .into_iter()
        .zip([planned, first, last])
        .fold(Script::new(), |script, (when, reply)| script.once(when.clone(), [fault(reply.clone())]).on(when, [reply]));
    World::with(script)
}

fn check(name: &str, world: &World, requests: usize) {
    let ended = world.aime(["run", "write out.txt", "--mode", "complex", "--output", "json"]);
    assert_eq!(ended.code, Some(0), "{name}\n{ended}");
    assert_eq!(world.read("out.txt"), "out\n", "{name}");
    assert_eq!(ended.json()["answer"], "out.txt is written", "{name}");
    assert_eq!(world.server().requests().len(), requests, "{name}\n{ended}");
    assert_eq!(world.server().unmatched(), Vec::<String>::new(), "{name}");
}

#[test]
fn a_busy_server_is_asked_again_when_it_says_so() {
    let busy = |_| Reply::status(429, json!({"error": {"message": "slow down", "type": "rate_limit_error"}}), [("retry-after", "0")]);
    check("429", &after(busy), 6);
}

#[test]
fn a_server_that_fails_is_asked_again() {
    check("500", &after(|_| Reply::status(500, json!({"error": {"message": "the server had an error"}}), [])), 6);
    check("502 with a page", &after(|_| Reply::status(502, json!("<html>Bad Gateway</html>"), [])), 6);
    check("503", &after(|_| Reply::status(503, json!({"error": "loading model"}), [("retry-after", "0")])), 6);
}

#[test]
fn a_cut_answer_is_asked_for_again() {
    check("the connection drops", &after(|reply| reply.cut_after(90)), 6);
    check("the body ends too early", &after(|reply| reply.end_after(90)), 6);
    check("nothing at all", &after(|reply| reply.cut_after(0)), 6);
}

#[test]
fn broken_bytes_are_asked_for_again() {
    check("no JSON", &after(|_| Reply::raw("{\"choices\": [{\"message\"")), 6);
    check("an error with status 200", &after(|_| Reply::raw("{\"error\": {\"message\": \"overloaded\", \"code\": 503}}")), 6);
}

#[test]
fn a_server_that_never_recovers_is_no_model_and_the_run_waits_for_it() {
    let faults = [
        ("always failing", Reply::status(500, json!({"error": {"message": "out of memory"}}), [("retry-after", "0")]), "out of memory"),
        ("always busy", Reply::status(429, json!({"error": {"message": "quota is used up"}}), [("retry-after", "0")]), "quota"),
        ("always cut", Reply::text("hello").cut_after(10), "cut"),
    ];
    for (name, fault, word) in faults {
        for mode in ["direct", "complex"] {
            let mut world =
                World::with(Script::new().on(When::any(), [fault.clone()])).settings("[models.default]\nmodel = \"m\"\nmax_retries = 1\n");
            let ended = world.aime(["run", "write out.txt", "--mode", mode, "--run-id", "r", "--output", "json"]);
            assert_eq!(ended.code, Some(3), "{name} {mode}\n{ended}");
            assert!(ended.json()["error"]["message"].as_str().unwrap().contains(word), "{name} {mode}\n{ended}");
            assert_eq!(world.server().requests().len(), 2, "{name} {mode}: one retry");
            let [planned, first, last] = turns();
            world.serve(
                Script::new().on(When::schema("aime_plan"), [planned]).on(When::tools().and_turn(0), [first]).on(When::tools(), [last]),
            );
            let ended = world.aime(["resume", "r", "--output", "json"]);
            assert_eq!(ended.code, Some(0), "{name} {mode}\n{ended}");
            assert_eq!(world.read("out.txt"), "out\n", "{name} {mode}");
        }
    }
}

const PLAN: [&str; 9] = ["run", "--plan", "plan.json", "--run-id", "r", "--approve", "all", "--output", "json"];

fn overloaded() -> Reply {
    Reply::status(503, json!({"error": {"message": "overloaded"}}), [("retry-after", "0")])
}

/// The resumed run repeats the request that was not answered, and nothing before it. Work in a private folder is merged only at its end.
#[test]
fn an_actor_goes_on_after_an_outage() {
    for isolation in ["shared", "worktree"] {
        let script = Script::new()
            .on(When::tools().and_turn(0), [bash("echo once >> log")])
            .once(When::tools().and_turn(1), [overloaded(), overloaded()])
            .on(When::tools().and_turn(1), [done("logged")]);
        let mut world = World::with(script).settings("[models.default]\nmodel = \"m\"\nmax_retries = 1\n");
        world.set("AIME__RUN__ISOLATION", isolation);
        world.plan("plan.json", &plan(&[actor("a", "LOG it", &[])]));
        let ended = world.aime(PLAN).must(3);
        assert_eq!(task(&ended.json(), "a")["status"], "pending", "{ended}");
        assert_eq!(world.exists("log"), isolation == "shared", "{ended}");
        let ended = world.aime(["resume", "r", "--output", "json"]).must(0);
        assert_eq!(task(&ended.json(), "a")["summary"], "logged", "{ended}");
        assert_eq!(world.read("log"), "once\n", "{ended}");
        let requests = world.server().requests();
        assert_eq!(requests.iter().map(turn).collect::<Vec<_>>(), [0, 1, 1, 1], "{ended}");
        assert_eq!(requests[2]["messages"], requests[3]["messages"], "the conversation is the same one");
        assert_eq!(world.server().unmatched(), Vec::<String>::new());
    }
}

/// Both actors lose their model at the same moment, so that the run may hear of one of them only.
#[test]
fn two_actors_go_on_after_an_outage() {
    let of = |part: &str, turn: usize| When::tools().and_contains(part).and_turn(turn);
    let script = Script::new()
        .on(of("A-PART", 0), [bash("echo a >> log-of-a")])
        .on(of("B-PART", 0), [bash("echo b >> log-of-b")])
        .once(When::tools().and_turn(1), [overloaded().after_waiting(2), overloaded().after_waiting(2)])
        .on(When::tools().and_turn(1), [done("logged")])
        .on(When::plain(), [Reply::text("Both logs are there.")]);
    let world = World::with(script).settings("[models.default]\nmodel = \"m\"\nmax_retries = 0\n").in_one_folder();
    world.plan("plan.json", &plan(&[actor("a", "A-PART", &[]), actor("b", "B-PART", &[])]));
    world.aime(PLAN).must(3);
    let ended = world.aime(["resume", "r", "--output", "json"]).must(0);
    assert_eq!(ended.json()["answer"], "Both logs are there.", "{ended}");
    assert_eq!((world.read("log-of-a"), world.read("log-of-b")), ("a\n".to_owned(), "b\n".to_owned()), "{ended}");
    let turns: Vec<usize> = world.actor_requests("-PART").iter().map(turn).collect();
    let count = |wanted: usize| turns.iter().filter(|turn| **turn == wanted).count();
    assert_eq!((count(0), count(1), turns.len()), (2, 4, 6), "{ended}");
}

#[test]
fn a_call_that_was_cut_by_the_length_limit_is_not_made() {
    let script = Script::new()
        .on(When::tools().and_turn(0), [write("out.txt", "half of what I wan").finish("length")])
        .on(When::tools().and_turn(1), [write("other.txt", "whole\n")])
        .on(When::tools(), [done("other.txt is written")]);
    let world = World::with(script);
    world.aime(["run", "write it"]).must(0);
    assert!(!world.exists("out.txt"));
    assert!(crate::harness::messages_text(&world.server().requests()[1]).contains("length limit"));
}

// Requirement: 1.9
#[test]
fn without_a_final_answer_the_summaries_must_do() {
    let tasks = plan(&[actor("a", "PART-A", &[]), actor("b", "PART-B", &["a"])]);
    let script = Script::new()
        .on(When::tools().and_contains("PART-B"), [done("part b is done")])
        .on(When::tools().and_contains("PART-A"), [done("part a is done")])
        .on(When::plain(), [Reply::status(400, json!({"error": {"message": "I do not answer"}}), [])]);
    let world = World::with(script);
    world.plan("plan.json", &tasks);
    let answer = world.aime(["run", "--plan", "plan.json", "--output", "json"]).must(0).json()["answer"].to_string();
    assert!(answer.contains("part a is done") && answer.contains("part b is done"), "{answer}");
}

// Requirement: 4.39
#[test]
fn large_output_is_cut_and_kept() {
    let script = Script::new().on(When::tools().and_turn(0), [bash("seq 1 20000")]).on(When::tools(), [done("counted")]);
    let world = World::with(script);
    world.aime(["run", "count", "--approve", "all", "--run-id", "r"]).must(0);
    let prompt = crate::harness::messages_text(&world.server().requests()[1]);
    assert!(prompt.len() < 40_000, "{} characters", prompt.len());
    let kept: Vec<_> = files(&world.path(".aime/runs/r")).into_iter().filter(|text| text.contains("\n19999\n20000\n")).collect();
    assert_eq!(kept.len(), 1, "the whole of it is kept");
    assert!(prompt.contains(".aime/runs/r"), "and the actor is told where");
}

/// The texts of all files beneath a folder.
fn files(folder: &std::path::Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(std::fs::read_to_string(&path).unwrap_or_default());
        }
    }
    found
}

#[test]
fn a_web_page_is_no_server() {
    let world = World::with(Script::new().on(When::any(), [Reply::raw("<html>hello</html>")]));
    for mode in ["direct", "complex"] {
        let ended = world.aime(["run", "write out.txt", "--mode", mode, "--output", "json"]).must(3);
        let message = ended.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(message.contains("web page") && message.contains("/v1"), "{mode}\n{ended}");
    }
}

#[test]
fn odd_forms_are_read() {
    let cases: [(&str, &[ServerQuirk]); 10] = [
        ("object arguments", &[ServerQuirk::ObjectArguments]),
        ("null content", &[ServerQuirk::NullContent]),
        ("content in parts", &[ServerQuirk::ContentParts]),
        ("no ids", &[ServerQuirk::NoIds]),
        ("extra fields", &[ServerQuirk::ExtraFields]),
        ("no usage", &[ServerQuirk::NoUsage]),
        ("no finish reason", &[ServerQuirk::NoFinish]),
        ("no end of the stream", &[ServerQuirk::NoDone]),
        ("no stream", &[ServerQuirk::IgnoreStream]),
        (
            "all at once",
            &[
                ServerQuirk::ObjectArguments,
                ServerQuirk::NullContent,
                ServerQuirk::NoIds,
                ServerQuirk::ExtraFields,
                ServerQuirk::NoUsage,
                ServerQuirk::NoFinish,
                ServerQuirk::NoIndex,
            ],
        ),
    ];
    for (name, odds) in cases {
        let with_quirks = |reply: Reply| odds.iter().fold(reply, |reply, quirk| reply.quirk(*quirk));
        check(name, &plain(with_quirks), 3);
    }
    check("an unknown finish reason", &plain(|reply| reply.finish("eos_token")), 3);
    check("reasoning beside it", &plain(|reply| reply.with_reasoning("let me think")), 3);
    check("three bytes at a time", &plain(|reply| reply.in_pieces_of(3)), 3);
}

/// Each request is answered at once, in this form.
fn plain(form: impl Fn(Reply) -> Reply) -> World {
    let [planned, first, last] = turns().map(form);
    World::with(
        Script::new().on(When::schema("aime_plan"), [planned]).on(When::tools().and_turn(0), [first]).on(When::tools().and_turn(1), [last]),
    )
}

// Requirement: 4.36
#[test]
fn without_usage_the_tokens_are_estimated() {
    let world = plain(Reply::without_usage);
    let ended = world.aime(["run", "write out.txt", "--mode", "complex", "--output", "json"]).must(0);
    assert!(ended.json()["usage"]["input_tokens"].as_u64().unwrap() > 100, "{ended}");
}

#[test]
fn broken_arguments_of_a_call_are_told_to_the_actor() {
    let script = Script::new()
        .on(When::tools().and_turn(0), [Reply::call("write_file", Value::from("{\"path\": \"out.txt\", \"content\": 7, \"pth"))])
        .on(When::tools().and_contains("Error").and_turn(1), [write("out.txt", "out\n")])
        .on(When::tools().and_turn(1), [write("out.txt", "out\n")])
        .on(When::tools().and_turn(2), [done("out.txt is written")]);
    let world = World::with(script);
    let ended = world.aime(["run", "write out.txt", "--output", "json"]).must(0);
    assert_eq!(world.read("out.txt"), "out\n", "{ended}");
    // What goes back to the server is JSON again.
    for message in world.server().requests()[1]["messages"].as_array().unwrap() {
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            let arguments = call["function"]["arguments"].as_str().unwrap();
            assert!(serde_json::from_str::<Value>(arguments).is_ok(), "{arguments}");
        }
    }
}

// Requirement: 4.20
#[test]
fn an_unknown_tool_is_told_with_the_names_that_exist() {
    let script = Script::new()
        .on(When::tools().and_turn(0), [Reply::call("hammer", json!({"nail": 1}))])
        .on(When::tools().and_contains("Unknown tool: hammer").and_turn(1), [done("without a hammer")]);
    let world = World::with(script);
    let ended = world.aime(["run", "hit the nail", "--output", "json"]).must(0);
    assert_eq!(ended.json()["answer"], "without a hammer", "{ended}");
    assert!(crate::harness::messages_text(&world.server().requests()[1]).contains("write_file"));
}

#[test]
fn a_call_written_as_text_is_a_call() {
    let call = json!({"name": "write_file", "arguments": {"path": "out.txt", "content": "out\n"}});
    let end = json!({"name": "terminate", "arguments": {"status": "success", "message": "out.txt is written"}});
    let script = Script::new()
        .on(When::tools().and_turn(0), [Reply::text(format!("I write it.\n```json\n{call}\n```"))])
        .on(When::tools().and_turn(1), [Reply::text(format!("<tool_call>{end}</tool_call>"))]);
    let world = World::with(script);
    let ended = world.aime(["run", "write out.txt", "--output", "json"]).must(0);
    assert_eq!(ended.json()["answer"], "out.txt is written", "{ended}");
    assert_eq!(world.read("out.txt"), "out\n");
}

#[test]
fn another_model_takes_over() {
    let script = Script::new()
        .on(When::any().and_model("big"), [overloaded()])
        .on(When::tools().and_model("small").and_turn(0), [write("out.txt", "out\n")])
        .on(When::tools().and_model("small"), [done("out.txt is written")]);
    let world = World::with(script)
        .settings("[models.default]\nmodel = \"big\"\nfallback = [\"other\"]\nmax_retries = 1\n[models.other]\nmodel = \"small\"\n");
    let ended = world.aime(["run", "write out.txt", "--output", "json"]).must(0);
    assert_eq!(ended.json()["answer"], "out.txt is written", "{ended}");
}

#[test]
fn the_flag_and_the_variable_name_the_model() {
    let names = |world: &World| -> Vec<String> {
        world.server().requests().iter().map(|request| request["model"].as_str().unwrap().to_owned()).collect()
    };
    let mut world = World::with(Script::new().on(When::tools(), [done("done")]));
    world.aime(["run", "say it", "--model", "by-flag"]).must(0);
    world.set("AIME_MODEL", "by-variable");
    world.aime(["run", "say it"]).must(0);
    world.aime(["run", "say it", "--model", "by-flag"]).must(0);
    assert_eq!(names(&world), ["by-flag", "by-variable", "by-flag"]);
}

// Requirement: 2.9, 3.45
#[test]
fn each_role_has_its_model() {
    let script = Script::new()
        .on(When::schema("aime_route").and_model("fast"), [Reply::json(json!({"reason": "two steps in a row", "complexity": "simple"}))])
        .on(When::schema("aime_plan").and_model("deep"), [Reply::json(plan(&[actor("a", "PART-A", &[]), actor("b", "PART-B", &["a"])]))])
        .on(When::tools().and_model("usual"), [done("done")])
        .on(When::plain().and_model("usual"), [Reply::text("All of it is done.")]);
    let models = "[models.default]\nmodel = \"usual\"\n[models.planner]\nmodel = \"deep\"\n[models.classifier]\nmodel = \"fast\"\n";
    let world = World::with(script).settings(&format!("{models}[planning]\nstrategy = \"always\"\n"));
    // The rules are unsure of this goal: two verbs, of middle length, no word that tells.
    let goal = "Compare the two lists in this folder and describe what is different between them in a table please";
    let ended = world.aime(["run", goal, "--output", "jsonl"]).must(0);
    let routed = &ended.events("routed")[0];
    assert_eq!((&routed["mode"], &routed["by"]), (&json!("simple"), &json!("model")), "{ended}");
    assert_eq!(world.server().unmatched(), Vec::<String>::new());
    assert_eq!(ended.last()["answer"], "All of it is done.");
}
