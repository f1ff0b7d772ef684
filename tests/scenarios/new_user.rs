//! The way of a new user, who has the README and nothing else.

use std::fs;
use std::path::Path;

use aime_scripted_server::{Reply, Script, When};

use crate::harness::{World, actor, done, plan, wait_until, write};

/// What the README shows for the shell, line by line and without its remarks.
fn typed() -> Vec<String> {
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md")).unwrap();
    let blocks = readme.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let lines = blocks.flat_map(str::lines).map(|line| line.split(" #").next().unwrap().trim().to_owned());
    lines.filter(|line| line.starts_with("export ") || line.starts_with("aime ")).collect()
}

/// A model that lists what is to be done. Once it has written the list it says nothing more, as often as `silences` says.
fn model(silences: usize) -> Script {
    let planned = plan(&[actor("list", "LIST-THEM", &[])]);
    let mut script = Script::new().on(When::schema("aime_plan"), [Reply::json(planned)]);
    for _ in 0..silences {
        script = script.once(When::tools().and_turn(1), [Reply::hang()]);
    }
    script
        .on(When::tools().and_turn(0), [write("TODO.md", "- src/main.rs:2 say what went wrong\n")])
        .on(When::tools(), [done("The TODO comments are listed.")])
        .on(When::any(), [Reply::text("TODO.md lists the TODO comments.")])
}

/// Types a line, in a shell that finds the program.
fn shell(world: &World, line: &str) -> std::process::Command {
    let program = Path::new(env!("CARGO_BIN_EXE_aime")).parent().unwrap().display().to_string();
    let mut shell = world.program("bash");
    // The shell gives way to the command: who kills it kills that.
    shell.args(["-c", &format!("PATH={program}:$PATH; exec {line}")]);
    shell
}

// Requirement: 12.21
#[test]
fn the_readme_is_enough() {
    let mut world = World::with(model(0));
    world.file("src/main.rs", "fn main() {\n    // TODO: say what went wrong\n}\n");
    let mut did = Vec::new();
    let mut first = String::new();
    for line in typed() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            // Of the server there is the address of this world's.
            ["export", setting] => {
                let (name, value) = setting.split_once('=').unwrap();
                if name != "OPENAI_BASE_URL" {
                    world.set(name, value);
                }
                continue;
            }
            ["aime", "resume", "last"] => {
                world.serve(model(1));
                fs::remove_file(world.path("TODO.md")).unwrap();
                let running = world.spawn(shell(&world, &first));
                wait_until("it has written", || world.actor_requests("TODO.md").len() == 2);
                running.kill();
                assert!(world.exists("TODO.md"));
                world.spawn(shell(&world, &line)).wait().must(0);
                assert_eq!(world.actor_requests("TODO.md").len(), 3, "what was done is not done again");
            }
            ["aime", "runs", "report", "last"] => {
                let page = world.spawn(shell(&world, &line)).wait().must(0).stdout;
                assert!(fs::read_to_string(page.trim()).unwrap().contains("Find every TODO comment"));
            }
            ["aime", "serve"] => {
                let serving = world.spawn(shell(&world, &line));
                wait_until("the address is printed", || serving.stdout().contains("token="));
                serving.signal("INT");
                serving.wait().must(0);
            }
            _ => {
                world.spawn(shell(&world, &line)).wait().must(0);
                if line.contains("list them in TODO.md") {
                    assert!(world.read("TODO.md").contains("src/main.rs:2"));
                    first.clone_from(&line);
                }
            }
        }
        did.push(words[1..].iter().take(2).map(|word| (*word).to_owned()).collect::<Vec<_>>().join(" "));
    }
    for must in ["doctor", "run \"Find", "runs report", "resume last", "serve"] {
        assert!(did.iter().any(|done| done == must), "the README does not say {must}: {did:?}");
    }
}

// Requirement: 12.21
#[test]
fn who_asks_for_a_run_where_there_is_none_is_told_how_one_begins() {
    let world = World::with(model(0));
    for command in [&["resume", "last"][..], &["runs", "report", "last"], &["runs", "undo", "last"], &["answer", "last", "yes"]] {
        world
            .aime(command)
            .must(2)
            .stderr_contains(&["there is no run \"last\"", "start one with `aime run \"…\"`, or name another folder with -C"]);
    }
    world.aime(["run", "list what is to be done", "--mode", "complex", "--approve", "all"]).must(0);
    world.aime(["resume", "ghost"]).must(2).stderr_contains(&["there is no run \"ghost\"", "`aime runs` lists the runs of this folder"]);
}

// Requirement: 12.21
#[test]
fn the_first_run_of_a_folder_teaches_what_can_be_done_with_it() {
    let world = World::with(model(0));
    let goal = ["run", "list what is to be done", "--mode", "complex", "--approve", "all"];
    let first = world.aime(goal).must(0);
    let (_, taught) = first.stderr.split_once("the first run in this folder").unwrap_or_else(|| panic!("nothing is taught\n{first}"));
    let taught: Vec<Vec<&str>> = taught.lines().skip(1).map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(taught.len(), 3, "{first}");
    for words in taught {
        let ["aime", command @ ..] = words.as_slice() else { panic!("{words:?}") };
        match command {
            ["runs", "report", "last", ..] => assert!(world.aime(&command[..3]).must(0).stdout.ends_with("report.html\n")),
            ["runs", "undo", "last", ..] => {
                world.aime(command[..3].iter().chain(&["--yes"])).must(0);
                assert!(!world.exists("TODO.md"), "what it wrote is gone");
            }
            ["serve", ..] => {}
            other => panic!("{other:?}"),
        }
    }
    assert!(!world.aime(goal).must(0).stderr.contains("the first run"), "once is enough");

    let waits = World::with(model(0));
    let asked = waits.aime(["run", "list what is to be done", "--mode", "complex", "--approve", "ask"]).must(5);
    assert!(!asked.stderr.contains("the first run"), "{asked}");
    waits.aime(["answer", "last", "yes"]).must(0);
    waits.aime(["resume", "last"]).must(0).stderr_contains(&["the first run in this folder"]);
    assert!(!waits.aime(["resume", "last"]).must(0).stderr.contains("the first run"), "it had ended");

    assert_eq!(World::with(model(0)).aime(goal.iter().chain(&["--quiet"])).must(0).stderr, "");
    let program = World::with(model(0)).aime(goal.iter().chain(&["--output", "jsonl"])).must(0);
    assert!(!program.stderr.contains("the first run"), "{program}");
    let failed = World::alone().aime(["run", "list what is to be done"]).must(3);
    assert!(!failed.stderr.contains("the first run"), "{failed}");
    let chinese = World::with(model(0)).aime(goal.iter().chain(&["--lang", "zh"])).must(0);
    assert!(chinese.stderr.contains("第一次运行") && chinese.stderr.contains("aime runs undo last"), "{chinese}");
}
