//! Tests of the conversion with typical rows of LiteLLM's table.

use super::*;

fn rows(table: &Value, overlay: &str) -> Vec<String> {
    let catalog = catalog(&table.to_string(), overlay, "1.2.3").unwrap();
    let whole: Value = serde_json::from_str(&catalog.text).unwrap();
    assert_eq!(whole["models"].as_array().unwrap().len(), catalog.models);
    catalog.text.lines().filter(|line| line.starts_with("{\"model\"")).map(|line| line.trim_end_matches(',').to_owned()).collect()
}

fn row(provider: &str, more: Value) -> Value {
    let mut row = serde_json::json!({
        "litellm_provider": provider, "mode": "chat", "max_input_tokens": 1000, "max_output_tokens": 100,
        "input_cost_per_token": 2.8e-7, "output_cost_per_token": 1.1e-6,
    });
    row.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    row
}

/// Returns the line that a row becomes.
fn one(name: &str, provider: &str, more: Value) -> String {
    let mut table = Map::new();
    table.insert(name.to_owned(), row(provider, more));
    rows(&Value::Object(table), "model = []").join("\n")
}

#[test]
fn prices_are_for_a_million_tokens() {
    let more = serde_json::json!({"cache_read_input_token_cost": 2.8e-8, "cache_creation_input_token_cost": 3.5e-7});
    let line = one("deepseek/Chat", "deepseek", more);
    assert_eq!(
        line,
        r#"{"model":"deepseek/chat","window":1000,"answer":100,"input":0.28,"cached_input":0.028,"cache_write":0.35,"output":1.1,"prompt_caching":true}"#
    );
}

#[test]
fn a_search_has_a_price_of_its_own() {
    let sizes = |price: f64| serde_json::json!({"search_context_size_low": 0.001, "search_context_size_medium": price});
    let of = |price: f64| one("gemini/g", "gemini", serde_json::json!({"search_context_cost_per_query": sizes(price)}));
    assert!(of(0.014).contains(r#""output":1.1,"search":0.014"#), "{}", of(0.014));
    assert!(!of(0.0).contains("search"), "{}", of(0.0));
}

#[test]
fn price_is_that_of_a_large_request() {
    let tiers = serde_json::json!({"input_cost_per_token": null, "output_cost_per_token": null, "tiered_pricing": [
        {"range": [0, 32000.0], "input_cost_per_token": 1e-6, "output_cost_per_token": 5e-6},
        {"range": [32000.0, 128_000.0], "input_cost_per_token": 2e-6, "output_cost_per_token": 6e-6},
        {"range": [128_000.0, 256_000.0], "input_cost_per_token": 3e-6, "output_cost_per_token": 7e-6},
    ]});
    assert!(one("dashscope/q", "dashscope", tiers).contains(r#""input":2.0,"output":6.0"#));
    let above = serde_json::json!({"input_cost_per_token_above_32k_tokens": 4e-6, "input_cost_per_token_above_200k_tokens": 8e-6});
    assert!(one("xai/q", "xai", above).contains(r#""input":4.0,"output":1.1"#));
}

#[test]
fn window_of_openai_holds_the_answer() {
    let more = |request: u32, answer: u32| serde_json::json!({"max_input_tokens": request, "max_output_tokens": answer});
    assert!(one("gpt-5", "openai", more(272_000, 128_000)).contains(r#""window":400000,"answer":128000"#));
    assert!(one("gpt-4.1", "openai", more(1_047_576, 32_768)).contains(r#""window":1047576,"answer":32768"#));
    assert!(one("claude-x", "anthropic", more(272_000, 128_000)).contains(r#""window":272000"#));
}

#[test]
fn efforts_come_from_flags_or_lists() {
    let efforts = |provider, more| {
        let line = one("m", provider, more);
        line.split_once("\"efforts\":").map(|(_, rest)| rest.trim_end_matches('}').to_owned())
    };
    let flags = serde_json::json!({"supports_reasoning": true, "supports_none_reasoning_effort": true, "supports_minimal_reasoning_effort": false, "supports_xhigh_reasoning_effort": true});
    assert_eq!(efforts("openai", flags).unwrap(), r#"["none","low","medium","high","xhigh"]"#);
    let list = serde_json::json!({"reasoning_effort_levels": ["none", "high"]});
    assert_eq!(efforts("mistral", list).unwrap(), r#"["none","high"]"#);
    let thinks = serde_json::json!({"supports_reasoning": true, "supports_output_config": true, "thinking_always_on": true, "supports_max_reasoning_effort": true});
    assert_eq!(efforts("anthropic", thinks).unwrap(), r#"["low","medium","high","max"]"#);
    assert_eq!(efforts("gemini", serde_json::json!({"supports_reasoning": true})), None);
}

#[test]
fn models_that_an_agent_cannot_use_are_left_out() {
    let nothing = serde_json::json!({});
    for (name, provider, more) in [
        ("gpt-audio", "openai", nothing.clone()),
        ("gpt-9", "somebody", nothing.clone()),
        ("gpt-9", "openai", serde_json::json!({"mode": "embedding"})),
        ("gpt-9", "openai", serde_json::json!({"supported_output_modalities": ["video"]})),
        ("gpt-9", "openai", serde_json::json!({"max_input_tokens": null, "input_cost_per_token": null})),
        ("groq/toolless", "groq", nothing),
        ("groq/dead", "groq", serde_json::json!({"supports_function_calling": true, "deprecation_date": "2026-01-01"})),
    ] {
        assert_eq!(one(name, provider, more), "", "{name}");
    }
    assert!(one("groq/alive", "groq", serde_json::json!({"supports_function_calling": true})).contains("groq/alive"));
    assert!(!one("m", "xai", serde_json::json!({"input_cost_per_token": 0, "output_cost_per_token": 0})).contains("input"));
    assert!(one("m", "zai", serde_json::json!({"input_cost_per_token": 0, "output_cost_per_token": 0})).contains(r#""input":0.0"#));
}

#[test]
fn overlay_corrects_and_adds() {
    let table = serde_json::json!({"gpt-9": row("openai", serde_json::json!({"supports_vision": true}))});
    let overlay = r#"
        [[model]]
        model = "openai/gpt-9"
        answer = 50
        efforts = ["high"]
        source = "https://example.org/a"
        [[model]]
        model = "openai/gpt-10"
        window = 7
        source = "https://example.org/b"
    "#;
    assert_eq!(
        rows(&table, overlay),
        [
            r#"{"model":"openai/gpt-10","window":7}"#,
            r#"{"model":"openai/gpt-9","window":1000,"answer":50,"input":0.28,"output":1.1,"images":true,"efforts":["high"]}"#
        ]
    );
    for wrong in ["[[model]]\nmodel = \"a/b\"", "[[model]]\nmodel = \"a/b\"\nsource = \"https://e.org\"\nwindows = 7"] {
        assert!(corrections(wrong).is_err(), "{wrong}");
    }
}
