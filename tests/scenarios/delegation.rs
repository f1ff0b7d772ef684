//! Actors that hand work on, and actors that read skills.

use aime_scripted_server::{Reply, Script, When};
use serde_json::{Value, json};

use crate::harness::{World, actor, bash, done, messages_text, plan, task, wait_until};

const RUN: [&str; 9] = ["run", "--plan", "plan.json", "--run-id", "trip", "--approve", "all", "--output", "json"];

fn delegate(description: &str) -> Reply {
    Reply::call("delegate_task", json!({"description": description, "use_actor_factory": false}))
}

/// An actor that has a part of its task done by another one, which asks a person; `first` comes before the replies.
fn parted(first: Script) -> World {
    let script = first
        .on(When::tools().and_contains("THE-WHOLE").and_turn(0), [bash("echo whole >> log")])
        .on(When::tools().and_contains("THE-WHOLE").and_turn(1), [delegate("THE-PART")])
        .on(When::tools().and_contains("THE-WHOLE").and_turn(2), [done("whole and part")])
        .on(When::tools().and_contains("THE-PART").and_turn(0), [bash("echo part >> log")])
        .on(When::tools().and_contains("THE-PART").and_turn(1), [Reply::call("ask_human", json!({"question": "Which colour?"}))])
        .on(When::tools().and_contains("THE-PART").and_turn(2), [done("the part in blue")])
        .on(When::plain(), [Reply::text("Done.")]);
    let world = World::with(script);
    world.plan("plan.json", &plan(&[actor("whole", "THE-WHOLE", &[])]));
    world
}

fn of_the_part(world: &World) -> Vec<Value> {
    world.actor_requests("THE-PART").into_iter().filter(|request| !messages_text(request).contains("THE-WHOLE")).collect()
}

// Requirement: 8.7
#[test]
fn a_part_is_done_by_another_actor_over_a_question_and_a_crash() {
    let world = parted(Script::new().once(When::tools().and_contains("THE-PART").and_turn(2), [Reply::hang()]));
    let ended = world.aime(RUN).must(5);
    assert!(ended.json()["error"]["message"].as_str().unwrap().contains("Which colour?"), "{ended}");
    world.aime(["answer", "trip", "blue"]).must(0);
    // Killed while the other actor thinks about the answer.
    let running = world.start(["resume", "trip", "--output", "json"]);
    world.wait_for_requests(5);
    running.kill();
    let ended = world.aime(["resume", "trip", "--output", "json"]).must(0);
    let result = ended.json();
    assert_eq!(task(&result, "whole")["status"], "completed", "{ended}");
    assert_eq!(world.read("log"), "whole\npart\n", "no call is made twice\n{ended}");
    assert_eq!(of_the_part(&world).len(), 4, "only what had no answer is asked again");
    let requests = world.actor_requests("THE-WHOLE");
    assert!(messages_text(requests.last().unwrap()).contains("success: the part in blue"), "{ended}");
    let ended = world.aime(["runs", "events", "trip", "--output", "jsonl"]).must(0);
    assert_eq!((ended.events("actor_created").len(), ended.events("question_asked").len()), (2, 1), "{ended}");
    assert!(ended.events("tool_call_finished").iter().all(|event| event["outcome"] == "ok"), "{ended}");
    assert_eq!(world.server().unmatched(), Vec::<String>::new());
}

