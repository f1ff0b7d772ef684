//! Tasks that run at once work in private folders, and what they did is joined.

use aime_scripted_server::{Reply, Script, When};
use serde_json::{Value, json};

use crate::harness::{World, actor, bash, done, gives_up, messages_text, plan, task, tool, write};

const TEXT: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n";
const SETTINGS: &str = "[run]\nisolation = \"worktree\"\n";
const RUN: [&str; 9] = ["run", "--plan", "plan.json", "--run-id", "r", "--approve", "all", "--output", "json"];

fn a(turn: usize) -> When {
    When::tools().and_contains("A-PART").and_turn(turn)
}

fn b(turn: usize) -> When {
    When::tools().and_contains("B-PART").and_turn(turn)
}

fn edit(old: &str, new: &str) -> Reply {
    Reply::call("edit_file", json!({"path": "text", "old_text": old, "new_text": new}))
}

/// Two actors with a file of seven lines.
fn two(script: Script, settings: &str) -> World {
    let world = World::with(script).settings(settings);
    world.file("text", TEXT);
    world.plan("plan.json", &plan(&[actor("a", "A-PART", &[]), actor("b", "B-PART", &[])]));
    world
}

fn notes(result: &Value) -> String {
    result["notes"].to_string()
}

#[test]
fn commands_and_edits_of_two_are_joined() {
    // Each works while the other has changed the file and not ended.
    let script = Script::new()
        .on(a(0), [bash("sed -i 's/one/1/' text && echo a >> new-of-a && cat text && echo A-HAS-CHANGED")])
        .on(b(0), [edit("seven", "7").after_request("A-HAS-CHANGED")])
        .on(b(1), [bash("cat text; ls; (echo leak > ../../../../../../leak); (echo leak > ../../a-1/folder/leak); echo B-HAS-CHANGED")])
        .on(a(1), [bash("cat text").after_request("B-HAS-CHANGED")])
        .on(a(2), [done("a is done")])
        .on(b(2), [done("b is done")]);
    let world = two(script, SETTINGS);
    let ended = world.aime(RUN).must(0);
    assert_eq!(world.read("text"), TEXT.replace("one", "1").replace("seven", "7"), "{ended}");
    assert_eq!(world.read("new-of-a"), "a\n");
    let message = world.actor_requests("B-PART").iter().map(messages_text).collect::<String>();
    assert!(message.contains("seven") || message.contains("7"), "{message}");
    assert!(!message.contains("new-of-a"), "nobody sees what is not joined: {message}");
    assert!(!world.exists("leak"), "commands of one write in the folder of no other\n{ended}");
    assert!(!world.exists(".aime/runs/r/private"), "{ended}");
    world.aime(["runs", "undo", "r", "a", "--yes"]).must(0);
    assert_eq!(world.read("text"), TEXT.replace("seven", "7"), "what one task did can be undone alone");
}

/// By default each of two that may work at the same time has a copy.
// Requirement: 9.1
#[test]
fn commands_of_two_in_one_file_are_both_kept_by_default() {
    // Each writes what it read before the other wrote: in one folder the later one would undo the work of the other.
    let read = |name: &str| bash(&format!("cp text old && echo {name}-HAS-READ"));
    let write = |old: &str, new: &str, after: &str| bash(&format!("sed 's/{old}/{new}/' old > text && rm old")).after_request(after);
    let script = || {
        Script::new()
            .on(a(0), [read("A")])
            .on(a(1), [write("one", "1", "B-HAS-READ")])
            .on(a(2), [done("a is done")])
            .on(b(0), [read("B")])
            .on(b(1), [write("seven", "7", "A-HAS-READ")])
            .on(b(2), [done("b is done")])
    };
    let world = two(script(), "");
    let ended = world.aime(RUN).must(0);
    assert_eq!(world.read("text"), TEXT.replace("one", "1").replace("seven", "7"), "{ended}");
    assert!(!world.exists(".aime/runs/r/private"), "{ended}");
    // Turned off, one of the two is lost.
    let shared = two(script(), "[run]\nisolation = \"shared\"\n");
    shared.aime(RUN);
    assert_ne!(shared.read("text"), world.read("text"));
}

