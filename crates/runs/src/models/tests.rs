//! Tests of the selected model, its location and its key.

use super::*;
use crate::environment::Environment;

pub(super) fn config(text: &str) -> Config {
    toml::from_str(text).unwrap()
}

const OPENAI: &str = "https://api.openai.com/v1";

const FILES: &str = "[models.default]\nmodel = \"from-file\"\nbase_url = \"http://mine.example/v1\"\n[models.fast]\nmodel = \"small\"\n[models.planner]\nmodel = \"thinker\"\n";

/// Returns the default model, its location, and the reason.
pub(super) fn chosen(files: &str, variables: &[(&str, &str)], flag: Option<&str>) -> Option<(String, String, String)> {
    let environment = Environment::of(variables.iter().copied());
    let named = flag.map(|name| NamedModel { name, source: Message::text("the flag") });
    let choice = choose(&config(files), &environment, named).unwrap()?;
    let model = choice.models.get("default").unwrap();
    Some((model_name(model), place(model, &environment).to_string().trim_start_matches("at ").to_owned(), choice.because.to_string()))
}

#[test]
fn flags_win_over_the_environment_and_the_environment_over_files() {
    let mine = "http://mine.example/v1";
    let env = ("AIME_MODEL", "from-env");
    let url = ("OPENAI_BASE_URL", "http://env.example/v1");
    let key = ("OPENAI_API_KEY", "k");
    type Case<'a> = (&'a str, &'a [(&'a str, &'a str)], Option<&'a str>, Option<(&'a str, &'a str)>);
    let cases: &[Case<'_>] = &[
        ("", &[key], None, Some(("gpt-5.6-terra", OPENAI))),
        ("", &[url], None, Some(("gpt-5.6-terra", url.1))),
        ("", &[url, env], None, Some(("from-env", url.1))),
        ("", &[env], None, Some(("from-env", OPENAI))),
        ("", &[env], Some("from-flag"), Some(("from-flag", OPENAI))),
        (FILES, &[], None, Some(("from-file", mine))),
        (FILES, &[url], None, Some(("from-file", mine))),
        (FILES, &[env], None, Some(("from-env", mine))),
        (FILES, &[env], Some("from-flag"), Some(("from-flag", mine))),
        (FILES, &[env], Some("fast"), Some(("small", OPENAI))),
        (FILES, &[url, ("AIME_MODEL", "fast")], None, Some(("small", url.1))),
        (FILES, &[("AIME_MODEL", " ")], None, Some(("from-file", mine))),
    ];
    for (files, variables, flag, expected) in cases {
        let found = chosen(files, variables, *flag);
        let found = found.as_ref().map(|(model, server, _)| (model.as_str(), server.as_str()));
        assert_eq!(found, *expected, "{files:?} {variables:?} {flag:?}");
    }
}

#[test]
fn it_is_said_why() {
    let because = |files, variables: &[_], flag| chosen(files, variables, flag).unwrap().2;
    assert_eq!(because(FILES, &[], None), "[models.default]");
    assert_eq!(because(FILES, &[], Some("fast")), "the flag names [models.fast]");
    assert_eq!(because(FILES, &[("AIME_MODEL", "x")], None), "AIME_MODEL names it, [models.default] says where");
    let (url, key, other) = (("OPENAI_BASE_URL", "http://x/v1"), ("OPENAI_API_KEY", "k"), ("MISTRAL_API_KEY", "k"));
    let without_address = "[models.default]\neffort = \"high\"\n";
    assert_eq!(because(without_address, &[url, ("AIME_MODEL", "x")], None), "AIME_MODEL names it, OPENAI_BASE_URL says where");
    let last = ("GOOGLE_API_KEY", "k");
    for (variables, flag, expected) in [
        (&[url][..], None, "OPENAI_BASE_URL is set"),
        (&[key], None, "OPENAI_API_KEY is set"),
        (&[url, key], None, "OPENAI_BASE_URL and OPENAI_API_KEY are set"),
        (&[key, other, last], None, "OPENAI_API_KEY is set, and comes before GOOGLE_API_KEY, MISTRAL_API_KEY"),
        (&[url, key, other], None, "OPENAI_BASE_URL and OPENAI_API_KEY are set, and come before MISTRAL_API_KEY"),
        (&[other, ("AIME_MODEL", "x")], None, "AIME_MODEL names it, MISTRAL_API_KEY says where"),
        (&[url, key, ("AIME_MODEL", "x")], None, "AIME_MODEL names it, OPENAI_BASE_URL says where"),
        (&[other, last], Some("x"), "the flag names it, GOOGLE_API_KEY says where, and comes before MISTRAL_API_KEY"),
        (&[], Some("x"), "the flag"),
    ] {
        assert_eq!(because("", variables, flag), expected);
    }
}

