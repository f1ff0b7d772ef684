//! What actors run is confined, and everybody is told.
#![cfg(target_os = "linux")]

use aime_scripted_server::{Reply, Script, When};
use serde_json::json;

use crate::harness::{World, bash, done, gives_up, messages_text, plan, task, tool, wait_until};

const RUN: [&str; 4] = ["run", "get out", "--approve", "all"];

fn secret(world: &World) -> String {
    std::fs::create_dir_all(world.root().join("home/.ssh")).unwrap();
    let key = world.root().join("home/.ssh/id_rsa");
    std::fs::write(&key, "the secret key\n").unwrap();
    key.display().to_string()
}

/// A world whose actor runs one command and reports.
fn world(command: &str) -> World {
    World::with(Script::new().on(When::tools().and_turn(0), [bash(command)]).on(When::tools(), [done("tried")]))
}

// Requirement: 15.5
#[test]
fn a_run_says_how_it_is_confined() {
    let world = world("true");
    let ended = world.aime(RUN).must(0);
    let first: Vec<&str> = ended.stderr.lines().take(2).collect();
    assert!(first[0].starts_with("model") && first[1].starts_with("sandbox Landlock"), "{ended}");
    assert!(first[1].contains("no network"), "{ended}");
    let doctor = world.aime(["doctor"]);
    assert!(doctor.stdout.contains("sandbox") && doctor.stdout.contains("no network"), "{doctor}");
}

// Requirement: 8.31, 15.2
#[test]
fn keys_are_not_read_and_that_is_explained() {
    for way in ["cat \"$HOME/.ssh/id_rsa\"", "python3 -c 'import os; print(open(os.environ[\"HOME\"] + \"/.ssh/id_rsa\").read())'"] {
        let mut world = world(way);
        let key = secret(&world);
        world.user_settings("");
        world.aime(RUN).must(0);
        let message = messages_text(&world.server().requests()[1]);
        assert!(!message.contains("the secret key"), "{message}");
        assert!(message.contains("[sandbox]") && message.contains(&format!("{key} is kept from commands")), "{message}");
    }
}

#[test]
fn nothing_is_written_outside_and_the_rule_that_would_allow_it_is_named() {
    // The harness looks whether anything has changed outside.
    let world = world("echo x > ../home/new.txt; echo y > inside.txt; echo z > $TMPDIR/z; cat $TMPDIR/z; exit 1");
    world.aime(RUN).must(0);
    assert_eq!(world.read("inside.txt"), "y\n");
    let message = messages_text(&world.server().requests()[1]);
    assert!(message.contains("z\\n") && message.contains("Permission denied"), "{message}");
    let world = world_of_path();
    let message = messages_text(&world.server().requests()[1]);
    assert!(message.contains("sandbox.write = [\\\\\"") || message.contains("sandbox.write"), "{message}");
}

fn world_of_path() -> World {
    let world = world("echo x > \"$HOME/new.txt\"");
    world.aime(RUN).must(0);
    world
}

// Requirement: 15.3
#[test]
fn there_is_no_network_unless_the_user_says_so() {
    for (settings, reached) in [("", false), ("[sandbox]\nnetwork = \"all\"\n", true)] {
        let mut world = world("true");
        world.user_settings(settings);
        let address = world.server().url().trim_start_matches("http://").split('/').next().unwrap().replace(':', "/");
        let ended =
            world.aime(["tools", "call", "bash", &json!({"command": format!("exec 9<>/dev/tcp/{address} && echo reached")}).to_string()]);
        assert_eq!(ended.stdout.contains("reached"), reached, "{settings}\n{ended}");
    }
}

/// Asks the proxy of a command for something, in bash alone, and prints the first line of its answer.
fn asks(request: &str) -> String {
    format!(
        "(exec 9<>/dev/tcp/127.0.0.1/${{HTTP_PROXY##*:}}; printf '{request} HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n' >&9; head -1 <&9)"
    )
}

