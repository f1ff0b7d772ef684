//! Disks and files that are not as they should be: one clear message with the repair, no panic, nothing half written.

use aime_scripted_server::{Script, When};
use serde_json::{Value, json};

use crate::harness::{Ended, World, done, plan, tool};

/// A world with one finished run, `first`.
fn after_a_run() -> World {
    let world = World::alone();
    world.plan("plan.json", &plan(&[tool("note", "write_file", json!({"path": "a.txt", "content": "a"}), &[])]));
    world.aime(["run", "--plan", "plan.json", "--run-id", "first"]).must(0);
    world
}

#[track_caller]
fn one_clear_message(ended: &Ended, words: &[&str]) {
    assert_eq!(ended.code, Some(2), "{ended}");
    for word in words {
        assert!(ended.stderr.contains(word), "{word}\n{ended}");
    }
    assert_eq!(ended.stderr.lines().filter(|line| line.starts_with("error")).count(), 1, "one message\n{ended}");
    assert_eq!(ended.stdout, "", "{ended}");
}

#[test]
fn a_journal_that_is_none() {
    for bytes in [b"this is no journal at all, but long enough to look like something else".to_vec(), vec![0xAB; 8192]] {
        let world = after_a_run();
        for side in ["-wal", "-shm"] {
            let _none = std::fs::remove_file(world.path(&format!(".aime/aime.db{side}")));
        }
        std::fs::write(world.path(".aime/aime.db"), &bytes).unwrap();
        for arguments in [
            vec!["runs", "list"],
            vec!["resume", "first"],
            vec!["run", "--plan", "plan.json", "-q"],
            vec!["runs", "delete", "first"],
            vec!["answer", "first", "x"],
        ] {
            one_clear_message(
                &world.aime(&arguments),
                &["aime.db is not a journal of aime", "hint: move the file away: the next run begins a new journal"],
            );
        }
        assert_eq!(std::fs::read(world.path(".aime/aime.db")).unwrap(), bytes, "it is left as it was");
    }
}

#[test]
fn a_journal_that_was_cut() {
    let world = after_a_run();
    let path = world.path(".aime/aime.db");
    let whole = std::fs::read(&path).unwrap();
    assert!(whole.len() > 8192, "all of it is in the file: {} bytes", whole.len());
    std::fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    for arguments in [vec!["runs", "show", "first"], vec!["resume", "first"], vec!["run", "--plan", "plan.json", "-q"]] {
        let ended = world.aime(&arguments);
        one_clear_message(&ended, &["aime.db is damaged", "hint: `sqlite3 ", "aime.db .recover` prints what is left"]);
    }
    let doctor = world.aime(["doctor"]);
    assert_ne!(doctor.code, Some(0));
    assert!(doctor.stdout.contains("aime.db"), "{doctor}");
}

#[test]
fn an_empty_journal_is_a_new_one() {
    let world = after_a_run();
    std::fs::write(world.path(".aime/aime.db"), b"").unwrap();
    world.aime(["run", "--plan", "plan.json", "--run-id", "second"]).must(0);
}

// Requirement: 7.12
#[test]
fn a_record_that_was_damaged_is_cut_off_and_reported() {
    let world = World::with(
        Script::new()
            .once(When::tools().and_turn(1), [aime_scripted_server::Reply::hang()])
            .on(When::tools().and_turn(0), [crate::harness::write("a.txt", "A-MARK-OF-THE-JOURNAL")])
            .on(When::tools(), [done("done")]),
    );
    let running = world.start(["run", "write a.txt", "--run-id", "first"]);
    world.wait_for_requests(2);
    running.signal("INT");
    running.wait().must(130);
    let path = world.path(".aime/aime.db");
    let bytes = std::fs::read(&path).unwrap();
    let mark = b"A-MARK-OF-THE-JOURNAL";
    let places: Vec<usize> = (0..bytes.len() - mark.len()).filter(|at| bytes[*at..].starts_with(mark)).collect();
    let mut damaged = bytes.clone();
    for place in &places {
        damaged[*place] ^= 0x20;
    }
    assert!(!places.is_empty(), "the journal holds what was written");
    std::fs::write(&path, &damaged).unwrap();
    let ended = world.aime(["resume", "first", "--output", "json"]);
    assert!(ended.stderr.contains("damaged"), "it is reported\n{ended}");
    assert_eq!(ended.code, Some(0), "and the run goes on from the last good record\n{ended}");
    assert!(world.exists("a.txt"));
}

#[test]
fn a_file_where_the_folder_should_be() {
    let world = World::alone();
    world.file(".aime", "I was here first");
    world.plan("plan.json", &plan(&[tool("note", "write_file", json!({"path": "a.txt", "content": "a"}), &[])]));
    one_clear_message(&world.aime(["run", "--plan", "plan.json", "-q"]), &[".aime", "not a folder", "hint"]);
    assert_eq!(world.read(".aime"), "I was here first");
    assert!(!world.exists("a.txt"));
}

