//! Names as people and providers write them, and what is known of each; and that the data files are in order.

use std::collections::BTreeSet;

use super::lines::{FAMILIES, MODELS, key, read};
use super::*;
use FactsSource::{Exact, Family, Unknown};

/// Input, cached input, cache writes and output of facts, for a million tokens.
type Row<'a> = (Option<&'a str>, &'a str, FactsSource, u32, u32, Option<[f64; 4]>);

// Requirement: 11.6
#[test]
fn limits_and_prices_of_names() {
    let rows: [Row<'_>; 51] = [
        // OpenAI, and gateways to it.
        (Some("openai"), "gpt-5.6-sol", Exact, 1_050_000, 128_000, Some([4.0, 0.4, 5.0, 20.0])),
        (Some("openai"), "gpt-5.4-mini-2026-03-17", Exact, 400_000, 128_000, Some([0.75, 0.075, 0.75, 4.5])),
        (Some("openai"), "gpt-5.4-mini-2026-12-01", Family, 400_000, 128_000, Some([0.75, 0.075, 0.75, 4.5])),
        (Some("azure"), "GPT-5.6-Terra", Exact, 1_050_000, 128_000, Some([2.0, 0.2, 2.5, 12.0])),
        (Some("azure"), "gpt-5.1-chat", Family, 128_000, 16_384, Some([1.25, 0.125, 1.25, 10.0])),
        (Some("openai"), "gpt-5.9-astra", Family, 400_000, 128_000, None),
        (Some("openai"), "gpt-5.5-cyber", Exact, 400_000, 128_000, Some([12.5, 1.25, 12.5, 75.0])),
        (Some("openai"), "ft:gpt-4o-2024-08-06:org::id", Exact, 128_000, 16_384, Some([3.75, 1.875, 3.75, 15.0])),
        (Some("openai"), "ft:gpt-4o-2029-01-01:org::id", Family, 128_000, 16_384, None),
        (Some("openai"), "o3", Exact, 200_000, 100_000, Some([2.0, 0.5, 2.0, 8.0])),
        (None, "gpt-5.4", Exact, 1_050_000, 128_000, Some([2.5, 0.25, 2.5, 15.0])),
        (Some("openrouter"), "openai/gpt-5.4", Exact, 1_050_000, 128_000, Some([2.5, 0.25, 2.5, 15.0])),
        (Some("groq"), "openai/gpt-oss-120b", Exact, 131_072, 65_536, Some([0.15, 0.075, 0.15, 0.6])),
        (None, "openai/gpt-oss-120b", Exact, 131_072, 65_536, None),
        (None, "gpt-oss:20b", Family, 131_072, 32_768, None),
        // Claude, in the spellings of four hosts.
        (Some("anthropic"), "claude-opus-4-7", Exact, 1_000_000, 128_000, Some([5.0, 0.5, 6.25, 25.0])),
        (Some("anthropic"), "claude-haiku-4-5-20251001", Exact, 200_000, 64_000, Some([1.0, 0.1, 1.25, 5.0])),
        (Some("openrouter"), "anthropic/claude-opus-4.7:thinking", Exact, 1_000_000, 128_000, Some([5.0, 0.5, 6.25, 25.0])),
        (None, "us.anthropic.claude-opus-4-7-v1:0", Exact, 1_000_000, 128_000, Some([5.0, 0.5, 6.25, 25.0])),
        (None, "claude-opus-4-5@20251101", Exact, 200_000, 64_000, Some([5.0, 0.5, 6.25, 25.0])),
        (Some("anthropic"), "claude-sonnet-4-20250514", Family, 200_000, 32_000, None),
        (Some("anthropic"), "claude-3-5-haiku-latest", Family, 200_000, 8_192, None),
        (Some("anthropic"), "claude-sonnet-5-9", Family, 1_000_000, 128_000, None),
        (Some("anthropic"), "claude-next", Family, 200_000, 64_000, None),
        // Gemini.
        (Some("gemini"), "models/gemini-3-flash-preview", Exact, 1_048_576, 65_536, Some([0.5, 0.05, 0.5, 3.0])),
        (Some("gemini"), "gemini-3-flash", Family, 1_048_576, 65_536, Some([0.5, 0.05, 0.5, 3.0])),
        (Some("vertex"), "gemini-2.5-flash-preview-09-2025", Family, 1_048_576, 65_536, Some([0.3, 0.03, 0.3, 2.5])),
        (Some("gemini"), "gemini-4-argon", Exact, 1_048_576, 65_536, Some([2.0, 0.1, 2.0, 10.0])),
        (Some("gemini"), "gemini-5-flash", Family, 1_048_576, 65_536, None),
        (None, "gemma-3-27b-it", Exact, 131_072, 8_192, None),
        // Vendors of open weights: their price is theirs alone.
        (Some("deepseek"), "deepseek-v4-flash", Exact, 1_000_000, 393_216, Some([0.3, 0.006, 0.3, 1.2])),
        (None, "deepseek-v4-flash", Exact, 1_000_000, 393_216, None),
        (Some("openrouter"), "deepseek/deepseek-v4-flash:free", Exact, 1_000_000, 393_216, Some([0.0; 4])),
        (Some("deepseek"), "deepseek-v4.5-pro", Family, 1_000_000, 393_216, None),
        (Some("mistral"), "mistral-large-latest", Exact, 262_144, 65_536, Some([0.5, 0.05, 0.5, 1.5])),
        (Some("mistral"), "mistral-large-2402", Family, 262_144, 65_536, None),
        (Some("xai"), "grok-4.7", Exact, 500_000, 65_536, Some([2.0, 0.5, 2.0, 6.0])),
        (Some("moonshot"), "kimi-k2.5", Exact, 262_144, 65_536, Some([0.6, 0.1, 0.6, 3.0])),
        (Some("zai"), "glm-5.3", Exact, 1_000_000, 128_000, Some([1.4, 0.26, 1.4, 4.4])),
        (Some("dashscope"), "qwen3-max", Exact, 258_048, 65_536, Some([2.4, 2.4, 2.4, 12.0])),
        (Some("minimax"), "MiniMax-M2.5", Exact, 204_800, 51_200, Some([0.3, 0.03, 0.375, 1.2])),
        (Some("fireworks"), "accounts/fireworks/models/kimi-k2p5", Exact, 262_144, 32_768, Some([0.6, 0.1, 0.6, 3.0])),
        (Some("together"), "Qwen/Qwen2.5-7B-Instruct-Turbo", Exact, 32_768, 8_192, Some([0.3, 0.3, 0.3, 0.3])),
        (Some("together"), "moonshotai/Kimi-K2.9", Family, 262_144, 32_768, None),
        // Models of local servers.
        (None, "qwen2.5-coder:1.5b", Family, 32_768, 8_192, None),
        (None, "Qwen/Qwen3-Coder-30B-A3B-Instruct", Family, 262_144, 65_536, None),
        (None, "llama3.2:latest", Family, 131_072, 8_192, None),
        (None, "hf.co/HuggingFaceTB/SmolLM2-135M-Instruct", Family, 8_192, 2_048, None),
        // Names without information on the model.
        (None, "our-own-3b", Unknown, 128_000, 16_384, None),
        (Some("openai"), "my-deployment", Unknown, 128_000, 16_384, None),
        (Some("nobody"), "", Unknown, 128_000, 16_384, None),
    ];
    for (provider, name, source, window, answer, prices) in rows {
        let facts = model_facts(provider, name);
        let limits = (facts.limits.context_tokens, facts.limits.max_output_tokens);
        assert_eq!((facts.source, limits), (source, (window, answer)), "{provider:?} {name}: {facts:?}");
        let found = facts.prices.map(|prices| {
            let or_input = |price: Option<f64>| price.unwrap_or(prices.input);
            [prices.input, or_input(prices.cached_input), or_input(prices.cache_write), prices.output]
        });
        assert_eq!(found, prices, "{provider:?} {name}");
    }
}

