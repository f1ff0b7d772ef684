//! What actors may do, and where they may do it.

use aime_scripted_server::{Reply, Script, When};
use serde_json::{Value, json};

use crate::harness::{World, bash, done, gives_up, messages_text, plan, task, tool, write};

/// An actor that writes a file and says how that went.
fn writer() -> World {
    World::with(
        Script::new()
            .on(When::tools().and_turn(0), [write("out.txt", "out\n")])
            .on(When::tools().and_contains("Created `out.txt`"), [done("written")])
            .on(When::tools(), [gives_up("I may not write")]),
    )
}

#[test]
fn files_may_be_changed_by_default_and_with_edits() {
    for approve in [None, Some("edits"), Some("all")] {
        let world = writer();
        let arguments = ["run", "write out.txt"].into_iter().chain(approve.iter().flat_map(|mode| ["--approve", mode]));
        world.aime(arguments).must(0);
        assert_eq!(world.read("out.txt"), "out\n", "{approve:?}");
    }
}

#[test]
fn a_read_only_run_changes_nothing() {
    let world = writer();
    let ended = world.aime(["run", "write out.txt", "--approve", "read-only", "--output", "json"]).must(1);
    assert!(!world.exists("out.txt"), "{ended}");
    assert!(messages_text(&world.server().requests()[1]).contains("read-only"), "the actor is told why");
    for call in [bash("echo x > out.txt"), Reply::call("python", json!({"code": "open('out.txt','w')"}))] {
        let world = World::with(Script::new().on(When::tools().and_turn(0), [call]).on(When::tools(), [gives_up("I may not")]));
        world.aime(["run", "write out.txt", "--approve", "read-only"]).must(1);
        assert!(!world.exists("out.txt"));
    }
}

#[test]
fn a_read_only_run_reads() {
    let script = Script::new()
        .on(When::tools().and_turn(0), [Reply::call("grep", json!({"pattern": "TODO"}))])
        .on(When::tools().and_contains("notes.txt:1:TODO"), [done("one is to do")]);
    let world = World::with(script);
    world.file("notes.txt", "TODO wash\n");
    world.aime(["run", "count what is to do", "--approve", "read-only"]).must(0);
}

#[test]
fn a_read_only_run_holds_for_a_plan_too() {
    let world = World::alone();
    world.plan("plan.json", &plan(&[tool("note", "write_file", json!({"path": "a.txt", "content": "a"}), &[])]));
    let ended = world.aime(["run", "--plan", "plan.json", "--approve", "read-only", "--output", "json"]).must(1);
    let result = ended.json();
    assert_eq!(task(&result, "note")["status"], "failed");
    assert_eq!(task(&result, "note")["attempts"], 1, "what is forbidden is not tried again");
    assert!(!world.exists("a.txt"));
}

#[test]
fn a_plan_is_not_above_the_users_own_settings() {
    let mut world = World::alone();
    world.user_settings("[permissions]\napprove = \"read-only\"\n");
    world.plan("plan.json", &plan(&[tool("note", "write_file", json!({"path": "a.txt", "content": "a"}), &[])]));
    world.aime(["run", "--plan", "plan.json"]).must(1).stderr_contains(&["read-only"]);
    assert!(!world.exists("a.txt"));
}

#[test]
fn ask_asks_before_a_file_is_changed() {
    let world = writer();
    let ended = world.aime(["run", "write out.txt", "--approve", "ask", "--output", "json"]).must(5);
    assert!(ended.json()["error"]["message"].as_str().unwrap().contains("out.txt"), "{ended}");
    assert!(!world.exists("out.txt"));
}

#[test]
fn a_project_cannot_give_itself_rights() {
    let world = World::with(Script::new().on(When::tools().and_turn(0), [bash("echo x > out.txt")]).on(When::tools(), [done("done")]))
        .settings("[permissions]\napprove = \"all\"\n");
    let ended = world.aime(["run", "do it"]).must(5);
    assert!(ended.stderr.contains("permissions"), "it says that the setting is left out\n{ended}");
    assert!(!world.exists("out.txt"));
    world.file("mine.toml", "[permissions]\napprove = \"all\"\n");
    world.aime(["--config", "mine.toml", "run", "do it"]).must(0);
    assert!(world.exists("out.txt"));
}

#[test]
fn a_trusted_project_gives_rights() {
    for (trusted, code) in [("work", 0), ("home", 5)] {
        let mut world =
            World::with(Script::new().on(When::tools().and_turn(0), [bash("echo x > out.txt")]).on(When::tools(), [done("done")]))
                .settings("[permissions]\napprove = \"all\"\n");
        let folder = world.root().join(trusted).display().to_string();
        world.user_settings(&format!("[permissions]\ntrusted_folders = [\"{folder}\"]\n"));
        world.aime(["run", "do it"]).must(code);
        assert_eq!(world.exists("out.txt"), code == 0, "{trusted}");
    }
}

#[test]
fn the_users_own_settings_give_rights() {
    let mut world = World::with(Script::new().on(When::tools().and_turn(0), [bash("echo x > out.txt")]).on(When::tools(), [done("done")]));
    world.user_settings("[permissions]\napprove = \"all\"\n");
    world.aime(["run", "do it"]).must(0);
    assert!(world.exists("out.txt"));
}

