//! Hooks as commands: they block, change, refuse and tell; a project's own are asked only where it is trusted.

use aime_scripted_server::{Reply, Script, When};
use serde_json::{Value, json};

use crate::harness::{World, actor, bash, done, gives_up, messages_text, plan, task, write};

/// An actor that makes one call, and says how that went.
fn one_call(call: Reply) -> Script {
    let script = Script::new().on(When::tools().and_turn(0), [call]);
    script.on(When::tools().and_contains("Error: "), [gives_up("it was refused")]).on(When::tools(), [done("it is done")])
}

fn world(script: Script, settings: &str) -> World {
    let mut world = World::with(script);
    world.user_settings(settings);
    world
}

const DIRECT: [&str; 8] = ["run", "do it", "--mode", "direct", "--approve", "all", "--output", "json"];

fn guard(world: &World) {
    world.file("guard.sh", "if grep -q 'rm -rf'; then echo 'nothing is removed here' >&2; exit 2; fi\n");
}

// Requirement: 8.17
#[test]
fn a_hook_blocks_a_command_and_the_actor_is_told() {
    let settings = "[[hooks.before_tool]]\nname = \"guard\"\ncommand = \"sh guard.sh\"\ntools = [\"bash\"]\n";
    for (command, code) in [("rm -rf keep", 1), ("touch made", 0)] {
        let world = world(one_call(bash(command)), settings);
        guard(&world);
        world.file("keep/it", "kept");
        let ended = world.aime(DIRECT).must(code);
        assert_eq!((world.read("keep/it").as_str(), world.exists("made")), ("kept", code == 0), "{ended}");
        let prompt = messages_text(&world.server().requests()[1]);
        assert_eq!(prompt.contains("Error: blocked by the hook guard: nothing is removed here"), code == 1, "{prompt}");
        assert_eq!(ended.stderr.contains("hook guard blocked at before_tool: nothing is removed here"), code == 1, "{ended}");
    }
}

#[test]
fn a_hook_changes_what_is_written_and_that_is_told() {
    let settings = r#"
[[hooks.before_tool]]
name = "shout"
command = '''echo '{"change": {"parameters": {"path": "out.txt", "content": "LOUD"}}}' '''
tools = ["write_*"]
[[hooks.after_tool]]
name = "format"
command = "echo formatted >> out.txt"
tools = ["write_file", "edit_file"]
"#;
    let world = world(one_call(write("out.txt", "quiet")), settings);
    let ended = world.aime(DIRECT).must(0).stderr_contains(&["hook shout changed at before_tool"]);
    assert_eq!(world.read("out.txt"), "LOUDformatted\n", "{ended}");
    assert!(messages_text(&world.server().requests()[1]).contains("the parameters were changed by the hook shout"));
    let run = ended.json()["run_id"].as_str().unwrap().to_owned();
    let events = world.aime(["runs", "events", run.as_str()]).must(0);
    assert!(events.stdout.contains("hook shout changed at before_tool"), "{events}");
}

#[test]
fn a_hook_that_fails_is_told_of_and_blocks_only_where_it_is_required() {
    for (required, code) in [(false, 0), (true, 1)] {
        let settings = format!("[[hooks.before_tool]]\nname = \"weak\"\ncommand = \"echo broken >&2; exit 3\"\nrequired = {required}\n");
        let world = world(one_call(write("out.txt", "x")), &settings);
        world.aime(DIRECT).must(code).stderr_contains(&["hook weak", "it ended with exit code 3: broken"]);
        assert_eq!(world.exists("out.txt"), code == 0);
    }
}

/// A hook that wraps commands wraps the checks of the project, too, which then run as they would without it.
#[test]
fn a_check_that_a_hook_changes_is_run() {
    let change = "echo '{\"change\": {\"parameters\": {\"command\": \"test 2 = 2\"}}}'";
    let settings = format!("[checks]\nsum = \"test 1 = 2\"\n[[hooks.before_tool]]\ntools = [\"bash\"]\ncommand = \"\"\"{change}\"\"\"\n");
    let world = world(Script::new().on(When::tools(), [done("it is done")]), &settings);
    let ended = world.aime(["run", "do it", "--mode", "direct", "--approve", "edits", "--unattended", "--output", "json"]).must(0);
    let result = ended.json();
    let checked = &result["criteria"][0];
    assert_eq!((&checked["owner"], &checked["how"], &checked["holds"]), (&json!("project"), &json!("executed"), &json!(true)), "{ended}");
}

#[test]
fn a_refused_task_is_tried_again_and_knows_why() {
    let settings = "[triggers]\nmax_retries = 1\n[[hooks.after_task]]\nname = \"tests\"\ncommand = \"test -f tested || { echo 'run the tests first' >&2; exit 2; }\"\n";
    let script = Script::new()
        .on(When::tools().and_contains("run the tests first").and_turn(0), [bash("touch tested")])
        .on(When::tools(), [done("it is done")]);
    let world = world(script, settings);
    world.plan("plan.json", &plan(&[actor("build", "Build it", &[])]));
    let ended = world.aime(["run", "--plan", "plan.json", "--approve", "all", "--output", "json"]).must(0);
    assert_eq!(task(&ended.json(), "build")["attempts"], 2, "{ended}");
    assert!(world.exists("tested"));
}