// Requirement: 15.3
#[test]
fn single_hosts_are_reached_and_who_asks_for_another_is_told_what_gives_it() {
    let command = [asks("CONNECT evil.example:443"), asks("GET http://localhost/")].join("\n");
    let mut world = world(&command);
    let address = world.server().url().trim_start_matches("http://").split('/').next().unwrap().to_owned();
    world.user_settings(&format!("[sandbox]\nnetwork = [\"{address}\", \"*.example.org\"]\n"));
    let call = |command: &str| world.aime(["tools", "call", "bash", &json!({"command": command}).to_string()]);
    let reached = call(&asks(&format!("GET http://{address}/nothing"))).must(0);
    assert!(reached.stdout.contains("HTTP/1.1 ") && !reached.stdout.contains("403"), "{reached}");
    assert!(!call(&format!("exec 9<>/dev/tcp/{} && echo reached", address.replace(':', "/"))).stdout.contains("reached"));
    world.aime(RUN).must(0).stderr_contains(&["only these hosts of the network: 127.0.0.1:", ", *.example.org"]);
    let message = messages_text(&world.server().requests().last().unwrap().clone());
    for text in [
        "403 Forbidden",
        "evil.example:443 is not among the hosts",
        "add \\\"evil.example\\\" to sandbox.network",
        "localhost:80 is not among",
    ] {
        assert!(message.contains(text), "{text}: {message}");
    }
    world.user_settings("[sandbox]\nnetwork = [\"https://example.org\"]\n");
    world.aime(RUN).must(2).stderr_contains(&["https://example.org", "more than a host and a port"]);
}

#[test]
fn a_project_cannot_let_itself_out() {
    for settings in
        ["[sandbox]\nmode = \"off\"\n", "[sandbox]\nread = [\"../home\"]\n", "[sandbox]\nallow_missing = [\"keys\", \"files\"]\n"]
    {
        let mut world = world("cat \"$HOME/.ssh/id_rsa\"").settings(settings);
        secret(&world);
        // The command is tried: nobody is asked whether it may read a key.
        world.user_settings("[permissions]\ntrust_files = true\n");
        let ended = world.aime(RUN).must(0);
        assert!(ended.stderr.contains("[sandbox] in") && ended.stderr.contains("is left out"), "{ended}");
        assert!(!messages_text(&world.server().requests()[1]).contains("the secret key"), "{settings}");
    }
}

#[test]
fn the_user_can_turn_it_off_by_name_and_is_told() {
    let mut world = world("cat \"$HOME/.ssh/id_rsa\"");
    secret(&world);
    world.user_settings("[sandbox]\nmode = \"off\"\n");
    let ended = world.aime(RUN).must(0).stderr_contains(&["sandbox off"]);
    assert!(messages_text(&world.server().requests()[1]).contains("the secret key"), "{ended}");
    world.aime(["doctor"]);
}

// Requirement: 12.22, 15.5
#[test]
fn what_cannot_be_had_is_refused_with_the_hint() {
    // The working folder is the home folder, and holds keys.
    let script = Script::new().on(When::tools().and_turn(0), [bash("echo x > made")]).on(When::tools(), [gives_up("I may not")]);
    let mut world = World::with(script);
    world.file(".ssh/id_rsa", "the secret key\n");
    let home = world.work().display().to_string();
    world.set("HOME", &home);
    let ended = world.aime(RUN).must(1).stderr_contains(&["sandbox none", "allow_missing = [\"keys\"]"]);
    assert!(!world.exists("made"), "{ended}");
    let message = messages_text(&world.server().requests()[1]);
    assert!(message.contains("was not run") && message.contains("allow_missing"), "{message}");
    world.user_settings("[sandbox]\nallow_missing = [\"keys\"]\n");
    let call = json!({"command": "echo x > made"}).to_string();
    world.aime(["tools", "call", "bash", &call]).must(0);
    assert!(world.exists("made"));
}

// Requirement: 15.2
#[test]
fn the_temp_folder_is_gone_however_a_run_ends() {
    let waiting = "echo x > $TMPDIR/x; mkdir $TMPDIR/closed; echo y > $TMPDIR/closed/y; chmod 0 $TMPDIR/closed; echo > began; sleep 600";
    for signal in ["KILL", "TERM", ""] {
        let world = world(if signal.is_empty() { "echo x > $TMPDIR/x" } else { waiting });
        let running = world.start(RUN);
        if signal.is_empty() {
            running.wait().must(0);
        } else {
            world.wait_for_file("began");
            assert!(world.has_temp_folders());
            running.signal(signal);
            running.wait();
        }
        wait_until("the temp folder is gone", || !world.has_temp_folders());
    }
}

