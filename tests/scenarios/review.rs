//! Plans that a person edits before they are run.

use aime_scripted_server::{Reply, Script, When};

use crate::harness::{World, actor, done, plan, said};

fn world(editor: &str) -> World {
    let script = Script::new()
        .on(When::schema("aime_plan"), [Reply::json(plan(&[actor("walk", "WALK-THERE", &[])]))])
        .on(When::tools(), [done("there")]);
    let mut world = World::with(script);
    world.set("EDITOR", editor);
    world
}

const RUN: [&str; 7] = ["run", "go there", "--mode", "complex", "--review", "--output", "jsonl"];

// Requirement: 12.7
#[test]
fn what_the_editor_left_is_what_is_run() {
    let world = world("sed -i s/WALK-THERE/RIDE-THERE/");
    let ended = world.aime(RUN).must(0);
    assert!(!world.actor_requests("RIDE-THERE").is_empty(), "{ended}");
    assert!(world.actor_requests("WALK-THERE").is_empty());
    assert_eq!(world.schema_requests("aime_plan").len(), 1, "it is planned once");
    assert!(said(&world.schema_requests("aime_plan")[0]).contains("go there"));
    assert_eq!(ended.events("run_started")[0]["goal"], "go there");
    assert!(!world.exists(".aime/review.json"));
}

#[test]
fn a_plan_that_was_broken_is_told_and_kept() {
    let world = world("sed -i 's/\"dependencies\": \\[\\]/\"dependencies\": [\"nowhere\"]/'");
    let ended = world.aime(RUN).must(2);
    assert!(ended.stderr.contains("nowhere") && ended.stderr.contains("--plan"), "{ended}");
    assert!(world.read(".aime/review.json").contains("nowhere"), "nothing is lost");
    assert!(world.actor_requests("WALK-THERE").is_empty(), "nothing was begun");
}

// Requirement: 12.7
#[test]
fn who_empties_the_plan_or_leaves_the_editor_badly_runs_nothing() {
    for (editor, code, says) in [("truncate -s 0", 1, "nothing was run"), ("false", 2, "ended with")] {
        let world = world(editor);
        let ended = world.aime(RUN).must(code);
        assert!(ended.stderr.contains(says), "{editor}: {ended}");
        assert!(world.actor_requests("WALK-THERE").is_empty());
    }
}

#[test]
fn without_an_editor_the_other_way_is_named() {
    let mut world = world("");
    world.set("VISUAL", "");
    let ended = world.aime(RUN).must(2);
    assert!(ended.stderr.contains("set EDITOR") && ended.stderr.contains("--plan plan.json"), "{ended}");
    assert!(world.server().requests().is_empty(), "no plan is paid for");
}
