//! Tests of the selection of a local model, and of the messages if it is missing. They download and load nothing.

use std::fs;

use super::*;
use crate::models::{
    build, choose, no_other,
    tests::{chosen, config, setup},
};

const HERE: &str = "in this process";
const QWEN: &str = "qwen2.5-coder-1.5b";
const LOCAL_DEFAULT: &str = "[models.default]\nprovider = \"local\"\n";
const SERVER: &str = "[models.default]\nmodel = \"m\"\nbase_url = \"http://mine.example/v1\"\n";

#[test]
fn a_local_model_is_used_where_no_server_is_configured() {
    let own = format!("{LOCAL_DEFAULT}path = \"/models/own.gguf\"\n");
    let named = "[models.fast]\nprovider = \"local\"\nmodel = \"0.5b\"\n";
    let (url, key) = (("OPENAI_BASE_URL", "http://env.example/v1"), ("OPENAI_API_KEY", "k"));
    type Case<'a> = (&'a str, &'a [(&'a str, &'a str)], Option<&'a str>, (&'a str, &'a str));
    let cases: &[Case<'_>] = &[
        ("", &[], None, (QWEN, HERE)),
        ("", &[], Some("local"), (QWEN, HERE)),
        ("", &[], Some("0.5b"), ("qwen2.5-coder-0.5b", HERE)),
        ("", &[("AIME_MODEL", "135M")], None, ("smollm2-135m", HERE)),
        ("", &[], Some("some/my.gguf"), ("my", HERE)),
        ("", &[key], Some("1.5b"), (QWEN, HERE)),
        (LOCAL_DEFAULT, &[url, key], None, (QWEN, HERE)),
        (LOCAL_DEFAULT, &[], Some("0.5b"), ("qwen2.5-coder-0.5b", HERE)),
        (&own, &[], None, ("own", HERE)),
        (&own, &[], Some("0.5b"), ("qwen2.5-coder-0.5b", HERE)),
        (named, &[key], Some("fast"), ("qwen2.5-coder-0.5b", HERE)),
        // If a server is configured, a name is the server's.
        ("", &[url], Some("1.5b"), ("1.5b", url.1)),
        ("", &[url, ("AIME_MODEL", "local")], None, ("local", url.1)),
        (SERVER, &[], Some("1.5b"), ("1.5b", "http://mine.example/v1")),
        ("", &[key], None, ("gpt-5.6-terra", "https://api.openai.com/v1")),
    ];
    for (files, variables, flag, expected) in cases {
        let (model, place, _) = chosen(files, variables, *flag).unwrap();
        assert_eq!((model.as_str(), place.as_str()), *expected, "{files:?} {variables:?} {flag:?}");
    }
    assert_eq!(chosen("", &[], None).unwrap().2, no_other().to_string());
}

#[test]
fn models_are_kept_where_the_environment_says() {
    let folder = |variables: &[(&str, &str)]| {
        store(&Environment::of(variables.iter().copied())).map(|store| store.folder().display().to_string()).map_err(|failure| failure.kind)
    };
    let home = ("HOME", "/somebody");
    assert_eq!(folder(&[home]).unwrap(), "/somebody/.cache/aime/models");
    assert_eq!(folder(&[home, ("XDG_CACHE_HOME", "/cache")]).unwrap(), "/cache/aime/models");
    assert_eq!(folder(&[home, ("XDG_CACHE_HOME", "/cache"), ("AIME_MODEL_DIR", "/models")]).unwrap(), "/models");
    assert_eq!(folder(&[]), Err(ErrorKind::MODEL));
}

#[test]
fn offline_is_a_variable_or_a_setting() {
    let offline = |files: &str, variables: &[(&str, &str)]| fetch_settings(&setup(config(files), variables)).offline;
    assert!(!offline("", &[]));
    assert!(!offline("", &[("AIME_OFFLINE", "0")]) && !offline("", &[("AIME_OFFLINE", "")]));
    assert!(offline("", &[("AIME_OFFLINE", "1")]) && offline("", &[("AIME_OFFLINE", "true")]));
    assert!(offline("[local]\noffline = true\n", &[]));
}

#[tokio::test]
async fn what_is_missing_is_told_with_its_hint() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().display().to_string();
    let variables = [("AIME_OFFLINE", "1"), ("AIME_MODEL_DIR", at.as_str())];
    let cases: [(&str, &[&str]); 4] = [
        ("", &["qwen2.5-coder-1.5b is missing", &at, "1.12 GB", "fetch qwen2.5-coder-1.5b", "OPENAI_BASE_URL"]),
        ("[models.default]\nprovider = \"local\"\nmodel = \"135m\"\n", &["smollm2-135m is missing", "98 MB"]),
        ("[models.default]\nprovider = \"local\"\npath = \"/gone/x.gguf\"\n", &["models.default", "/gone/x.gguf was not found", "path"]),
        (
            "[models.default]\nprovider = \"openai\"\nbase_url = \"http://x/v1\"\nfallback = [\"b\"]\n[models.b]\nprovider = \"local\"\n",
            &["is missing"],
        ),
    ];
    for (files, words) in cases {
        let setup = setup(config(files), &variables);
        let choice = choose(&setup.config, &setup.environment, None).unwrap().unwrap();
        let failure = crate::models::ready(&choice, &setup).await.err().unwrap();
        assert_eq!(failure.kind, ErrorKind::MODEL, "{files}");
        let text = format!("{} {}", failure.message, failure.hint.unwrap_or_default());
        for word in words {
            assert!(text.contains(word), "{word}: {text}");
        }
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is written");
}

#[tokio::test]
async fn a_local_model_that_nothing_uses_need_not_be_here() {
    let files = format!("{SERVER}[models.spare]\nprovider = \"local\"\n");
    let setup = setup(config(&files), &[("AIME_OFFLINE", "1"), ("AIME_MODEL_DIR", "/gone")]);
    let choice = choose(&setup.config, &setup.environment, None).unwrap().unwrap();
    assert!(crate::models::ready(&choice, &setup).await.is_ok());
    let choice = choose(&setup.config, &setup.environment, Some(crate::models::NamedModel::in_request("spare"))).unwrap().unwrap();
    assert_eq!(build(&choice, &setup).err().map(|failure| failure.kind), Some(ErrorKind::MODEL));
}

#[test]
fn an_unknown_model_suggests_the_nearest() {
    let environment = Environment::default();
    let wanted = |model: &str| ConfiguredFile::of(&ModelConfig { model: model.to_owned(), ..ModelConfig::default() }, &environment);
    let failure = wanted("qwen2.5-coder-1.5").unwrap_err();
    assert_eq!(failure.kind, ErrorKind::Usage);
    assert!(failure.hint.as_ref().unwrap().to_string().contains("did you mean \"qwen2.5-coder-1.5b\"?"), "{failure:?}");
    assert!(wanted("zzz").unwrap_err().hint.unwrap().to_string().contains("a known local model"));
}
