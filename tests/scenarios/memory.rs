//! What one run learns, the next knows; documents are known too; and people see, find and forget it.

use aime_scripted_server::{Reply, Script, When};
use serde_json::{Value, json};

use crate::harness::{Ended, World, actor, done, gives_up, messages_text, plan, tool};

const GOAL: &str = "Deploy the website to the harbour server";
const AGAIN: &str = "Which keys does the harbour server take for the website?";
const ZH_GOAL: &str = "把网站部署到港口服务器";
const ZH_AGAIN: &str = "港口服务器接受哪种密钥？";

/// A world whose actors say what they have learnt, and whose planner plans one task.
fn world(learnt: &str) -> World {
    World::with(
        Script::new()
            .on(When::schema("aime_plan"), [Reply::json(plan(&[actor("work", "WORK", &[])]))])
            .on(When::tools(), [done(learnt)])
            .on(When::plain(), [Reply::text(learnt)]),
    )
}

fn run(world: &World, goal: &str, mode: &str) -> Ended {
    world.aime(["run", goal, "--mode", mode, "--output", "jsonl"]).must(0)
}

fn memories(world: &World) -> Vec<Value> {
    world.aime(["memory", "--output", "json"]).must(0).json().as_array().unwrap().clone()
}

// Requirement: 1.1, 1.9
#[test]
fn a_run_knows_what_an_earlier_one_learnt() {
    for (goal, again, learnt) in
        [(GOAL, AGAIN, "The server only takes keys of type ed25519."), (ZH_GOAL, ZH_AGAIN, "服务器只接受 ed25519 密钥。")]
    {
        let world = world(learnt);
        let first = run(&world, goal, "complex");
        assert!(first.events("recalled").is_empty() && first.events("memory_failed").is_empty(), "{first}");
        let before = world.server().requests();
        assert!(before.iter().all(|request| !messages_text(request).contains("Memories of earlier runs")));

        let second = run(&world, again, "complex");
        let recalled = second.events("recalled");
        assert_eq!(recalled.len(), 1, "{second}");
        let items = recalled[0]["items"].as_array().unwrap();
        assert_eq!(items.len(), 1, "{second}");
        let run_id = &first.last()["run_id"];
        assert_eq!((&items[0]["from"], &items[0]["title"], &items[0]["name"]), (&json!("memory"), &json!(goal), run_id));
        assert!(recalled[0]["tokens"].as_u64().unwrap() <= 800, "{second}");
        let planner = messages_text(&world.schema_requests("aime_plan")[1]);
        let of_actor = messages_text(world.actor_requests("WORK").last().unwrap());
        assert!(planner.contains(learnt) && of_actor.contains(learnt), "{planner}\n{of_actor}");

        let shown = world.aime(["run", again, "--mode", "direct"]).must(0);
        assert!(shown.stderr.lines().any(|line| line.starts_with("recall") && line.contains(goal)), "{shown}");
    }
}

// Requirement: 1.1
#[test]
fn a_replan_and_a_plan_alone_know_what_a_run_knows() {
    let learnt = "The server only takes keys of type ed25519.";
    let patch = json!({"reasoning": "another way", "changes": [{"op": "add_task", "task": actor("other", "OTHER-WAY", &[]), "replaces": ["work"]}]});
    let mut world = world(learnt);
    run(&world, GOAL, "complex");
    world.serve(
        Script::new()
            .on(When::schema("aime_plan"), [Reply::json(plan(&[actor("work", "WORK", &[])]))])
            .on(When::schema("aime_patch"), [Reply::json(patch)])
            .on(When::tools().and_contains("OTHER-WAY"), [done("it goes")])
            .on(When::tools(), [gives_up("no way")])
            .on(When::plain(), [Reply::text("It is there.")]),
    );
    world.file("aime.toml", "[triggers]\nmax_retries = 0\n");
    let planned = world.aime(["plan", AGAIN, "--mode", "complex"]).must(0);
    assert!(planned.stderr.lines().any(|line| line.starts_with("recall") && line.contains(GOAL)), "{planned}");
    assert!(messages_text(&world.schema_requests("aime_plan")[0]).contains(learnt), "{planned}");
    let ended = run(&world, AGAIN, "complex");
    let asked = world.schema_requests("aime_patch");
    assert!(asked.len() == 1 && messages_text(&asked[0]).contains(learnt), "{ended}");

    let fresh = World::with(Script::new().on(When::schema("aime_plan"), [Reply::json(plan(&[actor("work", "WORK", &[])]))]));
    fresh.aime(["plan", GOAL, "--mode", "complex"]).must(0);
    assert!(!fresh.exists(".aime"), "a plan alone keeps nothing");
}

