//! The commands beside `run`: each does what it says, and its output is what it promises.

use std::{fs, path::Path};

use aime_scripted_server::{Reply, Script, When};
use serde_json::{Value, json};

use crate::harness::{World, done, gives_up, plan, tool};

/// A world with one run, `first`, that has written `a.txt`.
fn after_a_run() -> World {
    let world = World::alone();
    world.plan("plan.json", &plan(&[tool("note", "write_file", json!({"path": "a.txt", "content": "a"}), &[])]));
    world.aime(["run", "--plan", "plan.json", "--run-id", "first"]).must(0);
    world
}

#[test]
fn version_and_help() {
    let world = World::alone();
    let version = world.aime(["--version"]).must(0);
    assert_eq!(version.stdout, format!("aime {}\n", env!("CARGO_PKG_VERSION")));
    let help = world.aime(["--help"]).must(0);
    let commands =
        ["run", "plan", "check", "resume", "runs", "answer", "tools", "profiles", "models", "config", "schema", "doctor", "completions"];
    for command in commands {
        assert!(help.stdout.contains(command), "{command}\n{help}");
        let own = world.aime([command, "--help"]).must(0);
        assert!(own.stdout.contains("Usage"), "{command}");
        assert_eq!(own.stderr, "");
    }
    assert!(!world.exists(".aime"), "help leaves nothing behind");
}

#[test]
fn runs_are_listed() {
    let world = after_a_run();
    let list = world.aime(["runs"]).must(0);
    assert!(list.stdout.contains("first") && list.stdout.contains("completed"), "{list}");
    assert_eq!(list.stdout, world.aime(["runs", "list"]).must(0).stdout);
    let json = world.aime(["runs", "list", "--output", "json"]).must(0).json();
    assert_eq!(json[0]["run_id"], "first");
    assert_eq!(json[0]["status"], "completed");
    assert_eq!(json[0]["goal"], "the goal of this scenario");
    let empty = World::alone();
    assert_eq!(empty.aime(["runs", "--output", "json"]).must(0).json(), json!([]));
    assert_eq!(empty.aime(["runs"]).must(0).stdout, "");
    assert!(!empty.exists(".aime"), "looking leaves nothing behind");
    empty.file(".aime", "a file\n");
    empty.aime(["runs"]).must(2).stderr_contains(&[".aime is not a folder", "move it away"]);
}

#[test]
fn a_run_is_shown() {
    let world = after_a_run();
    let text = world.aime(["runs", "show", "first"]).must(0);
    for word in ["first", "completed", "the goal of this scenario", "note"] {
        assert!(text.stdout.contains(word), "{word}\n{text}");
    }
    let document = world.aime(["runs", "show", "first", "--output", "json"]).must(0).json();
    assert_eq!(document["schema"], "aime.result/v1");
    assert_eq!(document["tasks"][0]["status"], "completed");
}

#[test]
fn the_journal_is_exported() {
    let world = after_a_run();
    let lines = world.aime(["runs", "events", "first", "--output", "jsonl"]).must(0).lines();
    assert_eq!(lines[0]["type"], "run_started");
    for (seq, line) in (1_u64..).zip(&lines) {
        assert_eq!((&line["schema"], &line["seq"], &line["run_id"]), (&json!("aime.event/v1"), &json!(seq), &json!("first")));
    }
    let text = world.aime(["runs", "events", "first"]).must(0);
    assert_eq!(text.stdout.lines().next().unwrap().split_whitespace().next(), Some("1"), "{text}");
    let all = world.aime(["runs", "events", "first", "--output", "json"]).must(0).json();
    assert_eq!(all.as_array().unwrap().len(), lines.len());
}

