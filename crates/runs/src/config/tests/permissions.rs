use super::*;

#[test]
fn rules_of_all_places_add_up() {
    let mut world = World::new();
    world.file("config/aime/config.toml", "[permissions]\nallow = [\"bash(ls)\"]\ndeny = [\"python\", \"read_file(~/x)\"]\n");
    world.file("work/aime.toml", "[permissions]\nask = [\"bash(rm *)\"]\ndeny = [\"bash(su)\", \"python\"]\n");
    world.set("AIME__PERMISSIONS__DENY", "[\"web_search\"]");
    let loaded = world.load().unwrap();
    let permissions = loaded.config.permissions;
    assert_eq!(permissions.allow, ["bash(ls)"]);
    assert_eq!(permissions.ask, ["bash(rm *)"]);
    let home = world.at("home");
    assert_eq!(permissions.deny, ["python".to_owned(), format!("read_file({home}/x)"), "bash(su)".to_owned(), "web_search".to_owned()]);
    assert!(loaded.notes.is_empty(), "{:?}", loaded.notes);
}

#[test]
fn a_project_may_only_narrow() {
    let table = [
        // columns: the user's mode, the project's, the mode in force, whether a note is given
        (None, "ask", Approval::Ask, false),
        (None, "read-only", Approval::ReadOnly, false),
        (None, "edits", Approval::Edits, false),
        (None, "all", Approval::Edits, true),
        (Some("all"), "edits", Approval::Edits, false),
        (Some("read-only"), "ask", Approval::ReadOnly, true),
        (Some("ask"), "edits", Approval::Ask, true),
    ];
    for (user, project, expected, noted) in table {
        let world = World::new();
        if let Some(user) = user {
            world.file("config/aime/config.toml", &format!("[permissions]\napprove = \"{user}\"\n"));
        }
        world.file("work/aime.toml", &format!("[permissions]\napprove = \"{project}\"\n"));
        let loaded = world.load().unwrap();
        assert_eq!(loaded.config.permissions.approve, expected, "{user:?} {project}");
        assert_eq!(loaded.notes.len(), usize::from(noted), "{user:?} {project}: {:?}", loaded.notes);
    }
    let mut world = World::new();
    world.file(
        "work/aime.toml",
        "[permissions]\nallow = [\"*\"]\ntrusted_folders = [\"/\"]\ndeny = [\"python\"]\napprove = \"read-only\"\n",
    );
    let loaded = world.load().unwrap();
    let permissions = &loaded.config.permissions;
    assert!(permissions.allow.is_empty() && permissions.trusted_folders.is_empty() && permissions.deny == ["python"]);
    assert!(loaded.notes[0].to_string().starts_with("permissions.allow and permissions.trusted_folders in "), "{:?}", loaded.notes);
    // A variable is the user's own and overrides the project, as for every setting.
    world.set("AIME__PERMISSIONS__APPROVE", "all");
    assert_eq!(world.config().permissions.approve, Approval::All);
    assert_eq!(world.config().permissions.deny, ["python"]);
}

#[test]
fn a_trusted_project_may_widen() {
    let world = World::new();
    world.file("work/aime.toml", "[permissions]\nallow = [\"bash(ls)\"]\napprove = \"all\"\n");
    world.file("config/aime/config.toml", &format!("[permissions]\ntrusted_folders = [{:?}]\n", world.at("work")));
    let permissions = world.config().permissions;
    assert_eq!((permissions.approve, permissions.allow), (Approval::All, vec!["bash(ls)".to_owned()]));
}

#[test]
fn a_faulty_rule_has_its_place_in_every_form() {
    for (name, text, place) in [
        ("config.toml", "[permissions]\nallow = [\n  \"bash\",\n  \"bassh\",\n]\n", "config.toml:4:4"),
        ("config.yaml", "permissions:\n  deny: [\"bassh\"]\n", "config.yaml:2:11"),
        ("config.json", "{\"permissions\": {\"ask\": [\"bassh\"]}}", "config.json:1:27"),
    ] {
        let world = World::new();
        world.file(&format!("config/aime/{name}"), text);
        let fault = world.fault();
        assert!(fault.contains(place) && fault.contains("did you mean `bash`?"), "{fault}");
    }
}
