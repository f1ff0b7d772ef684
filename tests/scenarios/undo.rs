//! What a run does to files can be taken back, to the byte and the mode.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs,
    os::unix::{
        ffi::OsStrExt,
        fs::{PermissionsExt, symlink},
    },
    path::{Path, PathBuf},
};

use aime_scripted_server::{Reply, Script, When};
use serde_json::{Value, json};

use crate::harness::{World, bash, done, plan, task, tool, write};

/// Everything in the working folder but what belongs to aime and to the test: modes, contents, targets of links.
fn tree(world: &World) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    let mut tree = BTreeMap::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(world.work().join(&folder)).unwrap() {
            let entry = entry.unwrap();
            let path = folder.join(entry.file_name());
            if [".aime", "plan.json", "aime.toml"].iter().any(|own| path == Path::new(own)) {
                continue;
            }
            let facts = entry.metadata().unwrap();
            let held = if facts.is_symlink() {
                (0, fs::read_link(entry.path()).unwrap().as_os_str().as_bytes().to_vec())
            } else if facts.is_dir() {
                folders.push(path.clone());
                (facts.permissions().mode(), Vec::new())
            } else {
                (facts.permissions().mode(), fs::read(entry.path()).unwrap())
            };
            tree.insert(path, held);
        }
    }
    tree
}