#[test]
fn a_hook_at_the_stop_reads_the_result_also_of_a_run_that_failed() {
    for (reply, status) in [(done("it is done"), "completed"), (gives_up("no"), "failed")] {
        let settings = "[[hooks.stop]]\ncommand = \"cat > stopped.json\"\n[[hooks.stop]]\nname = \"bell\"\ncommand = \"exit 7\"\n";
        let world = world(Script::new().on(When::tools(), [reply]), settings);
        let ended = world.aime(DIRECT).must(i32::from(status == "failed"));
        let event: Value = serde_json::from_str(&world.read("stopped.json")).unwrap();
        assert_eq!((&event["schema"], &event["point"]), (&json!("aime.hook/v1"), &json!("stop")));
        let (mut expected, result) = (ended.json(), &event["payload"]["result"]);
        assert_eq!(expected["notes"], json!(["the hook bell at stop failed: it ended with exit code 7"]), "{ended}");
        expected.as_object_mut().unwrap().remove("notes");
        assert_eq!((result, &result["status"]), (&expected, &json!(status)));
    }
}

/// The planner learns why a command refused its plan, and gives another one.
// Requirement: 3.64
#[test]
fn a_command_validates_the_plan() {
    let settings = "[[hooks.after_plan]]\nname = \"rule\"\ncommand = \"sh validate.sh\"\n";
    let (wash, dry) = (actor("wash", "WASH", &[]), actor("dry", "DRY", &["wash"]));
    let script = Script::new()
        .on(When::schema("aime_plan"), [Reply::json(plan(std::slice::from_ref(&wash))), Reply::json(plan(&[wash, dry]))])
        .on(When::tools(), [done("it is done")])
        .on(When::plain(), [Reply::text("All is dry.")]);
    let world = world(script, settings);
    world.file("validate.sh", "cat > seen.json; grep -q DRY seen.json || { echo 'a plan must dry what it washes' >&2; exit 2; }\n");
    let ended = world.aime(["run", "do the dishes", "--mode", "complex", "--approve", "all", "--output", "json"]).must(0);
    let asked = world.schema_requests("aime_plan");
    assert_eq!(asked.len(), 2, "{ended}");
    assert!(messages_text(&asked[1]).contains("a plan must dry what it washes"), "{}", asked[1]);
    assert_eq!(task(&ended.json(), "dry")["status"], "completed", "{ended}");
    let seen: Value = serde_json::from_str(&world.read("seen.json")).unwrap();
    assert_eq!((&seen["point"], seen["payload"]["plan"]["tasks"].as_array().map(Vec::len)), (&json!("after_plan"), Some(2)), "{seen}");
}

/// A hook around a call works where the call works.
#[test]
fn a_hook_formats_what_is_written_in_a_private_folder() {
    let settings = "[run]\nisolation = \"worktree\"\n[[hooks.after_tool]]\nname = \"format\"\ntools = [\"write_file\"]\ncommand = 'sh \"$AIME_WORKING_FOLDER/format.sh\"'\nrequired = true\n";
    let at = |part: &str, turn| When::tools().and_contains(part).and_turn(turn);
    // Each writes before the other has ended.
    let script = Script::new()
        .on(at("A-PART", 0), [write("a.txt", "raw a, A-HAS-WRITTEN")])
        .on(at("B-PART", 0), [write("b.txt", "raw b, B-HAS-WRITTEN")])
        .on(at("A-PART", 1), [done("a is done").after_request("B-HAS-WRITTEN")])
        .on(at("B-PART", 1), [done("b is done").after_request("A-HAS-WRITTEN")]);
    let world = world(script, settings);
    world.file("format.sh", "cat > /dev/null; sed -i s/raw/formatted/ *.txt && git log --oneline -1 >&2\n");
    world.file(".gitignore", "format.sh\n");
    world.git(&["init", "-q"]);
    world.git(&["commit", "-q", "--allow-empty", "-m", "first"]);
    world.plan("plan.json", &plan(&[actor("a", "A-PART", &[]), actor("b", "B-PART", &[])]));
    let ended = world.aime(["run", "--plan", "plan.json", "--approve", "all", "--output", "json"]).must(0);
    let read = |name: &str| world.read(name);
    assert_eq!((read("a.txt").as_str(), read("b.txt").as_str()), ("formatted a, A-HAS-WRITTEN", "formatted b, B-HAS-WRITTEN"), "{ended}");
    assert!(!ended.stderr.contains("hook format"), "{ended}");
}

#[test]
fn a_projects_hooks_are_not_asked_unless_the_folder_is_trusted() {
    let settings = "[[hooks.stop]]\ncommand = \"touch asked\"\n";
    for trusted in [false, true] {
        let mut world = World::with(Script::new().on(When::tools(), [done("it is done")])).settings(settings);
        if trusted {
            let folder = world.work().display().to_string();
            world.user_settings(&format!("[permissions]\ntrusted_folders = [\"{folder}\"]\n"));
        }
        let ended = world.aime(DIRECT).must(0);
        assert_eq!((world.exists("asked"), ended.stderr.contains("[hooks] in ")), (trusted, !trusted), "{ended}");
        let shown = world.aime(["config", "show"]).must(0);
        assert_eq!(shown.stdout.contains("[[hooks.stop]]\n# from "), trusted, "{shown}");
        let doctor = world.aime(["doctor"]);
        assert_eq!(doctor.stdout.contains("hook stop") && doctor.stdout.contains("touch asked (from "), trusted, "{doctor}");
    }
}

#[test]
fn what_is_wrong_with_a_hook_is_told_before_anything_is_done() {
    let world = world(one_call(bash("true")), "");
    world.file("aime.toml", "[run]\n\n[[hooks.before_tools]]\ncommand = \"true\"\n");
    world.aime(DIRECT).must(2).stderr_contains(&["aime.toml:3:", "unknown key `before_tools`", "before_tool"]);
    assert!(world.server().requests().is_empty());
}
