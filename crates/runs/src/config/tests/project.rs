//! Tests of the project's commands: those that check files after an edit, and those that every run must pass.

use super::{World, fault_in, trust};

#[test]
fn a_project_names_commands_once_its_folder_is_trusted() {
    let world = World::new();
    world.file("work/aime.toml", "[diagnostics]\n\"*.rs\" = \"cargo check\"\n");
    let loaded = world.load().unwrap();
    let [note] = loaded.notes.as_slice() else { panic!("{:?}", loaded.notes) };
    assert!(loaded.config.diagnostics.is_empty() && note.to_string().starts_with("[diagnostics] in "), "{note}");
    world.file("config/aime/config.toml", &trust(&world));
    let loaded = world.load().unwrap();
    assert_eq!(loaded.config.diagnostics.get("*.rs").map(String::as_str), Some("cargo check"));
    assert!(loaded.notes.is_empty(), "{:?}", loaded.notes);
}

#[test]
fn faulty_patterns_and_empty_commands_are_named() {
    for (line, expected) in
        [("\"[a\" = \"true\"", "diagnostics.\"[a\": `[a` is not a valid file pattern"), ("\"*.rs\" = \" \"", "the command is empty")]
    {
        let fault = fault_in("aime.toml", &format!("[diagnostics]\n{line}\n"));
        assert!(fault.starts_with("work/aime.toml:") && fault.contains(expected), "{fault}");
    }
}

#[test]
fn checks_of_a_project_are_read_in_both_forms() {
    let world = World::new();
    world.file("config/aime/config.toml", "[checks]\na = \"cargo test\"\nb = { command = \"./count\", expect = \"output contains 3\" }\n");
    let config = world.load().unwrap().config;
    let written: Vec<String> = config.checks.values().map(|check| check.criterion().to_string()).collect();
    assert_eq!(written, ["`cargo test` gives exit 0", "`./count` gives output contains 3"]);
    assert!(config.checks.values().all(|check| check.criterion().owner.needs_consent()));
    let fault = fault_in("aime.toml", "[checks]\na = \"\"\n");
    assert!(fault.contains("checks.a: the command is empty"), "{fault}");
}
