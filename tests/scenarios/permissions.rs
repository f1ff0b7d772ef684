//! Rules for calls, what "always" remembers, and what a project may say of both.

use aime_scripted_server::{Reply, Script, When};
use serde_json::{Value, json};

use crate::harness::{World, bash, done, gives_up, messages_text, plan, task, tool, write};

/// A world whose user keeps state beside what scenarios look at.
fn world(script: Script) -> World {
    let mut world = World::with(script);
    let state = world.root().join("state").display().to_string();
    world.set("XDG_STATE_HOME", &state);
    world
}

/// An actor that makes one call and says how it went.
fn one_call(call: Reply) -> Script {
    Script::new()
        .on(When::tools().and_contains("is denied here by the rule").and_turn(1), [gives_up("I may not")])
        .on(When::tools().and_contains("this run is read-only").and_turn(1), [gives_up("I may not")])
        .on(When::tools().and_turn(0), [call])
        .on(When::tools().and_turn(1), [done("it is done")])
}

// Requirement: 13.1
#[test]
fn a_rule_allows_a_command_without_a_question() {
    let mut allowed = world(one_call(bash("echo one >> log && cat log | grep one")));
    allowed.user_settings("[permissions]\nallow = [\"bash(echo *)\", \"bash(cat *)\", \"bash(grep *)\"]\n");
    allowed.aime(["run", "do it"]).must(0);
    assert_eq!(allowed.read("log"), "one\n");
    // Each part needs a rule: one that has none is asked for, whatever stands beside it.
    for command in ["echo one >> log; rm log", "echo $(rm log)", "echo one > ../log", "PATH=. echo x", "echo x | sh"] {
        let mut asked = world(one_call(bash(command)));
        asked.user_settings("[permissions]\nallow = [\"bash(echo *)\"]\n");
        let ended = asked.aime(["run", "do it", "--output", "json"]).must(5);
        assert!(ended.json()["error"]["message"].as_str().unwrap().contains("Run this command?"), "{command}\n{ended}");
        assert!(!asked.exists("log"), "{command}");
    }
}

// Requirement: 13.6
#[test]
fn a_rule_denies_and_the_actor_is_told_which() {
    let calls = [
        bash("echo begin; rm -rf kept.txt"),
        bash("echo x > kept.txt"),
        bash("sudo sh -c 'rm kept.txt'"),
        write("./sub/../kept.txt", "x"),
        Reply::call("edit_file", json!({"path": "kept.txt", "old_text": "kept", "new_text": "x"})),
    ];
    for call in calls {
        let mut world = world(one_call(call));
        world.user_settings("[permissions]\napprove = \"all\"\ndeny = [\"bash(rm *)\", \"write_file(kept.txt)\"]\n");
        world.file("kept.txt", "kept");
        world.file("sub/x", "");
        world.aime(["run", "do it"]).must(1);
        let prompt = messages_text(&world.server().requests()[1]);
        assert!(prompt.contains("is denied here by the rule"), "{prompt}");
        assert_eq!(world.read("kept.txt"), "kept");
    }
}

// Requirement: 13.4
#[test]
fn what_may_be_denied_is_asked_and_the_rule_is_named() {
    let mut world = world(one_call(bash("x=rm; $x kept.txt")));
    world.user_settings("[permissions]\napprove = \"all\"\ndeny = [\"bash(rm *)\"]\n");
    world.file("kept.txt", "kept");
    let ended = world.aime(["run", "do it", "--output", "json"]).must(5);
    assert!(
        ended.json()["error"]["message"].as_str().unwrap().contains("The rule `bash(rm *)` denies something that this call may do"),
        "{ended}"
    );
    assert_eq!(world.read("kept.txt"), "kept");
}

// Requirement: 13.5
#[test]
fn files_that_are_held_back_are_not_found_either() {
    let mut world = World::alone();
    world.user_settings("[permissions]\ndeny = [\"read_file(.env)\"]\n");
    world.file("sub/.env", "KEY=hidden\n");
    world.file("notes.txt", "KEY=known\n");
    let ended = world.aime(["tools", "call", "grep", "{\"pattern\": \"KEY\"}"]).must(0);
    assert!(ended.stdout.contains("known") && !ended.stdout.contains("hidden") && ended.stdout.contains("1 file not searched"), "{ended}");
    for (name, parameters) in [
        ("read_file", json!({"path": "sub/.env"})),
        ("grep", json!({"pattern": "KEY", "path": "sub/.env"})),
        ("edit_file", json!({"path": "sub/.env", "old_text": "a", "new_text": "b"})),
        ("bash", json!({"command": "cat sub/.env"})),
        ("bash", json!({"command": "while read x; do echo $x; done < sub/.env"})),
    ] {
        let ended = world.aime(["tools", "call", name, &parameters.to_string()]);
        assert!(ended.code != Some(0) && !ended.stdout.contains("hidden"), "{name} {parameters}\n{ended}");
        assert!(ended.stderr.contains("`read_file(.env)`"), "{ended}");
    }
}