#[test]
fn a_folder_where_the_journal_should_be() {
    let world = World::alone();
    std::fs::create_dir_all(world.path(".aime/aime.db")).unwrap();
    world.plan("plan.json", &plan(&[tool("note", "write_file", json!({"path": "a.txt", "content": "a"}), &[])]));
    one_clear_message(&world.aime(["run", "--plan", "plan.json", "-q"]), &["aime.db"]);
}

#[test]
fn files_where_folders_should_be_within() {
    let world = World::alone();
    world.plan("plan.json", &plan(&[tool("note", "write_file", json!({"path": "a.txt", "content": "a"}), &[])]));
    world.file(".aime/progress", "I was here first");
    world.aime(["run", "--plan", "plan.json"]).must(0);
    assert_eq!(world.read(".aime/progress"), "I was here first", "a view that cannot be written stops nothing");
    let world = World::alone();
    world.plan("plan.json", &plan(&[tool("note", "write_file", json!({"path": "a.txt", "content": "a"}), &[])]));
    world.file(".aime/runs", "I was here first");
    one_clear_message(&world.aime(["run", "--plan", "plan.json", "-q"]), &[".aime/runs"]);
    assert!(!world.exists("a.txt"));
}

#[test]
fn a_folder_that_may_only_be_read() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::alone();
    world.plan("plan.json", &plan(&[tool("look", "list_dir", json!({"path": "."}), &[])]));
    let set = |mode| std::fs::set_permissions(world.work(), std::fs::Permissions::from_mode(mode)).unwrap();
    set(0o555);
    let writable = std::fs::write(world.path("probe"), "").is_ok();
    let ended = world.aime(["run", "--plan", "plan.json", "-q"]);
    set(0o755);
    if writable {
        // The superuser may write anywhere: nothing to see here.
        ended.must(0);
    } else {
        one_clear_message(&ended, &["cannot write", ".aime"]);
    }
}

#[test]
fn a_disk_without_room_is_said_and_the_run_goes_on_later() {
    let world = World::alone();
    let tasks: Vec<Value> = (0..40)
        .map(|n| {
            let before = format!("t{}", n - 1);
            let dependencies: &[&str] = if n == 0 { &[] } else { &[before.as_str()] };
            tool(&format!("t{n}"), "bash", json!({"command": format!("echo line {n} >> log; yes | head -c 1900")}), dependencies)
        })
        .collect();
    world.plan("plan.json", &plan(&tasks));
    let mut shell = world.program("bash");
    // A bound on the size of files stands for a full disk: writing fails in the middle of the run.
    let line =
        format!("trap '' XFSZ; ulimit -f 160; exec {} run --plan plan.json --run-id first -q --output json", env!("CARGO_BIN_EXE_aime"));
    shell.args(["-c", &line]);
    let ended = world.spawn(shell).wait().must(130).stderr_contains(&["aime.db"]);
    let result = ended.json();
    assert_eq!((&result["run_id"], &result["error"]["code"]), (&json!("first"), &json!("interrupted")), "{ended}");
    let before = world.read("log").lines().count();
    assert!((1..40).contains(&before), "it was cut in the middle: {before}\n{ended}");
    let shown = world.aime(["runs", "show", "first", "--output", "json"]).must(0);
    assert_eq!(shown.json()["run_id"], "first");
    // Room again: it goes on. The command whose outcome could not be written is in doubt and is not repeated.
    let resumed = world.aime(["resume", "first", "--output", "json"]);
    let log = world.read("log");
    for line in log.lines() {
        assert_eq!(log.lines().filter(|other| *other == line).count(), 1, "{line} is there twice\n{resumed}");
    }
    assert!(matches!(resumed.code, Some(0 | 1)), "{resumed}");
}

