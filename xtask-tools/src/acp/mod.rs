//! `cargo xtask scenario acp`: drives the built aime from an editor that uses the official TypeScript library, with a scripted model.
//!
//! It needs Node.js and npm's package index, so it is not part of `cargo test`.

use std::fs;
use std::process::{Command, Stdio};

use aime_scripted_server::{Reply, Script, ScriptedServer, When};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::install::node_script;
use xtask::fresh_folder;
use xtask::workspace::build_aime;

const PACKAGE: &str = include_str!("package.json");
const PACKAGE_LOCK: &str = include_str!("package-lock.json");
const EDITOR: &str = include_str!("editor.mjs");

/// Runs the scenario.
pub(crate) fn drive() -> Result<()> {
    let program = build_aime(&["--no-default-features", "--features", "acp"])?;
    let editor = node_script(&program, "acp-editor", [PACKAGE, PACKAGE_LOCK], ("editor.mjs", EDITOR))?;
    let folder = fresh_folder("aime-acp")?;
    for name in ["work", "home"] {
        fs::create_dir(folder.join(name))?;
    }
    let server = ScriptedServer::try_start(script(), 0).context("the scripted model does not start")?;
    let mut command = Command::new("node");
    command.arg(editor).arg(&program).arg(folder.join("work")).stdin(Stdio::null()).stderr(Stdio::inherit());
    command.env("HOME", folder.join("home")).env("XDG_CONFIG_HOME", folder.join("home")).env("XDG_STATE_HOME", folder.join("home"));
    // The script answers the planner that is asked for a whole plan, and not a lead.
    command.env("AIME__PLANNING__ROUTE", "rules").env("AIME_OFFLINE", "1").env("OPENAI_BASE_URL", server.url());
    let output = command.output().context("could not start node")?;
    ensure!(output.status.success(), "the editor failed ({})", output.status);
    let seen: Value = serde_json::from_slice(&output.stdout).context("the editor prints no JSON")?;
    check(&seen).with_context(|| format!("the editor saw {seen:#}"))?;
    let updates = seen.get("updates").and_then(Value::as_array).map_or(0, Vec::len);
    println!("scenario acp passed: two turns, {updates} updates, consent once, a session loaded again; look into {}", folder.display());
    Ok(())
}

/// Returns the script of a plan with two tasks. One needs consent, the other asks a question.
fn script() -> Script {
    let task = |id: &str, dependencies: &[&str]| json!({"id": id, "name": id, "kind": "actor", "description": id.to_uppercase(), "dependencies": dependencies});
    let plan = json!({"goal": "clean dishes", "strategic": {"approach": "by hand"}, "tasks": [task("wash", &[]), task("dry", &["wash"])]});
    let done = || Reply::call("terminate", json!({"status": "success", "message": "done"}));
    let question = Reply::call("ask_human", json!({"question": "Hot or cold?"}));
    let wash = || When::tools().and_contains("WASH");
    Script::new()
        .on(When::schema("aime_plan"), [Reply::json(plan)])
        .on(wash().and_turn(0), [Reply::call("write_file", json!({"path": "soap.txt", "content": "much\n"}))])
        .on(wash().and_turn(1), [Reply::call("bash", json!({"command": "cp soap.txt foam.txt"}))])
        .on(wash().and_turn(2), [question])
        .on(When::tools(), [done()])
        .on(When::plain(), [Reply::text("The dishes are done.")])
}

/// Checks the events that the editor has seen.
fn check(seen: &Value) -> Result<()> {
    let at = |pointer: &str| seen.pointer(pointer).cloned().unwrap_or_default();
    let updates: Vec<Value> = at("/updates").as_array().cloned().unwrap_or_default();
    let is = |update: &Value, kind: &str| update.get("sessionUpdate").is_some_and(|found| found == kind);
    let texts: String = updates
        .iter()
        .filter(|update| is(update, "agent_message_chunk"))
        .filter_map(|update| update.pointer("/content/text")?.as_str())
        .collect();
    let last = updates.iter().rfind(|update| is(update, "plan")).and_then(|plan| plan.get("entries")?.as_array());
    let statuses: Vec<&str> = last.into_iter().flatten().filter_map(|entry| entry.get("status")?.as_str()).collect();
    let diffs = updates.iter().any(|update| update.pointer("/content/0/type").is_some_and(|kind| kind == "diff"));
    ensure!(at("/introduced/agentInfo/name") == "aime" && at("/introduced/protocolVersion") == 1, "another agent");
    ensure!(at("/stops") == json!(["end_turn", "end_turn"]), "the turns ended otherwise");
    ensure!(texts.contains("Hot or cold?") && texts.contains("The dishes are done."), "other messages: {texts:?}");
    ensure!(statuses == ["completed", "completed"], "another plan: {statuses:?}");
    ensure!(diffs, "no change of a file was shown");
    ensure!(at("/asked").as_array().is_some_and(|asked| asked.len() == 1), "consent was not asked for once");
    ensure!(at("/listed") == 1 && at("/loaded").as_u64().is_some_and(|loaded| loaded > 5), "the session is not kept");
    ensure!(at("/unknown") == -32002 && at("/exit") == 0, "the end is another");
    Ok(())
}
