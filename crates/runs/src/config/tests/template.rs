//! Tests that the template, the book and the example files match the built-in defaults, and that shown settings can be read again.

use std::{collections::BTreeMap, fs, path::PathBuf};

use aime_redact::Redactor;
use serde_json::Value;

use super::{super::*, World};

/// Returns the template with every commented-out line enabled, except the examples.
fn uncommented() -> String {
    let setting = |line: &str| line.contains(" = ") || line.starts_with('[');
    let mut lines = Vec::new();
    for line in TEMPLATE.lines() {
        let bare = line.strip_prefix("# ").filter(|bare| {
            let first = bare.split([' ', '=']).next().unwrap_or_default();
            setting(bare) && (first.starts_with('[') || first.chars().all(|c| c.is_ascii_lowercase() || c == '_'))
        });
        lines.push(bare.unwrap_or(line));
    }
    lines.join("\n")
}

#[test]
fn the_template_is_a_file_that_sets_nothing() {
    let world = World::new();
    world.file("work/aime.toml", TEMPLATE);
    let loaded = world.load().unwrap();
    assert_eq!(loaded.config, Config::default());
    assert!(loaded.notes.is_empty());
}

#[test]
fn the_template_shows_the_real_defaults() {
    let mut shown: Config = toml::from_str(&uncommented()).unwrap_or_else(|error| panic!("{error}\n{}", uncommented()));
    assert_eq!(shown.models.remove("default").map(|model| model.model).as_deref(), Some("gpt-5.6-terra"));
    let run = &mut shown.run;
    assert!(
        run.max_steps.take().is_some()
            && run.max_tokens.take().is_some()
            && run.max_cost_usd.take().is_some()
            && run.max_seconds.take().is_some(),
        "examples"
    );
    assert!(shown.memory.knowledge.take().is_some(), "an example");
    assert!(shown.local.memory_mb.take().is_some() && shown.local.threads.take().is_some(), "examples");
    assert!(shown.mcp.servers.remove("git").is_some() && shown.web.search.take().is_some(), "examples");
    assert_eq!(shown, Config::default());
}

#[test]
fn the_template_and_the_book_know_every_setting() {
    let book = include_str!("../../../../../docs/src/reference/settings.md");
    let mut keys = Vec::new();
    paths("", &serde_json::to_value(schemars::schema_for!(Config)).unwrap(), &mut keys);
    assert!(keys.len() > 40, "{keys:?}");
    let template = uncommented();
    for (section, key) in keys {
        let names_key = |text: &str| text.contains(&format!("`{key}`")) || text.contains(&format!(".{key}`"));
        assert!(names_key(book), "docs/src/reference/settings.md does not tell {section}.{key}");
        let shown = format!("{key} = ");
        let is_section = section.is_empty() && template.contains(&format!("[{key}]"));
        assert!(template.contains(&shown) || is_section, "data/aime.toml does not show {section}.{key}");
    }
}

/// Lists every setting of the schema as section and key.
fn paths(section: &str, schema: &Value, found: &mut Vec<(String, String)>) {
    fn walk(section: &str, schema: &Value, root: &Value, found: &mut Vec<(String, String)>) {
        let schema = match schema["$ref"].as_str() {
            Some(place) => root.pointer(place.trim_start_matches('#')).unwrap(),
            None => schema,
        };
        let properties = schema["properties"].as_object().or_else(|| schema["additionalProperties"]["$ref"].as_str().and(None));
        if let Some(model) = schema["additionalProperties"]["$ref"].as_str() {
            walk(section, root.pointer(model.trim_start_matches('#')).unwrap(), root, found);
        }
        for (key, value) in properties.into_iter().flatten() {
            let place = value["$ref"].as_str().and_then(|place| root.pointer(place.trim_start_matches('#')));
            if place.is_some_and(|target| target["properties"].is_object()) || value["additionalProperties"]["$ref"].is_string() {
                walk(key, value, root, found);
            } else {
                found.push((section.to_owned(), key.clone()));
            }
        }
    }
    walk(section, schema, schema, found);
}

