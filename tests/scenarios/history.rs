//! Going back in a run: its plan at a version, what changed, and a new run from there.

use aime_scripted_server::{Reply, Script, When};
use serde_json::{Value, json};

use crate::harness::{World, actor, done, gives_up, plan};

/// A run `trip` whose first task was replaced by another.
fn world() -> World {
    let patch = json!({"reasoning": "the ford is flooded", "changes": [
        {"op": "add_task", "task": actor("bridge", "TAKE-THE-BRIDGE", &[]), "replaces": ["ford"]}
    ]});
    let script = Script::new()
        .on(When::schema("aime_plan"), [Reply::json(plan(&[actor("ford", "TAKE-THE-FORD", &[]), actor("home", "GO-HOME", &["ford"])]))])
        .on(When::schema("aime_patch"), [Reply::json(patch)])
        .on(When::tools().and_contains("TAKE-THE-FORD"), [gives_up("flooded")])
        .on(When::tools(), [done("over")])
        .on(When::plain(), [Reply::text("At home.")]);
    let world = World::with(script).settings("[triggers]\nmax_retries = 0\n");
    world.aime(["run", "cross the river and go home", "--mode", "complex", "--run-id", "trip"]).must(0);
    world
}

// Requirement: 1.3, 3.30, 7.15, 7.17
#[test]
fn the_versions_of_a_plan_can_be_compared() {
    let world = world();
    let diff = world.aime(["runs", "diff", "trip", "1", "2"]).must(0).stdout;
    for line in ["v2 the ford is flooded", "+ bridge", "- ford", "~ home", "dependencies: [\"ford\"] → [\"bridge\"]"] {
        assert!(diff.contains(line), "{line} is missing in\n{diff}");
    }
    let json: Value = serde_json::from_str(&world.aime(["runs", "diff", "trip", "2", "1", "--output", "json"]).must(0).stdout).unwrap();
    assert_eq!((&json["diff"]["added"], &json["diff"]["removed"][0]["id"]), (&json!([]), &json!("bridge")), "and the other way round");
    assert!(world.aime(["runs", "diff", "trip", "2", "2"]).must(0).stdout.contains("nothing changed"));
    let then = world.aime(["runs", "show", "trip", "--at", "1"]).must(0).stdout;
    assert!(then.contains("v1") && !then.contains("bridge"), "{then}");
}

// Requirement: 7.16
#[test]
fn a_run_can_be_forked_at_a_version_and_carried_on() {
    let world = world();
    let forked = world.aime(["runs", "fork", "trip", "--at", "2", "--run-id", "again"]).must(0);
    assert_eq!(forked.stdout.trim(), "again");
    assert_eq!(world.aime(["runs", "check", "again", "--output", "json"]).must(0).json()["findings"], json!([]), "it is whole as it is");
    let before = world.actor_requests("TAKE-THE-FORD").len();
    let ended = world.aime(["resume", "again", "--output", "json"]).must(0);
    assert!(ended.stdout.contains("\"status\": \"completed\""), "{ended}");
    assert_eq!(world.actor_requests("TAKE-THE-FORD").len(), before, "what was before the version is not done again");
    let listed = world.aime(["runs"]).must(0).stdout;
    assert!(listed.contains("trip") && listed.contains("again"), "{listed}");
    std::fs::remove_file(world.path(".aime/progress/again.json")).unwrap();
    let found = world.aime(["runs", "check", "again", "--output", "json"]).must(1).json();
    assert_eq!(found["findings"][0]["place"], "snapshot", "one that was written is missed");
}

#[test]
fn what_is_not_there_is_told_with_the_hint() {
    let world = world();
    for arguments in [["runs", "diff", "trip", "1", "7"], ["runs", "show", "trip", "--at", "9"], ["runs", "fork", "trip", "--at", "7"]] {
        let stderr = world.aime(arguments).must(2).stderr;
        assert!(stderr.contains("its latest is 2") && stderr.contains("aime runs show trip"), "{stderr}");
    }
    let taken = world.aime(["runs", "fork", "trip", "--at", "1", "--run-id", "trip"]).must(2).stderr;
    assert!(taken.contains("trip"), "{taken}");
    world.aime(["runs", "fork", "trip", "--at", "1", "--run-id", "last"]).must(2).stderr_contains(&["no run can be named `last`"]);
}
