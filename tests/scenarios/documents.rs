//! Every command that the documents show is run as it stands there.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use aime_scripted_server::{Reply, Script, When};
use serde_json::json;

use crate::harness::{World, actor, done, plan, tool, wait_until};

/// The commands that do not end with 0 in the world of this test, and why: `None` where the features of the build decide.
const OTHERWISE: [(&str, Option<i32>); 12] = [
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
    // `RUN` waits for an answer, and has not ended.
    ("aime continue RUN", Some(2)),
    // There is nothing to be taken back, and nobody who could be asked.
    ("aime runs undo", None),
    ("aime runs redo", None),
];

/// What belongs to an engine: only what it is called with is looked at, and only where the build has one. `cargo xtask temporal` runs it on a server.
const ENGINE: [&str; 2] = ["aime worker", "--engine temporal"];

/// A suite of the name that the documents call. A folder comes before what is built in.
const SUITE: &str = "[[task]]\nname = \"repair\"\ngoal = \"GOAL\"\ncheck = \"test -f out.txt\"\nsolution = \"touch out.txt\"\n";

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
            let commands = commands.filter(|line| is_aime(line)).map(|line| line.split(" | ").next().unwrap_or(line).to_owned());
            blocks.push(commands.collect::<Vec<String>>());
        } else if language == "text" {
            // What was typed stands above what came of it.
            blocks.push(block.iter().filter_map(|line| line.strip_prefix("$ ")).filter(|line| is_aime(line)).map(str::to_owned).collect());
        }
    }
    blocks.retain(|block| !block.is_empty());
    blocks
}

/// Whether a line calls aime, with variables before it or not.
fn is_aime(line: &str) -> bool {
    let is_variable = |word: &&str| word.split_once('=').is_some_and(|(name, _)| name.bytes().all(|b| b.is_ascii_uppercase() || b == b'_'));
    line.split(' ').find(|word| !is_variable(word)) == Some("aime") && line.contains("aime ")
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
    // An editor that changes nothing.
    world.set("EDITOR", "true");
    fs::write(world.path("mock.png"), b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\0\0\0\0").unwrap();
    // Where a workflow of GitHub's leaves what it makes.
    world.set("RUNNER_TEMP", &world.root().join("tmp").display().to_string());
    world.plan("plan.json", &planned);
    world.plan("first.json", &plan(&[actor("ask", "ASK", &[]), actor("walk", "WALK", &["ask"]), actor("rest", "REST", &["walk"])]));
    world.file("coarse.toml", "[planning.limits]\nmax_tasks = 3\n");
    ["core", "my-suite"].iter().for_each(|name| world.file(&format!("{name}/suite.toml"), SUITE));
    fs::create_dir(world.root().join("other")).unwrap();
    world.aime(["run", "--plan", "first.json", "--run-id", "RUN"]).must(5);
    world
}

/// A line in a shell that finds the program, which gives way to it.
fn shell(world: &World, line: &str) -> std::process::Command {
    let program = Path::new(env!("CARGO_BIN_EXE_aime")).parent().unwrap().display().to_string();
    let mut shell = world.program("bash");
    shell.args(["-c", &format!("PATH={program}:$PATH; {line}")]);
    shell
}

/// Serves until it is told to end. The port that a document names may be another's here.
fn serves(world: &World, line: &str) {
    let mut serving = world.spawn(shell(world, &format!("exec {line}")));
    wait_until("it serves, or says why not", || serving.stdout().contains("token=") || serving.has_ended());
    if serving.has_ended() {
        assert!(line.contains("--port"), "{line}");
        serving.wait().must(2).stderr_contains(&["nothing can listen on"]);
    } else {
        serving.signal("INT");
        serving.wait().must(0);
    }
}

// Requirement: 12.21
#[test]
fn every_command_in_the_documents_is_understood_and_does_what_it_says() {
    let mut seen = BTreeSet::new();
    for document in documents() {
        for block in blocks(&fs::read_to_string(&document).unwrap()) {
            if block.iter().all(|line| seen.contains(line)) {
                continue;
            }
            let world = world();
            for line in block {
                let of_engine = ENGINE.iter().any(|part| line.contains(part));
                if line.starts_with("aime serve") || (of_engine && !cfg!(feature = "temporal")) {
                    if !of_engine {
                        serves(&world, &line);
                    }
                    seen.insert(line);
                    continue;
                }
                let asked = if of_engine { format!("{} --help", line.split(" #").next().unwrap_or(&line)) } else { line.clone() };
                // Some keep things in the user's own folders, which are this world's.
                let output = shell(&world, &asked).output().unwrap();
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
    for start in OTHERWISE.map(|(start, _)| start).iter().chain(&ENGINE[..1]).chain(&["aime eval core", "aime serve", "LANG="]) {
        assert!(seen.iter().any(|line| line.starts_with(start)), "no document shows {start}");
    }
}

/// What stands in backticks within a text, outside of blocks.
fn spans(text: &str) -> Vec<String> {
    let outside: String = text.split("```").step_by(2).collect();
    outside.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

// Requirement: 12.21
#[test]
fn every_command_that_the_documents_name_in_passing_is_there() {
    let world = World::alone();
    let mut helps: BTreeMap<String, String> = BTreeMap::new();
    let mut named = BTreeSet::new();
    for document in documents() {
        for span in spans(&fs::read_to_string(&document).unwrap()) {
            let words: Vec<&str> = span.split(" | ").next().unwrap().split_whitespace().collect();
            let ["aime", words @ ..] = words.as_slice() else { continue };
            // What prints the help of the others has none of its own.
            if words.first() == Some(&"help") {
                continue;
            }
            if !cfg!(feature = "temporal") && (words.first() == Some(&"worker") || words.contains(&"--engine")) {
                continue;
            }
            let place = format!("{}: `{span}`", document.display());
            let mut path = String::new();
            let mut help = |path: &str| {
                let help = || world.aime(path.split_whitespace().chain(["--help"])).must(0).stdout;
                helps.entry(path.to_owned()).or_insert_with(help).clone()
            };
            for word in words.iter().take_while(|word| word.bytes().all(|b| b.is_ascii_lowercase() || b == b'-') && !word.starts_with('-'))
            {
                let known = help(&path);
                if known.lines().any(|line| line.trim_start().split([' ', ',']).next() == Some(word)) {
                    path = format!("{path} {word}");
                } else {
                    assert!(!path.is_empty(), "there is no such command: {place}");
                    break;
                }
            }
            let known = help(&path);
            for flag in words.iter().filter(|word| word.starts_with("--")).map(|word| word.split(['=', '…', ',']).next().unwrap()) {
                assert!(known.contains(flag), "it has no {flag}: {place}");
            }
            named.insert(path);
        }
    }
    assert!(named.len() > 20, "the documents name commands: {named:?}");
}