/// A folder with one of each that can stand in it.
fn furnished() -> World {
    let world = World::alone();
    world.file("src/main.rs", "fn main() {}\n");
    world.file("src/deep/data.csv", "a;b\r\n1;2\r\n");
    world.file("docs/read me.md", "# ä 中 😀\n");
    world.file("run.sh", "#!/bin/sh\n");
    world.file("stays.txt", "stays\n");
    fs::create_dir_all(world.path("docs/empty")).unwrap();
    symlink("../run.sh", world.path("docs/link")).unwrap();
    fs::write(world.work().join(OsStr::from_bytes(b"caf\xe9")), [0, 159, 146, 150]).unwrap();
    for (name, mode) in [("run.sh", 0o755), ("src/main.rs", 0o600), ("docs/empty", 0o700)] {
        fs::set_permissions(world.path(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    world
}

fn run(world: &World, tasks: &[Value]) {
    world.plan("plan.json", &plan(tasks));
    world.aime(["run", "--plan", "plan.json", "--run-id", "r"]).must(0);
}

// Requirement: 8.19
#[test]
fn a_run_that_deletes_half_of_the_folder_is_undone() {
    let world = furnished();
    let before = tree(&world);
    run(
        &world,
        &[tool(
            "clean",
            "bash",
            json!({"command": "rm -rf docs src caf* run.sh && echo changed > stays.txt && mkdir -p new/x && echo 1 > new/x/1"}),
            &[],
        )],
    );
    let after = tree(&world);
    assert!(!world.exists("docs") && world.exists("new/x/1"));

    // Nobody is here to agree.
    world.aime(["runs", "undo", "r"]).must(2).stderr_contains(&["no terminal to ask", "--yes"]);
    assert_eq!(tree(&world), after);

    let undone = world.aime(["runs", "undo", "r", "--yes"]).must(0).stderr_contains(&[
        "recreate docs/empty",
        "delete   new/x/1",
        "restore  stays.txt",
    ]);
    assert!(undone.stdout.contains("put back 14 paths"), "{undone}");
    assert_eq!(tree(&world), before);
    let again = world.aime(["runs", "undo", "r"]).must(0);
    assert!(again.stdout.contains("nothing to put back for run r"), "{again}");

    // An undo is something that can be taken back, and done again.
    world.aime(["runs", "redo", "r", "--yes"]).must(0);
    assert_eq!(tree(&world), after);
    world.aime(["runs", "redo", "r", "--yes"]).must(2).stderr_contains(&["no undo to take back"]);
    world.aime(["runs", "undo", "last", "--yes"]).must(0);
    assert_eq!(tree(&world), before);
}

// Requirement: 8.19
#[test]
fn one_task_of_two_is_undone() {
    let world = furnished();
    run(
        &world,
        &[
            tool("write", "write_file", json!({"path": "made/by.txt", "content": "write\n"}), &[]),
            tool("clean", "bash", json!({"command": "rm -r docs"}), &["write"]),
            tool("more", "python", json!({"code": "open('made/by.txt', 'a').write('more')"}), &["clean"]),
        ],
    );
    world.aime(["runs", "undo", "r", "nobody", "--yes"]).must(2).stderr_contains(&["its tasks are write, clean, more"]);
    world.aime(["runs", "undo", "r", "clean", "--yes"]).must(0);
    assert_eq!((world.read("docs/read me.md").as_str(), world.read("made/by.txt").as_str()), ("# ä 中 😀\n", "write\nmore"));
    // The other one has changed the same file later.
    let refused = world.aime(["runs", "undo", "r", "write", "--yes", "--output", "json"]).must(1);
    let document = refused.json();
    assert_eq!((&document["schema"], &document["undo"], &document["changes"]), (&json!("aime.undo/v1"), &Value::Null, &json!([])));
    let conflicts = json!([
        {"path": "made", "reason": "the folder is not empty", "can_be_forced": false},
        {"path": "made/by.txt", "reason": "changed later, or at the same time, by more", "can_be_forced": true},
    ]);
    assert_eq!(document["conflicts"], conflicts, "{refused}");
    world.aime(["runs", "undo", "r", "more", "--yes"]).must(0);
    let document = world.aime(["runs", "undo", "r", "write", "--yes", "--output", "json"]).must(0).json();
    assert_eq!(document["changes"], json!([{"path": "made", "did": "delete"}, {"path": "made/by.txt", "did": "delete"}]));
    assert_eq!(tree(&world), tree(&furnished()));
}

// Requirement: 8.19
#[test]
fn what_a_person_changed_since_is_kept() {
    let world = furnished();
    run(&world, &[tool("both", "bash", json!({"command": "echo run > stays.txt; echo run > run.sh"}), &[])]);
    world.file("stays.txt", "mine\n");
    let undone = world.aime(["runs", "undo", "r", "--yes"]).must(1).stderr_contains(&["--force"]);
    assert!(undone.stdout.contains("stays.txt: changed since then, by you or by another run"), "{undone}");
    assert_eq!((world.read("stays.txt").as_str(), world.read("run.sh").as_str()), ("mine\n", "#!/bin/sh\n"));
    world.aime(["runs", "undo", "r", "--yes", "--force"]).must(0);
    assert_eq!(world.read("stays.txt"), "stays\n");
    world.aime(["runs", "redo", "r", "--yes"]).must(0);
    assert_eq!(world.read("stays.txt"), "mine\n");
}

// Requirement: 8.19
#[test]
fn an_actor_and_hooks_are_undone_too() {
    let script = Script::new()
        .on(When::tools().and_turn(0), [Reply::call("edit_file", json!({"path": "stays.txt", "old_text": "stays", "new_text": "goes"}))])
        .on(When::tools().and_turn(1), [bash("mv src elsewhere")])
        .on(When::tools(), [done("tidied")]);
    let mut world = furnished();
    world.serve(script);
    world.user_settings("[[hooks.after_tool]]\ncommand = \"echo hook >> hooked.txt\"\n[[hooks.stop]]\ncommand = \"rm -f run.sh\"\n");
    let before = tree(&world);
    world.aime(["run", "tidy up", "--mode", "direct", "--approve", "all", "--run-id", "r"]).must(0);
    assert!(world.exists("hooked.txt") && world.exists("elsewhere/deep/data.csv") && !world.exists("run.sh"));
    world.aime(["runs", "undo", "r", "--yes"]).must(0);
    assert_eq!(tree(&world), before);
}

/// A plan whose task fails after it has changed files, and whose rollback takes that back.
// Requirement: 8.20
#[test]
fn a_rollback_puts_back_what_the_failed_task_did() {
    let world = furnished();
    let before = tree(&world);
    let mut document = plan(&[
        tool("migrate", "bash", json!({"command": "rm -r src && echo half > stays.txt && exit 3"}), &[]),
        tool("back", "undo_task", json!({"task_id": "migrate"}), &[]),
    ]);
    document["edges"] = json!([{"from": "migrate", "to": "back", "type": "rollback"}]);
    world.plan("plan.json", &document);
    let ended = world.aime(["run", "--plan", "plan.json", "--run-id", "r", "--output", "json"]).must(1);
    let result = ended.json();
    assert_eq!(
        (&task(&result, "migrate")["status"], &task(&result, "back")["status"]),
        (&json!("rolled_back"), &json!("completed")),
        "{ended}"
    );
    assert!(task(&result, "back")["summary"].as_str().unwrap().starts_with("Put back what `migrate` changed: 5 paths."), "{ended}");
    assert_eq!(tree(&world), before);
    // Even that can be taken back.
    world.aime(["runs", "redo", "r", "--yes"]).must(0);
    assert_eq!(world.read("stays.txt"), "half\n");
}

// Requirement: 8.20
#[test]
fn a_rollback_leaves_what_others_have_changed() {
    let world = furnished();
    let mut document = plan(&[
        tool("one", "bash", json!({"command": "echo one > stays.txt; echo one > one.txt; exit 3"}), &[]),
        tool("two", "write_file", json!({"path": "stays.txt", "content": "two"}), &[]),
        tool("back", "undo_task", json!({"task_id": "one"}), &["two"]),
        tool("nobody", "undo_task", json!({"task_id": "nobody"}), &["back"]),
    ]);
    document["edges"] = json!([{"from": "one", "to": "two", "type": "rollback"}, {"from": "one", "to": "back", "type": "rollback"}]);
    world.plan("plan.json", &document);
    let ended = world.aime(["run", "--plan", "plan.json", "--run-id", "r", "--output", "json"]).must(1);
    let error = task(&ended.json(), "back")["error"].as_str().unwrap().to_owned();
    let expected = "of what `one` changed, 1 path left as they are:\nstays.txt: changed later, or at the same time, by two\n";
    assert!(error.contains(expected), "{ended}");
    assert_eq!((world.read("stays.txt").as_str(), world.exists("one.txt")), ("two", false));
}

// Requirement: 8.19
#[test]
fn a_run_that_was_killed_in_a_command_is_undone_without_being_resumed() {
    let world = furnished();
    let before = tree(&world);
    let command = "rm -rf src; echo $$ > began; for i in $(seq 600); do [ -e go ] && break; sleep 0.1; done";
    world.plan("plan.json", &plan(&[tool("cut", "bash", json!({"command": command}), &[])]));
    let running = world.start(["run", "--plan", "plan.json", "--run-id", "r"]);
    world.wait_for_file("began");
    world.aime(["runs", "undo", "r", "--yes"]).must(2).stderr_contains(&["held by"]);
    running.kill();
    world.aime(["runs", "undo", "r", "--yes"]).must(0);
    assert_eq!(tree(&world), before);
}

#[test]
fn what_is_not_covered_is_told() {
    let world = furnished();
    world.file("node_modules/x/index.js", "1");
    run(&world, &[tool("clean", "bash", json!({"command": "rm -r node_modules src"}), &[])]);
    let undone = world.aime(["runs", "undo", "r", "--yes"]).must(1);
    for text in ["node_modules: its former content was not recorded (a cache)", "not covered: node_modules (a cache)", "put back 4 paths"] {
        assert!(undone.stdout.contains(text), "{text}: {undone}");
    }
    assert_eq!(tree(&world), tree(&furnished()));
}

// Requirement: 8.19
#[test]
fn a_disk_without_room_costs_the_undo_and_not_the_run() {
    let mut world = furnished();
    world.user_settings("[undo]\nfree_mb = 9000000000000\n");
    world.plan("plan.json", &plan(&[tool("clean", "bash", json!({"command": "rm -r src"}), &[])]));
    world.aime(["run", "--plan", "plan.json", "--run-id", "r"]).must(0).stderr_contains(&["changes from here on cannot be undone: only "]);
    let undone = world.aime(["runs", "undo", "r", "--yes"]).must(1);
    assert!(undone.stdout.contains("later changes of this run were not recorded"), "{undone}");
    assert!(!world.exists("src"));
    // Whoever wants none of it.
    world.user_settings("[undo]\nenabled = false\n");
    world.aime(["run", "--plan", "plan.json", "--run-id", "without"]).must(1);
    assert!(!world.exists(".aime/runs/without/undo"));
}

// Requirement: 8.19
#[test]
fn a_deleted_run_gives_up_what_it_kept() {
    let world = furnished();
    run(&world, &[tool("write", "write_file", json!({"path": "stays.txt", "content": "a secret word"}), &[])]);
    let kept = |text: &str| {
        let found = world.aime_kept();
        found.iter().any(|content| content.windows(text.len()).any(|window| window == text.as_bytes()))
    };
    assert!(kept("a secret word") && kept("stays\n"));
    world.aime(["runs", "delete", "r"]).must(0);
    assert!(!kept("a secret word") && !kept("stays\n"));
    world.aime(["runs", "undo", "r"]).must(2);
}

impl World {
    /// All contents of files that are kept.
    fn aime_kept(&self) -> Vec<Vec<u8>> {
        let folders = fs::read_dir(self.path(".aime/undo/objects")).into_iter().flatten();
        let files = folders.flat_map(|folder| fs::read_dir(folder.unwrap().path()).unwrap());
        files.map(|file| fs::read(file.unwrap().path()).unwrap()).collect()
    }
}

#[test]
fn at_a_terminal_it_is_asked() {
    let world = furnished();
    run(&world, &[tool("clean", "bash", json!({"command": "rm -r src"}), &[])]);
    let cases = [("", "n\n", false), ("", "\n", false), (" --output json", "n\n", false), (" --output json > undone.json", "y\n", true)];
    for (form, answer, back) in cases {
        let mut running = world.terminal(&format!("AIME runs undo r{form}"), (100, 24));
        running.shows(&["recreate", "src/main.rs", "Put these back? [y/N]"]);
        running.types(answer);
        let ended = running.ends();
        assert_eq!(world.exists("src/main.rs"), back, "{form} {answer:?}: {}", ended.text);
    }
    assert!(world.read("undone.json").starts_with('{'), "the list is on standard error");
}

// Requirement: 8.25
#[test]
fn what_file_tools_change_is_shown_with_its_lines() {
    let world = furnished();
    let patch = "*** Begin Patch\n*** Update File: src/main.rs\n@@\n-fn main() {}\n+fn main() { work() }\n*** Delete File: docs/read me.md\n*** End Patch";
    let tasks = [
        tool("write", "write_file", json!({"path": "stays.txt", "content": "goes\n"}), &[]),
        tool("patch", "apply_patch", json!({"patch": patch}), &["write"]),
    ];
    world.plan("plan.json", &plan(&tasks));
    let expected = [
        "write: changed stays.txt +1 -1\n    @@ -1 +1 @@\n    -stays\n    +goes\n",
        "patch: deleted docs/read me.md +0 -1\n",
        "    +fn main() { work() }\n",
    ];
    world.aime(["run", "--plan", "plan.json", "--run-id", "r"]).must(0).stderr_contains(&expected);
    let shown = world.aime(["runs", "show", "r"]).must(0);
    assert!(expected.iter().all(|text| shown.stdout.contains(text)), "{shown}");
    let coloured = world.aime(["--color", "always", "runs", "show", "r"]).must(0);
    for text in ["\u{1b}[31m-stays\u{1b}[0m", "\u{1b}[32m+goes\u{1b}[0m"] {
        assert!(coloured.stdout.contains(text), "{text:?} {coloured}");
    }
    let events = world.aime(["runs", "events", "r", "--output", "jsonl"]).must(0).events("file_changed");
    assert_eq!((&events[0]["path"], &events[0]["added"]), (&json!("stays.txt"), &json!(1)));
    // What others wrote is put back as it was, whichever tool it was.
    world.aime(["runs", "undo", "r", "--yes"]).must(0);
    assert_eq!(tree(&world), tree(&furnished()));
}

#[test]
fn an_undo_names_the_turns_of_a_continued_run() {
    let replies = [write("cups.txt", "clean"), done("Clean."), write("plates.txt", "dry"), done("Dry.")];
    let world = World::led(Script::new().on(When::tools(), replies));
    world.aime(["run", "wash the cups", "--run-id", "dishes", "--approve", "all"]).must(0);
    world.aime(["continue", "dishes", "dry the plates"]).must(0);
    let asked = world.aime(["runs", "undo", "dishes"]).must(2);
    let order = ["turn 1: wash the cups", "cups.txt", "turn 2: dry the plates", "plates.txt"].map(|part| asked.stderr.find(part));
    assert!(order.iter().all(Option::is_some) && order.is_sorted(), "{order:?} {asked}");
    let undone = world.aime(["runs", "undo", "dishes", "--yes", "--output", "json"]).must(0).json();
    assert_eq!(
        undone["changes"],
        json!([{"path": "cups.txt", "did": "delete", "turn": 1}, {"path": "plates.txt", "did": "delete", "turn": 2}]),
        "{undone}"
    );
}
