//! What a user sets and nothing else: a key, headers, members of the body.

use aime_scripted_server::{Provider, Reply, Script, When};
use serde_json::json;

use super::{SERVICES, accepted, reading::acts, refused, thought};
use crate::harness::{World, actor, done, plan, write};

fn script() -> Script {
    Script::new()
        .on(When::schema("aime_plan"), [thought(0, Reply::json(plan(&[actor("write", "WRITE-IT", &[])])))])
        .on(When::tools().and_turn(0), [thought(1, write("out.txt", "out\n"))])
        .on(When::tools().and_turn(1), [thought(2, Reply::call("read_file", json!({"path": "out.txt"})))])
        .on(When::tools().and_turn(2), [thought(3, done("out.txt is written"))])
        .on(When::any(), [thought(4, Reply::text("out.txt is written"))])
}

// Requirement: 11.7
#[test]
fn a_key_is_enough_for_the_first_run() {
    let providers = [
        ("OPENAI", Provider::OpenAi, "/v1", "authorization"),
        ("ANTHROPIC", Provider::Anthropic, "", "x-api-key"),
        ("GEMINI", Provider::Gemini, "/v1beta", "x-goog-api-key"),
        ("DEEPSEEK", Provider::DeepSeek, "/v1", "authorization"),
        ("OPENROUTER", Provider::OpenRouter, "/api/v1", "authorization"),
        ("MISTRAL", Provider::Mistral, "/v1", "authorization"),
    ];
    for (name, provider, path, header) in providers {
        for mode in ["direct", "complex"] {
            let mut world = World::alone();
            world.serve(script().provider(provider));
            world.set("OPENAI_BASE_URL", "");
            world.set(&format!("{name}_BASE_URL"), &format!("{}{path}", world.server().origin()));
            world.set(&format!("{name}_API_KEY"), "key-of-the-service");
            let ended = world.aime(["run", "write out.txt", "--mode", mode]);
            assert_eq!(ended.code, Some(0), "{name}\n{ended}\n{:#?}", refused(&world));
            assert_eq!(world.read("out.txt"), "out\n", "{name}");
            let first = ended.stderr.lines().next().unwrap_or_default();
            assert!(first.contains(&format!("{name}_API_KEY")), "{first}\n{ended}");
            for received in world.server().received() {
                assert!(received.headers[header].ends_with("key-of-the-service"), "{name}: {:?}", received.headers);
            }
            println!("{name} {mode} {}", refused(&world).len());
        }
    }
}

#[test]
fn headers_and_members_of_a_model_are_in_each_request() {
    for service in SERVICES {
        // Members that its protocol has.
        let (member, value) = match service.provider {
            Provider::Anthropic | Provider::OpenAi => ("metadata", json!({"user_id": "u-1"})),
            Provider::Gemini => ("safetySettings", json!([])),
            Provider::Mistral => ("safe_prompt", json!(false)),
            _ => ("user", json!("u-1")),
        };
        let inline = match &value {
            serde_json::Value::Object(_) => "{ user_id = \"u-1\" }".to_owned(),
            other => other.to_string(),
        };
        let settings = format!("headers = {{ \"x-team\" = \"blue\" }}\nextra_body = {{ {member} = {inline} }}\n");
        let world = service.world(script(), &settings, "");
        let ended = world.aime(["run", "write out.txt", "--mode", "direct", "--output", "json"]);
        let name = format!("{}\n{ended}", service.name);
        assert_eq!(ended.code, Some(0), "{name}\n{:#?}", refused(&world));
        assert_eq!(refused(&world).len(), service.lessons.0, "{name}\n{:#?}", refused(&world));
        for received in world.server().received() {
            assert_eq!(received.headers.get("x-team").map(String::as_str), Some("blue"), "{name}");
        }
        for request in accepted(&world).iter().filter(|request| acts(request)) {
            assert_eq!(request[member], value, "{name}");
        }
    }
}
