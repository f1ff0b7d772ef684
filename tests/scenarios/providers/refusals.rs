//! What servers refuse that must not end a run: tools, a schema, a window, a call that they could not read.

use aime_scripted_server::{Reply, Script, When};
use serde_json::{Value, json};

use super::{
    accepted,
    reading::{calls, results},
};
use crate::harness::{World, actor, done, messages_text, plan, write};

/// A server that this model name tells nothing of.
pub(super) fn world(script: Script) -> World {
    World::with(script).settings("[models.default]\nmodel = \"m\"\n")
}

pub(super) fn refusal(message: &str) -> Reply {
    Reply::status(400, json!({"error": {"message": message, "type": "invalid_request_error"}}), [])
}

/// The names of the tools that a request offers.
pub(super) fn offered(request: &Value) -> Vec<&str> {
    request["tools"].as_array().into_iter().flatten().filter_map(|tool| tool.pointer("/function/name")?.as_str()).collect()
}

#[test]
fn a_call_that_groq_could_not_read_is_asked_for_again() {
    let lost = json!({"error": {
        "message": "Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details.",
        "type": "invalid_request_error", "code": "tool_use_failed", "failed_generation": "<function=write_file>{\"path\": \"out.txt\""
    }});
    let script = Script::new()
        .once(When::tools().and_turn(0), [Reply::status(400, lost.clone(), [])])
        .on(When::tools().and_turn(0), [write("out.txt", "out\n")])
        .once(When::tools().and_turn(1), [Reply::status(400, lost, [])])
        .on(When::tools().and_turn(1), [done("out.txt is written")]);
    let world = world(script);
    let ended = world.aime(["run", "write out.txt", "--mode", "direct", "--output", "json"]).must(0);
    assert_eq!(ended.json()["answer"], "out.txt is written", "{ended}");
    assert_eq!((world.read("out.txt").as_str(), world.server().requests().len()), ("out\n", 4));
}

/// The words of a call in a text, as aime asks servers for it that have no tools.
fn in_words(name: &str, arguments: Value) -> Reply {
    Reply::text(format!("<tool_call>\n{}\n</tool_call>", json!({"name": name, "arguments": arguments})))
}

#[test]
fn a_server_without_tools_gets_calls_as_text() {
    let refusals = [
        ("Ollama", refusal("registry.ollama.ai/library/phi3:latest does not support tools")),
        ("vLLM", refusal("\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set")),
        ("OpenRouter", Reply::status(404, json!({"error": {"message": "No endpoints found that support tool use.", "code": 404}}), [])),
    ];
    let ended = |message: &str| in_words("terminate", json!({"status": "success", "message": message}));
    for (name, refused) in refusals {
        let script = Script::new()
            .on(When::tools(), [refused])
            .on(When::schema("aime_plan"), [Reply::json(plan(&[actor("a", "PART-A", &[]), actor("b", "PART-B", &["a"])]))])
            .on(When::plain().and_contains("PART-B").and_contains("<tool_call>"), [ended("b is done")])
            .on(When::plain().and_contains("<tool_call>").and_turn(0), [in_words("write_file", json!({"path": "a.txt", "content": "a\n"}))])
            .on(When::plain().and_contains("<tool_call>").and_turn(1), [in_words("read_file", json!({"path": "a.txt"}))])
            .on(When::plain().and_contains("<tool_call>").and_turn(2), [ended("a is done")])
            .on(When::plain(), [Reply::text("Both are done.")]);
        let world = world(script);
        let ended = world.aime(["run", "do a and b", "--mode", "complex", "--output", "json"]).must(0);
        assert_eq!((ended.json()["answer"].as_str(), world.read("a.txt").as_str()), (Some("Both are done."), "a\n"), "{name}\n{ended}");
        let requests = accepted(&world);
        let with_tools = requests.iter().filter(|request| request.get("tools").is_some()).count();
        assert_eq!(with_tools, 1, "{name}: the server is asked for tools once");
        let third = requests.iter().find(|request| messages_text(request).contains("<tool_response name=")).unwrap();
        assert!(calls(third).is_empty() && results(third).is_empty(), "{name}: {third:#}");
    }
}