#[test]
fn the_catalog_fills_in_what_no_file_says() {
    let environment = Environment::of([("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")]);
    let of = |text: &str| {
        let model = config(text).models.remove("default").unwrap();
        (limits(&model, &environment), prices(&model, &environment).map(|prices| prices.input))
    };
    let (claude, price) = of("[models.default]\nprovider = \"anthropic\"\nmodel = \"claude-opus-5\"\n");
    assert!(claude.context_tokens > 100_000 && claude.max_output_tokens >= 32_000 && !claude.small && price.is_some(), "{claude:?}");
    let (behind, price) = of("[models.default]\nmodel = \"claude-opus-5\"\n");
    assert_eq!((behind, price), (claude, None), "a gateway serves it, at a price of its own");
    for model in ["qwen-next", "gpt-oss-120b"] {
        let (own, price) = of(&format!("[models.default]\nmodel = \"{model}\"\n"));
        assert_eq!((own.context_tokens, own.max_output_tokens, price), (32_768, 8_192, None), "a server of one's own says for itself");
    }
    let (small, _) = of("[models.default]\nmodel = \"qwen2.5-coder:1.5b\"\n");
    assert_eq!((small.max_output_tokens, small.small), (4_096, true));
    let (set, price) = of(
        "[models.default]\nprovider = \"anthropic\"\nmodel = \"claude-opus-5\"\ncontext_tokens = 9000\nsmall = true\nprices = { input = 1, output = 2 }\n",
    );
    assert_eq!((set.context_tokens, set.small, price), (9_000, true, Some(1.0)), "files win");
    let unknown = of("[models.default]\nmodel = \"acme-9\"\nbase_url = \"https://api.acme.example/v1\"\n");
    assert_eq!((unknown.0.context_tokens, unknown.0.max_output_tokens, unknown.1), (128_000, 16_384, None));
}

#[test]
fn another_model_does_not_inherit_prices_and_limits() {
    let files = "[models.default]\nmodel = \"gpt-5.6-luna\"\neffort = \"low\"\nmax_retries = 1\nimages = false\nsmall = true\n\
                 context_tokens = 9000\nmax_output_tokens = 900\nprices = { input = 0.2, output = 1.2 }\n";
    let environment = Environment::default();
    let named = |name| choose(&config(files), &environment, Some(NamedModel::in_request(name))).unwrap().unwrap().models["default"].clone();
    let kept = config(files).models["default"].clone();
    assert_eq!(named("gpt-5.6-luna"), kept);
    let server = ModelConfig { images: None, context_tokens: None, max_output_tokens: None, small: None, prices: None, ..kept };
    assert_eq!(named("gpt-5.6-sol"), ModelConfig { model: "gpt-5.6-sol".to_owned(), ..server });
    assert_eq!(prices(&named("gpt-5.6-sol"), &environment).map(|prices| prices.output), Some(20.0), "the catalog's");
}

#[test]
fn other_roles_stay_beside_the_one_that_is_chosen() {
    let environment = Environment::default();
    let choice = choose(&config(FILES), &environment, Some(NamedModel::in_request("fast"))).unwrap().unwrap();
    let names: Vec<(&str, String)> = choice.models.iter().map(|(name, model)| (name.as_str(), model_name(model))).collect();
    assert_eq!(names, [("default", "small".to_owned()), ("fast", "small".to_owned()), ("planner", "thinker".to_owned())]);
}

