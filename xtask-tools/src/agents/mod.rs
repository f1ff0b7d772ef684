//! `cargo xtask scenario agents`: public agents from npm, pinned by their hashes, do tasks of a plan beside an actor of aime.
//!
//! Claude Code does task `a`, tries to leave its folder, and is cut off when aime is killed; it goes on in its own session. Gemini CLI fails
//! at task `b`, and does the task `c` that replaces it. An actor of aime does `d` at the same time. Every model is a scripted server, strict
//! as its service is, and no agent reaches anything else.
//!
//! It needs Node.js and npm's package index, so it is not part of `cargo test`.

mod world;

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, Instant};

use aime_scripted_server::{Provider, Reply, Script, ScriptedServer, When};
use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use crate::install::{NODE, answer, node_packages};
use crate::mcp::processes;
use world::World;
use xtask::workspace::build_aime;

const PACKAGE: &str = include_str!("package.json");
const PACKAGE_LOCK: &str = include_str!("package-lock.json");
/// Longest wait for an agent. Each takes some seconds to start.
const PATIENCE: Duration = Duration::from_secs(300);
const LOOK: Duration = Duration::from_millis(500);

/// Installed agents.
struct Installed {
    folder: PathBuf,
    node: PathBuf,
}

impl Installed {
    /// Installs missing agents in `agents` in the target folder of `program`.
    fn ready(program: &std::path::Path) -> Result<Self> {
        let target = program.parent().and_then(std::path::Path::parent).context("aime was built in no folder")?;
        let node = PathBuf::from(answer(Command::new("node").args(["-p", "process.execPath"]), NODE)?);
        let folder = target.join("agents");
        node_packages(&folder, "node", [PACKAGE, PACKAGE_LOCK])?;
        Ok(Self { folder, node })
    }

    fn script(&self, path: &str) -> String {
        self.folder.join("node/node_modules").join(path).display().to_string()
    }
}

/// Runs the scenario.
pub(crate) fn drive() -> Result<()> {
    let program = build_aime(&[])?;
    let installed = Installed::ready(&program)?;
    let world = World::new(program)?;
    let [claude, gemini, own] = [claude(&world), gemini(), own()].map(|script| ScriptedServer::try_start(script, 0));
    let (claude, gemini, own) = (claude?, gemini?, own?);
    world.configure(&settings(&installed, &world, &claude, &gemini))?;
    world.plan(&json!({"goal": "three parts", "tasks": [part("a", "claude"), part("b", "gemini"), part("d", "sisyphus")]}))?;

    let doctor = world.aime(&["doctor"], &own)?;
    for (agent, software) in [("claude", "claude-agent-acp 0.23.1"), ("gemini", "gemini-cli 0.61.0")] {
        let line = doctor.lines().find(|line| line.contains(&format!("agent {agent}"))).unwrap_or_default();
        ensure!(line.starts_with("works") && line.contains(software), "aime doctor does not reach {agent}: {line:?}\n{doctor}");
        println!("{line}");
    }

    let mut run = world.start(&own)?;
    let cut = || claude.requests().iter().any(|request| turn(request) == 2);
    wait(&world, &mut run, "a waits for its model, and c and d are completed", || {
        let concluded = world.concluded(&own)?;
        Ok(cut() && concluded.contains(&"c".to_owned()) && concluded.contains(&"d".to_owned()))
    })?;
    run.kill()?;
    run.wait()?;
    let begun = Instant::now();
    while !processes::of(&installed.folder).is_empty() {
        ensure!(begun.elapsed() < PATIENCE, "processes of agents outlive aime: {:?}", processes::of(&installed.folder));
        sleep(LOOK);
    }
    println!("killed       aime, in the middle of a request of Claude Code; no process of an agent is left");

    let result: Value = serde_json::from_str(&world.aime(&["resume", world::RUN, "--output", "json"], &own)?)?;
    check(&world, &result, &claude).with_context(|| format!("look into {}\n{result:#}", world.folder().display()))?;
    let asked = [("Claude Code", &claude), ("Gemini CLI", &gemini), ("aime", &own)];
    for (who, server) in asked {
        ensure!(server.unmatched().is_empty(), "the server of {who} was asked what its script does not know: {:?}", server.unmatched());
        println!("{who:<12} {} requests to its own fake server", server.requests().len());
    }
    println!("scenario agents passed: a resumed in its session, b replaced by c, d beside them; look into {}", world.folder().display());
    Ok(())
}

/// Checks the end of the run.
fn check(world: &World, result: &Value, claude: &ScriptedServer) -> Result<()> {
    ensure!(result.get("status").is_some_and(|status| status == "completed"), "the run has not completed");
    for (file, text) in [("a.txt", "part a\n"), ("c.txt", "part c\n"), ("d.txt", "part d\n")] {
        let found = fs::read_to_string(world.work().join(file)).unwrap_or_default();
        ensure!(found == text, "{file} holds {found:?}");
    }
    let tasks = result.get("tasks").and_then(Value::as_array).context("no tasks")?;
    for id in ["a", "c", "d"] {
        let task = tasks.iter().find(|task| task.get("id").is_some_and(|found| found == id)).context("a task is missing")?;
        ensure!(task.get("status").is_some_and(|status| status == "completed"), "task {id} has not completed");
    }
    let requests = claude.requests().iter().map(Value::to_string).collect::<String>();
    ensure!(requests.contains("You were interrupted"), "Claude Code was not told that it was interrupted");
    let ran = fs::read_to_string(world.work().join("by-command")).unwrap_or_default();
    let denied = ["secret", "planted"].iter().all(|name| requests.contains(&format!("/{name}: Permission denied")));
    ensure!(ran == "ran\n" && denied, "the command of Claude Code that leaves its folder did not run, or was not denied");
    ensure!(!requests.contains(world::SECRET), "Claude Code has read a file outside of its folder");
    ensure!(!world.outside().join("planted").exists(), "Claude Code has written a file outside of its folder");
    println!("escapes      Claude Code read and wrote nothing outside of its folder");
    Ok(())
}

