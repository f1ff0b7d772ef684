//! Two different agents and an actor of aime, at once.

use super::*;

/// `a` waits until the run is killed. `b` fails, and `c` replaces it. An actor of aime does `d`.
// Requirement: 4.41
#[test]
fn two_agents_and_an_actor_work_at_once() {
    let waits = r#"
if [ -e part-a ]; then echo more >> part-a; say "I went on."; else echo begun > part-a; touch "$NOTES/began"; sleep 1000; fi
"#;
    let fails = r#"
case "$line" in
  *B-PART*) say "FAILURE: I have no hands" ;;
  *) ask fs/write_text_file "\"path\":\"$here/part-c\",\"content\":\"by c\""; say "I did it with my feet." ;;
esac
"#;
    let patch = json!({"reasoning": "it works in another way", "changes": [
        {"op": "remove_task", "id": "b"},
        {"op": "add_task", "task": by("other", "c", "C-PART")},
    ]});
    let script = Script::new()
        .on(When::schema("aime_patch"), [Reply::json(patch)])
        .on(When::tools().and_contains("D-PART").and_turn(0), [write("part-d", "by d")])
        .on(When::tools().and_contains("D-PART"), [done("d is done")])
        .on(When::plain(), [Reply::text("All parts are there.")]);
    let mut world = World::with(script);
    let settings = |name: &str, work: &str, loads: bool| {
        let notes = world.root().join("notes").join(name);
        std::fs::create_dir_all(&notes).unwrap();
        profile(name, work, loads).replace("set = {", &format!("write = [{notes:?}]\nset = {{ NOTES = {notes:?},"))
    };
    let both = settings("helper", waits, true) + &settings("other", fails, false);
    world.user_settings(&both);
    world.plan("plan.json", &plan(&[by_agent("A-PART"), by("other", "b", "B-PART"), actor("d", "D-PART", &[])]));
    let notes = |name: &str| std::fs::read_to_string(world.root().join("notes").join(name)).unwrap_or_default();

    let running = world.start(RUN.iter().chain(&["--approve", "all"]));
    let mut before = Vec::new();
    wait_until("a waits, and c and d are completed", || {
        before = world.aime(["runs", "events", "r", "--output", "jsonl"]).events("task_concluded");
        let completed = |id: &str| before.iter().any(|event| event["task"] == id && event["conclusion"]["outcome"] == "success");
        completed("c") && completed("d") && world.root().join("notes/helper/began").exists()
    });
    running.kill();
    assert_eq!((world.read("part-c").as_str(), world.read("part-d").as_str()), ("by c", "by d"));
    assert!(!world.exists("part-a"), "a is not merged before it has ended");

    let ended = world.aime(["resume", "r", "--output", "json"]).must(0);
    let result = ended.json();
    assert_eq!(task(&result, "a")["summary"], "I went on.", "{ended}");
    for id in ["a", "c", "d"] {
        assert_eq!(task(&result, id)["status"], "completed", "{ended}");
    }
    assert_eq!(world.read("part-a"), "begun\nmore\n");
    assert_eq!(notes("helper/sessions"), "new\nload\n");
    assert_eq!(notes("other/sessions"), "new\nnew\n", "b and c have a session each, which no resume repeats");
    assert_eq!(world.schema_requests("aime_patch").len(), 1);
    assert!(world.schema_requests("aime_patch")[0].to_string().contains("I have no hands"));
}
