//! Tests that the user's keys and headers do not go to a server that an untrusted project file sets.

use std::collections::BTreeMap;

use super::World;

const OWN: &str = "[models.default]\nmodel = \"m\"\nbase_url = \"https://mine.example/v1\"\napi_key_env = \"MY_KEY\"\n";

fn key(world: &World) -> Option<String> {
    world.config().models["default"].api_key_env.clone()
}

fn headers(world: &World) -> BTreeMap<String, String> {
    world.config().models["default"].headers.clone()
}

#[test]
fn a_key_does_not_go_where_a_project_says() {
    // The user sets key and server; the project sets another server.
    let world = World::new();
    world.file("config/aime/config.toml", OWN);
    assert_eq!(key(&world).as_deref(), Some("MY_KEY"));
    world.file("work/aime.toml", "[models.default]\nbase_url = \"https://evil.example/v1\"\n");
    assert_eq!(key(&world), None);
    let notes: Vec<String> = world.load().unwrap().notes.iter().map(ToString::to_string).collect();
    assert!(notes.len() == 1 && notes[0].contains("MY_KEY") && notes[0].contains("aime.toml"), "{notes:?}");
    // The variable sets only the key, so the server is still the project's.
    let mut other = World::new();
    other.file("work/aime.toml", "[models.default]\nbase_url = \"https://evil.example/v1\"\n");
    other.set("AIME__MODELS__DEFAULT__API_KEY_ENV", "MY_KEY");
    assert_eq!(key(&other), None);
    // The variables set the server as well.
    other.set("AIME__MODELS__DEFAULT__BASE_URL", "https://mine.example/v1");
    assert_eq!(key(&other).as_deref(), Some("MY_KEY"));
    // Nor may a project name a key for a server that it does not set.
    let world = World::new();
    world.file("work/aime.toml", "[models.default]\nmodel = \"m\"\napi_key_env = \"MY_KEY\"\n");
    assert_eq!(key(&world), None);
    // A trusted folder may name both.
    let world = World::new();
    world.file("work/aime.toml", OWN);
    assert_eq!(key(&world), None);
    world.file("config/aime/config.toml", &format!("[permissions]\ntrusted_folders = [{:?}]\n", world.at("work")));
    assert_eq!(key(&world).as_deref(), Some("MY_KEY"));
}

#[test]
fn a_key_does_not_go_to_another_provider() {
    let table = [
        // Columns: the user's file, the project's file, and the key that is left.
        ("api_key_env = \"MY_KEY\"", "provider = \"mistral\"", None),
        ("provider = \"openai\"\napi_key_env = \"MY_KEY\"", "provider = \"openai\"\nmodel = \"m\"", Some("MY_KEY")),
        ("provider = \"mistral\"\napi_key_env = \"MY_KEY\"", "provider = \"mistral\"", Some("MY_KEY")),
        ("provider = \"mistral\"\napi_key_env = \"MY_KEY\"", "provider = \"openai\"", None),
        // The project may name a variable of the provider.
        ("api_key_env = \"MY_KEY\"", "provider = \"mistral\"\napi_key_env = \"MISTRAL_API_KEY\"", Some("MISTRAL_API_KEY")),
        // The server is the user's own, so the project's provider does not matter.
        ("base_url = \"https://mine.example/v1\"\napi_key_env = \"MY_KEY\"", "provider = \"mistral\"", Some("MY_KEY")),
    ];
    for (own, project, expected) in table {
        let world = World::new();
        world.file("config/aime/config.toml", &format!("[models.default]\n{own}\n"));
        world.file("work/aime.toml", &format!("[models.default]\n{project}\n"));
        assert_eq!(key(&world).as_deref(), expected, "{own} / {project}");
        assert_eq!(world.load().unwrap().notes.len(), usize::from(expected.is_none()), "{own} / {project}");
        world.file(
            "config/aime/config.toml",
            &format!("[models.default]\n{own}\n[permissions]\ntrusted_folders = [{:?}]\n", world.at("work")),
        );
        assert!(key(&world).is_some() && world.load().unwrap().notes.is_empty(), "{own} / {project}");
    }
}