/// Waits until something holds, while the run goes on.
fn wait(world: &World, run: &mut Child, what: &str, mut holds: impl FnMut() -> Result<bool>) -> Result<()> {
    let begun = Instant::now();
    while !holds()? {
        if let Some(status) = run.try_wait()? {
            bail!("the run ended ({status}) before {what}; look into {}", world.folder().display());
        }
        ensure!(begun.elapsed() < PATIENCE, "in vain: {what}; look into {}", world.folder().display());
        sleep(LOOK);
    }
    Ok(())
}

fn part(id: &str, profile: &str) -> Value {
    json!({"id": id, "kind": "actor", "description": format!("{}-PART: write the file {id}.txt", id.to_uppercase()), "profile": profile})
}

/// Returns the number of answers of the model in a request of Messages.
fn turn(request: &Value) -> usize {
    let messages = request.get("messages").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    messages.iter().filter(|message| message.get("role").is_some_and(|role| role == "assistant")).count()
}

fn claude(world: &World) -> Script {
    let outside = world.outside();
    let leaves = format!("echo ran > by-command; cat {0}/secret; echo planted > {0}/planted", outside.display());
    let at = |turn| When::tools().and_contains("A-PART").and_turn(turn);
    Script::new()
        .provider(Provider::Anthropic)
        .on(at(0), [Reply::call("Bash", json!({"command": leaves, "description": "look around"}))])
        .on(at(1), [Reply::call("Write", json!({"file_path": "a.txt", "content": "part a\n"}))])
        .once(at(2), [Reply::hang()])
        .on(When::any(), [Reply::text("Part a is done.")])
}

fn gemini() -> Script {
    let c = || When::tools().and_contains("C-PART");
    Script::new()
        .provider(Provider::Gemini)
        .on(c().and_turn(0), [Reply::call("write_file", json!({"file_path": "c.txt", "content": "part c\n"}))])
        .on(c(), [Reply::text("Part c is done.")])
        .on(When::tools().and_contains("B-PART"), [Reply::text("FAILURE: I cannot write b.txt.")])
        .on(When::any(), [Reply::text("Nothing more.")])
}

fn own() -> Script {
    let patch = json!({"reasoning": "the same agent can write another file", "changes": [
        {"op": "remove_task", "id": "b"}, {"op": "add_task", "task": part("c", "gemini")},
    ]});
    let d = || When::tools().and_contains("D-PART");
    Script::new()
        .on(When::schema("aime_patch"), [Reply::json(patch)])
        .on(d().and_turn(0), [Reply::call("write_file", json!({"path": "d.txt", "content": "part d\n"}))])
        .on(d(), [Reply::call("terminate", json!({"status": "success", "message": "Part d is done."}))])
        .on(When::any(), [Reply::text("All parts are done.")])
}

/// Returns the profiles of both agents. Each has a home of its own and reaches its own model alone.
fn settings(installed: &Installed, world: &World, claude: &ScriptedServer, gemini: &ScriptedServer) -> String {
    let reads = [installed.folder.clone(), installed.node.parent().and_then(std::path::Path::parent).unwrap_or(&installed.node).to_owned()];
    let profile = |name: &str, arguments: Vec<String>, more: &str, set: &str, server: &ScriptedServer| {
        let host = server.origin().replace("http://", "");
        let home = world.home(name);
        format!(
            "[profiles.{name}]\ndescription = \"{name}\"\n[profiles.{name}.agent]\ncommand = {:?}\nargs = {arguments:?}\nset = {{ HOME = {home:?}, {set} }}\n\
             {more}network = [{host:?}]\nread = {reads:?}\nwrite = [{home:?}]\nstart_timeout_seconds = 300\n",
            installed.node,
        )
    };
    let of_claude = format!(
        "ANTHROPIC_API_KEY = \"sk-ant-fake\", ANTHROPIC_BASE_URL = {:?}, CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC = \"1\", CLAUDE_CODE_TMPDIR = {:?}",
        claude.origin(),
        world.home("claude"),
    );
    // With a model of its own it asks none which model to take.
    let of_gemini = format!("GEMINI_API_KEY = \"fake\", GOOGLE_GEMINI_BASE_URL = {:?}, GEMINI_MODEL = \"gemini-2.5-pro\"", gemini.origin());
    let claude_script = installed.script("@zed-industries/claude-agent-acp/dist/index.js");
    let gemini_script = installed.script("@google/gemini-cli/bundle/gemini.js");
    // Gemini CLI takes the protocol's answer on a missing file for a failure, so it writes files itself.
    profile("claude", vec![claude_script], "", &of_claude, claude)
        + &profile("gemini", vec![gemini_script, "--acp".to_owned()], "files = false\n", &of_gemini, gemini)
}