/// Returns the variable whose key goes to the default model's server, or the kind and message of the error.
fn key_of(files: &str, variables: &[(&str, &str)]) -> Result<Option<String>, (ErrorKind, String)> {
    let environment = Environment::of(variables.iter().copied());
    let choice = choose(&config(files), &environment, None).unwrap().unwrap();
    let model = choice.models.get("default").unwrap();
    let url = server(model, &environment).0;
    match key("default", model, &environment, &url) {
        Ok(None) => Ok(None),
        Ok(Some(_)) => Ok(key_variable(model, &environment)),
        Err(failure) => Err((failure.kind, format!("{} {}", failure.message, failure.hint.unwrap_or_default()))),
    }
}

#[test]
fn a_key_goes_only_where_it_belongs() {
    let openai = ("OPENAI_API_KEY", "sk-secret");
    let named = "[models.default]\nmodel = \"m\"\nbase_url = \"http://other.example/v1\"\n";
    type Row<'a> = (&'a str, &'a [(&'a str, &'a str)], Option<&'a str>);
    let deepseek = ("DEEPSEEK_API_KEY", "k");
    let of_deepseek = "[models.default]\nprovider = \"deepseek\"\n";
    let anthropic = ("ANTHROPIC_API_KEY", "k");
    let of_anthropic = |url: &str| format!("[models.default]\nprovider = \"anthropic\"\nbase_url = {url:?}\n");
    let table: [Row<'_>; 14] = [
        ("[models.default]\nmodel = \"m\"\n", &[openai], Some("OPENAI_API_KEY")),
        ("", &[openai, ("OPENAI_BASE_URL", "http://x/v1")], Some("OPENAI_API_KEY")),
        ("", &[("OPENAI_BASE_URL", "http://x/v1")], None),
        (named, &[openai], None),
        (&format!("{named}api_key_env = \"OPENAI_API_KEY\"\n"), &[openai], Some("OPENAI_API_KEY")),
        (&format!("{named}api_key_env = \"MINE\"\n"), &[openai, ("MINE", "k")], Some("MINE")),
        ("[models.default]\nbase_url = \"https://api.openai.com/v1/\"\n", &[openai], Some("OPENAI_API_KEY")),
        // The rules are the same for every provider.
        (of_deepseek, &[openai, deepseek], Some("DEEPSEEK_API_KEY")),
        (of_deepseek, &[deepseek, ("DEEPSEEK_BASE_URL", "http://x/v1")], Some("DEEPSEEK_API_KEY")),
        (of_deepseek, &[openai, ("DEEPSEEK_BASE_URL", "http://x/v1")], None),
        (&format!("{of_deepseek}base_url = \"http://other.example/v1\"\n"), &[openai, deepseek], None),
        (&format!("{of_deepseek}base_url = \"https://api.openai.com/v1\"\n"), &[openai, deepseek], None),
        // Its own server has any path.
        (&of_anthropic("https://api.anthropic.com/v1"), &[anthropic], Some("ANTHROPIC_API_KEY")),
        (&of_anthropic("http://api.anthropic.com/v1"), &[anthropic], None),
    ];
    for (files, variables, expected) in table {
        assert_eq!(key_of(files, variables), Ok(expected.map(ToOwned::to_owned)), "{files:?}");
    }
}

#[test]
fn a_missing_key_is_a_model_that_cannot_be_used() {
    let cases = [
        ("[models.default]\nmodel = \"m\"\n", "OPENAI_API_KEY"),
        ("[models.default]\nbase_url = \"http://x/v1\"\napi_key_env = \"MINE\"\n", "MINE"),
    ];
    for (files, variable) in cases {
        let (kind, text) = key_of(files, &[("MINE", ""), ("AIME_MODEL", "m")]).unwrap_err();
        assert_eq!(kind, ErrorKind::MODEL);
        assert!(text.contains(variable) && text.contains(&format!("export {variable}=")), "{text}");
    }
    let (_, text) = key_of("[models.default]\nmodel = \"m\"\n", &[("MISTRAL_API_KEY", "k")]).unwrap_err();
    assert!(text.contains("MISTRAL_API_KEY is set: write provider = \"mistral\" into [models.default]"), "{text}");
    assert_eq!(none_configured().kind, ErrorKind::MODEL);
}

