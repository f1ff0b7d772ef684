//! Servers that are busy, fail, cut their answers, or speak a dialect.

use aime_scripted_server::{Odd, Reply, Script, When};
use serde_json::{Value, json};

use crate::harness::{World, actor, done, plan, write};

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
    let cases: [(&str, &[Odd]); 10] = [
        ("object arguments", &[Odd::ObjectArguments]),
        ("null content", &[Odd::NullContent]),
        ("content in parts", &[Odd::ContentParts]),
        ("no ids", &[Odd::NoIds]),
        ("extra fields", &[Odd::ExtraFields]),
        ("no usage", &[Odd::NoUsage]),
        ("no finish reason", &[Odd::NoFinish]),
        ("no end of the stream", &[Odd::NoDone]),
        ("no stream", &[Odd::IgnoreStream]),
        ("all at once", &[Odd::ObjectArguments, Odd::NullContent, Odd::NoIds, Odd::ExtraFields, Odd::NoUsage, Odd::NoFinish, Odd::NoIndex]),
    ];
    for (name, odds) in cases {
        let odd = |reply: Reply| odds.iter().fold(reply, |reply, odd| reply.odd(*odd));
        check(name, &plain(odd), 3);
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

#[test]
fn an_unknown_tool_is_told_with_the_names_that_exist() {
    let script = Script::new()
        .on(When::tools().and_turn(0), [Reply::call("hammer", json!({"nail": 1}))])
        .on(When::tools().and_contains("Unknown tool: hammer").and_turn(1), [done("without a hammer")]);
    let world = World::with(script);
    let ended = world.aime(["run", "hit the nail", "--output", "json"]).must(0);
    assert_eq!(ended.json()["answer"], "without a hammer", "{ended}");
    assert!(crate::harness::said(&world.server().requests()[1]).contains("write_file"));
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
        .on(When::any().and_model("big"), [Reply::status(503, json!({"error": {"message": "overloaded"}}), [("retry-after", "0")])])
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