#[test]
fn a_run_is_deleted_with_all_it_kept() {
    let world = after_a_run();
    world.aime(["run", "--plan", "plan.json", "--run-id", "second"]).must(0);
    assert!(world.exists(".aime/progress/first.json"));
    world.aime(["runs", "delete", "first"]).must(0);
    let left = world.aime(["runs", "list", "--output", "json"]).must(0).json();
    assert_eq!(left.as_array().unwrap().len(), 1);
    assert_eq!(left[0]["run_id"], "second");
    assert!(!world.exists(".aime/progress/first.json") && !world.exists(".aime/runs/first"));
    assert!(world.exists("a.txt"), "what the run made is not its own");
    world.aime(["runs", "show", "first"]).must(2);
    world.aime(["runs", "show", "second"]).must(0);
}

#[test]
fn an_empty_name_means_no_run() {
    let world = after_a_run();
    for arguments in [&["runs", "delete", ""][..], &["runs", "undo", "", "--yes"], &["runs", "show", ""], &["resume", ""], &["cancel", ""]]
    {
        world.aime(arguments).must(2).stderr_contains(&["the name of the run is empty", "`last` is the newest"]);
    }
    assert!(world.exists("a.txt"), "nothing was undone");
    world.aime(["runs", "show", "first"]).must(0);
}

// Requirement: 7.9
#[test]
fn what_is_kept_stays_out_of_git_and_is_whole() {
    let world = after_a_run();
    assert!(world.exists(".aime/aime.db"));
    assert_eq!(world.read(".aime/.gitignore").trim(), "*");
    let snapshot: Value = serde_json::from_str(&world.read(".aime/progress/first.json")).unwrap();
    assert_eq!(snapshot["schema"], "aime.progress/v1");
    assert_eq!(snapshot["state"]["status"], "completed");
}