#[test]
fn a_grammar_that_llama_cpp_cannot_parse_is_simplified() {
    let unparsed = Reply::status(500, json!({"error": {"code": 500, "message": "failed to parse grammar", "type": "server_error"}}), []);
    let script = Script::new()
        .once(When::tools(), [unparsed])
        .on(When::tools().and_turn(0), [write("out.txt", "out\n")])
        .on(When::tools().and_turn(1), [done("out.txt is written")]);
    let world = world(script);
    world.aime(["run", "write out.txt", "--mode", "direct", "--output", "json"]).must(0);
    let requests = accepted(&world);
    assert_eq!((requests.len(), world.read("out.txt").as_str()), (3, "out\n"));
    assert_eq!(offered(&requests[0]), offered(&requests[1]), "no tool is left out");
    assert!(!["\"pattern\":\"", "maxLength", "$ref", "\"format\":"].iter().any(|word| requests[1]["tools"].to_string().contains(word)));
}

#[test]
fn the_reserve_is_lowered_to_the_window_of_the_server() {
    let refused = refusal(
        "This model's maximum context length is 8192 tokens. However, you requested 10000 tokens (5904 in the messages, 4096 in the \
         completion). Please reduce the length of the messages or completion.",
    );
    let script = Script::new()
        .once(When::tools(), [refused])
        .on(When::tools().and_turn(0), [Reply::call("read_file", json!({"path": "long.txt"})).without_usage()])
        .on(When::tools().and_turn(1), [done("it is read").without_usage()]);
    let world = world(script);
    world.file("long.txt", &"a line\n".repeat(100));
    world.aime(["run", "read long.txt", "--mode", "direct", "--output", "json"]).must(0);
    let bounds: Vec<u64> = accepted(&world).iter().filter_map(|request| request["max_tokens"].as_u64()).collect();
    // The request's own tokens are estimated, in proportion to what the server counted.
    assert!(bounds[0] == 8_192 && bounds[1].abs_diff(8_192 - 5_904 - 64) < 8, "{bounds:?}");
    assert!(bounds.len() == 3 && bounds[2] < bounds[1], "a longer request leaves less: {bounds:?}");
}

#[test]
fn a_conversation_that_overflows_the_window_is_shortened() {
    let words = [
        "This model's maximum context length is 8192 tokens. However, you requested 12096 tokens (8100 in the messages, 3996 in the completion).",
        "You passed 8190 input tokens and requested 4096 output tokens. However, the model's context length is only 8192 tokens, resulting in \
         a maximum input length of 4096 tokens. Please reduce the length of the input prompt. (parameter=input_tokens, value=8190)",
        "the request exceeds the available context size. try increasing the context size or enable context shift",
    ];
    for words in words {
        let look = |number: usize| Reply::call("read_file", json!({"path": format!("{number}.txt")})).without_usage();
        // Turns are dropped, so their number does not tell how far the task is.
        let script = Script::new()
            .once(When::tools(), (0..4).map(look).chain([refusal(words)]))
            .on(When::tools(), [done("all is read").without_usage()]);
        let world = world(script);
        for number in 0..4 {
            world.file(&format!("{number}.txt"), &format!("line of file {number}\n").repeat(200));
        }
        let ended = world.aime(["run", "read all", "--mode", "direct", "--output", "jsonl"]);
        assert_eq!(ended.code, Some(0), "{words}\n{ended}");
        assert_eq!(ended.events("history_compacted").len(), 1, "{words}\n{ended}");
        let requests = accepted(&world);
        let (refused, again) = (&requests[requests.len() - 2], &requests[requests.len() - 1]);
        assert!(messages_text(again).len() < messages_text(refused).len(), "{words}");
    }
}
