//! `aime run --commit`: the work as commits on a branch of its own.

use aime_scripted_server::{Reply, Script, When};
use serde_json::json;

use crate::harness::{World, actor, bash, done, plan};

const TEXT: &str = "one\ntwo\nthree\n";

fn git(world: &World, arguments: &[&str]) -> String {
    let mut command = world.program("git");
    command.args(["-c", "user.name=A", "-c", "user.email=a@b"]).args(arguments);
    let ended = world.spawn(command).wait();
    assert_eq!(ended.code, Some(0), "git {arguments:?}: {ended}");
    ended.stdout
}

/// Two tasks, of which the second goes on with the file of the first.
fn two() -> World {
    let edit = |old: &str, new: &str| Reply::call("edit_file", json!({"path": "text", "old_text": old, "new_text": new}));
    let (a, b) = (|turn| When::tools().and_contains("A-PART").and_turn(turn), |turn| When::tools().and_contains("B-PART").and_turn(turn));
    let script = Script::new()
        .on(a(0), [edit("one", "1")])
        .on(a(1), [bash("echo '#!/bin/sh' > script; chmod 755 script; echo x > ignored; mkdir __pycache__; echo x > __pycache__/text.pyc")])
        .on(a(2), [done("one is a number")])
        .on(b(0), [edit("three", "3")])
        .on(b(1), [bash("rm old; ln -s text link")])
        .on(b(2), [done("three is a number")]);
    let world = World::with(script).settings("");
    world.file("text", TEXT);
    world.file("old", "old\n");
    world.file(".gitignore", "ignored\n.aime/\n");
    world.plan("plan.json", &plan(&[actor("a", "A-PART", &[]), actor("b", "B-PART", &["a"])]));
    world
}

const RUN: [&str; 10] = ["run", "--commit", "--plan", "plan.json", "--run-id", "r", "--approve", "all", "--output", "json"];

#[test]
fn each_task_is_a_commit_on_a_branch_of_its_own() {
    let world = two();
    git(&world, &["init", "-q", "-b", "trunk"]);
    git(&world, &["add", "text", "old", ".gitignore"]);
    git(&world, &["commit", "-qm", "before"]);
    world.file("staged", "a person's\n");
    git(&world, &["add", "staged"]);
    let (index, head) = (git(&world, &["ls-files", "--stage"]), git(&world, &["rev-parse", "HEAD"]));
    let ended = world.aime(RUN).must(0);
    assert!(ended.json()["notes"].to_string().contains("the work is on the branch aime/r, in 2 commits"), "{ended}");
    assert_eq!(git(&world, &["log", "--reverse", "--format=%an %s", "trunk..aime/r"]), "aime a\naime b\n");
    assert_eq!(git(&world, &["log", "-1", "--format=%b", "aime/r~1"]), "one is a number\n\nAime-Task: a\nAime-Run: r\n\n");
    let changed = |commit: &str| git(&world, &["diff-tree", "-r", "--no-commit-id", "--name-status", commit]);
    assert_eq!((changed("aime/r~1"), changed("aime/r")), ("A\tscript\nM\ttext\n".to_owned(), "A\tlink\nD\told\nM\ttext\n".to_owned()));
    assert_eq!(git(&world, &["show", "aime/r~1:text"]), TEXT.replace("one", "1"));
    assert_eq!(git(&world, &["show", "aime/r:text"]), TEXT.replace("one", "1").replace("three", "3"));
    let modes = git(&world, &["ls-tree", "--format=%(objectmode) %(path)", "aime/r"]);
    assert!(
        modes.contains("100755 script") && modes.contains("120000 link") && !modes.contains("ignored") && !modes.contains("__pycache__"),
        "{modes}"
    );
    assert_eq!(
        (git(&world, &["ls-files", "--stage"]), git(&world, &["rev-parse", "HEAD"])),
        (index, head),
        "the index and the branch stay"
    );
    assert_eq!(git(&world, &["branch", "--show-current"]), "trunk\n");
    assert_eq!(world.read("staged"), "a person's\n");
}

#[test]
fn a_folder_without_a_repository_is_told() {
    let world = two();
    let ended = world.aime(RUN).must(0);
    assert!(ended.json()["notes"].to_string().contains("the work is not committed: the folder is in no git repository"), "{ended}");
}
