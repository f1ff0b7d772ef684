//! Searches of the web that the provider of a model makes: their tokens and their price count for the run.

use aime_llm::Usage;
use aime_scripted_server::{Provider, Reply, Script, When};
use serde_json::{Value, json};

use super::{
    Service,
    costs::{PRICED, cost, prices, usage},
    thought,
};
use crate::harness::{Ended, World, actor, done, plan, tool};

/// A secret that the model writes into its query.
const CANARY: &str = "sk-canary-4f1d7a90c2be";

/// A world whose model searches the web for the only task of a plan, and what the run came to.
fn searching(service: Service, task: &Value, bound: &[&str]) -> (World, Ended) {
    let reply = Reply::raw(found(service).to_string()).with_header("content-type", "application/json");
    let search = When::any().and_contains("cite the pages");
    let script = Script::new()
        .on(search, [reply])
        .on(When::tools().and_turn(0), [thought(0, Reply::call("web_search", json!({"query": format!("green tea {CANARY}")})))])
        .on(When::tools(), [thought(1, done("two spoons"))])
        .on(When::plain(), [Reply::text("two spoons")]);
    let mut world = service.world(script, "", "[web.search]\nprovider = \"model\"\n");
    world.set("OPENAI_API_KEY", CANARY);
    world.plan("tea.json", &plan(std::slice::from_ref(task)));
    let run = ["run", "--plan", "tea.json", "--approve", "all", "--output", "jsonl"];
    let ended = world.aime(run.iter().chain(bound));
    (world, ended)
}

/// The answer of a model of this service that has searched twice and used 9,000 tokens, 1,000 of them its own.
fn found(service: Service) -> Value {
    let source = json!({"url": "https://a.example/", "title": "Tea"});
    match service.provider {
        Provider::OpenAi => {
            let call = |id: &str, kind: &str| json!({"type": "web_search_call", "id": id, "status": "completed", "action": {"type": kind}});
            let cited = json!({"type": "url_citation", "url": source["url"], "title": source["title"], "start_index": 0, "end_index": 3});
            let text = json!({"type": "output_text", "text": "Two spoons.", "annotations": [cited]});
            json!({
                "id": "r", "object": "response", "status": "completed", "model": service.model,
                "output": [call("w1", "search"), call("w2", "open_page"), call("w3", "search"),
                    {"type": "message", "id": "a", "role": "assistant", "status": "completed", "content": [text]}],
                "usage": {"input_tokens": 8_000, "output_tokens": 1_000, "total_tokens": 9_000},
            })
        }
        Provider::Anthropic => {
            let cited = json!({"type": "web_search_result_location", "url": source["url"], "title": source["title"], "cited_text": "two",
                "encrypted_index": "e"});
            json!({
                "id": "r", "type": "message", "role": "assistant", "model": service.model, "stop_reason": "end_turn",
                "content": [{"type": "text", "text": "Two spoons.", "citations": [cited]}],
                "usage": {"input_tokens": 8_000, "output_tokens": 1_000, "server_tool_use": {"web_search_requests": 2}},
            })
        }
        _ => {
            let chunks = json!([{"web": {"uri": source["url"], "title": source["title"]}}]);
            json!({
                "candidates": [{
                    "content": {"role": "model", "parts": [{"text": "Two spoons."}]}, "finishReason": "STOP", "index": 0,
                    "groundingMetadata": {"webSearchQueries": ["tea", "green tea"], "groundingChunks": chunks},
                }],
                "usageMetadata": {"promptTokenCount": 8_000, "candidatesTokenCount": 1_000, "totalTokenCount": 9_000},
            })
        }
    }
}

#[test]
fn a_search_by_a_model_counts_for_the_run() {
    let mut by_actor = actor("look", "LOOK-IT-UP", &[]);
    by_actor["bundles"] = json!(["web"]);
    let tasks = [by_actor, tool("find", "web_search", json!({"query": "green tea"}), &[])];
    for (service, provider) in PRICED.into_iter().filter(|(service, _)| ["Responses", "Messages", "Gemini"].contains(&service.name)) {
        let prices = prices(provider, service.model);
        let expected = prices.cost(&Usage::new(8_000, 1_000)) + 2.0 * prices.search.unwrap();
        for task in &tasks {
            let (world, ended) = searching(service, task, &[]);
            let name = format!("{}\n{ended}", service.name);
            assert!(ended.code == Some(0) && ended.last()["answer"].as_str().unwrap().to_lowercase().contains("two spoons"), "{name}");
            let called = ended.events("model_called");
            let search = called.iter().find(|event| event["purpose"] == "search").unwrap_or_else(|| panic!("no search is told: {name}"));
            assert_eq!(search["task"], task["id"], "{name}");
            assert!((search["spent"]["cost_usd"].as_f64().unwrap() - expected).abs() < 1e-9, "{search:#}\n{name}");
            let asked = world.server().requests().into_iter().map(|request| request.to_string());
            let asked = asked.filter(|request| request.contains("cite the pages")).collect::<Vec<_>>();
            assert!(asked.len() == 1 && asked[0].contains("green tea") && !asked[0].contains(CANARY), "{asked:?}");
            let result = ended.last();
            assert_eq!(result["usage"]["requests"], called.len(), "{name}");
            assert!(cost(&result) > expected - 1e-9 && usage(&result).input_tokens >= 8_000, "{name}");
        }
        // One search is dearer than what is left: it is not begun.
        let bound = format!("{:.6}", prices.search.unwrap());
        let (world, ended) = searching(service, &tasks[1], &["--max-cost", &bound]);
        let name = format!("{}\n{ended}", service.name);
        assert_eq!((ended.code, &ended.last()["error"]["code"]), (Some(4), &json!("bound_reached")), "{name}");
        assert!(world.server().requests().is_empty(), "{name}");
    }
}