// Requirement: 8.6
#[test]
fn tools_are_listed_shown_and_called() {
    let world = World::alone();
    let names = [
        "read_file",
        "write_file",
        "edit_file",
        "list_dir",
        "glob",
        "grep",
        "bash",
        "python",
        "todo",
        "update_progress",
        "report_evidence",
        "ask_human",
        "terminate",
    ];
    let list = world.aime(["tools"]).must(0);
    for name in names {
        assert!(list.stdout.contains(name), "{name}\n{list}");
        let spec = world.aime(["tools", "show", name]).must(0).json();
        assert!(spec.to_string().contains("\"properties\""), "{name} has a schema");
    }
    world.aime(["tools", "call", "write_file", r#"{"path": "a.txt", "content": "TODO x\n"}"#]).must(0);
    assert_eq!(world.read("a.txt"), "TODO x\n");
    let found = world.aime(["tools", "call", "grep", r#"{"pattern": "TODO"}"#]).must(0);
    assert!(found.stdout.contains("a.txt:1:TODO x"), "{found}");
    let ran = world.aime(["tools", "call", "bash", r#"{"command": "echo hi"}"#]).must(0);
    assert!(ran.stdout.contains("hi"), "{ran}");
    world.aime(["tools", "call", "read_file", r#"{"path": "b.txt"}"#]).must(1).stderr_contains(&["b.txt"]);
}

// Requirement: 4.5
#[test]
fn profiles_are_listed_and_shown() {
    let world = World::alone();
    let list = world.aime(["profiles"]).must(0);
    for name in ["sisyphus", "oracle", "librarian", "explore", "atlas"] {
        assert!(list.stdout.contains(name), "{name}");
        assert!(world.aime(["profiles", "show", name]).must(0).stdout.contains("description"), "{name}");
    }
    world.aime(["profiles", "show", "oracel"]).must(2).stderr_contains(&["oracle"]);
}

// Requirement: 3.42, 3.43, 4.7
#[test]
fn profiles_and_prompts_of_ones_own_are_used() {
    let zeus = "name = \"zeus\"\ndescription = \"Throws lightning.\"\ncategory = \"general\"\ndomains = [\"storm\"]\ncapabilities = [\"read\"]\n\
                complexity = \"any\"\nbundles = [\"files_read\"]\nprompt = \"You are Zeus.\"\n";
    let mut world = World::with(
        Script::new()
            .on(When::tools().and_contains("You are Zeus").and_contains("Say it with thunder"), [done("thunder")])
            .on(When::tools(), [gives_up("I am not Zeus")]),
    );
    let mut tasks = plan(&[crate::harness::actor("storm", "look at the storm", &[])]);
    tasks["tasks"][0]["profile"] = json!("zeus");
    world.plan("plan.json", &tasks);
    world.aime(["run", "--plan", "plan.json"]).must(2).stderr_contains(&["zeus"]);
    world.user_file("profiles/zeus.toml", zeus);
    world.user_file("prompts/actor_task.md", "{{ description }} Say it with thunder.\n");
    assert!(world.aime(["profiles"]).must(0).stdout.contains("zeus"));
    let result = world.aime(["run", "--plan", "plan.json", "--output", "json"]).must(0).json();
    assert_eq!(result["answer"], "thunder");
    world.user_file("prompts/stuck.md", "You said {word}.\n");
    world.aime(["run", "--plan", "plan.json"]).must(2).stderr_contains(&["stuck.md", "{word}", "{name}, {count}"]);
    world.user_file("prompts/stuck.md", "{name} again, {count} times.\n");
    world.user_file("prompts/actor_task.md", "{{ descripion }}\n");
    world.aime(["run", "--plan", "plan.json"]).must(2).stderr_contains(&["actor_task.md", "descripion"]);
    world.user_file("profiles/zeus.toml", "name = zeus\n");
    world.aime(["profiles"]).must(2).stderr_contains(&["zeus.toml"]);
}

#[test]
fn names_in_files_of_ones_own_are_looked_for() {
    let mut world = World::with(Script::new().on(When::tools(), [done("it is done")]));
    let category = |more: &str| format!("[[category]]\nname = \"coding\"\nkeywords = [\"code\"]\n{more}");
    for (wrong, place, near) in [
        ("profile = \"sysiphus\"\n", "own.toml:4:11: there is no profile \"sysiphus\"", "did you mean \"sisyphus\"?"),
        ("profile = \"atlas\"\nmodel = \"plannr\"\n", "own.toml:5:9: there is no model \"plannr\"", "did you mean \"planner\"?"),
    ] {
        world.user_file("categories/own.toml", &category(wrong));
        let checked = world.aime(["config", "check"]).must(2);
        assert!(checked.stdout.contains(place) && checked.stdout.contains(near), "{checked}");
        world.aime(["run", "write code", "--mode", "direct"]).must(2).stderr_contains(&[place, near]);
    }
    world.user_file("categories/own.toml", &category("profile = \"atlas\"\nskills = [\"nope\"]\n"));
    let missing = "own.toml:5:11: there is no skill \"nope\"";
    assert!(world.aime(["config", "check"]).must(2).stdout.contains(missing));
    world.aime(["run", "write code", "--mode", "direct"]).must(0).stderr_contains(&[missing, "`aime doctor` lists them"]);
    world.file(".agents/skills/nope/SKILL.md", "---\nname: nope\ndescription: d\n---\nNo.\n");
    world.aime(["config", "check"]).must(0);
}

// Requirement: 20.3
#[test]
fn schemas_are_schemas_and_fit_what_is_printed() {
    let world = after_a_run();
    let schema = |name: &str| {
        let document = world.aime(["schema", name]).must(0).json();
        jsonschema::validator_for(&document).unwrap_or_else(|error| panic!("{name} is no JSON Schema: {error}"))
    };
    let check = |name: &str, document: &Value| {
        let faults: Vec<String> = schema(name).iter_errors(document).map(|error| format!("{}: {error}", error.instance_path())).collect();
        assert!(faults.is_empty(), "{name}: {faults:?}\n{document:#}");
    };
    for name in ["plan", "patch", "event", "result", "progress", "config"] {
        schema(name);
    }
    let result = world.aime(["runs", "show", "first", "--output", "json"]).must(0).json();
    check("result", &result);
    assert!(!schema("result").is_valid(&json!({"schema": "aime.result/v1"})), "the schema asks for something");
    for event in world.aime(["runs", "events", "first", "--output", "jsonl"]).must(0).lines() {
        check("event", &event);
    }
    check("plan", &world.aime(["check", "plan.json", "--format", "json"]).must(0).json()["plan"]);
    check("progress", &serde_json::from_str(&world.read(".aime/progress/first.json")).unwrap());
    let config: toml::Value = toml::from_str(&world.aime(["config", "show"]).must(0).stdout).unwrap();
    check("config", &serde_json::to_value(config).unwrap());
    assert!(world.aime(["schema"]).must(0).json()["plan"].is_object());
}

// Requirement: 20.3
#[test]
fn the_schemas_beside_the_book_are_those_that_are_printed() {
    let world = World::alone();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/reference/schemas");
    for name in ["plan", "patch", "event", "result", "progress", "config"] {
        let printed = world.aime(["schema", name]).must(0).stdout;
        let published = fs::read_to_string(folder.join(format!("{name}.json"))).unwrap();
        assert!(printed == published, "the format has changed: aime schema {name} > docs/src/reference/schemas/{name}.json");
    }
}

#[test]
fn a_configuration_is_begun_checked_and_shown() {
    let mut world = World::alone();
    world.aime(["config", "check"]).must(0);
    // Where the environment chooses the model nothing is looked for; a key goes to no server that the project names.
    world.set("OPENAI_BASE_URL", "http://127.0.0.1:1/v1");
    world.aime(["config", "init"]).must(0).stderr_contains(&["OPENAI_BASE_URL is set"]);
    assert!(world.read("aime.toml").contains("\n# [models.default]"));
    fs::remove_file(world.path("aime.toml")).unwrap();
    world.set("OPENAI_BASE_URL", "");
    world.set("DEEPSEEK_API_KEY", "k");
    world.set("MISTRAL_API_KEY", "k");
    world.aime(["config", "init"]).must(0).stderr_contains(&[
        "model: DEEPSEEK_API_KEY is set",
        "MISTRAL_API_KEY is set",
        "aime/config.toml",
        "provider = \"mistral\"",
    ]);
    world.aime(["config", "check"]).must(0);
    let shown = world.aime(["config", "show"]).must(0);
    assert!(shown.stdout.contains("max_parallel = 3"), "{shown}");
    assert!(shown.stderr.contains("aime.toml"), "it says where settings come from\n{shown}");
    world.file("aime.toml", "[run]\nmax_parallel = 7\n");
    world.aime(["config", "init"]).must(2).stderr_contains(&["aime.toml"]);
    assert_eq!(world.read("aime.toml"), "[run]\nmax_parallel = 7\n", "an existing file is never overwritten");
    let other = World::alone();
    other.file("aime.yaml", "run:\n  max_parallel: 2\n");
    other.aime(["config", "init"]).must(2).stderr_contains(&["aime.yaml is there already"]);
    assert!(!other.exists("aime.toml"));
    assert!(world.aime(["config", "show"]).must(0).stdout.contains("max_parallel = 7"));
    world.file("aime.toml", "[run]\nmax_paralel = 7\n");
    let faulty = world.aime(["config", "check"]).must(2);
    assert!(["aime.toml:2", "max_paralel", "max_parallel"].iter().all(|word| faulty.stdout.contains(word)), "{faulty}");
}

#[test]
fn settings_are_taken_in_order() {
    let parallel = |world: &World| -> String {
        let shown = world.aime(["config", "show"]).must(0).stdout;
        shown.lines().find(|line| line.starts_with("max_parallel")).unwrap().to_owned()
    };
    let mut world = World::alone();
    assert_eq!(parallel(&world), "max_parallel = 3");
    world.user_settings("[run]\nmax_parallel = 4\n");
    assert_eq!(parallel(&world), "max_parallel = 4");
    world.file("aime.toml", "[run]\nmax_parallel = 5\n");
    assert_eq!(parallel(&world), "max_parallel = 5");
    world.set("AIME__RUN__MAX_PARALLEL", "6");
    assert_eq!(parallel(&world), "max_parallel = 6");
}

#[test]
fn yaml_and_json_are_read_too() {
    for (name, text) in [("aime.yaml", "run:\n  max_parallel: 8\n"), ("aime.json", "{\"run\": {\"max_parallel\": 8}}")] {
        let world = World::alone();
        world.file(name, text);
        let shown = world.aime(["config", "show"]).must(0);
        assert!(shown.stdout.contains("max_parallel = 8"), "{name}\n{shown}");
    }
}

#[test]
fn the_doctor_says_what_works_and_what_does_not() {
    let well = World::with(Script::new().on(When::any(), [Reply::text("ready")]));
    let ended = well.aime(["doctor"]).must(0);
    for word in ["configuration", "journal", "bash", "model"] {
        assert!(ended.stdout.contains(word), "{word}\n{ended}");
    }
    let ill = World::alone().aime(["doctor"]).must(3);
    assert!(ill.stdout.contains("qwen2.5-coder-1.5b is missing") && ill.stdout.contains("OPENAI_BASE_URL"), "{ill}");
}

#[test]
fn models_are_listed() {
    let world = World::with(Script::new()).settings("[models.default]\nmodel = \"big\"\n[models.planner]\nmodel = \"small\"\n");
    let list = world.aime(["models"]).must(0);
    for word in ["default", "big", "planner", "small"] {
        assert!(list.stdout.contains(word), "{word}\n{list}");
    }
}

// Requirement: 20.4
#[test]
fn completions_are_printed() {
    let world = World::alone();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = world.aime(["completions", shell]).must(0).stdout;
        for word in ["report", "completions", "max-tokens", "unattended"] {
            assert!(script.contains(word), "{shell} does not know {word}");
        }
    }
    world.file("done.bash", &world.aime(["completions", "bash"]).must(0).stdout);
    // What a shell does when a person presses Tab.
    for (line, wanted) in [("aime runs rep", "report"), ("aime comp", "completions"), ("aime run --mo", "--mode")] {
        let words: Vec<&str> = line.split(' ').collect();
        let (last, before) = words.split_last().unwrap();
        let script = format!(
            "source done.bash; COMP_WORDS=({line}); COMP_CWORD={}; _aime aime '{last}' '{}'; echo \"${{COMPREPLY[@]}}\"",
            before.len(),
            before.last().unwrap()
        );
        let mut bash = world.program("bash");
        bash.args(["-c", &script]);
        let completed = world.spawn(bash).wait().must(0);
        assert!(completed.stdout.split_whitespace().any(|word| word == wanted), "{line}\n{completed}");
    }
}

// Requirement: 20.4
#[test]
fn manual_pages_are_printed_and_written() {
    let world = World::alone();
    let page = world.aime(["man"]).must(0).stdout;
    assert!(page.contains(".TH aime 1") && page.contains("doctor"), "{page}");
    world.aime(["man", "-o", "pages"]).must(0).stderr_contains(&["pages"]);
    let show = world.read("pages/aime-runs-show.1");
    assert!(show.contains("aime\\-runs\\-show") && show.contains("Show one run"), "{show}");
    for page in ["aime.1", "aime-run.1", "aime-acp.1", "aime-mcp-serve.1"] {
        assert!(world.exists(&format!("pages/{page}")), "{page}");
    }
    world.file("file", "");
    world.aime(["man", "-o", "file"]).must(2).stderr_contains(&["hint"]);
}

#[test]
fn another_working_folder_is_named() {
    let world = World::alone();
    fs::create_dir(world.path("inner")).unwrap();
    world.plan("inner/plan.json", &plan(&[tool("note", "write_file", json!({"path": "a.txt", "content": "a"}), &[])]));
    world.aime(["-C", "inner", "run", "--plan", "inner/plan.json", "--run-id", "r"]).must(0);
    assert!(world.exists("inner/a.txt") && world.exists("inner/.aime/aime.db"));
    assert!(!world.exists("a.txt") && !world.exists(".aime"));
    world.aime(["runs", "-C", "inner", "show", "r"]).must(0);
}
