//! Tests with files and variables as people write them, valid and invalid.

mod combinations;
mod hooks;
mod permissions;
mod project;
mod redirected;
mod template;

use std::{fs, path::PathBuf};

use aime_messages::{Describe as _, Language};
use aime_tools::Approval;
use tempfile::TempDir;

use super::*;
use crate::Environment;

/// Empty home folder and empty project.
struct World {
    root: TempDir,
    variables: Vec<(String, String)>,
    flag: Option<PathBuf>,
}

impl World {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        for folder in ["work", "home", "config/aime"] {
            fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        let mut world = Self { root, variables: Vec::new(), flag: None };
        world.set("HOME", &world.at("home"));
        world.set("XDG_CONFIG_HOME", &world.at("config"));
        world
    }

    fn at(&self, path: &str) -> String {
        self.root.path().canonicalize().unwrap().join(path).display().to_string()
    }

    fn set(&mut self, name: &str, value: &str) {
        self.variables.push((name.to_owned(), value.to_owned()));
    }

    fn file(&self, path: &str, text: &str) {
        let path = self.root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn environment(&self) -> Environment {
        Environment::of(self.variables.iter().map(|(name, value)| (name.as_str(), value.as_str())))
    }

    fn places(&self) -> Places {
        Places::new(&self.environment(), &PathBuf::from(self.at("work")), self.flag.clone())
    }

    fn load(&self) -> Result<Loaded, ConfigFault> {
        load(&self.places(), &self.environment())
    }

    fn config(&self) -> Config {
        self.load().unwrap().config
    }

    /// Returns the message of the fault, without the folders of this test.
    fn fault(&self) -> String {
        let fault = self.load().unwrap_err();
        let hint = fault.hint.as_ref().map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
        format!("{fault}{hint}").replace(&self.at(""), "")
    }
}

fn fault_in(name: &str, text: &str) -> String {
    let world = World::new();
    world.file(&format!("work/{name}"), text);
    world.fault()
}

/// Returns user settings that trust the working folder.
fn trust(world: &World) -> String {
    format!("[permissions]\ntrusted_folders = [{:?}]\n", world.at("work"))
}

#[test]
fn nothing_gives_the_defaults() {
    let loaded = World::new().load().unwrap();
    assert_eq!(loaded.config, Config::default());
    assert_eq!(loaded.sources, ["defaults"]);
    assert!(loaded.notes.is_empty());
}

#[test]
fn later_places_win_key_by_key() {
    let mut world = World::new();
    let steps = |world: &World| (world.config().run.max_parallel, world.config().run.max_steps.unwrap(), world.config().run.max_actors);
    world.file("config/aime/config.toml", "[run]\nmax_parallel = 4\nmax_steps = 4\nmax_actors = 4\n");
    assert_eq!(steps(&world), (4, 4, 4));
    world.file("work/aime.toml", "[run]\nmax_parallel = 5\nmax_steps = 5\n");
    assert_eq!(steps(&world), (5, 5, 4));
    world.file("mine.yaml", "run:\n  max_steps: 6\n");
    world.flag = Some(world.at("mine.yaml").into());
    assert_eq!(steps(&world), (5, 6, 4));
    world.set("AIME__RUN__MAX_STEPS", "7");
    assert_eq!(steps(&world), (5, 7, 4));
    let sources: Vec<String> = world.load().unwrap().sources.iter().map(|source| source.replace(&world.at(""), "")).collect();
    assert_eq!(sources, ["defaults", "config/aime/config.toml", "work/aime.toml", "mine.yaml", "AIME__RUN__MAX_STEPS"]);
}

#[test]
fn the_three_forms_say_the_same() {
    let forms = [
        (
            "aime.toml",
            "[models.default]\nmodel = \"m\"\nfallback = [\"o\"]\n[models.o]\nmodel = \"o\"\n[run]\nmax_cost_usd = 2\n[planning.bypass]\nsingle_file = false\n",
        ),
        (
            "aime.yaml",
            "models:\n  default:\n    model: m\n    fallback: [o]\n  o:\n    model: o\nrun:\n  max_cost_usd: 2\n  max_tokens: null\nplanning:\n  bypass:\n    single_file: false\n",
        ),
        (
            "aime.yml",
            "{models: {default: {model: m, fallback: [o]}, o: {model: o}}, run: {max_cost_usd: 2.0}, planning: {bypass: {single_file: false}}}",
        ),
        (
            "aime.json",
            r#"{"models": {"default": {"model": "m", "fallback": ["o"]}, "o": {"model": "o"}}, "run": {"max_cost_usd": 2, "max_tokens": null}, "planning": {"bypass": {"single_file": false}}}"#,
        ),
    ];
    for (name, text) in forms {
        let world = World::new();
        world.file(&format!("work/{name}"), text);
        let config = world.config();
        assert_eq!(config.models["default"].fallback, ["o"], "{name}");
        assert_eq!(config.models["o"].model, "o", "{name}");
        assert_eq!(config.run.max_cost_usd, Some(2.0), "{name}");
        assert!(!config.planning.bypass.single_file && config.planning.bypass.clear_category, "{name}");
    }
}

#[test]
fn two_forms_of_one_file_are_refused() {
    let mut world = World::new();
    for name in ["work/aime.toml", "work/aime.yaml", "config/aime/config.toml"] {
        world.file(name, "\n");
    }
    let beside = "exists beside it, and only one of them can hold the settings\nhint: write all of them into one, and move the other away";
    assert_eq!(world.fault(), format!("work/aime.toml: work/aime.yaml {beside}"));
    assert_eq!(check_each(&world.places(), &world.environment()).len(), 1, "`aime config check` tells it too");
    // `--config` names one of the two files, so both are read.
    world.flag = Some(world.at("work/aime.yaml").into());
    world.load().unwrap();
    world.file("config/aime/config.json", "{}");
    assert_eq!(world.fault(), format!("config/aime/config.toml: config/aime/config.json {beside}"));
}

#[test]
fn an_empty_file_sets_nothing() {
    for name in ["aime.toml", "aime.yaml"] {
        let world = World::new();
        world.file(&format!("work/{name}"), "\n");
        assert_eq!(world.config(), Config::default(), "{name}");
    }
}

#[test]
fn names_of_models_are_kept_as_they_are() {
    let world = World::new();
    world.file("work/aime.toml", "[models.\"Big.Model-2\"]\nmodel = \"B\"\n[models.default]\nmodel = \"m\"\n");
    let names: Vec<String> = world.config().models.into_keys().collect();
    assert_eq!(names, ["Big.Model-2", "default"]);
}

#[test]
fn faults_name_the_place_and_the_hint() {
    let cases = [
        ("aime.toml", "[run]\nmax_paralel = 2\n"),
        ("aime.yaml", "run:\n  max_paralel: 2\n"),
        ("aime.json", "{\"run\":\n  {\"max_paralel\": 2}}"),
        ("aime.toml", "[runn]\nx = 1\n"),
        ("aime.toml", "[run]\nzzzzzzzzzz = 2\n"),
        ("aime.toml", "[run]\nmax_parallel = \"two\"\n"),
        ("aime.yaml", "run:\n  max_parallel: two\n"),
        ("aime.json", "{\"run\": {\"max_parallel\": \"two\"}}"),
        ("aime.toml", "[run]\nmax_parallel = -1\n"),
        ("aime.toml", "run = 3\n"),
        ("aime.toml", "[planning]\ncache = \"yes\"\n"),
        ("aime.toml", "[planning]\nmode = \"complicated\"\n"),
        ("aime.yaml", "planning:\n  mode: complicated\n"),
        ("aime.json", "{\"planning\": {\"mode\": \"complicated\"}}"),
        ("aime.toml", "[models.default]\nprovider = \"open-ai\"\n"),
        ("aime.toml", "[models.default]\nprovider = \"deepsek\"\n"),
        ("aime.toml", "[models.default]\neffort = \"medum\"\n"),
        ("aime.yaml", "models:\n  default:\n    effort: extreme\n"),
        ("aime.toml", "[models.default]\nprotocol = \"completions\"\n"),
        ("aime.json", "{\"models\": {\"default\": {\"protocol\": \"response\"}}}"),
        ("aime.toml", "[models.default]\nmodel = \"m\"\nheaders = { \"x team\" = \"a\" }\n"),
        ("aime.toml", "[models.default.headers]\nhost = \"other.example\"\n"),
        ("aime.toml", "[models.default]\nheaders = [\"x-team: a\"]\n"),
        ("aime.toml", "[models.default]\nprices = { input = 1 }\n"),
        ("aime.toml", "[models.default]\nfallback = \"other\"\n"),
        ("aime.toml", "[run\n"),
        ("aime.toml", "[run]\nmax_parallel = \n"),
        ("aime.toml", "[run]\nmax_steps = 1\nmax_steps = 2\n"),
        ("aime.yaml", "run:\n\tmax_parallel: 2\n"),
        ("aime.json", "{\"run\": "),
        ("aime.json", "[]"),
    ];
    let lines: Vec<String> = cases.iter().map(|(name, text)| format!("{text:?}\n{}\n", fault_in(name, text))).collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn invalid_values_are_refused() {
    let cases = [
        ("run.max_parallel", "[run]\nmax_parallel = 0"),
        ("run.max_parallel", "[run]\nmax_parallel = 1001"),
        ("run.worktree.copy", "[run.worktree]\ncopy = [\"../x\"]"),
        ("run.worktree.link", "[run.worktree]\nlink = [\"a/.git/hooks\"]"),
        ("run.max_steps", "[run]\nmax_steps = 0"),
        ("run.max_actors", "[run]\nmax_actors = 0"),
        ("run.max_tokens", "[run]\nmax_tokens = 0"),
        ("run.max_seconds", "[run]\nmax_seconds = 0"),
        ("run.max_cost_usd", "[run]\nmax_cost_usd = -1"),
        ("run.max_cost_usd", "[run]\nmax_cost_usd = nan"),
        ("planning.max_attempts", "[planning]\nmax_attempts = 0"),
        ("planning.limits.max_actions", "[planning.limits]\nmax_actions = 0"),
        ("triggers.token_budget_threshold", "[triggers]\ntoken_budget_threshold = 20"),
        ("actors.temperature", "[actors]\ntemperature = 3"),
        ("actors.compact_at", "[actors]\ncompact_at = 80"),
        ("actors.warn_after_repeats", "[actors]\nwarn_after_repeats = 0"),
        ("tools.bash_timeout_seconds", "[tools]\nbash_timeout_seconds = 0"),
        ("tools.python_timeout_seconds", "[tools]\npython_timeout_seconds = 601"),
        ("classes.small.output_characters", "[classes.small]\noutput_characters = 10"),
        ("classes.small.max_steps", "[classes.small]\nmax_steps = 0"),
        ("classes.capable.file_share", "[classes.capable]\nfile_share = 0.5"),
        ("classes.capable.look_share", "[classes.capable]\nlook_share = 1.5"),
        ("planning.temperature", "[planning]\ntemperature = 3"),
        ("planning.check_seconds", "[planning]\ncheck_seconds = 601"),
        ("planning.classifier.max_simple_score", "[planning.classifier]\nmax_simple_score = 2"),
        ("planning.classifier.cjk_weight", "[planning.classifier]\ncjk_weight = 0"),
        ("memory.chunk_tokens", "[memory]\nchunk_tokens = 49"),
        ("models.default.prices.output", "[models.default]\nprices = { input = 1, output = -1 }"),
        ("models.default.timeout_seconds", "[models.default]\ntimeout_seconds = 0"),
        ("models.default.context_tokens", "[models.default]\ncontext_tokens = 0"),
    ];
    for (key, text) in cases {
        let message = fault_in("aime.toml", text);
        let (place, fault) = message.split_once(": ").unwrap();
        assert!(
            place.starts_with("work/aime.toml:2:") && fault.starts_with(&format!("{key} is ")) && fault.contains("write "),
            "{message}"
        );
    }
}

#[test]
fn a_fault_of_syntax_is_told_with_its_line_and_column_in_every_form() {
    for (name, text, place) in [
        ("aime.toml", "[run]\nmax_steps = = 1\n", ":2:13"),
        ("aime.toml", "[run]\nmax_steps = 1\n[run]\n", ":3:2"),
        ("aime.toml", "[web]\nallowed_hosts = [\"a\"\n", ":2:21"),
        ("aime.yaml", "run:\n  max_steps: 1\n max_actors: 2\n", ":3:2"),
        ("aime.yaml", "run:\n  max_steps: 1\n  max_steps: 2\n", ":3:3"),
        ("aime.yaml", "web:\n  allowed_hosts: [\"a\"\n", ":2:18"),
        ("aime.yaml", "run: \"x\n", ":2:1"),
        ("aime.yaml", "run: *there\n", ":1:6"),
        ("aime.yaml", "run: {}\n---\nrun: {}\n", ":3:1"),
        ("aime.json", "{\n  \"run\": {\"max_steps\": 1,}\n}", ":2:26"),
        ("aime.json", "{\n  \"run\": {\"max_steps\": 1}\n", ":3:1"),
        ("aime.json", "{\"run\": {\"max_steps\": 1}} x", ":1:27"),
        ("aime.json", "", ":1:1"),
    ] {
        let message = fault_in(name, text);
        assert!(message.starts_with(&format!("work/{name}{place}: ")), "{text}\n{message}");
    }
}

#[test]
fn a_value_that_cannot_stand_is_found_where_it_stands() {
    for (name, text, place) in [
        ("aime.yaml", "# max_parallel: 0\nmodels:\n  a.b c:\n    model: m\n    timeout_seconds: 0\n", ":5:5"),
        ("aime.yaml", "run: {max_steps: 0}\n", ":1:7"),
        ("aime.yaml", "web:\n  search:\n    provider: searxng\n", ":2:3"),
        ("aime.yaml", "hooks:\n  stop:\n  - command: x\n  - command: y\n    tools: [bash]\n", ":5:5"),
        ("aime.json", "{\n\t\"run\": {\n\t\t\"max_steps\": 0,\n\t\t\"max_tokens\": null,\n\t\t\"plain\": true\n\t}\n}\n", ":3:3"),
        ("aime.json", "{\"memory\": {\"knowledge\": \"\\ud83d\\ude00\", \"recall\": 21}}", ":1:42"),
        ("aime.toml", "# max_parallel = 0\n[models.\"a.b c\"]\nmodel = \"m\"\ntimeout_seconds = 0\n", ":4:1"),
        ("aime.toml", "run = { max_steps = 0 }\n", ":1:9"),
        ("aime.toml", "run.max_steps = 0\n", ":1:5"),
        ("aime.toml", "[web]\n[web.search]\nprovider = \"searxng\"\n", ":2:6"),
        ("aime.toml", "[web.search]\nprovider = \"model\"\nurl = \"http://a\"\n", ":3:1"),
        ("aime.toml", "[[hooks.stop]]\ncommand = \"x\"\n[[hooks.stop]]\ncommand = \"y\"\ntools = [\"bash\"]\n", ":5:1"),
    ] {
        let world = World::new();
        // The combinations of an untrusted project's sections are not in force.
        world.file("config/aime/config.toml", &trust(&world));
        world.file(&format!("work/{name}"), text);
        let message = world.fault();
        assert!(message.starts_with(&format!("work/{name}{place}: ")), "{text}\n{message}");
    }
}

#[test]
fn members_that_a_request_has_are_refused() {
    for name in ["model", "messages", "input", "system", "systemInstruction", "contents", "tools"] {
        let message = fault_in("aime.toml", &format!("[models.default]\nmodel = \"m\"\nextra_body = {{ user = \"u\", {name} = [] }}\n"));
        let (place, fault) = message.split_once(": ").unwrap();
        assert!(place.starts_with("work/aime.toml:3:"), "{message}");
        assert_eq!(fault, format!("aime writes models.default.extra_body.{name} into the request itself: leave it out"));
    }
}

#[test]
fn the_address_of_a_server_is_one() {
    for (address, reason) in [
        ("localhost:8080", "it does not begin with http:// or https://"),
        ("127.0.0.1:8080/v1", "it does not begin with http:// or https://"),
        ("http://", "it names no host"),
        ("http://localhost:99999", "its port is not a number from 0 to 65535"),
    ] {
        let message = fault_in("aime.toml", &format!("[models.default]\nmodel = \"m\"\nbase_url = \"{address}\"\n"));
        let expected =
            format!("work/aime.toml:3:1: models.default.base_url {address:?} cannot be used: {reason}; write an address such as ");
        assert!(message.starts_with(&expected), "{message}");
    }
}

#[test]
fn hosts_that_name_none_are_refused_at_their_place() {
    for (list, entry, part) in [
        ("blocked_hosts", "http://127.0.0.1", "more than a host"),
        ("blocked_hosts", "127.0.0.1/", "more than a host"),
        ("blocked_hosts", "127.0.0.1:8080", "every port"),
        ("allowed_hosts", "https://docs.rs", "more than a host"),
        ("allowed_hosts", "docs.rs:443", "every port"),
        ("private_hosts", "http://127.0.0.1:8080", "more than a host"),
        ("private_hosts", "*.intern", "without a *"),
    ] {
        let message = fault_in("aime.toml", &format!("[web]\n{list} = [\"docs.rs\", \"{entry}\"]\n"));
        assert!(message.starts_with("work/aime.toml:2:") && message.contains(&format!("{entry:?} is not a host")), "{message}");
        assert!(message.contains(part) && message.contains("write a"), "{message}");
    }
    let world = World::new();
    world.file("work/aime.toml", "[web]\nallowed_hosts = [\"*\"]\nblocked_hosts = [\"[::1]\"]\nprivate_hosts = [\"127.0.0.1:8080\"]\n");
    world.load().unwrap();
}

#[test]
fn network_hosts_of_programs_are_checked() {
    for (section, more) in
        [("sandbox", ""), ("mcp.servers.clock", "command = \"clock\"\n"), ("profiles.helper.agent", "command = \"my-agent\"\n")]
    {
        let message = fault_in("aime.toml", &format!("[{section}]\nnetwork = [\"docs.rs\", \"https://api.example.org\"]\n{more}"));
        assert!(message.starts_with("work/aime.toml:2:") && message.contains(&format!("{section}.network")), "{message}");
        assert!(message.contains("\"https://api.example.org\" is not a host") && message.contains("more than a host"), "{message}");
    }
}

#[test]
fn unreadable_files_are_named() {
    let world = World::new();
    fs::write(world.at("work/aime.toml"), [0xff, 0xfe, 0]).unwrap();
    assert!(world.fault().starts_with("work/aime.toml: is not text in UTF-8"), "{}", world.fault());

    let mut world = World::new();
    world.flag = Some(world.at("none.toml").into());
    assert!(world.fault().starts_with("none.toml: cannot be read: "), "{}", world.fault());
    world.flag = Some(world.at("work").into());
    assert!(world.fault().starts_with("work: cannot be read: "), "{}", world.fault());
}

#[test]
fn all_faulty_files_and_variables_are_reported() {
    let mut world = World::new();
    world.file("config/aime/config.toml", "[runn]\n");
    world.file("work/aime.toml", "[run\n");
    world.set("AIME__RUN__MAX_PARALLEL", "0");
    world.set("AIME__RUN__MAX_STEPS", "1");
    let faults = check_each(&world.places(), &world.environment());
    let faults: Vec<String> = faults.iter().map(|fault| fault.place.replace(&world.at(""), "")).collect();
    assert_eq!(faults, ["config/aime/config.toml:1:2", "work/aime.toml:1:5", "AIME__RUN__MAX_PARALLEL"]);
}

#[test]
fn all_faults_of_a_file_are_listed_by_place() {
    let mut world = World::new();
    world.file(
        "work/aime.toml",
        "[runn]\nx = 1\n[run]\nmax_parallel = 0\nmax_steps = \"five\"\nmax_tokens = 0\n\
         [permissions]\ndeny = [\"bsh\", \"launch\"]\n[models.default]\nprotocol = \"respnses\"\nbase_url = \"localhost\"\n",
    );
    world.file("config/aime/config.toml", "web = 3\n[run]\nmax_steps = []\nmax_actors = 0\n");
    world.set("AIME__RUN", r#"{"max_parallel": 0, "max_tokens": 0}"#);
    let faults = check_each(&world.places(), &world.environment());
    let places: Vec<String> = faults.iter().map(|fault| fault.place.replace(&world.at(""), "")).collect();
    let expected = ["1:7", "3:13", "4:1"].map(|place| format!("config/aime/config.toml:{place}"));
    let of_project = ["1:2", "4:1", "5:13", "6:1", "8:10", "8:17", "10:12", "11:1"].map(|place| format!("work/aime.toml:{place}"));
    let of_variable = ["AIME__RUN"; 2].map(str::to_owned);
    assert_eq!(places, expected.into_iter().chain(of_project).chain(of_variable).collect::<Vec<_>>(), "{faults:#?}");
}

#[test]
fn variables_set_what_they_name() {
    let mut world = World::new();
    for (name, value) in [
        ("AIME__RUN__MAX_STEPS", "7"),
        ("AIME__RUN__MAX_COST_USD", "1.5"),
        ("AIME__RUN__MAX_TOKENS", ""),
        ("AIME__PLANNING__CACHE", "false"),
        ("AIME__PLANNING__MODE", "simple"),
        ("AIME__PLANNING__BYPASS__MAX_INPUT_LENGTH", "0"),
        ("AIME__PERMISSIONS__APPROVE", "read-only"),
        ("AIME__SANDBOX__ENVIRONMENT", "[\"LANG\", \"EDITOR\"]"),
        ("AIME__MODELS__DEFAULT__MODEL", "7"),
        ("AIME__MODELS__DEFAULT__PRICES", "{\"input\": 1, \"output\": 2}"),
    ] {
        world.set(name, value);
    }
    let config = world.config();
    assert_eq!((config.run.max_steps, config.run.max_cost_usd, config.run.max_tokens), (Some(7), Some(1.5), None));
    assert_eq!((config.planning.cache, config.planning.mode, config.planning.bypass.max_input_length), (false, ModeConfig::Simple, 0));
    assert_eq!(config.permissions.approve, Approval::ReadOnly);
    assert_eq!(config.sandbox.environment, ["LANG", "EDITOR"]);
    assert_eq!(config.models["default"].model, "7", "a name may look like a number");
    assert_eq!(config.models["default"].prices.unwrap().output, 2.0);
}

#[test]
fn wrong_variables_are_named() {
    let cases = [
        ("AIME__RUN__MAX_PARALEL", "2"),
        ("AIME__RUN__MAX_PARALLEL", "many"),
        ("AIME__RUN__MAX_PARALLEL", "0"),
        ("AIME__RUN", "3"),
        ("AIME__RUNN__MAX_STEPS", "3"),
        ("AIME__PLANNING__MODE", "Simple"),
        ("AIME__SANDBOX__ENVIRONMENT", "LANG"),
    ];
    let lines: Vec<String> = cases
        .iter()
        .map(|(name, value)| {
            let mut world = World::new();
            world.set(name, value);
            format!("{name}={value}\n{}\n", world.fault())
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
}

const UNSAFE: &str = "[permissions]\napprove = \"all\"\n[sandbox]\nenvironment = [\"X\"]\n[mcp.servers.x]\ncommand = \"x\"\n[web]\nallowed_hosts = [\"*\"]\n[extensions]\nfolders = [\"own\"]\n[local]\nthreads = 1\n";

#[test]
fn a_projects_file_has_no_say_in_what_is_safe() {
    let world = World::new();
    world.file("work/aime.toml", &format!("[run]\nmax_steps = 5\n{UNSAFE}"));
    let loaded = world.load().unwrap();
    assert_eq!(loaded.config, Config { run: RunConfig { max_steps: Some(5), ..RunConfig::default() }, ..Config::default() });
    assert_eq!(loaded.notes.len(), 6);
    for (note, section) in loaded.notes.iter().zip(["permissions.approve", "[sandbox]", "[mcp]", "[web]", "[extensions]", "[local]"]) {
        let note = note.to_string();
        assert!(note.starts_with(section) && note.contains("aime.toml") && note.contains("trusted_folders"), "{note}");
    }
}

#[test]
fn a_projects_documents_are_its_own() {
    let knowledge = |world: &World| world.config().memory.knowledge.map(|folder| folder.display().to_string().replace(&world.at(""), ""));
    for (folder, kept) in [
        ("docs", Some("work/docs")),
        ("later/there", Some("work/later/there")),
        ("../home", None),
        ("docs/../../home", None),
        ("later/../../home", None),
        ("~/notes", None),
        ("/", None),
        ("link", None),
    ] {
        let mut world = World::new();
        fs::create_dir(world.at("work/docs")).unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(world.at("home"), world.at("work/link")).unwrap();
        world.file("work/aime.toml", &format!("[memory]\nknowledge = {folder:?}\nrecall = 2\n"));
        assert_eq!(knowledge(&world).as_deref(), kept, "{folder}");
        assert_eq!((world.load().unwrap().notes.len(), world.config().memory.recall), (usize::from(kept.is_none()), 2), "{folder}");
        world.set("AIME__PERMISSIONS__TRUSTED_FOLDERS", &format!("[{:?}]", world.at("work")));
        assert!(world.config().memory.knowledge.is_some() && world.load().unwrap().notes.is_empty(), "{folder}");
    }
    let world = World::new();
    world.file("config/aime/config.toml", "[memory]\nknowledge = \"notes\"\n");
    assert_eq!(knowledge(&world).as_deref(), Some("config/aime/notes"), "one's own file may name any");
}

#[test]
fn a_project_cannot_trust_itself() {
    let world = World::new();
    world.file("work/aime.toml", "[permissions]\ntrusted_folders = [\"/\"]\napprove = \"all\"\n");
    assert_eq!(world.config().permissions, PermissionConfig::default());
}

#[test]
fn a_trusted_folder_has_its_say() {
    for entry in ["WORK", "ROOT", "~/../work"] {
        let world = World::new();
        world.file("work/aime.toml", UNSAFE);
        let entry = entry.replace("WORK", &world.at("work")).replace("ROOT", &world.at(""));
        world.file("config/aime/config.toml", &format!("[permissions]\ntrusted_folders = [{entry:?}]\n"));
        let loaded = world.load().unwrap();
        assert_eq!(loaded.config.permissions.approve, Approval::All, "{entry}");
        assert_eq!(loaded.config.extensions.folders, [PathBuf::from(world.at("work/own"))], "relative to the file");
        assert!(loaded.notes.is_empty());
    }
    for entry in ["work", ".", "OTHER", "WORK-2"] {
        let world = World::new();
        world.file("work/aime.toml", UNSAFE);
        world.file("work-2/x", "");
        let entry = entry.replace("WORK", &world.at("work")).replace("OTHER", &world.at("home"));
        world.file("config/aime/config.toml", &format!("[permissions]\ntrusted_folders = [{entry:?}]\n"));
        assert_eq!(world.config().permissions.approve, Approval::Edits, "{entry}");
    }
}

#[test]
fn a_file_that_is_named_is_ones_own_word() {
    let mut world = World::new();
    world.file("work/aime.toml", UNSAFE);
    world.flag = Some(world.at("work/aime.toml").into());
    let loaded = world.load().unwrap();
    assert_eq!(loaded.config.permissions.approve, Approval::All);
    assert!(loaded.notes.is_empty());
}

/// Returns all faults of a project file, in a language.
fn faults_in(text: &str, language: Language) -> Vec<String> {
    let world = World::new();
    world.file("work/aime.toml", text);
    let faults = check_each(&world.places(), &world.environment());
    faults.iter().map(|fault| fault.describe().render(language).replace(&world.at("work/aime.toml:"), "")).collect()
}

#[test]
fn a_faulty_key_is_not_missing_as_well() {
    let faults = faults_in("[[hooks.stop]]\ncommand = 3\n[profiles.x]\nagent = 3\n[profiles.y]\n", Language::English);
    let expected = ["2:11: expected a text, found `3`", "4:9: expected a table of keys, found `3`", "5:1: `agent` is missing"];
    assert_eq!(faults, expected);
}

// Requirement: 19.1
#[test]
fn faults_of_values_are_translated() {
    let values = "[sandbox]\nnetwork = \"maybe\"\n[[hooks.stop]]\ncommand = \" \"\n[[hooks.stop]]\ncommand = \"x\"\ntimeout_seconds = 0\n";
    let checked = "[sandbox]\nallow_missing = [\"x\"]\n[run]\nmax_parallel = 0\n";
    for (language, expected) in [
        (
            Language::English,
            [
                "2:11: expected \"none\", \"all\", or a list of hosts such as [\"crates.io\", \"*.example.org\"], found \"maybe\"",
                "4:11: expected a command, found \" \"",
                "7:19: expected 1 to 600, found `0`",
                "2:1: sandbox.allow_missing is \"x\": write one of files, truncation, signals, system-calls, keys, network-namespace",
                "4:1: run.max_parallel is 0: write 1 to 1000",
            ],
        ),
        (
            Language::Chinese,
            [
                "2:11：这里应为\"none\"、\"all\" 或主机列表，如 [\"crates.io\", \"*.example.org\"]，而不是\"maybe\"",
                "4:11：这里应为一条命令，而不是\" \"",
                "7:19：这里应为从 1 到 600 的数，而不是`0`",
                "2:1：sandbox.allow_missing 是 \"x\"：请写其中之一：files, truncation, signals, system-calls, keys, network-namespace",
                "4:1：run.max_parallel 是 0：请写从 1 到 1000 的数",
            ],
        ),
    ] {
        assert_eq!([faults_in(values, language), faults_in(checked, language)].concat(), expected);
    }
}