#[test]
fn searches_of_providers_have_prices() {
    for (provider, model, price) in [
        ("openai", "gpt-5.6-terra", Some(0.01)),
        ("anthropic", "claude-sonnet-5-5", Some(0.01)),
        ("gemini", "gemini-3.8-flash", Some(0.014)),
        ("deepseek", "deepseek-flash", None),
    ] {
        assert_eq!(model_facts(Some(provider), model).prices.unwrap().search, price, "{model}");
    }
}

#[test]
fn small_models_are_told_by_their_size() {
    for name in [
        "qwen2.5-coder:1.5b",
        "qwen2.5-coder-0.5b-instruct-q4_k_m",
        "llama3.2",
        "llama-3.2-3b-instruct",
        "gemma3:4b",
        "gemma-3n-e4b-it",
        "phi-4-mini-instruct",
        "phi3:3.8b",
        "ministral-3b-latest",
        "smollm2",
        "smollm2-135m",
        "deepseek-r1:1.5b",
        "our-own-3b",
    ] {
        assert!(model_facts(None, name).limits.small, "{name}");
    }
    for name in [
        "qwen2.5-coder:7b",
        "qwen3:14b",
        "qwen3-30b-a3b",
        "gemma3:27b",
        "llama-3.2-90b-vision-instruct",
        "phi-4",
        "mixtral-8x7b",
        "gpt-oss:20b",
        "gpt-5.4-mini",
        "gpt-5.4-nano",
        "gemini-2.5-flash-lite",
        "claude-haiku-4-5",
        "mistral-small-latest",
        "our-own",
    ] {
        assert!(!model_facts(None, name).limits.small, "{name}");
    }
}