#[test]
fn people_look_at_memories_find_them_and_forget_them() {
    for (goal, words, learnt) in [(GOAL, ["website", "harbour"], "It takes ed25519."), (ZH_GOAL, ["网站", "港口"], "只接受 ed25519 密钥。")]
    {
        let world = world(learnt);
        let empty = world.aime(["memory"]).must(0).stderr_contains(&["nothing is remembered"]);
        assert!(empty.stdout.is_empty() && !world.exists(".aime/memory.db"), "looking makes no file: {empty}");
        let id = run(&world, goal, "direct").last()["run_id"].as_str().unwrap().to_owned();
        run(&world, "Bake a cake with plums 烤蛋糕", "direct");
        assert_eq!(memories(&world).len(), 2);

        let list = world.aime(["memory", "list"]).must(0);
        assert!(list.stdout.lines().count() == 2 && list.stdout.contains(goal), "{list}");
        let found = world.aime(["memory", "search", words[0], words[1]]).must(0);
        assert!(found.stdout.contains(&id) && !found.stdout.contains("plums"), "{found}");
        let found = world.aime(["memory", "search", words[1], "--output", "json"]).must(0).json();
        assert_eq!((found.as_array().unwrap().len(), &found[0]["id"]), (1, &json!(id)));
        let shown = world.aime(["memory", "show", &id]).must(0);
        assert!(shown.stdout.contains(learnt) && shown.stdout.contains("The goal was reached."), "{shown}");
        let document = world.aime(["memory", "show", &id, "--output", "json"]).must(0).json();
        assert_eq!((&document["title"], &document["run_id"], &document["kind"]), (&json!(goal), &json!(id), &json!("run")));
        let origin = document["tags"][0].as_str().unwrap().strip_prefix("from ").unwrap();
        assert!(shown.stdout.lines().any(|line| line.starts_with("origin ") && line.contains(origin)), "{shown}");

        world.aime(["memory", "forget", &id]).must(0).stderr_contains(&["forgotten"]);
        world.aime(["memory", "show", &id]).must(2).stderr_contains(&["there is no memory", "aime memory list"]);
        world.aime(["memory", "forget"]).must(2);
        let again = run(&world, goal, "direct");
        assert!(again.events("recalled").is_empty(), "what is forgotten is not recalled: {again}");
        world.aime(["memory", "forget", "--all"]).must(0).stderr_contains(&["2 memories"]);
        assert_eq!(memories(&world), [] as [Value; 0]);
    }
}

// Requirement: 1.1
#[test]
fn a_folder_of_documents_is_known_as_it_changes() {
    let world = world("done").settings("[memory]\nknowledge = \"docs\"\n");
    world.file("docs/server.md", "# Harbour server\n\n## Ports\n\nThe harbour server listens on port 8443.\n");
    world.file("docs/港口.md", "# 港口\n\n港口服务器每周一停机维护。\n");
    for (goal, document, words) in
        [("Which port has the harbour server?", "server.md", "port 8443"), ("港口服务器什么时候维护？", "港口.md", "每周一停机维护")]
    {
        let ended = run(&world, goal, "direct");
        let items = ended.events("recalled")[0]["items"].clone();
        let found = items.as_array().unwrap().iter().find(|item| item["from"] == "document").unwrap();
        assert_eq!(found["name"], document, "{ended}");
        assert!(messages_text(world.actor_requests(goal).last().unwrap()).contains(words), "{ended}");
    }
    world.file("docs/server.md", "# Harbour server\n\nIt moved, and the harbour server listens on port 9000 now.\n");
    let shown = world.aime(["run", "Which port has the harbour server today?", "--mode", "direct"]).must(0);
    assert!(shown.stderr.lines().any(|line| line.starts_with("known") && line.contains("server.md:")), "{shown}");
    let asked = messages_text(world.actor_requests("today?").last().unwrap());
    assert!(asked.contains("port 9000") && !asked.contains("port 8443"), "{asked}");
    let doctor = world.aime(["doctor"]).must(0);
    assert!(["memory", "3 memories", "knowledge", "docs"].iter().all(|word| doctor.stdout.contains(word)), "{doctor}");
}