/// What one has read before the changes of the other are merged undoes none of them when it is written later.
// Requirement: 9.1
#[test]
fn commands_write_nothing_that_is_older_than_a_merge() {
    let script = Script::new()
        .on(a(0), [bash("cp text old && echo A-HAS-READ")])
        .on(a(1), [bash("sed 's/one/1/' old > text && rm old").after_request("THE-END-OF-B")])
        .on(a(2), [done("a is done")])
        .on(b(0), [bash("sed -i 's/seven/7/' text").after_request("A-HAS-READ")])
        .on(b(1), [done("b is done")])
        .on(When::tools().and_contains("C-PART"), [done("c is done")])
        .on(When::tools().and_contains("D-PART"), [done("d is done")]);
    let world = two(script, "");
    // One task begins when `b` is merged, and tells so. More tasks wait for `a`, so that it begins before `b`.
    world.plan(
        "plan.json",
        &plan(&[
            actor("a", "A-PART", &[]),
            actor("b", "B-PART", &[]),
            actor("c", "THE-END-OF-B C-PART", &["b"]),
            actor("d", "D-PART", &["a"]),
            actor("e", "D-PART", &["d"]),
        ]),
    );
    let ended = world.aime(RUN).must(0);
    assert_eq!(world.read("text"), TEXT.replace("one", "1").replace("seven", "7"), "{ended}");
}

/// A task that runs alone works in the folder itself, with its ignored files.
// Requirement: 9.1
#[test]
fn a_task_that_runs_alone_has_no_copy() {
    let look = |name: &str| bash(&format!("cat ignored; echo {name} >> text"));
    let script = Script::new().on(a(0), [look("a")]).on(a(1), [done("a is done")]).on(b(0), [look("b")]).on(b(1), [done("b is done")]);
    let world = two(script, "");
    world.file(".gitignore", "ignored\n.aime\n");
    world.file("ignored", "NOT-IN-A-COPY\n");
    world.plan("plan.json", &plan(&[actor("a", "A-PART", &[]), actor("b", "B-PART", &["a"])]));
    let ended = world.aime(RUN).must(0);
    assert_eq!(world.read("text"), format!("{TEXT}a\nb\n"), "{ended}");
    for part in ["A-PART", "B-PART"] {
        assert!(world.actor_requests(part).iter().map(messages_text).any(|output| output.contains("NOT-IN-A-COPY")), "{part}: {ended}");
    }
}

/// Without `git` no copy can be made, as of a folder that is too large.
// Requirement: 9.1
#[test]
fn tasks_that_cannot_have_a_copy_write_one_at_a_time() {
    let change = |old: &str, new: &str| bash(&format!("cp text old && sed 's/{old}/{new}/' old > text && rm old"));
    let script = Script::new()
        .on(a(0), [change("one", "1")])
        .on(a(1), [done("a is done")])
        .on(b(0), [change("seven", "7")])
        .on(b(1), [done("b is done")]);
    let mut world = two(script, "");
    let programs = world.root().join("programs");
    std::fs::create_dir(&programs).unwrap();
    for program in ["bash", "sh", "cp", "sed", "rm"] {
        let found = ["/usr/bin", "/bin"].map(|folder| std::path::Path::new(folder).join(program)).into_iter().find(|path| path.exists());
        std::os::unix::fs::symlink(found.unwrap(), programs.join(program)).unwrap();
    }
    world.set("PATH", programs.to_str().unwrap());
    let run = ["run", "--plan", "plan.json", "--run-id", "r", "--approve", "all", "--output", "jsonl"];
    let ended = world.aime(run).must(0);
    assert_eq!(world.read("text"), TEXT.replace("one", "1").replace("seven", "7"), "{ended}");
    // The other one may have waited for the attempt to make a copy, too.
    assert!(!ended.events("folder_awaited").is_empty(), "{ended}");
    let note = "tasks took turns in the working folder, because it cannot be copied for them: no git is found on PATH";
    assert!(notes(&ended.last()).contains(note), "{ended}");
}