#[test]
fn what_is_shown_can_be_read_again() {
    let mut config = Config::default();
    assert_eq!(toml::from_str::<Config>(&show(&config, &Redactor::default()).unwrap()).unwrap(), config);
    config.models.insert("default".to_owned(), ModelConfig { model: "m".to_owned(), ..ModelConfig::default() });
    config.models.insert("a.b".to_owned(), ModelConfig { max_retries: Some(1), ..ModelConfig::default() });
    config.run.max_tokens = Some(5);
    let shown = show(&config, &Redactor::default()).unwrap();
    assert_eq!(toml::from_str::<Config>(&shown).unwrap(), config);
    insta::assert_snapshot!(shown);
}

#[test]
fn values_of_headers_are_not_shown() {
    let mut config = Config::default();
    let headers = [("x-team".to_owned(), "s3cr3t-word".to_owned())].into_iter().collect();
    config.models.insert("default".to_owned(), ModelConfig { headers, ..ModelConfig::default() });
    let shown = show(&config, &Redactor::default()).unwrap();
    assert!(shown.contains("x-team = \"[redacted-secret]\"") && !shown.contains("s3cr3t-word"), "{shown}");
    assert!(toml::from_str::<Config>(&shown).is_ok(), "{shown}");
}

// Requirement: 14.4
#[test]
fn no_secret_of_a_server_or_an_agent_is_shown() {
    let text = r#"
[models.default]
model = "m"
extra_body = { user = "team", safety_token = "s3cr3t-member", nested = [{ api_key = "s3cr3t-nested" }], max_tokens = 7 }
[mcp.servers.clock]
command = "clock"
args = ["--zone", "Paris", "--token", "s3cr3t-argument"]
env = { CLOCK_TOKEN = "s3cr3t-variable", CLOCK_URL = "https://example.org/s3cr3t-path" }
[mcp.servers.tracker]
url = "https://me:s3cr3t-login@example.org/mcp?apiKey=s3cr3t-query"
headers = { x-team = "s3cr3t-header" }
[profiles.helper.agent]
command = "helper"
set = { HELPER_TOKEN = "s3cr3t-set" }
[web.search]
provider = "searxng"
url = "https://search.example/?key=s3cr3t-search"
"#;
    let config: Config = toml::from_str(text).unwrap();
    let shown = show(&config, &Redactor::new(["s3cr3t-argument"])).unwrap();
    assert!(!shown.contains("s3cr3t"), "{shown}");
    for kept in
        ["\"team\"", "max_tokens = 7", "--zone", "CLOCK_URL", "https://[redacted-secret]@example.org/mcp?", "https://search.example/?"]
    {
        assert!(shown.contains(kept), "{kept}\n{shown}");
    }
    let again: Config = toml::from_str(&shown).unwrap();
    assert_eq!(again.mcp.servers.len(), 2, "it is a valid settings file");
}

/// Returns every file of a folder with this extension, by name.
fn files_of(folder: &str, ending: &str) -> BTreeMap<String, String> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let paths = entries.map(|entry| entry.unwrap().path()).filter(|path| path.extension().is_some_and(|found| found == ending));
    paths.map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read_to_string(path).unwrap())).collect()
}

#[test]
fn the_files_to_copy_are_what_is_built_in() {
    let found = files_of("config", "toml");
    assert_eq!(found["defaults.toml"], TEMPLATE, "copy crates/runs/data/aime.toml to config/defaults.toml");
    assert_eq!(
        found["categories.toml"],
        aime_dynamic_planner::DEFAULT_CATEGORIES,
        "copy crates/dynamic-planner/data/categories.toml to config/"
    );
    assert_eq!(found.len(), 2, "each file in config/ is explained in its README.md: {:?}", found.keys());
    let profiles = files_of("config/profiles", "toml");
    assert_eq!(
        profiles,
        files_of("crates/actor-factory/data/profiles", "toml"),
        "copy crates/actor-factory/data/profiles/ to config/profiles/"
    );
    let mut catalog = aime_actor_factory::ProfileCatalog::default();
    for (name, text) in &profiles {
        catalog.add_toml(text, name).unwrap();
    }
    let built_in = aime_actor_factory::ProfileCatalog::builtin();
    assert_eq!(catalog.iter().count(), built_in.iter().count());
    assert!(built_in.iter().all(|profile| catalog.get(&profile.name) == Some(profile)));
}