#[test]
fn a_project_cannot_have_the_documents_of_others_read() {
    let world = world("done").settings("[memory]\nknowledge = \"../home\"\n");
    let ended = world.aime(["run", GOAL, "--mode", "direct"]).must(0);
    ended.stderr_contains(&["memory.knowledge", "outside of the project"]);
}

#[test]
fn a_damaged_memory_only_warns() {
    let world = world("done");
    world.file(".aime/memory.db", &"this was a database once ".repeat(100));
    let ended = run(&world, GOAL, "complex");
    let warned = ended.events("memory_failed");
    assert_eq!(warned.len(), 1, "it is told once: {ended}");
    assert!(warned[0]["message"].as_str().unwrap().contains("memory.db"), "{ended}");
    world.aime(["run", GOAL, "--mode", "direct"]).must(0).stderr_contains(&["memory", "move it away"]);
    world.aime(["memory"]).must(2).stderr_contains(&["memory.db"]);
    let doctor = world.aime(["doctor"]).must(2);
    assert!(doctor.stdout.lines().any(|line| line.starts_with("broken") && line.contains("memory")), "{doctor}");
}

/// Who deletes a run does not want its words to be found, in what is shown or in the files.
#[test]
fn a_deleted_run_leaves_no_words() {
    let world = world("It is of brass.");
    let goal = "Describe the quillon of this sword";
    let deleted = run(&world, goal, "direct").last()["run_id"].as_str().unwrap().to_owned();
    run(&world, GOAL, "direct");
    assert_eq!(memories(&world).len(), 2);
    world.aime(["runs", "delete", &deleted]).must(0);
    assert_eq!(memories(&world).len(), 1);
    assert!(run(&world, goal, "direct").events("recalled").iter().all(|event| !event.to_string().contains("brass")));
    let again = memories(&world).iter().find(|memory| memory["title"] == goal).unwrap()["id"].as_str().unwrap().to_owned();
    world.aime(["runs", "delete", &again]).must(0);
    for entry in std::fs::read_dir(world.path(".aime")).unwrap().flatten().filter(|entry| entry.path().is_file()) {
        let bytes = std::fs::read(entry.path()).unwrap();
        assert!(!bytes.windows(7).any(|word| word.eq_ignore_ascii_case(b"quillon")), "{}", entry.path().display());
    }
}

#[cfg(unix)]
#[test]
fn a_memory_that_cannot_be_looked_for_is_not_taken_for_none() {
    let world = world("done");
    world.file(".aime/.gitignore", "*\n");
    // A link that leads to itself: nobody can read it, not even root, who may run tests.
    std::os::unix::fs::symlink("memory.db", world.path(".aime/memory.db")).unwrap();
    world.aime(["memory"]).must(2).stderr_contains(&["cannot open the memory", "memory.db"]);
    world.aime(["memory", "forget", "--all"]).must(2).stderr_contains(&["memory.db"]);
    let doctor = world.aime(["doctor"]).must(2);
    assert!(doctor.stdout.lines().any(|line| line.starts_with("broken") && line.contains("memory.db")), "{doctor}");
}

#[test]
fn secrets_are_not_remembered() {
    let mut world = world("Log in with the token Harbour-Token-4711 or sk-abcdefghijklmnop0123.");
    world.set("HARBOUR_TOKEN", "Harbour-Token-4711");
    run(&world, &format!("{GOAL} with Harbour-Token-4711"), "direct");
    let text = memories(&world)[0].to_string();
    assert!(text.contains("Log in with the token [redacted-secret]") && !text.contains("4711") && !text.contains("sk-abc"), "{text}");
}

#[test]
fn memory_can_be_turned_off_and_tool_plans_leave_it_alone() {
    let off = world("done").settings("[memory]\nenabled = false\n");
    run(&off, GOAL, "direct");
    assert!(!off.exists(".aime/memory.db"));
    let alone = World::alone();
    alone.plan("plan.json", &plan(&[tool("write", "write_file", json!({"path": "a.txt", "content": "a"}), &[])]));
    alone.aime(["run", "--plan", "plan.json"]).must(0);
    assert!(alone.exists("a.txt") && !alone.exists(".aime/memory.db"));
}
