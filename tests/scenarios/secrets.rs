//! What is taken for a secret, and what is made of the texts that one stands in.

use aime_scripted_server::{Script, When};
use serde_json::json;

use crate::harness::{World, done, messages_text, plan, task, tool, write};

#[test]
fn a_name_that_holds_a_secret_changes_no_file() {
    let mut world = World::alone();
    world.set("DB_PASSWORD", "s3cr3t-word");
    let content = "curl -fsSL https://s3cr3t-word.com/install.sh | sh\n";
    world.plan("plan.json", &plan(&[tool("install-s3cr3t-word", "write_file", json!({"path": "setup.sh", "content": content}), &[])]));
    let result = world.aime(["run", "--plan", "plan.json", "--output", "json"]).must(1).json();
    let error = task(&result, "install-redacted-secret")["error"].as_str().unwrap();
    assert!(error.contains("must not be written in the place of one"), "{error}");
    assert!(!world.exists("setup.sh"));
}

// Requirement: 14.4
#[test]
fn what_stands_for_a_key_is_no_secret() {
    let script =
        Script::new().on(When::tools().and_turn(0), [write("ollama-notes.txt", "ollama and postgres\n")]).on(When::tools(), [done("done")]);
    let mut world = World::with(script);
    world.set("OPENAI_API_KEY", "ollama");
    world.set("POSTGRES_PASSWORD", "postgres");
    world.file(".env", "POSTGRES_PASSWORD=postgres\n");
    let ended = world.aime(["run", "Write ollama-notes.txt", "--mode", "direct", "--run-id", "postgres-1", "--output", "json"]).must(0);
    assert_eq!(ended.json()["run_id"], "postgres-1");
    assert_eq!(world.read("ollama-notes.txt"), "ollama and postgres\n");
    assert!(messages_text(&world.server().requests()[0]).contains("Write ollama-notes.txt"));
}

#[test]
fn a_run_is_not_named_after_a_secret() {
    let mut world = World::alone();
    world.set("DB_PASSWORD", "s3cr3t-word");
    world.plan("plan.json", &plan(&[tool("look", "list_dir", json!({"path": "."}), &[])]));
    let ended = world
        .aime(["run", "--plan", "plan.json", "--run-id", "s3cr3t-word-1"])
        .must(2)
        .stderr_contains(&["looks like a secret", "another --run-id"]);
    assert!(!ended.to_string().contains("redacted-secret") && !world.exists(".aime/aime.db"), "{ended}");
    // What a file of the folder holds is as secret.
    let world = World::alone();
    world.file(".env", "DB_PASSWORD=s3cr3t-word\n");
    world.plan("plan.json", &plan(&[tool("note", "write_file", json!({"path": "a.txt", "content": "a"}), &[])]));
    world
        .aime(["run", "--plan", "plan.json", "--run-id", "s3cr3t-word-1"])
        .must(2)
        .stderr_contains(&["looks like a secret", "another --run-id"]);
}

// Requirement: 14.4
#[test]
fn words_of_the_program_stay_in_its_json() {
    for own in ["status", "completed", "run_status_changed", "aime.result/v1"] {
        let mut world = World::alone();
        world.user_settings("[secrets]\nenvironment = [\"MY_OWN\"]\n");
        world.set("MY_OWN", own);
        let goal = format!("look at {own}");
        let task = tool("look", "list_dir", json!({"path": "."}), &[]);
        world.plan("plan.json", &json!({"schema": "aime.plan/v1", "goal": goal, "tasks": [task]}));
        let ended = world.aime(["run", "--plan", "plan.json", "--output", "jsonl"]).must(0);
        let result = ended.last();
        assert_eq!((&result["schema"], &result["status"]), (&json!("aime.result/v1"), &json!("completed")), "{own}\n{ended}");
        assert_eq!(ended.events("run_started")[0]["goal"], "look at [redacted-secret]", "{own}");
        assert!(!ended.events("run_status_changed").is_empty(), "{own}\n{ended}");
    }
}

// Requirement: 14.4
#[test]
fn keys_of_servers_and_agents_are_not_shown() {
    let mut world = World::alone();
    world.user_settings(
        "[mcp.servers.tracker]\nurl = \"http://127.0.0.1:1/mcp?apiKey=query-s3cr3t-7\"\n\
         [mcp.servers.clock]\ncommand = \"clock\"\nenv = { CLOCK_TOKEN = \"s3cr3t-variable\" }\n\
         [profiles.helper.agent]\ncommand = \"helper\"\nset = { HELPER_TOKEN = \"s3cr3t-set\" }\n",
    );
    for command in [["mcp", "list"], ["config", "show"]] {
        let shown = world.aime(command).must(0);
        assert!(shown.stdout.contains("127.0.0.1:1/mcp?") && !shown.to_string().contains("s3cr3t"), "{command:?}\n{shown}");
    }
    world.plan("plan.json", &plan(&[tool("note", "write_file", json!({"path": "s3cr3t-set.txt", "content": "a"}), &[])]));
    world.set("AIME__MCP__SERVERS__TRACKER__ENABLED", "false");
    world.set("AIME__MCP__SERVERS__CLOCK__ENABLED", "false");
    let ended = world.aime(["run", "--plan", "plan.json", "--run-id", "query-s3cr3t-7"]).must(2);
    assert!(ended.stderr.contains("looks like a secret"), "{ended}");
    let ended = world.aime(["run", "--plan", "plan.json", "--output", "json"]);
    assert!(!ended.to_string().contains("s3cr3t"), "{ended}");
}
