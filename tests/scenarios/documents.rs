//! Every command that the documents show is run as it stands there.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use aime_scripted_server::{Reply, Script, When};
use serde_json::json;

use crate::harness::{World, actor, done, plan, tool};

/// The commands that do not end with 0 in the world of this test, and why: `None` where the features of the build decide.
const OTHERWISE: [(&str, Option<i32>); 11] = [
    // Nobody carries the run out, it waits.
    ("aime pause RUN", Some(2)),
    ("aime resume RUN", Some(5)),
    // No model is fetched in tests, and none is here.
    ("aime models p", None),
    ("aime run --model 0.5b", None),
    // These servers are not in the settings.
    ("aime mcp", None),
    ("aime tools call mcp__", Some(2)),
    // Nothing was remembered by that name.
    ("aime memory show 0199f2", Some(2)),
    ("aime memory forget 0199f2", Some(2)),
    ("aime permissions forget 2", Some(2)),
    // There is nothing to be taken back, and nobody who could be asked.
    ("aime runs undo", None),
    ("aime runs redo", None),
];

/// Commands that try whole suites, or stay until they are ended: only what they are called with is looked at.
const TOO_LONG: [&str; 2] = ["aime eval", "aime serve"];

/// The documents for people who use aime.
fn documents() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = vec![root.join("README.md")];
    let mut folders = vec![root.join("docs/src"), root.join("crates")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let of_crate = folder.starts_with(root.join("crates")) && path.is_dir() && path.parent() != Some(&root.join("crates"));
            if path.is_dir() && !of_crate {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "md") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The commands of each block of the shell, or of a workflow, in a document.
fn blocks(text: &str) -> Vec<Vec<String>> {
    let mut blocks = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(language) = line.trim_start().strip_prefix("```").filter(|language| !language.is_empty()) else { continue };
        let block: Vec<&str> = lines.by_ref().take_while(|line| !line.trim_start().starts_with("```")).collect();
        if ["sh", "console", "bash", "yaml"].contains(&language) {
            let commands = block.iter().map(|line| line.trim_start().trim_start_matches("$ ").trim_start_matches("- run: "));
            // What comes after a pipe is not aime's.
            let commands =
                commands.filter(|line| line.starts_with("aime ")).map(|line| line.split(" | ").next().unwrap_or(line).to_owned());
            blocks.push(commands.collect::<Vec<String>>());
        }
    }
    blocks.retain(|block| !block.is_empty());
    blocks
}

/// A world in which the names of the documents mean something: a plan, and a run `RUN` that waits for an answer.
fn world() -> World {
    let planned = plan(&[tool("note", "write_file", json!({"path": "note.txt", "content": "noted\n"}), &[])]);
    let asks = Reply::call("ask_human", json!({"question": "Which one?"}));
    let mut world = World::with(
        Script::new()
            .on(When::schema("aime_plan"), [Reply::json(planned.clone())])
            .on(When::tools().and_contains("ASK").and_turn(0), [asks])
            .on(When::tools(), [done("done")])
            .on(When::any(), [Reply::text("done")]),
    );
    world.set("GOAL", "note it");
    world.plan("plan.json", &planned);
    world.plan("first.json", &plan(&[actor("ask", "ASK", &[]), actor("walk", "WALK", &["ask"]), actor("rest", "REST", &["walk"])]));
    world.aime(["run", "--plan", "first.json", "--run-id", "RUN"]).must(5);
    world
}

#[test]
fn every_command_in_the_documents_is_understood_and_does_what_it_says() {
    let mut seen = BTreeSet::new();
    for document in documents() {
        for block in blocks(&fs::read_to_string(&document).unwrap()) {
            if block.iter().all(|line| seen.contains(line)) {
                continue;
            }
            let world = world();
            let program = Path::new(env!("CARGO_BIN_EXE_aime")).parent().unwrap().display().to_string();
            for line in block {
                let asked = if TOO_LONG.iter().any(|start| line.starts_with(start)) {
                    format!("{} --help", line.split(" #").next().unwrap_or(&line))
                } else {
                    line.clone()
                };
                let mut shell = world.program("bash");
                shell.args(["-c", &format!("PATH={program}:$PATH; {asked}")]);
                // Some keep things in the user's own folders, which are this world's.
                let output = shell.output().unwrap();
                let [stdout, stderr] = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
                let place = format!("{}: {line}", document.display());
                assert!(!stderr.contains("Usage: "), "{place}\n{stderr}");
                let ended = format!("{stdout}{stderr}");
                let otherwise = OTHERWISE.iter().find(|(start, _)| line.starts_with(start));
                match otherwise.map_or(Some(0), |(_, code)| *code) {
                    Some(code) => assert_eq!(output.status.code(), Some(code), "{place}\n{ended}"),
                    None => assert!(output.status.code().is_some_and(|code| code < 6), "{place}\n{ended}"),
                }
                seen.insert(line);
            }
        }
    }
    assert!(seen.len() > 40, "the documents show commands: {seen:?}");
    for (start, _) in OTHERWISE {
        assert!(seen.iter().any(|line| line.starts_with(start)), "no document shows {start}");
    }
}
