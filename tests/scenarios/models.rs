//! Which provider a run asks, by the variables that are set, and where keys and headers go.

use aime_scripted_server::{Script, When};

use crate::harness::{Ended, World, done, write};

const RUN: [&str; 4] = ["run", "write out.txt", "--mode", "direct"];

fn script() -> Script {
    Script::new().on(When::tools().and_turn(0), [write("out.txt", "out\n")]).on(When::tools(), [done("out.txt is written")])
}

/// A world that has a server, and no variable that names it.
fn unnamed() -> World {
    let mut world = World::with(script());
    world.set("OPENAI_BASE_URL", "");
    world
}

/// A world whose environment names its server as the one of a provider, and holds the provider's key.
fn with_key(provider: &str) -> World {
    let mut world = unnamed();
    let url = world.server().url();
    world.set(&format!("{provider}_BASE_URL"), &url);
    world.set(&format!("{provider}_API_KEY"), &key_of(provider));
    world
}

fn key_of(provider: &str) -> String {
    format!("key-7-of-{}", provider.to_lowercase())
}

/// Fails unless every request has this key, or none.
#[track_caller]
fn sends_key(world: &World, key: Option<&str>) {
    let received = world.server().received();
    assert!(!received.is_empty(), "nothing was asked");
    let expected = key.map(|key| format!("Bearer {key}"));
    for request in received {
        assert_eq!(request.headers.get("authorization"), expected.as_ref(), "{:?}", request.headers);
    }
}

fn first_line(ended: &Ended) -> &str {
    ended.stderr.lines().next().unwrap_or_default()
}

#[test]
fn one_key_alone_starts_a_run() {
    for (provider, model) in [("DEEPSEEK", "deepseek-flash"), ("OPENROUTER", "openai/gpt-5.6-terra"), ("MISTRAL", "mistral-medium-latest")]
    {
        let world = with_key(provider);
        let ended = world.aime(RUN).must(0);
        assert_eq!(world.read("out.txt"), "out\n", "{ended}");
        sends_key(&world, Some(&key_of(provider)));
        assert!(world.server().requests().iter().all(|request| request["model"] == model), "{provider}");
        let line = first_line(&ended);
        let because = format!("({provider}_BASE_URL and {provider}_API_KEY are set)");
        assert!(line.contains(model) && line.contains(&world.server().url()) && line.ends_with(&because), "{line}");
        assert!(!ended.to_string().contains(&key_of(provider)), "the key is shown\n{ended}");
    }
}

#[test]
fn the_first_of_several_keys_is_taken() {
    let mut world = with_key("DEEPSEEK");
    world.set("MISTRAL_API_KEY", "k-of-mistral");
    world.set("OPENROUTER_API_KEY", "k-of-openrouter");
    let ended = world.aime(RUN).must(0);
    sends_key(&world, Some(&key_of("DEEPSEEK")));
    assert!(first_line(&ended).contains("DEEPSEEK_API_KEY are set, and come before OPENROUTER_API_KEY, MISTRAL_API_KEY"), "{ended}");
    let chinese = world.aime(RUN.iter().chain(&["--lang", "zh"])).must(0);
    assert!(first_line(&chinese).contains("已设置 DEEPSEEK_BASE_URL 和 DEEPSEEK_API_KEY，它们优先于 OPENROUTER_API_KEY"), "{chinese}");
    // A server of one's own comes first.
    let url = world.server().url();
    world.set("OPENAI_BASE_URL", &url);
    world.serve(script());
    let ended = world.aime(RUN).must(0);
    sends_key(&world, None);
    assert!(first_line(&ended).contains("OPENAI_BASE_URL is set, and comes before DEEPSEEK_API_KEY"), "{ended}");
}

#[test]
fn a_named_model_is_that_providers() {
    let mut world = with_key("MISTRAL");
    world.set("AIME_MODEL", "ministral-9");
    let ended = world.aime(RUN).must(0);
    assert!(first_line(&ended).ends_with("(AIME_MODEL names it, MISTRAL_BASE_URL says where)"), "{ended}");
    let ended = world.aime(RUN.iter().chain(&["--model", "ministral-10"])).must(0);
    assert!(first_line(&ended).ends_with("(--model names it, MISTRAL_BASE_URL says where)"), "{ended}");
    let models: Vec<String> = world.server().requests().iter().map(|request| request["model"].as_str().unwrap().to_owned()).collect();
    assert!(models.contains(&"ministral-9".to_owned()) && models.last().unwrap() == "ministral-10", "{models:?}");
}

#[test]
fn a_file_names_the_provider() {
    let mut world = with_key("MISTRAL").settings("[models.default]\nprovider = \"mistral\"\nmodel = \"m\"\n");
    world.set("OPENAI_BASE_URL", "http://127.0.0.1:1/v1");
    world.set("OPENAI_API_KEY", "k-of-openai");
    let ended = world.aime(RUN).must(0);
    sends_key(&world, Some(&key_of("MISTRAL")));
    assert!(first_line(&ended).contains("[models.default]"), "{ended}");
    let list = world.aime(["models", "list"]).must(0);
    assert!(list.stdout.contains(" mistral ") && list.stdout.contains("key in MISTRAL_API_KEY"), "{list}");

    let mut other = with_key("MISTRAL").settings("[models.default]\nmodel = \"m\"\n");
    other
        .aime(RUN)
        .must(3)
        .stderr_contains(&["no key for models.default: OPENAI_API_KEY is not set", "write provider = \"mistral\" into [models.default]"]);
    other.set("LANG", "zh_CN.UTF-8");
    other.aime(RUN).must(3).stderr_contains(&["已设置 MISTRAL_API_KEY"]);
}