// Requirement: 12.2
#[test]
fn words_to_a_task_reach_the_actor_that_has_a_part_of_it() {
    let script = Script::new()
        .on(When::tools().and_contains("THE-WHOLE").and_turn(0), [delegate("THE-PART")])
        .on(When::tools().and_contains("THE-WHOLE").and_turn(1), [done("whole and part")])
        .on(When::tools().and_contains("THE-PART").and_turn(0), [bash("touch began; until test -e go; do sleep 0.1; done")])
        .on(When::tools().and_contains("THE-PART").and_turn(1), [done("the part")])
        .on(When::plain(), [Reply::text("Done.")]);
    let world = World::with(script);
    world.plan("plan.json", &plan(&[actor("whole", "THE-WHOLE", &[])]));
    let running = world.start(RUN);
    world.wait_for_file("began");
    world.aime(["tell", "trip", "--task", "whole", "paint it green"]).must(0);
    wait_until("the words are in the journal", || {
        world.aime(["runs", "events", "trip", "--output", "jsonl"]).events("evidence_added").len() == 1
    });
    world.file("go", "");
    let ended = running.wait().must(0);
    let part = of_the_part(&world);
    assert!(messages_text(&part[1]).contains("The person you work for says: paint it green"), "{ended}");
    assert_eq!(task(&ended.json(), "whole")["status"], "completed", "{ended}");
}

// Requirement: 4.3, 8.8
#[test]
fn an_actor_reads_a_skill_and_a_faulty_one_is_told() {
    let script = Script::new()
        .on(When::tools().and_turn(0), [Reply::call("load_skill", json!({"name": "bake-bread"}))])
        .on(When::tools().and_turn(1), [Reply::call("load_skill", json!({"name": "bake-bread", "file": "notes/dough.md"}))])
        .on(When::tools().and_turn(2), [done("bread")]);
    let mut world = World::with(script);
    world.user_file("skills/bake-bread/SKILL.md", "---\nname: bake-bread\ndescription: How bread is baked here.\n---\nKNEAD-TWICE\n");
    world.user_file("skills/bake-bread/notes/dough.md", "REST-IT");
    world.file(".agents/skills/sew/SKILL.md", "---\nname: sow\ndescription: d\n---\nx\n");
    let ended = world.aime(["run", "bake some bread", "--mode", "direct", "--output", "json"]).must(0);
    let ended =
        ended.stderr_contains(&["a skill is not used: ", "SKILL.md:2: `name` is `sow` and its folder `sew`: give both the same name"]);
    let requests = world.server().requests();
    assert!(messages_text(&requests[0]).contains("- bake-bread: How bread is baked here."), "{ended}");
    assert!(!messages_text(&requests[0]).contains("KNEAD-TWICE") && messages_text(&requests[1]).contains("KNEAD-TWICE"), "{ended}");
    assert!(messages_text(&requests[1]).contains("- notes/dough.md") && messages_text(&requests[2]).contains("REST-IT"), "{ended}");
    let ended = world.aime(["tools", "call", "load_skill", "{\"name\": \"sow\"}"]).must(1);
    ended.stderr_contains(&["Unknown skill: sow. The skills are: `bake-bread`"]);
}

#[test]
fn a_task_decides_its_tools_and_skills_and_that_is_shown() {
    let mut world = World::with(Script::new().on(When::tools(), [done("baked")]));
    world.user_file("skills/bake-bread/SKILL.md", "---\nname: bake-bread\ndescription: How bread is baked here.\n---\nKNEAD-TWICE\n");
    let task =
        json!({"id": "bake", "description": "BAKE-IT", "denied_tools": ["bash", "web_*"], "skills": ["bake-bread"], "effort": "low"});
    world.plan("plan.json", &json!({"goal": "bread", "tasks": [task]}));
    world.aime(["run", "--plan", "plan.json", "--run-id", "loaf"]).must(0);
    let requests = world.actor_requests("BAKE-IT");
    let request = requests[0].to_string();
    assert!(request.contains("KNEAD-TWICE") && !request.contains("\"name\":\"bash\""), "{request}");
    let shown = world.aime(["runs", "show", "loaf"]).must(0).stdout;
    let line = shown.lines().find(|line| line.starts_with("actor")).unwrap();
    assert!(
        line.starts_with("actor   bake: sisyphus on gpt-5.6-terra (low), ") && line.contains("at most 100 steps; skills bake-bread; "),
        "{line}"
    );
    world.aime(["runs", "report", "loaf", "-o", "loaf.html"]).must(0);
    let report = world.read("loaf.html");
    assert!(report.contains("(effort <bdi>low</bdi>)") && report.contains("at most 100 answers"), "{report}");
}