/// Copies that the settings ask for by name, and that cannot be made, are an error before anything is done, also on a resume.
// Requirement: 9.1
#[test]
fn a_run_without_its_copies_does_not_begin() {
    let words = ["run.isolation is \"worktree\"", "git 2.38 or later is needed", "set run.isolation = \"auto\""];
    let mut world = two(Script::new().once(a(0), [Reply::hang()]).on(When::tools(), [done("done")]), SETTINGS);
    let path = world.variables().find(|(name, _)| *name == "PATH").unwrap().1.clone();
    world.set("PATH", "/nowhere");
    world.aime(RUN).must(2).stderr_contains(&words);
    assert_eq!(world.server().requests().len(), 0);
    // The lead works in the working folder, so this mode needs no copies.
    world.aime(["run", "do it", "--mode", "direct", "--run-id", "d"]).must(0);
    world.set("PATH", &path);
    let before = world.server().requests().len();
    let running = world.start(RUN);
    world.wait_for_requests(before + 2);
    running.kill();
    world.set("PATH", "/nowhere");
    let hint = "install git 2.38 or later: a run keeps the isolation with which it began";
    world.aime(["resume", "r"]).must(2).stderr_contains(&[hint]);
    world.set("PATH", &path);
    world.aime(["resume", "r"]).must(0);
}

/// One task at a time has a copy, too, if the settings ask for it by name.
// Requirement: 9.1
#[test]
fn one_task_at_a_time_has_a_copy_on_demand() {
    let look = "[ -e ignored ] || echo IN-A-COPY";
    let change = |old: &str, new: &str| bash(&format!("{look}; cp text old && sed 's/{old}/{new}/' old > text && rm old"));
    for (isolation, has_copy) in [("worktree", true), ("auto", false)] {
        let script = Script::new()
            .on(a(0), [change("one", "1")])
            .on(a(1), [done("a is done")])
            .on(b(0), [change("seven", "7")])
            .on(b(1), [done("b is done")]);
        let world = two(script, &format!("[run]\nisolation = \"{isolation}\"\nmax_parallel = 1\n"));
        world.file(".gitignore", "ignored\n");
        world.file("ignored", "");
        let ended = world.aime(RUN).must(0);
        assert_eq!(world.read("text"), TEXT.replace("one", "1").replace("seven", "7"), "{isolation}: {ended}");
        for part in ["A-PART", "B-PART"] {
            let message: String = world.actor_requests(part).iter().map(messages_text).collect();
            assert_eq!(message.contains("IN-A-COPY\\n"), has_copy, "{isolation} {part}: {message}");
        }
        assert!(!world.exists(".aime/runs/r/private"), "{isolation}: {ended}");
    }
}

/// No copy is made of a folder that is too large for that.
// Requirement: 9.1
#[test]
fn tasks_in_a_large_folder_write_one_at_a_time() {
    let look = "[ -e ignored ] || echo IN-A-COPY";
    let change = |old: &str, new: &str| bash(&format!("{look}; cp text old && sed 's/{old}/{new}/' old > text && rm old"));
    let script = || {
        Script::new()
            .on(a(0), [change("one", "1")])
            .on(a(1), [done("a is done")])
            .on(b(0), [change("seven", "7")])
            .on(b(1), [done("b is done")])
    };
    for (bytes, has_copy) in [((2 << 30) + 1, false), (1, true)] {
        let world = two(script(), "");
        world.file(".gitignore", "ignored\n");
        world.file("ignored", "");
        // A file with a hole takes no room.
        std::fs::File::create(world.path("large")).unwrap().set_len(bytes).unwrap();
        let run = ["run", "--plan", "plan.json", "--run-id", "r", "--approve", "all", "--output", "jsonl"];
        let ended = world.aime(run).must(0);
        assert_eq!(world.read("text"), TEXT.replace("one", "1").replace("seven", "7"), "{ended}");
        let message: String =
            ["A-PART", "B-PART"].iter().flat_map(|part| world.actor_requests(part)).map(|request| messages_text(&request)).collect();
        assert_eq!(message.contains("IN-A-COPY\\n"), has_copy, "{bytes} bytes: {message}");
        assert!(has_copy || !ended.events("folder_awaited").is_empty(), "{ended}");
    }
}

