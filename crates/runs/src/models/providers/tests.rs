//! Tests that one key suffices, and of the order if there are several.

use super::*;
use crate::{
    config::ModelConfig,
    models::tests::{chosen, config},
};

#[test]
fn each_provider_but_the_local_one_has_a_row() {
    use Provider::{Anthropic, Deepseek, Gemini, Mistral, Openai, Openrouter};
    for provider in [Openai, Anthropic, Gemini, Deepseek, Openrouter, Mistral] {
        let served = ProviderDefaults::of(provider).unwrap();
        assert_eq!(config(&format!("[models.default]\nprovider = \"{}\"\n", served.catalog)).models["default"].provider, provider);
    }
    assert!(ProviderDefaults::of(Provider::Local).is_none());
    let mut names: Vec<&str> = key_variables().chain(SERVED.iter().map(|served| served.address_variable)).collect();
    names.sort_unstable();
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
    assert!(SERVED.iter().all(|served| !served.address.ends_with('/') && !served.keys.is_empty()));
}

// Requirement: 11.7
#[test]
fn any_one_key_is_enough() {
    for served in &SERVED {
        for key in served.keys {
            let (model, place, because) = chosen("", &[(key, "k")], None).unwrap();
            assert_eq!((model.as_str(), place.as_str()), (served.model, served.address));
            assert_eq!(because, format!("{key} is set"));
            let elsewhere = [(*key, "k"), (served.address_variable, "http://x.example/v1"), ("AIME_MODEL", "m")];
            let (model, place, _) = chosen("", &elsewhere, None).unwrap();
            assert_eq!((model.as_str(), place.as_str()), ("m", "http://x.example/v1"), "{key}");
        }
    }
}

#[test]
fn own_addresses_are_told_by_host_and_port() {
    let anthropic = ProviderDefaults::of(Provider::Anthropic).unwrap();
    for own in [
        "https://api.anthropic.com",
        "https://api.anthropic.com/",
        "https://api.anthropic.com/v1",
        "HTTPS://API.Anthropic.com:443/v1/messages?beta=true",
        // A backslash ends the host, too.
        "https://api.anthropic.com\\@evil.example",
    ] {
        assert!(anthropic.is_own_address(own), "{own}");
    }
    for other in [
        "http://api.anthropic.com",
        "https://api.anthropic.com:8443",
        "https://api.anthropic.com@evil.example",
        "https://evil.example\\@api.anthropic.com",
        "https://evil.example/https://api.anthropic.com",
        "https://api.anthropic.com.evil.example",
        "api.anthropic.com",
        "",
    ] {
        assert!(!anthropic.is_own_address(other), "{other}");
    }
    assert!(SERVED.iter().all(|served| served.is_own_address(served.address)));
}

#[test]
fn usual_models_are_in_the_catalog() {
    for served in &SERVED {
        let facts = aime_llm::model_facts(Some(served.catalog), served.model);
        assert!(facts.prices.is_some() && facts.limits.context_tokens >= 128_000, "{}: {facts:?}", served.model);
    }
}

#[test]
fn the_first_variable_that_is_set_wins() {
    let table = [
        (&["MISTRAL_API_KEY", "GEMINI_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_API_KEY"][..], "gpt-5.6-terra"),
        (&["MISTRAL_API_KEY", "GEMINI_API_KEY", "ANTHROPIC_API_KEY"], "claude-sonnet-5-5"),
        (&["DEEPSEEK_API_KEY", "GOOGLE_API_KEY"], "gemini-3.8-flash"),
        (&["MISTRAL_API_KEY", "OPENROUTER_API_KEY", "DEEPSEEK_API_KEY"], "deepseek-flash"),
        (&["MISTRAL_API_KEY", "OPENROUTER_API_KEY"], "openai/gpt-5.6-terra"),
        (&["MISTRAL_API_KEY", "OPENAI_BASE_URL"], "gpt-5.6-terra"),
        // An address alone chooses only the first provider.
        (&["MISTRAL_API_KEY", "ANTHROPIC_BASE_URL", "DEEPSEEK_BASE_URL"], "mistral-medium-latest"),
    ];
    for (variables, expected) in table {
        let set: Vec<(&str, &str)> = variables.iter().map(|name| (*name, "http://x.example/v1")).collect();
        assert_eq!(chosen("", &set, None).unwrap().0, expected, "{variables:?}");
    }
}

#[test]
fn an_address_counts_for_its_own_provider_alone() {
    let environment = Environment::of([("OPENAI_BASE_URL", "http://a/v1"), ("DEEPSEEK_BASE_URL", "http://b/v1")]);
    for (provider, expected) in
        [(Provider::Openai, "at http://a/v1"), (Provider::Deepseek, "at http://b/v1"), (Provider::Mistral, "at https://api.mistral.ai/v1")]
    {
        let config = ModelConfig { provider, ..ModelConfig::default() };
        assert_eq!(crate::models::place(&config, &environment).to_string(), expected);
    }
    let with_key = ModelConfig { base_url: Some("https://u:secret@host/v1?key=secret".to_owned()), ..ModelConfig::default() };
    assert_eq!(crate::models::place(&with_key, &environment).to_string(), "at https://host/v1");
}

#[test]
fn near_servers_are_told_by_their_address() {
    for near in [
        "http://127.0.0.1:8080/v1",
        "http://localhost/v1",
        "http://[::1]:1/v1",
        "http://10.0.0.7/v1",
        "http://gpu-box:8000/v1",
        "http://nas.local/v1",
    ] {
        assert!(is_near(near), "{near}");
    }
    for far in ["https://api.openai.com/v1", "http://8.8.8.8/v1", "https://u:p@host.example:8443/v1"] {
        assert!(!is_near(far), "{far}");
    }
    for (url, here) in
        [("http://127.0.0.1:1/v1", true), ("http://u:p@localhost:1", true), ("http://[::1]/v1", true), ("http://10.0.0.7", false)]
    {
        assert_eq!(is_loopback(url), here, "{url}");
    }
}