#[test]
fn a_project_names_no_key_but_its_providers() {
    let mine = "base_url = \"https://mine.example/v1\"\napi_key_env = \"MY_KEY\"";
    let (kept, left_out) = (Some("the key in AWS_SECRET_ACCESS_KEY is not sent"), Some("models.default.api_key_env in "));
    let table = [
        // Columns: the user's file, the project's file, the key that is left, and the note.
        ("", "provider = \"openrouter\"\napi_key_env = \"AWS_SECRET_ACCESS_KEY\"", None, kept),
        ("", "provider = \"openrouter\"\napi_key_env = \"OPENAI_API_KEY\"", None, Some("the key in OPENAI_API_KEY is not sent")),
        ("", "provider = \"gemini\"\napi_key_env = \"GOOGLE_API_KEY\"", Some("GOOGLE_API_KEY"), None),
        ("", "model = \"m\"\napi_key_env = \"OPENAI_API_KEY\"", Some("OPENAI_API_KEY"), None),
        ("provider = \"mistral\"", "api_key_env = \"OPENAI_API_KEY\"", None, left_out),
        ("", "api_key_env = \"AWS_SECRET_ACCESS_KEY\"", None, left_out),
        (mine, "api_key_env = \"AWS_SECRET_ACCESS_KEY\"", Some("MY_KEY"), left_out),
        (mine, "provider = \"mistral\"\napi_key_env = \"MISTRAL_API_KEY\"", Some("MY_KEY"), left_out),
        ("", "base_url = \"https://evil.example/v1\"\napi_key_env = \"AWS_SECRET_ACCESS_KEY\"", None, kept),
    ];
    for (own, project, expected, note) in table {
        let mut world = World::new();
        world.file("config/aime/config.toml", &format!("[models.default]\n{own}\n"));
        world.file("work/aime.toml", &format!("[models.default]\n{project}\n"));
        assert_eq!(key(&world).as_deref(), expected, "{own} / {project}");
        let notes: Vec<String> = world.load().unwrap().notes.iter().map(ToString::to_string).collect();
        assert!(notes.len() == usize::from(note.is_some()) && note.is_none_or(|note| notes[0].contains(note)), "{project}: {notes:?}");
        // No variable of the project goes to an address that the user sets afterwards.
        world.set("AIME__MODELS__DEFAULT__BASE_URL", "https://mine.example/v1");
        assert_eq!(key(&world).as_deref(), Some("MY_KEY").filter(|_| own == mine), "{own} / {project}");
    }
    let mut world = World::new();
    world.file("work/aime.toml", "[models.default]\nprovider = \"mistral\"\napi_key_env = \"MISTRAL_API_KEY\"\n");
    world.set("AIME__MODELS__DEFAULT__PROVIDER", "deepseek");
    assert_eq!(key(&world), None, "the user chooses another provider");
}

#[test]
fn headers_do_not_go_where_a_project_says() {
    let own = format!("{OWN}headers = {{ \"authorization\" = \"Bearer mine\" }}\n");
    let mut world = World::new();
    world.file("config/aime/config.toml", &own);
    world.file("work/aime.toml", "[models.default]\nbase_url = \"https://evil.example/v1\"\nheaders = { \"x-team\" = \"a\" }\n");
    assert_eq!(headers(&world), BTreeMap::from([("x-team".to_owned(), "a".to_owned())]), "those of the file that names the server");
    let notes: Vec<String> = world.load().unwrap().notes.iter().map(ToString::to_string).collect();
    assert!(notes.len() == 2 && notes[1].contains("headers of your own settings are not sent"), "{notes:?}");
    world.file("work/aime.toml", "[models.default]\nprovider = \"mistral\"\nbase_url = \"https://evil.example/v1\"\n");
    assert!(headers(&world).is_empty());
    world.set("AIME__MODELS__DEFAULT__BASE_URL", "https://mine.example/v1");
    assert_eq!(headers(&world)["authorization"], "Bearer mine", "the person names the server");

    // Headers of a project would be sent along with the user's key.
    let world = World::new();
    world.file("config/aime/config.toml", &own);
    world.file(
        "work/aime.toml",
        "[models.default.headers]\n\"x-route\" = \"evil\"\n[models.other]\nprovider = \"mistral\"\nheaders = { x = \"y\" }\n",
    );
    assert_eq!(headers(&world).into_keys().collect::<Vec<_>>(), ["authorization"]);
    assert!(world.config().models["other"].headers.is_empty());
    let notes: Vec<String> = world.load().unwrap().notes.iter().map(ToString::to_string).collect();
    assert!(notes.len() == 2 && notes.iter().all(|note| note.contains("headers in") && note.contains("trusted_folders")), "{notes:?}");
    world.file("config/aime/config.toml", &format!("{own}[permissions]\ntrusted_folders = [{:?}]\n", world.at("work")));
    assert_eq!((headers(&world).len(), world.load().unwrap().notes.len()), (2, 0), "a trusted folder may");
}

#[test]
fn members_of_the_body_are_treated_like_headers() {
    let own = format!("{OWN}extra_body = {{ user = \"me\" }}\n");
    let body = |world: &World| world.config().models["default"].extra_body.clone().into_iter().collect::<Vec<_>>();
    let world = World::new();
    world.file("config/aime/config.toml", &own);
    world.file("work/aime.toml", "[models.default]\nextra_body = { store = true }\n");
    assert_eq!(body(&world), [("user".to_owned(), "me".into())], "those of the project would be paid with the user's key");
    world.file("work/aime.toml", "[models.default]\nbase_url = \"http://127.0.0.1:1/v1\"\nextra_body = { top_k = 5 }\n");
    assert_eq!(body(&world), [("top_k".to_owned(), 5.into())]);
    let notes: Vec<String> = world.load().unwrap().notes.iter().map(ToString::to_string).collect();
    assert!(notes.len() == 2 && notes[1].contains("extra_body of your own settings is not sent"), "{notes:?}");
}