#[test]
fn ignored_files_are_brought_along() {
    let look = "cat cache/file modules/file; echo x >> cache/file; (echo x >> modules/file) || echo REFUSED; touch modules/new || echo REFUSED; ls -a";
    let script = Script::new()
        .on(a(0), [bash(&format!("{look}; echo A-HAS-LOOKED"))])
        .on(a(1), [done("a is done")])
        .on(b(0), [edit("one", "1").after_request("A-HAS-LOOKED")])
        .on(b(1), [done("b is done")]);
    let world = two(script, &format!("{SETTINGS}[run.worktree]\ncopy = [\"cache\"]\nlink = [\"modules\"]\n"));
    world.file(".gitignore", "cache/\nmodules/\nsidelined/\n");
    world.file("cache/file", "copied\n");
    world.file("modules/file", "linked\n");
    world.file("sidelined/file", "left out\n");
    let ended = world.aime(RUN).must(0);
    let message = world.actor_requests("A-PART").iter().map(messages_text).collect::<String>();
    assert!(message.contains("copied") && message.contains("linked") && !message.contains("sidelined"), "{message}");
    assert!(cfg!(not(target_os = "linux")) || message.matches("REFUSED").count() >= 4, "{message}");
    assert_eq!(
        (world.read("cache/file"), world.read("modules/file"), world.read("text")),
        ("copied\n".to_owned(), "linked\n".to_owned(), TEXT.replace("one", "1")),
        "{ended}"
    );
    assert!(!world.exists("modules/new"), "{ended}");
}

#[test]
fn a_conflict_goes_to_its_own_actor() {
    let script = Script::new()
        .on(a(0), [edit("one", "a's")])
        .on(a(1), [done("a is done")])
        .on(b(0), [edit("one", "b's")])
        .on(b(1), [done("b is done").after_request("THE-END-OF-A")])
        .on(b(2), [bash("grep -v '^[<=>]\\{7\\}' text > text.new && mv text.new text")])
        .on(b(3), [done("both are kept")])
        .on(When::tools().and_contains("C-PART"), [done("THE-END-OF-A")]);
    let world = two(script, SETTINGS);
    // The third task begins when the first has ended, and tells so.
    world.plan("plan.json", &plan(&[actor("a", "A-PART", &[]), actor("b", "B-PART", &[]), actor("c", "THE-END-OF-A C-PART", &["a"])]));
    let ended = world.aime(RUN).must(0);
    assert_eq!(world.read("text"), TEXT.replace("one", "a's\nb's"), "{ended}");
    let message = world.actor_requests("B-PART").iter().map(messages_text).collect::<String>();
    assert!(message.contains("others changed the same parts meanwhile"), "{message}");
    assert_eq!(ended.json()["conflicts"], json!([{"task": "b", "path": "text", "kind": "text", "resolved": true}]), "{ended}");
    assert!(!world.exists(".aime/runs/r/private"), "{ended}");
}

/// An actor that leaves the version of the others in place of its own loses nothing.
// Requirement: 9.2
#[test]
fn whole_files_that_lose_are_kept_and_named() {
    let write = |actor: &str| bash(&format!("printf '\\000{actor}' > image; rm pointer; ln -s {actor} pointer"));
    let kept = |path: &str| format!(".aime/runs/r/private/b-1/own/{path}");
    let read =
        format!("cd \"${{PWD%/.aime/*}}\" && cat {} | tr -d '\\000' && readlink {} && cd - && rm text", kept("image"), kept("pointer"));
    let script = Script::new()
        .on(a(0), [write("a")])
        .on(a(1), [bash("rm text")])
        .on(a(2), [done("a is done")])
        .on(b(0), [write("b")])
        .on(b(1), [edit("one", "b's")])
        .on(b(2), [done("b is done").after_request("THE-END-OF-A")])
        .on(b(3), [bash(&read)])
        .on(b(4), [done("theirs is better")])
        .on(When::tools().and_contains("C-PART"), [done("THE-END-OF-A")]);
    let world = two(script, SETTINGS);
    world.file("image", "\0old");
    std::os::unix::fs::symlink("text", world.path("pointer")).unwrap();
    world.plan("plan.json", &plan(&[actor("a", "A-PART", &[]), actor("b", "B-PART", &[]), actor("c", "THE-END-OF-A C-PART", &["a"])]));
    let ended = world.aime(RUN).must(0);
    let message = world.actor_requests("B-PART").iter().map(messages_text).collect::<String>();
    let [image, pointer] = ["image", "pointer"].map(|path| world.path(&kept(path)).display().to_string());
    for part in [
        &format!("`image`, `pointer`: it is as the others left it (commands can read your version: `{image}`, `{pointer}`)"),
        "`text`: deleted by others, and your changed version is there again",
    ] {
        assert!(message.contains(part), "{part}: {message}");
    }
    assert!(message.contains("\\nbb\\n"), "commands can read them: {message}");
    let conflict = |path: &str, kind: &str| json!({"task": "b", "path": path, "kind": kind, "kept": kept(path), "resolved": true});
    let expected = json!([conflict("image", "binary"), conflict("pointer", "symlink"), conflict("text", "delete_edit")]);
    assert_eq!(ended.json()["conflicts"], expected, "{ended}");
    assert_eq!((world.read("image"), world.read(&kept("image"))), ("\0a".to_owned(), "\0b".to_owned()));
    assert_eq!(world.read(&kept("text")), TEXT.replace("one", "b's"));
    assert!(!world.exists("text"), "{ended}");
    let shown = world.aime(["runs", "show", "r"]).must(0);
    let line =
        format!("b and others changed image (binary); the actor of b resolved it; the version of the task is kept in {}", kept("image"));
    assert!(shown.stdout.contains(&line), "{shown}");
}