// Requirement: 13.7
#[test]
fn always_is_remembered_for_the_folder_over_runs() {
    let script = || one_call(bash("uname >> log; mkdir -p made"));
    let mut world = world(script());
    let ended = world.aime(["run", "do it", "--run-id", "first", "--output", "json"]).must(5);
    let question = ended.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(question.contains("Always allows here: `bash(uname)`, `bash(mkdir -p made)`"), "{question}");
    world.aime(["answer", "first", "always"]).must(0);
    world.aime(["resume", "first"]).must(0);
    assert!(world.exists("made"));
    // The next run asks nothing.
    world.serve(script());
    world.aime(["run", "do it"]).must(0);
    assert_eq!(world.read("log").lines().count(), 2);
    let listed = world.aime(["permissions"]).must(0);
    assert!(listed.stdout.contains("1  bash(uname)") && listed.stdout.contains("2  bash(mkdir -p made)"), "{listed}");
    let listed = world.aime(["permissions", "list", "--output", "json"]).must(0).json();
    assert_eq!(listed["remembered"][1]["rule"], "bash(mkdir -p made)");
    let doctor = world.aime(["doctor"]);
    assert!(doctor.stdout.contains("2 remembered for this folder"), "{doctor}");
    // Nothing of it stands where a model can write.
    let kept = std::fs::read_to_string(world.root().join("state/aime/permissions.json")).unwrap();
    assert!(kept.contains("bash(uname)"));
    // A rule that denies wins, and so does read-only.
    for settings in ["deny = [\"bash(mkdir *)\"]", "approve = \"read-only\""] {
        world.serve(script());
        world.user_settings(&format!("[permissions]\n{settings}\n"));
        world.aime(["run", "do it"]).must(1);
    }
    world.user_settings("");
    // What is forgotten is asked again.
    world.aime(["permissions", "forget", "2"]).must(0).stderr_contains(&["forgotten: bash(mkdir -p made)"]);
    world.aime(["permissions", "forget", "2"]).must(2);
    world.serve(script());
    world.aime(["run", "do it"]).must(5);
    world.aime(["permissions", "forget", "--all"]).must(0);
    assert!(!world.aime(["permissions"]).must(0).stdout.contains("remembered"));
}

#[test]
fn a_plans_task_remembers_too() {
    let mut world = World::alone();
    let state = world.root().join("state").display().to_string();
    world.set("XDG_STATE_HOME", &state);
    let of = |id: &str, command: &str| tool(id, "bash", json!({"command": command}), &[]);
    world.plan("plan.json", &plan(&[of("a", "git log -1 --oneline || true")]));
    world.aime(["run", "--plan", "plan.json", "--approve", "edits", "--run-id", "p"]).must(5);
    world.aime(["answer", "p", "always"]).must(0);
    world.aime(["resume", "p"]).must(0);
    world.plan("plan.json", &plan(&[of("b", "git log -2 || true")]));
    world.aime(["run", "--plan", "plan.json", "--approve", "edits"]).must(0);
    world.plan("plan.json", &plan(&[of("b", "git push || true")]));
    world.aime(["run", "--plan", "plan.json", "--approve", "edits"]).must(5);
}

// Requirement: 13.9
#[test]
fn a_project_narrows_and_cannot_widen() {
    let narrower = "[permissions]\napprove = \"ask\"\nallow = [\"bash\", \"write_file\"]\nask = [\"read_file(a.txt)\"]\ndeny = [\"write_file(kept.txt)\"]\n";
    // What it denies is added to what the user denies.
    for (call, code) in [
        (write("kept.txt", "x"), 1),
        (write("mine.txt", "x"), 1),
        (write("other.txt", "x"), 5),
        (bash("echo x > other.txt"), 5),
        (Reply::call("read_file", json!({"path": "a.txt"})), 5),
        (Reply::call("read_file", json!({"path": "b.txt"})), 0),
    ] {
        let mut world = world(one_call(call)).settings(narrower);
        world.user_settings("[permissions]\ndeny = [\"write_file(mine.txt)\"]\n");
        world.file("a.txt", "a");
        world.file("b.txt", "b");
        let ended = world.aime(["run", "do it"]).must(code);
        assert!(ended.stderr.contains("permissions.allow in") && ended.stderr.contains("may only narrow"), "{ended}");
        assert!(!ended.stderr.contains("permissions.approve in"), "{ended}");
        assert!(!world.exists("kept.txt") && !world.exists("mine.txt") && !world.exists("other.txt"));
    }
    // A wider mode is left out; in a trusted folder all of it counts.
    for (trusted, code) in [("home", 5), ("work", 0)] {
        let mut world = world(one_call(bash("echo x > other.txt"))).settings("[permissions]\nallow = [\"bash(echo *)\"]\n");
        let folder = world.root().join(trusted).display().to_string();
        world.user_settings(&format!("[permissions]\ntrusted_folders = [\"{folder}\"]\n"));
        world.aime(["run", "do it"]).must(code);
    }
}