/// A short name may be meant as that of a local model.
#[test]
fn a_name_without_a_key_may_be_of_a_local_model() {
    let run = |name: &str, language: &str| unnamed().aime(["run", "hi", "--model", name, "--lang", language]).must(3);
    run("7b", "en").stderr_contains(&[
        "error: no key for models.default: OPENAI_API_KEY is not set",
        "set OPENAI_BASE_URL to a server that needs no key; 7b is not a local model: those are qwen2.5-coder-1.5b, ",
    ]);
    run("7b", "zh").stderr_contains(&["；7b 不是本地模型；本地模型有 qwen2.5-coder-1.5b, "]);
    let hosted = run("gpt-5.6-terra", "en");
    assert!(hosted.stderr.trim_end().ends_with("to a server that needs no key"), "{hosted}");
}

#[test]
fn nothing_set_is_the_local_model() {
    let ended = unnamed().aime(RUN).must(3);
    assert!(first_line(&ended).ends_with("in this process (no other is configured)"), "{ended}");
    // Where a gateway is, without a key for it, is no choice.
    let mut world = unnamed();
    let url = world.server().url();
    world.set("ANTHROPIC_BASE_URL", &url);
    assert!(first_line(&world.aime(RUN).must(3)).ends_with("(no other is configured)"));
}

#[test]
fn no_key_goes_where_a_project_says() {
    for provider in ["OPENAI", "DEEPSEEK", "OPENROUTER", "MISTRAL"] {
        let mut world = unnamed();
        world.set(&format!("{provider}_API_KEY"), &key_of(provider));
        let settings = format!(
            "[models.default]\nprovider = \"{}\"\nmodel = \"m\"\nbase_url = \"{}\"\n",
            provider.to_lowercase(),
            world.server().url()
        );
        world.file("aime.toml", &settings);
        world.aime(RUN).must(0);
        sends_key(&world, None);
        // An untrusted folder may not name the variable either; the user's own file may.
        world.file("aime.toml", &format!("{settings}api_key_env = \"{provider}_API_KEY\"\n"));
        world.aime(RUN).must(0).stderr_contains(&[&format!("the key in {provider}_API_KEY is not sent")]);
        sends_key(&world, None);
        world.serve(script());
        world.set("OPENAI_BASE_URL", "");
        world.file("aime.toml", "");
        world.user_settings(&format!(
            "[models.default]\nprovider = \"{}\"\nmodel = \"m\"\nbase_url = \"{}\"\napi_key_env = \"{provider}_API_KEY\"\n",
            provider.to_lowercase(),
            world.server().url()
        ));
        world.aime(RUN).must(0);
        sends_key(&world, Some(&key_of(provider)));
    }
}

#[test]
fn headers_are_sent_and_never_shown() {
    let mut world = unnamed();
    let url = world.server().url();
    let model = |more: &str| format!("[models.default]\nmodel = \"m\"\nbase_url = \"{url}\"\n{more}");
    world.user_settings(&model("headers = { \"x-team\" = \"s3cr3t-of-the-team\", \"x-title\" = \"aime\" }\n"));
    world.file("notes.txt", "s3cr3t-of-the-team\n");
    world.aime(RUN).must(0);
    let received = world.server().received();
    assert!(received.iter().all(|request| request.headers["x-team"] == "s3cr3t-of-the-team" && request.headers["x-title"] == "aime"));
    let shown = world.aime(["config", "show"]).must(0);
    assert!(shown.stdout.contains("x-team = \"[redacted-secret]\"") && !shown.to_string().contains("s3cr3t"), "{shown}");
    // Another server that the project names gets the project's own headers alone.
    world.serve(script());
    world.set("OPENAI_BASE_URL", "");
    let elsewhere = format!("[models.default]\nbase_url = \"{}\"\nheaders = {{ \"x-own\" = \"a\" }}\n", world.server().url());
    world.file("aime.toml", &elsewhere);
    world.aime(RUN).must(0).stderr_contains(&["the headers of your own settings are not sent"]);
    for request in world.server().received() {
        assert_eq!((request.headers.get("x-team"), request.headers["x-own"].as_str()), (None, "a"));
    }
    let faulty = World::alone().settings("[models.default]\nmodel = \"m\"\nheaders = { \"x team\" = \"s3cr3t\" }\n");
    let ended = faulty.aime(["config", "check"]).must(2);
    assert!(
        ended.stdout.contains("aime.toml:3:1: models.default.headers has the invalid name \"x team\"") && !ended.stdout.contains("s3cr3t"),
        "{ended}"
    );
}

#[test]
fn no_secret_of_an_address_is_shown() {
    let mut world = unnamed();
    let address = world.server().url().replace("http://", "http://me:pass-7@");
    world.user_settings(&format!("[models.default]\nmodel = \"m\"\nbase_url = \"{address}?key=query-7\"\nmax_retries = 0\n"));
    for command in [&["models", "list"][..], &["config", "show"], &["doctor"], &RUN] {
        let ended = world.aime(command);
        assert!(!ended.to_string().contains("pass-7") && !ended.to_string().contains("query-7"), "{command:?}\n{ended}");
        assert!(ended.to_string().contains("127.0.0.1"), "{command:?}\n{ended}");
    }
    assert!(world.server().received().iter().any(|received| received.query == "key=query-7"), "it is sent");
}