#[test]
fn a_conflict_that_stays_is_reported_and_kept() {
    let script = Script::new()
        .on(a(0), [edit("one", "a's")])
        .on(a(1), [done("a is done")])
        .on(b(0), [edit("one", "b's")])
        .on(b(1), [done("b is done").after_request("THE-END-OF-A")])
        .on(When::tools().and_contains("C-PART"), [done("THE-END-OF-A")])
        .on(When::schema("aime_patch"), [Reply::json(json!({"reasoning": "nothing helps", "changes": []}))])
        .on(When::plain(), [Reply::text("It did not work.")]);
    let world = two(script, &format!("{SETTINGS}[triggers]\nmax_retries = 0\n"));
    world.plan("plan.json", &plan(&[actor("a", "A-PART", &[]), actor("b", "B-PART", &[]), actor("c", "THE-END-OF-A C-PART", &["a"])]));
    let ended = world.aime(RUN).must(1);
    let result = ended.json();
    assert_eq!(world.read("text"), TEXT.replace("one", "a's"), "{ended}");
    assert_eq!(task(&result, "b")["status"], "failed", "{ended}");
    assert!(task(&result, "b")["error"].as_str().unwrap().contains("others changed the same parts meanwhile"), "{ended}");
    assert!(notes(&result).contains("versions that are not in the working folder are kept in"), "{ended}");
    assert!(world.read(".aime/runs/r/private/b-1/folder/text").contains("b's"), "{ended}");
    let kept = ".aime/runs/r/private/b-1/own/text";
    assert_eq!(result["conflicts"], json!([{"task": "b", "path": "text", "kind": "text", "kept": kept, "resolved": false}]), "{ended}");
    assert_eq!(world.read(kept), TEXT.replace("one", "b's"), "{ended}");
    let asked: String = world
        .server()
        .requests()
        .iter()
        .map(messages_text)
        .filter(|output| output.contains("two tasks changed the same files at once"))
        .collect();
    for part in ["<<<<<<< in the working folder", "a's", "b's", ">>>>>>> by this task", kept] {
        assert!(asked.contains(part), "the planner is shown {part}: {asked}");
    }
    let events = world.aime(["runs", "events", "r", "--output", "jsonl"]).must(0);
    assert_eq!(events.events("merge_conflicted").len(), 1, "{events}");
    let line = format!("b and others changed text (text); it is as the others left it; the version of the task is kept in {kept}");
    for shown in [["runs", "show", "r"], ["runs", "events", "r"]] {
        let shown = world.aime(shown).must(0);
        assert!(shown.stdout.contains(&line), "{shown}");
    }
    world.aime(["runs", "report", "r", "-o", "report.html"]).must(0);
    assert!(world.read("report.html").contains("the version of the task is kept in"));
}

/// Returns a world whose task `a` changes its copy, waits for its model in the first run, and changes the copy again after that.
fn that_waits() -> World {
    let script = Script::new()
        .on(a(0), [edit("one", "1")])
        .once(a(1), [Reply::hang()])
        .on(a(1), [bash("grep -q 1 text && sed -i 's/two/2/' text")])
        .on(a(2), [done("a is done")])
        .on(b(0), [edit("seven", "7")])
        .on(b(1), [done("b is done")]);
    two(script, SETTINGS)
}

