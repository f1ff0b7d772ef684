//! Costs of answers: bounds on money with the prices that are built in, and tokens that providers read from their caches.

use aime_llm::{Prices, Usage, model_facts};
use aime_scripted_server::{Provider, Reply, Script, ScriptedUsage, When};
use serde_json::Value;

use super::{Reached, Service, V1, thought};
use crate::harness::{done, write};

/// A service of each protocol with a model of the catalog, and the catalog's name of the provider.
pub(super) const PRICED: [(Service, &str); 5] = [
    (Service::new("Responses", Provider::OpenAi, "gpt-5.6-terra", Reached::There("http://api.openai.com/v1")), "openai"),
    (Service::new("chat completions", Provider::OpenAi, "gpt-4.1", Reached::There("http://api.openai.com/v1")), "openai"),
    (Service::new("Messages", Provider::Anthropic, "claude-sonnet-5-5", Reached::Here("")).with("provider = \"anthropic\"\n"), "anthropic"),
    (Service::new("Gemini", Provider::Gemini, "gemini-3.8-flash", Reached::Here("/v1beta")).with("provider = \"gemini\"\n"), "gemini"),
    (Service::new("DeepSeek", Provider::DeepSeek, "deepseek-flash", V1).with("provider = \"deepseek\"\n"), "deepseek"),
];

pub(super) fn prices(provider: &str, model: &str) -> Prices {
    model_facts(Some(provider), model).prices.unwrap_or_else(|| panic!("the catalog has no prices of {provider}/{model}"))
}

/// The tokens of a result.
pub(super) fn usage(result: &Value) -> Usage {
    let of = |name: &str| result["usage"][name].as_u64().unwrap_or_default();
    Usage {
        cached_input_tokens: of("cached_input_tokens"),
        cache_write_tokens: of("cache_write_tokens"),
        reasoning_tokens: of("reasoning_tokens"),
        ..Usage::new(of("input_tokens"), of("output_tokens"))
    }
}

pub(super) fn cost(result: &Value) -> f64 {
    result["usage"]["cost_usd"].as_f64().unwrap()
}

#[test]
fn a_known_price_ends_a_run_at_its_bound() {
    for (service, provider) in PRICED {
        let script = Script::new()
            .on(When::tools().and_turn(0), [thought(0, write("out.txt", "out\n")).usage(1_000_000, 1_000)])
            .on(When::tools(), [done("out.txt is written")]);
        let world = service.world(script, "", "");
        let prices = prices(provider, service.model);
        let bound = format!("{:.6}", prices.cost(&Usage::new(1_000_000, 1_000)) / 2.0);
        let run = ["run", "write out.txt", "--mode", "direct", "--max-cost", &bound, "--run-id", "r"];
        let ended = world.aime(run.iter().chain(&["--output", "json"])).must(4);
        let (name, result) = (format!("{}\n{ended}", service.name), ended.json());
        assert_eq!(result["error"]["code"], "bound_reached", "{name}");
        assert!((cost(&result) - prices.cost(&usage(&result))).abs() < 1e-9 && cost(&result) > 0.0, "{name}");
        assert_eq!(result["usage"]["requests"], 1, "nothing is spent that was not there: {name}");
        assert!(!ended.stderr.contains("--max-cost cannot be kept"), "{name}");
        let ended = world.aime(["resume", "r"]).must(4);
        ended.stderr_contains(&["USD are spent or reserved", "raise the bound: `aime resume r --max-cost USD`"]);
        world.aime(["resume", "r", "--max-cost", "1000"]).must(0);
    }
}

// Requirement: 11.4
#[test]
fn tokens_of_caches_are_told_and_cost_what_the_catalog_says() {
    for (service, provider) in PRICED {
        let scripted = ScriptedUsage { input: 1_000, cached: 600, output: 50, reasoning: 30 };
        let usual = |reply: Reply| Reply { usage: Some(scripted), ..reply };
        let script = || {
            Script::new()
                .on(When::tools().and_turn(0), [usual(thought(0, write("out.txt", "out\n")))])
                .on(When::tools(), [usual(thought(1, done("out.txt is written")))])
        };
        let world = service.world(script(), "", "");
        let run = ["run", "write out.txt", "--mode", "direct"];
        let ended = world.aime(run.iter().chain(&["--output", "json", "--run-id", "r"])).must(0);
        let (name, result) = (format!("{}\n{ended}", service.name), ended.json());
        let tokens = usage(&result);
        assert_eq!((tokens.input_tokens, tokens.cached_input_tokens, tokens.output_tokens), (2_000, 1_200, 100), "{name}");
        assert!((cost(&result) - prices(provider, service.model).cost(&tokens)).abs() < 1e-9, "{name}");
        world.aime(["runs", "report", "r", "-o", "report.html"]).must(0);
        let page = world.read("report.html");
        assert!(page.contains("1\u{2009}200") && page.contains("from the cache"), "{name}");
        let world = service.world(script(), "", "");
        world.aime(run).must(0).stderr_contains(&["2100 tokens in 2 requests, 1200 from the cache, $0.0"]);
    }
}
