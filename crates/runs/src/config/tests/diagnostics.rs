//! Commands that check files after an edit.

use super::{World, fault_in, trust};

#[test]
fn a_project_names_commands_once_its_folder_is_trusted() {
    let world = World::new();
    world.file("work/aime.toml", "[diagnostics]\n\"*.rs\" = \"cargo check\"\n");
    let loaded = world.load().unwrap();
    let [note] = loaded.notes.as_slice() else { panic!("{:?}", loaded.notes) };
    assert!(loaded.config.diagnostics.is_empty() && note.starts_with("[diagnostics] in "), "{note}");
    world.file("config/aime/config.toml", &trust(&world));
    let loaded = world.load().unwrap();
    assert_eq!(loaded.config.diagnostics.get("*.rs").map(String::as_str), Some("cargo check"));
    assert!(loaded.notes.is_empty(), "{:?}", loaded.notes);
}

#[test]
fn faulty_patterns_and_empty_commands_are_named() {
    for (line, said) in [("\"[a\" = \"true\"", "diagnostics.\"[a\": `[a` is no pattern"), ("\"*.rs\" = \" \"", "the command is empty")] {
        let fault = fault_in("aime.toml", &format!("[diagnostics]\n{line}\n"));
        assert!(fault.starts_with("work/aime.toml:") && fault.contains(said), "{fault}");
    }
}