#[test]
fn a_private_folder_survives_a_crash() {
    let world = that_waits();
    let running = world.start(RUN);
    world.wait_for_requests(4);
    running.kill();
    world.aime(["resume", "r", "--output", "json"]).must(0);
    assert_eq!(world.read("text"), TEXT.replace("one", "1").replace("two", "2").replace("seven", "7"));
    assert!(!world.exists(".aime/runs/r/private"));
}

/// A check finds nothing to remove in a run that goes on later.
#[test]
fn a_private_folder_survives_a_check() {
    let world = that_waits();
    let running = world.start(RUN);
    world.wait_for_requests(4);
    running.signal("INT");
    running.wait().must(130);
    assert!(world.exists(".aime/runs/r/private"));
    let checked = world.aime(["runs", "check", "r", "--repair", "--output", "json"]).must(0);
    assert_eq!(checked.json()["findings"], json!([]), "{checked}");
    world.aime(["resume", "r"]).must(0);
    assert_eq!(world.read("text"), TEXT.replace("one", "1").replace("two", "2").replace("seven", "7"));
}

/// Each copy has its own guard of the places whose files run later: `a` writes one with consent, and a command of `b` runs beside one of `a`.
#[test]
fn copies_are_guarded_apart() {
    let until = |path: &str| format!("for i in $(seq 200); do [ -e {path} ] && break; sleep 0.05; done");
    let script = Script::new()
        .on(a(0), [write(".envrc", "export A=1\n")])
        .on(a(1), [bash(&format!("touch begun; {}", until("../../b-1/folder/second")))])
        .on(a(2), [done("a is done")])
        .on(b(0), [bash(&until("../../a-1/folder/begun"))])
        .on(b(1), [bash("touch second")])
        .on(b(2), [done("b is done")])
        .on(When::plain(), [Reply::text("Both have ended.")]);
    let world = two(script, SETTINGS);
    let ended = world.aime(RUN).must(0);
    assert!(world.exists("second"), "the commands ran beside each other: {ended}");
    assert_eq!(world.read(".envrc"), "export A=1\n", "{ended}");
}

/// A check runs in the private folder before the merge: the working folder has nothing of refused work.
// Requirement: 9.1
#[test]
fn refused_work_is_not_merged() {
    let script = Script::new()
        .on(a(0), [bash("echo wrong > a.txt; echo A-HAS-CHANGED")])
        .on(a(1), [done("a is done")])
        .on(a(2), [bash("echo right > a.txt").after_request("C-HAS-LOOKED")])
        .on(a(3), [done("a is right")])
        .on(b(0), [bash("echo b > b.txt").after_request("A-HAS-CHANGED")])
        .on(b(1), [done("b is done").after_request("not accepted yet")])
        .on(When::tools().and_contains("C-PART").and_turn(0), [bash("echo $(ls) C-HAS-LOOKED")])
        .on(When::tools().and_contains("C-PART"), [done("c is done")]);
    let world = two(script, SETTINGS);
    let mut checked = actor("a", "A-PART", &[]);
    checked["completion_criteria"] = json!([{"command": "echo more >> noise.txt; grep right a.txt"}]);
    world.plan("plan.json", &plan(&[checked, actor("b", "B-PART", &[]), actor("c", "C-PART", &["b"])]));
    let ended = world.aime(["run", "--plan", "plan.json", "--run-id", "r", "--approve", "all", "--output", "jsonl"]).must(0);
    let message = world.actor_requests("C-PART").iter().map(messages_text).collect::<String>();
    assert!(message.contains("b.txt plan.json text C-HAS-LOOKED"), "nothing of `a` is there: {message}");
    assert_eq!((world.read("a.txt").as_str(), world.exists("noise.txt")), ("right\n", false), "{ended}");
    let checked: Vec<Value> = ended.events("criterion_checked").into_iter().map(|event| event["passed"].clone()).collect();
    assert_eq!(checked, [false, true], "{ended}");
    let evidence = ended.events("criterion_checked")[1]["reason"].to_string();
    assert!(evidence.contains("it changed `noise.txt`, which was put back"), "{evidence}");
}

