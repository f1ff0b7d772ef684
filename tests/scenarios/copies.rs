//! Actors in private copies see the working folder and its repository, and nothing of the copies.

use aime_scripted_server::{Reply, Script, When};
use serde_json::json;

use crate::harness::{World, actor, bash, done, messages_text, plan};

const TEXT: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n";
const RUN: [&str; 9] = ["run", "--plan", "plan.json", "--run-id", "r", "--approve", "all", "--output", "json"];

/// Commands that print the place and the state of the repository.
const STATE: [&str; 9] = [
    "git status --branch",
    "git log --all --graph --format='%h %d %s'",
    "git branch -avv",
    "git remote -v",
    "git stash list",
    "git reflog",
    "git tag",
    "git rev-parse --show-toplevel --absolute-git-dir",
    "pwd -P",
];

/// Four actors edit one file at the same time, and look at everything that may tell a copy from the folder.
// Requirement: 9.1
#[cfg(target_os = "linux")]
#[test]
fn four_actors_see_one_folder_and_one_repository() {
    let edits = [("A", "one", "1"), ("B", "three", "3"), ("C", "five", "5"), ("D", "seven", "7")];
    let look = STATE.map(|command| format!("echo '== {command}'; {command} 2>&1")).join("; ");
    let mut script = Script::new();
    for (name, old, new) in edits {
        // Nobody changes a file before all have a copy.
        let begun = edits.map(|(other, ..)| format!("{other}-PART"));
        let part = |turn| When::tools().and_contains(format!("{name}-PART")).and_turn(turn);
        let others = "cat ../../../../../../secret ../../b-1/folder/text; echo x > ../planted; cat missing; git checkout no-such-branch";
        let built = "env; readlink /proc/self/cwd; echo \"built in $PWD\" > build.log; cat build.log; \
                     python3 -c 'import os, sys; print(os.getcwd()); sys.exit(open(\"missing\"))'";
        script = script
            .on(part(0), [bash(&look)])
            .on(part(1), [bash(others).after_request(&begun[0])])
            .on(part(2), [bash(built).after_request(&begun[1])])
            .on(part(3), [Reply::call("read_file", json!({"path": "../a-1/folder/text"})).after_request(&begun[2])])
            .on(part(4), [Reply::call("edit_file", json!({"path": "text", "old_text": old, "new_text": new})).after_request(&begun[3])])
            .on(part(5), [bash("git diff; git add text; git commit -qm mine; git log -1 --format=%s; git stash list")])
            .on(part(6), [done("done")]);
    }
    let world = World::with(script.on(When::plain(), [Reply::text("All is done.")]))
        .settings("[run]\nisolation = \"worktree\"\nmax_parallel = 4\n");
    std::fs::write(world.root().join("secret"), "SECRET-OF-HOME").unwrap();
    world.file("text", "before\n");
    world.file(".gitignore", "build.log\n.aime/\n/plan.json\n");
    world.git(&["init", "-q", "-b", "trunk"]);
    world.git(&["config", "user.name", "A"]);
    world.git(&["config", "user.email", "a@b.example"]);
    world.git(&["add", "."]);
    world.git(&["commit", "-qm", "first"]);
    world.git(&["tag", "v1"]);
    world.git(&["remote", "add", "upstream", "https://git.example/r.git"]);
    world.git(&["branch", "side/one"]);
    world.file("text", "stashed\n");
    world.git(&["stash", "-q"]);
    world.file("text", TEXT);
    world.git(&["commit", "-qam", "second"]);
    world.file("new", "not in a commit\n");
    world.plan("plan.json", &plan(&edits.map(|(name, ..)| actor(&name.to_lowercase(), &format!("{name}-PART"), &[]))));
    let mut shell = world.program("bash");
    let expected = shell.args(["-c", &look]).output().unwrap();
    let expected = String::from_utf8(expected.stdout).unwrap();
    let (head, stashes) = (world.git(&["rev-parse", "HEAD"]), world.git(&["stash", "list"]));

    let ended = world.aime(RUN).must(0);
    assert_eq!(world.read("text"), edits.iter().fold(TEXT.to_owned(), |text, (_, old, new)| text.replace(old, new)), "{ended}");
    assert_eq!((world.git(&["rev-parse", "HEAD"]), world.git(&["stash", "list"])), (head, stashes), "the repository stays as it was");
    for (name, ..) in edits {
        let requests = world.actor_requests(&format!("{name}-PART"));
        assert_eq!(requests.len(), 7, "{ended}");
        let looked = requests[1]["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap();
        assert!(looked.contains(expected.trim()), "{name} sees another repository:\n{looked}\n--- expected:\n{expected}");
        let prompt = messages_text(requests.last().unwrap());
        assert!(!prompt.contains("SECRET-OF-HOME"), "{prompt}");
    }
    for request in world.server().requests() {
        // The calls of the script name copies that no actor knows; only results and prompts are looked at.
        for message in request["messages"].as_array().unwrap().iter().filter(|message| message["role"] != "assistant") {
            let text = message.to_string();
            assert!(!text.contains("/private/") && !text.contains("/.aime/runs") && !text.contains(".aime/runs"), "{text}");
        }
    }
}