// Requirement: 11.6
#[test]
fn abilities_of_names() {
    use Effort::{High, Low, Max, Medium, Minimal, None as Off, XHigh};
    // Images, sampling, forced tool choice, prompt caching, efforts.
    type Abilities<'a> = (&'a str, [bool; 4], &'a [Effort]);
    let rows: [Abilities<'_>; 31] = [
        ("gpt-4o", [true, true, true, true], &[]),
        ("gpt-5-mini", [true, false, true, true], &[Minimal, Low, Medium, High]),
        ("gpt-5.6-luna", [true, false, true, true], &[Off, Low, Medium, High, XHigh, Max]),
        ("gpt-6.1-sol", [true, false, true, true], &[Low, Medium, High, XHigh, Max]),
        ("gpt-5.2-pro", [true, false, true, true], &[Medium, High, XHigh]),
        ("gpt-5.1-codex-max", [true, false, true, true], &[Low, Medium, High, XHigh]),
        ("gpt-5-chat-latest", [true, true, true, false], &[]),
        ("o3-mini", [false, false, true, true], &[Low, Medium, High]),
        ("gpt-oss:20b", [false, true, true, false], &[Low, Medium, High]),
        ("claude-3-5-sonnet-20241022", [true, true, true, true], &[]),
        ("claude-haiku-4-5", [true, true, true, true], &[Off, Low, Medium, High]),
        ("claude-opus-4-6", [true, true, true, true], &[Off, Low, Medium, High, Max]),
        ("claude-opus-4-7", [true, false, true, true], &[Off, Low, Medium, High, XHigh, Max]),
        ("claude-opus-5", [true, false, true, true], &[Off, Low, Medium, High, XHigh, Max]),
        ("claude-opus-5-5", [true, false, false, true], &[Low, Medium, High, XHigh, Max]),
        ("claude-sonnet-6", [true, false, false, true], &[Low, Medium, High]),
        ("gemini-2.5-flash", [true, true, true, true], &[Off, Low, Medium, High]),
        ("gemini-3-flash-preview", [true, true, true, true], &[Minimal, Low, Medium, High]),
        ("gemini-3.1-pro-preview", [true, true, true, true], &[Low, Medium, High]),
        ("gemini-3.8-flash", [true, false, true, true], &[Low, Medium, High]),
        ("deepseek-v4-pro", [false, true, false, true], &[Off, Low, High, Max]),
        ("deepseek-chat", [false, true, true, true], &[]),
        ("kimi-k2.6", [true, false, false, true], &[]),
        ("kimi-k3", [true, false, false, true], &[Low, High, Max]),
        ("glm-5.3", [false, true, false, true], &[Low, High, Max]),
        ("grok-4.3", [true, true, true, true], &[Off, Low, Medium, High]),
        ("grok-4.7", [true, true, true, true], &[Low, Medium, High]),
        ("grok-build-0.1", [true, true, true, true], &[]),
        ("grok-build-latest", [true, true, true, true], &[Low, Medium, High]),
        ("mistral-medium-latest", [true, true, true, true], &[Off, High]),
        ("nobody-knows-it", [false, true, true, false], &[]),
    ];
    for (name, abilities, efforts) in rows {
        let facts = model_facts(None, name);
        let found = [facts.images, facts.sampling, facts.forced_tool_choice, facts.prompt_caching];
        assert_eq!((found, facts.efforts.as_slice()), (abilities, efforts), "{name}: images, sampling, forced tool choice, caching");
        assert!(facts.tools, "{name}");
    }
    assert!(!model_facts(Some("deepseek"), "deepseek-reasoner").tools);
}