/// Work that is refused for good stays in its private folder. The lead and the next worker learn where that is.
// Requirement: 9.1
#[test]
fn refused_work_is_named_with_its_folder() {
    let mut checked = actor("a", "A-PART", &[]);
    checked["completion_criteria"] = json!([{"command": "grep right a.txt"}]);
    let another = json!({"op": "add_task", "task": actor("c", "C-PART", &[]), "replaces": ["a"]});
    let lead = [
        Reply::call("submit_plan", plan(&[checked, actor("b", "B-PART", &[])])),
        Reply::call("change_plan", json!({"reasoning": "another way", "changes": [another]})),
        done("All is done."),
    ];
    let script = Script::new()
        .on(When::tool("submit_plan"), lead)
        .on(When::tools().and_contains("C-PART").and_turn(0), [bash("echo right > a.txt")])
        .on(When::tools().and_contains("C-PART"), [done("c is done")])
        .on(a(0), [bash("echo wrong > a.txt")])
        .on(a(1), [done("I changed a.txt")])
        .on(b(0), [done("b is done")]);
    let world = World::led(script).settings(&format!("{SETTINGS}[triggers]\nmax_retries = 0\n"));
    let ended = world.aime(["run", "do it", "--mode", "complex", "--run-id", "r", "--approve", "all", "--output", "json"]).must(0);
    let folder = ".aime/runs/r/private/a-1/folder";
    let lead = world.actor_requests("The plan is in trouble.").iter().map(messages_text).collect::<String>();
    assert!(lead.contains(&format!("its changes are not in the working folder, but kept in {folder}")), "{lead}\n{ended}");
    let of_next = world.actor_requests("C-PART").iter().map(messages_text).filter(|text| !text.contains("A-PART")).collect::<String>();
    assert!(of_next.contains(&format!("It is kept in `{folder}`")) && !of_next.contains("Look at what is there"), "{of_next}\n{ended}");
    assert_eq!((world.read("a.txt").as_str(), world.read(&format!("{folder}/a.txt")).as_str()), ("right\n", "wrong\n"), "{ended}");
}

/// A call of a tool task works in a copy as an actor does.
// Requirement: 9.1
#[test]
fn tool_tasks_beside_each_other_keep_both_edits() {
    // Each writes what it has read before the other wrote.
    let change = |id: &str, old: &str, new: &str| {
        tool(id, "bash", json!({"command": format!("cp text old; sleep 1; sed 's/{old}/{new}/' old > text; rm old")}), &[])
    };
    let world = World::with(Script::new());
    world.file("text", TEXT);
    world.plan("plan.json", &plan(&[change("a", "one", "1"), change("b", "seven", "7")]));
    let ended = world.aime(RUN).must(0);
    assert_eq!(world.read("text"), TEXT.replace("one", "1").replace("seven", "7"), "{ended}");
    assert!(!world.exists(".aime/runs/r/private"), "{ended}");
    world.aime(["runs", "undo", "r", "--yes"]).must(0);
    assert_eq!(world.read("text"), TEXT);
}

/// A call cannot resolve a conflict, so its task fails, and its version is kept.
// Requirement: 9.2
#[test]
fn a_conflict_of_tool_tasks_is_reported_and_kept() {
    let change = |id: &str| tool(id, "bash", json!({"command": format!("sed -i 's/one/{id}/' text; sleep 1")}), &[]);
    let script = Script::new()
        .on(When::schema("aime_patch"), [Reply::json(json!({"reasoning": "nothing helps", "changes": []}))])
        .on(When::plain(), [Reply::text("Not all of it.")]);
    let world = World::with(script);
    world.file("text", TEXT);
    world.plan("plan.json", &plan(&[change("a"), change("b")]));
    let ended = world.aime(RUN).must(1);
    let result = ended.json();
    let (lost, won) = if task(&result, "a")["status"] == "failed" { ("a", "b") } else { ("b", "a") };
    assert_eq!(world.read("text"), TEXT.replace("one", won), "{ended}");
    let kept = format!(".aime/runs/r/private/{lost}-1/own/text");
    assert_eq!(world.read(&kept), TEXT.replace("one", lost), "{ended}");
    let error = task(&result, lost)["error"].to_string();
    assert!(error.contains(&format!("nothing of this call is merged: `text` (its version is kept in `{kept}`)")), "{ended}");
    assert_eq!(task(&result, lost)["attempts"], 1, "{ended}");
}

