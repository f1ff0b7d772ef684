//! Addresses, headers and answers in the forms in which services have them.

use aime_scripted_server::{Reply, Script, When};
use serde_json::json;

use crate::harness::{World, done, write};

fn script() -> Script {
    Script::new().on(When::tools().and_turn(0), [write("out.txt", "out\n")]).on(When::tools().and_turn(1), [done("out.txt is written")])
}

#[track_caller]
fn runs(name: &str, world: &World) {
    let ended = world.aime(["run", "write out.txt", "--mode", "direct", "--output", "json"]);
    assert_eq!(ended.code, Some(0), "{name}\n{ended}");
    assert_eq!((ended.json()["answer"].as_str(), world.read("out.txt").as_str()), (Some("out.txt is written"), "out\n"), "{name}\n{ended}");
}

#[test]
fn an_address_keeps_its_query_and_may_be_a_full_one() {
    let cases = [
        ("/openai/deployments/d?api-version=2024-10-21", "/openai/deployments/d/chat/completions", "api-version=2024-10-21"),
        (
            "/openai/deployments/d/chat/completions?api-version=2024-10-21",
            "/openai/deployments/d/chat/completions",
            "api-version=2024-10-21",
        ),
        ("/v1/chat/completions", "/v1/chat/completions", ""),
        ("/v1/responses/", "/v1/responses", ""),
    ];
    for (given, path, query) in cases {
        let mut world = World::with(script());
        let root = world.server().url().trim_end_matches("/v1").to_owned();
        world.set("OPENAI_BASE_URL", &format!("{root}{given}"));
        runs(given, &world);
        for received in world.server().received() {
            assert_eq!((received.path.as_str(), received.query.as_str()), (path, query), "{given}");
        }
    }
}

#[test]
fn azure_gets_its_key_in_its_own_header() {
    let cases = [
        ("http://x.openai.azure.com/openai/deployments/d?api-version=2024-10-21", "gpt-4.1", "/openai/deployments/d/chat/completions"),
        ("http://x.openai.azure.com/openai/v1", "gpt-5.6-terra", "/openai/v1/responses"),
    ];
    for (address, model, path) in cases {
        let mut world = World::with(script());
        let proxy = world.server().url().trim_end_matches("/v1").to_owned();
        world.set("http_proxy", &proxy);
        world.set("AZURE_KEY", "key-of-azure");
        // A project's file may not send a key to a server of its own.
        world.user_settings(&format!("[models.default]\nmodel = {model:?}\nbase_url = {address:?}\napi_key_env = \"AZURE_KEY\"\n"));
        runs(address, &world);
        for received in world.server().received() {
            assert_eq!(received.path, path, "{address}");
            let headers = [received.headers.get("api-key"), received.headers.get("authorization")];
            assert_eq!(headers, [Some(&"key-of-azure".to_owned()), None], "{address}");
        }
    }
}

/// A text as gzip data (RFC 1952) with one stored block of deflate (RFC 1951 section 3.2.4).
fn packed(text: &str) -> Vec<u8> {
    let length = u16::try_from(text.len()).unwrap();
    let checksum = text.bytes().fold(u32::MAX, |sum, byte| {
        (0..8).fold(sum ^ u32::from(byte), |sum, _| if sum & 1 == 1 { sum >> 1 ^ 0xedb8_8320 } else { sum >> 1 })
    });
    let mut bytes = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff, 1];
    bytes.extend(length.to_le_bytes().into_iter().chain((!length).to_le_bytes()));
    bytes.extend(text.bytes());
    bytes.extend((!checksum).to_le_bytes().into_iter().chain(u32::from(length).to_le_bytes()));
    bytes
}

/// An answer with one call, as a stream of chat completions.
fn streamed(name: &str, arguments: &serde_json::Value) -> String {
    let call = json!({"index": 0, "id": format!("call_{name}"), "type": "function", "function": {"name": name, "arguments": arguments.to_string()}});
    let chunk =
        |delta: serde_json::Value, finish: serde_json::Value| json!({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]});
    let first = chunk(json!({"role": "assistant", "tool_calls": [call]}), json!(null));
    format!("data: {first}\n\ndata: {}\n\ndata: [DONE]\n\n", chunk(json!({}), json!("tool_calls")))
}

/// The two answers of the run, each made by `raw` from the text of its stream.
fn odd(raw: impl Fn(String) -> Reply) -> World {
    let first = streamed("write_file", &json!({"path": "out.txt", "content": "out\n"}));
    let last = streamed("terminate", &json!({"status": "success", "message": "out.txt is written"}));
    World::with(Script::new().on(When::tools().and_turn(0), [raw(first)]).on(When::tools().and_turn(1), [raw(last)]))
}

#[test]
fn answers_in_odd_forms_are_read() {
    runs("plain", &odd(Reply::raw));
    runs("gzip", &odd(|text| Reply::raw(packed(&text)).with_header("content-encoding", "gzip")));
    runs("gzip without its header", &odd(|text| Reply::raw(packed(&text))));
    runs("gzip in small pieces", &odd(|text| Reply::raw(packed(&text)).with_header("content-encoding", "gzip").in_pieces_of(7)));
    runs("comments as data", &odd(|text| Reply::raw(format!("data: : OPENROUTER PROCESSING\n\n: keep-alive\n\n{text}"))));
    runs("a mark of the byte order", &odd(|text| Reply::raw(format!("\u{feff}{text}"))));
    runs("lines as on Windows", &odd(|text| Reply::raw(text.replace('\n', "\r\n"))));
}

#[test]
fn a_garbled_name_of_a_tool_is_understood() {
    for (write_file, terminate) in
        [("write_file<|channel|>commentary", "terminate<|channel|>commentary"), ("functions.write_file", "functions.terminate")]
    {
        let script = Script::new()
            .on(When::tools().and_turn(0), [Reply::call(write_file, json!({"path": "out.txt", "content": "out\n"}))])
            .on(When::tools().and_turn(1), [Reply::call(terminate, json!({"status": "success", "message": "out.txt is written"}))]);
        let world = World::with(script);
        runs(write_file, &world);
        let sent = world.server().requests()[1].to_string();
        assert!(!sent.contains(write_file), "{sent}");
    }
}

#[test]
fn thoughts_in_the_text_are_no_part_of_the_answer() {
    let script = Script::new()
        .on(When::tools().and_turn(0), [write("out.txt", "out\n").with_text("<think>\nA file first.\n</think>\n\nI write it.")])
        .on(When::tools().and_turn(1), [Reply::text("<think>\nThat is all.\n</think>\n\nout.txt is written")]);
    let world = World::with(script);
    runs("think", &world);
}