#[test]
fn a_file_is_written_whole_or_not_at_all() {
    let world = World::alone();
    world.file("a.txt", "as it was\n");
    let content = "x".repeat(400_000);
    world.file(
        "call.sh",
        &format!(
            "trap '' XFSZ; ulimit -f 100; exec {} tools call write_file '{{\"path\": \"a.txt\", \"content\": \"'$(head -c 90000 big)'\"}}'",
            env!("CARGO_BIN_EXE_aime")
        ),
    );
    world.file("big", &content);
    // 90,000 bytes fit below the bound of 100 KiB, a hundred and twenty thousand do not.
    let run = |bytes: &str, limit: &str| {
        let script = world
            .read("call.sh")
            .replace("head -c 90000", &format!("head -c {bytes}"))
            .replace("ulimit -f 100", &format!("ulimit -f {limit}"));
        let mut shell = world.program("bash");
        shell.args(["-c", &script]);
        world.spawn(shell).wait()
    };
    let failed = run("120000", "100");
    assert_ne!(failed.code, Some(0), "{failed}");
    assert_eq!(world.read("a.txt"), "as it was\n", "the old file is whole");
    run("90000", "100").must(0);
    assert_eq!(world.read("a.txt").len(), 90_000);
    let left: Vec<String> =
        std::fs::read_dir(world.work()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert!(
        left.iter().all(|name| ["a.txt", "big", "call.sh", ".aime"].contains(&name.as_str())),
        "nothing half written is left: {left:?}"
    );
}

#[test]
fn a_plan_is_written_whole_or_not_at_all() {
    let description = "wash ".repeat(2_000);
    let script = Script::new()
        .on(When::schema("aime_plan"), [aime_scripted_server::Reply::json(plan(&[crate::harness::actor("wash", &description, &[])]))]);
    let world = World::with(script);
    world.file("plan.json", "as it was\n");
    let write = |limit: &str| {
        let mut shell = world.program("bash");
        let line = format!(
            "trap '' XFSZ; ulimit -f {limit}; exec {} plan wash --mode complex --format json -o plan.json",
            env!("CARGO_BIN_EXE_aime")
        );
        shell.args(["-c", &line]);
        world.spawn(shell).wait()
    };
    write("4").must(2).stderr_contains(&["plan.json"]);
    assert_eq!(world.read("plan.json"), "as it was\n");
    write("100").must(0);
    world.aime(["check", "plan.json"]).must(0);
    assert_eq!(std::fs::read_dir(world.work()).unwrap().count(), 1, "nothing else is left");
    world.aime(["plan", "wash", "--mode", "complex", "-o", "nowhere/plan.json"]).must(2).stderr_contains(&["nowhere/plan.json"]);
    world.aime(["plan", "wash", "--mode", "complex", "-o", "/dev/null"]).must(0);
}

// Requirement: 7.19
#[test]
fn a_run_is_checked_and_what_follows_from_its_journal_is_repaired() {
    let world = after_a_run();
    let check = |arguments: &[&str]| world.aime(["runs", "check", "first", "--output", "json"].iter().chain(arguments));
    let whole = check(&[]).must(0).json();
    assert_eq!((&whole["schema"], &whole["run_id"], &whole["findings"]), (&json!("aime.run_check/v1"), &json!("first"), &json!([])));
    let snapshot = world.read(".aime/progress/first.json");
    // Each of these is a snapshot that the journal does not make.
    let other_goal = snapshot.replace("the goal of this scenario", "another goal");
    let contradictory = snapshot.replace("\"attempts\":1", "\"attempts\":0");
    for (damaged, words) in
        [("{", "damaged"), (other_goal.as_str(), "differs from the state"), (contradictory.as_str(), "was never started"), ("", "damaged")]
    {
        assert_ne!(damaged, snapshot, "{words}");
        world.file(".aime/progress/first.json", damaged);
        let found = check(&[]).must(1).stderr_contains(&["--repair"]).json();
        let finding = &found["findings"][0];
        assert_eq!(
            (&finding["place"], &finding["repaired"], found["findings"].as_array().unwrap().len()),
            (&json!("snapshot"), &json!(false), 1)
        );
        assert!(finding["detail"].as_str().unwrap().contains(words), "{words}: {finding}");
        assert_eq!(world.read(".aime/progress/first.json"), damaged, "a look changes nothing");
        assert_eq!(check(&["--repair"]).must(0).json()["findings"][0]["repaired"], json!(true));
        assert_eq!(world.read(".aime/progress/first.json"), snapshot, "the journal makes it anew");
        assert_eq!(check(&[]).must(0).json()["findings"], json!([]));
    }
    let text = world.aime(["runs", "check", "first"]).must(0);
    assert!(text.stdout.contains("nothing is wrong"), "{text}");
    world.aime(["runs", "check", "nobody"]).must(2);
}

/// The contents that are kept of files.
fn contents(world: &World) -> Vec<std::path::PathBuf> {
    let folders = std::fs::read_dir(world.path(".aime/undo/objects")).unwrap().map(|entry| entry.unwrap().path());
    folders.flat_map(|folder| std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path())).collect()
}

