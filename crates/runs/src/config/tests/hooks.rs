//! Tests of hooks in settings: their sources and their faults.

use aime_orchestrator::HookPoint;
use aime_redact::Redactor;

use super::*;

fn commands(config: &Config) -> Vec<(HookPoint, &str)> {
    config.hooks.all().map(|(point, hook)| (point, hook.command.as_str())).collect()
}

#[test]
fn the_hooks_of_all_places_are_asked_ones_own_first() {
    let mut world = World::new();
    let own = "[[hooks.before_tool]]\ncommand = \"own\"\ntools = [\"bash\", \"write_*\"]\n[[hooks.stop]]\ncommand = \"bell\"\n";
    world.file("config/aime/config.toml", &format!("{own}{}", trust(&world)));
    world.file("work/aime.toml", "[[hooks.before_tool]]\ncommand = \"theirs\"\nrequired = true\ntimeout_seconds = 5\nname = \"lint\"\n");
    world.set("AIME__HOOKS__STOP", r#"[{"command": "last"}]"#);
    let config = world.config();
    let expected =
        [(HookPoint::BeforeTool, "own"), (HookPoint::BeforeTool, "theirs"), (HookPoint::Stop, "bell"), (HookPoint::Stop, "last")];
    assert_eq!(commands(&config), expected);
    let seen: Vec<(u64, bool, String)> =
        config.hooks.all().map(|(_, hook)| (hook.timeout_seconds, hook.required, hook.from.replace(&world.at(""), ""))).collect();
    let place = |file: &str| file.to_owned();
    let own = place("config/aime/config.toml");
    assert_eq!(
        seen,
        [(30, false, own.clone()), (5, true, place("work/aime.toml")), (30, false, own), (30, false, place("AIME__HOOKS__STOP"))]
    );
    let shown = show(&config, &Redactor::default()).unwrap();
    assert!(shown.contains("[[hooks.before_tool]]\n# from ") && shown.contains("work/aime.toml\nname = \"lint\"\n"), "{shown}");
    let read: Config = toml::from_str(&shown).unwrap();
    assert_eq!(commands(&read), commands(&config));
}

#[test]
fn a_projects_hooks_are_left_out_and_that_is_said() {
    let world = World::new();
    world.file("work/aime.toml", "[[hooks.stop]]\ncommand = \"theirs\"\n");
    let loaded = world.load().unwrap();
    assert_eq!(commands(&loaded.config), []);
    let [note] = loaded.notes.as_slice() else { panic!("{:?}", loaded.notes) };
    let note = note.to_string();
    assert!(note.starts_with("[hooks] in ") && note.contains("trusted_folders"), "{note}");
    world.file("config/aime/config.toml", &trust(&world));
    let loaded = world.load().unwrap();
    assert_eq!((commands(&loaded.config), loaded.notes.len()), (vec![(HookPoint::Stop, "theirs")], 0));
}

#[test]
fn the_tools_of_a_hook_are_tools_that_there_can_be() {
    for tools in ["bash", "write_*", "*", "mcp__git__log", "mcp__*", "*delete*", "{bash,python}", "web_fetch", "m*"] {
        let world = World::new();
        world.file("work/aime.toml", &format!("[[hooks.before_tool]]\ncommand = \"x\"\ntools = [\"{tools}\"]\n"));
        world.load().unwrap_or_else(|fault| panic!("{tools}: {fault}"));
    }
    for (tools, expected) in [
        ("bsh", "\"bsh\" matches no tool, so the hook would never run: did you mean `bash`?"),
        ("wriet_*", "\"wriet_*\" matches no tool, so the hook would never run: did you mean `write_file`?"),
        ("mcp", "\"mcp\" matches no tool"),
        ("todo", "\"todo\" matches only tools that aime answers itself"),
        ("launch_rocket", "\"launch_rocket\" matches no tool, so the hook would never run: it is not one of the known tools"),
    ] {
        let fault =
            fault_in("aime.toml", &format!("[[hooks.before_tool]]\ncommand = \"x\"\ntools = [\"bash\", \"{tools}\"]\nrequired = true\n"));
        assert!(fault.starts_with("work/aime.toml:") && fault.contains(expected), "{fault}");
    }
}

#[test]
fn what_is_wrong_with_a_hook_is_told_with_its_place_and_the_hint() {
    let cases = [
        ("aime.toml", "[[hooks.before_tools]]\ncommand = \"x\"\n"),
        ("aime.toml", "[hooks]\n\n[[hooks.stop]]\ncommand = \" \"\n"),
        ("aime.toml", "[[hooks.stop]]\nrequired = true\n"),
        ("aime.toml", "[[hooks.stop]]\ncommand = \"x\"\ntimeout = 3\n"),
        ("aime.toml", "[[hooks.before_tool]]\ncommand = \"x\"\ntools = [\"write_[\"]\n"),
        ("aime.toml", "[[hooks.before_tool]]\ncommand = \"x\"\ntimeout_seconds = 0\n"),
        ("aime.toml", "[[hooks.stop]]\ncommand = \"x\"\ntools = [\"bash\"]\n"),
        ("aime.yaml", "hooks:\n  stop:\n    - command: ''\n"),
        ("aime.json", "{\"hooks\": {\"stop\": [{\"command\": \"\"}]}}"),
    ];
    let lines: Vec<String> = cases.iter().map(|(name, text)| format!("{text:?}\n{}\n", fault_in(name, text))).collect();
    insta::assert_snapshot!(lines.join("\n"));
}