#[test]
fn data_files_are_sorted_and_readable() {
    for (name, file, least) in [("models.json", MODELS, 300), ("families.json", FAMILIES, 100)] {
        assert!(file.is_ascii(), "{name}");
        let whole: serde_json::Value = serde_json::from_str(file).unwrap();
        let lines: Vec<&str> = file.lines().filter(|line| key(line).is_some()).collect();
        assert!(lines.len() > least, "{name} has {} entries", lines.len());
        assert_eq!(lines.len(), whole["models"].as_array().unwrap().len(), "{name} has one entry a line");
        let keys: Vec<&str> = lines.iter().filter_map(|line| key(line)).collect();
        assert!(
            keys.is_sorted() && keys.iter().collect::<BTreeSet<_>>().len() == keys.len(),
            "{name} is sorted, and no name is there twice"
        );
        for (line, found) in lines.iter().zip(&keys) {
            let record: Record<'_> = serde_json::from_str(line.trim_end_matches(',')).unwrap();
            assert_eq!(record.model, *found);
            assert_eq!(*found, found.to_ascii_lowercase());
            assert!(record.window.is_none_or(|window| (512..=10_000_000).contains(&window)), "{line}");
            assert!(record.efforts.as_deref().is_none_or(|efforts| efforts.is_sorted_by_key(|effort| *effort as u8)), "{line}");
            let prices = [record.input, record.cached_input, record.cache_write, record.output];
            assert!(prices.iter().flatten().all(|price| (0.0..1_000.0).contains(price)), "{line}");
            assert!(record.input.is_some() == record.output.is_some(), "{line}");
        }
    }
}

// Requirement: 11.6
#[test]
fn every_entry_is_found_by_its_name() {
    for line in MODELS.lines().filter(|line| key(line).is_some()) {
        let record = read(line).unwrap();
        let (provider, name) = record.model.split_once('/').unwrap();
        let facts = model_facts(Some(provider), name);
        assert_eq!(facts.source, Exact, "{}", record.model);
        assert_eq!(facts.prices, record.prices(), "{}", record.model);
        assert!(PROVIDERS.contains(&provider), "{provider}");
        let limits = facts.limits;
        assert!(limits.max_output_tokens <= limits.context_tokens / 2, "{}: {limits:?}", record.model);
    }
}

#[test]
fn every_rule_states_limits_and_a_source() {
    for line in FAMILIES.lines().filter(|line| key(line).is_some()) {
        let rule = read(line).unwrap();
        assert!(rule.window.is_some() && rule.answer.is_some() && rule.prices().is_none(), "{line}");
        assert!(rule.source.is_some_and(|source| source.starts_with("https://")), "{line}");
    }
}