/// File tools take the path of the working folder, commands too, and no result names the copy.
#[test]
fn actors_do_not_notice_their_copies() {
    let mut world = World::with(Script::new()).settings(SETTINGS);
    let folder = world.work().canonicalize().unwrap().to_str().unwrap().to_owned();
    let part = |name: &str, turn| When::tools().and_contains(format!("{name}-PART")).and_turn(turn);
    let text = format!("{folder}/text");
    let script = Script::new()
        .on(part("A", 0), [Reply::call("read_file", json!({"path": text}))])
        .on(part("A", 1), [Reply::call("edit_file", json!({"path": text, "old_text": "one", "new_text": "1"}))])
        .on(part("B", 0), [bash(&format!("pwd; cd '{folder}' && sed -i s/three/3/ {text}; cat {folder}/missing"))])
        .on(part("B", 1), [bash("pwd; yes \"$(realpath text)\" | head -n 2000")])
        .on(part("C", 0), [Reply::call("python", json!({"code": format!("import os\nt = open('{text}').read()\nopen('{text}', 'w').write(t.replace('five', '5'))\nprint(os.getcwd())\nopen('{folder}/missing')")}))])
        .on(part("C", 1), [Reply::call("grep", json!({"pattern": "5", "path": folder}))])
        .on(part("D", 0), [edit("seven", "7")])
        .on(part("D", 1), [Reply::call("list_dir", json!({"path": folder}))])
        .on(When::tools(), [done("done")]);
    world.serve(script);
    world.file("text", TEXT);
    world.plan("plan.json", &plan(&["A", "B", "C", "D"].map(|name| actor(&name.to_lowercase(), &format!("{name}-PART"), &[]))));
    let ended = world.aime(RUN).must(0);
    let expected = [("one", "1"), ("three", "3"), ("five", "5"), ("seven", "7")];
    assert_eq!(world.read("text"), expected.iter().fold(TEXT.to_owned(), |text, (old, new)| text.replace(old, new)), "{ended}");
    for request in world.server().requests() {
        let request = request.to_string();
        assert!(!request.contains("private/") && !request.contains("/.aime/runs"), "{request}");
    }
    let message = world.actor_requests("B-PART").iter().map(messages_text).collect::<String>();
    assert!(message.contains(&format!("{folder}\\n")) && message.contains(&format!("{folder}/missing: No such file")), "{message}");
}

/// The copy of an actor is not in a fork of its run, and the actor learns that.
#[test]
fn a_forked_actor_learns_that_its_edits_may_be_missing() {
    let note = "Changes that you made before may be missing";
    let patch = json!({"reasoning": "b cannot", "changes": [{"op": "add_task", "task": actor("c", "C-PART", &[]), "replaces": ["b"]}]});
    let script = Script::new()
        .on(a(0), [bash("sed -i s/one/1/ text && echo A-HAS-CHANGED")])
        .once(a(1), [Reply::hang()])
        .on(a(1), [bash("grep -q 1 text || sed -i s/one/I/ text")])
        .on(a(2), [done("a is done")])
        .on(b(0), [gives_up("no way").after_request("A-HAS-CHANGED")])
        .on(When::schema("aime_patch"), [Reply::json(patch)])
        .once(When::tools().and_contains("C-PART"), [Reply::hang()])
        .on(When::tools().and_contains("C-PART"), [done("c is done")])
        .on(When::plain(), [Reply::text("All is done.")]);
    let world = two(script, &format!("{SETTINGS}[triggers]\nmax_retries = 0\n"));
    let running = world.start(RUN);
    crate::harness::wait_until("the new task works", || !world.actor_requests("C-PART").is_empty());
    running.kill();
    world.aime(["runs", "fork", "r", "--at", "2", "--run-id", "again"]).must(0);
    let ended = world.aime(["resume", "again", "--output", "json"]).must(0);
    assert_eq!(world.read("text"), TEXT.replace("one", "I"), "{ended}");
    let message = world.actor_requests("A-PART").iter().map(messages_text).filter(|text| text.contains(note)).count();
    assert!(message >= 1, "{ended}");
}