/// Every way out of the working folder that file tools are asked to take.
fn ways_out(world: &World) -> Vec<(&'static str, Value)> {
    let home = world.root().join("home");
    let absolute = home.join("secret.txt").display().to_string();
    std::os::unix::fs::symlink(&home, world.path("link")).unwrap();
    std::os::unix::fs::symlink(home.join("secret.txt"), world.path("linked.txt")).unwrap();
    std::os::unix::fs::symlink(home.join("new.txt"), world.path("dangling.txt")).unwrap();
    let mut ways = Vec::new();
    for path in ["../home/secret.txt", "link/secret.txt", "linked.txt", "inner/../../home/secret.txt", absolute.as_str()] {
        ways.push(("read_file", json!({"path": path})));
        ways.push(("write_file", json!({"path": path, "content": "broken in"})));
        ways.push(("edit_file", json!({"path": path, "old_text": "hidden", "new_text": "broken in"})));
        ways.push(("grep", json!({"pattern": "hidden", "path": path})));
    }
    for path in ["..", "link", "/", "../home"] {
        ways.push(("list_dir", json!({"path": path})));
        ways.push(("grep", json!({"pattern": "hidden", "path": path})));
        ways.push(("glob", json!({"pattern": "*", "path": path})));
    }
    for path in ["../home/new.txt", "link/new.txt", "dangling.txt", "link/deep/new.txt"] {
        ways.push(("write_file", json!({"path": path, "content": "broken in"})));
    }
    ways
}

// Requirement: 15.8
#[test]
fn file_tools_cannot_leave_the_working_folder() {
    let world = secretive();
    for (name, parameters) in ways_out(&world) {
        let ended = world.aime(["tools", "call", name, &parameters.to_string()]);
        assert_ne!(ended.code, Some(0), "{name} {parameters}\n{ended}");
        assert!(!ended.stdout.contains("hidden"), "{name} {parameters}\n{ended}");
        assert!(ended.stderr.contains("working folder"), "{name} {parameters} does not say why\n{ended}");
    }
    // What grep and glob find on their own does not lead out either.
    for call in [("grep", json!({"pattern": "hidden"})), ("glob", json!({"pattern": "**/secret*"}))] {
        let ended = world.aime(["tools", "call", call.0, &call.1.to_string()]).must(0);
        assert!(!ended.stdout.contains("hidden treasure") && !ended.stdout.contains("link/secret"), "{ended}");
    }
}

/// A world with a secret outside the working folder.
fn secretive() -> World {
    let mut world = World::alone();
    std::fs::write(world.root().join("home/secret.txt"), "hidden treasure\n").unwrap();
    world.user_settings("");
    world
}

#[test]
fn a_run_says_that_it_was_kept_in() {
    let world = World::alone();
    world.plan("plan.json", &plan(&[tool("out", "write_file", json!({"path": "../home/out.txt", "content": "x"}), &[])]));
    let ended = world.aime(["run", "--plan", "plan.json", "--output", "json"]).must(1);
    let result = ended.json();
    let error = task(&result, "out")["error"].as_str().unwrap();
    assert!(error.contains("../home/out.txt") && error.contains("working folder"), "{error}");
    let script = Script::new()
        .on(When::tools().and_turn(0), [write("../home/out.txt", "x")])
        .on(When::tools().and_contains("working folder"), [gives_up("it is outside")]);
    let world = World::with(script);
    world.aime(["run", "write it", "--output", "json"]).must(1);
    assert!(!world.root().join("home/out.txt").exists());
}

#[test]
fn no_secret_reaches_a_command() {
    let mut world =
        World::with(Script::new().on(When::tools().and_turn(0), [bash("env > seen.txt; echo listed")]).on(When::tools(), [done("listed")]));
    for name in ["OPENAI_API_KEY", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "DB_PASSWORD"] {
        world.set(name, "top-secret-value");
    }
    world.aime(["run", "list the environment", "--approve", "all", "--run-id", "r"]).must(0);
    let seen = world.read("seen.txt");
    assert!(seen.contains("PATH="), "the command ran: {seen}");
    assert!(!seen.contains("top-secret-value"), "{seen}");
    let journal = String::from_utf8_lossy(&std::fs::read(world.path(".aime/aime.db")).unwrap()).into_owned();
    assert!(!journal.contains("top-secret-value"));
    let authorization = &world.server().received()[0].headers["authorization"];
    assert_eq!(authorization, "Bearer top-secret-value", "the server alone gets the key");
}

#[test]
fn a_key_goes_to_no_server_that_a_project_names() {
    let mut world = World::with(Script::new().on(When::tools(), [done("done")]));
    let url = world.server().url();
    world.file("aime.toml", &format!("[models.default]\nmodel = \"m\"\nbase_url = \"{url}\"\n"));
    world.set("OPENAI_API_KEY", "top-secret-value");
    world.aime(["run", "do it"]).must(0);
    assert!(!world.server().received()[0].headers.values().any(|value| value.contains("top-secret-value")));
}

#[test]
fn the_log_tells_no_secret_and_leaves_the_result_alone() {
    let mut world = writer();
    world.set("OPENAI_API_KEY", "top-secret-value");
    for loud in ["-v", "-vv"] {
        let ended = world.aime(["run", "write out.txt", loud, "--color", "never"]);
        assert!(ended.stderr.lines().count() > 5, "{ended}");
        assert!(!ended.stderr.contains("top-secret-value") && !ended.stdout.contains("top-secret-value"), "{ended}");
    }
    std::fs::remove_file(world.path("out.txt")).unwrap();
    assert_eq!(world.aime(["run", "write out.txt", "-vv"]).must(0).stdout, "written\n");
}

#[test]
fn a_command_has_limits() {
    let world = World::alone();
    let slow = world.aime(["tools", "call", "bash", r#"{"command": "sleep 60", "timeout_seconds": 1}"#]).must(1);
    assert!(slow.stderr.contains("1 s") || slow.stderr.contains("second"), "{slow}");
    let loud = world.aime(["tools", "call", "bash", r#"{"command": "yes | head -c 3000000"}"#]);
    assert!(loud.stdout.len() + loud.stderr.len() < 40_000, "{} bytes", loud.stdout.len());
}