// Requirement: 15.1
#[test]
fn a_plans_commands_and_hooks_are_confined_too() {
    let mut world = World::alone();
    let key = secret(&world);
    let hook = "[[hooks.before_tool]]\nname = \"curious\"\nrequired = true\ncommand = 'cat \"$HOME/.ssh/id_rsa\"'\n";
    world.user_settings("");
    world.plan("plan.json", &plan(&[tool("look", "bash", json!({"command": format!("cat {key}")}), &[])]));
    let ended = world.aime(["run", "--plan", "plan.json", "--output", "json"]).must(1);
    let error = task(&ended.json(), "look")["error"].as_str().unwrap().to_owned();
    assert!(error.contains("is kept from commands") && !error.contains("the secret key"), "{error}");
    world.user_settings(hook);
    let ended = world.aime(["run", "--plan", "plan.json"]).must(1).stderr_contains(&["curious"]);
    assert!(!ended.stderr.contains("the secret key"), "{ended}");
    world.user_settings(&format!("{hook}confined = false\n"));
    let ended = world.aime(["run", "--plan", "plan.json"]).must(1);
    assert!(ended.stderr.contains("the secret key"), "a hook that is not confined reads it\n{ended}");
}

#[test]
fn a_call_of_a_tool_is_confined() {
    let world = World::with(Script::new().on(When::any(), [Reply::text("x")]));
    let call = json!({"command": "kill -0 $PPID && echo reached; cat /proc/$PPID/environ && echo reached; true"}).to_string();
    let ended = world.aime(["tools", "call", "bash", &call]).must(0);
    assert!(!ended.stdout.contains("reached"), "{ended}");
}

/// A world in which an actor runs a script that writes what runs later, as often as it is asked.
fn hides_a_hook() -> World {
    let script = Script::new().on(When::tools().and_contains("[changed what may run later"), [done("kept")]);
    let script = script.on(When::tools().and_contains("[put back as it was"), [done("put back")]);
    let world = World::with(script.on(When::tools(), [bash("sh run.sh")]));
    world.file("run.sh", "mkdir -p .git/hooks; echo evil > .git/hooks/pre-commit; echo made > made.txt\n");
    world.file(".git/HEAD", "ref: refs/heads/main\n");
    world
}

#[test]
fn what_a_command_leaves_to_run_later_is_put_back_in_every_mode() {
    for (mode, settings, kept) in [
        ("all", "", false),
        ("all", "[permissions]\nallow = [\"write_file(.git/hooks/**)\"]\n", true),
        ("edits", "[permissions]\nallow = [\"bash\"]\n", false),
    ] {
        let mut world = hides_a_hook();
        world.user_settings(settings);
        let ended = world.aime(["run", "make it", "--mode", "direct", "--approve", mode, "--unattended", "--output=jsonl"]).must(0);
        assert_eq!((world.exists(".git/hooks/pre-commit"), world.exists("made.txt")), (kept, true), "{mode} {settings}");
        let message = ended.events("file_changed").into_iter().find(|change| change["path"] == ".git/hooks/pre-commit");
        assert_eq!(message.map(|change| change["did"].clone()), Some(json!(if kept { "created" } else { "put_back" })), "{ended}");
    }
}

#[test]
fn a_person_says_whether_what_runs_later_may_stay() {
    for (answer, kept) in [("yes", true), ("no", false)] {
        let mut world = hides_a_hook();
        world.user_settings("[permissions]\nallow = [\"bash\"]\n");
        let ended = world.aime(["run", "make it", "--mode", "direct", "--run-id", "r", "--output=json"]).must(5);
        assert!(ended.json()["error"]["message"].as_str().unwrap().contains("`.git/hooks/pre-commit`"), "{ended}");
        assert!(!world.exists(".git/hooks/pre-commit"), "until then it is put back");
        world.aime(["answer", "r", answer]).must(0);
        world.aime(["resume", "r"]).must(0);
        assert_eq!(world.exists(".git/hooks/pre-commit"), kept, "{answer}");
    }
}