#[test]
fn a_fallback_must_be_configured() {
    let files = config("[models.default]\nmodel = \"m\"\nfallback = [\"ghost\"]\nbase_url = \"http://x/v1\"\n");
    let failure = fallback_faults(&files.models).next().unwrap();
    assert!(failure.kind == ErrorKind::Usage && failure.message.to_string().contains("ghost"), "{failure:?}");
    let setup = setup(files, &[]);
    let choice = choose(&setup.config, &setup.environment, None).unwrap().unwrap();
    assert_eq!(build(&choice, &setup).err().map(|error| error.message), Some(failure.message));
    let two = config("[models.a]\nfallback = [\"b\", \"c\"]\n[models.b]\nfallback = [\"d\", \"a\"]\n");
    let faults: Vec<String> = fallback_faults(&two.models).map(|fault| fault.hint.unwrap().to_string()).collect();
    assert_eq!(faults.len(), 2, "{faults:?}");
    assert!(faults[0].contains("[models.c]") && faults[1].contains("[models.d]"), "{faults:?}");
}

#[test]
fn every_model_that_a_run_may_ask_needs_prices() {
    let prices = "prices = { input = 1, output = 2 }\n";
    let priced = |more: &str| format!("[models.default]\nbase_url = \"http://x/v1\"\n{prices}{more}");
    for (files, expected) in [
        (String::new(), &[][..]),
        ("[models.default]\nmodel = \"acme-9\"\n".to_owned(), &["default"]),
        (priced(""), &[]),
        (priced("[models.planner]\nbase_url = \"http://x/v1\"\n"), &["planner"]),
        (priced(&format!("[models.planner]\n{prices}[models.classifier]\n{prices}")), &[]),
        ("[models.default]\nprovider = \"anthropic\"\n".to_owned(), &[]),
        (priced("fallback = [\"other\"]\n[models.other]\nmodel = \"acme-9\"\n"), &["other"]),
        // A task of a plan may name this model.
        (priced("[models.fast]\nmodel = \"acme-9\"\n"), &["fast"]),
        (priced("[models.local]\nprovider = \"local\"\nmodel = \"1.5b\"\n"), &[]),
        (priced("[models.planner]\nprovider = \"local\"\n"), &[]),
        ("[models.default]\nmodel = \"acme-9\"\n[models.planner]\nmodel = \"acme-9\"\n".to_owned(), &["default", "planner"]),
    ] {
        let setup = setup(config(&files), &[("OPENAI_API_KEY", "k")]);
        let choice = choose(&setup.config, &setup.environment, None).unwrap().unwrap();
        assert_eq!(unpriced(&choice, &setup).unwrap(), expected, "{files}");
    }
}

#[test]
fn a_local_model_of_any_role_is_opened_and_others_are_not() {
    let local = |name: &str| format!("[models.{name}]\nprovider = \"local\"\n");
    let files: String = ["default", "lead", "planner", "classifier", "auditor", "search", "other"].map(local).concat();
    let setup = setup(config(&files), &[]);
    let choice = choose(&setup.config, &setup.environment, None).unwrap().unwrap();
    let used: Vec<String> = used(&choice, &setup).unwrap().into_iter().collect();
    assert_eq!(used, ["auditor", "classifier", "default", "lead", "planner", "search"]);
}

/// Creates a setup of only these settings and variables.
pub(super) fn setup(config: Config, variables: &[(&str, &str)]) -> Setup {
    let environment = Environment::of(variables.iter().copied());
    let folder = std::path::PathBuf::from("nowhere");
    let opener = Setup::builder(environment);
    let places = opener.places(&folder);
    opener.loaded(folder, places, crate::config::Loaded { config, sources: Vec::new(), notes: Vec::new() })
}
