//! A tool of an MCP server whose schema the model's service refuses.

use aime_scripted_server::{Reply, Script, When};
use serde_json::{Value, json};

use super::{
    SERVICES, accepted,
    refusals::{offered, refusal, world},
    refused,
};
use crate::harness::done;
use crate::mcp::CLOCK;

/// A clock whose tool has a schema that OpenAI refuses, and whose other tool has none that anybody refuses.
fn clock() -> String {
    let tool = r#"{"name":"read","description":"Read the clock","inputSchema":{"type":"object","anyOf":[{"required":["place"]},{"required":["zone"]}],"properties":{"place":{"type":"string","maxLength":40},"zone":{"type":"string","pattern":"^[A-Z]+$"}}}}"#;
    let tools = CLOCK.find("{\"name\":\"clock.read\"").unwrap();
    format!("{}{tool},{}", &CLOCK[..tools], &CLOCK[tools..])
}

const ODD: &str = "mcp__clock__read";

const SERVER: &str = "[mcp.servers.clock]\ncommand = \"sh\"\nargs = [\"clock.sh\"]\n";

/// A model that reads the clock with its odd tool.
fn reads_the_clock() -> Script {
    Script::new()
        .on(When::tool(ODD).and_turn(0), [Reply::call(ODD, json!({"place": "Paris"}))])
        .on(When::tools().and_last_contains("noon sharp"), [done("it is noon")])
        .on(When::tools(), [done("there is no clock")])
}

const ASKS: [&str; 8] = ["run", "what time is it in Paris?", "--mode", "direct", "--approve", "all", "--output", "json"];

#[test]
fn a_refused_tool_is_simplified() {
    let service = SERVICES.into_iter().find(|service| service.name == "OpenAI, Responses").unwrap();
    let world = service.world(reads_the_clock(), "", SERVER);
    world.file("clock.sh", &clock());
    let ended = world.aime(ASKS).must(0);
    assert_eq!(ended.json()["answer"], "it is noon", "{ended}");
    let refused = refused(&world);
    assert_eq!(refused.len(), 1, "{refused:#?}");
    let schema = |request: &Value| {
        let tool = request["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == ODD).unwrap();
        tool["parameters"].clone()
    };
    let simple = json!({"type": "object", "properties": {"place": {"type": "string"}, "zone": {"type": "string"}}});
    assert_ne!(schema(&refused[0].body), simple);
    assert_eq!(schema(&accepted(&world)[0]), simple);
}

#[test]
fn a_tool_that_is_still_refused_is_left_out() {
    let words = [
        format!("Invalid schema for function '{ODD}': schema must have type 'object' and not have 'anyOf' at the top level."),
        format!("Invalid JSON schema in tool \"{ODD}\": the keyword 'pattern' is not supported"),
    ];
    for words in words {
        let script = (0..2).fold(Script::new(), |script, _| script.once(When::tool(ODD), [refusal(&words)]));
        let mut world = world(reads_the_clock().rules.into_iter().fold(script, |script, rule| script.on(rule.when, rule.replies)));
        world.file("clock.sh", &clock());
        world.user_settings(SERVER);
        let ended = world.aime(ASKS).must(0);
        assert_eq!(ended.json()["answer"], "there is no clock", "{words}\n{ended}");
        let requests = accepted(&world);
        let has_it: Vec<bool> = requests.iter().map(|request| offered(request).contains(&ODD)).collect();
        assert_eq!(has_it, [true, true, false], "{words}\n{ended}");
        assert_ne!(requests[0]["tools"], requests[1]["tools"], "{words}");
        assert_eq!(offered(&requests[2]).len() + 1, offered(&requests[1]).len(), "{words}: no other tool is left out");
    }
}