// Requirement: 7.19
#[test]
fn each_damage_to_what_is_kept_is_found_and_repaired_or_said() {
    type Harm = fn(&World);
    let cases: [(&str, &str, bool, Harm); 7] = [
        ("undo", "is not as it was written", false, |world| {
            for content in contents(world) {
                std::fs::write(content, "").unwrap();
            }
        }),
        ("undo", "is not as it was written", false, |world| {
            for content in contents(world) {
                let mut bytes = std::fs::read(&content).unwrap();
                bytes.iter_mut().for_each(|byte| *byte ^= 1);
                std::fs::write(content, bytes).unwrap();
            }
        }),
        ("undo", "is gone", false, |world| std::fs::remove_dir_all(world.path(".aime/undo/objects")).unwrap()),
        ("undo", "ends in a truncated line", true, |world| {
            let log = world.read(".aime/runs/first/undo/log.jsonl");
            world.file(".aime/runs/first/undo/log.jsonl", &format!("{log}{{\"record\": \"clo"));
        }),
        ("undo", "no change of the run can be undone", false, |world| world.file(".aime/runs/first/undo/log.jsonl", "no log\n")),
        ("snapshot", "cannot be read", true, |world| std::fs::remove_file(world.path(".aime/progress/first.json")).unwrap()),
        ("folder", "1 temporary file is left", true, |world| world.file(".aime/runs/first/undo/.tmpA1b2C3", "half of")),
    ];
    for (place, words, repairs, harm) in cases {
        let world = after_a_run();
        world.aime(["runs", "check", "first"]).must(0);
        harm(&world);
        let check = |arguments: &[&str]| world.aime(["runs", "check", "first", "--output", "json"].iter().chain(arguments));
        let found = check(&[]).must(1).json();
        let finding = &found["findings"][0];
        assert_eq!((&finding["place"], finding["repair"].is_null()), (&json!(place), !repairs), "{words}: {found}");
        assert!(finding["detail"].as_str().unwrap().contains(words), "{words}: {found}");
        let repaired = check(&["--repair"]).must(i32::from(!repairs)).json();
        assert_eq!(repaired["findings"][0]["repaired"], json!(repairs), "{words}: {repaired}");
        check(&[]).must(i32::from(!repairs));
    }
}

#[test]
fn a_run_whose_beginning_was_damaged_is_found_so() {
    let world = after_a_run();
    let path = world.path(".aime/aime.db");
    let mut bytes = std::fs::read(&path).unwrap();
    let goal = b"the goal of this scenario";
    let places: Vec<usize> = (0..bytes.len() - goal.len()).filter(|at| bytes[*at..].starts_with(goal)).collect();
    places.iter().for_each(|place| bytes[*place] ^= 0x20);
    std::fs::write(&path, &bytes).unwrap();
    for arguments in [&["runs", "check", "first", "--output", "json"][..], &["runs", "check", "first", "--repair", "--output", "json"]] {
        let ended = world.aime(arguments).must(1);
        let finding = ended.json()["findings"][0].clone();
        assert_eq!((&finding["place"], &finding["repair"]), (&json!("journal"), &json!(null)), "{ended}");
        assert!(finding["detail"].as_str().unwrap().contains("start a new run"), "{ended}");
        assert!(!ended.stderr.contains("aime resume"), "{ended}");
    }
    let refused = world.aime(["resume", "first"]).must(2).stderr_contains(&["start a new run", "aime runs delete first"]);
    assert!(!refused.stderr.contains("repair it, then"), "{refused}");
    world.aime(["runs", "delete", "first"]).must(0);
}

// Requirement: 7.19
#[test]
fn a_record_that_was_damaged_is_found_and_cut() {
    let world = World::alone();
    let commands = ["echo A-MARK-OF-THE-JOURNAL", "echo two"].map(|line| json!({"command": line}));
    let [one, two] = commands;
    world.plan("plan.json", &plan(&[tool("one", "bash", one, &[]), tool("two", "bash", two, &["one"])]));
    world.aime(["run", "--plan", "plan.json", "--run-id", "first", "--approve", "all"]).must(0);
    let path = world.path(".aime/aime.db");
    let mut bytes = std::fs::read(&path).unwrap();
    // The first is the input, without which there is no run; what the command said is a later one.
    let mark = b"A-MARK-OF-THE-JOURNAL\\n";
    let places: Vec<usize> = (0..bytes.len() - mark.len()).filter(|at| bytes[*at..].starts_with(mark)).collect();
    assert!(!places.is_empty(), "the journal holds what was said");
    places.iter().for_each(|place| bytes[*place] ^= 0x20);
    std::fs::write(&path, &bytes).unwrap();
    let check = |arguments: &[&str]| world.aime(["runs", "check", "first", "--output", "json"].iter().chain(arguments));
    let found = check(&[]).must(1).json();
    assert_eq!(found["findings"][0]["place"], json!("journal"), "{found}");
    assert!(found["findings"][0]["detail"].as_str().unwrap().contains("is not as it was written"), "{found}");
    check(&["--repair"]).must(0);
    assert_eq!(check(&[]).must(0).json()["findings"], json!([]));
}