// Requirement: 13.2
#[test]
fn a_faulty_rule_is_told_with_its_place() {
    for (rule, place, hint) in [
        ("bassh", "config.toml:3:10", "did you mean `bash`?"),
        ("bash(a && b)", "config.toml:3:10", "each command of a line is looked at by itself"),
        ("write_file(", "config.toml:3:10", "`)` is missing"),
    ] {
        let mut world = World::alone();
        world.user_settings(&format!("[permissions]\nallow = []\ndeny = [\"{rule}\"]\n"));
        let checked = world.aime(["config", "check"]).must(2);
        assert!(checked.stdout.contains(place) && checked.stdout.contains(hint), "{checked}");
        world.aime(["run", "x"]).must(2).stderr_contains(&[hint]);
    }
    let mut world = World::alone();
    world.set("AIME__PERMISSIONS__DENY", "[\"read_files(x)\"]");
    world.aime(["config", "show"]).must(2).stderr_contains(&["AIME__PERMISSIONS__DENY"]);
    world.set("AIME__PERMISSIONS__DENY", "[\"read_file(x)\"]");
    let shown = world.aime(["config", "show"]).must(0);
    assert!(shown.stdout.contains("deny = [\"read_file(x)\"]"), "{shown}");
}

/// All that could change something, by an actor and by the one that it makes.
fn ways_to_change() -> Vec<(&'static str, Value)> {
    vec![
        ("write_file", json!({"path": "new.txt", "content": "x"})),
        ("edit_file", json!({"path": "kept.txt", "old_text": "kept", "new_text": "x"})),
        ("bash", json!({"command": "echo x > new.txt"})),
        ("bash", json!({"command": "ls; : > kept.txt"})),
        ("python", json!({"code": "open('new.txt', 'w')"})),
    ]
}

// Requirement: 13.8
#[test]
fn a_read_only_run_changes_nothing_by_any_way() {
    let settings = "[permissions]\nallow = [\"*\", \"bash\", \"python\", \"write_file(**)\", \"edit_file(**)\"]\n";
    let unchanged = |world: &World, way: &str| {
        assert!(!world.exists("new.txt"), "{way}");
        assert_eq!(world.read("kept.txt"), "kept", "{way}");
    };
    for (name, parameters) in ways_to_change() {
        let way = format!("{name} {parameters}");
        // An actor.
        let mut of_actor = world(one_call(Reply::call(name, parameters.clone())));
        of_actor.user_settings(settings);
        of_actor.file("kept.txt", "kept");
        of_actor.aime(["run", "do it", "--approve", "read-only"]).must(1);
        assert!(messages_text(&of_actor.server().requests()[1]).contains("read-only"), "{way}");
        unchanged(&of_actor, &way);
        // The one that it makes.
        let mut of_child = world(
            Script::new()
                .on(When::tools().and_contains("Do the part").and_contains("this run is read-only"), [gives_up("I may not")])
                .on(
                    When::tools().and_contains("the whole").and_turn(0),
                    [Reply::call("delegate_task", json!({"description": "Do the part"}))],
                )
                .on(When::tools().and_contains("Do the part").and_turn(0), [Reply::call(name, parameters.clone())])
                .on(When::tools(), [gives_up("I may not")]),
        );
        of_child.user_settings(settings);
        of_child.file("kept.txt", "kept");
        of_child.aime(["run", "do the whole", "--approve", "read-only", "--mode", "direct"]).must(1);
        unchanged(&of_child, &way);
        // A task of a plan.
        let mut of_plan = World::alone();
        of_plan.user_settings(settings);
        of_plan.file("kept.txt", "kept");
        of_plan.plan("plan.json", &plan(&[tool("way", name, parameters, &[])]));
        let ended = of_plan.aime(["run", "--plan", "plan.json", "--approve", "read-only", "--output", "json"]).must(1);
        assert_eq!(task(&ended.json(), "way")["status"], "failed", "{way}");
        unchanged(&of_plan, &way);
    }
}
