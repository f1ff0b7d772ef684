//! An agent that harms the folder, the run or aime by itself.

use std::fs;

use super::*;

/// A profile whose agent keeps its notes outside of the folder.
fn noting(world: &World, work: &str, more: &str) -> String {
    let notes = world.root().join("notes");
    fs::create_dir_all(&notes).unwrap();
    profile("helper", work, true).replace("set = {", &format!("write = [{notes:?}]\nset = {{ NOTES = {notes:?}, {more}"))
}

fn repository(world: &World) {
    world.git(&["init", "-q"]);
    world.file("kept.txt", "kept\n");
    world.git(&["add", "kept.txt"]);
    world.git(&["commit", "-q", "-m", "first"]);
}

/// Files that an agent writes itself, without asking aime, are put back while it works and when it ends, in the folder and in a private copy.
// Requirement: 4.41
#[test]
fn an_agent_writes_nothing_that_runs_later() {
    let work = r#"
echo "touch ~/it-ran" > .envrc
mkdir -p .vscode && echo '{}' > .vscode/tasks.json
mkdir -p .git/hooks && printf '#!/bin/sh\ntouch ~/it-ran\n' > .git/hooks/post-commit
git config core.fsmonitor ./evil
tell '{"sessionUpdate":"tool_call","toolCallId":"t1","title":"Look"}'
ask fs/read_text_file "\"path\":\"$here/kept.txt\""
ls -a .envrc .vscode/tasks.json .git/hooks/post-commit > "$NOTES/left" 2> /dev/null
git config core.fsmonitor >> "$NOTES/left"
echo again > .envrc
echo plain > plain.txt
say "I set a trap."
"#;
    for isolation in ["shared", "worktree"] {
        let mut world = World::with(Script::new()).settings(&format!("[run]\nisolation = \"{isolation}\"\n"));
        repository(&world);
        world.user_settings(&noting(&world, work, ""));
        world.plan("plan.json", &plan(&[by_agent("A-PART")]));
        let ended = run(&world, "all").must(0);
        assert_eq!(world.read("plain.txt"), "plain\n", "{isolation}: {ended}");
        assert_eq!(fs::read_to_string(world.root().join("notes/left")).unwrap(), "", "{isolation}: put back while it works");
        for later in [".envrc", ".vscode/tasks.json", ".git/hooks/post-commit"] {
            assert!(!world.exists(later), "{isolation}: {later} {ended}");
        }
        assert!(!world.read(".git/config").contains("fsmonitor"), "{isolation}");
        let events = world.aime(["runs", "events", "r", "--output", "jsonl"]).must(0);
        let back = events.events("file_changed").into_iter().filter(|event| event.to_string().contains("put_back"));
        let back: Vec<String> = back.map(|event| event["path"].as_str().unwrap().to_owned()).collect();
        assert_eq!(back, [".envrc", ".git/config", ".git/hooks/post-commit", ".vscode/tasks.json", ".envrc"], "{isolation}: {events}");
    }
}

/// The mode holds for what an agent does by itself, too.
// Requirement: 4.41
#[test]
fn an_agent_writes_nothing_in_a_read_only_run() {
    for (approve, writes) in [("read-only", false), ("all", true)] {
        let mut world = World::with(keeps_the_plan());
        world.user_settings(&noting(&world, "echo x > made.txt\ncat kept.txt > \"$NOTES/seen\"\nsay \"I looked.\"", ""));
        world.file("kept.txt", "kept\n");
        world.plan("plan.json", &plan(&[by_agent("A-PART")]));
        let ended = run(&world, approve).must(0);
        assert_eq!(world.exists("made.txt"), writes, "{ended}");
        assert_eq!(fs::read_to_string(world.root().join("notes/seen")).unwrap(), "kept\n", "{ended}");
    }
    let mut world = World::with(keeps_the_plan());
    world.user_settings(&profile("helper", "echo x > made.txt\nsay done", false).replace("set = {", "confined = false\nset = {"));
    world.plan("plan.json", &plan(&[by_agent("A-PART")]));
    let ended = run(&world, "read-only").must(1);
    assert!(task(&ended.json(), "a").to_string().contains("is not confined, and this run is read-only"), "{ended}");
    assert!(!world.exists("prompts"), "it is not started");
}

/// A message that is too long ends the connection; aime does not keep it.
// Requirement: 4.41
#[test]
fn an_endless_message_ends_the_agent() {
    let work = |bytes: u32| format!("say \"$(head -c {bytes} /dev/zero | tr '\\0' x)\"");
    for (bytes, outcome) in [(1_000_000, "completed"), (17_000_000, "failed")] {
        let world = world(&work(bytes), false, keeps_the_plan());
        let ended = run(&world, "all");
        let result = ended.json();
        let task_result = task(&result, "a");
        assert_eq!(task_result["status"], outcome, "{bytes}");
        assert!(task_result.to_string().len() < 40_000, "{bytes}: its result is cut");
    }
}

/// A session that was long is shown again before it goes on.
// Requirement: 4.41
#[test]
fn a_long_session_is_loaded_again() {
    let mut world = World::with(Script::new());
    let work = r#"if [ -e began ]; then say "I went on."; else touch began; sleep 1000; fi"#;
    world.user_settings(&noting(&world, work, "REPLAYS = \"2000\","));
    world.plan("plan.json", &plan(&[by_agent("A-PART")]));
    let running = world.start(RUN.iter().chain(&["--approve", "all"]));
    world.wait_for_file("began");
    running.kill();
    let ended = world.aime(["resume", "r", "--output", "json"]).must(0);
    assert_eq!(task(&ended.json(), "a")["summary"], "I went on.", "{ended}");
}
